/**
 * Where everything stands on the stage. Pure: state and size in, boxes and ways out.
 *
 *     clients | brokers (one column, two from five on) | groups
 *             | coordination tree, below              |
 */
import { byNumber, kindOf } from "../model/names.js";

const GAP = 12;
const STRIP = 40;
const SIDE = { least: 34, most: 58, gap: 6, wanted: 26 }; // height of a client's box, and between two of them

/** The left side: built-in producers, the viewer's own writes, outside clients. */
function senders(state) {
  const found = Object.entries(state.clients).filter(([, client]) => client.kind === "producer")
    .map(([name, client]) => ({ name, kind: "producer", client }));
  const outside = Object.values(state.connections);
  if (outside.length) found.push({ name: "outside", kind: "outside", connections: outside });
  found.push({ name: "operator", kind: "you" });
  return found;
}

/** The right side: groups, and built-in consumers that are in no group. */
function readers(state) {
  const found = Object.entries(state.groups).map(([name, group]) => ({ name, kind: "group", group }));
  const grouped = new Set();
  for (const { group } of found) for (const member of group.members) grouped.add(member.client_id);
  for (const [name, client] of Object.entries(state.clients)) {
    if (client.kind === "consumer" && !grouped.has(name) && !grouped.has(client.settings?.client_id)) found.push({ name, kind: "consumer", client });
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

/** One below the other; many are lower and closer, and none covers another. */
function column(items, x, w, height) {
  const n = Math.max(1, items.length);
  const h = Math.min(SIDE.most, Math.floor((height + SIDE.gap) / n) - SIDE.gap);
  const step = n === 1 ? 0 : Math.min(h + SIDE.wanted, (height - h) / (n - 1));
  const top = height / 2 - ((items.length - 1) * step) / 2 - h / 2;
  return items.map((item, index) => ({ ...item, x, y: Math.round(top + index * step), w, h }));
}

function brokerBoxes(state, x, width, height) {
  const ids = Object.keys(state.brokers).sort(byNumber);
  const columns = ids.length > 4 ? 2 : 1;
  const lines = Math.max(1, Math.ceil(ids.length / columns));
  const gap = columns === 1 ? GAP + 6 : GAP;
  const w = Math.floor((width - (columns - 1) * 34) / columns);
  const h = Math.min(190, Math.floor((height - (lines - 1) * gap) / lines));
  const top = Math.floor((height - lines * h - (lines - 1) * gap) / 2);
  return ids.map((id, index) => ({
    id, broker: state.brokers[id], x: x + (index % columns) * (w + 34), y: top + Math.floor(index / columns) * (h + gap), w, h,
    column: index % columns,
  }));
}

/** All boxes for a stage of `width` x `height` pixels. */
export function layout(state, width, height) {
  const side = Math.max(74, Math.min(120, Math.round(width * 0.15)));
  const right = readers(state);
  const margin = width < 600 ? 4 : 14;
  const way = Math.max(36, Math.min(104, Math.round(width * 0.12)));
  const x = margin + side + way;
  const rightSide = right.length ? side + way + margin : way;
  const space = width - x - rightSide;
  const w = Math.min(540, space);
  const shift = Math.floor((space - w) / 2);
  const body = height - STRIP - GAP - 6;
  const spare = Math.round(way * 0.7);
  return {
    width, height,
    brokers: brokerBoxes(state, x + shift, w, body),
    left: column(folded(senders(state), "more-senders", body, 1), margin, side, body),
    right: column(folded(right, "more-readers", body), width - margin - side, side, body),
    tree: { x: x + shift - spare, y: height - STRIP - 4, w: w + 2 * spare, h: STRIP },
  };
}

/** The box of a node by its journal name; null when it is not on the stage. */
export function boxOf(scene, node, state) {
  const kind = kindOf(node);
  if (kind === "broker") return scene.brokers.find((box) => `broker-${box.id}` === node) ?? null;
  if (kind === "server") return scene.tree;
  const holds = (wanted) => (box) => box.name === wanted || box.rest?.some(({ name }) => name === wanted);
  const own = [...scene.left, ...scene.right].find(holds(node)) ?? scene.right.find(holds(state.clients[node]?.settings?.["group.id"] ?? null));
  if (own) return own;
  if (/^\d+$/.test(String(node))) return scene.left.find((box) => box.kind === "outside") ?? scene.left[0];
  const client = state.clients[node];
  if (client?.kind === "consumer" || kind === "consumer") return scene.right[0] ?? scene.left[0];
  return scene.left[0];
}

const middle = (box) => ({ x: box.x + box.w / 2, y: box.y + box.h / 2 });

/**
 * The way from one box to another: [start, control, end] of a quadratic curve.
 * Between brokers of one column requests go round the left side, answers round the right.
 */
export function way(scene, from, to, answer) {
  const a = middle(from);
  const b = middle(to);
  const sameColumn = from.column !== undefined && from.column === to.column;
  if (sameColumn || from === scene.tree || to === scene.tree) {
    const left = !answer && from !== scene.tree && to !== scene.tree;
    const far = Math.min(40, 14 + Math.abs(b.y - a.y) * 0.12);
    const edge = left ? Math.min(from.x, to.x) : Math.max(from.x + from.w, to.x + to.w);
    const control = left ? edge - far * 1.7 : edge + far * 1.7;
    const at = (box, centre) => ({ x: left ? box.x : box.x + box.w, y: centre.y + (box === from ? -8 : 8) });
    return [at(from, a), { x: control, y: (a.y + b.y) / 2 }, at(to, b)];
  }
  const rightwards = a.x < b.x;
  const start = { x: rightwards ? from.x + from.w : from.x, y: a.y + (answer ? 7 : 0) };
  const end = { x: rightwards ? to.x : to.x + to.w, y: b.y + (answer ? 7 : 0) };
  return [start, { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 }, end];
}

/** The point at share `u` (0..1) of a way. */
export function along([a, c, b], u) {
  const v = 1 - u;
  return { x: v * v * a.x + 2 * v * u * c.x + u * u * b.x, y: v * v * a.y + 2 * v * u * c.y + u * u * b.y };
}
