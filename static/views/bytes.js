/**
 * A batch byte by byte: the hex view and the fields point at each other, the records are decoded, and the
 * way through the index is shown step by step.
 *
 * Each byte belongs to one field. A field is lit by the pointer or the keyboard on either side; colour is
 * never alone: fields alternate between three kinds of underline, the lit one has a frame.
 */
import { count } from "../i18n/format.js";
import { fileBroker } from "./tabs/files.js";
import { asOf, badge, choices } from "./tabs/common.js";
import { h } from "./patch.js";

const LINE = 12; // bytes side by side: what a panel has room for
const MOST = 512;
const KINDS = 3;
const FIELDS = 80;

/** For each byte of a batch the index of its field. */
export function fieldsOfBytes(batch) {
  const owner = new Int32Array(batch.size).fill(-1);
  batch.fields.forEach((field, index) => owner.fill(index, field.offset, field.offset + field.size));
  return owner;
}

/** Pieces of one line of the hex view: {field, text, begin, end}; a piece is a run of bytes of one field. */
export function pieces(batch, owner, from, to) {
  const found = [];
  for (let at = from; at < to; at += 1) {
    const last = found[found.length - 1];
    const text = batch.hex.slice(2 * at, 2 * at + 2);
    if (last && last.field === owner[at]) Object.assign(last, { text: `${last.text} ${text}`, end: at + 1 });
    else found.push({ field: owner[at], text, begin: at, end: at + 1 });
  }
  return found;
}

const owners = new WeakMap();

function ownerOf(batch) {
  if (!owners.has(batch)) owners.set(batch, fieldsOfBytes(batch));
  return owners.get(batch);
}

/** `lit`: where the view remembers which field is lit. */
function light(view, index, lit) {
  return { onmouseenter: () => view.set({ [lit]: index }), onfocus: () => view.set({ [lit]: index }) };
}

export function hex(view, batch, lit = "fieldLit") {
  const owner = ownerOf(batch);
  const size = Math.min(batch.size, batch.hex.length / 2, MOST);
  const lines = [];
  for (let from = 0; from < size; from += LINE) {
    lines.push(h("div", { key: from, class: "hex-line" }, h("span", { class: "hex-at" }, from.toString(16).padStart(4, "0")),
      pieces(batch, owner, from, Math.min(size, from + LINE)).map((piece) => h("span", {
        key: piece.begin, class: `hex-piece k${piece.field % KINDS}${piece.field === view[lit] ? " lit" : ""}`,
        onmouseenter: light(view, piece.field, lit).onmouseenter, onclick: () => view.set({ [lit]: piece.field }),
      }, piece.text))));
  }
  return h("div", { key: "hex", class: "hex", "aria-hidden": "true" }, lines);
}

export function fieldText(view, batch, lit = "fieldLit") {
  const { words } = view;
  const field = batch.fields[view[lit]];
  if (!field) return h("p", { key: "field", class: "field-text" }, words.t("bytes.how"));
  const value = field.value === null || typeof field.value === "object" ? JSON.stringify(field.value) : String(field.value);
  return h("p", { key: "field", class: "field-text", "aria-live": "polite" }, h("b", {}, field.name), ` = ${value.slice(0, 90)} `,
    h("small", {},
      words.t("bytes.field_at", { from: field.offset, to: field.offset + field.size - 1, n: field.size }),
      field.type ? ` · ${field.type}` : ""),
    h("span", { class: "hint" }, ` ${field[words.language] ?? field.en ?? ""}`));
}

export function fields(view, batch, lit = "fieldLit") {
  const move = (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const next = event.currentTarget.parentNode[by > 0 ? "nextElementSibling" : "previousElementSibling"]?.firstElementChild;
    next?.focus();
  };
  return h("ul", { key: "fields", class: "byte-fields", "aria-label": view.words.t("bytes.fields") },
    batch.fields.slice(0, FIELDS).map((field, index) => h("li", { key: index },
    h("button", {
      type: "button", class: `byte-field k${index % KINDS}${index === view[lit] ? " lit" : ""}`, "data-field": field.name,
      "aria-pressed": String(index === view[lit]), onclick: () => view.set({ [lit]: index }), onkeydown: move, ...light(view, index, lit)
    }, field.name))));
}

const RECORDS = 40;
const VALUE = 60; // characters

function records(view, found) {
  const { words } = view;
  const row = ({ offset, key, value }) => h("tr", { key: offset, class: offset === found.offset ? "chosen" : "" },
    h("th", { scope: "row", class: "number" }, count(offset)),
    h("td", {}, h("code", {}, key ?? "–")),
    h("td", {}, h("code", { class: "value" }, String(value ?? "–").slice(0, VALUE))));
  return h("table", { key: "records", class: "partitions small look" },
    h("caption", { class: "unseen" }, words.t("bytes.records")),
    h("thead", {},
      h("tr", {},
        h("th", { scope: "col", class: "number" }, words.t("files.offset")),
        h("th", { scope: "col" }, words.t("levers.key")),
        h("th", { scope: "col" }, words.t("levers.value")))),
    h("tbody", {}, found.records.slice(0, RECORDS).map(row)));
}

const COMPARED = { above: ">", equal: "=", below: "<" };

function search(view, found) {
  const { words } = view;
  const { search: way, scan, segment } = found;
  const file = (segment.file ?? "").replace(/^0+(?=\d)/, "…");
  const steps = way.steps.map((step, index) => h("li", { key: `s${index}` },
    words.t(`bytes.step.${step.is}`, {
      slot: step.slot, offset: step.offset, sign: COMPARED[step.is], wanted: found.offset, low: step.low, high: step.high
    })));
  const end = way.found ? words.t("bytes.found", { offset: way.found.offset, position: way.position }) : words.t("bytes.found_none");
  return h("ol", { key: "search", class: "chain search-steps" },
    h("li", { key: "segment" }, words.t("bytes.segment", { file, wanted: found.offset })),
    way.entries > 0 ? h("li", { key: "entries" }, words.t("bytes.entries", { n: way.entries })) : null,
    steps,
    h("li", { key: "end" }, h("b", {}, end)),
    h("li", { key: "scan" }, words.t("bytes.scan", { n: scan.length, position: scan[scan.length - 1]?.position ?? 0 })));
}

/** Whether the batch belongs to the event of the moment that was chosen or stepped to. */
function moment(view) {
  const { history, selected, words } = view;
  const event = selected === null ? null : history.at(selected);
  if (!event) return null;
  const here = view.litOffset !== null;
  const text = words.t(here ? "bytes.moment" : "bytes.moment_none", { what: words.say(event).replace(/\.$/, "") });
  return h("p", { key: "moment", class: `hint moment-text${here ? "" : " none"}`, role: "status", title: text }, text);
}

/** The body of the panel: batches (another view's), bytes, records, or the search. */
export function bytesBody(view) {
  const { words, chosen, chosenPartition: partition } = view;
  const broker = fileBroker(view);
  if (broker === null) return [h("p", { key: "empty", class: "empty" }, words.t("ledger.nowhere", { partition: chosen }))];
  const log = partition.logs[broker] ?? { leo: 0, start: 0 };
  if (log.leo > log.start) view.byteOffset ??= log.leo - 1; // what is looked at stays, however the log grows
  const wanted = Math.max(log.start, Math.min(view.byteOffset ?? 0, log.leo - 1));
  if (log.leo <= log.start) return [h("p", { key: "empty", class: "empty" }, words.t("bytes.nothing"))];
  const entry = view.inquiry.get("bytes", `${chosen}@${broker}:${wanted}`);
  const found = entry.found ?? (view.lastBytes?.of === chosen ? view.lastBytes.found : null);
  if (entry.found) view.lastBytes = { of: chosen, found: entry.found };
  const jump = (by) => view.set({
    byteOffset: Math.max(log.start, by < 0
      ? (found?.batch.base_offset ?? wanted) - 1
      : Math.min(log.leo - 1, (found?.batch.last_offset ?? wanted) + 1)),
    fieldLit: null
  });
  return [
    h("div", { key: "where", class: "look-row" },
      h("label", { class: "offset-field" },
        h("span", {}, words.t("files.offset")),
        h("input", {
          type: "number", min: log.start, max: log.leo - 1, value: String(wanted), "data-bytes": "offset",
          onchange: (event) => view.set({ byteOffset: Number(event.target.value), fieldLit: null })
        })),
      h("button", { type: "button", "aria-label": words.t("bytes.before"), onclick: () => jump(-1) }, "‹"),
      h("button", { type: "button", "aria-label": words.t("bytes.next"), onclick: () => jump(1) }, "›"),
      choices("bytes-broker", words.t("noun.broker"), partition.replicas.map((id) => [id, String(id)]), broker, (id) => view.set({ fileBroker: id }))),
    moment(view),
    (entry.error || !found || !view.clock.live) && asOf(view, entry),
    found && view.ledgerView === "search" && search(view, found),
    found && view.ledgerView === "bytes" && [
      h("p", { key: "crc", class: "hint" },
        badge(found.broker, "in"),
        `${words.t("bytes.batch", { from: found.batch.base_offset, to: found.batch.last_offset, n: found.batch.size })} · ${found.batch.crc_valid ? `✓ ${words.t("bytes.crc_good")}` : `✕ ${words.t("bytes.crc_bad")}`}`),
      hex(view, found.batch), fieldText(view, found.batch), fields(view, found.batch),
      found.batch.size > MOST && h("p", { key: "cut", class: "hint" }, words.t("bytes.cut", { n: MOST, all: found.batch.size })), records(view, found),
    ],
  ];
}

export const LEDGER_VIEWS = ["batches", "bytes", "search"];
