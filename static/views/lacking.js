/**
 * What a replica lacks of the longest one, at the place where it would stand: on its way to it, missing, refused, or gone for good.
 *
 *     broker 1   2582 2583 2584 |·········100·········|····50····|     died
 *     broker 2   2582 2583 2584 |  → 100 on their way | 50 missing
 */
import { brief, wideAs } from "../draw/letters.js";
import { placeOn } from "../model/axis.js";
import { comingOf } from "../model/flights.js";
import { refusal } from "./damage.js";
import { h } from "./patch.js";

/** How many records behind the end of `log` were lost, and stand on no disk any more: when all have lost power at once. */
export function vanished({ partition, fates, held, axis }, log) {
  if (held !== null || Object.values(partition.logs).some(({ leo }) => leo > log.leo)) return 0;
  return fates.ranges.reduce((sum, [from, last]) => sum + Math.max(0, Math.min(last + 1, axis.end) - Math.max(from, log.leo)), 0);
}

/** Where what is on its way to the replica of `id` will end: `log.leo` or behind it; known while nothing moves. */
export const arrivingUntil = ({ arriving }, name, id, log) => Math.max(log.leo, arriving?.get(comingOf(name, id)) ?? 0);

/** A box for [from, to) with the longest of `texts` that it has room for; the first is its title. */
function box({ axis, x, y, tall }, kind, key, [from, to], texts) {
  const [left, right] = [placeOn(axis, Math.max(from, axis.columns[0]?.from ?? 0)), placeOn(axis, to)];
  if (left === null || right === null || right <= left) return null;
  const room = right - left - 2;
  const text = texts(room).find((one) => wideAs(one) + 8 <= room) ?? "";
  return [
    h("rect", { key, class: `cell hole ${kind}`, x: x + left + 0.5, y: y + 0.5, width: room, height: tall, rx: 2.5 }, h("title", {}, texts(Infinity)[0])),
    text && h("text", { key: `${key} text`, class: `cell-text lacks ${kind}`, x: x + left + room / 2, y: y + tall / 2 + 4.5 }, text),
  ];
}

/** Everything behind the end of `log` in its row. */
export function lacking(view, facts, log, id, place) {
  const { axis, name } = facts;
  const { words } = view;
  const within = { axis, ...place };
  const until = Math.min(axis.end, arrivingUntil(view, name, id, log));
  const coming = until - Math.max(log.leo, axis.start);
  const n = axis.end - Math.max(until, axis.start);
  const lost = vanished(facts, log);
  const whole = lost ? words.t("stage.vanished", { n: lost }) : words.t("stage.lacks", { n });
  const refused = refusal(view, log, whole);
  // A hole of one or two cells is seen to be one or two; more may be folded, and have their number.
  const short = (room) => (lost ? `✕ ${brief(lost, room - 24)}` : n * axis.cell > room + axis.cell ? `−${brief(n, room - 10)}` : "");
  return [
    coming > 0 && box(within, "coming", "coming", [log.leo, until], (room) => [words.t("stage.coming", { n: coming }), `→ ${brief(coming, room - 24)}`]),
    n > 0 && box(within, lost || refused.length ? "lost" : "", "hole", [until, axis.end], (room) => [...refused, whole, short(room)]),
  ];
}
