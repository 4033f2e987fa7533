/**
 * The next thing worth trying, from the state alone: what a learner who has read nothing sees first.
 *
 * The first line that holds:
 *
 * | state | says | does |
 * |---|---|---|
 * | a broker or a server is paused | alive, but silent | resume |
 * | all brokers are dead | nobody is there to notice | restart |
 * | a majority of the controllers is dead, or of ZooKeeper's servers | nobody can decide anything | restart |
 * | no topic | a cluster without a topic has nothing to lose | create_topic; restart where a broker is dead |
 * | no leader | offline, bring one back that is in sync | restart, or repair_disk |
 * | the leader is dead | nobody knows yet | |
 * | fewer in sync than acks=all needs | writes are refused | restart, or heal |
 * | one replica is left | the next death takes it all | restart |
 * | one is dead, another leads | what acks=0, 1 or all has kept | restart |
 * | one is dead that did not lead | the others go on | restart |
 * | links are slow or cut | copies come late | stop_all_faults |
 * | links deliver twice or out of order | what sequence numbers keep out | stop_all_faults |
 * | a disk has a fault | what it does to its broker | repair_disk |
 * | a broker is dead that has no copy of this partition | another one is offline, or has a copy fewer | restart |
 * | one of several controllers is dead, or of ZooKeeper's servers | the others decide | restart |
 * | all alive, one not in sync | it catches up | |
 * | a client is paused | it neither sends nor reads | resume |
 * | a topic, no records, no producer | start a producer | start_client |
 * | records, and nobody writes any more | start a producer again | start_client |
 * | the leader was never changed, another is in sync and controllers would be left | kill it | kill |
 * | somebody leads who is not the first choice | give the lead back | elect_leaders |
 * | nobody reads | start a consumer | start_client |
 * | all of this is done | lessons | |
 *
 * Before all of that: a moment of the past (`past`), a world that stands still (`standstill`), and a lab that has taken more
 * than it may (`holds`). In a copy of an open run (`copied`) trouble comes first, then what the copy is for: no lesson goes on there.
 *
 * A change of leader keeps what is committed. That is all that was acknowledged with acks=all only, so what is said of
 * it depends on the weakest acks in use.
 */
import { seconds } from "../i18n/format.js";
import { running, writes } from "./clients.js";
import { leaderLog, rows } from "./figures.js";
import { brokerNode, byNumber, controllerNode } from "./names.js";

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

/** Whether somebody may wait for acks=all: a client from outside does unless it was told otherwise. */
function waitsForAll(state) {
  const all = (name) => !["0", "1"].includes(String(state.clients[name].settings?.acks ?? "all"));
  return running(state, "producer").some(all) || Object.keys(state.connections ?? {}).length > 0;
}

const serversOf = (servers, which) => Object.keys(servers ?? {}).filter((name) => which.test(name)).sort();

/** ZooKeeper without a majority of its servers: no session ends, nobody is elected. */
function lostTree(servers) {
  const names = serversOf(servers, /^zookeeper(-|$)/);
  const dead = names.filter((name) => servers[name].state === "stopped");
  if (!dead.length || 2 * (names.length - dead.length) > names.length) return null;
  const params = { n: dead.length, of: names.length, node: dead[0] };
  return { key: "coach.no_tree", params, act: "coach.no_majority.do", command: { do: "restart", node: dead[0] } };
}

/**
 * Why nobody can decide anything; null while somebody can. Whoever has ended has no copy of the metadata log any more; a voter
 * that is a broker comes back with it. While nobody has one yet, those that are brokers tell who is dead.
 */
export function lostMajority({ quorum, servers, brokers }) {
  const voters = quorum?.voters ?? [];
  if (!voters.length) return lostTree(servers);
  const copies = quorum.replicas ?? {};
  const known = Object.keys(copies).length > 0;
  const dead = voters.filter((id) => known ? !copies[id] : brokers?.[id]?.state === "stopped");
  if (!dead.length || 2 * (voters.length - dead.length) > voters.length) return null;
  const node = voters.some((id) => id > FIRST_CONTROLLER) ? controllerNode(dead[0]) : brokerNode(dead[0]);
  return { key: "coach.no_majority", params: { n: dead.length, of: voters.length, node }, command: { do: "restart", node } };
}

/** What keeps everybody waiting, whatever partition one looks at; null when nothing does. `wanted`: brokers to bring back first. */
export function halted(state, wanted = []) {
  const ids = Object.keys(state.brokers).sort(byNumber);
  const [frozen] = brokersThat(state, ids, "paused");
  if (frozen) return { key: "coach.paused", params: { broker: frozen }, command: { do: "resume", broker: Number(frozen) } };
  const node = Object.keys(state.servers ?? {}).sort().find((name) => state.servers[name].state === "paused");
  if (node) return { key: "coach.server_paused", params: { node }, command: { do: "resume", node } };
  const dead = brokersThat(state, ids, "stopped");
  if (!dead.length || dead.length < ids.length) return lostMajority(state);
  const broker = wanted.find((id) => state.brokers[id]) ?? dead[0];
  return { key: "coach.all_dead", params: { n: dead.length, broker }, act: "coach.moved.do", command: restart(broker) };
}

/** A disk that does not do what it should, of the `ids`. */
function disk(state, ids) {
  const broker = ids.find((id) => state.brokers[id]?.disk?.length);
  return broker === undefined ? null : { key: "coach.disk", params: { broker }, command: { do: "repair_disk", broker: Number(broker) } };
}

/** Nobody leads: who could, if he came back. */
function offline(state, { isr, replicas }, params) {
  const back = brokersThat(state, isr, "stopped")[0] ?? params.broker;
  if (back !== undefined) return { key: "coach.offline", params: { ...params, broker: back }, act: "coach.moved.do", command: restart(back) };
  return disk(state, replicas) ?? { key: "coach.leaderless", params, command: null };
}

/** Writes with acks=all are refused: by what keeps the others out. */
function refused(state, dead, params) {
  if (dead.length) return { key: "coach.refused", params, act: "coach.moved.do", command: restart(dead[0]) };
  if (state.links?.length) return { key: "coach.refused_links", params, act: "coach.links.do", command: { do: "stop_all_faults" } };
  return disk(state, Object.keys(state.brokers)) ?? { key: "coach.refused_behind", params, command: null };
}

/** Links that deliver everything, and soon, but some of it twice or out of order. */
const onlyRepeat = ({ cluster, links }) => links.every(({ partitioned, drop, bandwidth, jitter_us: jitter, delay_us: delay }) =>
  !partitioned && !drop && !bandwidth && !jitter && (delay ?? 0) === (cluster.link_delay_us ?? 0));

/** What is wrong with a partition: who of its replicas is dead, cut off or faulty. */
function ofPartition(state, name, partition, acks) {
  const { leader, isr, replicas, min_isr: least, leader_epoch: epoch } = partition;
  const dead = brokersThat(state, [...replicas].sort(byNumber), "stopped");
  const params = { leader, partition: name, epoch, broker: dead[0], least, n: isr.length };
  if (leader === NOBODY) return offline(state, partition, params);
  if (dead.includes(leader)) return { key: "coach.waiting", params: { broker: leader }, command: null };
  if (isr.length < least && waitsForAll(state)) return refused(state, dead, params);
  if (dead.length) return fewer(state, partition, acks, params);
  const wrong = onlyRepeat(state) ? "coach.links_repeat" : state.links.every(({ partitioned }) => partitioned) ? "coach.links_cut" : "coach.links";
  if (state.links?.length) return { key: wrong, params, act: "coach.links.do", command: { do: "stop_all_faults" } };
  return null;
}

/** What is dead or faulty and has nothing to do with the partition that is looked at. */
function elsewhere(state, acks) {
  const ids = Object.keys(state.brokers).sort(byNumber);
  const [broker] = brokersThat(state, ids, "stopped");
  if (broker !== undefined) {
    const lost = rows(state).find(({ partition }) => partition.leader === NOBODY);
    return lost ? ofPartition(state, lost.name, lost.partition, acks)
      : { key: "coach.dead", params: { broker }, act: "coach.moved.do", command: restart(broker) };
  }
  const servers = serversOf(state.servers, /./);
  const node = servers.find((name) => state.servers[name].state === "stopped");
  if (node) return { key: "coach.server_dead", params: { node, n: servers.length - 1 }, act: "coach.no_majority.do", command: { do: "restart", node } };
  return disk(state, ids);
}

function behind(state, name, partition) {
  const { replicas, isr, leader } = partition;
  const broker = replicas.find((id) => !isr.includes(id) && state.brokers[id]);
  if (broker === undefined) return null;
  return { key: "coach.behind", params: { leader, partition: name, broker, n: isr.length, lacks: lacks(partition, broker) }, command: null };
}

/** Somebody was told to stand still, and is waited for. */
function idle(state) {
  const node = Object.keys(state.clients).sort().find((name) => state.clients[name].state === "paused");
  return node === undefined ? null : { key: "coach.client_paused", params: { node }, act: "coach.server_paused.do", command: { do: "resume", node } };
}

/** Trouble: what is dead, silent, cut or faulty; null when all is well. The partition may be one that is not there (yet). */
export function trouble(state, name, partition, acks = "all") {
  const wanted = partition ? [partition.leader, ...partition.isr] : [];
  return halted(state, wanted) ?? (partition ? ofPartition(state, name, partition, acks) : null) ?? elsewhere(state, acks);
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

/** Whether a majority of the voters lives on when this broker, which may be one, is dead. */
export function decideWithout({ quorum }, broker) {
  const voters = quorum?.voters ?? [];
  const left = voters.filter((id) => quorum.replicas?.[id] && id !== Number(broker));
  return !voters.includes(Number(broker)) || 2 * left.length > voters.length;
}

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
    if (livingInSync(state, partition).length > 1) {
      if (!decideWithout(state, leader)) return { key: "coach.no_spare", params, command: null };
      return { key: "coach.kill", params, command: { do: "kill", broker: leader } };
    }
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
  const partition = state.topics[topicName]?.partitions[number];
  const name = `${topicName}-${number}`;
  const found = trouble(state, name, partition, acks);
  if (found) return found;
  if (!topicName || !state.topics[topicName]) {
    const copies = Math.min(3, Object.keys(state.brokers).length);
    const command = {
      do: "create_topic", topic: "orders", partitions: 3, replication_factor: copies,
      configs: { "min.insync.replicas": String(Math.min(2, copies)) }
    };
    return { key: "coach.no_topic", params: {}, command };
  }
  if (!partition) return null;
  return behind(state, name, partition) ?? idle(state) ?? lesson(state, topicName, number, partition, acks);
}

/** What is said of a lab that has taken more than it may (`over`: of what): its writers wait until there is room. */
export function holds([what]) {
  return { key: `coach.over.${what}`, params: {}, act: "coach.over.do", command: null, panel: "runs" };
}

/** What is said where time stands still, in the live run, in an opened one (`elsewhere`) or in a copy of one: nobody can wait there. */
export function standstill(elsewhere, made = null) {
  const command = { do: "time", speed: "play" };
  if (made) return { key: "coach.copy.standing", params: made, act: "coach.standing.do", command };
  return { key: elsewhere ? "coach.ended" : "coach.standing", params: {}, command };
}

/** Of which open run, {parent, t} in seconds, the run that is looked at is a copy; null when it is none. `open`: as the list of runs has them. */
export function madeOf(open, run) {
  const one = open.find((other) => other.run === run);
  if (!one?.parent || !open.some((other) => other.run === one.parent)) return null;
  return { parent: one.parent, t: seconds(one.forked_at_us) };
}

/** What is said in a copy that goes on: trouble, else what it is for. What is tried there does not touch the run that it was `made` of. */
export function copied(state, topicName, number, acks, made) {
  const partition = state.topics[topicName]?.partitions[number];
  return trouble(state, `${topicName}-${number}`, partition, acks) ?? { key: "coach.copy", params: made, command: null, compares: true };
}

/** What is said of a moment of the past, {viewed, cluster} in seconds, of a cluster that goes on or is `paused`, or of a copy. */
export function past(times, paused, made = null) {
  const key = made ? "coach.past.copy" : "coach.past";
  return { key: paused ? `${key}.paused` : key, params: { ...times, ...made }, act: `${key}.do` };
}
