/** Going on from a moment: which settings, which faults; and two branches side by side. */
import { commandText, count, seconds } from "../i18n/format.js";
import { running } from "../model/clients.js";
import { brokerChoices, configOf, inOrder, inPlace, PROTECTIONS, SETTINGS, subjectsOf } from "../model/fork.js";
import { byNumber } from "../model/names.js";
import { eventOf } from "../model/reduce.js";
import { GLYPHS } from "../model/story.js";
import { segments } from "./levers.js";
import { h } from "./patch.js";
import { receiptTable, verdict } from "./receipt.js";
import { variantOf } from "./lesson.js";
import { sentence } from "./story.js";
import { besideName, thenAndNow } from "./then.js";

const SHORTEST_US = 1000; // an outage that would be told as 0.000 s is none

function row(view, name, label, options) {
  const { words, desk } = view;
  const all = [["", words.t("fork.keep")], ...options];
  return h("div", { key: name, class: "fork-row" }, h("div", { class: "field-name" }, label),
    segments(`fork-${name}`, label, all, desk.forks.choices[name] ?? "", (value) => desk.forks.choose(name, value)),
    besideName(desk.eras.of(name, [name === "acks" ? "producer" : "broker"]), words));
}

/** One of the protections, to be taken away or put back. */
function protections(view, state) {
  const { words, desk } = view;
  const { choices, choose } = desk.forks;
  return h("label", { key: "protection", class: "fork-row" }, h("span", { class: "field-name" }, words.t("fork.protection")),
    h("select", { "data-fork": "protection", value: choices.protection ?? "", onchange: (event) => choose("protection", event.target.value) },
      h("option", { key: "", value: "" }, words.t("fork.keep")),
      PROTECTIONS.map((name) => h("option", { key: name, value: name }, words.t(inPlace(state, name) ? "fork.take_away" : "fork.put_back", { name })))));
}

// -- settings that are chosen freely ----------------------------------------------------------
function subjectName(subject, words) {
  const [kind, which] = [subject.split(":")[0], subject.slice(subject.indexOf(":") + 1)];
  if (kind === "brokers") return words.t("fork.all_brokers");
  if (kind === "broker") return `${words.t("noun.broker")} ${which}`;
  return kind === "topic" ? words.t("fork.topic", { topic: which }) : words.name(which);
}

/** "setting = value" for a client, a topic or a broker; below it what the setting is, or why it is refused. */
function freeRow(view, row, subjects) {
  const { words, desk } = view;
  const { forks } = desk;
  const { found } = row.subject ? view.inquiry.get("config", configOf(row.subject)) : {};
  const entries = found?.entries ?? [];
  const known = entries.find((one) => one.name === row.name.trim());
  const list = `fork-settings-${row.key}`;
  const label = (text, control) => h("label", { key: text }, h("span", { class: "unseen" }, words.t(text)), control);
  const meaning = known && (words.language === "ko" ? known.ko : known.doc);
  return h("div", { key: `row-${row.key}`, class: "fork-free", role: "group", "aria-label": words.t("fork.setting"), "data-fork-row": row.key },
    label("fork.of", h("select", { name: "subject", value: row.subject, onchange: (event) => forks.setRow(row, { subject: event.target.value }) },
      subjects.map((one) => h("option", { key: one, value: one }, subjectName(one, words))))),
    label("fork.setting", h("input", {
      name: "setting", list, autocomplete: "off", spellcheck: "false", placeholder: words.t("fork.setting"), value: row.name,
      "aria-invalid": row.refused ? "true" : null, "aria-describedby": `fork-note-${row.key}`,
      oninput: (event) => forks.setRow(row, { name: event.target.value })
    })),
    h("span", { key: "is", "aria-hidden": "true" }, "="),
    label("fork.value", h("input", {
      name: "value", list: known?.type === "BOOLEAN" ? "fork-truth" : null, autocomplete: "off", spellcheck: "false",
      placeholder: words.t("noun.default"), value: row.value, oninput: (event) => forks.setRow(row, { value: event.target.value })
    })),
    h("button", {
      key: "drop", type: "button", class: "round", "aria-label": words.t("fork.drop"), title: words.t("fork.drop"),
      onclick: () => forks.dropRow(row)
    }, "×"),
    h("datalist", { key: "list", id: list }, entries.filter((one) => !one.read_only).map((one) => h("option", { key: one.name, value: one.name }))),
    h("p", { key: "note", id: `fork-note-${row.key}`, class: row.refused ? "none" : "hint", role: "status" },
      row.refused
        ? `✕ ${row.refused}`
        : known
          ? [known.value === null || known.value === "" ? null : words.t("fork.now", { value: known.value }), meaning && ` ${meaning}`]
          : null),
    known && !row.refused && thenAndNow(known, words));
}

function freeRows(view, state) {
  const { words, desk } = view;
  const subjects = subjectsOf(state);
  return [
    h("h3", { key: "free" }, words.t("fork.settings")),
    desk.forks.rows.map((row) => freeRow(view, row, subjects)),
    h("datalist", { key: "truth", id: "fork-truth" }, ["true", "false"].map((value) => h("option", { key: value, value }))),
    h("button", { key: "add", type: "button", class: "fork-add", "data-fork": "add", onclick: desk.forks.addRow }, words.t("fork.add")),
  ];
}

export function forkDialog(view) {
  const { words, desk } = view;
  const { moment, commands, playOn } = desk.forks;
  if (!moment) return [];
  const { state, topic, number } = moment;
  return [
    h("h2", { key: "title", id: "fork-title" }, words.t("fork.title")),
    h("p", { key: "hint", class: "hint" }, words.t("fork.hint", { t: seconds(moment.t), run: moment.run })),
    running(state, "producer").length > 0 && row(view, "acks", words.t("levers.acks"), ["0", "1", "all"].map((value) => [value, value])),
    topic && Object.entries(SETTINGS).map(([name, values]) => row(view, name, `${name} · ${topic}`, values.map((value) => [value, value]))),
    freeRows(view, state),
    h("h3", { key: "faults" }, words.t("fork.faults")),
    protections(view, state),
    topic && row(view, "links", words.t("fork.links", { partition: `${topic}-${number}` }), [["slow", words.t("fork.slow")], ["cut", words.t("fork.cut")]]),
    Object.keys(state.brokers).sort(byNumber).map((id) => row(
      view, `broker:${id}`, `${words.t("noun.broker")} ${id}`,
      brokerChoices(state.brokers[id]).map((verb) => [verb, words.t(`do.${verb}`)]))),
    h("h3", { key: "what" }, words.t("fork.commands")),
    commands.length
      ? h("ol", { key: "commands", class: "commands" }, commands.map((command, index) => h("li", { key: index }, commandText(command, words.words))))
      : h("p", { key: "none", class: "hint" }, words.t("fork.nothing")),
    h("label", { key: "play", class: "check" },
      h("input", { type: "checkbox", checked: playOn, onchange: (event) => desk.forks.letGoOn(event.target.checked) }),
      h("span", {}, words.t("fork.play"))),
    desk.forks.settingsComeLast && h("p", { key: "last", class: "hint", role: "status", "data-fork": "last" }, words.t("fork.last")),
    h("div", { key: "row", class: "row" }, h("button", { type: "button", onclick: () => view.closeDialog("fork-dialog") }, words.t("cancel")),
      h("button", { type: "button", class: "main", "data-fork": "begin", onclick: desk.forks.begin }, words.t("fork.begin"))),
  ];
}

// -- two branches -----------------------------------------------------------------------------
function cell(fact, side, words) {
  if (!side) return "–";
  const value = side[fact];
  if (value === null || value === undefined) return "–";
  if (fact === "leader") return value < 0 ? words.t("compare.nobody") : String(value);
  if (fact === "isr") return `{${value.join(", ")}}`;
  return fact === "hash" ? value : count(value);
}

function partitionRow({ name, left, right, differs }, words) {
  const facts = ["leader", "leader_epoch", "isr", "leo", "hw", "hash"];
  return h("tr", { key: name, class: differs.length ? "differs" : "" }, h("th", { scope: "row" }, name),
    facts.map((fact) => {
      const [one, other] = [cell(fact, left, words), cell(fact, right, words)];
      const same = !differs.includes(fact);
      return h("td", { key: fact, class: same ? "same" : "differs" },
        same
          ? one
          : [
            h("span", { class: "left" }, one), h("b", { "aria-label": words.t("compare.against") }, " ≠ "),
            h("span", { class: "right" }, other)]);
    }));
}

/** What is the same of an internal topic. */
const foldedRow = (one, wide, words) => h("tr", { key: `${one.topic} folded`, "data-folded": one.topic },
  h("th", { scope: "row", colspan: wide, class: "folded" }, words.t("compare.folded", one)));

function lanes(compared, run, words) {
  const { since, left, right } = compared;
  const end = Math.max(left.t, right.t, since.t + 1);
  return compared.stories.map((items, side) => h("div", { key: side, class: "compare-lane" }, h("span", { class: "lane-name" }, run[side]),
    h("div", {
      class: "lane-line", role: "img",
      "aria-label": words.t("compare.lane", { run: run[side], n: items.length, from: seconds(since.t), to: seconds(end) })
    },
      items.filter((item) => item.loud).map((item) => h("i", {
        key: item.key, class: `lane-mark ${item.tone}`, title: sentence(item, words),
        style: { left: `${(100 * Math.max(0, item.first.t - since.t)) / (end - since.t)}%` }
      }, GLYPHS[item.tone])))));
}

function happenings(items, words, run) {
  return h("div", { key: run, class: "compare-story" }, h("h3", {}, run),
    items.length ? h("ol", {},
      items.slice(0, 60).map((item) => h("li", { key: item.key, class: `item ${item.tone}` },
        h("time", {}, words.t("time.now", { t: seconds(item.first.t) })),
        " ",
        h("b", { "aria-hidden": "true" }, GLYPHS[item.tone]),
        " ",
        sentence(item, words))))
      : h("p", { class: "empty" }, words.t("compare.nothing")));
}

function chooser(view, side) {
  const { words, desk } = view;
  const change = (event) => {
    const pair = [...desk.forks.pair];
    pair[side] = event.target.value;
    desk.forks.compare(pair[1], pair[0]);
  };
  return h("label", { key: side, class: "field" }, h("span", {}, words.t(side ? "compare.right" : "compare.left")),
    h("select", { value: desk.forks.pair[side] ?? "", onchange: change }, desk.runs.open.map((one) => h("option", { key: one.run, value: one.run }, one.run))));
}

/** What a run has kept, under its name and the setting that it was run with. */
function receiptOf(receipt, run, facts, words) {
  const variant = variantOf(facts, words);
  return h("div", { key: run, "data-receipt-of": run }, h("h3", {}, words.t("compare.receipt", { run })),
    variant && h("p", { class: "hint" }, variant),
    receipt?.error ? h("p", { class: "none" }, receipt.error)
      : receipt ? [verdict(receipt, words), receiptTable(receipt, words)]
        : h("p", { class: "empty" }, words.t("receipt.loading")));
}

// -- how long nobody could write, and where they part ------------------------------------------
/** The longest outage of a run, as a bar beside that of the other. */
function outageOf({ run, outage: found }, longest, words) {
  const outage = found && found.until_us - found.from_us >= SHORTEST_US ? found : null;
  const long = outage ? outage.until_us - outage.from_us : 0;
  const told = { run, s: seconds(long), partition: outage?.partition, from: seconds(outage?.from_us ?? 0), until: seconds(outage?.until_us ?? 0) };
  return h("div", { key: run, class: "outage", "data-outage-of": run }, h("h3", {}, words.t("compare.outage")),
    h("span", { class: "bar", "aria-hidden": "true" }, h("i", { style: { width: `${longest ? (100 * long) / longest : 0}%` } })),
    h("p", { class: "hint" }, words.t(!outage ? "compare.outage.none" : outage.over ? "compare.outage.over" : "compare.outage.lasts", told)));
}

function outages({ beside }, words) {
  if (!beside) return null;
  const longest = Math.max(...beside.runs.map(({ outage }) => (outage ? outage.until_us - outage.from_us : 0)));
  return h("div", { key: "outages", class: "compare-two" }, beside.runs.map((one) => outageOf(one, longest, words)));
}

/** The first event that only one of them has, on each side. */
function partingOf(view, { beside }, pair) {
  const { words, desk } = view;
  if (!beside) return null;
  const { seq, t_us: t, rows } = beside.parting;
  if (rows.every((row) => row === null))
    return h("p", { key: "parting", class: "hint", "data-parting": "none" }, words.t("compare.together", { t: seconds(t) }));
  const first = (row) => {
    const event = eventOf(row, 0);
    return `${seconds(event.t)} s ${words.say(event)}`;
  };
  return h("section", { key: "parting", "data-parting": seq, "aria-labelledby": "parting-title" },
    h("h3", { id: "parting-title" }, words.t("compare.parting", { t: seconds(t), n: count(beside.parting.events) })),
    h("div", { class: "compare-two" }, rows.map((row, side) => h("p", { key: side, class: "parting" }, row ? first(row) : words.t("compare.ended"), " ",
      h("button", { type: "button", "data-parting-of": pair[side], onclick: () => desk.forks.goTo(pair[side], seq) },
        words.t("compare.go", { run: pair[side] }))))));
}

export function compareDialog(view) {
  const { words, desk } = view;
  const { compared, pair } = desk.forks;
  const head = [
    h("div", { key: "head", class: "panel-head" }, h("h2", { id: "compare-title" }, words.t("compare.title")),
      h("button", { type: "button", class: "round", "aria-label": words.t("close"), onclick: () => view.closeDialog("compare-dialog") }, "×")),
    h("div", { key: "pair", class: "compare-pair" }, chooser(view, 0), chooser(view, 1)),
  ];
  if (!compared) return [...head, h("p", { key: "wait", class: "empty", role: "status" }, words.t("compare.loading"))];
  const { found, since, receipts } = compared;
  const { rows, folded } = inOrder(found.partitions);
  const columns = ["leader", "leader_epoch", "isr", "leo", "hw", "hash"];
  const titles = h("tr", {},
    h("th", { scope: "col" }, words.t("table.partition")),
    columns.map((fact) => h("th", { key: fact, scope: "col" }, words.t(`compare.${fact}`))));
  return [
    ...head,
    h("div", { key: "receipts", class: "compare-two" }, receipts.map((receipt, side) => receiptOf(receipt, pair[side], compared.facts[side], words))),
    outages(compared, words),
    partingOf(view, compared, pair),
    h("p", { key: "sum", class: `verdict ${found.differing ? "warn" : "good"}` },
      found.differing
        ? `≠ ${words.t("compare.differing", { n: found.differing, of: found.partitions.length })}`
        : `= ${words.t("compare.same")}`),
    h("div", { key: "table", class: "wide", tabindex: "0", role: "group", "aria-labelledby": "compare-title" },
      h("table", { class: "partitions small compare" },
        h("thead", {}, titles),
        h("tbody", {}, rows.map((one) => partitionRow(one, words)), folded.map((one) => foldedRow(one, 1 + columns.length, words))))),
    h("h3", { key: "lanes" }, words.t("compare.since", { t: seconds(since.t) })),
    h("div", { key: "lane-box", class: "compare-lanes" }, lanes(compared, pair, words)),
    h("div", { key: "stories", class: "compare-two" }, compared.stories.map((items, side) => happenings(items.filter((item) => item.loud), words, pair[side]))),
  ];
}
