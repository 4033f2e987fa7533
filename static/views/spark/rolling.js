/** Rolling figures: a strip above the stage, with a line for each figure and how far Spark is behind. */
import { seconds } from "../../i18n/format.js";
import { sparkline } from "../../model/spark.js";
import { h } from "../patch.js";
import { short } from "./plots.js";
import { restarted } from "./progress.js";

const W = 92;
const H = 22;
const OLD_S = 6;

function figure(words, name, value, unit, points, tone) {
  const text = value === undefined || value === null ? "–" : `${short(value)}${unit}`;
  return h("div", { key: name, class: `rolling-figure ${tone}`, title: words.t(`rolling.${name}.tip`) },
    h("span", { class: "rolling-name" }, words.t(`rolling.${name}`)),
    h("b", { class: "number", "data-rolling-figure": name }, tone === "bad" ? "✕ " : "", text),
    h("svg", { viewBox: `0 0 ${W} ${H}`, width: W, height: H, "aria-hidden": "true" },
      points.length > 1 && h("polyline", { points: sparkline(points, W, H), class: "rolling-line" })));
}

function status({ found, error }, words) {
  if (error) return error;
  if (!found?.figures) return words.t(found?.session_s === null || !found ? "spark.starting" : "rolling.first");
  const at = words.t("rolling.at", { t: seconds(found.figures.t_us) });
  const behind = found.age_s > OLD_S
    ? words.t("rolling.quiet", { age: Math.round(found.age_s) })
    : words.t("rolling.behind", { behind: short(found.behind_s ?? 0) });
  return `${at} · ${behind}${found.restarts ? ` · ${restarted(found, words)}` : ""}`;
}

/** Nothing while it is off, or while another run is looked at. */
export function rollingStrip(view) {
  const { words, desk } = view;
  const { rolling } = desk.spark;
  if (!rolling.shown) return [];
  const { found } = rolling;
  const now = found?.figures ?? {};
  const history = found?.history ?? [];
  const line = (name) => history.map((point) => point[name]);
  return [h("section", { key: "strip", class: "rolling", "aria-label": words.t("rolling.title") },
    h("div", { class: "rolling-figures" },
      figure(words, "acked", now.acked, "", line("acked_per_s"), ""),
      figure(words, "lost", now.lost, "", line("lost"), now.lost > 0 ? "bad" : ""),
      figure(words, "lag", now.lag, "", line("lag"), ""),
      figure(words, "unavailable", now.unavailable_s, words.t("unit.s"), line("unavailable_s"), now.unavailable?.length ? "bad" : "")),
    h("p", { class: "hint", role: "status" },
      h("b", {}, words.t("rolling.spark")),
      " ",
      status(rolling, words),
      now.unavailable?.length ? ` · ${words.t("rolling.no_leader", { partitions: now.unavailable.slice(0, 4).join(", ") })}` : ""),
    h("button", { type: "button", class: "round", "data-rolling": "off", "aria-label": words.t("rolling.off"), onclick: rolling.stop }, "×"))];
}
