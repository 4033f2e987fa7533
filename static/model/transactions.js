/**
 * Transactions of a state: their coordinators' word, and where they stand in the logs. No DOM.
 *
 *     state.transactions.sales      {state, producer_id, epoch, partitions, timeout_ms, since_us, started_us}
 *     partition.transactions        [[producer id, first offset, marker | null, "commit" | "abort" | null], ...]
 *
 * The second is of the leader's log, and each replica has as much of it as its own log reaches: a marker that it has not
 * fetched yet is none for it, and what a new leader never got is gone.
 */

const KEPT = 8; // of those that are over
export const OPEN = "open";
const TOPIC = "__transaction_state";

const isOpen = ([, , marker]) => marker === null;

/** The newest of those that are over, and all that are open. */
function kept(lines) {
  const over = lines.filter((line) => !isOpen(line)).length;
  let left = over - KEPT;
  return lines.filter((line) => isOpen(line) || (left -= 1) < 0);
}

const linesOf = (draft, { topic, partition }) => draft.own("topics", topic, "partitions", String(partition));

/** A log that ends at `leo` has no marker behind it, and no beginning: [lines]. */
export function cutLines(lines, leo) {
  return lines.filter(([, first]) => first < leo).map((line) => (line[2] !== null && line[2] >= leo ? [line[0], line[1], null, null] : line));
}

export const transactions = {
  transaction_begins(draft, params) {
    const found = linesOf(draft, params);
    if (found) found.transactions = kept([...(found.transactions ?? []), [params.producer_id, params.offset, null, null]]);
  },
  transaction_ends(draft, params) {
    const found = linesOf(draft, params);
    if (!found) return;
    const others = (found.transactions ?? []).filter(([producer, first]) => producer !== params.producer_id || first !== params.first_offset);
    const line = [params.producer_id, params.first_offset, params.offset, params.outcome];
    found.transactions = kept([...others, line].sort((one, other) => one[1] - other[1]));
  },
  transaction_state(draft, params, { t }) {
    const one = draft.make("transactions", params.transactional_id);
    if (params.after === "Ongoing" && one.state !== "Ongoing") one.started_us = t;
    if (params.after === "Empty") one.started_us = null;
    Object.assign(one, { state: params.after, producer_id: params.producer_id, epoch: params.epoch, partitions: params.partitions, since_us: t });
  },
  transactional_id_expired(draft, { transactional_id: id }) {
    delete draft.make("transactions")[id];
  },
};

/**
 * The transactions of one replica: [{producer, first, marker, outcome, end}]. `end` is behind its last offset here: that of the
 * marker, or of the log while it is open.
 */
export function bandsOf(partition, log) {
  return cutLines(partition.transactions ?? [], log.leo).filter(([, first, marker]) => first < log.leo && (marker === null || marker >= log.start))
    .map(([producer, first, marker, outcome]) => ({ producer, first, marker, outcome: outcome ?? OPEN, end: marker === null ? log.leo : marker + 1 }));
}

/** Where read_committed ends on a replica: before the first transaction that is open, or whose marker is not committed. */
export function lastStable(partition, log) {
  const waits = bandsOf(partition, log).filter(({ marker }) => marker === null || marker >= log.hw);
  return waits.reduce((least, { first }) => Math.min(least, Math.max(first, log.start)), log.hw);
}

/** The transactional id that writes with a producer id; null: it is not known, or it is over and another producer id is in use. */
export function idOf(state, producer) {
  for (const [id, one] of Object.entries(state.transactions ?? {})) if (one.producer_id === producer) return id;
  return null;
}

/** Partition of `__transaction_state` (or another topic of a coordinator) that an id belongs to: Java's hash of a string. */
export function partitionFor(id, count) {
  let hash = 0;
  for (let index = 0; index < id.length; index += 1) hash = (Math.imul(hash, 31) + id.charCodeAt(index)) | 0;
  return (hash & 0x7fffffff) % count;
}

/** {partition, broker} of an id's coordinator: who leads its partition of `__transaction_state`; broker null: nobody does. */
export function coordinatorOf(state, id) {
  const partitions = state.topics[TOPIC]?.partitions;
  if (!partitions) return { partition: null, broker: null };
  const partition = partitionFor(id, Object.keys(partitions).length);
  const { leader } = partitions[partition] ?? {};
  return { partition, broker: leader >= 0 ? leader : null };
}

/** Microseconds until an open transaction is aborted by its coordinator; null while none is open, or the limit is not known. */
export function timeLeft(one, now) {
  if (one.state !== "Ongoing" || one.started_us === null || one.started_us === undefined || !one.timeout_ms) return null;
  return Math.max(0, one.started_us + one.timeout_ms * 1000 - now);
}
