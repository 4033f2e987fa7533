/**
 * The stage: brokers with their logs, clients, groups, the coordination tree.
 *
 * One row is a replica, one cell an offset; cells of one partition stand at the same place on every
 * broker, so what one replica lacks is a hole in its row.
 */
import { FILTERS } from "../i18n/format.js";
import { byNumber } from "../model/names.js";
import { fingerprint, lag, leadingLog } from "../model/figures.js";
import { boxOf, layout, way } from "../draw/layout.js";
import { brokerClass } from "../draw/palette.js";
import { pipelineStrip } from "./pipeline.js";
import { h } from "./patch.js";

const CELL = 27;
const NOTE = 11.5; // font of the notes at both sides
const ROW = { least: 18, most: 23, wanted: 3, head: 29 };
const LABEL = 76;
const PRINT = 46;
const NARROW = 290; // a card without room for checksums
const LOW_SIDE = 54; // a client's box without room for a third line
const NARROW_SIDE = 100; // a group's box with room for its name alone

function shortName(topic, number) {
  const name = `${topic}-${number}`;
  return name.length <= 9 ? name : `${topic.slice(0, Math.max(1, 7 - number.length))}…-${number}`;
}

/** The offsets that a row shows: the last `room` up to the longest replica's end. */
export function windowOf(partition, room) {
  const ends = Object.values(partition.logs).map((log) => log.leo);
  const end = Math.max(0, ...ends);
  const last = Math.max(end, room);
  return { first: last - room, end: last };
}

/** The partitions of `topic` that a card with room for `rows` rows shows, the chosen one among them. */
export function shownPartitions(topic, rows, chosen) {
  const numbers = Object.keys(topic.partitions).sort(byNumber);
  if (numbers.length <= rows) return numbers;
  const at = Math.max(0, numbers.indexOf(chosen));
  const start = Math.min(Math.floor(at / rows) * rows, numbers.length - rows);
  return numbers.slice(start, start + rows);
}

/** A rough width in pixels at `size` px: enough to cut a name before it leaves its box. */
function cut(text, room, size = 13) {
  let width = 0;
  for (let index = 0; index < text.length; index += 1) {
    width += text.charCodeAt(index) > 0x1100 ? size : 0.585 * size;
    if (width > room) return `${text.slice(0, Math.max(1, index - 1))}…`;
  }
  return text;
}

function cellText(offset, end) {
  return end > 9999 ? `·${String(offset % 1000).padStart(3, "0")}` : String(offset);
}

/** What an offset is on a replica; `end`: that of the leader's log. */
export function cellKind(offset, log, end) {
  if (offset < log.start) return "gone";
  if (offset >= log.leo) return "hole";
  if (offset >= end) return "astray";
  return offset < log.hw ? "committed" : "waiting";
}

function cells(log, end, range, lit, x, y, tall) {
  const found = [];
  for (let offset = range.first; offset < range.end; offset += 1) {
    const kind = cellKind(offset, log, end);
    const left = x + (offset - range.first) * CELL;
    found.push(h("rect", { key: `c${offset}`, class: `cell ${kind}${offset === lit ? " lit" : ""}`, "data-cell": offset === lit ? offset : null, x: left + 0.5, y: y + 0.5, width: CELL - 2, height: tall - 5, rx: 2 }));
    if (kind !== "hole" && kind !== "gone") {
      found.push(h("text", { key: `t${offset}`, class: `cell-text ${kind}${offset > 999 ? " long" : ""}`, x: left + CELL / 2 - 0.5, y: y + tall / 2 + 1.5 }, cellText(offset, range.end)));
    }
  }
  if (log.hw >= range.first && log.hw <= range.end) {
    const at = x + (log.hw - range.first) * CELL - 1;
    found.push(h("line", { key: "hw", class: "hw", x1: at, x2: at, y1: y - 2, y2: y + tall - 2 }));
  }
  return found;
}

function replicaRow(view, box, number, index, tall) {
  const { topicName, topic, words, chosen } = view;
  const partition = topic.partitions[number];
  const id = Number(box.id);
  const y = box.y + ROW.head + index * tall;
  const base = y + tall / 2 + 2;
  const name = `${topicName}-${number}`;
  const room = Math.max(3, Math.floor((box.w - 28 - LABEL - (box.w < NARROW ? 0 : PRINT)) / CELL));
  const mine = partition.replicas.includes(id);
  const leads = partition.leader === id;
  const glyph = !mine ? " " : leads ? "★" : partition.isr.includes(id) ? "·" : "▽";
  const print = mine && box.w >= NARROW ? fingerprint(partition, box.id) : null;
  const log = partition.logs[box.id] ?? { leo: 0, hw: 0, start: 0 };
  const x = box.x + 18 + LABEL;
  return h("g", { key: name, class: `replica${name === chosen ? " chosen" : ""}${leads ? " leads" : ""}${mine ? "" : " none"}`, onclick: () => view.choose(topicName, number) },
    h("rect", { class: "row-ground", x: box.x + 12, y: y - 2, width: box.w - 18, height: tall - 1, rx: 4 }),
    h("text", { class: "glyph", x: box.x + 22, y: base }, glyph),
    h("text", { class: "row-name", x: box.x + 32, y: base }, shortName(topicName, number)),
    mine ? cells(log, leadingLog(partition)?.leo ?? Infinity, windowOf(partition, room), name === chosen ? view.litOffset : null, x, y, tall) : h("text", { class: "row-note", x, y: base }, words.t("stage.no_replica")),
    print && h("text", { class: `print${print.differs ? " differs" : ""}`, x: box.x + box.w - 10, y: base }, print.differs ? `≠ ${print.text}` : print.text));
}

/** What its disks do not do: {short, whole}, or null while they work. */
function diskText(broker, words) {
  if (!broker.disk?.length) return null;
  const whole = FILTERS.disks(broker.disk, words.words);
  return { short: broker.disk.length > 1 ? words.t("disk.faults", { n: broker.disk.length }) : FILTERS.disks([{ kind: broker.disk[0].kind }], words.words), whole };
}

function stateText(broker, words) {
  if (broker.state === "stopped") return `× ${words.t(`state.${broker.how ?? "stopped"}`)}`;
  if (broker.state === "paused") return `❚❚ ${words.t("state.paused")}`;
  return broker.registered ? "" : `○ ${words.t("state.unregistered")}`;
}

function crown(x, y) {
  return h("path", { class: "crown", d: `M${x} ${y + 13}l-3 -11 6 5 5 -7 5 7 6 -5 -3 11z` });
}

function brokerCard(view, box) {
  const { words, topic, state, chosenNumber } = view;
  const { broker } = box;
  const tall = Math.max(ROW.least, Math.min(ROW.most, Math.floor((box.h - ROW.head - 3) / ROW.wanted)));
  const rows = Math.max(1, Math.floor((box.h - ROW.head - 1) / tall));
  const numbers = topic ? shownPartitions(topic, rows, chosenNumber) : [];
  const hidden = topic ? Object.keys(topic.partitions).length - numbers.length : 0;
  const isController = state.cluster.controller === Number(box.id);
  const note = stateText(broker, words);
  const disk = diskText(broker, words);
  return h("g", { key: box.id, class: `broker ${brokerClass(box.id)} ${broker.state}${broker.registered ? "" : " unregistered"}` },
    h("rect", { class: "card", x: box.x + 0.5, y: box.y + 0.5, width: box.w, height: box.h, rx: 10 }),
    broker.state !== "running" && h("rect", { class: "hatch", fill: broker.state === "paused" ? "url(#dots)" : "url(#hatch)", x: box.x + 0.5, y: box.y + 0.5, width: box.w, height: box.h, rx: 10 }),
    h("rect", { class: "spine", x: box.x, y: box.y, width: 7, height: box.h + 1, rx: 3 }),
    h("text", { class: "broker-name", x: box.x + 18, y: box.y + 21 }, `${words.t("noun.broker")} ${box.id} `,
      note && h("tspan", { class: "broker-state", dx: 5 }, note),
      disk && h("tspan", { class: "broker-state disk", dx: 5, "data-disk": box.id }, h("title", {}, disk.whole), `▤✕ ${disk.short}`)),
    hidden > 0 && h("text", { class: "row-note end", "data-more": hidden, x: box.x + box.w - (isController ? 46 : 12), y: box.y + 20 }, h("title", {}, words.t("stage.more", { n: hidden })), box.w < NARROW ? `+${hidden}` : words.t("stage.more", { n: hidden })),
    pipelineStrip(view, box, box.x + 92 + (note ? 106 : 0) + (disk ? 120 : 0), box.x + box.w - (isController ? 42 : 8) - (hidden > 0 && box.w >= NARROW ? 110 : 0)),
    isController && [crown(box.x + box.w - 30, box.y + 7), h("title", {}, words.t("stage.crown"))],
    numbers.map((number, index) => replicaRow(view, box, number, index, tall)),
    !topic && h("text", { class: "row-note", x: box.x + 20, y: box.y + 48 }, words.t("stage.nothing")));
}

function sideText(item, view) {
  const { words, state, acks } = view;
  if (item.kind === "folded") return [words.t("stage.more_clients", { n: item.rest.length }), item.rest.map(({ name }) => name).join(", ")];
  if (item.kind === "group") {
    return [item.w < NARROW_SIDE ? item.name : words.t("stage.group", { group: item.name }), words.t("stage.lag", { n: lag(state, item.group) }), words.t("stage.members", { n: item.group.members.length })];
  }
  if (item.kind === "outside") return [words.t("stage.outside"), words.t("stage.connections", { n: item.connections.length })];
  if (item.kind === "you") return [words.t("stage.you"), words.t("stage.you.acks", { acks })];
  const { client } = item;
  const own = item.name.replace(/^(producer|consumer)-/, "");
  const alone = Object.values(state.clients).filter(({ kind }) => kind === item.kind).length < 2;
  const named = FILTERS.node(item.name, words.words);
  const first = alone ? words.t(`stage.${item.kind}`) : cut(named, item.w - 8) === named ? named : own;
  const settings = client.settings?.acks !== undefined ? words.t("stage.you.acks", { acks: client.settings.acks }) : own;
  const figure = item.kind === "producer" ? (client.acked > 0 || client.failed > 0) && (client.failed > 0 ? words.t("stage.acked_failed", { acked: client.acked, failed: client.failed }) : words.t("stage.acked", { n: client.acked })) : client.read > 0 && words.t("stage.read", { n: client.read });
  return [first, settings, figure || null];
}

/** A click shows a client in the inspector. The box of those without room opens their list, by the keyboard too. */
function opens(view, item, told) {
  if (item.kind === "you") return {};
  if (item.kind !== "folded") return { onclick: () => view.inspectClient(item.kind, item.name) };
  const open = () => view.openFolded(item.name);
  const press = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    open();
  };
  return { role: "button", tabindex: "0", "aria-haspopup": "dialog", "aria-label": told, "data-folded": item.name, onclick: open, onkeydown: press };
}

/** Who is behind a box of the stage: [{kind, name, shown, text}]. */
export function foldedClients(view, name) {
  const { left = [], right = [] } = view.scene ?? {};
  const rest = [...left, ...right].find((box) => box.name === name)?.rest ?? [];
  return rest.map((item) => {
    const [first, ...more] = sideText({ ...item, w: Infinity }, view);
    const kind = view.words.t(`clients.kind.${item.kind}`);
    return { kind: item.kind, name: item.name, shown: first, text: [kind, ...more].filter(Boolean).join(" · ") };
  });
}

function side(view, item) {
  const [first, second, last] = sideText(item, view);
  const third = item.h < LOW_SIDE ? null : last;
  const room = item.w - (item.kind === "folded" ? 24 : -8); // names are wider than figures
  const middle = item.y + item.h / 2;
  const x = item.x + item.w / 2;
  const stopped = item.client && item.client.state !== "running";
  const told = [first, second, last].filter(Boolean).join(" · ");
  return h("g", { key: item.name, class: `side ${item.kind}${stopped ? " stopped" : ""}`, ...opens(view, item, told) },
    h("rect", { x: item.x + 0.5, y: item.y + 0.5, width: item.w, height: item.h, rx: item.h / 2 }),
    h("title", {}, told),
    h("text", { class: "side-name", x, y: middle - (third ? 9 : 3) }, cut(first, item.w - 8)),
    h("text", { class: "side-note", x, y: middle + (third ? 5 : 12) }, cut(second, room, NOTE)),
    third && h("text", { class: "side-note", x, y: middle + 19 }, cut(third, item.w + 8, NOTE)));
}

function ways(view, scene) {
  const found = [];
  const leaders = new Set();
  for (const partition of Object.values(view.topic?.partitions ?? {})) leaders.add(partition.leader);
  const cut = new Set(view.state.links.filter((link) => link.partitioned).map((link) => `${link.from}>${link.to}`));
  const add = (key, from, to, answer, kind) => {
    const [a, c, b] = way(scene, from, to, answer);
    found.push(h("path", { key, class: `way ${kind}`, d: `M${a.x} ${a.y}Q${c.x} ${c.y} ${b.x} ${b.y}` }));
    if (kind === "cut") found.push(h("text", { key: `${key}x`, class: "cut-mark", x: (a.x + 2 * c.x + b.x) / 4, y: (a.y + 2 * c.y + b.y) / 4 + 5 }, "✕"));
  };
  for (const box of scene.brokers) {
    if (!leaders.has(Number(box.id)) || box.broker.state !== "running") continue;
    for (const item of scene.left) add(`${item.name}>${box.id}`, item, box, false, "client");
    for (const item of scene.right) add(`${item.name}<${box.id}`, item, box, false, "client");
    for (const other of scene.brokers) {
      if (other === box || other.broker.state !== "running") continue;
      const isCut = cut.has(`broker-${other.id}>broker-${box.id}`) || cut.has(`broker-${box.id}>broker-${other.id}`);
      add(`${other.id}~${box.id}`, other, box, false, isCut ? "cut" : "fetch");
    }
  }
  return found;
}

function tree(view, { tree: box }) {
  const { state, words } = view;
  const ids = Object.keys(state.brokers).filter((id) => state.brokers[id].registered).sort(byNumber);
  const server = Object.values(state.servers ?? {}).find((one) => one.state !== "running");
  const { controller } = state.cluster;
  const facts = [`/controller → ${controller ?? words.t("stage.nobody")}`, `/brokers/ids: ${ids.join(" ") || words.t("stage.nobody")}`];
  facts.push(words.t("stage.znodes", { n: Object.keys(state.znodes).length }));
  const places = [];
  let x = box.x + 104;
  for (const fact of facts) {
    const wide = fact.length * 6.9 + 14;
    if (x + wide > box.x + box.w) break;
    places.push([fact, x]);
    x += wide;
  }
  return h("g", { key: "tree", class: `tree${server ? " stopped" : ""}`, onclick: () => view.showTab("tree") },
    h("rect", { x: box.x + 0.5, y: box.y + 0.5, width: box.w, height: box.h, rx: 8 }),
    h("text", { class: "tree-name", x: box.x + 14, y: box.y + 25 }, `${server ? "× " : ""}${words.t("stage.zookeeper")}`),
    places.map(([fact, at], index) => h("text", { key: index, class: "tree-fact", x: at, y: box.y + 25 }, fact)));
}

/** The whole stage as descriptions; `view.scene` keeps the layout for the dots. */
export function stage(view, width, height) {
  const scene = layout(view.state, width, height);
  view.scene = scene;
  return [
    h("defs", { key: "defs" },
      h("pattern", { id: "hatch", width: 9, height: 9, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, h("line", { class: "hatch-line", x1: 0, y1: 0, x2: 0, y2: 9 })),
      h("pattern", { id: "astray", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(-45)" }, h("line", { class: "astray-line", x1: 0, y1: 0, x2: 0, y2: 5 })),
      h("pattern", { id: "dots", width: 10, height: 10, patternUnits: "userSpaceOnUse" }, h("circle", { class: "hatch-dot", cx: 3, cy: 3, r: 1.3 }))),
    h("g", { key: "ways" }, ways(view, scene)),
    h("g", { key: "sides" }, [...scene.left, ...scene.right].map((item) => side(view, item))),
    h("g", { key: "brokers" }, scene.brokers.map((box) => brokerCard(view, box))),
    tree(view, scene),
  ];
}

/** The clients and groups on both sides: [[name, "Producer · acks=all · 13 acked"]]. */
export function sidesText(view) {
  const { left = [], right = [] } = view.scene ?? {};
  return [...left, ...right].flatMap((item) => item.rest ?? [item]).map((item) => [item.name, sideText({ ...item, w: Infinity }, view).filter(Boolean).join(" · ")]);
}

/** What the signs mean. */
export function legend({ words }) {
  const entry = (kind, key, sign) => h("span", { key, class: "legend-entry" }, h("i", { class: `legend-sign ${kind}`, "aria-hidden": "true" }, sign), words.t(key));
  return [
    entry("committed", "stage.legend.committed"), entry("waiting", "stage.legend.uncommitted"), entry("hole", "stage.legend.missing"), entry("astray", "stage.legend.absent", "⊘"),
    entry("bar", "stage.legend.hw"), entry("glyph", "stage.legend.leader", "★"), entry("glyph", "stage.legend.isr", "·"), entry("glyph", "stage.legend.out", "▽"),
  ];
}

export { boxOf };
