/** Kafka's own metrics before and after the last fault. */
import { difference, ranked, registryKey, shortName } from "../../inspect/measure.js";
import { commandText, seconds } from "../../i18n/format.js";
import { asOf, badge, cell, hint, table } from "./common.js";
import { h } from "../patch.js";
import { prose } from "../prose.js";

const ROWS = 60;

const shown = (value) => (value === null ? "–" : Number.isInteger(value) ? value.toLocaleString("en-US") : value.toFixed(2));

/** A value that was not there before, or is gone, has no difference. */
function delta({ before, after, delta: value }) {
  if (before === null || after === null) return "–";
  const sign = value > 0 ? "▲ +" : "▼ −";
  return `${sign}${shown(Math.abs(value))}`;
}

function row(one, meaning, words) {
  const entry = meaning[registryKey(one.name)];
  const wrong = entry?.normal !== null && entry?.normal !== undefined && one.after !== null && one.after !== entry.normal;
  const text = entry?.[words.language] ?? "";
  return [
    h("tr", { key: `${one.name}@${one.broker}:name`, class: `metric-name${wrong ? " offline" : ""}`, title: one.name },
      h("th", { scope: "rowgroup", colspan: 4 },
        h("span", { class: "metric" }, shortName(one.name)),
        text && h("small", { class: "meaning" }, prose(text)),
        entry?.only && h("small", { class: "meaning", "data-only": entry.only }, words.t(`only_${entry.only}`)))),
    h("tr", { key: `${one.name}@${one.broker}`, class: `metric-row${wrong ? " offline" : ""}` },
      cell(badge(one.broker, "in")), cell(shown(one.before), "number"), cell(shown(one.after), "number"), cell(`${wrong ? "! " : ""}${delta(one)}`, "number")),
  ];
}

export function metricsTab(view) {
  const { words, measure, inquiry } = view;
  const meaning = inquiry.get("metrics", "meaning", true).found?.meaning ?? {};
  const now = inquiry.get("metrics");
  const { before } = measure;
  const again = h("div", { key: "again", class: "look-row" },
    h("button", { type: "button", "data-metrics": "mark", onclick: () => measure.mark() }, words.t("metrics.mark")),
    h("label", { class: "check" },
      h("input", {
        type: "checkbox", checked: Boolean(view.metricsAll), onchange: (event) => view.set({ metricsAll: event.target.checked })
      }),
      words.t("metrics.all")));
  const notThen = !view.clock.live && asOf(view, now);
  if (!before) return [notThen, hint("how", words.t("metrics.how")), again];
  const rows = now.found ? ranked(difference(before.values, now.found.values, view.metricsAll), meaning) : [];
  const { event } = before;
  const about = !event
    ? words.t("metrics.marked")
    : event.code === "command" ? commandText(event.params.command, words.words) : words.say(event).replace(/\.$/, "");
  return [
    notThen, hint("since", words.t("metrics.since", { what: about, from: seconds(before.t), to: seconds(now.t) })), again,
    rows.length ? table(
      "metrics", words.t("tab.metrics"),
      [words.t("noun.broker"), [words.t("metrics.before"), "number"], [words.t("metrics.after"), "number"], ["Δ", "number"]],
      rows.slice(0, ROWS).flatMap((one) => row(one, meaning, words)))
      : hint("none", words.t("metrics.none")),
    rows.length > ROWS && hint("more", words.t("config.more", { n: rows.length - ROWS })),
  ];
}
