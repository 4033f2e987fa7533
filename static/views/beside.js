/** One lesson in both generations of Kafka, next to each other on one clock: who decides and leads, who believes what, what happens. */
import { count, seconds } from "../i18n/format.js";
import { told } from "../i18n/texts.js";
import { eventOf } from "../model/reduce.js";
import { icon } from "./icons.js";
import { h } from "./patch.js";
import { marked } from "./terms.js";

const LINES = 9; // of what has happened, up to the moment
const DEDICATED = 101; // ids of controllers that are processes of their own begin here
const HELD = 1; // percent of a lane that a span needs at least for its number

/** [key, the generation that alone has such a thing, what else its text is called by: names of requests stand in it]. */
const FIGURES = [
  ["controller_us"], ["leader_us"], ["outage_us"], ["disagree_us"], ["controller_elections"], ["read_us", "zookeeper"],
  ["control_requests", "zookeeper", ".protocol"], ["tree_writes", "zookeeper"], ["watches", "zookeeper"], ["metadata_records", "kraft"], ["votes", "kraft"],
];

const nameOf = (run, words) => words.t(`beside.in_${run.generation}`);
const only = (generation, words) => h("span", { class: "only", "data-only": generation }, words.t(`beside.only_${generation}`));

/** Brokers and what else has to be run: "4 brokers · 3 controllers". */
function systems(run, words) {
  const of = (kind) => run.processes.filter((name) => name.startsWith(`${kind}-`)).length;
  const [brokers, servers, controllers] = ["broker", "zookeeper", "controller"].map(of);
  const parts = [words.t("beside.brokers", { n: brokers })];
  if (servers) parts.push(words.t("beside.servers", { n: servers }));
  if (controllers) parts.push(words.t("beside.controllers", { n: controllers }));
  return `${parts.join(" · ")}: ${words.t(servers ? "beside.two_systems" : "beside.one_system")}`;
}

const spanAt = (spans, t) => spans.findLast(([from]) => from <= t) ?? null;

/** A line of time: who it was when; nobody is hatched and named, not coloured alone. */
function lane(run, key, until, t, words) {
  const spans = run[key];
  const share = (us) => (100 * us) / until;
  const now = spanAt(spans, t)?.[2] ?? null;
  const shown = (id) => (id === null ? words.t("beside.nobody") : String(id));
  return h("div", { key, class: "beside-lane" }, h("span", { class: "lane-name" }, words.t(`beside.${key}`, { partition: run.partition })),
    h("div", {
      class: "beside-line", role: "img",
      "aria-label": spans.map(([from, end, id]) => words.t("beside.span", {
        from: seconds(from), to: seconds(end), who: shown(id)
      })).join("; ")
    },
      spans.map(([from, end, id]) => h("i", {
        key: from, class: id === null ? "nobody" : "somebody", style: { left: `${share(from)}%`, width: `${share(end - from)}%` }
      }, share(end - from) > HELD ? shown(id) : "")),
      h("b", { key: "cursor", class: "cursor", style: { left: `${share(t)}%` } })),
    h("span", { class: `lane-now${now === null ? " none" : ""}`, "data-now": key }, now === null ? `✕ ${shown(now)}` : shown(now)));
}

function who(row, words) {
  if (row.client) return words.t("look.who.client", { client: row.client });
  const name = words.t(`look.who.${row.who}`);
  if (row.broker === null) return name;
  if (row.broker >= DEDICATED) return words.t("look.who.numbered", { who: name, id: row.broker });
  return `${words.t("noun.broker")} ${row.broker}: ${name}${row.standing ? ` · ○ ${words.t(`state.${row.standing}`)}` : ""}`;
}

/** What one of them takes for true; what is not so is marked. `log`: with how far it is behind. */
function belief(row, log, words) {
  const cell = (key, shown) => h("td", { key, class: row.differs.includes(key) ? "differs" : "" }, `${row.differs.includes(key) ? "≠ " : ""}${shown}`);
  return h("tr", { key: `${row.who} ${row.client ?? row.broker}` },
    h("th", { scope: "row" }, who(row, words)),
    cell("leader", row.leader === null ? words.t("look.knows_nothing") : row.leader < 0 ? words.t("beside.nobody") : row.leader),
    cell("leader_epoch", row.leader_epoch ?? "–"),
    log && h("td", { key: "behind" }, row.behind === null ? "–" : row.behind ? `▲ ${count(row.behind)}` : "0"));
}

function beliefs(run, t, words) {
  const rows = run.beliefs.findLast((one) => one.t_us <= t)?.rows ?? [];
  const log = rows.some((row) => row.behind !== null);
  return h("table", { key: "beliefs", class: "small beside-beliefs", "data-beliefs": run.generation },
    h("caption", {}, words.t("beside.beliefs", { partition: run.partition })),
    h("thead", {},
      h("tr", {},
        [
          words.t("look.believer"), words.t("table.leader"), words.t("look.epoch"),
          ...(log ? [words.t("look.behind")] : [])].map((name) => h("th", { key: name, scope: "col" }, name)))),
    h("tbody", {}, rows.map((row) => belief(row, log, words))));
}

/** What has happened by now, the newest last. */
function happenings(run, t, words) {
  const past = run.events.filter(([, at]) => at <= t);
  const alone = run.only[run.generation];
  return h("div", { key: "events", class: "beside-events" }, h("h4", {}, words.t("beside.events")),
    past.length ? h("ol", { "data-events": run.generation }, past.slice(-LINES).map((row, index) => {
      const event = eventOf(row, 0);
      return h("li", { key: `${row[0]} ${index}`, class: row[1] === past.at(-1)[1] ? "latest" : "" },
        h("time", {}, words.t("time.now", { t: seconds(event.t) })),
        " ",
        words.say(event),
        " ",
        alone.includes(event.code) && only(run.generation, words));
    })) : h("p", { class: "empty" }, words.t("beside.nothing_yet")));
}

function column(run, { t, found }, words) {
  return h("section", { key: run.generation, class: "beside-run", "data-beside": run.generation, "aria-label": nameOf(run, words) },
    h("h3", {}, nameOf(run, words)), h("p", { class: "hint" }, systems(run, words)),
    lane(run, "controller", found.until_us, t, words), lane(run, "leader", found.until_us, t, words),
    beliefs(run, t, words), happenings(run, t, words));
}

function figure(key, run, words) {
  const value = run.figures[key];
  if (key === "read_us" && run.generation === "kraft") return words.t("beside.nothing_to_read");
  if (key === "read_us") return value === null ? words.t("beside.read_nothing") : words.t("beside.read", { s: seconds(value), n: run.figures.read_partitions });
  if (value === null) return words.t("beside.not_recorded");
  return key.endsWith("_us") ? words.t("time.now", { t: seconds(value) }) : count(value);
}

/** Whether a figure is the other generation's alone. */
const isOnly = (alone, key, run) => alone && alone !== run.generation && key !== "read_us";

function figures(found, words) {
  const [left] = found.runs;
  return h("table", { key: "figures", class: "small beside-figures" }, h("caption", {}, words.t("beside.figures")),
    h("thead", {},
      h("tr", {},
        h("th", { scope: "col" }, words.t("beside.figure")),
        found.runs.map((run) => h("th", { key: run.generation, scope: "col" }, nameOf(run, words))))),
    h("tbody", {},
      FIGURES.map(([key, alone, more = ""]) => h("tr", { key, "data-figure": key },
        h("th", { scope: "row" }, words.t(`beside.${key}${more}`, { partition: left.partition }), " ", alone && only(alone, words)),
        found.runs.map((run) => h("td", { key: run.generation }, isOnly(alone, key, run) ? "–" : figure(key, run, words)))))));
}

/** The clock of both. */
function clock(beside, words) {
  const { t, playing, found } = beside;
  const button = (name, act, picture) => h("button", {
    type: "button", class: "round", "data-beside-do": name, title: words.t(`beside.${name}`), "aria-label": words.t(`beside.${name}`),
    onclick: act
  }, icon(picture));
  return h("div", { key: "clock", class: "beside-clock", role: "group", "aria-label": words.t("beside.clock") },
    button("back", () => beside.step(-1), "back"), button(playing ? "pause" : "play", beside.play, playing ? "pause" : "play"),
    button("on", () => beside.step(1), "on"),
    h("input", {
      type: "range", min: "0", max: String(found.until_us), step: "1000", value: String(Math.round(t)),
      "aria-label": words.t("beside.clock"), "aria-valuetext": words.t("beside.at", { s: seconds(t) }),
      oninput: (event) => { beside.playing = false; beside.seek(Number(event.target.value)); }
    }),
    h("output", { "data-beside-t": String(Math.round(t)) }, words.t("beside.at", { s: seconds(t) })));
}

export function besideDialog(view) {
  const { words, desk } = view;
  const { beside } = desk;
  const differs = told(beside.differs, words);
  const head = h("div", { key: "head", class: "panel-head" }, h("h2", { id: "beside-title" }, words.t("beside.title")),
    h("button", { type: "button", class: "round", "aria-label": words.t("close"), onclick: beside.close }, "×"));
  if (!beside.found) return [head, h("p", { key: "wait", class: "empty", role: "status" }, words.t("compare.loading"))];
  return [
    head, h("p", { key: "lesson", class: "hint" }, told(beside.title, words)),
    differs && h("p", { key: "differs", "data-differs": "" }, h("b", {}, `${words.t("beside.differs")} `), marked(words, differs)),
    clock(beside, words),
    h("div", { key: "two", class: "compare-two" }, beside.found.runs.map((run) => column(run, beside, words))),
    figures(beside.found, words),
  ];
}
