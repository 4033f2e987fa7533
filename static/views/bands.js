/**
 * What stands on the row of a replica besides its records: transactions as bands over the log, and what a share group has done
 * with each record.
 *
 *     ┌──────────┐  ┌── ─ ─       a bracket above the cells: from the first record to the marker; open ones have no end
 *      12 13 14 ✓    16 17
 *     [ sales ✓  ][ slow …  ]      a row with room names them
 *      ✓  ⊘2 ●a  ●b3 ○            beneath the leader's cells: state, holder, number of the delivery
 */
import { LETTER } from "../draw/letters.js";
import { placeOn } from "../model/axis.js";
import { SIGNS, sharesOf } from "../model/shares.js";
import { bandsOf, idOf, lastStable } from "../model/transactions.js";
import { badges } from "../model/readers.js";
import { h } from "./patch.js";

const NAMED = 52; // a row with room for named bands
const BOXED = 43; // and for a share group's boxes beneath its cells
const BAND = 14;
const LIFT = 3; // of a bracket above the cells
export const OUTCOMES = { open: "…", commit: "✓", abort: "↩" };

/** Left and right end of a band in the row, null where all of it is left of the columns. */
function ends(axis, { first, end }) {
  const right = placeOn(axis, end);
  return right === null || right <= 0 ? null : { left: placeOn(axis, first) ?? 0, right, begins: placeOn(axis, first) !== null };
}

function told(view, facts, band) {
  const id = idOf(view.state, band.producer) ?? String(band.producer);
  return view.words.t(`stage.band.${band.outcome}`, { id, partition: facts.name, first: band.first, marker: band.marker ?? "" });
}

/** Brackets that overlap stand above one another: [band, how many are below it], two at most. */
function stacked(bands) {
  const ends = [0, 0];
  return bands.map((band) => {
    const lane = band.first >= ends[0] ? 0 : 1;
    ends[lane] = Math.max(ends[lane], band.end);
    return [band, lane];
  });
}

function bracket(view, facts, band, x, y) {
  const place = ends(facts.axis, band);
  if (!place) return null;
  const [left, right] = [x + place.left + 1, x + place.right - (band.marker === null ? 0 : 3)];
  const from = place.begins ? `M${left.toFixed(1)} ${y + LIFT}v${-LIFT}` : `M${left.toFixed(1)} ${y}`;
  return h("path", {
    key: `band ${band.producer} ${band.first}`, class: `band ${band.outcome}`, "data-band": `${facts.name}@${band.first}`,
    d: `${from}H${right.toFixed(1)}${band.marker === null ? "" : `v${LIFT}`}`
  },
    h("title", {}, told(view, facts, band)));
}

/** The bands that have room beside one another, each with its name: open ones first, then the newest. */
function named(view, facts, bands, x, y) {
  const taken = [];
  const order = [...bands].sort((one, other) => (one.marker === null ? -1 : one.marker) - (other.marker === null ? -1 : other.marker));
  const open = order.filter(({ marker }) => marker === null);
  return [...open, ...order.filter(({ marker }) => marker !== null).reverse()].map((band) => {
    const place = ends(facts.axis, band);
    if (!place || taken.some(([from, to]) => place.left < to && place.right > from)) return null;
    taken.push([place.left, place.right]);
    const wide = place.right - place.left - 2;
    const id = idOf(view.state, band.producer) ?? String(band.producer);
    const text = [`${id} ${OUTCOMES[band.outcome]}`, OUTCOMES[band.outcome]].find((one) => one.length * LETTER < wide - 4);
    return h("g", { key: `named ${band.producer} ${band.first}`, class: `band-named ${band.outcome}` }, h("title", {}, told(view, facts, band)),
      h("rect", { x: x + place.left + 1, y, width: Math.max(3, wide), height: BAND - 1, rx: 3 }),
      text && h("text", { x: x + place.left + 1 + wide / 2, y: y + BAND - 3.5 }, text));
  });
}

/** Where read_committed ends, when that is not at the high watermark. */
function stable(view, facts, log, x, y, tall) {
  const offset = lastStable(facts.partition, log);
  const at = offset < log.hw ? placeOn(facts.axis, offset) : null;
  return at !== null && h("line", {
    key: "lso", class: "lso", "data-lso": `${facts.name}@${offset}`, x1: x + at, x2: x + at, y1: y - LIFT, y2: y + tall + 3
  }, h("title", {}, view.words.t("stage.lso", { lso: offset, hw: log.hw })));
}

/** Transactions of a replica: brackets above its cells, named bands at the foot of a row with room, the last stable offset. */
export function bands(view, facts, log, { x, y, cell, tall }) {
  const found = bandsOf(facts.partition, log);
  if (!found.length) return null;
  return [
    stacked(found).map(([band, lane]) => bracket(view, facts, band, x, y - LIFT - (tall >= NAMED ? lane * LIFT : 0))),
    tall >= NAMED && named(view, facts, found, x, y + tall - BAND - 4),
    stable(view, facts, log, x, y, cell),
  ];
}

/** The sign of a marker in its cell, or null: [kind, sign]. */
export function markerAt(facts, log, offset) {
  const band = bandsOf(facts.partition, log).find(({ marker }) => marker === offset);
  return band ? [band.outcome, OUTCOMES[band.outcome]] : null;
}

/** Who holds records of a group, each with one letter or two. */
function signs(state, group) {
  const names = (state.groups[group]?.members ?? []).map(({ client_id: client, id }) => client ?? id).sort();
  return badges(names);
}

function shareText([state, count, who], badge) {
  const more = count > 1 ? String(count) : "";
  return `${SIGNS[state]}${state === "acquired" ? badge[who] ?? "" : ""}${more}`;
}

/**
 * What share groups have done with the records of their leader's row: a box beneath each cell, or a stroke where there is no room.
 * Of several groups the first is shown; its card says which.
 */
export function shareStrip(view, facts, { x, y, tall, topic, number }) {
  const [found] = sharesOf(view.state, topic, number);
  if (!found) return null;
  const { group, start, records } = found;
  const badge = signs(view.state, group);
  const high = tall >= BOXED ? 13 : 3;
  const boxes = facts.axis.columns.filter(({ from, to }) => to - from === 1 && records[from]).map(({ from, x: at, w }) => {
    const [state, count, who] = records[from];
    const text = shareText(records[from], badge);
    return h("g", { key: `share ${from}`, class: `share ${state}`, "data-share": `${group}:${facts.name}@${from}` },
      h("title", {}, view.words.t(`stage.share.${state}`, { group, offset: from, n: count, client: who })),
      h("rect", { x: x + at + 0.5, y, width: w - 2, height: high, rx: high > 5 ? 3 : 1 }),
      high > 5 && text.length * LETTER <= w + 2 && h("text", { x: x + at + w / 2 - 0.5, y: y + 10 }, text));
  });
  const at = placeOn(facts.axis, start);
  return h("g", { key: `shares ${group}`, class: "shares" }, boxes,
    at !== null && h("path", { key: "start", class: "share-start", d: `M${(x + at).toFixed(1)} ${y - 1}v${high + 3}` },
      h("title", {}, view.words.t("stage.share_start", { group, offset: start }))));
}
