/** How far a piece of Spark's work is: a bar, what is done now, what has gone wrong; and what to do where Spark is missing. */
import { told } from "../../i18n/format.js";
import { sentence } from "../../i18n/problems.js";
import { h } from "../patch.js";
import { progressBar } from "../progress.js";

/** A bar with its share, a text above it and buttons behind it. */
export function bar(words, key, share, text, ...acts) {
  return h("div", { key, class: "working", role: "status" }, h("p", {}, text), progressBar(words, share), acts);
}

/** What Spark computes now: its stages, with their tasks. */
export function stagesLine({ stages = [] }, words) {
  const open = stages.filter(({ done, total }) => done < total).slice(-1); // the newest: what was before has ended
  return open.length
    ? h("p", { key: "stages", class: "hint stages" },
      open.map(({ stage, done, total }) => words.t("spark.stage", { stage, done, total })).join(" · "))
    : null;
}

/** Of what the worker died, and that another one is at work. */
export function restarted({ died }, words) {
  return words.t("spark.restarted", { reason: sentence(told(died, words.words)).replace(/\.$/, "") });
}

/** What went wrong, in the reader's language; what another program said stays as it said it. */
export const spokenError = ({ error }, words) => (error ? told(error, words.words) : "?");

/** Death and failure, told. */
export function troubles(work, words) {
  const { found, error } = work;
  return [
    found?.restarts > 0 && h("p", { key: "died", class: "verdict warn", role: "status", "data-spark": "died" }, "▲ ", restarted(found, words)),
    found?.state === "failed" && h("p", { key: "failed", class: "verdict bad", role: "alert", "data-spark": "failed" },
      "✕ ",
      words.t("spark.failed", { error: spokenError(found, words) })),
    found?.state === "cancelled" && h("p", { key: "cancelled", class: "verdict", role: "status" }, words.t("spark.cancelled")),
    error && h("p", { key: "error", class: "none", role: "alert" }, error),
  ];
}

/** What a piece of work that has just begun waits for. */
export function waitingFor(found, words) {
  return words.t(found.state === "queued" ? "spark.queued" : found.session_s === null && !found.stages.length ? "spark.starting" : "spark.preparing");
}

/** Where Spark is not installed: why, what to do, and the button that does it. Nothing where it is. */
export function missing(view) {
  const { words, desk } = view;
  const { setup } = desk.spark;
  if (!setup || setup.installed) return null;
  const { install } = setup;
  const running = install?.state === "running";
  return h("section", { key: "missing", class: "spark-missing", "aria-label": words.t("spark.missing") },
    h("p", { class: "verdict warn" }, "▲ ", words.t("spark.missing")),
    h("p", { class: "hint" }, setup.missing),
    h("p", {}, h("code", {}, "pip install -r requirements/spark.txt")),
    running && bar(words, "install", install.total ? install.done / (install.total + 1) : 0, words.t(
      install.step ? "spark.installing" : install.total ? "spark.installing.last" : "spark.installing.first", install)),
    install?.state === "failed" && h("p", { class: "none", role: "alert" }, spokenError(install, words)),
    setup.can_install && !running && h("div", { class: "run-acts" },
      h("button", { type: "button", class: "main", "data-spark": "install", disabled: view.lookOnly, onclick: desk.spark.install }, words.t("spark.install")),
      h("span", { class: "hint" }, words.t("spark.install.hint"))));
}
