/** The metadata log, record by record: who has how much of it, what each record says, and what it has changed. */
import { asOf, badge, bytes, cell, choices, facts, head, hint, number, table, title } from "./common.js";
import { count, seconds } from "../../i18n/format.js";
import { h } from "../patch.js";
import { brokerOf } from "../../model/names.js";

const QUIET = "NO_OP_RECORD";
const SHORT = 7; // letters of a standing that is not broken

/** Text of a value as the log has it: lists in their order, nothing as a dash. */
const text = (value) => (value === null || value === undefined
  ? "–"
  : Array.isArray(value) ? `[${value.join(", ")}]` : typeof value === "object" ? JSON.stringify(value) : String(value));

/** What is set in a record, in one line; ids that are long say nothing here. */
function summary(data) {
  const shown = Object.entries(data ?? {}).filter(([name, value]) => !/topicId|incarnationId|directories|logDirs|features|endPoints/i.test(name)
    && value !== null && typeof value !== "object");
  const lists = Object.entries(data ?? {}).filter(([name, value]) => Array.isArray(value) && !/directories|logDirs/i.test(name)
    && value.every((one) => typeof one !== "object"));
  return [...shown, ...lists].map(([name, value]) => `${name}=${text(value)}`).join(" ");
}

/** Where a subject can be looked at: opens it, or null. */
function opener(view, { kind, name }) {
  const { topics, brokers } = view.state;
  const partition = (topic, at) => () => {
    view.choose(topic, at);
    view.showTab("replicas");
  };
  if (kind === "partition") {
    const at = name.lastIndexOf("-");
    return topics[name.slice(0, at)] ? partition(name.slice(0, at), name.slice(at + 1)) : null;
  }
  if (kind === "topic") return topics[name] ? partition(name, "0") : null;
  if (kind === "broker") return brokers[name] ? () => view.openBroker(name) : null;
  if (kind === "config" && !name.endsWith(":") && !name.startsWith("group:")) {
    return () => {
      view.set({ configOf: name });
      view.showTab("config");
    };
  }
  return null;
}

const aboutText = ({ kind, name }, words) => (kind === "producer_ids"
  ? words.t("meta.about.producer_ids")
  : words.t(`meta.about.${kind}`, { name: kind === "config" && name.endsWith(":") ? `${name}*` : name }));

function changed(view, found) {
  const { words } = view;
  if (found.changes === null) return hint("unknown", words.t("meta.changes.unknown"));
  if (!found.changes.length) return hint("none", words.t(found.about ? "meta.changes.nothing" : "meta.changes.none"));
  return table("changes", words.t("meta.changes"), [words.t("meta.field"), words.t("meta.was"), words.t("meta.is")],
    found.changes.map((one) => h("tr", { key: one.field, "data-change": one.field },
      head(h("code", {}, one.field)),
      cell(text(one.before), "wraps"),
      cell(h("b", {}, text(one.after)), "wraps"))));
}

/** One record: all that it says, what it has changed, and the ways to what that is and to when it was. */
function closely(view, node, file, record) {
  const { words } = view;
  const entry = view.inquiry.get("metadata_record", `${node}:${file ? `${file}:` : ""}${record.offset}`, true);
  const { found } = entry;
  const open = record.about && opener(view, record.about);
  return h("div", { class: "znode-look" },
    entry.error && asOf(view, entry),
    h("pre", { class: "znode-data", tabindex: "0", role: "group", "aria-label": words.t("meta.says", { offset: record.offset }) },
      record.error ?? JSON.stringify(record.data, null, 1)),
    found && changed(view, found),
    h("div", { class: "look-row" },
      open && h("button", { type: "button", "data-follow": `${record.about.kind}:${record.about.name}`, onclick: open }, `→ ${aboutText(record.about, words)}`),
      !file && record.t_us >= 0 && h("button", { type: "button", "data-moment": record.offset, onclick: () => view.goToTime(record.t_us) },
        `→ ${words.t("meta.moment", { t: seconds(record.t_us) })}`)));
}

/** A line. Who opens one at the end of the log stays on that page: the end moves on, and would take the record away. */
function line(view, node, file, record, first) {
  const { words } = view;
  const open = view.metadataOpen === record.offset;
  const toggle = () => view.set(open ? { metadataOpen: null } : { metadataOf: node, metadataAt: view.metadataAt ?? first, metadataOpen: record.offset });
  return [
    h("li", { key: record.offset, class: `meta-line${open ? " chosen" : ""}` },
      h("button", { type: "button", class: "plain", "data-record": record.offset, "aria-expanded": String(open), onclick: toggle },
        h("span", { class: "number" }, count(record.offset)), " ", h("code", {}, record.kind || "?"), record.about && ` ${aboutText(record.about, words)}`),
      h("span", {}, record.error ? `✕ ${record.error}` : summary(record.data))),
    open && h("li", { key: `look ${record.offset}` }, closely(view, node, file, record)),
  ];
}

/** Every process with a copy, and voters that are gone: its part, how much it has, and what that means for a broker. */
function quorum(view, found) {
  const { words } = view;
  const standing = (one) => (one.registered === false ? `✕ ${words.t("state.unregistered")}` : one.fenced
    ? `✕ ${words.t("meta.fenced")}`
    : one.leaving ? `◷ ${words.t("meta.leaving")}` : one.fenced === false ? `✓ ${words.t("meta.unfenced")}` : "–");
  const sign = { leader: "★\u00a0", gone: "✕\u00a0" };
  const row = (one) => h("tr", { key: one.id, "data-replica": one.id, class: one.lag > 0 || one.fenced || one.registered === false ? "low" : "" },
    head(h("button", {
      type: "button", class: "plain", disabled: one.state === "gone", "aria-pressed": String(one.node === found.node),
      "aria-label": words.name(one.node), title: words.name(one.node),
      onclick: () => view.set({ metadataOf: one.node, metadataFile: null, metadataAt: null, metadataOpen: null })
    }, brokerOf(one.node) !== null ? badge(one.id, "in") : h("span", { class: "whole" }, String(one.id)))),
    cell(`${sign[one.state] ?? ""}${words.t(`reason.${one.state}`)}, ${words.t(one.voter ? "meta.voter" : "meta.observer")}`, "wraps"),
    number(one.epoch), number(one.leo), number(one.lag),
    cell(one.caught_up_ms === null ? "–" : words.t("look.ms", { n: one.caught_up_ms }), "number"),
    cell(standing(one), standing(one).length > SHORT ? "wraps" : ""));
  return [
    facts([
      [words.t("meta.epoch"), count(found.epoch)], [words.t("meta.committed"), found.committed === null ? "–" : count(found.committed)],
      [words.t("meta.start"), count(found.start)], [words.t("meta.end"), count(found.end)]]),
    table(
      "quorum", words.t("stage.quorum"),
      [
        words.t("look.believer"), words.t("look.role"), [words.t("look.epoch"), "number"], ["LEO", "number"],
        [words.t("look.behind"), "number"], [words.t("meta.caught_up"), "number"], words.t("meta.registration")],
      found.replicas.map(row)),
  ];
}

function files(view, found) {
  const { words } = view;
  if (!found.snapshots.length) return null;
  const options = [["", words.t("meta.log")], ...found.snapshots.map((one) => [one.file, words.t(
    "meta.snapshot", { end: one.end, epoch: one.epoch, size: bytes(one.size) })])];
  return choices(
    "metadata-file", words.t("meta.file"), options, found.file ?? "",
    (file) => view.set({ metadataFile: file || null, metadataAt: file ? 0 : null, metadataOpen: null }));
}

/** Whose copy is shown. One whose process has ended is nobody's: whoever leads has the same records. */
function chosenCopy({ state, metadataOf, metadataFile }) {
  const there = Object.values(state.quorum?.replicas ?? {}).some((one) => one.node === metadataOf);
  return there ? { metadataOf, metadataFile } : { metadataOf: null, metadataFile: null };
}

export function metadataTab(view) {
  const { words, metadataAt } = view;
  const { metadataOf, metadataFile } = chosenCopy(view);
  const at = metadataAt ?? (metadataFile || view.metadataAll ? null : "last"); // no-op records would soon fill the page
  const place = [metadataOf ?? "", ...(metadataFile ? [metadataFile] : []), ...(at === null ? [] : [at])].join(":");
  const entry = view.inquiry.get("metadata", place);
  const { found } = entry;
  if (!found) return asOf(view, entry);
  const node = metadataOf ?? found.node;
  const go = (at) => view.set({ metadataOf: node, metadataAt: at, metadataOpen: null });
  const shown = found.records.filter((one) => view.metadataAll || one.kind !== QUIET);
  return [
    asOf(view, entry), quorum(view, found), title("log", words.t("meta.records", { name: words.name(found.node) })), files(view, found),
    h("label", { key: "noop", class: "check" },
      h("input", {
        type: "checkbox", "data-noop": "", checked: view.metadataAll, onchange: (event) => view.set({ metadataAll: event.target.checked })
      }),
      words.t("meta.noop")),
    h("ol", { key: "records", class: "znodes meta-records" },
      [...shown].reverse().flatMap((one) => line(view, node, found.file, one, found.records[0].offset))),
    !shown.length && hint("calm", words.t("meta.calm")),
    h("div", { key: "pages", class: "look-row" },
      h("button", { type: "button", "data-earlier": "", disabled: found.before === null, onclick: () => go(found.before) }, `‹ ${words.t("dump.before")}`),
      h("button", { type: "button", "data-later": "", disabled: found.next === null, onclick: () => go(found.next) }, `${words.t("dump.next")} ›`),
      metadataAt !== null && !metadataFile && h("button", { type: "button", "data-end": "", onclick: () => go(null) }, words.t("meta.to_end"))),
  ];
}
