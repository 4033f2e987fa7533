/** The dialog of all that Spark does: replays and sweeps. */
import { h } from "../patch.js";
import { working } from "../runs.js";
import { missing } from "./progress.js";
import { replayTab } from "./replay.js";
import { sweepTab } from "./sweep.js";

const TABS = { replay: replayTab, sweep: sweepTab };

export function sparkDialog(view) {
  const { words, desk } = view;
  const { spark } = desk;
  return [
    h("div", { key: "head", class: "panel-head" }, h("h2", { id: "spark-title" }, words.t("spark.title")),
      h("div", { class: "segments", role: "group", "aria-labelledby": "spark-title" }, Object.keys(TABS).map((name) => h("button", {
        key: name, type: "button", "data-spark-tab": name, "aria-pressed": String(spark.tab === name),
        class: spark.tab === name ? "on" : "", onclick: () => spark.show(name),
      }, words.t(`spark.tab.${name}`)))),
      h("button", { type: "button", class: "round", "data-spark": "close", "aria-label": words.t("close"), onclick: () => spark.close() }, "×")),
    missing(view),
    desk.work && h("div", { key: "work", class: "spark-work" }, working(view)),
    h("div", { key: spark.tab, class: "spark-body" }, TABS[spark.tab](view)),
  ];
}
