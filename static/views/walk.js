/** Walking through the stage with the keys: where one is, said and shown, and what Enter does there. */
import { fatesOf } from "../model/fates.js";
import { placesOf, samePlace, walk } from "../model/walk.js";
import { boxOf } from "../draw/layout.js";
import { isDamaged } from "./damage.js";
import { cellKind } from "./log.js";
import { linkText } from "./links.js";
import { serversOf } from "./menu.js";
import { sidesText } from "./sides.js";
import { troublesText } from "./troubles.js";
import { h } from "./patch.js";

const KEYS = new Set(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "Enter"]);

const logOf = ({ topic }, { name, number }) => topic?.partitions[number]?.logs[name] ?? { start: 0, leo: 0, hw: 0 };

function brokerText({ state, words, topic, topicName }, { name }) {
  const broker = state.brokers[name];
  const partitions = Object.values(topic?.partitions ?? {});
  const leads = partitions.filter(({ leader }) => leader === Number(name)).length;
  const follows = partitions.filter(({ replicas }) => replicas.includes(Number(name))).length - leads;
  const shown = words.t(`state.${broker.state === "stopped" ? broker.how ?? "stopped" : broker.state}`);
  const role = state.cluster.controller === Number(name) ? ` ${words.t("words.is_controller")}` : "";
  return words.t("stage.broker_text", { broker: name, state: shown, topic: topicName ?? "–", leads, follows }) + role + troublesText(broker, words);
}

function replicaText(view, place) {
  const { words, topic, topicName, desk } = view;
  const { name, number, offset } = place;
  const partition = topic.partitions[number];
  const log = logOf(view, place);
  const full = `${topicName}-${number}`;
  const role = words.t(`stage.legend.${partition.leader === Number(name) ? "leader" : partition.isr.includes(Number(name)) ? "isr" : "out"}`);
  const facts = { partition: full, broker: name, role, start: log.start, last: log.leo - 1, hw: log.hw };
  if (offset === null || offset === undefined) return words.t(log.leo > log.start ? "walk.replica" : "walk.replica.empty", facts);
  const lost = fatesOf(desk.receipts.found, full).lost.has(offset);
  const leader = partition.logs[partition.leader];
  const kind = cellKind(offset, log, { end: leader?.leo ?? Infinity, committed: partition.committed ?? log.hw, lost });
  const value = view.records.text(full, offset, "value");
  const harmed = isDamaged(log, offset) ? `, ${words.t("record.damaged")}` : "";
  return `${words.t("walk.record", { ...facts, offset, kind: words.t(`record.kind.${kind}`) + harmed })}${value ? ` ${value.replace(/\.{3,}$/, "")}` : ""}`;
}

/** What stands at the place of the walk, in one sentence. */
export function spotText(view) {
  const { spot, words, state } = view;
  if (!spot) return "";
  if (spot.kind === "broker") return state.brokers[spot.name] ? brokerText(view, spot) : "";
  if (spot.kind === "replica") return view.topic?.partitions[spot.number] ? replicaText(view, spot) : "";
  if (spot.kind === "server") return `${words.name(spot.name)}: ${words.t(`state.${state.servers?.[spot.name]?.state ?? "running"}`)}`;
  if (spot.kind === "link") return linkText(state, spot.name, words);
  return sidesText(view).find(([name]) => name === spot.name)?.[1] ?? spot.name;
}

/** The line that says it; shown while the stage has the focus. */
export const spotLine = (view) => [h("b", { key: "spot" }, spotText(view)), h("span", { key: "keys" }, view.words.t("walk.keys"))];

/** Whether one walks in the lower half of the stage: then the line stands in the upper one, and covers nothing that it tells of. */
export function walksBelow({ spot, scene, state }) {
  if (!spot || !scene) return false;
  if (spot.kind === "link") return scene.links.find(({ name }) => name === spot.name)?.y > scene.height / 2;
  const box = spot.kind === "broker" || spot.kind === "replica" ? scene.brokers.find(({ id }) => id === spot.name) : boxOf(scene, spot.name, state);
  return Boolean(box) && box.y + box.h / 2 > scene.height / 2;
}

function enter(app, spot) {
  const { scene, topicName } = app;
  if (spot.kind === "replica") {
    const log = logOf(app, spot);
    if (log.leo > log.start) app.openRecord(`${topicName}-${spot.number}`, spot.offset ?? log.leo - 1, Number(spot.name));
    return;
  }
  const link = spot.kind === "link" && scene.links.find(({ name }) => name === spot.name);
  if (link) return app.openMenu("link", link.name, link.x, link.y + 12);
  const box = spot.kind === "broker" ? scene.brokers.find(({ id }) => id === spot.name) : boxOf(scene, spot.name, app.state);
  if (spot.kind === "folded") app.openFolded(spot.name);
  else if (["broker", "server", "producer", "you"].includes(spot.kind)) app.openMenu(spot.kind, spot.name, box.x + box.w / 2, box.y + 26);
  else app.inspectClient(spot.kind, spot.name);
}

/** Listen to the keys of the stage. */
export function walks(app) {
  const stage = document.getElementById("scene-svg");
  const go = (spot) => {
    if (spot.kind === "replica") app.choose(app.topicName, spot.number);
    app.set({ spot });
  };
  const places = () => placesOf(app.scene ?? {}, app.topic, serversOf(app.state));
  stage.addEventListener("focus", () => {
    app.set(places().some((place) => samePlace(place, app.spot)) ? {} : { spot: walk(places(), null, "", () => null) });
  });
  stage.addEventListener("blur", () => app.set({}));
  stage.addEventListener("keydown", (event) => {
    if (event.target !== stage || !KEYS.has(event.key) || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter") return app.spot && enter(app, app.spot);
    const next = walk(places(), app.spot, event.key, (spot) => logOf(app, spot));
    if (next) go(next);
  });
}

/** Up and down between the items of the story: one stop of the Tab key for all of them. */
export function storyKeys() {
  const list = document.getElementById("story-list");
  list.addEventListener("keydown", (event) => {
    const items = [...list.querySelectorAll(".say")];
    const at = items.indexOf(document.activeElement);
    if (at < 0 && document.activeElement !== list) return;
    const next = { ArrowDown: Math.min(items.length - 1, at + 1), ArrowUp: Math.max(0, at - 1), Home: 0, End: items.length - 1 }[event.key];
    if (next === undefined || !items.length) return;
    event.preventDefault();
    event.stopPropagation();
    items[next].focus();
  });
}
