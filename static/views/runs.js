/** The runs of this lab: the live one, branches as a tree, finished ones that can be opened. */
import { count, seconds } from "../i18n/format.js";
import { treeOf } from "../model/fork.js";
import { base } from "../net/api.js";
import { h } from "./patch.js";
import { progressBar } from "./progress.js";
import { replayButton, rollingButton } from "./spark/buttons.js";

const DIFFERENCES = 12;

/** What takes a while, with its share. */
export function working({ words, desk }) {
  if (!desk.work) return null;
  return h("div", { key: "working", class: "working", role: "status" },
    h("p", {}, words.t(desk.work.key, desk.work.params)), progressBar(words, desk.work.share));
}

function openEntry(view, one) {
  const { words, desk } = view;
  const here = one.run === desk.run;
  const state = one.live ? ["●", "runs.live"] : one.paused ? ["❚❚", "mode.paused"] : ["▶", "runs.playing"];
  return h("li", { key: one.run, class: `run${here ? " here" : ""}`, style: { "--depth": String(one.depth) } },
    h("button", { type: "button", class: "plain run-name", "data-run": one.run, "aria-current": here ? "true" : null, onclick: () => desk.look(one.run) },
      h("b", {}, one.depth ? h("span", { "aria-hidden": "true" }, "↳ ") : null, one.run), " ",
      h("span", { class: "run-state" }, `${state[0]} ${words.t(state[1])}`)),
    h("p", { class: "hint" }, one.parent ? words.t("runs.from", { parent: one.parent, t: seconds(one.forked_at_us) }) : words.t("runs.root"), " · ",
      words.t("runs.facts", { t: seconds(one.t), events: one.events })),
    h("p", { class: "hint" }, words.t("runs.place", { seed: one.seed, directory: one.directory })),
    Number.isFinite(one.recorded_until_us) && h("p", { class: "hint" }, words.t("runs.recorded_until", { t: seconds(one.recorded_until_us) })),
    Number.isFinite(one.inputs_until_us) && h("p", { class: "hint", "data-inputs-until": "" },
      words.t("runs.inputs_until", { t: seconds(one.inputs_until_us) })),
    one.disk_full?.length > 0 && h("p", { class: "hint", "data-disk-full": "" },
      words.t(one.room_again ? "runs.room_again" : "runs.disk_full", { nodes: one.disk_full.join(", ") })),
    h("div", { class: "run-acts" },
      // Keys: when a run comes to be looked at, no button may become another one under somebody's finger.
      !here && h("button", { key: "look", type: "button", onclick: () => desk.look(one.run) }, words.t("runs.look")),
      one.parent && desk.view(one.parent) && h("button", {
        key: "compare", type: "button", "data-compare": one.run, onclick: () => desk.forks.compare(one.run, one.parent)
      }, words.t("runs.compare", { run: one.parent })),
      replayButton(view, one.run), here && rollingButton(view),
      !one.live && h("button", { key: "close", type: "button", "data-close": one.run, disabled: view.lookOnly, onclick: () => desk.closeRun(one.run) },
        words.t("runs.close"))));
}

function title(one, words, all) {
  const name = all?.find((known) => known.name === one.name);
  const shown = name?.title?.[words.language] ?? one.name ?? words.t(`runs.kind.${one.kind ?? "live"}`);
  const variant = one.variant && (one.variant_title?.[words.language] ?? one.variant);
  return variant ? `${shown} · ${variant}` : shown;
}

function finishedEntry(view, one) {
  const { words, desk } = view;
  const { receipt } = one;
  return h("li", { key: one.run, class: "run" },
    h("div", { class: "run-name" },
      h("b", {}, one.run), " ",
      h("span", { class: "run-state" }, title(one, words, desk.lessons.all))),
    h("p", { class: "hint" }, [
      one.end_us !== undefined && words.t("runs.length", { t: seconds(one.end_us) }),
      one.events !== undefined && words.t("runs.events", { n: one.events }),
      one.seed !== undefined && words.t("time.seed", { seed: one.seed }),
      receipt && words.t("runs.receipt", { acked: receipt.acked, lost: receipt.lost }),
    ].filter(Boolean).join(" · ")),
    h("div", { class: "run-acts" }, one.error
      ? h("span", { class: "none" }, one.error)
      : [
        h("button", {
          type: "button", "data-open": one.run, disabled: view.lookOnly || desk.work !== null, onclick: () => desk.openRun(one.run)
        }, words.t("runs.open")),
        replayButton(view, one.run),
        h("button", {
          type: "button", "data-verify": one.run, disabled: desk.packs.verdicts[one.run] === "working",
          onclick: () => desk.packs.verify(one.run)
        }, words.t("runs.verify")),
        h("a", { class: "file-button", href: `${base}/api/runs/${one.run}/pack`, download: "", "data-pack": one.run }, words.t("runs.pack"))]),
    verdictOf(desk.packs.verdicts[one.run], words));
}

/** What executing it again has shown. */
function verdictOf(verdict, words) {
  if (!verdict) return null;
  if (verdict === "working") return h("p", { key: "verdict", class: "hint", role: "status" }, words.t("runs.verifying"));
  if (verdict.same) return h("p", { key: "verdict", class: "hint", role: "status", "data-verdict": "same" }, words.t("runs.same", { n: verdict.events }));
  const more = verdict.differences.length - DIFFERENCES;
  return h("div", { key: "verdict", role: "status", "data-verdict": "different" },
    h("p", { class: "hint" }, words.t("runs.different")),
    h("ul", { class: "hint" }, verdict.differences.slice(0, DIFFERENCES).map((one, index) => h("li", { key: String(index) }, one.text))),
    more > 0 && h("p", { class: "hint" }, words.t("runs.differences_more", { n: more })));
}

/** A run that was packed elsewhere: a button that opens the browser's dialog. */
function packChooser({ words, desk, lookOnly }) {
  const take = ({ target }) => desk.packs.take(target.files[0]).then(() => { target.value = ""; });
  return h("div", { key: "pack", class: "run-acts" },
    h("label", { class: "file-button" },
      h("span", {}, words.t("runs.unpack")),
      h("input", { type: "file", accept: ".gz,application/gzip", class: "unseen", "data-file": "pack", disabled: lookOnly, onchange: take })));
}

/** A run that was opened and has not gone on is its original once more. */
const isCopy = ({ kind, end_us: end, forked_at_us: opened }) => kind === "opened" && !(end > opened);

export function runsPanel(view) {
  const { words, desk } = view;
  const open = treeOf(desk.runs.open);
  const names = new Set(open.map((one) => one.run));
  const others = desk.runs.items.filter((one) => !names.has(one.run) && one.finished && !isCopy(one));
  return [
    working(view),
    h("h3", { key: "open" }, words.t("runs.branches")),
    open.length
      ? h("ul", { key: "open-list", class: "runs" }, open.map((one) => openEntry(view, one)))
      : h("p", { key: "none", class: "empty" }, words.t("runs.none")),
    open.length > 1 && h("button", { key: "compare", type: "button", "data-compare": "any", onclick: () => desk.forks.compare() }, words.t("compare.title")),
    h("h3", { key: "done" }, words.t("runs.finished", { n: count(others.length) })),
    h("p", { key: "done-hint", class: "hint" }, words.t("runs.finished.hint")),
    packChooser(view),
    h("ul", { key: "done-list", class: "runs" }, others.map((one) => finishedEntry(view, one))),
    h("h3", { key: "export" }, words.t("export.title")),
    h("p", { key: "export-hint", class: "hint" }, words.t("export.hint")),
    h("div", { key: "export-acts", class: "run-acts" },
      h("button", { type: "button", "data-export": "yaml", onclick: desk.lessons.exportYaml }, words.t("export.yaml")),
      h("button", { type: "button", "data-export": "link", onclick: desk.lessons.copyLink }, words.t("export.link"))),
    desk.lessons.link && h("p", { key: "link" },
      h("input", {
        class: "link", readonly: true, value: desk.lessons.link, "aria-label": words.t("export.link"),
        onfocus: (event) => event.target.select()
      })),
  ];
}
