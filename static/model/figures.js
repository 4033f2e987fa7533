/** What the lights and tables say about a state; each answer is kept as long as the state is the same. */
import { byNumber, byTopic, isInternal } from "./names.js";

const kept = new WeakMap();

function memo(state, name, compute) {
  let found = kept.get(state);
  if (!found) kept.set(state, (found = {}));
  if (!(name in found)) found[name] = compute(state);
  return found[name];
}

/** The logs of a partition's leader, or of its most advanced replica while there is no leader. */
export function leaderLog(partition) {
  const own = partition.logs[partition.leader];
  if (own) return own;
  let best = null;
  for (const log of Object.values(partition.logs)) if (!best || log.leo > best.leo) best = log;
  return best;
}

/**
 * What tells whether an offset of a partition is on its leader, committed, or gone: {end, held, committed}.
 * `end`: that of the leader's log; while nobody leads nothing is on no leader. `held`: how far the replicas reach that
 * are there, null while none is.
 */
export function truthOf({ brokers }, partition) {
  const there = (id) => brokers[id]?.state !== "stopped";
  const ends = Object.entries(partition.logs).filter(([id]) => there(id)).map(([, log]) => log.leo);
  const hws = Object.values(partition.logs).map((log) => log.hw);
  return {
    end: there(partition.leader) ? leadingLog(partition)?.leo ?? Infinity : Infinity,
    held: ends.length ? Math.max(...ends) : null, committed: partition.committed ?? Math.max(0, ...hws),
  };
}

/** Every partition as {topic, number, name, partition}, user topics first. */
export function rows(state) {
  return memo(state, "rows", () => {
    const found = [];
    for (const topic of Object.keys(state.topics).sort(byTopic)) {
      for (const number of Object.keys(state.topics[topic].partitions).sort(byNumber)) {
        const partition = state.topics[topic].partitions[number];
        found.push({ topic, number, name: `${topic}-${number}`, partition });
      }
    }
    return found;
  });
}

function troubles({ leader, isr, replicas, min_isr: least }) {
  if (leader === null) return [];
  if (leader < 0) return ["offline"];
  return [isr.length < replicas.length && "underReplicated", isr.length < least && "belowMinIsr"].filter(Boolean);
}

/**
 * Kafka's UnderReplicatedPartitions, OfflinePartitionsCount, UnderMinIsrPartitionCount.
 *
 * | partition | replicas | ISR | min ISR | counts as |
 * |---|---|---|---|---|
 * | orders-0 | 1 2 3 | 2 3 | 2 | under-replicated |
 * | orders-1 | 1 2 3 | 3 | 2 | under-replicated, below min ISR |
 * | orders-2 | 1 | 1, leader -1 | 1 | offline |
 *
 * `internal`: how many of each are of Kafka's own topics, which tables show on demand only.
 */
export function lights(state) {
  return memo(state, "lights", () => {
    const none = { underReplicated: 0, offline: 0, belowMinIsr: 0 };
    const found = { partitions: 0, ...none, internal: { ...none } };
    for (const { topic, partition } of rows(state)) {
      found.partitions += 1;
      for (const name of troubles(partition)) {
        found[name] += 1;
        if (isInternal(topic)) found.internal[name] += 1;
      }
    }
    return found;
  });
}

/** Records of a group that were not read yet: sum of (high watermark - committed offset). */
export function lag(state, group) {
  let sum = 0;
  for (const [topic, partitions] of Object.entries(group.offsets ?? {})) {
    for (const [number, offset] of Object.entries(partitions)) {
      const partition = state.topics[topic]?.partitions[number];
      const log = partition && leaderLog(partition);
      if (log) sum += Math.max(0, log.hw - offset);
    }
  }
  return sum;
}

/**
 * The log of the leader while there is one: what stands beyond its end on another replica is on no leader, and is cut
 * off as soon as that replica follows.
 *
 *     leader  0 1 2            log end 3
 *     other   0 1 2 3 4        3 and 4 are not on the leader
 */
export const leadingLog = (partition) => (partition.leader >= 0 ? partition.logs[partition.leader] ?? null : null);

/** Whether `leader` (a log) has something else than the batch [base, last] there, or nothing. */
function lacks(leader, { base, last }) {
  if (base >= leader.leo) return true;
  return (leader.tail ?? []).some(([from, to]) => from <= last && to >= base && (from !== base || to !== last));
}

/** The batches of a partition offset by offset: [{base, last, bytes, replicas: {broker: crc}, differs, absent}]; `absent`: not on the leader. */
export function ledger(partition, limit = 9) {
  const leader = leadingLog(partition);
  const found = new Map();
  for (const [broker, log] of Object.entries(partition.logs)) {
    for (const [base, last, crc, bytes] of log.tail ?? []) {
      const key = `${base}-${last}`;
      if (!found.has(key)) found.set(key, { key, base, last, bytes, replicas: {}, differs: false });
      const line = found.get(key);
      const others = Object.values(line.replicas);
      line.differs ||= crc !== null && others.some((other) => other !== null && other !== crc);
      line.replicas[broker] = crc;
    }
  }
  const lines = [...found.values()].sort((left, right) => right.base - left.base || right.last - left.last).slice(0, limit);
  for (const line of lines) line.absent = leader !== null && !(partition.leader in line.replicas) && lacks(leader, line);
  return lines;
}

/** A checksum as people compare it: its last four hexadecimal digits. */
export function shortCrc(crc) {
  if (crc === null || crc === undefined) return "";
  return (Number(crc) >>> 0).toString(16).padStart(8, "0").slice(-4);
}

/** The checksum of a replica's last batch, and whether any of its last batches is another one than the leader has there. */
export function fingerprint(partition, id) {
  const own = partition.logs[id]?.tail ?? [];
  const last = own[own.length - 1];
  if (!last || last[2] === null) return null;
  const theirs = new Map((partition.logs[partition.leader]?.tail ?? []).map(([base, end, crc]) => [`${base}-${end}`, crc]));
  const differs = own.some(([base, end, crc]) => crc !== null && (theirs.get(`${base}-${end}`) ?? crc) !== crc);
  return { text: `#${shortCrc(last[2])}`, differs };
}
