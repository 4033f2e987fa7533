/** A sweep: the form, its progress, the heat map, the runs of a cell. */
import { count } from "../../i18n/format.js";
import { FIGURES, LEVELS, heatOf, shellOf, summary } from "../../model/spark.js";
import { base } from "../../net/api.js";
import { segments } from "../levers.js";
import { h } from "../patch.js";
import { told } from "../../i18n/texts.js";
import { besideName } from "../then.js";
import { column, short } from "./plots.js";
import { percentOf } from "../progress.js";
import { bar, spokenError, stagesLine, troubles, waitingFor } from "./progress.js";

const KEYS = [
  "acks", "min.insync.replicas", "unclean.leader.election.enable", "enable.idempotence", "retries", "linger.ms",
  "max.in.flight.requests.per.connection", "replica.lag.time.max.ms", "rate", "cluster.link_delay_ms", "era"];

/** A setting is named alone, or behind whose it is: `acks`, `clients.producer-orders.settings.acks`. */
const settingOf = (key) => key.trim().replace(/^.*?(settings|configs)\./, "");

function axis(view, { key, values }, index) {
  const { words, desk } = view;
  const { sweep } = desk.spark;
  return h("div", { key: `axis-${index}`, class: "sweep-axis", role: "group", "aria-label": words.t(index ? "sweep.columns" : "sweep.rows") },
    h("label", { class: "field" },
      h("span", {}, words.t(index === 0 ? "sweep.rows" : index === 1 ? "sweep.columns" : "sweep.also")),
      h("input", {
        value: key, list: "sweep-keys", maxlength: "80", spellcheck: "false", "data-axis": index,
        oninput: (event) => sweep.editAxis(index, { key: event.target.value })
      })),
    h("label", { class: "field" },
      h("span", {}, words.t("sweep.values")),
      h("input", {
        value: values, maxlength: "200", spellcheck: "false", "data-values": index,
        oninput: (event) => sweep.editAxis(index, { values: event.target.value })
      })),
    h("button", { type: "button", class: "round", "aria-label": words.t("sweep.drop", { key: key || index + 1 }), onclick: () => sweep.dropAxis(index) }, "×"),
    besideName(desk.eras.of(settingOf(key)), words),
    key.trim() === "era" && h("a", { key: "eras", href: `${base}/eras/`, target: "_blank" }, words.t("era.page")));
}

/** What can be swept: the lab's scenarios, by subject. */
function scenarios({ words, desk }) {
  const { all, subjects } = desk.lessons;
  const option = (name, title) => h("option", { key: name, value: name }, told(title, words) || name);
  if (!all) return option(desk.spark.sweep.scenario);
  return subjects.map((group) => h("optgroup", { key: `subject-${group.subject}`, label: told(group.title, words) },
    group.scenarios.map((name) => option(name, all.find((one) => one.name === name).title))));
}

function form(view) {
  const { words, desk } = view;
  const { sweep, setup } = desk.spark;
  const { size } = sweep;
  const shell = shellOf(sweep.scenario || "scenario.yaml", sweep.grid, sweep.seeds.replaceAll(" ", ""));
  const which = h("select", {
    value: sweep.scenario, "data-sweep": "scenario",
    onchange: (event) => (event.target.value ? sweep.pick(event.target.value) : sweep.write())
  }, scenarios(view), h("option", { key: "own", value: "" }, words.t("sweep.own")));
  return h("section", { key: "form", class: "sweep-form", "aria-label": words.t("sweep.form") },
    h("datalist", { id: "sweep-keys" }, KEYS.map((key) => h("option", { key, value: key }))),
    h("div", { class: "sweep-first" },
      h("label", { class: "field" },
        h("span", {}, words.t("sweep.scenario")), which),
      h("label", { class: "field" },
        h("span", {}, words.t("sweep.seeds")),
        h("input", {
          value: sweep.seeds, maxlength: "100", "data-sweep": "seeds", oninput: (event) => sweep.edit({ seeds: event.target.value })
        }))),
    !sweep.scenario && h("label", { key: "text", class: "field sweep-text" },
      h("span", {}, words.t("sweep.text")),
      h("textarea", {
        value: sweep.text ?? "", rows: "12", spellcheck: "false", "data-sweep": "text",
        oninput: (event) => sweep.edit({ text: event.target.value })
      })),
    sweep.axes.map((one, index) => axis(view, one, index)),
    h("div", { class: "run-acts" },
      h("button", {
        type: "button", class: "main", "data-sweep": "start", disabled: view.lookOnly || sweep.running || !size.runs || setup?.installed === false,
        onclick: sweep.start
      }, words.t("sweep.start")),
      sweep.axes.length < 4 && h("button", { type: "button", onclick: sweep.addAxis }, words.t("sweep.add")),
      h("span", { class: "hint", role: "status" }, size.seeds === null ? words.t("sweep.seeds.wrong") : words.t("sweep.size", size))),
    h("div", { class: "copy-line" },
      h("div", { class: "field-name" }, words.t("sweep.shell")),
      h("code", { tabindex: "0" }, shell),
      h("button", { type: "button", onclick: () => view.copy(shell) }, words.t("attach.copy"))));
}

function progress(view) {
  const { words, desk } = view;
  const { sweep } = desk.spark;
  const { found } = sweep;
  if (!found) return null;
  const facts = {
    done: found.done, total: found.total, bad: found.bad, rate: short(found.runs_a_minute),
    left: found.runs_a_minute ? Math.ceil((60 * (found.total - found.done)) / found.runs_a_minute) : 0
  };
  if (!sweep.running) return found.done > 0 ? h("p", { key: "facts", class: "hint", "data-sweep": "facts" }, words.t("sweep.done", facts)) : null;
  const text = found.done ? words.t("sweep.progress", facts) : waitingFor(found, words);
  return [
    bar(words, "progress", found.done / Math.max(1, found.total), text, h("button", {
      type: "button", "data-sweep": "cancel", onclick: sweep.cancel
    }, words.t("cancel"))),
    found.done ? null : stagesLine(found, words)];
}

/** What a cell says: the figure a run, and for losses in how many of its runs. */
function cellText({ cell, value }, figure, words) {
  if (value === null) return cell.failed ? words.t("sweep.cell.failed", { n: cell.failed }) : "…";
  if (figure === "mean_gap_s") return words.t("time.now", { t: short(value) });
  return value === 0 ? "0" : short(value);
}

function heatCell(view, one, column_) {
  if (!one) return h("td", { key: column_ });
  const { words, desk } = view;
  const { sweep } = desk.spark;
  const { cell, value, level } = one;
  const share = sweep.figure === "lost" && value ? words.t("sweep.cell.share", { n: cell.runs_with_loss, of: cell.runs }) : value === 0 ? "✓" : "";
  const text = cellText(one, sweep.figure, words);
  return h("td", { key: column_ }, h("button", {
    type: "button", class: `heat level-${level ?? "none"}${sweep.cell === cell.cell ? " on-cell" : ""}`, "data-cell": cell.cell,
    "aria-pressed": String(sweep.cell === cell.cell),
    "aria-label": words.t("sweep.cell.label", {
      cell: cell.cell, figure: words.t(`sweep.figure.${sweep.figure}`), text: `${text} ${share}`
    }),
    onclick: () => sweep.pickCell(cell.cell),
  }, h("b", {}, text), h("small", {}, share)));
}

function reading(view) {
  const { words, desk } = view;
  const { sweep } = desk.spark;
  const { worst, value, none, of } = summary(sweep.found, sweep.figure);
  if (!of) return null;
  const figure = words.t(`sweep.figure.${sweep.figure}`);
  if (!value) return h("p", { key: "reading", class: "reading" }, words.t("sweep.reading.none", { figure, of }));
  const facts = {
    figure, cell: worst.cell.replaceAll(",", ", "), value: sweep.figure === "mean_gap_s" ? words.t("time.now", { t: short(value) }) : short(value),
    n: worst.runs_with_loss, runs: worst.runs, none, of
  };
  return h("p", { key: "reading", class: "reading" },
    words.t(sweep.figure === "lost" ? "sweep.reading.lost" : sweep.figure === "mean_gap_s" ? "sweep.reading.gap" : "sweep.reading", facts));
}

function legend(view, largest) {
  const { words, desk } = view;
  const { sweep } = desk.spark;
  const unit = sweep.figure === "mean_gap_s" ? words.t("unit.s") : "";
  return h("p", { key: "legend", class: "heat-legend" }, h("span", {}, words.t(`sweep.unit.${sweep.figure}`)),
    h("span", { class: "heat-step level-0" }, "✓ 0"),
    Array.from({ length: LEVELS }, (_, index) => h("span", { key: index, class: `heat-step level-${index + 1}` },
      largest ? `≤ ${short((largest * (index + 1)) / LEVELS)}${unit}` : "–")));
}

/** Two lines: the second axis over all its values, and these beside the name of the first. */
function heatHead(first, second, columns) {
  const values = columns.map((name) => h("th", { key: name, scope: "col" }, name));
  return h("thead", {},
    h("tr", {},
      h("td", {}),
      h("th", { scope: "colgroup", colspan: columns.length }, h("code", {}, second))),
    h("tr", {},
      h("th", { scope: "col" }, h("code", {}, first ?? "")),
      values));
}

/** `axis`: the name that stands over the column of names, and need not stand in each; none in a sweep of one axis. */
function heatRow(view, { name, cells }, axis) {
  const shown = axis && name.startsWith(`${axis}=`) ? name.slice(axis.length + 1) : name || view.words.t("sweep.all");
  return h("tr", { key: name },
    h("th", { scope: "row" }, shown),
    cells.map((one, index) => heatCell(view, one, index)));
}

function heat(view) {
  const { words, desk } = view;
  const { sweep } = desk.spark;
  if (!sweep.found) return null;
  const { first, second, columns, rows, largest } = heatOf(sweep.found, sweep.figure);
  const title = words.t("sweep.heat", { scenario: sweep.found.scenario, seeds: sweep.found.seeds });
  return h("section", { key: "heat", class: "sweep-heat", "aria-labelledby": "heat-title" },
    h("div", { class: "heat-head" },
      h("h3", { id: "heat-title" }, title),
      segments(
        "figure", words.t("sweep.figure"), FIGURES.map((name) => [name, words.t(`sweep.figure.${name}`)]), sweep.figure, sweep.show)),
    reading(view),
    h("div", { class: "wide", tabindex: "0", role: "group", "aria-labelledby": "heat-title" },
      h("table", { class: "heat-table" },
        second && heatHead(first, second, columns),
        h("tbody", {}, rows.map((row) => heatRow(view, row, second && first))))),
    legend(view, largest),
    sweep.found.report && h("p", { class: "hint" }, h("a", { href: sweep.found.report, target: "_blank", rel: "noopener" }, words.t("spark.report"))));
}

function runRow(view, row) {
  const { words, desk } = view;
  const { sweep } = desk.spark;
  const busy = sweep.opening?.seed === row.seed && sweep.opening.cell === row.cell;
  if (row.error)
    return h("tr", { key: row.seed, class: "offline" },
      h("th", { scope: "row" }, row.seed),
      h("td", { colspan: "6" }, spokenError(row, words), " ", h("code", {}, row.command)));
  return h("tr", { key: row.seed, class: row.lost ? "lost-run" : "" }, h("th", { scope: "row" }, row.seed),
    ["acked", "read", "lost", "duplicated", "reordered"].map((name) => h("td", {
      key: name, class: `number${name === "lost" && row.lost ? " none" : ""}`
    }, `${name === "lost" && row.lost ? "✕ " : ""}${count(row[name])}`)),
    h("td", { class: "number" }, row.write_gap_s === null ? "–" : words.t("time.now", { t: short(row.write_gap_s) })),
    h("td", {},
      h("button", { type: "button", "data-seed": row.seed, disabled: sweep.opening !== null, onclick: () => sweep.open(row) },
        busy
          ? words.t("sweep.opening", { percent: percentOf(sweep.opening.job?.progress ?? 0) })
          : words.t(row.lost ? "sweep.open.loss" : "sweep.open"))));
}

/** How the runs of a cell spread, and what so few of them say of all. */
function spreadOf(cell, words) {
  if (!cell?.runs || cell.lost_median === null || cell.lost_median === undefined) return null;
  const percent = (share) => `${Math.round(100 * share)}`;
  return h("p", { class: "hint", "data-spread": cell.cell }, words.t("sweep.spread", {
    median: short(cell.lost_median), first: short(cell.lost_q1), third: short(cell.lost_q3), n: cell.runs_with_loss, of: cell.runs,
    low: percent(cell.loss_low), high: percent(cell.loss_high)}));
}

function runs(view) {
  const { words, desk } = view;
  const { sweep } = desk.spark;
  if (!sweep.cell || !sweep.found) return null;
  const names = ["acked", "read", "lost", "duplicated", "reordered"];
  const head = h("tr", {},
    h("th", { scope: "col" }, words.t("sweep.seed")),
    names.map((name) => h("th", { key: name, scope: "col", class: "number" }, column(name, words))),
    h("th", { scope: "col", class: "number" }, words.t("sweep.gap")),
    h("th", { scope: "col" }, h("span", { class: "unseen" }, words.t("sweep.open"))));
  return h("section", { key: "runs", class: "sweep-runs", "aria-labelledby": "cell-title" },
    h("h3", { id: "cell-title", tabindex: "-1" }, words.t("sweep.runs", { cell: sweep.cell.replaceAll(",", ", ") })),
    spreadOf(sweep.found.cells.find(({ cell }) => cell === sweep.cell), words),
    sweep.runs === null && h("p", { class: "empty", role: "status" }, words.t("sweep.runs.loading")),
    sweep.runs && !sweep.runs.total && h("p", { class: "empty" }, words.t("sweep.runs.none")),
    sweep.runs?.total > 0 && h("p", { class: "hint" }, words.t("sweep.runs.hint")),
    sweep.runs?.total > 0 && h("div", { class: "wide", tabindex: "0", role: "group", "aria-labelledby": "cell-title" },
      h("table", { class: "partitions small" },
        h("thead", {}, head),
        h("tbody", {}, sweep.runs.items.map((row) => runRow(view, row))))));
}

export function sweepTab(view) {
  const { words, desk } = view;
  return [
    h("p", { key: "intro", class: "hint" }, words.t("sweep.intro")), form(view), progress(view), troubles(desk.spark.sweep, words),
    heat(view), runs(view)];
}
