/**
 * Share-partitions of a state, record by record (KIP-932). No DOM.
 *
 *     state.shares.jobs["orders-0"]     {start, records: {41: ["acquired", 2, "worker-a", 9250000]}}
 *
 * A line is [state, deliveries, who holds it, until when in virtual microseconds]. What is done stays for a while behind the start,
 * so that one sees what became of it. Locks are not written down: where another leader begins, what was acquired is available, and
 * that delivery does not count.
 */
const KEPT = 48; // records that are done, behind the start
export const DONE = new Set(["acknowledged", "archived"]);
export const STATES = ["available", "acquired", "acknowledged", "archived"];
export const SIGNS = { available: "○", acquired: "●", acknowledged: "✓", archived: "⊘" };

const nameOf = ({ topic, partition }) => `${topic}-${partition}`;

function share(draft, params) {
  const found = draft.make("shares", params.group, nameOf(params));
  found.start ??= params.first ?? params.start ?? 0;
  draft.make("shares", params.group, nameOf(params), "records");
  return found;
}

/** Each offset of an event's range; `line(offset, what it was)` is what it is now. */
function each(found, { first, last }, line) {
  for (let offset = first; offset <= last; offset += 1) found.records[offset] = line(offset, found.records[offset] ?? ["available", 0, "", 0]);
}

/** The start moves on over what is done; what lies far behind it is forgotten. */
function advance(found) {
  while (DONE.has(found.records[found.start]?.[0])) found.start += 1;
  for (const offset of Object.keys(found.records)) {
    if (Number(offset) >= found.start - KEPT) break; // integers are in order
    delete found.records[offset];
  }
}

export const shares = {
  share_partition_begins(draft, params) {
    const found = share(draft, params);
    for (const [offset, [state, count]] of Object.entries(found.records)) {
      if (state !== "acquired") continue;
      if (count > 1) found.records[offset] = ["available", count - 1, "", 0];
      else delete found.records[offset];
    }
    found.start = params.start;
    if (!params.in_flight) for (const offset of Object.keys(found.records)) if (Number(offset) >= params.start) delete found.records[offset];
  },
  share_acquired(draft, params, { t }) {
    each(share(draft, params), params, () => ["acquired", params.count, params.client ?? params.member, t + params.lock_ms * 1000]);
  },
  share_renewed(draft, params, { t }) {
    each(share(draft, params), params, (_, [state, count, who]) => [state, count, who, t + params.lock_ms * 1000]);
  },
  share_locks_expired(draft, params) {
    each(share(draft, params), params, (_, [, count]) => [params.state, count, "", 0]);
  },
  share_settled(draft, params) {
    const found = share(draft, params);
    each(found, params, () => [params.state, params.count, "", 0]);
    advance(found);
  },
  share_state_deleted(draft, params) {
    const found = draft.make("shares", params.group);
    delete found[nameOf(params)];
  },
};

/** Groups that share a partition: [{group, start, records}], by name. */
export function sharesOf(state, topic, number) {
  const name = `${topic}-${number}`;
  return Object.keys(state.shares ?? {}).sort().filter((group) => state.shares[group][name]).map((group) => ({ group, ...state.shares[group][name] }));
}

/** Records of a group by state, over all its partitions or in one, from each start on: {available, acquired, acknowledged, archived}. */
export function countsOf(state, group, name = null) {
  const found = Object.fromEntries(STATES.map((one) => [one, 0]));
  for (const [partition, { start, records }] of Object.entries(state.shares?.[group] ?? {})) {
    if (name !== null && partition !== name) continue;
    for (const [offset, [kind]] of Object.entries(records)) if (Number(offset) >= start) found[kind] += 1;
  }
  return found;
}

/** Records that nobody has done yet: from each start to the leader's high watermark, without those that are done. */
export function shareLag(state, group) {
  let sum = 0;
  for (const [name, { start, records }] of Object.entries(state.shares?.[group] ?? {})) {
    const at = name.lastIndexOf("-");
    const partition = state.topics[name.slice(0, at)]?.partitions[name.slice(at + 1)];
    const hw = partition?.logs[partition.leader]?.hw ?? 0;
    let done = 0;
    for (const [offset, [kind]] of Object.entries(records)) if (Number(offset) >= start && Number(offset) < hw && DONE.has(kind)) done += 1;
    sum += Math.max(0, hw - start - done);
  }
  return sum;
}

/** How many records each client holds: Map(client -> count). */
export function heldBy(state, group) {
  const found = new Map();
  for (const { records } of Object.values(state.shares?.[group] ?? {})) {
    for (const [kind, , who] of Object.values(records)) if (kind === "acquired") found.set(who, (found.get(who) ?? 0) + 1);
  }
  return found;
}
