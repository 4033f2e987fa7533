/**
 * One line above the stage, of one height, so that nothing below it ever moves: a lost connection, else
 * the rewound view told apart from the cluster's time, else what to try next and the button for it.
 */
import { advice, holds, standstill } from "../model/coach.js";
import { seconds } from "../i18n/format.js";
import { h } from "./patch.js";
import { marked } from "./terms.js";
import { watchLine } from "./watch.js";

function rewound({ clock, words, goLive }) {
  const times = { viewed: seconds(clock.viewedTime), cluster: seconds(clock.clusterTime()) };
  const text = words.t(clock.cluster.paused ? "banner.rewound_paused" : "banner.rewound", times);
  return h("p", { key: "rewound", class: "coach turn" },
    h("b", { "aria-hidden": "true" }, "◀◀"),
    h("span", {}, text),
    h("button", { type: "button", class: "main", "data-coach": "live", onclick: goLive }, words.t("banner.back"), " ", h("kbd", {}, "L")));
}

/** How far the first visit has come: a row of dots and its place in words. */
function steps({ number, of }, words) {
  return h("span", { class: "steps", role: "img", "aria-label": words.t("tour.step", { number, of }) },
    Array.from({ length: of }, (_, index) => h("i", { key: index, class: index < number ? "on" : "" })));
}

function guide(view, line) {
  const { words } = view;
  const button = line.act && !line.wait;
  return h("p", { key: line.key, class: "coach tour" }, steps(line, words), h("span", {}, marked(words, words.t(line.key, line.params))),
    line.share !== undefined && h("span", { class: "bar", "aria-hidden": "true" }, h("i", { style: { width: `${Math.round(100 * line.share)}%` } })),
    button && h("button", { type: "button", class: "main", "data-tour": line.step, onclick: () => line.act() }, words.t(`tour.${line.step}.do`, line.params)));
}

/** The same in the protocol's words, for those who ask. */
function protocol(key, params, words) {
  const text = words.words[`${key}.protocol`];
  return text && h("details", { key: `protocol ${key}`, class: "protocol" },
    h("summary", { title: words.t("coach.protocol"), "aria-label": words.t("coach.protocol") }, "?"),
    h("p", {}, marked(words, words.t(`${key}.protocol`, params))));
}

function advised(view, found, lead) {
  const { words, desk } = view;
  const { key, params, command, panel } = found;
  const act = command ? () => view.command(command) : () => desk.panel !== panel && desk.show(panel);
  return h("p", { key, class: "coach" }, lead, h("span", {}, marked(words, words.t(key, params))), protocol(key, params, words),
    (command || panel) && h("button", {
      key: JSON.stringify(command ?? panel), // what is pressed is what was read: another broker's button is another button
      type: "button", class: "main", "data-coach": command?.do ?? panel, onclick: act
    },
      words.t(found.act ?? `${key}.do`, params)));
}

export function coach(view) {
  const { state, words, topicName, chosenNumber, clock, desk } = view;
  if (!view.online && view.everOnline)
    return [h("p", { key: "lost", class: "coach bad" },
      h("b", { "aria-hidden": "true" }, "✕"),
      h("span", {}, words.t("banner.lost", { cluster: seconds(clock.clusterTime()) })))];
  if (desk.watch.active) return [watchLine(view)];
  if (!clock.live) return [rewound(view)];
  if (view.lookOnly) return [h("p", { key: "look", class: "coach" }, h("span", {}, words.t("look_only.coach")))];
  const lead = h("b", {}, words.t("coach"));
  if (clock.cluster.paused) return [advised(view, standstill(desk.live !== null && desk.run !== desk.live), lead)];
  if (clock.cluster.over?.length) return [advised(view, holds(clock.cluster.over), lead)];
  const line = desk.tour.line();
  if (line?.key) return [guide(view, line)];
  const found = advice(state, topicName, chosenNumber, view.acks);
  if (!found) return [h("p", { key: "none", class: "coach none" })];
  return [advised(view, found, line ? steps(line, words) : lead)];
}
