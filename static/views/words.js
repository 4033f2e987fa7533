/**
 * The stage and the time lines in words: who leads, who is in sync, how far each log goes, what is under way; what
 * happened around the moment that is looked at.
 *
 * They are always there for those who listen to the page, and take the place of the pictures for those who want to
 * read (`app.stageWords`, `app.lanesWords`). Only then do they hold buttons: what cannot be seen gets no focus.
 */
import { byNumber } from "../model/names.js";
import { SNAPSHOT } from "../model/reduce.js";
import { SILENT } from "../model/progress.js";
import { formerController } from "../model/crown.js";
import { fingerprint, leadingLog } from "../model/figures.js";
import { seconds } from "../i18n/format.js";
import { icon } from "./icons.js";
import { moveOf } from "../model/moves.js";
import { readersOf } from "../model/readers.js";
import { countsOf, sharesOf } from "../model/shares.js";
import { bandsOf, idOf, lastStable } from "../model/transactions.js";
import { isDamaged } from "./damage.js";
import { h } from "./patch.js";
import { controllerText } from "./header.js";
import { sidesText } from "./sides.js";
import { shownPartitions } from "./stage.js";
import { troublesText } from "./troubles.js";

const PARTITIONS = 24;
const MESSAGES = 12;
const BEFORE = 14;
const AFTER = 6;

/** The button that puts the words in the place of a picture. */
export function wordsSwitch(view, field, key) {
  const on = view[field];
  return h("button", {
    key: field, type: "button", class: `words-switch${on ? " on" : ""}`, "data-words": field, "aria-pressed": String(on),
    title: view.words.t(key), "aria-label": view.words.t(key), onclick: () => view.set({ [field]: !on })
  }, icon("words", 14));
}

function moment({ clock, words }) {
  return words.t(clock.live ? "words.live" : "words.past", { t: seconds(clock.viewedTime), now: seconds(clock.clusterTime()) });
}

function brokers(view) {
  const { state, words, topic, topicName } = view;
  const former = formerController(view);
  return Object.keys(state.brokers).sort(byNumber).map((id) => {
    const partitions = Object.values(topic?.partitions ?? {});
    const leads = partitions.filter((partition) => partition.leader === Number(id)).length;
    const follows = partitions.filter((partition) => partition.replicas.includes(Number(id))).length - leads;
    const broker = state.brokers[id];
    const shown = words.t(`state.${broker.state === "stopped" ? broker.how ?? "stopped" : broker.state}`);
    const now = state.cluster.controller === Number(id);
    const role = now ? ` ${words.t("words.is_controller")}` : former?.broker === Number(id) ? ` ${words.t("words.was_controller", { n: former.epoch })}` : "";
    const told = words.t("stage.broker_text", { broker: id, state: shown, topic: topicName ?? "–", leads, follows });
    return h("li", { key: id }, told + role + troublesText(broker, words));
  });
}

/** One replica: its end, its high watermark, and what is not as on the leader. */
function replica(partition, id, words) {
  const log = partition.logs[id];
  if (!log) return words.t("words.replica_unknown", { broker: id });
  const end = leadingLog(partition)?.leo ?? log.leo;
  const notes = [];
  if (partition.leader === id) notes.push(words.t("stage.legend.leader"));
  else notes.push(words.t(partition.isr.includes(id) ? "stage.legend.isr" : "stage.legend.out"));
  const moves = moveOf(partition, id);
  if (moves) notes.push(words.t(`stage.${moves}`));
  if (log.directory) notes.push(words.t(log.moving ? "stage.moves_to" : "stage.lies_in", { directory: log.directory, moving: log.moving ?? "" }));
  if (log.leo < end) notes.push(words.t("words.lacks", { n: end - log.leo }));
  if (log.leo > end) notes.push(words.t("words.astray", { n: log.leo - end }));
  const harmed = (log.damaged ?? []).filter((offset) => isDamaged(log, offset));
  if (harmed.length) notes.push(words.t("words.damaged", { n: harmed.length, offsets: harmed }));
  if (log.refuses === log.leo) notes.push(words.t("words.refuses", { offset: log.leo }));
  if (fingerprint(partition, id)?.differs) notes.push(words.t("stage.differs"));
  return words.t("words.replica", { broker: id, leo: log.leo, hw: log.hw, notes: notes.join(", ") });
}

function partitionWords(view, number) {
  const { topic, topicName, words, chosenNumber } = view;
  const partition = topic.partitions[number];
  const facts = {
    name: `${topicName}-${number}`, leader: partition.leader, epoch: partition.leader_epoch, isr: partition.isr,
    replicas: partition.replicas, hw: leadingLog(partition)?.hw ?? 0
  };
  return h("li", { key: number }, words.t(partition.leader >= 0 && partition.leader !== null ? "words.partition" : "words.partition_nobody", facts),
    number === chosenNumber && h("ul", {},
      partition.replicas.map((id) => h("li", { key: id }, replica(partition, id, words))),
      transacted(view, partition),
      readers(view, number),
      shared(view, number)));
}

/** Where read_committed ends, and the transactions in the leader's log. */
function transacted({ state, words }, partition) {
  const log = leadingLog(partition);
  const found = log ? bandsOf(partition, log) : [];
  if (!found.length) return null;
  const told = (band) => words.t(`words.band.${band.outcome}`, {
    id: idOf(state, band.producer) ?? String(band.producer), first: band.first, marker: band.marker ?? ""
  });
  return [
    h("li", { key: "lso" }, words.t("stage.lso", { lso: lastStable(partition, log), hw: log.hw })),
    found.map((band) => h("li", { key: `band ${band.producer} ${band.first}` }, told(band)))];
}

/** What share groups have done with the records of a partition. */
function shared({ state, topicName, words }, number) {
  return sharesOf(state, topicName, number).map(({ group, start }) => h("li", { key: `share-${group}` },
    words.t("words.share", { group, start, ...countsOf(state, group, `${topicName}-${number}`) })));
}

/** Who reads a partition, and from where. */
function readers({ state, topicName, words }, number) {
  return readersOf(state, topicName, number).map(({ group, member, committed, position, lag, reading }) => h("li", { key: `reader-${group}` },
    words.t(reading ? "stage.reader" : "stage.reader_none", {
      group, member: member ?? "", committed: committed ?? "–", position: position ?? "–", lag: lag ?? 0
    })));
}

const end = (node, words) => (node === "outside" ? words.t("stage.outside") : words.name(node));

/** What is under way: `underWay` sums it up by way and kind. */
function messages({ underWay, words }) {
  if (!underWay.length) return h("p", { key: "none" }, words.t("words.nothing_under_way"));
  const rest = underWay.slice(MESSAGES).reduce((sum, { count }) => sum + count, 0);
  return h("ul", { key: "messages" },
    underWay.slice(0, MESSAGES).map(({ from, to, answer, failed, label, count }) => h("li", {
      key: `${from}>${to}:${answer}:${failed}:${label}`
    },
    words.t(
      failed ? "words.message_failed" : answer ? "words.message_answer" : "words.message",
      { label, n: count, from: end(from, words), to: end(to, words) }))),
  rest > 0 && h("li", { key: "rest" }, words.t("words.messages_more", { n: rest })));
}

/** The stage in words. */
export function stageWords(view) {
  const { state, words, topic, topicName, chosenNumber } = view;
  const numbers = topic ? shownPartitions(topic, PARTITIONS, chosenNumber) : [];
  const more = topic ? Object.keys(topic.partitions).length - numbers.length : 0;
  const title = (key, text) => h("h3", { key }, text);
  return [
    h("p", { key: "moment" }, `${moment(view)} ${controllerText(state, words)}.`),
    title("t-brokers", words.t("levers.brokers")), h("ul", { key: "brokers" }, brokers(view)),
    topic && [title("t-partitions", words.t("words.partitions", { topic: topicName })), h("ul", { key: "partitions" },
      numbers.map((number) => partitionWords(view, number)),
      more > 0 && h("li", { key: "more" }, words.t("words.partitions_more", { n: more })))],
    title("t-sides", words.t("words.clients")), h("ul", { key: "sides" }, sidesText(view).map(([name, text]) => h("li", { key: name }, text))),
    title("t-messages", words.t("words.under_way")), messages(view),
  ];
}

const seen = (event) => event && event.code !== SNAPSHOT && !SILENT.has(event.code);

/** Positions of the events around the viewed one: {before: the newest first, after}. */
export function around(history, viewed, before = BEFORE, after = AFTER) {
  const collect = (from, by, most) => {
    const found = [];
    for (let at = from; at >= history.begin && at < history.end && found.length < most; at += by) if (seen(history.at(at))) found.push(at);
    return found;
  };
  return { before: collect(viewed - 1, -1, before), after: collect(viewed, 1, after) };
}

/** What the cursor of the time lines stands at. */
export function cursorText({ clock, history, words }) {
  if (clock.live) return words.t("words.live_edge");
  const event = history.at(clock.viewed - 1);
  return `${seconds(clock.viewedTime)} s: ${seen(event) ? words.say(event) : words.t("words.begin")}`;
}

/** The events around the moment, newest first; the list holds still while the focus is in it. */
export function lanesWords(view) {
  const { history, clock, words, lanesWords: read } = view;
  const { before, after } = view.heldLanes && clock.live ? view.heldLanes : around(history, clock.viewed);
  const hold = () => { view.heldLanes = { before, after }; };
  const letGo = () => { view.heldLanes = null; };
  const line = (at, current) => {
    const event = history.at(at);
    if (!event) return null;
    const text = [h("time", {}, `${seconds(event.t)} s `), words.say(event)];
    return h("li", { key: at, "aria-current": current ? "true" : null, class: current ? "current" : null },
      read ? h("button", { type: "button", class: "plain", "data-event": at, onfocus: hold, onblur: letGo, onclick: () => view.select(at) }, text) : text);
  };
  return h("ol", { key: "events" }, [...after].reverse().map((at) => line(at, false)), before.map((at, index) => line(at, index === 0 && !clock.live)));
}
