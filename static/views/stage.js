/**
 * The stage: brokers with their logs, clients, groups, the coordination tree.
 *
 * One row is a replica, one cell an offset; cells of one partition stand at the same place on every
 * broker, so what one replica lacks is a hole in its row.
 */
import { doubledIn, fatesOf } from "../model/fates.js";
import { formerController } from "../model/crown.js";
import { lagOf, lagging, observersOf } from "../model/quorum.js";
import { brokerOf, byNumber, controllerNode, isKRaft, isMachine, leadsEnsemble } from "../model/names.js";
import { MOVES, isMoving } from "../model/moves.js";
import { readersOf } from "../model/readers.js";
import { SIGNS, STATES, sharesOf } from "../model/shares.js";
import { boxOf, layout } from "../draw/layout.js";
import { linkPlaces } from "../draw/links.js";
import { signPlaces } from "../draw/signs.js";
import { brokerClass } from "../draw/palette.js";
import { SIGN as DAMAGED } from "./damage.js";
import { ROW, replicaRow } from "./log.js";
import { WORDED, hasWay, pipelineStrip, pipelineWay } from "./pipeline.js";
import { linkHandles } from "./links.js";
import { serverIn, serversOf } from "./menu.js";
import { h } from "./patch.js";
import { side } from "./sides.js";
import { disksOf, troublesOf } from "./troubles.js";
import { waySigns, ways } from "./ways.js";

/** The partitions of `topic` that a card with room for `rows` rows shows, the chosen one among them. */
export function shownPartitions(topic, rows, chosen) {
  const numbers = Object.keys(topic.partitions).sort(byNumber);
  if (numbers.length <= rows) return numbers;
  const at = Math.max(0, numbers.indexOf(chosen));
  const start = Math.min(Math.floor(at / rows) * rows, numbers.length - rows);
  return numbers.slice(start, start + rows);
}

/** What a broker is that the cluster does not count on: with KRaft known and fenced, or known to nobody. */
const standingOf = ({ fenced }) => `state.${fenced ? "fenced" : "unregistered"}`;

function stateText(broker, words) {
  if (broker.state === "stopped") return `× ${words.t(`state.${broker.how ?? "stopped"}`)}`;
  if (broker.state === "paused") return `❚❚ ${words.t("state.paused")}`;
  return broker.registered ? "" : `○ ${words.t(standingOf(broker))}`;
}

const CROWN = 32; // room for it in a card's head
const REIGN = 66; // and for its epoch

/** The controller's crown; that of the one before is an outline, and then both have their epochs. Answers the room that it takes. */
function crownOf({ state: { cluster }, words }, id, former) {
  const now = cluster.controller === Number(id);
  const was = !now && former?.broker === Number(id);
  if (!now && !was) return { room: 0, draw: () => null };
  const told = former ? words.t("stage.quorum.epoch", { n: String(now ? cluster.controller_epoch : former.epoch) }) : "";
  const draw = (x, y) => [
    h("path", { key: "crown", class: `crown${was ? " former" : ""}`, d: `M${x} ${y + 13}l-3 -11 6 5 5 -7 5 7 6 -5 -3 11z` },
      h("title", {}, words.t(was ? "stage.crown.former" : "stage.crown"))),
    told && h("text", { key: "reign", class: `reign${was ? " former" : ""}`, x: x - 14, y: y + 12 }, told)];
  return { room: CROWN + (told ? REIGN : 0), draw };
}

/** The button of a thing's menu: three dots in 24 x 24 pixels; none for who may only look. */
function dots(view, kind, name, label, x, y) {
  if (view.lookOnly) return null;
  const open = (event) => {
    event.stopPropagation();
    view.openMenu(kind, name, x + 12, y + 24);
  };
  const press = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open(event);
  };
  return h("g", {
    key: "menu", class: "menu-button", role: "button", tabindex: "-1", "aria-haspopup": "menu", "aria-label": label,
    "data-menu": `${kind}:${name}`, onclick: open, onkeydown: press
  },
    h("rect", { x, y, width: 24, height: 24, rx: 6 }), [6, 12, 18].map((at) => h("circle", { key: at, cx: x + at, cy: y + 12, r: 1.8 })));
}

/**
 * Where the rows of a card stand: [{tall, top}]. Where all are low, those that somebody reads on this broker get room for their
 * readers, and the others give it.
 */
export function placesOf(view, numbers, id, space, tall, first) {
  const { topicName, topic, state } = view;
  const read = numbers.map((number) => topic.partitions[number].leader === id && readersOf(state, topicName, number).length > 0);
  const deep = read.filter(Boolean).length;
  const rest = deep < read.length ? Math.floor((space - deep * ROW.read) / (read.length - deep)) : 0;
  const apart = tall < ROW.read && deep > 0 && (deep < read.length ? rest >= ROW.thin : space >= deep * ROW.read);
  let top = first;
  return read.map((one) => {
    const own = !apart ? tall : one ? ROW.read : Math.min(tall, rest);
    const found = { tall: own, top };
    top += own;
    return found;
  });
}

const ROOM_FOR_DISKS = 420; // pixels of a card whose head has room for its log directories

/** How many partitions more a card has than it shows: in as many words as have room beside what else its head says. */
function moreText(hidden, room, others, words) {
  const used = others.filter(Boolean).reduce((sum, text) => sum + widthOf(text, 7.6, 13) + 5, 0);
  const texts = ["stage.more", "stage.more_brief"].map((key) => words.t(key, { n: hidden }));
  return texts.find((text) => used + widthOf(text, 6.4, 12) + 6 < room) ?? `+${hidden}`;
}

function brokerCard(view, box, former) {
  const { words, topic, chosenNumber, state } = view;
  const { broker } = box;
  const all = Math.max(1, Object.keys(topic?.partitions ?? {}).length);
  const whole = box.h - ROW.head - 1;
  const rows = Math.max(1, Math.min(all, Math.floor(whole / ROW.least)));
  const below = teachesRequests(view) && whole - WORDED >= rows * ROW.least;
  const worded = below && hasWay(view, box);
  const space = below ? whole - WORDED : whole;
  const tall = Math.max(ROW.least, Math.min(ROW.most, Math.floor(space / rows)));
  const free = space - rows * tall;
  const numbers = topic ? shownPartitions(topic, rows, chosenNumber) : [];
  const places = placesOf(view, numbers, Number(box.id), space, tall, ROW.head + Math.floor(Math.max(0, free) * 0.4));
  const hidden = topic ? Object.keys(topic.partitions).length - numbers.length : 0;
  const crown = crownOf(view, box.id, former);
  const note = stateText(broker, words);
  const troubles = troublesOf(broker, words);
  const disks = box.w < ROOM_FOR_DISKS ? null : disksOf(state, box.id, words);
  const name = `${words.t("noun.broker")} ${box.id} `;
  const end = box.x + box.w - 32; // of what stands in its head, before its menu
  const noted = end - Math.max(2, crown.room); // where its note on more partitions ends
  const beside = (note ? 106 : 0) + (disks ? widthOf(disks.sign, 7, 13) + 12 : 0);
  const wide = troubles.reduce((sum, { room }) => sum + room, beside); // of what its head says behind its name
  const more = moreText(hidden, noted - box.x - 18, [name, note, ...troubles.map(({ sign }) => sign), disks?.sign], words);
  return h("g", {
    key: box.id,
    class: `broker ${brokerClass(box.id)} ${broker.state}${broker.registered ? "" : " unregistered"}${view.spot?.kind === "broker" && view.spot.name === box.id ? " spot" : ""}`
  },
    h("rect", { class: "card", x: box.x + 0.5, y: box.y + 0.5, width: box.w, height: box.h, rx: 10 }),
    broker.state !== "running" && h("rect", {
      class: "hatch", fill: broker.state === "paused" ? "url(#dots)" : "url(#hatch)", x: box.x + 0.5, y: box.y + 0.5, width: box.w,
      height: box.h, rx: 10
    }),
    h("rect", { class: "spine", x: box.x, y: box.y, width: 7, height: box.h + 1, rx: 3 }),
    h("text", { class: "broker-name", x: box.x + 18, y: box.y + 18 }, name,
      note && h("tspan", { class: "broker-state", dx: 5 }, note),
      troubles.map(({ kind, sign, whole }) => h("tspan", { key: kind, class: `broker-state ${kind}`, dx: 5, [`data-${kind}`]: box.id },
        h("title", {}, whole), sign)),
      disks && h("tspan", { class: "broker-disks", dx: 8, "data-disks": box.id }, h("title", {}, disks.whole), disks.sign)),
    hidden > 0 && h("text", { class: "row-note end", "data-more": hidden, x: noted, y: box.y + 17 },
      h("title", {}, words.t("stage.more", { n: hidden })), more),
    worded ? pipelineWay(view, box) : below ? pipelineStrip(view, box, box.x + 18, end, box.h - WORDED + 4)
      : pipelineStrip(view, box, box.x + 92 + wide, noted - (hidden > 0 ? widthOf(more, 7.6, 12) + 14 : 0)),
    crown.draw(end - 22, box.y + 5),
    numbers.map((number, index) => replicaRow(view, box, number, { ...places[index], alone: all === 1 })),
    dots(view, "broker", box.id, words.t("menu.of", { name: `${words.t("noun.broker")} ${box.id}` }), box.x + box.w - 27, box.y + 1),
    !topic && h("text", { class: "row-note", x: box.x + 20, y: box.y + 48 }, words.t("stage.nothing")));
}

function treeFacts({ cluster: { controller, chroot }, znodes }, ids, words) {
  const nobody = words.t("stage.nobody");
  const at = chroot ?? "";
  const known = ids.join(" ") || nobody;
  return [`${at}/controller → ${controller ?? nobody}`, `${at}/brokers/ids: ${known}`, words.t("stage.znodes", { n: Object.keys(znodes).length })];
}

/** Those that say what is shown elsewhere, too, have a number: where there is no room for all, the highest goes first. */
function quorumFacts(state, ids, words) {
  const { cluster: { controller, controller_epoch: epoch }, quorum, brokers } = state;
  const nobody = words.t("stage.nobody");
  const voters = (quorum?.voters ?? []).map(String);
  const observers = observersOf(quorum);
  const combined = voters.filter((id) => brokers[id] && quorum?.replicas?.[id]);
  const late = lagging(quorum);
  const fenced = Object.keys(brokers).filter((id) => brokers[id].fenced).sort(byNumber);
  const chips = serversOf(state).map((name) => name.split("-").at(-1)); // with their leader's star
  const lack = (id, n) => (n === null ? words.t("stage.quorum.unknown", { id }) : `▽${words.t("stage.quorum.by", { id, n })}`);
  const told = (what, all) => {
    const slow = all.filter((id) => late.includes(id) || lagOf(quorum, id) === null);
    if (!slow.length) return words.t(`stage.quorum.${what}.none`);
    return words.t(`stage.quorum.${what}`, { ids: slow.map((id) => lack(id, lagOf(quorum, id))).join(", ") });
  };
  const behind = [["behind", combined], ["observers", observers]].filter(([, all]) => all.length)
    .map(([what, all]) => [told(what, all), all.some((id) => late.includes(id))]);
  const others = late.filter((id) => !combined.includes(id) && !observers.includes(id));
  return [
    [words.t("stage.quorum.leader", { id: String(controller ?? nobody) }), chips.includes(String(controller)) ? 2 : 0],
    ...(others.length ? [[`▽ ${words.t("stage.quorum.lagging", { ids: others.join(" ") })}`]] : []), // what is wrong has room on a narrow stage, too
    ...behind.filter(([, wrong]) => wrong).map(([text]) => [text]),
    ...(fenced.length ? [[words.t("stage.quorum.fenced", { ids: fenced.join(" ") })]] : []),
    [words.t("stage.quorum.epoch", { n: String(epoch) })],
    ...(quorum?.high_watermark >= 0 ? [[words.t("stage.quorum.committed", { n: quorum.high_watermark }), 1]] : []),
    [words.t("stage.quorum.voters", { ids: voters.join(" ") || nobody }), voters.join() === chips.join() ? 3 : 0],
    ...behind.filter(([, wrong]) => !wrong).map(([text]) => [text]),
    [words.t("stage.quorum.brokers", { ids: ids.join(" ") || nobody }), 4],
  ];
}

/** Of facts [text, number?] those that fit, one beside the other: [text, x]. What can be read elsewhere makes room for the rest. */
function placed(facts, x, end) {
  const between = 14;
  const wide = ([text]) => widthOf(text, 6.9, 11) + between;
  const most = end + between / 2; // behind the last one less will do
  const kept = [...facts];
  for (const spare of facts.filter(([, number]) => number).sort(([, one], [, other]) => other - one)) {
    if (kept.reduce((sum, fact) => sum + wide(fact), x) <= most) break;
    kept.splice(kept.indexOf(spare), 1);
  }
  const places = [];
  for (const fact of kept) {
    if (x + wide(fact) > most) break;
    places.push([fact[0], x]);
    x += wide(fact);
  }
  return places;
}

/** Each other cluster on the ensemble: how many of its partitions have a leader that runs, and whether it could elect another one. */
function neighbourFacts(neighbours, words) {
  return Object.entries(neighbours ?? {}).map(([name, { led, partitions, elects }]) =>
    `${elects ? "●" : "▽"} ${words.t("stage.neighbour", { name, led, partitions })}`);
}

/** Of several servers of the tree: who leads, in which epoch, what is committed, and which broker is connected where. */
function ensembleFacts({ ensemble, servers, neighbours }, words) {
  const nobody = words.t("stage.nobody");
  const at = Object.entries(servers).flatMap(([name, { clients = [] }]) => clients.map((client) => [brokerOf(client), name.split("-").at(-1)]));
  const places = at.filter(([id]) => id !== null).sort(([left], [right]) => byNumber(left, right)).map(([id, server]) => `${id}→${server}`);
  return [
    words.t("stage.quorum.leader", { id: String(ensemble.leader ?? nobody) }),
    ...neighbourFacts(neighbours, words),
    words.t("stage.quorum.epoch", { n: String(ensemble.epoch) }),
    `zxid ${ensemble.zxid}`, words.t("stage.ensemble.brokers", { ids: places.join(" ") || nobody }),
  ];
}

/** What a server of the ensemble does, and who is connected to it. */
function partOf(server, words) {
  if (!server?.role) return "";
  const clients = server.clients?.length
    ? words.t("stage.ensemble.clients", { names: server.clients.map((one) => words.name(one)).join(", ") })
    : words.t("stage.ensemble.nobody");
  return `, ${words.t(`reason.${server.role}`)}, ${clients}`;
}

/** A controller of its own, or a server of the tree: its state, and its menu. */
function serverChip(view, name, x, y, wide) {
  const { state, words } = view;
  const server = serverIn(state, name)?.state ?? "running";
  const leads = leadsEnsemble(state, name) || (isKRaft(state) && name === controllerNode(state.cluster.controller));
  const looks = server === "running" && state.servers?.[name]?.role === "looking";
  const sign = { stopped: "×", paused: "❚❚" }[server] ?? (leads ? "★" : looks ? "?" : "●");
  const leading = leads ? `, ${words.t("stage.legend.leader")}` : "";
  const label = words.t("menu.of", { name: `${words.name(name)}, ${words.t(`state.${server}`)}${leading}${partOf(state.servers?.[name], words)}` });
  const open = (event) => {
    event.stopPropagation();
    view.openMenu("server", name, x + wide / 2, y + 24);
  };
  const press = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open(event);
  };
  const acts = { role: "button", tabindex: "-1", "aria-haspopup": "menu", "data-menu": `server:${name}`, onclick: open, onkeydown: press };
  return h("g", {
    key: name, class: `server ${server}${view.spot?.name === name ? " spot" : ""}`, "aria-label": label, ...(view.lookOnly ? { role: "img" } : acts)
  },
    h("title", {}, label), h("rect", { x, y, width: wide, height: 24, rx: 6 }),
    h("text", { x: x + wide / 2, y: y + 16.5 }, `${sign} ${isMachine(name) ? "▢" : ""}${name.split("-").at(-1)}`));
}

const CHIP = 48; // of a server in the strip

/** About how wide a text is, in pixels: of Latin letters, and of Korean ones. */
const widthOf = (text, latin, wide) => [...text].reduce((sum, sign) => sum + (sign < "\u1100" ? latin : wide), 0);

function tree(view, { tree: narrow, strip: box = narrow }) {
  const { state, words } = view;
  const ids = Object.keys(state.brokers).filter((id) => state.brokers[id].registered).sort(byNumber);
  const quorum = isKRaft(state);
  const nobody = quorum ? (state.cluster.controller ?? null) === null : (state.ensemble?.leader ?? null) === null;
  const down = quorum || state.ensemble ? nobody : Object.values(state.servers ?? {}).some((one) => one.state !== "running");
  const alone = () => [...treeFacts(state, ids, words), ...neighbourFacts(state.neighbours, words)];
  const plain = () => (state.ensemble ? ensembleFacts(state, words) : alone()).map((text) => [text]);
  const facts = quorum ? quorumFacts(state, ids, words) : plain();
  const servers = serversOf(state);
  const end = box.x + box.w - servers.length * (CHIP + 4);
  const name = words.t(quorum ? "stage.quorum" : "stage.zookeeper");
  const places = placed(facts, box.x + 30 + widthOf(name, 8, 13), end);
  return h("g", { key: "tree", class: `tree${down ? " stopped" : ""}`, onclick: () => view.showTab(quorum ? "metadata" : "tree") },
    h("title", {}, [name, ...facts.map(([text]) => text)].join(" · ")),
    h("rect", { x: box.x + 0.5, y: box.y + 0.5, width: box.w, height: box.h, rx: 8 }),
    h("text", { class: "tree-name", x: box.x + 14, y: box.y + 18.5 }, name),
    places.map(([fact, at], index) => h("text", { key: index, class: "tree-fact", x: at, y: box.y + 18.5 }, fact)),
    servers.map((name, index) => serverChip(view, name, end + index * (CHIP + 4), box.y + 2, CHIP)));
}

/** Whether the lesson at hand is about requests: then where they are shows without pointing at a broker. */
const teachesRequests = ({ desk }) => desk?.lessons?.one?.document?.subject === "requests";

/** The whole stage as descriptions; `view.scene` keeps the layout for the dots. */
export function stage(view, width, height) {
  const scene = layout(view.state, width, height);
  const former = formerController(view);
  const leaders = Object.values(view.topic?.partitions ?? {}).map(({ leader }) => leader).filter((id) => id >= 0);
  scene.signs = signPlaces(scene, view.state);
  scene.links = view.topic ? linkPlaces(scene, view.state, new Set(leaders)) : [];
  view.scene = scene;
  return [
    h("defs", { key: "defs" },
      h("pattern", { id: "hatch", width: 9, height: 9, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        h("line", { class: "hatch-line", x1: 0, y1: 0, x2: 0, y2: 9 })),
      h("pattern", { id: "astray", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(-45)" },
        h("line", { class: "astray-line", x1: 0, y1: 0, x2: 0, y2: 5 })),
      h("pattern", { id: "dots", width: 10, height: 10, patternUnits: "userSpaceOnUse" }, h("circle", { class: "hatch-dot", cx: 3, cy: 3, r: 1.3 }))),
    h("g", { key: "ways" }, ways(view, scene)),
    h("g", { key: "links" }, linkHandles(view, scene)),
    h("g", { key: "sides" }, [...scene.left, ...scene.right].map((item) => side(view, item))),
    h("g", { key: "brokers", class: teachesRequests(view) ? "pipes" : null }, scene.brokers.map((box) => brokerCard(view, box, former))),
    tree(view, scene),
    h("g", { key: "signs", class: "signs" }, waySigns(scene)),
  ];
}

/** What a cell shows: its offset, or the key or value of its record. */
export const cellTextOptions = ({ words }) => ["offset", "key", "value"].map((what) => h("option", { key: what, value: what }, words.t(`stage.cell.${what}`)));

/** What the signs mean: those that are always there, and those that the picture has now. */
export function legend(view) {
  const { words, topic, topicName, state, desk } = view;
  if (view.scene?.printed) view.printed = view.scene.width; // stays: an entry that came and went would move what it explains
  const entry = (kind, key, sign) => h("span", { key, class: "legend-entry" },
    h("i", { class: `legend-sign ${kind}`, "aria-hidden": "true" }, sign),
    words.t(key));
  const partitions = Object.entries(topic?.partitions ?? {});
  const lost = partitions.some(([number]) => fatesOf(desk?.receipts?.found ?? null, `${topicName}-${number}`).lost.size > 0);
  const read = Object.values(state.groups).some(({ offsets }) => topicName in (offsets ?? {}));
  const alone = partitions.some(([number]) => readersOf(state, topicName, number).length > 0);
  const logs = partitions.flatMap(([, { logs: each }]) => Object.values(each));
  const doubled = logs.some((log) => doubledIn(log).size > 0);
  const behind = partitions.some(([number]) => fatesOf(desk?.receipts?.found ?? null, `${topicName}-${number}`).reordered.size > 0);
  const transacted = partitions.some(([, partition]) => partition.transactions?.length > 0);
  const moving = partitions.some(([, partition]) => isMoving(partition));
  const shared = partitions.some(([number]) => sharesOf(state, topicName, number).length > 0);
  return [
    entry("committed", "stage.legend.committed"), entry("waiting", "stage.legend.uncommitted"), entry("hole", "stage.legend.missing"),
    lost ? entry("lost", "stage.legend.lost", "✕") : null, entry("astray", "stage.legend.absent"), entry("bar", "stage.legend.hw"),
    read ? [entry("glyph reads", "stage.legend.reads", "▲"), entry("glyph reads", "stage.legend.position", "△")] : null,
    alone && !read ? entry("glyph reads", "stage.legend.alone", "▲") : null,
    logs.some(({ damaged = [] }) => damaged.length > 0) ? entry("damaged", "stage.legend.damaged", DAMAGED) : null,
    doubled ? entry("glyph sign", "stage.legend.doubled", "×2") : null, behind ? entry("glyph sign", "stage.legend.reordered", "⇄") : null,
    transacted
      ? [
        entry("band open", "stage.legend.open", "…"), entry("band commit", "stage.legend.commit", "✓"),
        entry("band abort", "stage.legend.abort", "↩"), entry("bar stable", "stage.legend.lso")]
      : null,
    shared ? STATES.map((one) => entry(`share ${one}`, `share.${one}`, SIGNS[one])) : null,
    entry("glyph", "stage.legend.leader", "★"), entry("glyph", "stage.legend.isr", "•"), entry("glyph", "stage.legend.out", "▽"),
    logs.some(({ directory }) => directory) ? entry("glyph", "stage.legend.directory", "▤") : null,
    moving ? Object.entries(MOVES).map(([move, sign]) => entry("glyph", `stage.${move}`, sign)) : null,
    view.printed && view.printed === view.scene?.width ? entry("glyph", "stage.legend.print", "#") : null,
  ];
}

export { boxOf };
