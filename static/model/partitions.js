/**
 * Events of topics, leaders, in-sync replicas and logs.
 *
 * `committed` of a partition is the cluster's truth: how far the high watermark of its leaders has come. A disk that
 * remembers less after a crash takes nothing back; only a leader whose log ends before it does (unclean election).
 * `forked` of a log: from there on it is another one than the leader that was elected, until it is cut there. A follower that is
 * cut behind that place goes on with the leader's records: what stands between `forked` and `joined` is another history.
 * `damaged` of a log: offsets whose bytes a bit flip has changed on that disk, until they are cut. The cluster does not know.
 * `directory` of a log: in which log directory it lies, of a broker that has several; `moving`: in which one a copy of it grows.
 * `refuses` of a follower's log: its end, while what the leader sends from there on does not go into it.
 *
 * A log keeps the last batches it has taken, as [base offset, last offset, CRC, bytes]: two replicas
 * whose batch at one offset has two checksums have diverged, and the screen can show it.
 */
import { brokerNode, brokerOf, isInternal } from "./names.js";
import { cutLines } from "./transactions.js";
import { committed } from "./quorum.js";

const METADATA = "__cluster_metadata";
const TAIL = 16;
const EMPTY_LOG = { leo: 0, hw: 0, start: 0 };

function minIsr(draft, configs) {
  return Number(configs?.["min.insync.replicas"] ?? draft.root.cluster.settings?.["min.insync.replicas"] ?? 1);
}

function addPartitions(draft, topic, assignment) {
  const found = draft.make("topics", topic, "partitions");
  const min_isr = minIsr(draft, draft.root.topics[topic].configs);
  for (const [number, replicas] of Object.entries(assignment ?? {})) {
    // leader null: created, and nobody has been elected yet; -1 means that nobody can be.
    found[number] = { leader: null, leader_epoch: -1, isr: [], replicas, min_isr, committed: 0, logs: {} };
  }
}

/** The log of `topic-partition` on the broker `node`, or null when the partition is not known. */
function logOf(draft, { topic, partition }, node) {
  const broker = brokerOf(node);
  const found = broker === null ? null : draft.own("topics", topic, "partitions", String(partition), "logs");
  if (!found) return null;
  found[broker] ??= EMPTY_LOG;
  return draft.own("topics", topic, "partitions", String(partition), "logs", broker);
}

const partitionOf = (draft, { topic, partition }) => draft.own("topics", topic, "partitions", String(partition));

function changeIsr(draft, params) {
  const found = partitionOf(draft, params);
  if (!found) return;
  found.isr = params.isr;
  if (params.leader_epoch !== undefined) found.leader_epoch = Math.max(found.leader_epoch, params.leader_epoch);
}

/**
 * The log ends at `leo`: nothing behind it is there, nor committed. The high watermark stays what it was otherwise: a
 * process that starts reads it from its checkpoint, and neither a leader nor a follower begins with another one.
 */
function endAt(log, leo, start = log.start) {
  Object.assign(log, { leo, start, hw: Math.max(start, Math.min(log.hw, leo)) });
  delete log.refuses;
  if (leo <= log.forked) for (const name of ["forked", "joined"]) delete log[name];
  if (log.damaged?.some((offset) => offset >= leo)) log.damaged = log.damaged.filter((offset) => offset < leo);
  if (log.tail?.some(([, last]) => last >= leo)) log.tail = log.tail.filter(([, last]) => last < leo);
}

/** The process of a broker is over: what its disks hold of its logs is all there is, {"orders-0": [leo, hw, start]}. */
export function keepStopped(draft, { node, logs }) {
  for (const [name, [leo, hw, start]] of Object.entries(logs)) {
    const at = name.lastIndexOf("-");
    const log = logOf(draft, { topic: name.slice(0, at), partition: name.slice(at + 1) }, node);
    if (!log) continue;
    endAt(log, leo, start);
    log.hw = hw;
  }
}

/** All logs that are known: [[topic, partition, broker, log]]. */
const everyLog = ({ topics }) => Object.entries(topics).flatMap(([topic, { partitions }]) =>
  Object.entries(partitions).flatMap(([number, { logs }]) => Object.entries(logs).map(([broker, log]) => [topic, number, broker, log])));

/** The logs that a broker has on its disks: [[topic, partition, log]]. */
const logsOn = (state, broker) => everyLog(state).filter(([, , id]) => id === String(broker)).map(([topic, number, , log]) => [topic, number, log]);

/** A follower does not take what its leader sends. */
export function refuse(draft, params, node) {
  const log = logOf(draft, params, node);
  if (log) log.refuses = params.offset;
}

/** The disks of a node are emptied: it has nothing of any log. What it had is kept, for the case that the command is refused. */
export function emptyDisks(draft, node) {
  const broker = brokerOf(node);
  const were = broker === null ? [] : logsOn(draft.root, broker);
  for (const [topic, number] of were) draft.own("topics", topic, "partitions", number, "logs")[broker] = EMPTY_LOG;
  draft.root.wiped = { node, were: [...(draft.root.wiped?.node === node ? draft.root.wiped.were : []), ...were] };
}

/** It was refused: everything is still there. */
export function putBack(draft, { node, were }) {
  for (const [topic, number, log] of were) {
    const logs = draft.own("topics", topic, "partitions", number, "logs");
    if (logs) logs[brokerOf(node)] = log;
  }
  delete draft.root.wiped;
}

/** The log of an elected leader is what counts: what others have behind its end is theirs alone. */
function lead(draft, params, event) {
  setEnd(draft, params, event);
  const found = partitionOf(draft, params);
  if (!found || params.leo === undefined || String(found.leader) !== brokerOf(event.node)) return;
  found.committed = Math.min(found.committed ?? 0, params.leo);
  if (found.transactions) found.transactions = cutLines(found.transactions, params.leo);
  // From here on offsets that were given out get other records.
  if (Object.values(found.logs).some(({ leo }) => leo > params.leo)) found.cut = Math.min(found.cut ?? Infinity, params.leo);
  part(draft, params, event);
}

/** What parts the logs from their leader's is known already; it may have lost its end since. */
function partFurther(draft, found, params) {
  for (const broker of Object.keys(found.logs).filter((one) => one !== String(found.leader) && found.logs[one].leo > params.leo)) {
    const log = logOf(draft, params, brokerNode(broker));
    log.forked = Math.min(log.forked ?? Infinity, params.leo);
  }
}

/**
 * Where the logs of a partition part from that of its new leader: behind the leader's end; and where that log had parted from
 * those before, everybody who has followed them has another history from there on. `parted`: whose log they are told against.
 */
function part(draft, params, { node }) {
  const own = logOf(draft, params, node);
  const { forked: since = Infinity, joined } = own;
  for (const name of ["forked", "joined"]) delete own[name];
  const found = partitionOf(draft, params);
  if (found.parted === found.leader) return partFurther(draft, found, params);
  found.parted = found.leader;
  for (const broker of Object.keys(found.logs).filter((one) => one !== String(found.leader))) {
    const { leo, forked } = found.logs[broker];
    const behind = Math.min(params.leo, forked === undefined ? since : Infinity);
    if (leo <= behind && forked === undefined) continue;
    const log = logOf(draft, params, brokerNode(broker));
    for (const name of ["forked", "joined"]) delete log[name];
    if (leo > behind) log.forked = behind;
    if (log.forked === since && joined !== undefined) log.joined = joined;
  }
}

/** The high watermark of whoever leads is what is committed. */
function commit(draft, params, broker, mark) {
  const found = draft.root.topics[params.topic]?.partitions[params.partition];
  if (found && String(found.leader) === broker && mark > (found.committed ?? 0)) partitionOf(draft, params).committed = mark;
}

function setEnd(draft, params, { node }) {
  const log = logOf(draft, params, node);
  if (log && params.leo !== undefined) endAt(log, params.leo);
}

/** Of a broker with several log directories: in which one its replica lies from now on. */
function lieIn(draft, params, { node }) {
  const log = logOf(draft, params, node);
  if (!log) return;
  log.directory = params.directory;
  delete log.moving;
}

/**
 * The batches of an append. A follower that catches up takes several of the leader's at once, and the event names the
 * checksum of the last one alone: those that the leader is known to have there are told one by one.
 */
function batchesOf({ leader, logs }, { base_offset: base, last_offset: last, crc = null, bytes = 0 }, node) {
  const theirs = brokerOf(node) === String(leader) ? [] : logs[leader]?.tail ?? [];
  const inside = theirs.filter(([from, to]) => from >= base && to <= last);
  const end = inside[inside.length - 1];
  return crc !== null && end?.[1] === last && end[2] === crc ? inside : [[base, last, crc, bytes]];
}

function configure(draft, { resource, name, key, value }) {
  if (resource === "topic") {
    const configs = draft.make("topics", name, "configs");
    if (value === null || value === undefined) delete configs[key];
    else configs[key] = value;
    if (key !== "min.insync.replicas") return;
    const wanted = minIsr(draft, configs);
    for (const number of Object.keys(draft.root.topics[name].partitions ?? {})) {
      draft.own("topics", name, "partitions", number).min_isr = wanted;
    }
  } else if (resource === "default") {
    const settings = draft.make("cluster", "settings");
    if (value === null || value === undefined) delete settings[key];
    else settings[key] = value;
  }
}

export const partitions = {
  topic_created(draft, { topic, assignment, configs }) {
    draft.make("topics")[topic] = { internal: isInternal(topic), configs: { ...configs }, partitions: {} };
    draft.fresh.add(draft.root.topics[topic]);
    addPartitions(draft, topic, assignment);
  },
  topic_grown(draft, { topic, assignment }) {
    addPartitions(draft, topic, assignment);
  },
  topic_deleted(draft, { topic }) {
    delete draft.make("topics")[topic];
  },
  config_changed: configure,
  leader_elected(draft, params) {
    const found = partitionOf(draft, params);
    if (!found) return;
    Object.assign(found, { parted: found.parted ?? found.leader, leader: params.leader, leader_epoch: params.leader_epoch, isr: params.isr });
    const own = found.logs[params.leader];
    if (own?.forked !== undefined) part(draft, { ...params, leo: own.leo }, { node: brokerNode(params.leader) }); // what it has counts from now on
    found.unclean = params.reason === "unclean"; // records may be missing since this election
    if (params.replicas) found.replicas = params.replicas;
  },
  assignment_changed(draft, params) {
    const found = partitionOf(draft, params);
    if (found) Object.assign(found, { replicas: params.replicas, adding: params.adding ?? [], removing: params.removing ?? [] });
  },
  leader_epoch_renewed(draft, params) {
    const found = partitionOf(draft, params);
    if (found) Object.assign(found, { leader: params.leader, leader_epoch: params.leader_epoch, isr: params.isr });
  },
  partition_offline(draft, params) {
    const found = partitionOf(draft, params);
    if (!found) return;
    Object.assign(found, { leader: -1, isr: params.isr ?? found.isr });
    found.leader_epoch = params.leader_epoch ?? found.leader_epoch;
  },
  isr_shrunk: changeIsr,
  isr_expanded: changeIsr,
  became_leader: lead,
  became_follower: setEnd,
  replica_stopped(draft, params, { node }) {
    const logs = draft.own("topics", params.topic, "partitions", String(params.partition), "logs");
    if (logs && params.deleted) delete logs[brokerOf(node)];
  },
  truncated(draft, params, { node }) {
    const log = logOf(draft, params, node);
    if (!log) return;
    endAt(log, params.after, Math.min(log.start, params.after));
    if (log.forked !== undefined) log.joined = Math.min(log.joined ?? Infinity, params.after);
  },
  log_appended(draft, params, { node }) {
    const log = logOf(draft, params, node);
    if (!log) return;
    log.leo = params.last_offset + 1;
    delete log.refuses;
    const batches = batchesOf(partitionOf(draft, params), params, node);
    log.tail = [...(log.tail ?? []), ...batches].slice(-TAIL);
  },
  high_watermark(draft, params, { node }) {
    if (params.topic === METADATA) return committed(draft, params.after);
    const log = logOf(draft, params, node);
    if (log) log.hw = params.after;
    commit(draft, params, brokerOf(node), params.after);
  },
  log_loaded(draft, params, { node }) {
    const log = logOf(draft, params, node);
    if (log) endAt(log, params.end, params.start);
  },
  log_recovered(draft, params, { node }) {
    const log = logOf(draft, params, node);
    if (log) endAt(log, params.end ?? log.leo);
  },
  // Not an event of the journal: while events are summed up, the ends and marks of all replicas that moved.
  marks(draft, params) {
    for (const [name, replicas] of Object.entries(params)) {
      const at = name.lastIndexOf("-");
      for (const [broker, [leo, hw, start]] of Object.entries(replicas)) {
        const log = logOf(draft, { topic: name.slice(0, at), partition: name.slice(at + 1) }, brokerNode(broker));
        if (log) Object.assign(log, { leo, hw, start });
        if (log && log.refuses !== leo) delete log.refuses;
        commit(draft, { topic: name.slice(0, at), partition: name.slice(at + 1) }, broker, hw);
      }
    }
  },
  // Nor is this: all that bit flips have left damaged on disks, [[topic, partition, broker, offsets]].
  damage(draft, { logs }) {
    for (const [topic, number, broker] of everyLog(draft.root).filter(([, , , log]) => log.damaged))
      delete draft.own("topics", topic, "partitions", number, "logs", broker).damaged;
    for (const [topic, partition, broker, offsets] of logs) {
      const log = logOf(draft, { topic, partition }, brokerNode(broker));
      if (log) log.damaged = offsets.filter((offset) => offset < log.leo);
    }
  },
  log_start_moved(draft, params, { node }) {
    const log = logOf(draft, params, node);
    if (log) log.start = params.offset;
  },
  replica_placed: lieIn,
  replica_moved: lieIn,
  replica_move_begun(draft, params, { node }) {
    const log = logOf(draft, params, node);
    if (log) Object.assign(log, { directory: params.before, moving: params.directory });
  },
  replica_move_ended(draft, params, { node }) {
    const log = logOf(draft, params, node);
    if (log) delete log.moving;
  },
};
