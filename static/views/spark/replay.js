/** Replay with Spark: which run, how far the work is, the answers with their plots. */
import { count } from "../../i18n/format.js";
import { momentOf } from "../../model/spark.js";
import { h } from "../patch.js";
import { told } from "../../i18n/texts.js";
import { PLOTS, column, shown, spoken } from "./plots.js";
import { bar, stagesLine, troubles, waitingFor } from "./progress.js";

const BAD = new Set(["lost", "inconsistent", "damages"]);
const WARN = new Set(["duplicated", "reordered", "stale"]);
const LEFT = new Set(["run", "position", "lost_topic", "lost_partition", "lost_offset"]);

function chooser(view) {
  const { words, desk } = view;
  const { replay, setup } = desk.spark;
  const names = [...new Set([
    replay.asked, ...desk.runs.open.map((one) => one.run),
    ...desk.runs.items.filter((one) => one.finished).map((one) => one.run)])].filter(Boolean);
  return h("div", { key: "choose", class: "spark-choose" },
    h("label", { class: "field" }, h("span", {}, words.t("spark.run")),
      h("select", {
        value: replay.asked ?? "", "data-spark": "run", disabled: replay.running, onchange: (event) => replay.choose(event.target.value)
      }, names.map((name) => h("option", { key: name, value: name }, name === desk.live ? `${name} · ${words.t("runs.live")}` : name)))),
    h("button", {
      type: "button", class: "main", "data-spark": "start", disabled: view.lookOnly || replay.running || setup?.installed === false, onclick: replay.start
    }, words.t(replay.answers.length ? "spark.again" : "spark.replay")),
    replay.found?.report && h("a", { href: replay.found.report, target: "_blank", rel: "noopener", class: "spark-report" }, words.t("spark.report")));
}

function progress(view) {
  const { words, desk } = view;
  const { replay } = desk.spark;
  if (!replay.running) return null;
  const { found } = replay;
  const now = found.step ? words.t("spark.step", { what: title(found.step, replay, words) }) : waitingFor(found, words);
  return [
    bar(words, "progress", found.progress, now, h("button", { type: "button", "data-spark": "cancel", onclick: replay.cancel },
      words.t("cancel"))),
    stagesLine(found, words)];
}

/** The step that was done last: an answer by its title, a table by its name. */
function title(step, replay, words) {
  const answer = replay.answers.find((one) => one.query === step);
  return answer ? told(answer.title, words) : step === "report" ? words.t("spark.report") : words.t("spark.table", { name: step });
}

const tone = ({ query, count: rows }) => (rows && BAD.has(query) ? "bad" : rows && WARN.has(query) ? "warn" : "");

/** Values at one offset are mostly the lost records from the other side: a sentence says so, as on the receipt. */
function beside(answer, answers, words) {
  const lost = answers.find(({ query }) => query === "lost")?.count ?? 0;
  if (answer.query !== "inconsistent" || !answer.count || answer.count > lost) return null;
  return h("p", { class: "hint", "data-beside": "lost" }, words.t("receipt.further.inconsistent_lost"));
}

/** What a run has not recorded: an empty answer would say that nothing happened. */
const gaps = (answer, words) => (answer.missing ?? []).map(({ run, what }) =>
  h("p", { key: `missing-${run}`, class: "hint", "data-missing": what },
    "▲ ",
    words.t("spark.missing", { run, what: words.t(`spark.missing.${what.replaceAll(" ", "_")}`) })));

/** An answer's title with the number of its rows, which is unknown where something was not recorded. */
function answerButton(one, replay, words) {
  const here = one === replay.answer;
  const sign = tone(one) === "bad" ? "✕ " : tone(one) ? "▲ " : "";
  return h("button", {
    type: "button", "data-answer": one.query, "aria-current": here ? "true" : null, class: `${here ? "here " : ""}${tone(one)}`,
    onclick: () => replay.pick(one.query)
  },
    h("span", {}, told(one.title, words)),
    h("b", { class: "number" }, sign, one.missing?.length && !one.count ? "?" : count(one.count)));
}

function contents(view) {
  const { words, desk } = view;
  const { replay } = desk.spark;
  return h("nav", { key: "contents", class: "spark-contents", "aria-label": words.t("spark.answers") },
    h("ul", {}, replay.answers.map((one) => h("li", { key: one.query }, answerButton(one, replay, words)))));
}

function table(answer, words, goTo, leads) {
  const columns = answer.columns.filter((name) => !LEFT.has(name) && answer.rows.some((row) => row[name] !== null));
  const numbers = new Set(columns.filter((name) => answer.rows.some((row) => typeof row[name] === "number")));
  const align = (name) => (numbers.has(name) ? "number" : "");
  const head = h("tr", {},
    columns.map((name) => h("th", { key: name, scope: "col", class: align(name) }, column(name, words))),
    h("th", { scope: "col" }, h("span", { class: "unseen" }, words.t("spark.moment"))));
  const moment = (row, index) => leads(row)
    && h("button", { type: "button", class: "plain more", "data-go": index, onclick: () => goTo(row) }, words.t("spark.moment"));
  const line = (row, index) => h("tr", { key: index },
    columns.map((name) => h("td", { key: name, class: align(name) }, shown(name, row[name], words))),
    h("td", {}, moment(row, index)));
  return h("div", { key: "table", class: "wide", tabindex: "0", role: "group", "aria-labelledby": "answer-title" },
    h("table", { class: "partitions small spark-table" },
      h("thead", {}, head),
      h("tbody", {}, answer.rows.map(line))));
}

const offsetsOf = ({ first_offset: first, last_offset: last }) => (first === null ? null : first === last ? count(first) : `${count(first)} – ${count(last)}`);

/** Neighbours that were lost as one row, the longest first; all of them can be saved from the report. Pure. */
export const rangesAsRows = ({ ranges, ...answer }) => ({
  ...answer, columns: ["run", "label", "topic", "partition", "offsets", "records", "test"],
  rows: ranges.map((one) => ({ ...one, offset: one.first_offset, offsets: offsetsOf(one) }))
});

/** The rows of an answer, or of its ranges, and what more there is. */
function rowsOf(answer, replay, words, goTo) {
  const leads = (row) => momentOf(answer.query, row) !== null;
  if (!answer.rows.length) return null;
  if (answer.ranges?.length) return [
    h("h4", { key: "title", "data-ranges": answer.ranges_count },
      words.t("spark.ranges", { n: answer.count, ranges: answer.ranges_count, shown: answer.ranges.length })),
    table(rangesAsRows(answer), words, goTo, leads),
    replay.found?.report && h("p", { key: "all" },
      h("a", { href: `${replay.found.report}#${answer.query}`, target: "_blank", rel: "noopener", "data-all": answer.query },
        words.t("spark.ranges.all"))),
  ];
  return [h("h4", { key: "title" }, words.t("spark.rows", { n: answer.count })), table(answer, words, goTo, leads),
    answer.count > answer.rows.length && h("p", { key: "more", class: "hint" }, words.t("spark.more", { n: answer.count - answer.rows.length }))];
}

function answerView(view) {
  const { words, desk } = view;
  const { replay } = desk.spark;
  const { answer } = replay;
  if (!answer) return null;
  const goTo = (row) => replay.goTo(row);
  const draw = answer.chart && answer.rows.length ? PLOTS[answer.chart.kind] : null;
  return h("section", { key: answer.query, class: "spark-answer", "aria-labelledby": "answer-title" },
    h("h3", { id: "answer-title" }, told(answer.title, words)),
    gaps(answer, words),
    (answer.rows.length > 0 || !answer.missing?.length) && h("p", { class: "reading" },
      answer.rows.length ? spoken(told(answer.reading, words), words) : words.t("spark.nothing")),
    beside(answer, replay.answers, words),
    draw && draw(answer, words, goTo),
    rowsOf(answer, replay, words, goTo),
    h("details", { class: "spark-doc" },
      h("summary", {}, words.t("spark.doc")),
      h("p", {}, told(answer.doc, words))));
}

/** What will be answered, before anything is. */
function questions({ words, desk }) {
  const { setup, replay } = desk.spark;
  if (!setup?.questions?.length) return null;
  return h("section", { key: "questions", class: "spark-questions", "aria-label": words.t("spark.questions") }, h("h3", {}, words.t("spark.questions")),
    h("ul", {}, setup.questions.map(({ query, title: texts }) => h("li", { key: query, class: replay.running ? "waits" : "" }, told(texts, words)))));
}

export function replayTab(view) {
  const { words, desk } = view;
  const { replay } = desk.spark;
  return [
    h("p", { key: "intro", class: "hint" }, words.t("spark.intro")),
    chooser(view), progress(view), troubles(replay, words),
    !replay.answers.length && questions(view),
    replay.answers.length > 0 && h("div", { key: "answers", class: "spark-answers" }, contents(view), answerView(view)),
  ];
}
