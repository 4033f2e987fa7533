/**
 * One line above the stage, of one height, so that nothing below it ever moves: a lost connection, else
 * the rewound view told apart from the cluster's time, else what a copy is for, else what to try next and the button for it.
 */
import { advice, copied, holds, madeOf, past, standstill } from "../model/coach.js";
import { seconds } from "../i18n/format.js";
import { h } from "./patch.js";
import { marked } from "./terms.js";
import { watchLine } from "./watch.js";

function rewound({ clock, words, goLive }, made) {
  const { key, params, act } = past({ viewed: seconds(clock.viewedTime), cluster: seconds(clock.clusterTime()) }, clock.cluster.paused, made);
  return h("p", { key: "rewound", class: "coach turn" },
    h("b", { "aria-hidden": "true" }, "◀◀"),
    h("span", {}, words.t(key, params)),
    h("button", { type: "button", class: "main", "data-coach": "live", onclick: goLive }, words.t(act), " ", h("kbd", {}, "L")));
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
  const { key, params, command, panel, compares } = found;
  const act = command ? () => view.command(command) : compares ? () => desk.forks.compare() : () => desk.panel !== panel && desk.show(panel);
  return h("p", { key, class: "coach" }, lead, h("span", {}, marked(words, words.t(key, params))), protocol(key, params, words),
    (command || panel || compares) && h("button", {
      key: JSON.stringify(command ?? panel ?? params), // what is pressed is what was read: another broker's button is another button
      type: "button", class: "main", "data-coach": command?.do ?? panel ?? "compare", onclick: act
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
  const made = madeOf(desk.runs.open, desk.run);
  if (!clock.live) return [rewound(view, made)];
  if (view.lookOnly) return [h("p", { key: "look", class: "coach" }, h("span", {}, words.t("look_only.coach")))];
  const lead = h("b", {}, words.t("coach"));
  if (clock.cluster.paused) return [advised(view, standstill(desk.live !== null && desk.run !== desk.live, made), lead)];
  if (clock.cluster.over?.length) return [advised(view, holds(clock.cluster.over), lead)];
  const line = desk.tour.line();
  if (line?.key) return [guide(view, line)];
  const found = (made ? copied : advice)(state, topicName, chosenNumber, view.acks, made);
  if (!found) return [h("p", { key: "none", class: "coach none" })];
  return [advised(view, found, line ? steps(line, words) : lead)];
}
