/**
 * History -> lanes, arrows, marks. Pure; `lanes.js` paints it.
 *
 * Order axis: x counts events, so that what happens in one instant (links without delay!) can be told apart; what
 * happens all the time is folded into bands (folds.js), so the window reaches as far back as there is room for what
 * changed the state. Time axis: x is virtual time in a window that ends at the viewed moment; farther from it than
 * NEAR events what happens all the time is folded, too. No message is left out on either.
 *
 * Rewound (`rewound`), the last quarter of the window is what is known to come: it stands behind the cursor, and its
 * arrows and marks are `ahead`. Near the live edge there is less of it, at the edge nothing.
 *
 * `still` (reduced motion): what is drawn keeps its place. The window ends at the next quarter of its span and the
 * moment moves in it.
 *
 *     arrow   request_sent -> request_received of the same correlation at the receiver, and answers
 *     mark    x death, > start, diamond election, down/up triangle ISR, bar high watermark, ...
 */
import { OPERATOR, brokerNode, brokerOf, byNumber, kindIn } from "../model/names.js";
import { BAND, Folds, kindsOf } from "./folds.js";

const NEAR = 3000; // events before the moment whose messages are arrows on the time axis; half as many behind it
const ORDER_ROOM = 64;
const AHEAD = 0.25; // of the window, for what is known to come

const MARKS = {
  process_ended: ["death", () => ""], process_started: ["start", () => ""], process_paused: ["pause", () => ""], process_resumed: ["start", () => ""],
  controller_elected: ["crown", ({ epoch }) => `e${epoch}`],
  leader_elected: ["turn", ({ topic, partition, leader_epoch }) => `${topic}-${partition} e${leader_epoch}`],
  isr_shrunk: ["shrink", ({ isr }) => `ISR {${(isr ?? []).join(",")}}`], isr_expanded: ["expand", ({ isr }) => `ISR {${(isr ?? []).join(",")}}`],
  truncated: ["cut", ({ before, after }) => `${before}→${after}`], session_expired: ["death", () => ""],
  quorum_state: ["vote", ({ after, epoch }) => (after === "candidate" || after === "leader" ? `${after === "leader" ? "★" : "?"} e${epoch}` : "")],
  partition_offline: ["death", ({ topic, partition }) => `${topic}-${partition}`], send_failed: ["death", ({ error }) => `${error}`],
};

/** The nodes that have a lane, in order: clients, brokers, the coordination tree. */
export function laneNames(state, events, bands = []) {
  const names = new Set(Object.keys(state.clients).filter((name) => state.clients[name].state === "running"));
  const brokers = Object.keys(state.brokers).sort(byNumber).map((id) => brokerNode(id));
  let outside = false;
  const servers = new Set();
  for (const event of events) {
    const kind = kindIn(state, event.node);
    if (["producer", "consumer", "processor", "worker"].includes(kind) || event.node === OPERATOR) names.add(event.node);
    if (kind === "server") servers.add(event.node);
    if (/^\d+$/.test(String(event.params.source ?? event.params.to ?? ""))) outside = true;
  }
  for (const { ways } of bands) for (const way of ways.keys()) outside ||= way.startsWith("outside>");
  return [...[...names].sort().reverse().slice(0, 3), ...(outside ? ["outside"] : []), ...brokers.slice(0, 7), ...servers];
}

const laneOf = (lanes, node) => {
  const index = lanes.indexOf(String(node));
  return index >= 0 ? index : /^\d+$/.test(String(node)) ? lanes.indexOf("outside") : -1;
};

const shown = ({ code }) => code in MARKS || code === "request_sent" || code === "request_received"
  || code === "response_sent" || code === "watch_fired" || code === "high_watermark";

/** The end of a window that moves in quarters of its span. */
export const windowEnd = (time, span) => (Math.floor((4 * time) / span) + 1) * (span / 4);

/** The folds of a history, for whoever draws it again and again. */
export const makeFolds = () => new Folds(shown, ({ code }) => code in MARKS);

const slotWidth = (slot) => (slot.ways ? BAND : 1);
const wide = (slots) => slots.reduce((sum, slot) => sum + slotWidth(slot), 0);

/** Slots from left to right: entries with their places, bands with theirs, which share what room is left; `cursor` and `known` in the same measure. */
function inOrder(history, folds, { position, room, rewound, open, mine }) {
  folds.follow(history);
  const ahead = rewound ? folds.behind(history, position, Math.floor(room * AHEAD)) : [];
  const past = folds.before(history, position, room - wide(ahead), open);
  const bands = past.filter(({ ways }) => ways).length;
  const more = bands ? Math.max(0, room - wide([...past, ...ahead])) / bands : 0;
  const now = wide(past) + bands * more;
  const found = { entries: [], xs: [], bands: [], cursor: now / (room + 1), known: (now + wide(ahead)) / (room + 1) };
  let at = 0;
  for (const slot of [...past, ...ahead]) {
    const coming = at > now - 0.01;
    const width = slotWidth(slot) + (slot.ways && !coming ? more : 0);
    if (slot.ways) found.bands.push({ ...slot, x1: (at + 0.15) / (room + 1), x2: (at + width - 0.15) / (room + 1), ahead: coming });
    else {
      const chosen = slot.others?.find(({ event }) => mine(event)) ?? slot;
      found.entries.push({ event: chosen.event, position: chosen.position, n: slot.n, ...(coming ? { ahead: true } : {}) });
      found.xs.push((at + 0.5) / (room + 1));
    }
    at += width;
  }
  return found;
}

/** By time: everything in the window, and where; what is far from the moment in the folds of the order. */
function inTime(history, folds, { position, time, span, end, rewound }) {
  const start = end - span;
  const [first, last] = [history.positionAtTime(start - 1), rewound ? Math.max(position, history.positionAtTime(end)) : position];
  const near = [Math.max(first, position - NEAR), Math.min(last, position + NEAR / 2)];
  folds.follow(history);
  const [before, behind] = [folds.between(history, first, near[0]), folds.between(history, near[1], last)];
  const single = (slots) => slots.filter(({ ways }) => !ways).flatMap((slot) => [slot, ...(slot.others ?? [])]);
  const drawn = [...single(before), ...nearest(history, near), ...single(behind)];
  const entries = drawn.map((one) => ({ event: one.event, position: one.position, ...(one.position >= position ? { ahead: true } : {}) }));
  const placed = ({ t }) => (t - start) / span;
  const bands = [...before, ...behind].filter(({ ways }) => ways).map((band) => ({
    ...band, x1: Math.max(0, (band.from - start) / span), x2: (band.to - start) / span, ahead: band.begin >= position, timed: true
  }));
  return { entries, xs: entries.map(({ event }) => placed(event)), bands, cursor: (time - start) / span };
}

/** All that is shown from one position up to another. */
function nearest(history, [from, to]) {
  const found = [];
  for (let position = from; position < to; position += 1) {
    const event = history.at(position);
    if (event && shown(event)) found.push({ event, position });
  }
  return found;
}

/** {lanes, arrows, marks, dead, from, to, ticks, cursor, known, bands}: everything with x between 0 and 1;
 * `known`: up to where anything is known. */
export function sketch(history, state, {
  position, time, span, axis, chosen, still = false, rewound = false, room = ORDER_ROOM, folds = makeFolds(), open = true
}) {
  const order = axis === "order";
  const edge = rewound ? Math.max(time, history.timeAt(history.end)) : time;
  const end = still && !order ? windowEnd(time, span) : Math.min(time + span * AHEAD, edge);
  const { topic, number } = /^(?<topic>.*)-(?<number>\d+)$/.exec(chosen ?? "")?.groups ?? {};
  const mine = ({ params }) => `${params.topic}-${params.partition}` === chosen;
  const laid = order ? inOrder(history, folds, { position, room, rewound, open, mine }) : inTime(history, folds, { position, time, span, end, rewound });
  const { entries, xs, bands, cursor } = laid;
  const first = Math.min(entries[0]?.event.t ?? time, bands[0]?.from ?? time);
  const from = order ? first : end - span;
  const lanes = laneNames(state, entries.map(({ event }) => event), bands);
  const found = {
    lanes, arrows: [], marks: [], from, to: time, ticks: order ? [] : ticksOf(from, end, span), dead: [],
    bands: bands.map((band) => bandOn(lanes, band)), cursor,
    known: order ? laid.known : Math.min(1, (edge - from) / span)
  };
  const of = { chosen, leader: brokerNode(state.topics[topic]?.partitions[number]?.leader) };
  const arrivals = new Map();
  entries.forEach(({ event }, index) => {
    if (event.code !== "request_received") return;
    const key = `${event.params.source}>${event.node}:${event.params.api}#${event.params.correlation}`;
    arrivals.set(key, [...(arrivals.get(key) ?? []), index]);
  });
  entries.forEach((entry, index) => {
    const arrow = arrowOf(entry, index, { xs, arrivals, lanes, step: order ? 0.8 / (room + 1) : 0 });
    if (arrow) found.arrows.push(entry.ahead ? { ...arrow, ahead: true } : arrow);
    const mark = markOf(entry, xs[index], lanes, of);
    if (mark) found.marks.push(entry.ahead ? { ...mark, ahead: true } : mark);
  });
  found.dead = silences(entries, xs, lanes, state, found.known);
  return found;
}

/** A band on the lanes: {a, b, n} of each pair that it has messages between, and what they are. */
function bandOn(lanes, band) {
  const pairs = new Map();
  for (const [way, n] of band.ways) {
    const [, from, to] = /^(.*)>(.*):/.exec(way);
    const [a, b] = [laneOf(lanes, from), laneOf(lanes, to)];
    if (a < 0 || b < 0 || a === b) continue;
    const key = `${Math.min(a, b)}:${Math.max(a, b)}`;
    const pair = pairs.get(key) ?? { a: Math.min(a, b), b: Math.max(a, b), n: 0 };
    pair.n += n;
    pairs.set(key, pair);
  }
  const sorted = [...pairs.values()].sort((one, other) => one.a - other.a || one.b - other.b);
  return { ...band, pairs: sorted, kinds: kindsOf(band), took: band.timed ? 0 : band.to - band.from };
}

function arrowOf({ event, position }, index, { xs, arrivals, lanes, step }) {
  const { code, node, params } = event;
  const x1 = xs[index];
  if (code === "request_sent") {
    const arrival = arrivals.get(`${node}>${params.to}:${params.api}#${params.correlation}`)?.find((later) => later > index);
    return arrowBetween(lanes, node, params.to, x1, arrival === undefined ? x1 + step : xs[arrival], { answer: false, label: params.api, position });
  }
  if (code === "request_received" && laneOf(lanes, params.source) === lanes.indexOf("outside") && lanes.includes("outside")) {
    return arrowBetween(lanes, params.source, node, x1 - step, x1, { answer: false, label: params.api, position });
  }
  if (code === "response_sent") {
    const failed = Boolean(params.error && params.error !== "NONE");
    return arrowBetween(lanes, node, params.to, x1, x1 + step, { answer: true, failed, label: failed ? params.error : "", position });
  }
  if (code === "watch_fired") return arrowBetween(lanes, node, params.owner, x1, x1 + step, { answer: true, failed: false, label: params.path, position });
  return null;
}

function arrowBetween(lanes, from, to, x1, x2, more) {
  const [a, b] = [laneOf(lanes, from), laneOf(lanes, to)];
  return a < 0 || b < 0 || a === b ? null : { a, b, x1, x2, ...more };
}

function markOf({ event, position }, x, lanes, { chosen, leader }) {
  const lane = laneOf(
    lanes,
    event.code === "session_expired" ? event.params.owner : event.code === "leader_elected" ? brokerNode(event.params.leader) : event.node);
  if (lane < 0) return null;
  const { topic, partition, before, after } = event.params;
  const mine = `${topic}-${partition}` === chosen;
  if (event.code === "high_watermark")
    return mine && event.node === leader ? { lane, x, kind: "hw", label: `HW ${before}→${after}`, position, code: event.code } : null;
  const [kind, label] = MARKS[event.code] ?? [];
  if (!kind) return null;
  if (topic !== undefined && partition !== undefined && !mine) return { lane, x, kind, label: "", position, code: event.code };
  return { lane, x, kind, label: label(event.params), position, code: event.code };
}

/** Stretches in which a process was stopped or paused: [{lane, x1, x2, kind}]. */
function silences(entries, xs, lanes, state, end) {
  return lanes.flatMap((name, lane) => {
    const found = [];
    let since = null;
    let kind = "";
    entries.forEach(({ event }, index) => {
      if (event.node !== name) return;
      if (event.code === "process_ended" || event.code === "process_paused") [since, kind] = [since ?? xs[index], event.code];
      else if (event.code === "process_started" || event.code === "process_resumed") {
        const absent = since === null && event.params.incarnation === 1; // there was no such process yet
        if (!absent) found.push({ lane, x1: since ?? 0, x2: xs[index], kind: event.code === "process_started" ? "process_ended" : "process_paused" });
        since = null;
      }
    });
    if (since !== null) found.push({ lane, x1: since, x2: end, kind });
    const broker = state.brokers[brokerOf(name)];
    if (since === null && broker && broker.state !== "running" && !found.length)
      found.push({ lane, x1: 0, x2: end, kind: broker.state === "paused" ? "process_paused" : "process_ended" });
    return found;
  });
}

/** Round moments of the window: [{x, text}]. */
export function ticksOf(from, to, span) {
  const step = 10 ** Math.floor(Math.log10(span / 4));
  const wide = [1, 2, 5, 10].map((factor) => factor * step).find((size) => span / size <= 8);
  const digits = Math.max(0, 6 - Math.floor(Math.log10(wide)));
  const found = [];
  for (let t = Math.ceil(Math.max(0, from) / wide) * wide; t <= to; t += wide)
    found.push({ x: (t - from) / span, text: `${(t / 1e6).toFixed(Math.min(3, digits))} s` });
  return found;
}
