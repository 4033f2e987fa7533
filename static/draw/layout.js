/**
 * Where everything stands on the stage. Pure: state and size in, boxes and ways out.
 *
 *     clients | brokers (one column, two from five on) | groups
 *             | coordination tree, below              |
 *
 * What is written of the tree has the room beside it, too (`strip`); ways begin and end at the tree itself.
 * On a phone clients stand above the brokers and groups below them; ways go round the left and the right edge.
 */
import { OPERATOR, brokerNode, byNumber, isReader, kindOf } from "../model/names.js";
import { membersOf } from "../model/readers.js";

const GAP = 8;
const STRIP = 28;
const CHOICE = 28; // of a stacked stage, where there is no room beside the tree
const SIDE = { least: 34, most: 58, gap: 6, wanted: 26, wide: 84 }; // height of a client's box, and between two of them
const STACKED = 480; // a stage of less width is stacked
const CELLS = 100; // where the choice of what cells show ends
const ROOMY = 1000; // a stage wider than that has room to spare
const WIDEST = 760; // of a broker there
const EDGE = 16; // room for ways beside the brokers of a stacked stage
const BEND = 9; // radius of their corners
const DOT = 7; // and of a message, nearly
const CARD = { head: 44, line: 16, most: 7 }; // a group's card

/** The left side: built-in producers, the viewer's own writes, outside clients. */
function senders(state) {
  const found = Object.entries(state.clients).filter(([, client]) => client.kind === "producer")
    .map(([name, client]) => ({ name, kind: "producer", client }));
  const outside = Object.values(state.connections);
  if (outside.length) found.push({ name: "outside", kind: "outside", connections: outside });
  found.push({ name: OPERATOR, kind: "you" });
  return found;
}

/** The right side: groups, and built-in consumers that are in no group. */
function readers(state) {
  const found = Object.entries(state.groups).map(([name, group]) => ({ name, kind: "group", group, lines: membersOf(state, name).length }));
  const grouped = new Set(found.flatMap(({ name }) => membersOf(state, name).map(({ id }) => id)));
  for (const { group } of found) for (const member of group.members) grouped.add(member.client_id);
  for (const [name, client] of Object.entries(state.clients)) {
    if (isReader(client) && !grouped.has(name) && !grouped.has(client.settings?.client_id)) found.push({ name, kind: client.kind, client });
  }
  return found;
}

/** As many as fit; one box named `name` stands for the rest, and the last `kept` are never among them. */
function folded(items, name, height, kept = 0) {
  const most = Math.max(kept + 1, Math.floor((height + SIDE.gap) / (SIDE.least + SIDE.gap)));
  if (items.length <= most) return items;
  const end = items.length - kept;
  const shown = most - kept - 1;
  return [...items.slice(0, shown), { name, kind: "folded", rest: items.slice(shown, end) }, ...items.slice(end)];
}

/** How high a box would like to be: a group's card has a line for each member. */
const wantedHeight = (item) => (item.kind === "group" ? CARD.head + CARD.line * Math.max(1, Math.min(CARD.most, item.lines)) : SIDE.most);

/** One below the other; many are lower and closer, and none covers another. */
function column(items, x, w, height) {
  const n = items.length;
  const even = Math.floor((height + SIDE.gap) / Math.max(1, n)) - SIDE.gap;
  const wanted = items.map(wantedHeight);
  const sum = wanted.reduce((all, one) => all + one, 0);
  const heights = sum + (n - 1) * SIDE.gap <= height ? wanted : wanted.map((one) => Math.min(one, even));
  const free = height - heights.reduce((all, one) => all + one, 0);
  const gap = n > 1 ? Math.min(SIDE.wanted, free / (n - 1)) : 0;
  let y = (free - gap * (n - 1)) / 2;
  return items.map((item, index) => {
    const box = { ...item, x, y: Math.round(y), w, h: heights[index] };
    y += heights[index] + gap;
    return box;
  });
}

/** One beside the other, all of one width. */
function line(items, x, y, width, h, most = 2 * SIDE.wide) {
  const w = Math.floor((width - (items.length - 1) * SIDE.gap) / Math.max(1, items.length));
  return items.map((item, index) => ({ ...item, x: x + index * (w + SIDE.gap), y, w: Math.min(w, most), h }));
}

function brokerBoxes(state, x, width, height, most = 2) {
  const ids = Object.keys(state.brokers).sort(byNumber);
  const columns = ids.length > 4 ? most : 1;
  const lines = Math.max(1, Math.ceil(ids.length / columns));
  const gap = columns === 1 ? GAP + 3 : GAP;
  const w = Math.floor((width - (columns - 1) * 34) / columns);
  const h = Math.min(190, Math.floor((height - (lines - 1) * gap) / lines));
  const top = Math.floor((height - lines * h - (lines - 1) * gap) / 2);
  return ids.map((id, index) => ({
    id, broker: state.brokers[id], x: x + (index % columns) * (w + 34), y: top + Math.floor(index / columns) * (h + gap), w, h,
    column: index % columns,
  }));
}

/** Clients, brokers, groups and the tree one below the other; below them a line for the choice of what cells show. */
function stacked(state, width, whole) {
  const height = whole - CHOICE;
  const wide = Math.max(SIDE.wide, width - 2 * EDGE);
  const most = Math.max(1, Math.floor(wide / SIDE.wide));
  const room = most * (SIDE.least + SIDE.gap); // of the same number one below the other
  const left = line(folded(senders(state), "more-senders", room, 1), EDGE, 0, wide, SIDE.most);
  const right = folded(readers(state), "more-readers", room);
  const cards = right.length ? Math.max(...right.map((item) => (item.kind === "folded" ? SIDE.most : wantedHeight(item)))) : 0;
  const top = SIDE.most + SIDE.wanted;
  const bottom = height - STRIP - GAP - (cards ? cards + SIDE.wanted / 2 : 0);
  const brokers = brokerBoxes(state, EDGE, wide, Math.max(SIDE.most, bottom - top), 1).map((box) => ({ ...box, y: box.y + top }));
  return {
    width, height: whole, stacked: true, left, brokers,
    right: line(right, EDGE, height - STRIP - GAP - cards, wide, cards, wide), // ways to it go round the right edge, not over a card
    tree: { x: EDGE - 8, y: height - STRIP - 2, w: wide + 16, h: STRIP },
  };
}

/** All boxes for a stage of `width` x `height` pixels. */
export function layout(state, width, height) {
  if (width < STACKED) return stacked(state, width, height);
  const side = Math.max(80, Math.min(120, Math.round(width * 0.14)));
  const right = readers(state);
  const least = width < 600 ? 4 : 14;
  const way = Math.max(36, Math.min(96, Math.round(width * 0.08)));
  const rightSide = right.length ? side + way : way;
  const w = Math.min(width > ROOMY ? WIDEST : 620, width - 2 * least - side - way - rightSide);
  // On a wide stage both sides come closer: what belongs together stands together.
  const margin = width > ROOMY ? Math.max(least, Math.floor((width - w - side - way - rightSide) / 2)) : least;
  const x = margin + side + way;
  const space = width - x - rightSide - (right.length ? margin : 0);
  const shift = Math.floor((space - w) / 2);
  const body = height - STRIP - GAP - 6;
  const spare = Math.round(way * 0.7);
  const tree = { x: x + shift - spare, y: height - STRIP - 4, w: w + 2 * spare, h: STRIP };
  const from = Math.max(CELLS, Math.min(tree.x, (width - ROOMY) / 2));
  const strip = { ...tree, x: Math.min(tree.x, from), w: Math.max(tree.x + tree.w, Math.min(width - least, from + ROOMY)) - Math.min(tree.x, from) };
  return {
    width, height,
    brokers: brokerBoxes(state, x + shift, w, body),
    left: column(folded(senders(state), "more-senders", body, 1), margin, side, body),
    right: column(folded(right, "more-readers", body), width - margin - side, side, body),
    tree, strip,
  };
}

/** The box of a node by its journal name; null when it is not on the stage. */
export function boxOf(scene, node, state) {
  const kind = kindOf(node);
  if (kind === "broker") return scene.brokers.find((box) => brokerNode(box.id) === node) ?? null;
  if (kind === "server") return scene.tree;
  const holds = (wanted) => (box) => box.name === wanted || box.rest?.some(({ name }) => name === wanted);
  const own = [...scene.left, ...scene.right].find(holds(node))
    ?? scene.right.find(holds(state.clients[node]?.group ?? state.clients[node]?.settings?.["group.id"] ?? null));
  if (own) return own;
  if (/^\d+$/.test(String(node))) return scene.left.find((box) => box.kind === "outside") ?? scene.left[0];
  const client = state.clients[node];
  if (isReader(client) || isReader({ kind })) return scene.right[0] ?? scene.left[0];
  return scene.left[0];
}

const middle = (box) => ({ x: box.x + box.w / 2, y: box.y + box.h / 2 });

/** A way along straight pieces, each corner of `points` rounded: start, control, end, control, end, ... */
function cornered(points) {
  const towards = (one, other, most) => {
    const far = Math.hypot(other.x - one.x, other.y - one.y) || 1;
    const share = Math.min(most, far / 2) / far;
    return { x: one.x + (other.x - one.x) * share, y: one.y + (other.y - one.y) * share };
  };
  const half = (one, other) => ({ x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 });
  const found = [points[0]];
  for (let at = 1; at < points.length - 1; at += 1) {
    const [before, corner, after] = [towards(points[at], points[at - 1], BEND), points[at], towards(points[at], points[at + 1], BEND)];
    found.push(half(found.at(-1), before), before, corner, after);
  }
  return [...found, half(found.at(-1), points.at(-1)), points.at(-1)];
}

/**
 * Between a client above or below and a broker of a stacked stage: through the gap between clients and brokers, along the
 * nearer edge, and in from there. So it goes over no card, however many clients stand side by side.
 */
function roundTheEdge(scene, from, to, answer) {
  const client = from.column === undefined ? from : to;
  const broker = client === from ? to : from;
  const above = client.y < broker.y;
  const off = answer ? 4 : 0;
  const x = above ? client.x + Math.min(24, client.w / 2) : client.x + client.w - Math.min(24, client.w / 2);
  const edge = above ? EDGE / 2 - 2 + off : scene.width - EDGE / 2 + 2 - off;
  const lane = above ? client.y + client.h + SIDE.wanted / 2 + off / 2 : client.y - SIDE.wanted / 4 - off / 2;
  const y = middle(broker).y + off;
  const points = [
    { x, y: above ? client.y + client.h : client.y }, { x, y: lane }, { x: edge, y: lane }, { x: edge, y }, { x: above ? broker.x : broker.x + broker.w, y }];
  return cornered(client === from ? points : points.reverse());
}

/**
 * The way from one box to another: [start, control, end] of a quadratic curve, or of several, each from the end of the last.
 * Between brokers of one column requests go round the left side, answers round the right.
 */
export function way(scene, from, to, answer) {
  const a = middle(from);
  const b = middle(to);
  if (scene.stacked && from !== scene.tree && to !== scene.tree && (from.column === undefined) !== (to.column === undefined))
    return roundTheEdge(scene, from, to, answer);
  const sameColumn = from.column !== undefined && from.column === to.column;
  if (sameColumn || from === scene.tree || to === scene.tree) {
    const left = !answer && from !== scene.tree && to !== scene.tree;
    const edge = left ? Math.min(from.x, to.x) : Math.max(from.x + from.w, to.x + to.w);
    const most = Math.min(40, Math.max(0, (left ? edge : scene.width - edge) - DOT) / 0.85); // dots are not cut by the stage's edge
    const far = Math.min(most, 14 + Math.abs(b.y - a.y) * 0.12); // the curve goes 0.85 of it beyond the edge
    const control = left ? edge - far * 1.7 : edge + far * 1.7;
    const at = (box, centre) => ({ x: left ? box.x : box.x + box.w, y: centre.y + (box === from ? -8 : 8) });
    return [at(from, a), { x: control, y: (a.y + b.y) / 2 }, at(to, b)];
  }
  const rightwards = a.x < b.x;
  const start = { x: rightwards ? from.x + from.w : from.x, y: a.y + (answer ? 7 : 0) };
  const end = { x: rightwards ? to.x : to.x + to.w, y: b.y + (answer ? 7 : 0) };
  return [start, { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 }, end];
}

/** The point at share `u` (0..1) of a way; of several curves each takes as much of it as it is long. */
export function along(points, u) {
  let at = 0;
  if (points.length > 3) {
    const lengths = [];
    for (let one = 0; one + 2 < points.length; one += 2) lengths.push(Math.hypot(points[one + 2].x - points[one].x, points[one + 2].y - points[one].y));
    let left = u * lengths.reduce((sum, length) => sum + length, 0);
    while (at < lengths.length - 1 && left > lengths[at]) {
      left -= lengths[at];
      at += 1;
    }
    u = lengths[at] ? Math.min(1, left / lengths[at]) : 0;
  }
  const [a, c, b] = points.slice(2 * at, 2 * at + 3);
  const v = 1 - u;
  return { x: v * v * a.x + 2 * v * u * c.x + u * u * b.x, y: v * v * a.y + 2 * v * u * c.y + u * u * b.y };
}
