/**
 * The next thing worth trying, from the state alone: what a learner who has read nothing sees first.
 *
 * | state | says | does |
 * |---|---|---|
 * | no topic | a cluster without a topic has nothing to lose | create_topic |
 * | a topic, no records, no producer | start a producer | start_client |
 * | all brokers alive | broker L leads orders-0: kill it | kill L |
 * | one dead, it still leads | nobody knows yet | |
 * | one dead, another leads | what acks=0, 1 or all has kept | restart |
 * | no leader | offline, bring one back | restart |
 *
 * A change of leader keeps what is committed. That is all that was acknowledged with acks=all only, so what is said of
 * it depends on the weakest acks in use.
 */
import { running } from "./clients.js";
import { leaderLog } from "./figures.js";
import { byNumber } from "./names.js";

/** The least that a producer of `state`, or the viewer's `chosen` acks, waits for: "0" | "1" | "all". */
export function weakestAcks(state, chosen) {
  const used = Object.values(state.clients).filter(({ kind }) => kind === "producer").map(({ settings }) => String(settings?.acks ?? "all"));
  return ["0", "1"].find((acks) => acks === String(chosen) || used.includes(acks)) ?? "all";
}

function partitionAdvice(state, topicName, number, acks) {
  const partition = state.topics[topicName].partitions[number];
  const name = `${topicName}-${number}`;
  const dead = Object.keys(state.brokers).sort(byNumber).find((id) => state.brokers[id].state === "stopped" && partition.replicas.includes(Number(id)));
  const frozen = Object.keys(state.brokers).find((id) => state.brokers[id].state === "paused");
  if (frozen) return { key: "coach.paused", params: { broker: frozen }, command: { do: "resume", broker: Number(frozen) } };
  if (partition.leader !== null && partition.leader < 0) {
    const back = partition.isr.find((id) => state.brokers[id]?.state === "stopped") ?? dead;
    if (back !== undefined) return { key: "coach.offline", params: { partition: name, broker: back }, act: "coach.moved.do", command: { do: "restart", broker: Number(back) } };
    return null;
  }
  if (dead && partition.leader === Number(dead)) return { key: "coach.waiting", params: { broker: dead }, command: null };
  if (dead) return { key: partition.unclean ? "coach.unclean" : `coach.moved.${weakestAcks(state, acks)}`, act: "coach.moved.do", params: { leader: partition.leader, partition: name, epoch: partition.leader_epoch, broker: dead }, command: { do: "restart", broker: Number(dead) } };
  const known = `producer-${topicName}` in state.clients;
  const busy = running(state, "producer").length > 0;
  if (!(leaderLog(partition)?.leo > 0) && !busy) {
    return { key: "coach.no_records", params: {}, command: known ? { do: "start_client", name: `producer-${topicName}` } : { do: "start_client", name: `producer-${topicName}`, kind: "producer", topic: topicName, rate: 5, settings: { acks } } };
  }
  if (partition.leader === null) return null;
  return { key: "coach.kill", params: { leader: partition.leader, partition: name }, command: { do: "kill", broker: partition.leader } };
}

/** {key, params, command, act} or null. `act` is the button's text when it is not `key` + ".do". */
export function advice(state, topicName, number, acks = "all") {
  if (!Object.keys(state.brokers).length) return null;
  if (!topicName || !state.topics[topicName]) {
    const copies = Math.min(3, Object.keys(state.brokers).length);
    const command = { do: "create_topic", topic: "orders", partitions: 3, replication_factor: copies, configs: { "min.insync.replicas": String(Math.min(2, copies)) } };
    return { key: "coach.no_topic", params: {}, command };
  }
  return state.topics[topicName].partitions[number] ? partitionAdvice(state, topicName, number, acks) : null;
}
