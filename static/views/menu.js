/**
 * The menu of a thing on the stage: what can be done to it, where it stands. Brokers, controllers and servers of the
 * coordination tree, producers; every item is one command, or leads to what is known of the thing.
 */
import { running } from "../model/clients.js";
import { OPERATOR, brokerNode, isKRaft, isMachine, zookeeperNode } from "../model/names.js";
import { icon } from "./icons.js";
import { clock } from "./mischief.js";
import { linkItems, linkTitle } from "./links.js";
import { h } from "./patch.js";

const WIDE = 252; // pixels of an open menu
const [TITLE, ITEM] = [42, 33]; // heights: of its name with its edges, of an item
const FRAMES = 60; // until a menu must have been drawn
const ACKS = ["0", "1", "all"];

/** Names of the processes that are not brokers: controllers of their own, or ZooKeeper's servers, and machines that want an id. */
export function serversOf(state) {
  const known = Object.keys(state.servers ?? {}).sort();
  return [...(known.length || isKRaft(state) ? known : [zookeeperNode(1)]), ...Object.keys(state.machines ?? {}).sort()];
}

/** What is known of one of these. */
export const serverIn = (state, name) => state.servers?.[name] ?? state.machines?.[name];

/** What can be done to a process in its state: [verb, command]. */
function processItems(state, target) {
  if (state === "stopped") return [["restart", { do: "restart", ...target }]];
  return ["kill", state === "paused" ? "resume" : "pause", "stop"].map((verb) => [verb, { do: verb, ...target }]);
}

const isApart = (state, node) => state.links.some((link) => link.partitioned && [link.from, link.to].includes(node));

function brokerItems({ state }, name) {
  const broker = state.brokers[name];
  if (!broker) return [];
  const target = { broker: Number(name) };
  const apart = isApart(state, brokerNode(name));
  const found = processItems(broker.state, target);
  const twin = ["add_machine", { do: "add_machine", ...target }];
  const right = broker.clock_ms ? [["clock_right", clock(state, name)]] : [];
  if (broker.state === "stopped") return [...found, ["wipe", { do: "wipe", ...target }], ...right, twin, ["open"]];
  return [
    ...found, ...right, twin, ["power_loss", { do: "power_loss", ...target }],
    apart ? ["stop_all_faults", { do: "stop_all_faults" }] : ["isolate", { do: "isolate", ...target }], ["open"]];
}

/** A controller of its own can be given a vote, or lose it (KIP-853). */
function voteItems(state, name) {
  if (!isKRaft(state) || isMachine(name)) return [];
  const controller = Number(name.split("-").at(-1));
  const verb = state.quorum?.voters?.includes(controller) ? "remove_controller" : "add_controller";
  return [[verb, { do: verb, controller }]];
}

function serverItems({ state }, name) {
  const found = [...processItems(serverIn(state, name)?.state ?? "running", { node: name }), ...voteItems(state, name)];
  if (found[0][0] === "restart") return found;
  return [...found, isApart(state, name) ? ["stop_all_faults", { do: "stop_all_faults" }] : ["isolate", { do: "isolate", node: name }]];
}

function writerItems(view, name) {
  const { state, topicName } = view;
  const client = state.clients[name];
  const own = name === OPERATOR;
  const used = own ? view.acks : String(client?.settings?.acks ?? "all").replace("-1", "all");
  const set = ACKS.map((acks) => [`acks=${acks}`, own ? null : { do: "set_client", name, set: { acks } }, { acks, on: acks === used }]);
  if (own) return [...set, ...(topicName ? [["send"]] : [])];
  return [
    ...set,
    running(state, "producer").includes(name)
      ? ["stop_client", { do: "stop_client", name }]
      : ["start_client", { do: "start_client", name }],
    ["open"]];
}

const ITEMS = { broker: brokerItems, server: serverItems, producer: writerItems, you: writerItems, link: linkItems };

/** Items of what is open: [verb, command, {acks, on} or {figure}]. Pure. */
export const itemsOf = (view, { kind, name }) => ITEMS[kind](view, name);

function act(view, menu, [verb, command, choice]) {
  view.closeMenu();
  if (choice && menu.kind === "you") view.setAcks(choice.acks);
  else if (verb === "send") document.getElementById("produce").requestSubmit();
  else if (verb === "open" && menu.kind === "broker") view.openBroker(menu.name);
  else if (verb === "open") view.inspectClient(menu.kind, menu.name);
  else view.command(command);
}

const ICONS = new Set(["kill", "pause", "resume", "restart", "stop", "power_loss"]);

function itemText(verb, menu, words) {
  if (verb.startsWith("acks=")) return verb;
  if (verb === "send") return words.t("levers.send");
  return words.t(verb === "open" ? "menu.open" : `do.${verb}`);
}

/** Up and down, home and end between the items; Escape and Tab close. */
function keys(view, event) {
  const items = [...event.currentTarget.querySelectorAll("button")];
  const at = items.indexOf(document.activeElement);
  const next = { ArrowDown: (at + 1) % items.length, ArrowUp: (at - 1 + items.length) % items.length, Home: 0, End: items.length - 1 }[event.key];
  if (next === undefined && !["Escape", "Tab"].includes(event.key)) return;
  event.preventDefault();
  event.stopPropagation();
  if (next === undefined) view.closeMenu(true);
  else items[next].focus();
}

function titleOf({ kind, name }, { words }) {
  if (kind === "broker") return `${words.t("noun.broker")} ${name}`;
  if (kind === "link") return linkTitle(name, words);
  return kind === "you" ? words.t("stage.you") : words.name(name);
}

/** The open menu; nothing when none is open. */
export function stageMenu(view) {
  const { menu, words, scene } = view;
  if (!menu || !scene) return [];
  const left = Math.max(2, Math.min(scene.width - WIDE - 2, menu.x - WIDE / 2));
  const name = titleOf(menu, view);
  const items = itemsOf(view, menu);
  const low = menu.y > scene.height * 0.6; // opens upwards, so that nothing of it is below the stage
  const top = Math.max(2, Math.min(menu.y + 2, scene.height - TITLE - items.length * ITEM));
  const place = low ? { bottom: `${Math.round(scene.height - menu.y + 28)}px` } : { top: `${Math.round(top)}px` };
  return [h("div", {
    key: `${menu.kind} ${menu.name}`, class: "menu", role: "menu", "aria-label": name, "data-menu-of": `${menu.kind}:${menu.name}`,
    style: { left: `${Math.round(left)}px`, width: `${WIDE}px`, ...place }, onkeydown: (event) => keys(view, event)
  },
    h("p", { class: "menu-name", role: "presentation" }, name),
    items.map((item) => {
      const [verb, , choice] = item;
      const isChoice = choice?.on !== undefined;
      const role = isChoice ? { role: "menuitemradio", "aria-checked": String(choice.on) } : { role: "menuitem" };
      return h("button", {
        key: verb, type: "button", ...role, tabindex: "-1", class: choice?.on ? "on" : verb, "data-menu-do": verb,
        onclick: () => act(view, menu, item)
      },
        ICONS.has(verb) ? icon(verb, 12) : h("span", { class: "menu-sign", "aria-hidden": "true" }, choice?.on ? "●" : isChoice ? "○" : "›"),
        h("span", {}, itemText(verb, menu, words)), choice?.figure && h("span", { class: "menu-figure" }, choice.figure));
    }))];
}

/** Opening and closing: the focus goes into the menu, and back to what it belongs to. */
export function menus(app) {
  app.openMenu = (kind, name, x, y) => {
    if (app.lookOnly) return app.notice(app.words.t("look_only"));
    const same = app.menu?.kind === kind && app.menu.name === String(name);
    app.set({ menu: same ? null : { kind, name: String(name), x, y, from: document.activeElement } });
    const reach = (frames) => {
      const first = document.querySelector(`#stage-menu [data-menu-of="${CSS.escape(`${kind}:${name}`)}"] button`);
      if (first) first.focus();
      else if (frames > 0) requestAnimationFrame(() => reach(frames - 1));
    };
    if (!same) reach(FRAMES);
  };
  app.closeMenu = (back = false) => {
    const { menu } = app;
    app.set({ menu: null });
    if (back) menu?.from?.focus?.();
  };
  document.addEventListener("pointerdown", (event) => {
    if (app.menu && !event.target.closest("#stage-menu, [data-menu]")) app.closeMenu();
  });
}
