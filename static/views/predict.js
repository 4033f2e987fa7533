/** A prediction before the run, and what became of it: one of several answers, a number, or a broker. */
import { count } from "../i18n/format.js";
import { brokerClass } from "../draw/palette.js";
import { told } from "../i18n/texts.js";
import { ofSetting } from "../model/setting.js";
import { h } from "./patch.js";

/** What is to be done before the run, by kind of question: a choice, or a number. */
export const firstText = (asked) => (asked && !asked.choices && !asked.broker ? "predict.first.number" : "predict.first");

/** A guess, or the answer, in words. */
export function answerText(value, asked, words) {
  if (asked.choices) return told(asked.choices[value]?.text, words);
  return asked.broker ? words.t("predict.broker", { broker: value }) : count(value);
}

/** "You said 40; it was 50." */
export function guessText({ grade, answer }, asked, chosen, words) {
  return words.t(`predict.graded.${grade}`, { guess: answerText(chosen, asked, words), answer: answerText(answer, asked, words) });
}

function choices(asked, { chosen, predict, result }, words) {
  const right = result?.seen ? result.facts.prediction : null;
  return asked.choices.map((choice, index) => {
    const mark = right === null ? "" : index === right ? " ✓" : index === result.chosen ? " ✕" : "";
    return h("label", { key: index, class: `choice${chosen === index ? " chosen" : ""}${mark === " ✓" ? " right" : ""}` },
      h("input", { type: "radio", name: "prediction", "data-choice": index, checked: chosen === index, onchange: () => predict(index) }),
      h("span", {}, told(choice.text, words), mark));
  });
}

function number({ chosen, predict }, words) {
  return h("label", { class: "choice" },
    h("span", {}, words.t("predict.number")),
    h("input", {
      type: "number", min: "0", step: "1", inputmode: "numeric", "data-guess-number": "", value: chosen === null ? "" : String(chosen),
      oninput: ({ target }) => predict(target.value === "" ? null : Math.max(0, Math.round(Number(target.value)))),
    }));
}

/** Ids of the brokers of a document's cluster, in the setting that was chosen. */
export function brokersOf(document, variant) {
  const given = document.variants?.[variant]?.cluster?.brokers ?? document.cluster?.brokers ?? 3;
  return Array.isArray(given) ? given.map((one) => one.id ?? one) : Array.from({ length: given }, (_, index) => index + 1);
}

/** The brokers of the lesson's cluster as on the stage, and nobody. */
function brokers(document, { chosen, predict, variant }, words) {
  const ids = brokersOf(document, variant);
  const box = (id) => h("button", {
    key: id, type: "button", class: `broker-choice ${id < 0 ? "" : brokerClass(id)}${chosen === id ? " chosen" : ""}`,
    "data-guess-broker": id, "aria-pressed": String(chosen === id), onclick: () => predict(id),
  }, words.t("predict.broker", { broker: id }));
  return h("div", { class: "broker-choices" }, ids.map(box), box(-1));
}

export function predictionOf({ words, desk }) {
  const { lessons } = desk;
  const { one, variant, result, running } = lessons;
  const { document } = one;
  const asked = ofSetting(one, variant).predict;
  if (!asked) return null;
  const body = asked.choices ? choices(asked, lessons, words) : asked.broker ? brokers(document, lessons, words) : number(lessons, words);
  return h("fieldset", { key: "predict", class: "predict", disabled: running || result !== null }, h("legend", {}, told(asked.ask, words)), body);
}
