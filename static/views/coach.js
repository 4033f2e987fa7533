/** One line above the stage: what to try next, and the button for it. */
import { advice } from "../model/coach.js";
import { h } from "./patch.js";

export function coach(view) {
  const { state, words, topicName, chosenNumber, clock } = view;
  const found = clock.live ? advice(state, topicName, chosenNumber, view.acks) : null;
  if (!found) return [h("p", { key: "none", class: "coach none" })];
  return [h("p", { key: found.key, class: "coach" }, h("b", {}, words.t("coach")), h("span", {}, words.t(found.key, found.params)),
    found.command && h("button", { type: "button", class: "main", "data-coach": found.command.do, onclick: () => view.command(found.command) }, words.t(found.act ?? `${found.key}.do`, found.params)))];
}
