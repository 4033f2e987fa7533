/** The levers: what a person can do to the cluster. Every button is one command. */
import { running } from "../model/clients.js";
import { byNumber } from "../model/names.js";
import { brokerClass } from "../draw/palette.js";
import { icon } from "./icons.js";
import { h } from "./patch.js";

/** What can be done to a broker in its state; always four places, so that nothing moves. */
function actions({ state }) {
  if (state === "stopped") return ["restart", null, null];
  return ["kill", state === "paused" ? "resume" : "pause", "stop", "power_loss"];
}

function button(view, id, verb, place) {
  if (!verb) return h("span", { key: place, class: "lever-gap" });
  const { words } = view;
  return h("button", {
    key: place, type: "button", class: `lever ${verb}`, title: words.t(`tip.${verb}`, { broker: id }), "data-do": verb, "data-broker": id,
    "aria-label": `${words.t("noun.broker")} ${id}: ${words.t(`do.${verb}`)}`, onclick: () => view.command({ do: verb, broker: Number(id) }),
  }, icon(verb, 11), h("span", {}, words.t(`lever.${verb}`)));
}

/** One broker: its name and state, its buttons. */
export function brokerLevers(view) {
  const { state, words } = view;
  return Object.keys(state.brokers).sort(byNumber).map((id) => {
    const broker = state.brokers[id];
    const counted = broker.registered ? broker.state : broker.fenced ? "fenced" : "unregistered";
    const shown = broker.state === "stopped" ? broker.how ?? "stopped" : broker.state === "running" ? counted : broker.state;
    const sign = { running: "●", paused: "❚❚", stopped: "×" }[broker.state];
    return h("div", { key: id, class: `broker-lever ${brokerClass(id)} ${broker.state}`, role: "group", "aria-label": `${words.t("noun.broker")} ${id}` },
      h("div", { class: "lever-name" },
        h("b", {}, `${words.t("noun.broker")} ${id}`),
        h("span", { class: "lever-state" }, `${sign} ${words.t(`state.${shown}`)}`)),
      h("div", { class: "lever-row" }, actions(broker).map((verb, place) => button(view, id, verb, place))));
  });
}

/** A row of which one is chosen. */
export function segments(name, label, options, chosen, choose) {
  return h("div", { class: "segments", role: "group", "aria-label": label },
    options.map(([value, text]) => h("button", {
      key: value, type: "button", "data-segment": `${name}:${value}`, "aria-pressed": String(value === chosen),
      class: value === chosen ? "on" : "", onclick: () => choose(value),
    }, text)));
}

/** acks of hand-written records, and of the built-in producer when one runs. */
export function acks(view) {
  const { words } = view;
  return [
    h("div", { class: "field-name" }, words.t("levers.acks")),
    segments("acks", words.t("levers.acks"), [["0", "0"], ["1", "1"], ["all", "all"]], view.acks, view.setAcks),
    h("p", { class: "hint two-lines" }, words.t(`levers.acks.${view.acks}`)),
  ];
}

/** min.insync.replicas of the chosen topic. */
export function minIsr(view) {
  const { words, topic, topicName } = view;
  if (!topic) return [];
  const partitions = Object.values(topic.partitions);
  const most = Math.max(1, ...partitions.map((partition) => partition.replicas.length));
  const now = String(partitions[0]?.min_isr ?? 1);
  const options = Array.from({ length: Math.min(5, most) }, (_, index) => [String(index + 1), String(index + 1)]);
  const choose = (value) => view.command({ do: "alter_config", topic: topicName, set: { "min.insync.replicas": value } });
  return [
    h("div", { class: "field-name", title: words.t("levers.min_isr.hint") }, `${words.t("levers.min_isr")} · ${topicName}`),
    segments("min-isr", words.t("levers.min_isr"), options, now, choose),
  ];
}

function clientButton(view, kind) {
  const { state, words, topicName } = view;
  const known = `${kind}-${topicName}`;
  const [busy] = running(state, kind);
  const command = busy
    ? { do: "stop_client", name: busy }
    : known in state.clients
      ? { do: "start_client", name: known }
      : { do: "start_client", name: known, kind, topic: topicName, ...(kind === "producer"
        ? { rate: 5, settings: { acks: view.acks } }
        : { settings: { "group.id": "readers" } }) };
  return h("button", {
    key: kind, type: "button", class: busy ? "on" : "", disabled: !busy && !topicName, "data-client": kind, onclick: () => view.command(command),
  },
    icon(busy ? "stop" : "play", 11),
    " ",
    h("span", { class: "unseen" }, words.t(`levers.${busy ? "stop" : "start"}_${kind}`)),
    h("span", { "aria-hidden": "true" }, words.t(`stage.${kind}`)));
}

/** A producer and a consumer that need no machine of the learner's. */
export function traffic(view) {
  return h("div", { class: "pair", role: "group", "aria-label": view.words.t("levers.traffic") },
    clientButton(view, "producer"),
    clientButton(view, "consumer"));
}

/** What the topic selector offers. */
export function topicOptions({ topicNames, words }) {
  if (!topicNames.length) return [h("option", { key: "", value: "" }, words.t("stage.no_topic"))];
  return topicNames.map((name) => h("option", { key: name, value: name }, name));
}

/** Where a record that is written by hand goes. */
export function writeTitle({ topicName, words }) {
  return topicName ? words.t("levers.write_to", { topic: topicName }) : words.t("levers.write");
}
