/** One scenario: its text, settings, prediction, run; once it was watched, what came out, and the other course beside it. */
import { seconds, told as toldProblem } from "../i18n/format.js";
import { sentence } from "../i18n/problems.js";
import { told } from "../i18n/texts.js";
import { ofSetting } from "../model/setting.js";
import { prediction } from "../model/watching.js";
import { base } from "../net/api.js";
import { effort, nextLesson } from "./course.js";
import { h } from "./patch.js";
import { firstText, guessText, predictionOf } from "./predict.js";
import { progressBar } from "./progress.js";
import { further, receiptTable, showing, verdict } from "./receipt.js";
import { working } from "./runs.js";
import { marked } from "./terms.js";
import { called, thenAndNow } from "./then.js";
import { replayButton, sweepButton } from "./spark/buttons.js";

/** Where to read more in the reader's language: the names of documents and chapters, not those of KIPs and settings. */
export const sourceName = (source, words) => source.split(/(, |: )/).map((part) => {
  const [, number, name] = /^(\d+\.\d+ )?(.*)$/.exec(part);
  return (number ?? "") + (words.words[`source.${name}`] ?? name);
}).join("");

/** The settings that it can be run with. */
function variants(view) {
  const { words, desk } = view;
  const { variants: all, variant, running, choose } = desk.lessons;
  if (all.length < 2) return null;
  return h("fieldset", { key: "variants", class: "predict", disabled: running },
    h("legend", {}, words.t("variant.choose")),
    all.map(({ name, title }) => h("label", { key: name, class: `choice${variant === name ? " chosen" : ""}` },
      h("input", { type: "radio", name: "variant", "data-variant": name, checked: variant === name, onchange: () => choose(name) }),
      h("span", {}, told(title, words) || name))));
}

/** In which generations of Kafka it holds: a choice where these are several, and what is different in the one chosen. */
function generations(view) {
  const { words, desk } = view;
  const { one, variant, running, ready, both, chooseGeneration } = desk.lessons;
  const names = Object.keys(one.generations);
  if (!names.length) return null;
  const differs = told(one.generations[one.generation], words);
  return [
    names.length === 1 && h("p", { key: "generation", class: "hint", "data-generation": names[0] },
      words.t("generation.only", { name: words.t(`generation.${names[0]}`) })),
    names.length > 1 && h("fieldset", { key: "generations", class: "predict", disabled: running },
      h("legend", {}, words.t("generation.choose")),
      names.map((name) => h("label", { key: name, class: `choice${one.generation === name ? " chosen" : ""}` },
        h("input", {
          type: "radio", name: "generation", "data-generation": name, checked: one.generation === name,
          onchange: () => chooseGeneration(name)
        }),
        h("span", {}, words.t(`generation.${name}`))))),
    names.length > 1 && h("p", { key: "both" },
      h("button", { type: "button", "data-lesson": "both", disabled: running || !ready, title: words.t("beside.hint"), onclick: both },
        words.t("beside.open")),
      !running && !ready && h("span", { class: "hint" }, ` ${words.t(firstText(ofSetting(one, variant).predict))}`)),
    differs && h("p", { key: "differs", class: "lesson", "data-differs": one.generation },
      h("b", {}, `${words.t("generation.differs")} `),
      marked(words, differs)),
  ];
}

const ERAS = { zookeeper: ["2.x", "3.9"], kraft: ["4.3"] };
const LATEST = "4.3";

/** Whose defaults count where the lesson sets nothing itself: those of textbooks, of the last Kafka with ZooKeeper, of today's. */
function eras({ words, desk }) {
  const { one, era, running, chooseEra } = desk.lessons;
  const now = ERAS[one.generation]?.at(-1);
  return h("p", { key: "eras", class: "hint" }, now && h("span", { "data-text-of": now }, `${words.t("era.text", { era: now })} `),
    h("label", {}, `${words.t("era.choose")} `,
      h("select", { "data-era": era, disabled: running, onchange: (event) => chooseEra(event.target.value) },
        ["", ...(ERAS[one.generation] ?? [])].map((name) => h("option", { key: name, value: name, selected: era === name }, words.t(`era.${name || "own"}`))))),
    era && ` ${words.t("era.hint")} `, era && h("a", { href: `${base}/eras/`, target: "_blank" }, words.t("era.page")),
    era && otherwise(desk.eras.between(era, LATEST), words));
}

/** What was otherwise in the chosen era than it is today, setting by setting. */
function otherwise(found, words) {
  return found.length > 0 && h("details", { key: "otherwise", "data-otherwise": found.length },
    h("summary", {}, words.t("era.otherwise", { n: found.length })),
    found.map((one) => h("div", { key: `${one.of} ${one.name}` },
      h("b", {}, called(one, words)), thenAndNow({ eras: one }, words))));
}

function jobProgress(view) {
  const { words, desk } = view;
  const { job } = desk.lessons;
  if (!job) return null;
  return h("div", { key: "job", class: "working", role: "status" }, h("p", {}, words.t(`job.${job.phase || job.state}`)),
    progressBar(words, job.progress), h("button", { type: "button", onclick: desk.lessons.cancel }, words.t("cancel")));
}

/** What a run was run with, as its own document says. */
export function variantOf(facts, words) {
  const name = facts?.variant;
  return name ? told(facts.scenario?.variants?.[name]?.title, words) || name : "";
}

function unmet(facts, words) {
  const lines = [...(facts.unmet ?? []), ...(facts.notes ?? [])];
  if (!lines.length) return null;
  return h("ul", { class: "hint", "data-unmet": lines.length },
    lines.map((one, index) => h("li", { key: index }, `▲ ${sentence(toldProblem(one, words.words))}`)));
}

/** What a group has made of the records, where the lesson asks for it: another count than that of the log. */
function work(facts, words) {
  return Object.entries(facts.groups ?? {}).map(([group, { processed, twice, missed }]) =>
    h("p", { key: `group-${group}`, class: "hint", "data-group-work": group }, words.t("receipt.group", { group, processed, twice, missed })));
}

/** The verdict and the figures of a run that has ended; what else is odd, folded. */
function ending(ended, view) {
  const { words, desk } = view;
  const receipt = { ...ended.facts.receipt, finished: true };
  return [
    verdict(receipt, words), receiptTable(receipt, words, desk.run === ended.run ? showing(view, desk.receipts.found) : undefined),
    work(ended.facts, words), further(receipt, words), unmet(ended.facts, words)];
}

const GRADES = { right: ["good", "✓"], near: ["good", "≈"], wrong: ["warn", "▲"] };

function guess(result, words) {
  const found = prediction(result);
  if (!found) return null;
  const [tone, sign] = GRADES[found.grade];
  return h("p", { class: `verdict ${tone}`, "data-guess": found.grade }, `${sign} ${guessText(found, result.facts.scenario.predict, result.chosen, words)}`);
}

/** A run that was not watched to its end keeps what came of it to itself. */
function waiting({ words, desk }) {
  const { lessons, watch, work } = desk;
  const busy = work !== null || lessons.running;
  return h("section", { key: "outcome", class: "outcome", "aria-label": words.t("watch") }, h("p", { class: "lesson" }, words.t("watch.waits")),
    h("div", { class: "run-acts" },
      h("button", { type: "button", class: "main", "data-lesson": "watch", disabled: busy, onclick: () => lessons.watchRun() },
        words.t(watch.active ? "watch.again" : "watch.do")),
      h("button", { type: "button", "data-lesson": "verdict", disabled: busy, onclick: lessons.showVerdict }, words.t("watch.to_verdict"))));
}

function outcome(view) {
  const { words, desk } = view;
  const { lessons } = desk;
  const { result } = lessons;
  if (!result) return null;
  if (!result.seen) return waiting(view);
  const { facts } = result;
  const lesson = facts.scenario;
  const busy = desk.work !== null || lessons.running;
  const variant = variantOf(facts, words);
  return h("section", { key: "outcome", class: "outcome", "aria-label": words.t("scenarios.outcome") },
    variant && h("p", { class: "hint", "data-ran": facts.variant }, words.t("variant.ran", { variant })),
    guess(result, words), ending(result, view),
    lesson.see && h("p", { class: "lesson" }, h("b", {}, `${words.t("scenarios.see")} `), marked(words, told(lesson.see, words))),
    lesson.why && h("p", { class: "lesson" }, h("b", {}, `${words.t("scenarios.why")} `), marked(words, told(lesson.why, words))),
    lesson.why?.source?.length > 0 && h("p", { class: "hint" },
      words.t("scenarios.source"),
      " ",
      lesson.why.source.map((one) => sourceName(one, words)).join("; ")),
    h("div", { class: "run-acts" },
      facts.stops?.length > 0 && h("button", { type: "button", "data-lesson": "watch", disabled: busy, onclick: () => lessons.watchRun() },
        words.t("watch.again")),
      facts.moment && h("button", { type: "button", class: "main", "data-lesson": "moment", disabled: busy, onclick: lessons.showMoment },
        words.t("scenarios.moment")),
      h("button", { type: "button", "data-lesson": "open", disabled: busy, onclick: lessons.openRun },
        words.t("scenarios.look", { run: result.run ?? result.recorded })),
      replayButton(view, result.recorded), !lessons.one.own && sweepButton(view, lessons.one.name),
      h("button", { type: "button", "data-lesson": "link", onclick: lessons.shareRun }, words.t("export.link"))),
    lessons.link && h("p", { key: "link" },
      h("input", {
        class: "link", readonly: true, value: lessons.link, "aria-label": words.t("export.link"), onfocus: (event) => event.target.select()
      })),
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
    h("p", { class: "hint" },
      words.t("fork.parted", {
        run: other.run ?? other.recorded, parent: result.run ?? result.recorded, t: seconds(other.facts.forked_at_us)
      })),
    ending(other, view),
    fork.see && h("p", { class: "lesson", "data-see": "fork" }, h("b", {}, `${words.t("scenarios.see")} `), marked(words, told(fork.see, words))),
    h("div", { class: "run-acts" },
      h("button", { type: "button", "data-lesson": "watch-other", disabled: busy, onclick: () => lessons.watchRun(other) }, words.t("watch.do")),
      h("button", { type: "button", class: "main", "data-lesson": "compare", disabled: busy, onclick: lessons.compare }, words.t("compare.title")),
      h("button", { type: "button", "data-lesson": "parting", disabled: busy, onclick: lessons.showParting }, words.t("fork.show"))));
}

/** What else is asked about it, on a page of its own. */
function questions(found, words) {
  const address = `${base}/quizzes/${found.name}/`;
  return h("p", { key: "questions", class: "hint" },
    h("a", { href: address, target: "_blank", rel: "noopener", "data-lesson": "quiz" }, words.t("lesson.quiz")));
}

export function lessonPanel(view) {
  const { words, desk } = view;
  const { one: found, variant, error, ready, running, result, chosen, run, back } = desk.lessons;
  const { text, predict } = ofSetting(found, variant);
  const needs = predict && chosen === null;
  const judged = result?.seen;
  return [
    h("button", { key: "back", type: "button", class: "plain back", "data-lesson": "back", onclick: back }, `← ${words.t("scenarios.all")}`),
    h("h3", { key: "title", class: "lesson-title" }, told(found.title, words) || found.name),
    !found.own && h("p", { key: "effort", class: "hint" }, effort(found, words)),
    found.own && h("p", { key: "own", class: "verdict", "data-own": found.name }, words.t("link.checked", { name: found.name, n: found.steps }),
      found.variant && ` ${words.t("variant.of", { variant: told(found.variants[found.variant], words) || found.variant })}`),
    judged && [outcome(view), !found.own && questions(found, words), nextLesson(view)],
    h("p", { key: "text", class: "lesson" }, marked(words, told(text, words))),
    generations(view), eras(view),
    variants(view),
    predictionOf(view),
    error && h("p", { key: "error", class: "none", role: "alert" }, error),
    !running && h("div", { key: "run", class: "run-acts" },
      h("button", {
        type: "button", class: result ? "" : "main", "data-lesson": "run", disabled: view.lookOnly || !ready || desk.work !== null,
        onclick: run
      }, words.t(result ? "scenarios.again" : "scenarios.run")),
      view.lookOnly && h("span", { class: "hint" }, words.t("look_only")),
      needs && h("span", { class: "hint" }, words.t(firstText(predict)))),
    jobProgress(view), working(view), !judged && outcome(view),
  ];
}
