/** More levers: one more client, the built-in producer, links, disks, lessons at one key. Every slider changes a figure next to it. */
import { running } from "../model/clients.js";
import { brokerNode, brokerOf, byNumber, isKRaft } from "../model/names.js";
import { LESSONS } from "../model/macros.js";
import { anotherClient } from "./another.js";
import { segments } from "./levers.js";
import { icon } from "./icons.js";
import { serversOf } from "./menu.js";
import { dataFaults, linkFaults, protections } from "./mischief.js";
import { h } from "./patch.js";

const RATES = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
const LINGERS = [0, 1, 5, 10, 20, 50, 100, 250, 500, 1000];
const DELAYS = [0, 1, 5, 10, 25, 50, 100, 250, 500, 1000, 2000];
const COSTS = [0, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000]; // microseconds of a thread
const DISKS = { disk_full: {}, disk_write_error: {}, disk_read_error: {}, lost_fsync: {}, slow_disk: { latency_ms: 200 }, misdirected_write: { times: 1 } };
export const LESSON_KEYS = { shrink: "1", unclean: "2", storm: "3" };

const nearest = (steps, value) => steps.reduce((best, step, index) => (Math.abs(step - value) < Math.abs(steps[best] - value) ? index : best), 0);

/** A slider over fixed steps; the figure moves with it, the command leaves when it is let go. */
function slider(view, name, label, steps, value, text, choose) {
  const shown = view.sliding?.name === name ? view.sliding.at : nearest(steps, value);
  const move = (event) => view.set({ sliding: { name, at: Number(event.target.value) } });
  const done = (event) => {
    view.set({ sliding: null });
    choose(steps[Number(event.target.value)]);
  };
  return h("label", { key: name, class: "slider" },
    h("span", { class: "slider-name" }, label),
    h("output", {}, text(view.sliding?.name === name ? steps[shown] : value)),
    h("input", {
      type: "range", min: 0, max: steps.length - 1, step: 1, value: String(shown), "data-slider": name,
      "aria-valuetext": text(steps[shown]), oninput: move, onchange: done
    }));
}

/** Records that wait in a producer's batches: one entry a partition. */
const recordsOf = (waiting) => (Array.isArray(waiting) ? waiting.reduce((sum, one) => sum + one.records, 0) : waiting ?? 0);

function traffic(view) {
  const { words, state } = view;
  const [name] = running(state, "producer");
  if (!name) return h("p", { key: "none", class: "hint" }, words.t("levers.no_producer"));
  const client = state.clients[name];
  const rate = Number(view.rates?.[name] ?? client.settings?.rate ?? client.rate ?? state.wanted?.[name]?.rate ?? 5);
  const linger = Number(client.settings?.["linger.ms"] ?? 0);
  const set = (key) => async (value) => {
    const before = view.rates;
    if (key === "rate") view.set({ rates: { ...before, [name]: value } });
    const answer = await view.command({ do: "set_client", name, set: { [key]: key === "rate" ? value : String(value) } });
    if (key === "rate" && !answer.ok) view.set({ rates: before });
  };
  return [
    slider(view, "rate", words.t("levers.rate"), RATES, rate, (value) => words.t("levers.rate.value", { n: value }), set("rate")),
    slider(view, "linger", "linger.ms", LINGERS, linger, (value) => words.t("look.ms", { n: value }), set("linger.ms")),
    h("p", { key: "figures", class: "hint figures" },
      words.t("levers.figures", { acked: client.acked ?? 0, failed: client.failed ?? 0, waiting: recordsOf(client.waiting) })),
  ];
}

function endpoints({ state }) {
  const clients = Object.keys(state.clients).filter((name) => state.clients[name].state === "running");
  return [...Object.keys(state.brokers).sort(byNumber).map((id) => brokerNode(id)), ...serversOf(state), ...clients];
}

function links(view) {
  const { words, state } = view;
  const ends = endpoints(view);
  const a = ends.includes(view.linkA) ? view.linkA : ends[0];
  const b = ends.includes(view.linkB) && view.linkB !== a ? view.linkB : ends.find((end) => end !== a);
  if (!b) return null;
  const now = state.links.find((link) => (link.from === a && link.to === b) || (link.from === b && link.to === a));
  const pick = (name, value) => h("select", {
    value, "aria-label": words.t(`levers.link.${name}`), "data-link": name, onchange: (event) => view.set({ [name]: event.target.value })
  }, ends.map((end) => h("option", { key: end, value: end }, words.name(end))));
  const between = [a, b];
  return [
    h("div", { key: "ends", class: "link-ends" }, pick("linkA", a), h("span", { "aria-hidden": "true" }, now?.partitioned ? "✕" : "↔"), pick("linkB", b)),
    h("div", { key: "acts", class: "lever-row" },
      now?.partitioned ? h("button", {
        type: "button", class: "lever restart", "data-fault": "heal", onclick: () => view.command({ do: "heal_link", between })
      }, words.t("do.heal_link"))
        : h("button", {
          type: "button", class: "lever", "data-fault": "cut", onclick: () => view.command({ do: "partition_link", between })
        }, `✕ ${words.t("do.partition_link")}`),
      h("button", {
        type: "button", class: "lever", "data-fault": "isolate", disabled: brokerOf(a) === null,
        onclick: () => view.command({ do: "isolate", node: a })
      }, words.t("levers.isolate", { node: a }))),
    slider(
      view, "delay", words.t("levers.delay"), DELAYS, (now?.delay_us ?? 0) / 1000, (value) => words.t("look.ms", { n: value }),
      (value) => view.command(value ? { do: "delay_link", between, delay_ms: value } : { do: "heal_link", between })),
    linkFaults(view, between),
  ];
}

/** The log directories of a broker, where it has several. */
function directories(view, id) {
  const found = view.inquiry.get("broker", id).found?.disks ?? [];
  return found.length > 1 ? found.map((one) => one.directory) : [];
}

function directoryChoice(view, id) {
  const all = directories(view, id);
  if (!all.length) return null;
  const { words } = view;
  return h("select", {
    key: "directory", class: "wide-select", "aria-label": words.t("look.directory"), "data-directory": "",
    value: all.includes(view.directoryOf) ? view.directoryOf : "", onchange: (event) => view.set({ directoryOf: event.target.value })
  },
    h("option", { key: "", value: "" }, words.t("levers.directories")), all.map((one) => h("option", { key: one, value: one }, one)));
}

function disks(view) {
  const { words, state } = view;
  const ids = Object.keys(state.brokers).sort(byNumber);
  const id = ids.includes(view.diskOf) ? view.diskOf : ids[0];
  if (!id) return null;
  // What is chosen counts at the click, also where it was chosen after the last picture.
  const where = (verb) => (verb in DISKS && directories(view, id).includes(view.directoryOf) ? { directory: view.directoryOf } : {});
  const act = (verb) => h("button", {
    key: verb, type: "button", class: "lever", "data-fault": verb, title: words.t(`tip.${verb}`),
    onclick: () => view.command({ do: verb, broker: Number(id), ...DISKS[verb], ...where(verb) })
  }, words.t(`do.${verb}`));
  return [
    segments("disk-of", words.t("noun.broker"), ids.map((one) => [one, one]), id, (diskOf) => view.set({ diskOf })),
    directoryChoice(view, id),
    h("div", { key: "acts", class: "lever-grid" }, Object.keys(DISKS).map(act), act("repair_disk"), !isKRaft(state) && act("expire_session")),
    dataFaults(view, id)];
}

function lessons(view) {
  const { words, runner } = view;
  const { waiting } = runner;
  return [
    LESSONS.map((lesson) => h("button", {
      key: lesson, type: "button", class: `lesson-button${runner.lesson === lesson ? " on" : ""}`, "data-lesson": lesson,
      title: words.t(`macro.${lesson}.tip`), onclick: () => (runner.lesson === lesson ? runner.stop() : view.startLesson(lesson))
    },
      h("span", {}, words.t(`macro.${lesson}`)), h("kbd", {}, `X ${LESSON_KEYS[lesson]}`))),
    h("p", { key: "wait", class: "hint two-lines", role: "status" },
      runner.lesson ? `◷ ${waiting ? words.t(waiting.text, waiting.params) : words.t("macro.running")}` : words.t("macro.hint")),
  ];
}

/** What requests cost the threads of all brokers; with a cost they queue. */
function costs(view) {
  const { words, state } = view;
  const now = state.cluster.stage_costs ?? {};
  const one = (stage) => slider(
    view, stage, words.t(`levers.costs.${stage}`), COSTS, now[stage] ?? 0, (value) => words.t("look.us", { n: value }),
    (value) => view.command({ do: "set_stage_costs", set: { [stage]: value } }));
  return [one("network_us"), one("io_us"), h("p", { key: "costs-hint", class: "hint" }, words.t("levers.costs.hint"))];
}

/** A part of the levers under its name; what is closed is not described. */
function fold(view, name, body) {
  const open = (view.folds ?? {})[name] ?? !["another", "disks", "costs", "protections"].includes(name);
  return h("section", { key: name, class: "fold" },
    h("h3", {},
      h("button", {
        type: "button", class: "plain fold-name", "aria-expanded": String(open), "data-fold": name,
        onclick: () => view.set({ folds: { ...view.folds, [name]: !open } })
      }, h("span", { "aria-hidden": "true" }, open ? "▾ " : "▸ "), view.words.t(`levers.${name}`))),
    open && h("div", { class: "fold-body" }, body(view)));
}

const FOLDS = { load: traffic, another: anotherClient, lessons, links, disks, costs, protections };

/** Everything below the first levers. */
export function moreLevers(view) {
  const { words, state } = view;
  const faulty = state.links.length + Object.values(state.brokers).filter((broker) => broker.state === "paused" || broker.disk?.length).length;
  return [
    Object.entries(FOLDS).map(([name, body]) => fold(view, name, body)),
    h("button", {
      key: "stop", type: "button", class: "stop-faults", "data-fault": "stop_all", onclick: () => view.command({ do: "stop_all_faults" })
    }, icon("restart", 11), ` ${words.t("do.stop_all_faults")}`, faulty > 0 && h("b", {}, ` (${faulty})`)),
  ];
}
