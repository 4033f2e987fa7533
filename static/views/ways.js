/**
 * The lines of the stage: who writes to and reads from the leaders, and links that do something to what they carry
 * (`draw/signs.js`). Between brokers messages draw their own way.
 */
import { way } from "../draw/layout.js";
import { h } from "./patch.js";

/** A way as the path of an SVG. */
export const curve = ([start, ...rest]) => `M${start.x} ${start.y}Q${rest.map(({ x, y }) => `${x} ${y}`).join(" ")}`;

/** Who writes to the leaders and reads from them; the ways on which something is wrong. */
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
  return [found, scene.signs.map(({ key, line, cut }) => h("path", { key, class: `way ${cut ? "cut" : "slow"}`, d: curve(line) }))];
}

/** What is written on them, above everything that stands beside. */
export const waySigns = ({ signs }) => signs.map(({ key, sign, cut, aside, upright, x, y }) => h("text", {
  key, class: `${cut ? "cut" : "slow"}-mark${aside ? " aside" : ""}`, x, y, transform: upright ? `rotate(-90 ${x} ${y})` : null
}, sign));
