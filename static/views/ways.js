/**
 * The lines of the stage: who writes to and reads from the leaders, and links that do something to what they carry.
 * Between brokers messages draw their own way.
 *
 *     broker 1 ┄┄ ✕ ┄┄ broker 2          nothing passes
 *     broker 1 ┄ 100 ms ┄ broker 3       slow;  ✕ 30 % lost, ×2 30 % doubled, ⇄ 30 % overtaken, 20 kB/s narrow
 */
import { along, boxOf, way } from "../draw/layout.js";
import { h } from "./patch.js";

const SLOW_US = 5000; // what is quicker is a healthy link
const ABOVE = 7; // pixels between a line and what is written on it

const percent = (share) => `${Math.round(100 * share)} %`;

/** What a link does to its messages, in signs; "" for a healthy one. Pure. */
export function linkSign({ partitioned, delay_us = 0, drop = 0, duplicate = 0, reorder = 0, bandwidth = 0 }) {
  if (partitioned) return "✕";
  const signs = [
    delay_us >= SLOW_US && `${Math.round(delay_us / 1000)} ms`, drop > 0 && `✕ ${percent(drop)}`, duplicate > 0 && `×2 ${percent(duplicate)}`,
    reorder > 0 && `⇄ ${percent(reorder)}`, bandwidth > 0 && `${Number((bandwidth / 1000).toPrecision(3))} kB/s`,
  ];
  return signs.filter(Boolean).join(" · ");
}

/** Pairs of boxes between which something is wrong: {key, from, to, sign}; both directions are one. */
export function troubled(scene, state) {
  const found = new Map();
  for (const link of state.links) {
    const sign = linkSign(link);
    const [from, to] = [link.from, link.to].sort().map((node) => boxOf(scene, node, state));
    if (!sign || !from || !to || from === to || from.kind === "you" || to.kind === "you") continue;
    const key = `${[link.from, link.to].sort().join("~")}`;
    const known = found.get(key);
    if (!known) found.set(key, { key, from, to, sign });
    else if (!known.sign.split(" / ").includes(sign)) known.sign += ` / ${sign}`;
  }
  return [...found.values()];
}

export const curve = ([a, c, b]) => `M${a.x} ${a.y}Q${c.x} ${c.y} ${b.x} ${b.y}`;

function trouble(scene, { key, from, to, sign }) {
  const line = way(scene, from, to, false);
  const at = along(line, 0.5);
  const cut = sign === "✕";
  const aside = !cut && from.column !== undefined && from.column === to.column; // beside the bend, not on it
  return [
    h("path", { key, class: `way ${cut ? "cut" : "slow"}`, d: curve(line) }),
    h("text", {
      key: `${key}x`, class: `${cut ? "cut" : "slow"}-mark${aside ? " aside" : ""}`, x: at.x - (aside ? ABOVE : 0),
      y: at.y + (cut ? 7 : aside ? 5 : -ABOVE)
    }, sign),
  ];
}

/** All lines. */
export function ways(view, scene) {
  const leaders = new Set();
  for (const partition of Object.values(view.topic?.partitions ?? {})) leaders.add(partition.leader);
  const found = [];
  const add = (key, from, to) => found.push(h("path", { key, class: "way client", d: curve(way(scene, from, to, false)) }));
  for (const box of scene.brokers) {
    if (!leaders.has(Number(box.id)) || box.broker.state !== "running") continue;
    for (const item of scene.left) if (item.kind !== "you" || !scene.left.some(({ kind }) => kind === "producer")) add(`${item.name}>${box.id}`, item, box);
    for (const item of scene.right) add(`${item.name}<${box.id}`, item, box);
  }
  return [found, troubled(scene, view.state).map((one) => trouble(scene, one))];
}
