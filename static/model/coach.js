/**
 * The next thing worth trying, from the state alone: what a learner who has read nothing sees first.
 *
 * The first line that holds:
 *
 * | state | says | does |
 * |---|---|---|
 * | no topic | a cluster without a topic has nothing to lose | create_topic |
 * | a broker is paused | alive, but silent | resume |
 * | a majority of the controllers is dead, or of ZooKeeper's servers | nobody can decide anything | restart |
 * | no leader | offline, bring one back that is in sync | restart |
 * | the leader is dead | nobody knows yet | |
 * | fewer in sync than acks=all needs | writes are refused | restart, or heal |
 * | one replica is left | the next death takes it all | restart |
 * | one is dead, another leads | what acks=0, 1 or all has kept | restart |
 * | one is dead that did not lead | the others go on | restart |
 * | links are slow or cut | copies come late | stop_all_faults |
 * | all alive, one not in sync | it catches up | |
 * | a topic, no records, no producer | start a producer | start_client |
 * | records, and nobody writes any more | start a producer again | start_client |
 * | the leader was never changed, another is in sync | kill it | kill |
 * | somebody leads who is not the first choice | give the lead back | elect_leaders |
 * | nobody reads | start a consumer | start_client |
 * | all of this is done | lessons | |
 *
 * A change of leader keeps what is committed. That is all that was acknowledged with acks=all only, so what is said of
 * it depends on the weakest acks in use.
 */
import { running, writes } from "./clients.js";
import { leaderLog } from "./figures.js";

const NOBODY = -1;
const FIRST_CONTROLLER = 100; // dedicated ones have the ids behind it

/** The least that a producer of `state`, or the viewer's `chosen` acks, waits for: "0" | "1" | "all". */
export function weakestAcks(state, chosen) {
  const used = Object.values(state.clients).filter(({ kind }) => kind === "producer").map(({ settings }) => String(settings?.acks ?? "all"));
  return ["0", "1"].find((acks) => acks === String(chosen) || used.includes(acks)) ?? "all";
}

const brokersThat = (state, ids, how) => ids.filter((id) => state.brokers[id]?.state === how);

/** Replicas of a partition that hold everything committed and live. */
export const livingInSync = (state, partition) => brokersThat(state, partition.isr, "running");

const restart = (broker) => ({ do: "restart", broker: Number(broker) });

function waitsForAll(state) {
  return running(state, "producer").some((name) => !["0", "1"].includes(String(state.clients[name].settings?.acks ?? "all")));
}

/** ZooKeeper without a majority of its servers: no session ends, nobody is elected. */
function lostTree(servers) {
  const names = Object.keys(servers ?? {}).filter((name) => name.startsWith("zookeeper-")).sort();
  const dead = names.filter((name) => servers[name].state === "stopped");
  if (!dead.length || 2 * (names.length - dead.length) > names.length) return null;
  const params = { n: dead.length, of: names.length, node: dead[0] };
  return { key: "coach.no_tree", params, act: "coach.no_majority.do", command: { do: "restart", node: dead[0] } };
}

/**
 * Why nobody can decide anything; null while somebody can. Whoever has ended has no copy of the metadata log any more; a voter
 * that is a broker comes back with it.
 */
export function lostMajority({ quorum, servers }) {
  const voters = quorum?.voters ?? [];
  if (!voters.length) return lostTree(servers);
  const dead = voters.filter((id) => !quorum.replicas?.[id]);
  if (!dead.length || 2 * (voters.length - dead.length) > voters.length || !Object.keys(quorum.replicas ?? {}).length) return null;
  const node = voters.some((id) => id > FIRST_CONTROLLER) ? `controller-${dead[0]}` : `broker-${dead[0]}`;
  return { key: "coach.no_majority", params: { n: dead.length, of: voters.length, node }, command: { do: "restart", node } };
}

/** Trouble: what is dead, silent, cut or behind; null when all is well. */
function trouble(state, name, partition, acks) {
  const { leader, isr, replicas, min_isr: least, leader_epoch: epoch } = partition;
  const frozen = Object.keys(state.brokers).find((id) => state.brokers[id].state === "paused");
  if (frozen) return { key: "coach.paused", params: { broker: frozen }, command: { do: "resume", broker: Number(frozen) } };
  const majority = lostMajority(state);
  if (majority) return majority;
  const dead = brokersThat(state, [...replicas].sort((a, b) => a - b), "stopped");
  const params = { leader, partition: name, epoch, broker: dead[0], least, n: isr.length };
  const act = "coach.moved.do";
  if (leader === NOBODY) {
    const back = brokersThat(state, isr, "stopped")[0] ?? dead[0];
    return back === undefined ? null : { key: "coach.offline", params: { ...params, broker: back }, act, command: restart(back) };
  }
  if (dead.includes(leader)) return { key: "coach.waiting", params: { broker: leader }, command: null };
  if (isr.length < least && waitsForAll(state)) {
    if (dead.length) return { key: "coach.refused", params, act, command: restart(dead[0]) };
    if (state.links?.length) return { key: "coach.refused_links", params, act: "coach.links.do", command: { do: "stop_all_faults" } };
    return { key: "coach.refused_behind", params, command: null };
  }
  if (dead.length) return fewer(state, partition, acks, params);
  if (state.links?.length) return { key: "coach.links", params, command: { do: "stop_all_faults" } };
  const behind = replicas.find((id) => !isr.includes(id) && state.brokers[id]);
  return behind === undefined ? null : { key: "coach.behind", params: { ...params, broker: behind, lacks: lacks(partition, behind) }, command: null };
}

const lacks = ({ logs, leader }, id) => Math.max(0, (logs[leader]?.leo ?? 0) - (logs[id]?.leo ?? 0));

/** A broker is dead, and somebody leads. */
function fewer(state, partition, acks, params) {
  const found = { act: "coach.moved.do", params, command: restart(params.broker) };
  if (partition.unclean) return { key: "coach.unclean", ...found };
  if (livingInSync(state, partition).length < 2) return { key: "coach.last", ...found };
  // The controller raises the epoch for a follower's death, too: what tells is who leads.
  return { key: partition.leader === partition.replicas[0] ? "coach.follower_down" : `coach.moved.${weakestAcks(state, acks)}`, ...found };
}

const start = (state, kind, topic, settings) => {
  const name = `${kind}-${topic}`;
  return name in state.clients ? { do: "start_client", name } : { do: "start_client", name, kind, topic, ...settings };
};

/** What comes next while all is well. */
function lesson(state, topic, number, partition, acks) {
  const { leader, replicas, isr, leader_epoch: epoch } = partition;
  const params = { leader, partition: `${topic}-${number}`, broker: replicas[0] };
  if (!writes(state)) {
    return {
      key: leaderLog(partition)?.leo > 0 ? "coach.no_writer" : "coach.no_records", params: { topic }, act: "coach.no_records.do",
      command: start(state, "producer", topic, { rate: 5, settings: { acks } })
    };
  }
  if (leader === null) return null;
  if (!(epoch > 0)) {
    if (livingInSync(state, partition).length > 1) return { key: "coach.kill", params, command: { do: "kill", broker: leader } };
    if (replicas.length === 1) return { key: "coach.single", params, command: null };
  }
  if (replicas[0] !== leader && isr.includes(replicas[0]))
    return { key: "coach.preferred", params, command: { do: "elect_leaders", topic, partition: Number(number) } };
  if (!running(state, "consumer").length)
    return { key: "coach.no_readers", params: { topic }, command: start(state, "consumer", topic, { settings: {
      "group.id": "readers", "auto.offset.reset": "earliest"
    } }) };
  return { key: "coach.lessons", params: {}, command: null, panel: "scenarios" };
}

/** {key, params, command, act, panel} or null. `act` is the button's text when it is not `key` + ".do", `panel` what it opens. */
export function advice(state, topicName, number, acks = "all") {
  if (!Object.keys(state.brokers).length) return null;
  if (!topicName || !state.topics[topicName]) {
    const copies = Math.min(3, Object.keys(state.brokers).length);
    const command = {
      do: "create_topic", topic: "orders", partitions: 3, replication_factor: copies,
      configs: { "min.insync.replicas": String(Math.min(2, copies)) }
    };
    return { key: "coach.no_topic", params: {}, command };
  }
  const partition = state.topics[topicName].partitions[number];
  if (!partition) return null;
  return trouble(state, `${topicName}-${number}`, partition, acks) ?? lesson(state, topicName, number, partition, acks);
}

/** What is said where time stands still, in the live run or (`elsewhere`) in an opened one: nobody can wait there. */
export function standstill(elsewhere) {
  return { key: elsewhere ? "coach.ended" : "coach.standing", params: {}, command: { do: "time", speed: "play" } };
}
