/**
 * What a link does to what it carries, as a sign on its way, and where that sign stands. Pure.
 *
 *     broker 1 ┄┄ ✕ ┄┄ broker 2          nothing passes
 *     broker 1 ┄ 100 ms ┄ broker 3       slow;  ✕ 30 % lost, ×2 30 % doubled, ⇄ 30 % overtaken, 20 kB/s narrow
 *
 * A sign stands beside the middle of its way, where messages do not pass over it, or as near to it as it covers no card
 * and no other sign; labels of messages keep off it (`labels.js`).
 */
import { along, boxOf, way } from "./layout.js";

const SLOW_US = 5000; // what is quicker is a healthy link
const ABOVE = 7; // pixels between a bend and what is written beside it
const DOT = 8; // half of a message that passes
const NEAR = 0.02; // of a way
const STEEPEST = 50;
const SHARES = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82];
const LETTER = 8.6; // pixels of a sign's letter: digits and capitals of a bold font of 12 px
const APART = 6; // pixels between two signs
const POINTS = 60; // of a way that is not to be written on
const HIGH = 12;
const CROSS = { wide: 18, high: 18 };

const percent = (share) => `${Math.round(100 * share)} %`;

/** What a link does to its messages, in signs; "" for a healthy one. */
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

/** How steep a way is at a share of it; 0 is level. */
function steepness(line, share) {
  const [before, behind] = [share - NEAR, share + NEAR].map((one) => along(line, one));
  return Math.min(STEEPEST, Math.abs((behind.y - before.y) / (behind.x - before.x || 1e-6)));
}

/**
 * How far from its way the middle of a text of `wide` pixels stands, so that what travels there passes beside it: above a
 * level way, to the left or the right of a steep one: [[x, y]].
 */
function besides(line, share, wide) {
  const steep = steepness(line, share);
  const above = DOT * Math.hypot(1, steep) + (steep * wide) / 2 + 3; // what hangs below a base line
  const side = DOT * Math.hypot(1, 1 / steep) + (HIGH / 2 + 1) / steep + wide / 2;
  return above < side - wide / 2 ? [[0, -above], [0, above + HIGH - 5]] : [[-side, HIGH / 2 - 2], [side, HIGH / 2 - 2]];
}

/** Where there is no room beside a way, as on a stacked stage, the line itself has it; the text is upright at an edge. */
function onTheLine(line, share, wide, upright = steepness(line, share) > 1) {
  const { x, y } = along(line, share);
  const [right, down] = upright ? [HIGH / 2, wide / 2] : [wide / 2, HIGH / 2];
  const base = HIGH / 2 - 2;
  const place = upright ? { x: x + base, y } : { x, y: y + base };
  return { ...place, share, upright, left: x - right, right: x + right, top: y - down, bottom: y + down };
}

/** A sign at a share of its way: the places where its text can be written, and the box that each takes. */
function standing({ from, to, sign }, line, share, stacked) {
  if (stacked && sign !== "✕") return [onTheLine(line, share, sign.length * LETTER)];
  const at = along(line, share);
  const cut = sign === "✕";
  const aside = !cut && from.column !== undefined && from.column === to.column; // beside the bend, not on it
  const wide = cut ? CROSS.wide : sign.length * LETTER;
  return (cut ? [[0, 7]] : aside ? [[-ABOVE, 5]] : besides(line, share, wide)).map(([right, down]) => {
    const [x, y] = [at.x + right, at.y + down];
    const left = aside ? x - wide : x - wide / 2;
    return { share, x, y, cut, aside, left, right: left + wide, top: y - (cut ? CROSS.high - 3 : HIGH - 2), bottom: y + 3 };
  });
}

const meets = (one, other, gap = 0) => one.left < other.right + gap && other.left < one.right + gap
  && one.top < other.bottom + gap && other.top < one.bottom + gap;

/** Whether a way passes a sign that stands beside another one, or comes nearer to it than a sign may. */
function passes(line, place) {
  const at = Array.from({ length: POINTS + 1 }, (_, index) => along(line, index / POINTS));
  return at.some(({ x, y }) => meets(place, { left: x, right: x, top: y, bottom: y }, APART));
}

/** A sign beside its bend that another troubled way would pass, moved out to where none does. */
function movedOut(place, lines) {
  if (!place.aside) return place;
  let out = 0;
  const moved = () => ({ ...place, x: place.x - out, left: place.left - out, right: place.right - out });
  while (lines.some((line) => passes(line, moved())) && out < place.right) out += APART;
  return moved();
}

/** A sign, and the same for where it has no room: "×2 30 % · ⇄ 30 %", "×2 · ⇄", "×2⇄". The handle of the link has all of it in words. */
function wordingsOf(sign) {
  const brief = sign.replaceAll(/ \d+ %/g, "");
  return [...new Set([sign, brief, brief.replaceAll(" · ", "")])];
}

/** All signs of the stage: {key, sign, line, share, x, y, cut, aside, upright, left, right, top, bottom}. */
export function signPlaces(scene, state) {
  const boxes = [...scene.left, ...scene.right, ...(scene.stacked ? [] : scene.brokers)];
  const cards = boxes.map(({ x, y, w, h }) => ({ left: x, right: x + w, top: y, bottom: y + h }));
  const found = [];
  const all = troubled(scene, state).map((one) => ({ ...one, line: way(scene, one.from, one.to, false) }));
  for (const one of all) {
    const { line } = one;
    const others = all.filter((other) => other !== one).map((other) => other.line);
    const isFree = (place) => place.left >= 0 && place.right <= scene.width && !cards.some((card) => meets(place, card))
      && !found.some((other) => meets(place, other, APART));
    const placesOf = (sign) => SHARES.flatMap((share) => standing({ ...one, sign }, line, share, scene.stacked))
      .map((place) => ({ ...movedOut(place, others), sign }));
    const onTheWay = (sign) => SHARES.map((share) => ({ ...onTheLine(line, share, sign.length * LETTER, false), sign }));
    const wordings = wordingsOf(one.sign);
    const free = [...wordings.flatMap(placesOf), ...wordings.flatMap(onTheWay)].find(isFree); // beside the way, however brief
    found.push({ key: one.key, line, ...(free ?? placesOf(wordings.at(-1))[0]) });
  }
  return found;
}
