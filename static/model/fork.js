/**
 * What a fork begins with: choices of the dialog -> commands. No DOM.
 *
 *     {acks: "1", "broker:2": "kill"}  ->  [{do: set_client, ...acks: 1}, {do: kill, broker: 2}]
 *
 * A choice that is missing or "" leaves things as they are. Commands are carried out in this order:
 * settings first, then links, then processes, so that a kill meets the new settings.
 */
import { running } from "./clients.js";
import { byNumber } from "./names.js";

export const SETTINGS = { "min.insync.replicas": ["1", "2", "3"], "unclean.leader.election.enable": ["true", "false"] };
/** What replication protects itself with; each can be taken away, to see what it prevents. */
export const PROTECTIONS = [
  "truncate_by_leader_epoch", "epoch_end_offset_of_largest_not_above", "fence_fetch_by_leader_epoch", "isr_expansion_waits_for_epoch_start",
  "fence_follower_of_newer_epoch", "truncate_on_every_new_epoch", "maximal_isr", "isr_checks_broker_epoch", "truncate_before_high_watermark",
  "empty_epochs_truncate", "ignore_diverged_fetch_state", "diverging_epoch_in_fetch",
];
const SLOW_MS = 100;

/** Whether a protection is in place in a state. */
export const inPlace = (state, name) => state.cluster.protections?.[name] !== false;

/** What can be done to a broker in its state. */
export function brokerChoices(broker) {
  if (broker.state === "stopped") return ["restart"];
  return ["kill", broker.state === "paused" ? "resume" : "pause", "stop", "power_loss"];
}

/** The commands of the choices, for a topic of a state. */
export function commandsOf(choices, state, topic) {
  const found = [];
  if (choices.acks) for (const name of running(state, "producer")) found.push({ do: "set_client", name, set: { acks: choices.acks } });
  for (const setting of Object.keys(SETTINGS)) {
    if (choices[setting] && topic) found.push({ do: "alter_config", topic, set: { [setting]: choices[setting] } });
  }
  if (choices.protection) found.push({ do: "set_protection", set: { [choices.protection]: !inPlace(state, choices.protection) } });
  if (choices.links && topic) {
    const between = [`leader_of:${topic}-0`, `followers_of:${topic}-0`];
    found.push(choices.links === "slow" ? { do: "delay_link", between, delay_ms: SLOW_MS } : { do: "partition_link", between });
  }
  for (const id of Object.keys(state.brokers).sort(byNumber)) {
    if (choices[`broker:${id}`]) found.push({ do: choices[`broker:${id}`], broker: Number(id) });
  }
  return found;
}

const sorted = (value) => (Array.isArray(value) ? [...value].sort((one, other) => one - other) : value);

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
