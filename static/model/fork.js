/**
 * What a fork begins with: choices of the dialog -> commands. No DOM.
 *
 *     {acks: "1", "broker:2": "kill"}  ->  [{do: set_client, ...acks: 1}, {do: kill, broker: 2}]
 *     row {subject: "topic:orders", name: "flush.messages", value: "1"}  ->  {do: alter_config, topic: orders, ...}
 *
 * A choice that is missing or "" leaves things as they are; a row without a value takes the setting back. What is set
 * for one client, topic or broker is one command, as settings of a client are looked at together. Commands are
 * carried out in this order: settings first, then links, then processes, so that a kill meets the new settings.
 */
import { running } from "./clients.js";
import { byNumber, byTopic, isInternal } from "./names.js";

export const SETTINGS = { "min.insync.replicas": ["1", "2", "3"], "unclean.leader.election.enable": ["true", "false"] };
/** What replication protects itself with; each can be taken away, to see what it prevents. */
export const PROTECTIONS = [
  "truncate_by_leader_epoch", "epoch_end_offset_of_largest_not_above", "fence_fetch_by_leader_epoch", "isr_expansion_waits_for_epoch_start",
  "fence_follower_of_newer_epoch", "truncate_on_every_new_epoch", "maximal_isr", "isr_checks_broker_epoch", "truncate_before_high_watermark",
  "empty_epochs_truncate", "ignore_diverged_fetch_state", "diverging_epoch_in_fetch", "transactions_v2",
];
const SLOW_MS = 100;

/** Whether a protection is in place in a state. */
export const inPlace = (state, name) => state.cluster.protections?.[name] !== false;

/** What can be done to a broker in its state. */
export function brokerChoices(broker) {
  if (broker.state === "stopped") return ["restart"];
  return ["kill", broker.state === "paused" ? "resume" : "pause", "stop", "power_loss"];
}

const runningBrokers = (state) => Object.keys(state.brokers).filter((id) => state.brokers[id].state === "running").sort(byNumber);

/**
 * Who has settings that can be chosen freely: "client:NAME" of built-in clients, "topic:NAME", "broker:ID" of those
 * that run, "brokers" for all of them.
 */
export function subjectsOf(state) {
  const topics = Object.keys(state.topics).filter((name) => !isInternal(name)).sort(byTopic);
  const brokers = runningBrokers(state);
  return [
    ...Object.keys(state.clients).sort().map((name) => `client:${name}`), ...topics.map((name) => `topic:${name}`),
    ...(brokers.length ? ["brokers"] : []), ...brokers.map((id) => `broker:${id}`),
  ];
}

/** Which settings a subject has: what to ask the inspector for (`config`). */
export const configOf = (subject) => (subject.startsWith("broker") ? "broker:any" : subject);

/** What one row does: commands of one setting each. */
function commandsOfRow({ subject, name, value }, state) {
  const setting = name.trim();
  if (!setting || !subject) return [];
  const set = { [setting]: value.trim() === "" ? null : value.trim() };
  const which = subject.slice(subject.indexOf(":") + 1);
  if (subject.startsWith("client:")) return [{ do: "set_client", name: which, set }];
  if (subject.startsWith("topic:")) return [{ do: "alter_config", topic: which, set }];
  return (subject === "brokers" ? runningBrokers(state) : [which]).map((id) => ({ do: "alter_config", broker: Number(id), set }));
}

/** Commands with the same target become one. */
function joined(commands) {
  const found = new Map();
  for (const { set, ...target } of commands) {
    const key = JSON.stringify(target);
    found.set(key, { ...target, set: { ...found.get(key)?.set, ...set } });
  }
  return [...found.values()];
}

function settingsOf(choices, state, topic, rows) {
  const found = [];
  if (choices.acks) for (const name of running(state, "producer")) found.push({ do: "set_client", name, set: { acks: choices.acks } });
  for (const setting of Object.keys(SETTINGS)) {
    if (choices[setting] && topic) found.push({ do: "alter_config", topic, set: { [setting]: choices[setting] } });
  }
  for (const row of rows) found.push(...commandsOfRow(row, state));
  return joined(found);
}

/** The command that a row is a part of: what to try before it is carried out; null when the row is not filled in. */
export function trialOf(row, { choices, state, topic, rows }) {
  const [own] = commandsOfRow(row, state);
  if (!own) return null;
  const { set, ...target } = own;
  const whole = settingsOf(choices, state, topic, rows).find(({ set: _, ...other }) => JSON.stringify(other) === JSON.stringify(target));
  return whole ?? own;
}

/** The commands of the choices, for a partition of a topic of a state; `rows`: settings that were chosen freely. */
export function commandsOf(choices, state, topic, { number = "0", rows = [] } = {}) {
  const found = settingsOf(choices, state, topic, rows);
  if (choices.protection) found.push({ do: "set_protection", set: { [choices.protection]: !inPlace(state, choices.protection) } });
  if (choices.links && topic) {
    const between = [`leader_of:${topic}-${number}`, `followers_of:${topic}-${number}`];
    found.push(choices.links === "slow" ? { do: "delay_link", between, delay_ms: SLOW_MS } : { do: "partition_link", between });
  }
  for (const id of Object.keys(state.brokers).sort(byNumber)) {
    if (choices[`broker:${id}`]) found.push({ do: choices[`broker:${id}`], broker: Number(id) });
  }
  return found;
}

const sorted = (value) => (Array.isArray(value) ? [...value].sort((one, other) => one - other) : value);

const topicOf = (partition) => partition.slice(0, partition.lastIndexOf("-"));

/**
 * Differences in the order in which they tell something: what differs, then what is the same. Of internal topics what is the
 * same is one line each: {rows, folded: [{topic, n}]}.
 */
export function inOrder(partitions) {
  const rows = [];
  const folded = new Map();
  for (const one of partitions) {
    const topic = topicOf(one.name);
    if (one.differs.length || !isInternal(topic)) rows.push(one);
    else folded.set(topic, (folded.get(topic) ?? 0) + 1);
  }
  const rank = ({ name, differs }) => (differs.length ? 0 : 2) + (isInternal(topicOf(name)) ? 1 : 0);
  return { rows: rows.sort((one, other) => rank(one) - rank(other)), folded: [...folded].map(([topic, n]) => ({ topic, n })) };
}

/**
 * What two outlines differ in: {partitions: [{name, left, right, differs: [fact]}], differing, cluster: [fact]}.
 * A partition that only one has stands there with null on the other side.
 */
export function difference(left, right) {
  const facts = ["leader", "leader_epoch", "isr", "leo", "hw", "hash"];
  const names = [...new Set([...Object.keys(left.partitions), ...Object.keys(right.partitions)])];
  const partitions = names.map((name) => {
    const [one, other] = [left.partitions[name] ?? null, right.partitions[name] ?? null];
    const same = (fact) => JSON.stringify(sorted(one[fact])) === JSON.stringify(sorted(other[fact]));
    const differs = one && other ? facts.filter((fact) => !same(fact)) : facts;
    return { name, left: one, right: other, differs };
  });
  const cluster = ["controller", "controller_epoch"].filter((fact) => left[fact] !== right[fact]);
  return { partitions, cluster, differing: partitions.filter((one) => one.differs.length).length };
}

/** Open runs as a tree: [{...run, depth}], parents before their branches. */
export function treeOf(open) {
  const found = [];
  const known = new Set(open.map((one) => one.run));
  const add = (parent, depth) => {
    for (const one of open) {
      const root = parent === null ? !known.has(one.parent) : one.parent === parent;
      if (!root || found.some((seen) => seen.run === one.run)) continue;
      found.push({ ...one, depth });
      add(one.run, depth + 1);
    }
  };
  add(null, 0);
  return found;
}
