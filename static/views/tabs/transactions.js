/**
 * Transactions: what the coordinator of each id knows, its state machine, and the bands over the logs of its partitions.
 *
 *     sales   Empty  [Ongoing]  prepare commit  committed           orders-0  ▁▁▁▁████▌ ─ ─ ┊ LSO │ HW
 *                                prepare abort   aborted            sales-1   ▁▁██████✓
 */
import { leaderLog } from "../../model/figures.js";
import { OPEN, bandsOf, coordinatorOf, idOf, lastStable, timeLeft } from "../../model/transactions.js";
import { count, seconds } from "../../i18n/format.js";
import { OUTCOMES } from "../bands.js";
import { WIDE as WHOLE, badge, facts, hint } from "./common.js";
import { h } from "../patch.js";

/** The coordinator's states as they stand on the picture: [name, column, line]. */
const MACHINE = [["Empty", 0, 0], ["Ongoing", 1, 0], ["PrepareCommit", 2, 0], ["CompleteCommit", 3, 0], ["PrepareAbort", 2, 1], ["CompleteAbort", 3, 1]];
const SHOWN_AS = { PrepareEpochFence: "PrepareAbort" };
const WIDE = 320;
const LINE = 30;

function machine(state, words) {
  const now = SHOWN_AS[state] ?? state;
  return h("ol", { key: "machine", class: "machine" }, MACHINE.map(([name, column, line]) => h("li", {
    key: name, class: name === now ? "here" : null, "aria-current": name === now ? "step" : null, "data-state": name,
    style: { "grid-area": `${line + 1} / ${column + 1}` },
  }, words.t(`reason.${name}`))));
}

/** One partition's log from the oldest offset of interest to its end, with the id's bands, the last stable offset and the high watermark. */
function bandLine(view, id, name, y) {
  const { state, words } = view;
  const at = name.lastIndexOf("-");
  const partition = state.topics[name.slice(0, at)]?.partitions[name.slice(at + 1)];
  const log = partition && leaderLog(partition);
  if (!log) return null;
  const all = bandsOf(partition, log);
  const begin = Math.max(log.start, Math.min(log.leo, ...all.map(({ first }) => first)) - 2);
  const end = Math.max(log.leo, begin + 1);
  const [left, wide] = [92, WIDE - 92 - 8];
  const x = (offset) => left + (wide * (Math.max(begin, offset) - begin)) / (end - begin);
  const stable = lastStable(partition, log);
  return h("g", { key: name, "data-band-line": name },
    h("text", { class: "row-name", x: 0, y: y + 17 }, name),
    h("rect", { class: "band-log", x: left, y: y + 8, width: wide, height: 12 }, h("title", {}, words.t("transactions.log", { from: begin, to: log.leo }))),
    all.map((band) => {
      const own = idOf(state, band.producer) === id;
      const width = Math.max(3, x(band.end) - x(band.first) - 1);
      const sign = OUTCOMES[band.outcome];
      return h("g", { key: `${band.producer} ${band.first}`, class: `band-named ${band.outcome}${own ? "" : " other"}` },
        h("title", {},
          words.t(`words.band.${band.outcome}`, {
            id: idOf(state, band.producer) ?? String(band.producer), first: band.first, marker: band.marker ?? ""
          })),
        h("rect", { x: x(band.first), y: y + (own ? 4 : 8), width, height: own ? 20 : 12, rx: 3 }),
        own && width > 12 && h("text", { x: x(band.first) + width / 2, y: y + 18 }, sign));
    }),
    h("line", { class: "hw", x1: x(log.hw), x2: x(log.hw), y1: y + 1, y2: y + 27 }, h("title", {}, words.t("stage.legend.hw_at", { hw: log.hw }))),
    stable < log.hw && h("line", { class: "lso", x1: x(stable), x2: x(stable), y1: y + 1, y2: y + 27 },
      h("title", {}, words.t("stage.lso", { lso: stable, hw: log.hw }))));
}

/** Partitions of an id: those that the coordinator names, and those where its producer's bands still are. */
function partitionsOf(state, id, one) {
  const found = new Set(one.partitions ?? []);
  for (const [topic, { partitions }] of Object.entries(state.topics)) {
    for (const [number, partition] of Object.entries(partitions))
      if (partition.transactions?.some(([producer]) => producer === one.producer_id)) found.add(`${topic}-${number}`);
  }
  return [...found].sort();
}

function card(view, id, one) {
  const { state, words, clock } = view;
  const { partition, broker } = coordinatorOf(state, id);
  const names = partitionsOf(state, id, one);
  const left = timeLeft(one, clock.viewedTime);
  const lines = names.map((name, index) => bandLine(view, id, name, index * LINE));
  return h("article", { key: `transaction-${id}`, class: "fact-card", "data-transaction": id },
    h("h3", {}, id, h("span", { class: "lever-state" }, words.t(`reason.${one.state}`))),
    machine(one.state, words),
    facts([
      [words.t("transactions.coordinator"), broker === null ? "–" : badge(broker, "leader")],
      [words.t("transactions.partition"), partition === null ? "–" : h("code", {}, `__transaction_state-${partition}`), WHOLE],
      [words.t("transactions.producer"), count(one.producer_id)], [words.t("transactions.epoch"), count(one.epoch)],
      one.state === "Ongoing" && one.started_us !== null && one.started_us !== undefined
        && [words.t("transactions.open_for"), words.t("time.now", { t: seconds(Math.max(0, clock.viewedTime - one.started_us)) })],
      left !== null && [words.t("transactions.left"), words.t("time.now", { t: seconds(left) })],
    ]),
    lines.some(Boolean)
      ? h("svg", {
        key: "bands", class: "bands", viewBox: `0 0 ${WIDE} ${names.length * LINE + 2}`, role: "img",
        "aria-label": summary(state, id, names, words)
      }, lines)
      : hint("none", words.t("transactions.nowhere")));
}

/** The picture of an id's bands in words. */
function summary(state, id, names, words) {
  return names.map((name) => {
    const at = name.lastIndexOf("-");
    const partition = state.topics[name.slice(0, at)]?.partitions[name.slice(at + 1)];
    const log = partition && leaderLog(partition);
    if (!log) return name;
    const own = bandsOf(partition, log).filter(({ producer }) => idOf(state, producer) === id);
    return `${name}: ${[...own.map((band) => words.t(`words.band.${band.outcome}`, { id, first: band.first, marker: band.marker ?? "" })), words.t("stage.lso", { lso: lastStable(partition, log), hw: log.hw })].join(" ")}`;
  }).join(" ");
}

/** Open ones first, then by name. */
export function transactionsTab(view) {
  const all = Object.entries(view.state.transactions ?? {});
  const rank = ([, { state }]) => (state === "Ongoing" ? 0 : state.startsWith("Prepare") ? 1 : 2);
  all.sort((one, other) => rank(one) - rank(other) || (one[0] < other[0] ? -1 : 1));
  return [
    !all.length && h("p", { key: "empty", class: "empty" }, view.words.t("transactions.empty")),
    all.length > 0 && hint("key", view.words.t("transactions.key", { open: OUTCOMES[OPEN], commit: OUTCOMES.commit, abort: OUTCOMES.abort })),
    all.map(([id, one]) => card(view, id, one)),
  ];
}
