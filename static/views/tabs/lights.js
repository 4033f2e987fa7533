/** Invariants: what must never be false, watched all the time; a red one leads to its moment. */
import { seconds } from "../../i18n/format.js";
import { hint } from "./common.js";
import { h } from "../patch.js";
import { prose } from "../prose.js";

/** {total, red: [names]} of the state's lights. */
export function redLights(state) {
  const names = Object.keys(state.invariants ?? {});
  return { total: names.length, red: names.filter((name) => !state.invariants[name].ok) };
}

/** The text of a chip: where room is short its label is cut, never the figure behind it. */
export function chipText(text, figure) {
  const at = text.lastIndexOf(String(figure));
  return [h("span", { class: "chip-label" }, text.slice(0, at)), h("span", { class: "chip-figure" }, text.slice(at))];
}

/** The chip in the header. */
export function invariantChip(view) {
  const { words, state } = view;
  const { total, red } = redLights(state);
  if (!total) return null;
  const press = () => (red.length === 1 ? view.goToLight(red[0]) : view.showTab("lights"));
  return h("button", {
    key: "invariants", type: "button", class: `chip ${red.length ? "bad" : "good"}`, "data-chip": "invariants",
    title: words.t("lights.tip"), onclick: press
  },
    h("b", { "aria-hidden": "true" }, red.length ? "✕" : "✓"),
    red.length ? words.t("lights.red", { n: red.length, total }) : chipText(words.t("lights.green", { total }), total));
}

function sentence(first, words) {
  const key = `violation.${first.what}`;
  return key in words.words ? words.t(key, first.params) : first.text;
}

function light(view, name, meaning) {
  const { words, state } = view;
  const { ok, violations, first } = state.invariants[name];
  const { only, [words.language]: means } = meaning?.[name] ?? {};
  return h("li", { key: name, class: `light ${ok ? "good" : "bad"}` },
    h("div", { class: "light-name" },
      h("b", {}, `${ok ? "✓" : "✕"} `),
      h("code", {}, name),
      !ok && h("span", {}, words.t("lights.count", { n: violations }))),
    h("p", { class: "hint" }, prose(means)),
    only && h("p", { class: "hint", "data-only": only }, words.t(`only_${only}`)),
    first && h("p", { class: "light-first" }, sentence(first, words)),
    first && h("button", { type: "button", class: "plain more", "data-light": name, onclick: () => view.goToLight(name) },
      `→ ${words.t("lights.go", { t: seconds(first.t) })}`));
}

export function lightsTab(view) {
  const { words, state } = view;
  const { total, red } = redLights(state);
  const meaning = view.inquiry.get("lights", "", true).found;
  if (!total) return h("p", { class: "empty" }, words.t("lights.none"));
  const names = Object.keys(state.invariants).sort((a, b) => red.includes(b) - red.includes(a));
  return [hint("what", words.t("lights.what")), h("ul", { key: "list", class: "light-list" }, names.map((name) => light(view, name, meaning)))];
}
