/** Buttons that lead to Spark, for the views of runs, scenarios and receipts. */
import { h } from "../patch.js";

/** In the header, beside runs and scenarios. */
export const sparkButton = ({ words, desk }) => h("button", {
  key: "spark", type: "button", "data-panel": "spark", "aria-haspopup": "dialog", onclick: () => desk.spark.show()
}, words.t("spark.button"));

/** Ask Spark about a run. */
export const replayButton = ({ words, desk }, run) => h("button", {
  key: "replay", type: "button", "data-replay": run, onclick: () => desk.spark.show("replay", { run })
}, words.t("spark.replay"));

/** In a scenario: a sweep of it. */
export const sweepButton = ({ words, desk }, scenario) => h("button", {
  key: "sweep", type: "button", "data-sweep-of": scenario, onclick: () => desk.spark.show("sweep", { scenario })
}, words.t("sweep.button"));

/** Rolling figures of the run that is looked at, on or off. */
export function rollingButton({ words, desk, lookOnly }) {
  const { rolling } = desk.spark;
  return h("button", {
    key: "rolling", type: "button", disabled: lookOnly, "data-rolling": "switch", "aria-pressed": String(rolling.shown), class: rolling.shown ? "on" : "",
    onclick: rolling.toggle
  }, words.t("rolling.button"));
}

/** The same as a sign over the stage. */
export function rollingSwitch({ words, desk }) {
  if (!desk.hosted) return [];
  const { rolling } = desk.spark;
  return [h("button", {
    key: "switch", type: "button", "data-rolling": "sign", class: `round${rolling.shown ? " on" : ""}`,
    "aria-pressed": String(rolling.shown), title: words.t("rolling.tip"), "aria-label": words.t("rolling.tip"), onclick: rolling.toggle
  },
    h("svg", { viewBox: "0 0 16 12", width: 16, height: 12, "aria-hidden": "true", class: "rolling-sign" },
      h("polyline", { points: "0,10 4,6 7,8 11,2 16,5", class: "rolling-line" })))];
}
