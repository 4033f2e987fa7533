/** How evenly the brokers are burdened, and leadership brought back to where it is preferred. */
import { badge, bytes, head, hint, table, title } from "./common.js";
import { h } from "../patch.js";
import { throttleNote } from "./plan.js";

/** The share of the partitions of a preferred leader that it does not lead: what the controller compares with its limit. */
const imbalance = ({ preferred, astray }) => (preferred ? `${Math.round((100 * astray) / preferred)} %` : "–");

/** A bar beside a figure: how much of the largest one it is. */
function share(value, most, shown) {
  return h("td", { class: "number burden" },
    h("span", {}, shown),
    h("i", { class: "bar", "aria-hidden": "true" }, h("i", { style: { width: `${most ? (100 * (value ?? 0)) / most : 0}%` } })));
}

export function balance(view) {
  const { words, clock } = view;
  const { found } = view.inquiry.get("balance");
  if (!found) return null;
  const most = (name) => Math.max(0, ...found.brokers.map((one) => one[name] ?? 0));
  const astray = found.brokers.reduce((sum, one) => sum + one.astray, 0);
  return [
    title("balance", words.t("balance")),
    table(
      "balance-table", words.t("balance"),
      [
        words.t("noun.broker"), [words.t("balance.leads"), "number"], [words.t("balance.imbalance"), "number"],
        [words.t("balance.replicas"), "number"], [words.t("look.size"), "number"]],
      found.brokers.map((one) => h("tr", { key: one.broker, class: one.astray ? "low" : "", "data-balance": one.broker },
        head(badge(one.broker, "leader")),
        share(one.leads, most("leads"), one.leads),
        h("td", { class: "number" }, imbalance(one), h("small", { class: "meaning" }, words.t("balance.of", one))),
        share(one.replicas, most("replicas"), one.replicas), share(one.bytes, most("bytes"), bytes(one.bytes))))),
    throttleNote(view, found),
    hint("balance-hint", words.t(astray ? "balance.astray" : "balance.even", { n: astray })),
    clock.live && h("div", { key: "balance-acts", class: "look-row" },
      h("button", {
        type: "button", "data-balance-elect": "", disabled: view.lookOnly || !astray,
        onclick: () => view.command({ do: "elect_leaders" }).then(() => view.inquiry.fresh("balance"))
      }, words.t("balance.elect"))),
  ];
}
