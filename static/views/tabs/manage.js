/** What can be asked of the controller and the leader for one partition and its topic: Kafka's own admin requests. */
import { h } from "../patch.js";
import { commandForm, throttleField, throttleFrom, title } from "./common.js";

export const BROKERS = "[0-9]+([, ]+[0-9]+)*";

/** "3, 1 2" -> [3, 1, 2] */
export function brokersOf(text) {
  return (text.match(/\d+/g) ?? []).map(Number);
}

function field(view, name, props) {
  return h("label", { key: name },
    h("span", {}, view.words.t(`manage.${name}`)),
    h("input", { name, autocomplete: "off", ...props }));
}

/** {truth, moving} of the chosen partition: the requests that make sense for it. */
export function manage(view, { truth, moving }) {
  const { words, topicName: topic } = view;
  const partition = Number(view.chosenNumber);
  const about = { topic, partition };
  const count = Object.keys(view.topic?.partitions ?? {}).length;
  const form = (name, fields, read) => commandForm(view, name, fields, (given) => ({ do: name, ...read(given) }), ["partition", view.chosen]);
  const [preferred] = truth.replicas;
  const unclean = truth.leader < 0;
  const needed = unclean || truth.leader !== preferred;
  return [
    title("manage", words.t("manage")),
    h("p", { key: "election", class: "hint" },
      words.t(unclean ? "manage.offline" : needed ? "manage.not_preferred" : "manage.preferred", { preferred, leader: truth.leader })),
    form("elect_leaders", [], () => ({ ...about, ...(unclean ? { unclean: true } : {}) })),
    form(
      "reassign", [
        field(view, "replicas", { required: true, pattern: BROKERS, inputmode: "numeric", placeholder: "2, 3, 1" }),
        throttleField(view)],
      (given) => ({ ...about, replicas: brokersOf(given.get("replicas")), ...throttleFrom(given) })),
    moving && [h("p", { key: "moving", class: "hint", role: "status" }, words.t("manage.moving", moving)), form("cancel_reassignment", [], () => about)],
    form(
      "delete_records", [field(view, "before", { type: "number", min: 0 })],
      (given) => ({ ...about, ...(given.get("before") ? { before: Number(given.get("before")) } : {}) })),
    form(
      "add_partitions", [field(view, "partitions", { type: "number", required: true, min: count + 1 })],
      (given) => ({ topic, partitions: Number(given.get("partitions")) })),
    form("delete_topic", [h("span", { key: "topic", class: "hint" }, words.t("manage.delete", { topic }))], () => ({ topic })),
  ];
}
