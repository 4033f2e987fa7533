/** A share group record by record: state, deliveries, who holds it, how long its lock still holds. */
import { DONE, SIGNS, countsOf } from "../../model/shares.js";
import { seconds } from "../../i18n/format.js";
import { cell, head, number, table, title } from "./common.js";
import { h } from "../patch.js";

const MOST = 60; // records of one partition in a table

function lines({ words, clock }, partition) {
  const all = Object.entries(partition.records);
  const behind = all.filter(([offset]) => Number(offset) < partition.start).slice(-6);
  const shown = [...behind, ...all.filter(([offset]) => Number(offset) >= partition.start)].slice(0, MOST);
  return shown.map(([offset, [state, count, who, until]]) => h("tr", { key: offset, class: DONE.has(state) ? "share-done" : null, "data-share-record": offset },
    head(`${Number(offset) === partition.start ? "▸ " : ""}${offset}`), cell(`${SIGNS[state]} ${words.t(`share.${state}`)}`), number(count),
    h("td", { class: "wraps" }, who || "–"),
    h("td", { class: "number" }, state === "acquired" ? words.t("share.left", { s: seconds(Math.max(0, until - clock.viewedTime)) }) : "–")));
}

/** The partitions of a share group; nothing for another kind of group. */
export function shareTables(view, group) {
  const { state, words } = view;
  const found = state.shares?.[group];
  if (!found) return null;
  const heads = [
    words.t("share.offset"), words.t("share.state"), [words.t("share.deliveries"), "number"], words.t("share.holder"),
    [words.t("share.lock"), "number"]];
  return Object.keys(found).sort().map((name) => [
    title(`share-${name}`, name, h("span", { class: "hint" }, words.t("share.counts", { start: found[name].start, ...countsOf(state, group, name) }))),
    table(`records-${name}`, words.t("share.caption", { name }), heads, lines(view, found[name])),
  ]);
}
