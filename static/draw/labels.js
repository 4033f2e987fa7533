/**
 * Where the labels of messages stand on the stage. Pure: boxes in, places out.
 *
 * A label stands over, beside or under its message, and slides along that line as far as REACH to where it covers
 * nothing: no card with its rim, no sign of a link and no way that is cut, no other label, no dot of a loud message.
 * Where there is no such place its shorter text is tried, and then the label is left out; the words of the stage
 * (`views/words.js`) have all messages anyway.
 */
import { along } from "./layout.js";

const ASCENT = 10; // of a label's box above and below its base line, in pixels
const DESCENT = 3;
const GAP = 4; // between a label and what it does not cover
const REACH = 14; // how far a label stands from its message at most
const DOT = 7;
const MOST = 60; // labels for which a place is looked for in one picture
const RIM = 5; // the text of a card at the side may be a little wider than the card
const POINTS = 40; // of a way that is cut

/** Points of a way that nothing passes: its stroke would go through the letters. */
const cutThrough = ({ cut, line }) => (cut ? Array.from({ length: POINTS + 1 }, (_, index) => {
  const { x, y } = along(line, index / POINTS);
  return { left: x, right: x, top: y, bottom: y };
}) : []);

/** The boxes of the stage that no label covers: {left, right, top, bottom}. */
export function blocksOf({ left, right, brokers, tree, signs = [] }) {
  const block = ({ x, y, w, h }, more) => ({ left: x - more, right: x + w + more, top: y, bottom: y + h });
  return [...[...left, ...right].map((box) => block(box, RIM)), ...[...brokers, tree].map((box) => block(box, 0)), ...signs, ...signs.flatMap(cutThrough)];
}

const dotAt = ({ x, y }) => ({ left: x - DOT + GAP, right: x + DOT - GAP, top: y - DOT + GAP, bottom: y + DOT - GAP });

const covers = (left, right, other) => left < other.right + GAP && right > other.left - GAP;

/** The left end nearest to `wanted` at which a label of `wide` pixels is free of `others`; null when there is none. */
function slide(wanted, wide, others, least, most) {
  const ends = [wanted, ...others.flatMap((other) => [other.right + GAP, other.left - GAP - wide])];
  const free = ends.filter((left) => left >= least && left <= most && !others.some((other) => covers(left, left + wide, other)));
  return free.length ? free.reduce((best, left) => (Math.abs(left - wanted) < Math.abs(best - wanted) ? left : best)) : null;
}

/** The lines on which a label can stand: [base line relative to the message, wanted left end relative to it]. */
function linesOf(side, wide) {
  const middle = -wide / 2;
  const over = [[-DOT - DESCENT - 1, middle], [DOT + ASCENT + 1, middle]];
  const beside = [[4, DOT + 2], [4, -DOT - 2 - wide]];
  if (side > 0) return [...beside, ...over];
  return side < 0 ? [beside[1], beside[0], ...over] : [...over, ...beside];
}

/**
 * Where a label of `wide` pixels at the message `at` stands: {left, right, top, bottom, base, line}, or null.
 * `side`: -1 rather to the left of it, 1 to the right, 0 above. `before`: the line that it had, which is tried first.
 */
export function place({ at, wide, side = 0, before = null }, taken, { width, height }) {
  const lines = linesOf(side, wide);
  const order = [...lines.keys()].sort((one, other) => (other === before) - (one === before));
  const near = DOT + ASCENT + DESCENT + 2 * GAP;
  const blocks = [...taken, dotAt(at)].filter((other) => covers(at.x - REACH - wide, at.x + REACH + wide, other)
    && at.y - near < other.bottom && at.y + near > other.top);
  for (const line of order) {
    const base = at.y + lines[line][0];
    const [top, bottom] = [base - ASCENT, base + DESCENT];
    if (top < 0 || bottom > height) continue;
    const others = blocks.filter((other) => top < other.bottom + GAP && bottom > other.top - GAP);
    const least = Math.max(2, at.x - REACH - wide);
    const most = Math.min(width - wide - 3, at.x + REACH);
    const left = slide(Math.max(least, Math.min(most, at.x + lines[line][1])), wide, others, least, most);
    if (left !== null) return { left, right: left + wide, top, bottom, base, line };
  }
  return null;
}

/**
 * Places of many labels, in the order of their rank; each gets `place` or null, and the `text` that fits there.
 * labels: [{places: [{x, y}], texts: [whole, shorter...], side, rank, before, way}]; of labels with the same text on one
 * way the first is enough, and of very many those of the highest rank are tried. `dots`: [{x, y}] that are not covered; `measure(text)`: a text's width.
 */
export function arrange(labels, scene, measure, dots = []) {
  const taken = [...blocksOf(scene), ...dots.map(dotAt)];
  const said = new Set();
  let tried = 0;
  return [...labels].sort((one, other) => other.rank - one.rank).map((label) => {
    const key = `${label.way}:${label.texts.at(-1)}`;
    const found = said.has(key) || tried >= MOST ? null : fit(label, taken, scene, measure);
    tried += said.has(key) ? 0 : 1;
    if (found) {
      said.add(key);
      taken.push(found.place);
    }
    return { ...label, text: null, place: null, ...found };
  });
}

function fit({ places, texts, side, before }, taken, scene, measure) {
  for (const text of texts) {
    for (const at of places) {
      const found = place({ at, wide: measure(text), side, before }, taken, scene);
      if (found) return { text, place: found };
    }
  }
  return null;
}
