/** One replica's files: segments with their indexes, what is safe on the disk, index entries. */
import { WIDE, asOf, badge, bytes, choices, cell, facts, head, hint, number, table, title } from "./common.js";
import { count } from "../../i18n/format.js";
import { h } from "../patch.js";
import { dump } from "./dump.js";

const SHOWN = 60;
const percent = (share) => `${Math.round(100 * share)} %`;

/** The broker whose files (and bytes) are shown: the chosen one while it has a replica, else the leader. */
export function fileBroker({ chosenPartition: partition, fileBroker: wanted }) {
  if (!partition) return null;
  if (partition.replicas.map(String).includes(String(wanted))) return Number(wanted);
  return partition.leader >= 0 ? partition.leader : partition.replicas[0];
}

/** Of a compacted log: whether the cleaner has been through the segment; else whether it is written to. */
function stateOf(one, compaction, words) {
  if (one.active) return `● ${words.t("files.active")}`;
  if (!compaction) return words.t("files.closed");
  return one.base < compaction.first_dirty ? `✓ ${words.t("files.clean")}` : `▲ ${words.t("files.dirty")}`;
}

/** A click on a file's name dumps it; again: it is closed. */
function fileName(view, name) {
  const { words, dumpOpen } = view;
  const open = dumpOpen?.file === name;
  return h("button", {
    type: "button", class: "plain more", "data-dump-file": name, title: words.t("dump.open"), "aria-expanded": String(open),
    onclick: () => view.set({ dumpOpen: open ? null : { file: name, begin: 0, before: [] } })
  },
    h("code", {}, name.replace(/^0+(?=\d)/, "…")));
}

/** The files of a segment, and how much of each is on the disk. */
function filesOf(view, { files }) {
  const { words } = view;
  const row = ([name, size, flushed]) => h("tr", { key: name },
    head(fileName(view, name)),
    cell(bytes(size), "number"),
    cell(flushed < size ? `▲ ${bytes(flushed)}` : `✓ ${bytes(flushed)}`, "number"));
  return table(
    "files", words.t("files.files"), [words.t("files.file"), [words.t("look.size"), "number"], [words.t("look.flushed"), "number"]], files.map(row));
}

/** The newest entries of its offset index, each with the way to the bytes. */
function indexOf(view, { index }) {
  const { words } = view;
  const open = (offset) => h("button", { type: "button", class: "plain more", onclick: () => view.showBytes(offset) }, words.t("bytes.open"));
  const row = ([offset, position]) => h("tr", { key: offset }, number(offset), number(position), cell(open(offset)));
  return table(
    "index", words.t("files.show_index"),
    [[words.t("files.offset"), "number"], [words.t("files.position"), "number"], words.t("ledger.view.bytes")], index.slice(-SHOWN).map(row));
}

function segment(view, one, compaction, open, broker) {
  const { words } = view;
  const toggle = () => view.set({ segmentOpen: open ? null : one.base });
  return h("article", { key: one.base, class: "fact-card" },
    h("h3", {},
      h("code", {}, String(one.base).padStart(20, "0")),
      h("span", { class: "lever-state" }, stateOf(one, compaction, words))),
    facts([
      [words.t("ledger.offsets"), one.next > one.base ? `${count(one.base)}–${count(one.next - 1)}` : "–"],
      [words.t("files.index_entries"), count(one.entries)], [words.t("files.time_entries"), count(one.time_entries)]]),
    filesOf(view, one),
    one.files.some(([name]) => name === view.dumpOpen?.file) && dump(view, view.chosen, broker),
    one.entries > 0 && h("button", { type: "button", class: "plain more", "aria-expanded": String(open), onclick: toggle },
      `${open ? "▾" : "▸"} ${words.t("files.show_index")}`),
    open && indexOf(view, one));
}

export function filesTab(view) {
  const { words, chosen, chosenPartition: partition } = view;
  const broker = fileBroker(view);
  if (broker === null) return h("p", { class: "empty" }, words.t("table.empty"));
  const entry = view.inquiry.get("files", `${chosen}@${broker}`);
  const { found } = entry;
  const open = view.segmentOpen ?? null;
  const compaction = found?.compaction ?? null;
  return [
    h("h3", { key: "name", class: "look-title" }, chosen),
    choices(
      "file-broker", words.t("noun.broker"), partition.replicas.map((id) => [id, `${words.t("noun.broker")} ${id}`]), broker,
      (id) => view.set({ fileBroker: id })),
    asOf(view, entry),
    found && [
      h("p", { key: "dir", class: "hint" }, badge(broker, "in"), h("code", {}, `${found.directory}/`)),
      facts([
        [words.t("look.size"), bytes(found.size)], [words.t("files.recovery_point"), count(found.recovery_point)],
        ["segment.bytes", bytes(found.segment_bytes), WIDE], ["index.interval.bytes", bytes(found.index_interval_bytes), WIDE]]),
      compaction && facts([
        [words.t("files.first_dirty"), count(compaction.first_dirty)], [words.t("files.dirty_ratio"), percent(compaction.dirty_ratio)],
        ["min.cleanable.dirty.ratio", percent(compaction.min_dirty_ratio), WIDE]]),
      compaction && hint("compaction", words.t("files.compaction_hint")),
      hint("flush", words.t("files.flush_hint")), title("segments", words.t("files.segments", { n: found.segments.length })),
      [...found.segments].reverse().slice(0, 20).map((one) => segment(view, one, compaction, one.base === open, broker)),
    ],
  ];
}
