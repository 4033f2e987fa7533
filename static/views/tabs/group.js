/** Groups and clients: state, generation, coordinator; members with what they own; lag by partition. */
import { lag, leaderLog } from "../../model/figures.js";
import { handovers } from "../../model/handovers.js";
import { shareLag } from "../../model/shares.js";
import { count } from "../../i18n/format.js";
import { chosenCard, clientCards } from "./client.js";
import { badge, facts, head, number, table, title } from "./common.js";
import { offsetsForm } from "./offsets.js";
import { shareTables } from "./shares.js";
import { h } from "../patch.js";

const owned = (assignment) => Object.entries(assignment ?? {}).flatMap(([topic, numbers]) => numbers.map((number) => `${topic}-${number}`));

/**
 * Committed offsets by topic and partition, null where nothing is committed yet but a consumer has a position. Live
 * they are of the same moment as the positions, so that a position never seems to stand behind what it has committed.
 */
function committed(group, found) {
  const all = {};
  for (const { topic, partition } of found?.positions ?? []) (all[topic] ??= {})[partition] = null;
  for (const [topic, offsets] of Object.entries(found?.offsets ?? group.offsets)) all[topic] = { ...all[topic], ...offsets };
  return all;
}

/** The position is the next record that the member reads, the committed offset where its successor would begin. */
function positions(view, group, found) {
  const { state, words } = view;
  const lines = [];
  for (const [topic, offsets] of Object.entries(committed(group, found))) {
    for (const [name, offset] of Object.entries(offsets).sort(([a], [b]) => a - b)) {
      const partition = state.topics[topic]?.partitions[name];
      const log = partition && leaderLog(partition);
      const owner = group.members.find((member) => (member.assignment?.[topic] ?? []).includes(Number(name)));
      const replica = state.clients[owner?.client_id]?.reads_from?.[topic]?.[name];
      const reads = replica !== undefined && h("small", { "data-replica": replica }, ` ${words.t("groups.reads_from", { broker: replica })}`);
      const position = found?.positions.find((one) => one.topic === topic && one.partition === Number(name)
        && one.client_id === owner?.client_id)?.offset ?? null;
      lines.push(h("tr", { key: `${topic}-${name}` },
        head(`${topic}-${name}`),
        h("td", { class: "wraps" }, owner?.client_id ?? "–", reads),
        number(position),
        number(offset),
        number(log && offset !== null ? Math.max(0, log.hw - offset) : null)));
    }
  }
  return lines.length > 0 && table(
    "positions", words.t("groups.lag"),
    [
      words.t("table.partition"), words.t("groups.members"), [words.t("groups.position"), "number"],
      [words.t("groups.committed"), "number"], [words.t("groups.lag"), "number"]],
    lines);
}

/** Where a member of KIP-848 is on its way: its epoch, what it gives up and who waits for it, what it waits for and who has it yet. */
function way(one, hands, words) {
  if (one.epoch === undefined) return false;
  const state = one.state ?? "STABLE";
  const untold = state === "STABLE" && hands?.gives.length + hands?.waits.length > 0; // at the target of its own epoch, which is an older one
  const parts = [words.t("groups.at_epoch", { epoch: one.epoch, state: words.t(untold ? "groups.not_told" : `reason.${state}`) })];
  const told = (name, what, who) => words.t(who.length ? `groups.${name}_whose` : `groups.${name}`, { what: what.join(" "), who: who.join(" ") });
  if (hands?.gives.length) parts.push(told("gives_back", hands.gives, hands.to));
  if (hands?.waits.length) parts.push(told("is_to_get", hands.waits, hands.from));
  if (one.protocol === "classic") parts.push(words.t("groups.speaks_classic"));
  return h("div", { class: "hint", "data-epoch": String(one.epoch) }, parts.join(" · "));
}

function member(one, hands, words) {
  const left = one.session_left_ms ?? null;
  return h("li", { key: one.id, class: "member" },
    h("div", {},
      h("b", {}, `${one.leads ? "★ " : ""}${one.client_id ?? one.id}`),
      one.leads && h("small", {}, ` ${words.t("groups.leads")}`),
      one.waits && h("small", {}, ` · ${words.t(`groups.waits.${one.waits}`)}`)),
    h("div", { class: "hint" }, owned(one.assignment).join(" ") || words.t("groups.owns_nothing")),
    way(one, hands, words),
    left !== null && h("label", { class: "session" },
      h("small", {},
        words.t("groups.session_left", { left: Math.round(left / 100) / 10, whole: Math.round((one.session_timeout_ms ?? 0) / 1000) })),
      h("meter", { min: 0, max: one.session_timeout_ms, value: left, "aria-hidden": "true" })));
}

function card(view, name, group) {
  const { state, words } = view;
  const { found } = view.inquiry.get("group", name);
  const shared = Object.keys(state.shares?.[name] ?? {}).map((partition) => partition.slice(0, partition.lastIndexOf("-")));
  const topics = [...new Set([...Object.keys(group.offsets), ...shared])].sort();
  const shown = found?.members ?? group.members.filter((one) => one.epoch !== undefined);
  const hands = handovers(shown.filter((one) => one.target));
  return h("article", chosenCard(view, "group", name),
    h("h3", {}, name, h("span", { class: "lever-state" }, words.t(`reason.${group.state}`))),
    facts([
      [words.t("groups.coordinator"), group.coordinator ? badge(group.coordinator, "leader") : "–"], [words.t("groups.generation"), count(group.generation)],
      [words.t("groups.members"), count(group.members.length)],
      [words.t("groups.lag"), count(state.shares?.[name] ? shareLag(state, name) : lag(state, group))],
      found?.assignment_epoch !== undefined && [words.t("groups.epochs"), `${count(found.generation)} / ${count(found.assignment_epoch)}`, "wide"],
      (found?.type ?? group.kind) && [words.t("groups.kind"), words.t(`reason.${found?.type ?? group.kind}`), "wide"],
      found?.protocol && [words.t("groups.protocol"), h("code", {}, found.protocol), "wide"],
    ]),
    positions(view, group, view.clock.live ? found : null),
    shareTables(view, name),
    shown.length > 0 && [title("members", words.t("groups.members")), h("ul", { key: "member-list" }, shown.map((one) => member(one, hands[one.id], words)))],
    view.clock.live && !group.members.length && topics.length > 0 && offsetsForm(view, name, topics));
}

export function groupsTab(view) {
  const names = Object.keys(view.state.groups).sort();
  return [
    !names.length && h("p", { key: "empty", class: "empty" }, view.words.t("groups.empty")),
    names.map((name) => card(view, name, view.state.groups[name])), clientCards(view),
  ];
}
