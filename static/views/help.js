/** The help: how to read the stage, the keys, and the pages beside the lab, which need no network either. */
import { base } from "../net/api.js";
import { h } from "./patch.js";

const KEYS = [
  [["␣"], "space"], [["←", "→"], "step"], [["⇧ ←", "⇧ →"], "state"], [["[", "]"], "speed"], [["L"], "live"], [["F"], "fork"], [["N"], "next"],
  [["K", "1–9"], "kill"], [["P"], "produce"], [["G"], "follow"], [["H"], "hex"], [["D"], "deliver"], [["X", "1–3"], "lesson"],
  [["?"], "help"], [["Esc"], "esc"],
];

const PAGES = [
  ["/projector/", "projector"], ["/exercises/", "exercises"], ["/quizzes/", "quizzes"], ["/classes/", "classes"], ["/basics/", "basics"],
  ["/glossary/", "glossary"], ["/trace/", "trace"], ["/eras/", "eras"], ["/not-modelled/", "not_modelled"], ["/api/docs", "rest"],
];

/** The keys that do the same, and what they do. */
const keysOf = ([keys, name], words) => [
  h("dt", {}, keys.map((key) => h("kbd", { key }, key))),
  h("dd", {}, words.t(`keys.${name}`)),
];

export function help({ words, closeHelp }) {
  return [
    h("h2", { id: "help-title" }, words.t("help")),
    h("h3", {}, words.t("help.read")),
    h("p", {}, words.t("help.stage")),
    h("p", {}, words.t("help.time")),
    h("h3", {}, words.t("help.more")),
    h("ul", { class: "pages" },
      PAGES.map(([address, name]) => h("li", { key: address },
        h("a", { href: base + address, target: "_blank", rel: "noopener", "data-page": name }, words.t(`help.${name}`))))),
    h("h3", {}, words.t("help.keys")),
    h("dl", { class: "keys" }, KEYS.map((entry) => keysOf(entry, words))),
    h("div", { class: "row" }, h("button", { type: "button", class: "main", onclick: closeHelp }, words.t("close"))),
  ];
}
