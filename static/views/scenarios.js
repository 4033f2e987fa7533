/** Scenarios: the list; one with its text, settings, prediction, run; what came out, and the other course beside it. */
import { seconds } from "../i18n/format.js";
import { judged } from "../model/judgement.js";
import { icon } from "./icons.js";
import { h } from "./patch.js";
import { further, receiptTable, verdict } from "./receipt.js";
import { reveal } from "./reveal.js";
import { working } from "./runs.js";
import { replayButton, sweepButton } from "./spark/buttons.js";

/** A text of a scenario in the reader's language; English when there is no other. */
export const told = (texts, words) => texts?.[words.language] ?? texts?.en ?? "";

function list(view) {
  const { words, desk } = view;
  const { all, error, refused } = desk.lessons;
  if (error) return [h("p", { key: "error", class: "none", role: "alert" }, error)];
  if (!all && !refused) return [h("p", { key: "wait", class: "empty", role: "status" }, words.t("scenarios.loading"))];
  return [
    refused && h("p", { key: "refused", class: "verdict bad", role: "alert" }, "✕ ", refusal(refused, words)),
    h("p", { key: "hint", class: "hint" }, words.t("scenarios.hint")),
    fileChooser(view),
    contents(view), desk.lessons.subjects.map((group) => subject(group, view)),
  ];
}

/** The subjects at a glance; each leads to its scenarios. */
function contents({ words, desk }) {
  const go = (id) => {
    const heading = document.getElementById(id);
    reveal(heading.parentElement);
    heading.focus({ preventScroll: true });
  };
  return h("nav", { key: "subjects", class: "subjects", "aria-label": words.t("scenarios.subjects") }, desk.lessons.subjects.map((group) => h("button", {
    key: group.subject, type: "button", class: "chip", "data-subject": group.subject, onclick: () => go(headingOf(group)),
  }, icon(group.subject || "words"), told(group.title, words))));
}

const headingOf = ({ subject: name }) => `subject-${name || "none"}`;

/** The scenarios of one subject, below a heading that stays in sight. */
function subject(group, { words, desk }) {
  const members = group.scenarios.map((name) => desk.lessons.all.find((one) => one.name === name));
  const id = headingOf(group);
  return h("section", { key: id, "aria-labelledby": id },
    h("h3", { id, class: "subject", tabindex: "-1" }, icon(group.subject || "words", 15), told(group.title, words), h("span", { class: "lever-state" }, words.t("scenarios.count", { n: members.length }))),
    h("ol", { class: "scenarios" }, members.map((one) => h("li", { key: one.name },
      h("button", { type: "button", class: "card-button", "data-scenario": one.name, onclick: () => desk.lessons.pick(one.name) },
        h("b", {}, told(one.title, words) || one.name),
        h("span", { class: "hint" }, desk.lessons.wasRun(one.name) ? `✓ ${words.t("scenarios.done")}` : firstSentence(told(one.text, words))))))));
}

/** Where to read more in the reader's language: the names of documents and chapters, not those of KIPs and settings. */
export const sourceName = (source, words) => source.split(/(, |: )/).map((part) => {
  const [, number, name] = /^(\d+\.\d+ )?(.*)$/.exec(part);
  return (number ?? "") + (words.words[`source.${name}`] ?? name);
}).join("");

/** Why a link or a file is no scenario: with the file's line, where it is a file. */
function refusal({ what, file, line, error }, words) {
  if (what === "link") return words.t("link.damaged", { error });
  return words.t("file.refused", { place: line ? `${file}:${line}` : file, error });
}

/** A file of one's own: a button that opens the browser's dialog. */
function fileChooser({ words, desk }) {
  const take = (event) => {
    const { target } = event;
    desk.lessons.readFile(target.files[0]).then(() => { target.value = ""; });
  };
  return h("div", { key: "file", class: "run-acts" }, h("label", { class: "file-button" }, h("span", {}, words.t("file.open")),
    h("input", { type: "file", accept: ".yaml,.yml,application/yaml", class: "unseen", "data-file": "scenario", onchange: take })));
}

/** Up to the first full stop, for the list. */
export function firstSentence(text) {
  const clean = text.replace(/\s+/g, " ").trim();
  return /^.*?[.!?](?=\s|$)/.exec(clean)?.[0] ?? clean;
}

function prediction(view) {
  const { words, desk } = view;
  const { one, chosen, result, running, predict } = desk.lessons;
  const asked = one.document.predict;
  if (!asked) return null;
  const right = result ? result.facts.prediction : null;
  return h("fieldset", { key: "predict", class: "predict", disabled: running || result !== null },
    h("legend", {}, told(asked.ask, words)),
    asked.choices.map((choice, index) => {
      const mark = result && index === right ? " ✓" : result && index === result.chosen ? " ✕" : "";
      return h("label", { key: index, class: `choice${chosen === index ? " chosen" : ""}${mark === " ✓" ? " right" : ""}` },
        h("input", { type: "radio", name: "prediction", "data-choice": index, checked: chosen === index, onchange: () => predict(index) }), h("span", {}, told(choice.text, words), mark));
    }));
}

/** The settings that it can be run with. */
function variants(view) {
  const { words, desk } = view;
  const { variants: all, variant, running, choose } = desk.lessons;
  if (all.length < 2) return null;
  return h("fieldset", { key: "variants", class: "predict", disabled: running },
    h("legend", {}, words.t("variant.choose")),
    all.map(({ name, title }) => h("label", { key: name, class: `choice${variant === name ? " chosen" : ""}` },
      h("input", { type: "radio", name: "variant", "data-variant": name, checked: variant === name, onchange: () => choose(name) }), h("span", {}, told(title, words) || name))));
}

function jobProgress(view) {
  const { words, desk } = view;
  const { job } = desk.lessons;
  if (!job) return null;
  const percent = Math.round(100 * job.progress);
  return h("div", { key: "job", class: "working", role: "status" }, h("p", {}, words.t(`job.${job.phase || job.state}`)),
    h("div", { class: "bar", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": String(percent), "aria-label": words.t("progress") }, h("i", { style: { width: `${percent}%` } })),
    h("span", { class: "number" }, `${percent} %`), h("button", { type: "button", onclick: desk.lessons.cancel }, words.t("cancel")));
}

/** What a run was run with, as its own document says. */
export function variantOf(facts, words) {
  const name = facts?.variant;
  return name ? told(facts.scenario?.variants?.[name]?.title, words) || name : "";
}

function unmet(facts, words) {
  const lines = [...(facts.unmet ?? []), ...(facts.notes ?? [])];
  if (!lines.length) return null;
  return h("ul", { class: "hint", "data-unmet": lines.length }, lines.map((text) => h("li", { key: text }, `▲ ${judged(text, words)}`)));
}

/** The verdict and the five figures of a run that has ended; what else is odd, folded. */
function ending(ended, words) {
  const receipt = { ...ended.facts.receipt, finished: true };
  return [verdict(receipt, words), receiptTable(receipt, words), further(receipt, words), unmet(ended.facts, words)];
}

function guess(result, words) {
  const { prediction, scenario } = result.facts;
  if (prediction === null || prediction === undefined || result.chosen === null) return null;
  const right = prediction === result.chosen;
  return h("p", { class: `verdict ${right ? "good" : "warn"}`, "data-guess": right ? "right" : "wrong" },
    right ? `✓ ${words.t("predict.right")}` : `▲ ${words.t("predict.wrong", { answer: told(scenario.predict.choices[prediction].text, words) })}`);
}

function outcome(view) {
  const { words, desk } = view;
  const { lessons } = desk;
  const { result } = lessons;
  if (!result) return null;
  const { facts } = result;
  const lesson = facts.scenario;
  const busy = desk.work !== null || lessons.running;
  const variant = variantOf(facts, words);
  return h("section", { key: "outcome", class: "outcome", "aria-label": words.t("scenarios.outcome") },
    variant && h("p", { class: "hint", "data-ran": facts.variant }, words.t("variant.ran", { variant })),
    guess(result, words), ending(result, words),
    lesson.see && h("p", { class: "lesson" }, h("b", {}, `${words.t("scenarios.see")} `), told(lesson.see, words)),
    lesson.why && h("p", { class: "lesson" }, h("b", {}, `${words.t("scenarios.why")} `), told(lesson.why, words)),
    lesson.why?.source?.length > 0 && h("p", { class: "hint" }, words.t("scenarios.source"), " ", lesson.why.source.map((one) => sourceName(one, words)).join("; ")),
    h("div", { class: "run-acts" },
      facts.moment && h("button", { type: "button", class: "main", "data-lesson": "moment", disabled: busy, onclick: lessons.showMoment }, words.t("scenarios.moment")),
      h("button", { type: "button", "data-lesson": "open", disabled: busy, onclick: lessons.openRun }, words.t("scenarios.look", { run: result.run ?? result.recorded })),
      replayButton(view, result.recorded), !lessons.one.own && sweepButton(view, lessons.one.name),
      h("button", { type: "button", "data-lesson": "link", onclick: (event) => lessons.shareRun(event.currentTarget) }, words.t("export.link"))),
    lessons.link && h("p", { key: "link" }, h("input", { class: "link", readonly: true, value: lessons.link, "aria-label": words.t("export.link"), onfocus: (event) => event.target.select() })),
    otherCourse(view, busy));
}

/** What would have come of it otherwise: offered, and when it was tried, its receipt beside the first one. */
function otherCourse(view, busy) {
  const { words, desk } = view;
  const { lessons } = desk;
  const { result } = lessons;
  const { fork } = result.facts.scenario;
  if (!fork) return null;
  const title = told(fork.title, words);
  const { other } = result;
  if (!other) {
    return h("div", { key: "other", class: "run-acts" },
      h("button", { type: "button", "data-lesson": "fork", disabled: busy, onclick: lessons.tryOther }, words.t("scenarios.other", { title })));
  }
  return h("section", { key: "other", class: "outcome", "data-other": other.recorded, "aria-label": title },
    h("h4", {}, words.t("fork.course", { title })),
    h("p", { class: "hint" }, words.t("fork.parted", { run: other.run ?? other.recorded, parent: result.run ?? result.recorded, t: seconds(other.facts.forked_at_us) })),
    ending(other, words),
    fork.see && h("p", { class: "lesson", "data-see": "fork" }, h("b", {}, `${words.t("scenarios.see")} `), told(fork.see, words)),
    h("div", { class: "run-acts" },
      h("button", { type: "button", class: "main", "data-lesson": "compare", disabled: busy, onclick: lessons.compare }, words.t("compare.title")),
      h("button", { type: "button", "data-lesson": "parting", disabled: busy, onclick: lessons.showParting }, words.t("fork.show"))));
}

function one(view) {
  const { words, desk } = view;
  const { one: found, error, ready, running, result, chosen, run, back } = desk.lessons;
  const needs = found.document.predict && chosen === null;
  return [
    h("button", { key: "back", type: "button", class: "plain back", "data-lesson": "back", onclick: back }, `← ${words.t("scenarios.all")}`),
    h("h3", { key: "title", class: "lesson-title" }, told(found.title, words) || found.name),
    found.own && h("p", { key: "own", class: "verdict", "data-own": found.name }, words.t("link.checked", { name: found.name, n: found.steps }),
      found.variant && ` ${words.t("variant.of", { variant: told(found.variants[found.variant], words) || found.variant })}`),
    h("p", { key: "text", class: "lesson" }, told(found.text, words)),
    variants(view),
    prediction(view),
    error && h("p", { key: "error", class: "none", role: "alert" }, judged(error, words)),
    !running && h("div", { key: "run", class: "run-acts" },
      h("button", { type: "button", class: result ? "" : "main", "data-lesson": "run", disabled: !ready || desk.work !== null, onclick: run }, words.t(result ? "scenarios.again" : "scenarios.run")),
      needs && h("span", { class: "hint" }, words.t("predict.first"))),
    jobProgress(view), working(view), outcome(view),
  ];
}

export function scenariosPanel(view) {
  return view.desk.lessons.one ? one(view) : list(view);
}
