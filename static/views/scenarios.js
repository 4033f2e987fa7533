/** Scenarios: the list; one with its text, its prediction, its run; what came out and what to do with it. */
import { h } from "./patch.js";
import { receiptTable, verdict } from "./receipt.js";
import { working } from "./runs.js";

/** A text of a scenario in the reader's language; English when there is no other. */
export const told = (texts, words) => texts?.[words.language] ?? texts?.en ?? "";

function list(view) {
  const { words, desk } = view;
  const { all, error, done, refused } = desk.lessons;
  if (error) return [h("p", { key: "error", class: "none", role: "alert" }, error)];
  if (!all) return [h("p", { key: "wait", class: "empty", role: "status" }, words.t("scenarios.loading"))];
  return [
    refused && h("p", { key: "refused", class: "verdict bad", role: "alert" }, "✕ ", words.t("link.damaged", { error: refused.code ? words.t(refused.code) : refused.error ?? "" })),
    h("p", { key: "hint", class: "hint" }, words.t("scenarios.hint")),
    h("ol", { key: "list", class: "scenarios" }, all.map((one) => h("li", { key: one.name },
      h("button", { type: "button", class: "card-button", "data-scenario": one.name, onclick: () => desk.lessons.pick(one.name) },
        h("b", {}, told(one.title, words) || one.name),
        h("span", { class: "hint" }, done[one.name] ? `✓ ${words.t("scenarios.done")}` : firstSentence(told(one.text, words))))))),
  ];
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

function jobProgress(view) {
  const { words, desk } = view;
  const { job } = desk.lessons;
  if (!job) return null;
  const percent = Math.round(100 * job.progress);
  return h("div", { key: "job", class: "working", role: "status" }, h("p", {}, words.t(`job.${job.phase || job.state}`)),
    h("div", { class: "bar", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": String(percent), "aria-label": words.t("progress") }, h("i", { style: { width: `${percent}%` } })),
    h("span", { class: "number" }, `${percent} %`), h("button", { type: "button", onclick: desk.lessons.cancel }, words.t("cancel")));
}

function outcome(view) {
  const { words, desk } = view;
  const { one, result } = desk.lessons;
  if (!result) return null;
  const { facts } = result;
  const receipt = { ...facts.receipt, finished: true };
  const guessed = facts.prediction === null || facts.prediction === undefined || result.chosen === null ? null : facts.prediction === result.chosen;
  const { fork } = one.document;
  return h("section", { key: "outcome", class: "outcome", "aria-label": words.t("scenarios.outcome") },
    guessed !== null && h("p", { class: `verdict ${guessed ? "good" : "warn"}`, "data-guess": guessed ? "right" : "wrong" }, guessed ? `✓ ${words.t("predict.right")}` : `▲ ${words.t("predict.wrong", { answer: told(one.document.predict.choices[facts.prediction].text, words) })}`),
    verdict(receipt, words), receiptTable(receipt, words),
    one.document.see && h("p", { class: "lesson" }, h("b", {}, `${words.t("scenarios.see")} `), told(one.document.see, words)),
    one.document.why && h("p", { class: "lesson" }, h("b", {}, `${words.t("scenarios.why")} `), told(one.document.why, words)),
    one.document.why?.source?.length > 0 && h("p", { class: "hint" }, words.t("scenarios.source", { source: one.document.why.source.join(", ") })),
    facts.passed === false && h("ul", { class: "hint" }, (facts.unmet ?? []).map((text) => h("li", { key: text }, `▲ ${text}`))),
    h("div", { class: "run-acts" },
      facts.moment && h("button", { type: "button", class: "main", "data-lesson": "moment", onclick: desk.lessons.showMoment }, words.t("scenarios.moment")),
      h("button", { type: "button", "data-lesson": "open", onclick: desk.lessons.openRun }, words.t("scenarios.look", { run: result.run ?? result.recorded })),
      fork && facts.steps && h("button", { type: "button", "data-lesson": "fork", disabled: desk.work !== null, onclick: desk.lessons.tryOther }, words.t("scenarios.other", { title: told(fork.title, words) })),
      result.other && desk.view(result.other) && h("button", { type: "button", "data-lesson": "compare", onclick: () => desk.forks.compare(result.other, result.run) }, words.t("compare.title"))));
}

function one(view) {
  const { words, desk } = view;
  const { one: found, error, ready, running, result, chosen, run, back } = desk.lessons;
  const needs = found.document.predict && chosen === null;
  return [
    h("button", { key: "back", type: "button", class: "plain back", "data-lesson": "back", onclick: back }, `← ${words.t("scenarios.all")}`),
    h("h3", { key: "title", class: "lesson-title" }, told(found.title, words) || found.name),
    found.own && h("p", { key: "own", class: "verdict" }, words.t("link.checked", { name: found.name, n: found.steps })),
    h("p", { key: "text", class: "lesson" }, told(found.text, words)),
    prediction(view),
    error && h("p", { key: "error", class: "none", role: "alert" }, error),
    !running && h("div", { key: "run", class: "run-acts" },
      h("button", { type: "button", class: result ? "" : "main", "data-lesson": "run", disabled: !ready || desk.work !== null, onclick: run }, words.t(result ? "scenarios.again" : "scenarios.run")),
      needs && h("span", { class: "hint" }, words.t("predict.first"))),
    jobProgress(view), working(view), outcome(view),
  ];
}

export function scenariosPanel(view) {
  return view.desk.lessons.one ? one(view) : list(view);
}
