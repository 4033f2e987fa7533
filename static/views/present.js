/** The question to a rewound viewer who moves a lever: now, in a branch from here, or not at all. */
import { seconds } from "../i18n/format.js";
import { h } from "./patch.js";

export function presentDialog({ words, clock, desk, present }) {
  const times = { viewed: seconds(clock.viewedTime), cluster: seconds(clock.clusterTime()) };
  const choice = (where, params, disabled = false) => h("button", {
    key: where, type: "button", class: "choice", "data-present": where, disabled, onclick: () => present.answer(where)
  },
    h("b", {}, words.t(`present.${where}`)), h("span", { class: "hint" }, words.t(`present.${where}.hint`, params)));
  return [
    h("h2", { key: "title", id: "present-title" }, words.t("present.title")),
    h("p", { key: "what" }, h("b", {}, present.what)),
    h("p", { key: "times", class: "hint" }, words.t("present.times", times)),
    h("div", { key: "choices", class: "choices" }, choice("now", times), choice("fork", times, desk.work !== null)),
    h("div", { key: "row", class: "row" }, h("button", { type: "button", "data-present": "cancel", onclick: () => present.answer(null) }, words.t("cancel"))),
  ];
}
