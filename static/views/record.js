/** A record that was chosen on the stage: key, value, who wrote it, who has it, who has read it. */
import { seconds } from "../i18n/format.js";
import { fatesOf } from "../model/fates.js";
import { truthOf } from "../model/figures.js";
import { Tracer, partitionOf, readBy } from "../model/record.js";
import { plain } from "../inspect/records.js";
import { SIGN, isDamaged } from "./damage.js";
import { cellKind } from "./log.js";
import { badge } from "./tabs/common.js";
import { h } from "./patch.js";

const SIGNS = { committed: "■", waiting: "□", astray: "⊘", lost: "✕", hole: "┄", gone: "┄" };
const LONG = 400; // characters of a value that are shown
const FILLED = /\.{12,}$/;

const tracer = new Tracer();

/** What the chosen offset is on each replica: [[broker, kind, whether its bytes were changed there]]. */
export function copiesOf({ state, desk }, { name, offset }) {
  const { topic, partition: number } = partitionOf(name);
  const partition = state.topics[topic]?.partitions[number];
  if (!partition) return [];
  const facts = { ...truthOf(state, partition), lost: fatesOf(desk.receipts.found, name).lost.has(offset) };
  const one = (log) => (log ? [cellKind(offset, log, facts), isDamaged(log, offset)] : ["hole", false]);
  return partition.replicas.map((id) => [id, ...one(partition.logs[id])]);
}

/** The value of a lost record as its producer has it in the receipt. */
function lostValue({ desk, words, record }) {
  const { topic, partition } = partitionOf(record.name);
  const place = (desk.receipts.found?.places?.lost ?? []).find((one) => one.topic === topic && String(one.partition) === partition
    && one.offset === record.offset);
  return place?.producer ? words.t("receipt.value", { producer: place.producer, number: place.number }) : null;
}

/** One line of a record's card: what it is called, and what is to be said of it. */
const part = ({ words }, name, value) => h("div", { key: name },
  h("dt", {}, words.t(`record.${name}`)),
  h("dd", { "data-record-part": name }, value));

/** Who has it, and in which state. */
const copiesLine = ({ words }, copies) => copies.map(([id, kind, harmed]) => h("span", { key: id, class: `record-copy ${kind}${harmed ? " damaged" : ""}` },
  badge(id, kind === "hole" || kind === "gone" ? "out" : "in"),
  ` ${SIGNS[kind]} ${words.t(`record.kind.${kind}`)}${harmed ? ` ${SIGN} ${words.t("record.damaged")}` : ""}`));

/** A key or a value; the dots that a built-in producer fills a value up with are counted. */
function written(text) {
  const [dots] = FILLED.exec(text) ?? [""];
  const own = text.slice(0, text.length - dots.length);
  return [h("code", { key: "own" }, own.length > LONG ? `${own.slice(0, LONG)}…` : own),
    dots && h("span", { key: "dots", class: "hint" }, ` + ${dots.length} × `, h("code", {}, "."))];
}

function content(view, found) {
  const { words, records, record } = view;
  const row = (name, value) => part(view, name, value);
  const one = records.one(record);
  if (!one) return row("value", h("span", { class: "hint" }, words.t("receipt.loading")));
  const other = found?.crc !== null && found?.crc !== undefined && one.crc !== undefined && one.crc !== found.crc;
  if (one.error || other)
    return row("value", [other ? lostValue(view) : null, " ", h("span", { class: "hint" },
      words.t(other ? "record.replaced" : "record.unread"))]);
  const shown = (text) => (text === null ? h("i", { class: "hint" }, "null") : written(text));
  return [row("key", shown(one.key)), row("value", shown(one.value)),
    one.headers?.length > 0 && row("headers", one.headers.map(({ name, value }, index) => h("div", { key: index, class: "record-header" },
      h("code", {}, name),
      " = ",
      shown(plain(value))))),
    one.magic !== undefined && row("format", words.t("record.format_of", { magic: one.magic, codec: one.compression })),
    one.magic === 0 ? row("time", words.t("record.time_none")) : one.timestamp >= 0 && row("time", new Date(one.timestamp).toISOString()),
    one.producer >= 0 && row("producer", words.t("record.producer_of", { id: one.producer, sequence: one.sequence + record.offset - one.batch }))];
}

function writer(view, found) {
  const { words, history } = view;
  if (!found || found.written === null) return words.t("record.before");
  const event = history.at(found.written);
  const who = found.writer ? words.name(/^\d+$/.test(found.writer.source) ? found.writer.client ?? found.writer.source : found.writer.source) : null;
  return h("button", { type: "button", class: "plain more", onclick: () => view.select(found.written) },
    who ? words.t("record.by", { who, t: seconds(event.t) }) : words.t("record.at", { t: seconds(event.t) }));
}

function readers(view) {
  const { words, state, record } = view;
  const all = readBy(state, record.name, record.offset);
  if (!all.length) return words.t("record.no_group");
  return h("ul", {},
    all.map(({ group, badge: sign, member, done, seen }) => h("li", { key: group },
      `${done ? "▲" : seen ? "△" : "·"} `,
      words.t(done ? "record.committed" : seen ? "record.seen" : "record.unseen", { group, member: member ?? sign ?? "" }))));
}

/** Steps to the neighbours, while they are there. */
function steps(view, copies) {
  const { words, record } = view;
  const has = (offset) => copiesOf(view, { ...record, offset }).some(([, kind]) => kind !== "hole" && kind !== "gone");
  const step = (by, sign, key) => h("button", {
    key, type: "button", "data-record-step": by, "aria-label": words.t(key), disabled: record.offset + by < 0 || !has(record.offset + by),
    onclick: () => view.openRecord(record.name, record.offset + by, record.broker)
  }, sign);
  return h("span", { class: "record-steps" },
    step(-1, "◀", "record.previous"),
    step(1, "▶", "record.next"),
    h("button", {
      key: "bytes", type: "button", "data-record-bytes": "", disabled: !copies.some(([, kind]) => kind !== "hole"),
      onclick: () => view.showBytes(record.offset)
    }, words.t("record.bytes")));
}

/** A bit of this very record is turned on the disk of the replica that it was opened on. */
function harm(view, kind) {
  const { words, record } = view;
  const { topic, partition } = partitionOf(record.name);
  const place = { broker: record.broker, topic, partition: Number(partition), offset: record.offset };
  const broker = `${words.t("noun.broker")} ${record.broker}`;
  return h("button", {
    type: "button", class: "lever", "data-record-harm": "", title: words.t("record.harm.tip"), disabled: kind === "hole" || kind === "gone",
    onclick: () => view.command({ do: "bit_flip", ...place })
  }, `${words.t("do.bit_flip")} · ${broker}`);
}

export function recordBody(view) {
  const { words, record, desk } = view;
  const found = tracer.of(view.history, view.clock.viewed, record);
  const copies = copiesOf(view, record);
  const fates = fatesOf(desk.receipts.found, record.name);
  const mine = copies.find(([id]) => id === record.broker)?.[1] ?? "hole";
  const verdict = mine === "lost" ? "lost" : mine;
  return [
    h("div", { key: "head", class: "record-head" },
      h("b", { class: mine === "lost" || mine === "astray" ? "bad" : "" }, `${SIGNS[verdict]} ${words.t(`record.kind.${verdict}`)}`),
      (fates.doubled.get(record.offset) ?? 1) > 1 && h("span", { key: "twice", class: "warn" }, words.t("record.doubled")),
      fates.reordered.has(record.offset) && h("span", { key: "late", class: "warn" }, words.t("record.reordered")), steps(view, copies)),
    h("dl", { key: "facts", class: "record" },
      content(view, found),
      part(view, "written", writer(view, found)),
      part(view, "copies", copiesLine(view, copies)),
      part(view, "readers", readers(view)),
      !view.lookOnly && part(view, "harm", harm(view, mine))),
  ];
}
