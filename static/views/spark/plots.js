/** Plots of answers: bars and stretches of time. Each mark is a button that leads to its moment in the run. */
import { FILTERS, count, seconds, told } from "../../i18n/format.js";
import { barsOf, spansOf } from "../../model/spark.js";
import { h } from "../patch.js";

const PERCENT = new Set(["share", "top_key_share", "saved"]);
const SECONDS = new Set([
  "seconds", "detected", "controller", "decided", "took_over", "first_ack", "seconds_below_full", "unavailable_s", "without_controller",
  "without_leader"]);
const NODES = new Set(["leader", "next_leader", "follower", "process"]);
const MILLIS = /(_ms(_|$)|^(queue|local|remote|response|total|way_there)_p\d+$)/;

/** A number as people read it: 12,345 · 0.5 · 3.47. */
export function short(value) {
  if (Number.isInteger(value)) return count(value);
  return Math.abs(value) >= 1000 ? count(Math.round(value)) : String(Number(value.toPrecision(3)));
}

/** A value of a column in the reader's language, with its unit. */
export function shown(name, value, words) {
  if (value === null || value === undefined || value === "") return "–";
  if (PERCENT.has(name)) return `${short(100 * value)} %`;
  if (name.endsWith("_us")) return words.t("time.now", { t: seconds(value) });
  if (SECONDS.has(name)) return words.t("time.now", { t: short(value) });
  if (MILLIS.test(name)) return `${short(value)} ms`;
  if (NODES.has(name) || (name === "broker" && Number.isNaN(Number(value)))) return words.name(value);
  if (name === "broker") return FILTERS.broker(value, words.words);
  if (name === "reason") return words.words[`spark.value.${value}`] ?? FILTERS.reason(value, words.words);
  if (name === "error" && value.code) return told(value, words.words);
  if (typeof value === "number") return short(value);
  return words.words[`spark.value.${value}`] ?? String(value);
}

export const column = (name, words) => words.words[`spark.col.${name}`] ?? name;

/** What a row is about: `orders-0`, `broker 2`; the run is left out. */
export function labelOf(row, labels, words) {
  const parts = [];
  for (const name of labels) {
    if (name === "run") continue;
    if (name === "partition" && labels.includes("topic")) parts[parts.length - 1] += `-${row.partition}`;
    else parts.push(shown(name, row[name], words));
  }
  return parts.join(" · ");
}

/** What is lost is red everywhere. */
const series = (name, index) => (name === "lost" ? "series-lost" : `series-${index % 6}`);

/** A sentence of reading: names of columns in it as their headings have them. */
export const spoken = (text, words) => text.replace(/`?\b([a-z]+(?:_[a-z0-9]+)*)\b`?/g, (all, name) => (all !== name
  || words.language === "ko"
  ? words.words[`spark.col.${name}`] ?? name
  : name));

function legend(values, words) {
  if (values.length < 2) return null;
  return h("p", { key: "legend", class: "plot-legend" },
    values.map((name, index) => h("span", { key: name, class: series(name, index) },
      h("i", { "aria-hidden": "true" }),
      column(name, words))));
}

/** One bar and its figure; of several beside each other each says what it is. */
function barOf({ name, value, share }, place, alone, words) {
  return h("span", { key: name, class: `plot-value ${series(name, place)}` },
    h("i", { "aria-hidden": "true", style: { width: `${(100 * share * 0.8).toFixed(2)}%` } }),
    !alone && h("span", { class: "unseen" }, `${column(name, words)} `),
    h("b", {}, shown(name, value, words)));
}

/** Horizontal bars, a group for each row. `goTo(row)` is called with a click. */
export function bars(answer, words, goTo) {
  const { chart, count: of } = answer;
  const shownRows = barsOf(answer, (row, labels) => labelOf(row, labels, words));
  const group = ({ row, label, parts }, index) => h("button", {
    key: index, type: "button", class: "plot-row", "data-row": index, title: words.t("spark.go"), onclick: () => goTo(row),
  },
    h("span", { class: "plot-label" }, label),
    h("span", { class: "plot-values" }, parts.map((part, place) => barOf(part, place, parts.length < 2, words))));
  return [
    legend(chart.values, words),
    h("div", { key: "bars", class: "plot-bars" }, shownRows.map(group)),
    of > shownRows.length && h("p", { key: "more", class: "hint", "data-spark": "cut" }, words.t("spark.plot_more", { shown: shownRows.length, of })),
  ];
}

/** Stretches of virtual time, a line for each label, one axis below all of them. */
export function spans(answer, words, goTo) {
  const { ticks, lines, of } = spansOf(answer, (row, labels) => labelOf(row, labels, words));
  const percent = (share) => `${(100 * share).toFixed(3)}%`;
  const stretch = (label, { index, row, from, to, left, width }) => {
    const text = to === null
      ? words.t("spark.span_open", { label, from: seconds(from) })
      : words.t("spark.span", { label, from: seconds(from), to: seconds(to) });
    return h("button", {
      key: index, type: "button", class: `plot-span${to === null ? " open" : ""}`, "data-row": index, title: text, "aria-label": text,
      style: { left: percent(left), width: percent(width) }, onclick: () => goTo(row)
    });
  };
  const line = ({ label, stretches }) => h("div", { key: label, class: "plot-line" },
    h("span", { class: "plot-label" }, label),
    h("span", { class: "plot-track" }, stretches.map((one) => stretch(label, one))));
  const axis = h("div", { key: "axis", class: "plot-line axis", "aria-hidden": "true" },
    h("span", { class: "plot-label" }),
    h("span", { class: "plot-track" },
      ticks.map(({ t, left }) => h("i", { key: t, style: { left: percent(left) } }, words.t("time.now", { t: short(t / 1e6) })))));
  return [
    h("div", { key: "spans", class: "plot-spans" }, lines.map(line), axis),
    of > lines.length && h("p", { key: "more", class: "hint", "data-spark": "cut" }, words.t("spark.plot_lines", { shown: lines.length, of })),
  ];
}

export const PLOTS = { bars, spans };
