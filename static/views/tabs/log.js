/** The log of one broker, as its process would write it: the journal's events in the form of a server.log. */
import { LEVELS, lineOf, linesBefore, textOf } from "../../model/server_log.js";
import { brokerNode, byNumber } from "../../model/names.js";
import { choices, hint } from "./common.js";
import { h } from "../patch.js";

const SHOWN = 120;
const DEPTH = 20_000;

function line(view, at) {
  const { history, words, state, selected } = view;
  const one = lineOf(history.at(at), state.time.clocks, (event) => words.say(event));
  return h("li", { key: at, class: `log-line ${one.level.toLowerCase()}${selected === at ? " chosen" : ""}` },
    h("button", { type: "button", class: "plain", "data-log-line": at, onclick: () => view.select(at) },
      h("time", {}, `[${one.stamp}]`), " ", h("b", {}, one.level.padEnd(5)), ` ${one.text}`,
      one.correlation !== null && h("span", { class: "soft" }, ` correlationId=${one.correlation}`),
      h("span", { class: "soft" }, ` (${one.logger})`)));
}

/** Found once for each moment that is looked at; a busy broker writes much. */
function found(view, broker) {
  const { history, clock, logLevel } = view;
  const key = `${broker} ${logLevel} ${clock.viewed} ${history.begin}`;
  if (view.logFound?.key !== key)
    view.logFound = { key, lines: linesBefore(history, brokerNode(broker), clock.viewed, {
      trace: logLevel === "TRACE", limit: SHOWN, depth: DEPTH, told: (code) => code in view.words.story
    }) };
  return view.logFound.lines;
}

export function logTab(view) {
  const { words, state, history, logLevel } = view;
  const ids = Object.keys(state.brokers).sort(byNumber);
  const broker = ids.includes(String(view.logOf)) ? String(view.logOf) : ids[0];
  if (!broker) return h("p", { class: "empty" }, words.t("table.empty"));
  const lines = found(view, broker);
  const copy = () => view.copy(lines.map((at) => textOf(lineOf(history.at(at), state.time.clocks, (one) => words.say(one)))).join("\n"));
  return [
    choices("log-broker", words.t("noun.broker"), ids.map((id) => [id, `${words.t("noun.broker")} ${id}`]), broker, (id) => view.set({ logOf: id })),
    choices("log-level", words.t("log.level"), LEVELS.map((level) => [level, words.t(`log.${level}`)]), logLevel, (level) => view.set({ logLevel: level })),
    hint("log-how", words.t("log.how")),
    lines.length
      ? h("ol", { key: "log", class: "server-log", tabindex: "0", "aria-label": words.t("tab.log") },
        lines.map((at) => line(view, at)).reverse())
      : h("p", { key: "none", class: "empty" }, words.t("log.none")),
    lines.length > 0 && h("div", { key: "log-acts", class: "look-row" }, h("button", { type: "button", onclick: copy }, words.t("log.copy"))),
  ];
}
