/**
 * One line above the stage, of one height, so that nothing below it ever moves: a lost connection, else
 * the rewound view told apart from the cluster's time, else what to try next and the button for it.
 */
import { advice } from "../model/coach.js";
import { seconds } from "../i18n/format.js";
import { h } from "./patch.js";

function rewound({ clock, words, goLive }) {
  const times = { viewed: seconds(clock.viewedTime), cluster: seconds(clock.clusterTime()) };
  const text = words.t(clock.cluster.paused ? "banner.rewound_paused" : "banner.rewound", times);
  return h("p", { key: "rewound", class: "coach turn" }, h("b", { "aria-hidden": "true" }, "◀◀"), h("span", {}, text),
    h("button", { type: "button", class: "main", "data-coach": "live", onclick: goLive }, words.t("banner.back"), " ", h("kbd", {}, "L")));
}

export function coach(view) {
  const { state, words, topicName, chosenNumber, clock } = view;
  if (!view.online && view.everOnline) return [h("p", { key: "lost", class: "coach bad" }, h("b", { "aria-hidden": "true" }, "✕"), h("span", {}, words.t("banner.lost", { cluster: seconds(clock.clusterTime()) })))];
  if (!clock.live) return [rewound(view)];
  const found = advice(state, topicName, chosenNumber, view.acks);
  if (!found) return [h("p", { key: "none", class: "coach none" })];
  return [h("p", { key: found.key, class: "coach" }, h("b", {}, words.t("coach")), h("span", {}, words.t(found.key, found.params)),
    found.command && h("button", { type: "button", class: "main", "data-coach": found.command.do, onclick: () => view.command(found.command) }, words.t(found.act ?? `${found.key}.do`, found.params)))];
}
