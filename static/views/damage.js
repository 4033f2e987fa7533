/**
 * Records that a bit flip has changed on the disk of a broker: a crack through the cell, or through the fold that hides it.
 *
 *     199 | 2⚡0 | 201        the same offset is whole on the other brokers
 */
import { placeOn } from "../model/axis.js";
import { h } from "./patch.js";

/** Of many the newest stay in sight; the others are cracks in folds. */
const IN_SIGHT = 3;

export const SIGN = "↯";

/** The offsets behind records that are damaged on any replica: where a fold ends such a record is in sight. */
export const behindDamage = ({ logs }) => [...new Set(Object.values(logs).flatMap(({ damaged = [] }) => damaged))].slice(-IN_SIGHT).map((offset) => offset + 1);

/** Whether a record of a log is damaged there; where that is not yet, or no more, there is nothing. */
export const isDamaged = ({ damaged, start, leo }, offset) => offset >= start && offset < leo && (damaged ?? []).includes(offset);

/** What is said in the place of what a follower lacks that does not take it, the longest first; [] of one that does. */
export const refusal = ({ words }, log, lacks) => (log.refuses === log.leo
  ? [`${words.t("stage.refuses", { offset: log.leo })} · ${lacks}`, words.t("stage.refuses", { offset: log.leo }), `✕ ${log.leo}`, "✕"]
  : []);

/** Whether a reader cannot get past what comes next on this log: damage, as it has found out. */
const stands = ({ over, position }, log) => over === "damaged" && position !== null && log.damaged?.some((offset) => offset >= position);

/** A gate in front of a batch that a reader cannot read, where it stands, on the log that it reads. */
export function gates(view, { axis }, log, found, { x, y, tall }) {
  return found.filter((one) => stands(one, log)).map(({ member, position }) => {
    const place = placeOn(axis, position);
    if (place === null) return null;
    const d = `M${(x + place).toFixed(1)} ${y - 4}V${y + tall + 3}`;
    return h("g", { key: `gate ${member}`, class: "gate", "data-gate": member },
      h("title", {}, view.words.t("stage.gate", { member, offset: position })),
      h("path", { class: "around", d }), h("path", { d }));
  });
}

/** A crack for each damaged record of the log of `id` whose row begins at `x`; `text(offset)`: what stands in its cell, above the crack. */
export function cracks(view, { axis, name }, log, id, { x, y, tall }, text) {
  return (log.damaged ?? []).filter((offset) => isDamaged(log, offset)).map((offset) => {
    const [left, right] = [placeOn(axis, offset), placeOn(axis, offset + 1)];
    if (left === null || right === null) return null;
    const wide = Math.max(4, Math.min(9, right - left - 14));
    const cell = axis.columns.some(({ from, to }) => from === offset && to === offset + 1);
    const [from, to] = [y - 3, y + tall + 4];
    const at = x + (left + right) / 2;
    const d = `M${(at + wide / 2).toFixed(1)} ${from}l${-wide} ${((to - from) * 0.55).toFixed(1)}h${wide}l${-wide} ${((to - from) * 0.45).toFixed(1)}`;
    const open = (event) => {
      event.stopPropagation();
      view.openRecord(name, offset, id);
    };
    return h("g", { key: `crack ${offset}`, class: "crack", "data-damaged": `${name}@${offset}@${id}`, onclick: open },
      h("title", {}, view.words.t("stage.damaged", { broker: id, offset })),
      h("path", { class: "around", d }), h("path", { d }),
      cell && h("text", { class: "cell-text damaged", x: at - 1, y: y + tall / 2 + 4.5 }, text(offset)));
  });
}
