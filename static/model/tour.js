/**
 * The first visit: from an empty cluster to the receipt, one step at a time. No DOM.
 *
 *     topic -> producer -> kill -> election -> receipt -> done
 *
 * The step follows from the state and from a few events that are remembered (`take`), so a learner who
 * does a step with another button, or out of order, is never asked to do it again.
 */
import { writes } from "./clients.js";
import { leaderLog } from "./figures.js";
import { brokerOf, isInternal, isKRaft } from "./names.js";

export const STEPS = ["topic", "producer", "kill", "election", "receipt"];
const ENOUGH = 10; // acknowledged records, before a leader is worth killing
const SESSION = { zookeeper: ["zookeeper.session.timeout.ms", 18_000], kraft: ["broker.session.timeout.ms", 9_000] };
const TEACHING_MS = 3_000; // with that preset, in both

export class Tour {
  constructor() {
    this.reset();
  }

  reset() {
    this.before = null; // records that were there when the tour first looked: those of an earlier day are nothing to watch
    this.killed = null; // {broker, t, seq, led: {"orders-0": true}, heard}; heard: from when on the controller waits for its heartbeat
    this.elected = null; // {seq, t, leader, name, epoch, reason}; the killed broker itself when nobody else was in sync
    this.target = null; // {topic, number}: the partition that the tour speaks of
    this.receipt = false; // it was looked at after the election
  }

  /** An event, and the state before it. */
  take(event, state) {
    const { code, params, node, t, seq } = event;
    if (code === "process_ended" && brokerOf(node) !== null && params.how !== "shutdown") this.#died(Number(brokerOf(node)), t, seq, state);
    // A new active controller knows of no heartbeat, and gives every broker a whole session.
    if (code === "controller_elected" && this.killed && !this.elected && isKRaft(state)) this.killed.heard = t;
    if (code === "leader_elected" && this.killed) {
      const name = `${params.topic}-${params.partition}`;
      if (this.elected && (name !== this.targetName || this.elected.name === name)) return;
      if (name in this.killed.led) this.elected = { seq, t, leader: params.leader, name, epoch: params.leader_epoch ?? params.epoch, reason: params.reason };
    }
  }

  #died(broker, t, seq, state) {
    const led = {};
    for (const [topic, { internal, partitions }] of Object.entries(state.topics)) {
      if (internal) continue;
      for (const [number, partition] of Object.entries(partitions)) if (partition.leader === broker) led[`${topic}-${number}`] = true;
    }
    if (!Object.keys(led).length || (this.killed && !this.elected)) return; // a leader that dies later is the one to speak of
    Object.assign(this, { killed: { broker, t, seq, led, heard: t }, elected: null, receipt: false });
  }

  get targetName() {
    return this.target && `${this.target.topic}-${this.target.number}`;
  }

  /** The partition to speak of: the one before, while it has a leader and records, else the one with most records. */
  aim(state) {
    const holds = ({ topic, number }) => records(state.topics[topic]?.partitions[number]);
    if (this.target && holds(this.target) > 0) return this.target;
    let best = null;
    for (const [topic, { partitions }] of Object.entries(state.topics)) {
      if (isInternal(topic)) continue;
      for (const number of Object.keys(partitions)) if (holds({ topic, number }) > (best ? holds(best) : 0)) best = { topic, number };
    }
    this.target = best;
    return best;
  }

  /** Which step is next; null when the tour is over. */
  step(state) {
    if (this.receipt) return null;
    if (this.elected) return "receipt";
    if (this.killed && !Object.keys(this.killed.led).some((name) => partitionOf(state, name))) this.killed = null; // what it led was deleted
    if (this.killed) return "election";
    const topics = Object.keys(state.topics).filter((name) => !state.topics[name].internal);
    if (!topics.length) {
      this.before = 0;
      return "topic";
    }
    const n = written(state, topics);
    this.before ??= n;
    const enough = n - this.before >= ENOUGH || (writes(state) && (acked(state) >= ENOUGH || n >= ENOUGH));
    return enough ? "kill" : "producer";
  }

  /** How long the cluster waits for a sign of life before it gives a broker up, in microseconds. */
  patience(state) {
    const { settings = {}, preset } = state.cluster;
    const [name, usual] = SESSION[isKRaft(state) ? "kraft" : "zookeeper"];
    return 1000 * Number(settings[name] ?? (preset === "teaching" ? TEACHING_MS : usual));
  }
}

/** The partition called "orders-0"; undefined when there is none. */
function partitionOf(state, name) {
  const at = name.lastIndexOf("-");
  return state.topics[name.slice(0, at)]?.partitions[name.slice(at + 1)];
}

/** Records in the leader's log; 0 without a leader. */
function records(partition) {
  return partition && partition.leader >= 0 && partition.leader !== null ? leaderLog(partition)?.leo ?? 0 : 0;
}

function acked(state) {
  return Object.values(state.clients).reduce((sum, client) => sum + (client.kind === "producer" ? client.acked ?? 0 : 0), 0);
}

function written(state, topics) {
  let sum = 0;
  for (const name of topics)
    for (const { logs } of Object.values(state.topics[name].partitions)) sum += Math.max(0, ...Object.values(logs).map((log) => log.leo));
  return sum;
}
