/**
 * The line above the stage while a lesson's run is watched: how far it has come, what one sees, why, and the way on.
 * Of one height, so that nothing below it moves.
 */
import { seconds } from "../i18n/format.js";
import { told } from "../i18n/texts.js";
import { prediction } from "../model/watching.js";
import { h } from "./patch.js";
import { guessText } from "./predict.js";
import { marked } from "./terms.js";
import { verdictText } from "./receipt.js";

/** What is said at a stop: {say, why}. A lesson's own words stand alone; the story's have their reason. */
export function caption({ say, event }, words) {
  const own = told(say, words);
  if (own) return { say: own, why: "" };
  const text = event.code === "command" ? words.t("watch.command", event.params) : words.say(event);
  return { say: text, why: event.code === "command" ? "" : words.why(event) };
}

/** A mark for each stop and one for the verdict; each leads there. */
function marks({ watch }, where, words) {
  const { stops } = watch;
  const one = (key, label, done, here, act) => h("button", {
    key, type: "button", class: `${done ? "on" : ""}${here ? " here" : ""}`, "data-stop": key, title: label, "aria-label": label,
    "aria-current": here ? "step" : null, onclick: act
  }, h("i", {}));
  return h("span", { class: "stops", role: "group", "aria-label": words.t("watch.stops") },
    stops.map((stop, index) => one(
      index, `${seconds(stop.t)} s: ${caption(stop, words).say}`, index < where.reached, index === where.at,
      () => watch.show(stop.position))),
    one("verdict", words.t("watch.verdict"), where.next === null, where.next === null, watch.toVerdict));
}

/** The text between two stops: what was said last, or the question at the beginning. */
function between({ watch }, where, words) {
  if (where.reached > 0) return { ...caption(watch.stops[where.reached - 1], words), past: true };
  const asked = told(watch.ended.facts.scenario?.predict?.ask, words);
  return { say: words.t("watch.begin"), why: asked };
}

function ending({ watch }, words) {
  const { facts } = watch.ended;
  const found = prediction(watch.ended);
  return {
    say: verdictText({ ...facts.receipt, finished: true }, words),
    why: found ? guessText(found, facts.scenario.predict, watch.ended.chosen, words) : ""
  };
}

export function watchLine(view) {
  const { desk, words, clock } = view;
  const { watch } = desk;
  const { where } = watch;
  const over = where.next === null;
  const { say, why, past } = over ? ending(desk, words) : where.at === null ? between(desk, where, words) : caption(watch.stops[where.at], words);
  const wait = where.next === null || clock.live ? 0 : Math.max(0, view.history.timeAt(where.next) - clock.t);
  return h("div", {
    key: "watch", class: `coach watch${past ? " past" : ""}`, "data-watch": over ? "over" : where.at ?? "between", role: "group",
    tabindex: "-1", "aria-label": words.t("watch")
  },
    marks(desk, where, words),
    h("p", { class: "caption", "aria-live": clock.playing ? "off" : "polite" },
      h("strong", {}, marked(words, say)),
      why && h("span", {}, " ", marked(words, why))),
    h("span", { class: "run-acts" },
      !over && !clock.playing && h("button", { key: "go", type: "button", class: "main", "data-watch-go": "", onclick: watch.go },
        words.t(where.reached || where.at !== null ? "watch.go" : "watch.start"),
        " ",
        h("kbd", {}, "␣")),
      !over && clock.playing && h("button", {
        key: "skip", type: "button", class: "main", "data-watch-skip": "", title: words.t("watch.ahead", { s: (wait / 1e6).toFixed(1) }),
        onclick: watch.skip
      }, words.t("watch.skip"), " ", h("kbd", {}, "N")),
      !over && h("button", { key: "verdict", type: "button", class: "plain", "data-watch-verdict": "", onclick: watch.toVerdict }, words.t("watch.to_verdict")),
      over && h("button", { key: "leave", type: "button", "data-watch-leave": "", onclick: watch.leave }, words.t("watch.leave"))));
}
