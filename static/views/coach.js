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

/** How far the first visit has come: a row of dots and its place in words. */
function steps({ number, of }, words) {
  return h("span", { class: "steps", role: "img", "aria-label": words.t("tour.step", { number, of }) }, Array.from({ length: of }, (_, index) => h("i", { key: index, class: index < number ? "on" : "" })));
}

function guide(view, line) {
  const { words } = view;
  const button = line.act && !line.wait;
  return h("p", { key: line.key, class: "coach tour" }, steps(line, words), h("span", {}, words.t(line.key, line.params)),
    line.share !== undefined && h("span", { class: "bar", "aria-hidden": "true" }, h("i", { style: { width: `${Math.round(100 * line.share)}%` } })),
    button && h("button", { type: "button", class: "main", "data-tour": line.step, onclick: () => line.act() }, words.t(`tour.${line.step}.do`, line.params)));
}

export function coach(view) {
  const { state, words, topicName, chosenNumber, clock, desk } = view;
  if (!view.online && view.everOnline) return [h("p", { key: "lost", class: "coach bad" }, h("b", { "aria-hidden": "true" }, "✕"), h("span", {}, words.t("banner.lost", { cluster: seconds(clock.clusterTime()) })))];
  if (!clock.live) return [rewound(view)];
  const line = desk.tour.line();
  if (line?.key) return [guide(view, line)];
  const found = advice(state, topicName, chosenNumber, view.acks);
  if (!found) return [h("p", { key: "none", class: "coach none" })];
  return [h("p", { key: found.key, class: "coach" }, line ? steps(line, words) : h("b", {}, words.t("coach")), h("span", {}, words.t(found.key, found.params)),
    found.command && h("button", { type: "button", class: "main", "data-coach": found.command.do, onclick: () => view.command(found.command) }, words.t(found.act ?? `${found.key}.do`, found.params)))];
}
