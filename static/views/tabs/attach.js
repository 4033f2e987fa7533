/** How to attach a client of one's own: a command for each, ready to be copied. */
import { byNumber } from "../../model/names.js";
import { h } from "../patch.js";

/** [key, text] of each client; `bootstrap` and `topic` stand in them. */
export function commandLines(bootstrap, topic) {
  return [
    ["attach.produce", `echo hello | kcat -P -b ${bootstrap} -t ${topic} -X acks=all`],
    ["attach.consume", `kcat -C -b ${bootstrap} -t ${topic} -o beginning`],
    ["attach.metadata", `kcat -L -b ${bootstrap}`],
    [
      "attach.python",
      `python3 -c 'from confluent_kafka import Producer; p = Producer({"bootstrap.servers": "${bootstrap}", "acks": "all"}); p.produce("${topic}", b"hello"); p.flush()'`],
    [
      "attach.kafka_python",
      `python3 -c 'from kafka import KafkaProducer; p = KafkaProducer(bootstrap_servers="${bootstrap}", acks="all"); print(p.send("${topic}", b"hello").get(10))'`],
    [
      "attach.aiokafka",
      `python3 -c 'import asyncio, aiokafka\nasync def main():\n    async with aiokafka.AIOKafkaProducer(bootstrap_servers="${bootstrap}", acks="all") as p:\n        print(await p.send_and_wait("${topic}", b"hello"))\nasyncio.run(main())'`],
    ["attach.java_produce", `kafka-console-producer.sh --bootstrap-server ${bootstrap} --topic ${topic} --producer-property acks=all`],
    ["attach.java", `kafka-console-consumer.sh --bootstrap-server ${bootstrap} --topic ${topic} --group demo --from-beginning`],
    ["attach.java_describe", `kafka-topics.sh --bootstrap-server ${bootstrap} --describe --topic ${topic}`],
    [
      "attach.spark",
      `spark.readStream.format("kafka").option("kafka.bootstrap.servers", "${bootstrap}").option("subscribe", "${topic}").option("startingOffsets", "earliest").load()`],
  ];
}

export function attachTab(view) {
  const { state, words } = view;
  const listening = Object.keys(state.brokers).sort(byNumber).map((id) => state.brokers[id]).filter((broker) => broker.port);
  const bootstrap = listening.map((broker) => `${broker.host}:${broker.port}`).join(",");
  if (!bootstrap) return h("p", { class: "empty" }, words.t("attach.no_listener"));
  const line = ([key, text]) => h("div", { key, class: "copy-line", "data-attach": key },
    h("span", { class: "field-name" }, words.t(key)),
    h("code", {}, text),
    h("button", {
      type: "button", "aria-label": `${words.t("attach.copy")}: ${words.t(key)}`, onclick: () => view.copy(text)
    }, words.t("attach.copy")));
  const guests = Object.values(state.connections);
  return [
    h("p", { key: "text", class: "hint" }, words.t("attach.text")),
    line(["attach.bootstrap", bootstrap]),
    commandLines(bootstrap, view.topicName ?? "orders").map(line),
    h("h3", { key: "guests" }, words.t("attach.connected")),
    guests.length ? h("ul", { key: "list", class: "znodes" },
      guests.map((guest) => h("li", { key: guest.id },
        h("code", {}, `#${guest.id}`),
        h("span", {}, `${guest.software || guest.client_id || "…"} → ${words.t("noun.broker")} ${guest.broker}`))))
      : h("p", { key: "none", class: "empty" }, words.t("attach.none")),
  ];
}
