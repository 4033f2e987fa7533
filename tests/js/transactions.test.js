import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY, reduce } from "../../static/model/reduce.js";
import { countsOf, heldBy, shareLag, sharesOf } from "../../static/model/shares.js";
import { bandsOf, coordinatorOf, idOf, lastStable, partitionFor, timeLeft } from "../../static/model/transactions.js";

const event = (code, node, params = {}, t = 0) => ({ seq: 1, t, code, node, cause: 0, params });
const tp = { topic: "sales", partition: 0 };
const base = reduce(EMPTY, [
  ...[1, 2, 3].map((id) => event("process_started", `broker-${id}`, { incarnation: 1 })),
  event("topic_created", "broker-1", { topic: "sales", assignment: { 0: [1, 2, 3] }, configs: {} }),
  event("leader_elected", "broker-1", { ...tp, leader: 1, isr: [1, 2, 3], leader_epoch: 0, replicas: [1, 2, 3] }),
]);
const appended = (from, last, node = "broker-1") => event("log_appended", node, { ...tp, base_offset: from, last_offset: last, bytes: 1, crc: from });
const mark = (after, node = "broker-1") => event("high_watermark", node, { ...tp, before: 0, after });
const begins = (producer_id, offset) => event("transaction_begins", "broker-1", { ...tp, producer_id, offset });
const ends = (producer_id, first_offset, offset, outcome) => event("transaction_ends", "broker-1", { ...tp, producer_id, first_offset, offset, outcome });
const partition = (state) => state.topics.sales.partitions[0];
const stable = (state, broker = 1) => lastStable(partition(state), partition(state).logs[broker]);

// 0 A   1 B   2 -   3 commit A   4 B: the worked example of broker_core/log/transactions.py
const both = reduce(base, [appended(0, 0), begins(1, 0), appended(1, 1), begins(2, 1), appended(2, 2), mark(3)]);

test("the last stable offset waits for the first open transaction, and for a marker that is not committed", () => {
  assert.equal(stable(both), 0);
  const marked = reduce(both, [appended(3, 3), ends(1, 0, 3, "commit")]);
  assert.equal(stable(marked), 0);
  assert.equal(stable(reduce(marked, [mark(4)])), 1);
  const over = reduce(marked, [mark(4), appended(4, 5), ends(2, 1, 5, "abort"), mark(6)]);
  assert.equal(stable(over), 6);
  assert.deepEqual(bandsOf(partition(over), partition(over).logs[1]).map(({ producer, first, marker, outcome, end }) => [producer, first, marker, outcome, end]), [[1, 0, 3, "commit", 4], [2, 1, 5, "abort", 6]]);
});

test("a replica has as much of a transaction as its own log reaches", () => {
  const state = reduce(both, [appended(3, 3), ends(1, 0, 3, "commit"), appended(0, 2, "broker-2"), mark(3, "broker-2")]);
  assert.deepEqual(bandsOf(partition(state), partition(state).logs[2]).map(({ first, outcome, end }) => [first, outcome, end]), [[0, "open", 3], [1, "open", 3]]);
});

test("what a new leader never got of a transaction is gone: its marker first, its beginning then", () => {
  const state = reduce(both, [appended(3, 3), ends(1, 0, 3, "commit"), appended(0, 0, "broker-2")]);
  const elected = event("leader_elected", "broker-1", { ...tp, leader: 2, isr: [2], leader_epoch: 1, replicas: [1, 2, 3], reason: "unclean" });
  const next = reduce(state, [elected, event("became_leader", "broker-2", { ...tp, leader_epoch: 1, leo: 1 })]);
  assert.deepEqual(partition(next).transactions, [[1, 0, null, null]]);
});

test("open transactions are never forgotten, of those that are over the last eight are kept", () => {
  const events = [appended(0, 0), begins(7, 0)];
  for (let n = 1; n <= 20; n += 1) events.push(begins(8, 2 * n), ends(8, 2 * n, 2 * n + 1, "commit"));
  const { transactions } = partition(reduce(base, events));
  assert.deepEqual(transactions[0], [7, 0, null, null]);
  assert.equal(transactions.length, 9);
  assert.equal(transactions.at(-1)[2], 41);
});

const id = (after, t, more = {}) => event("transaction_state", "broker-2", { transactional_id: "sales", before: "?", after, producer_id: 4000, epoch: 3, partitions: ["sales-0"], reason: "", ...more }, t);

test("an id has its state, since when it is open, and its coordinator by Java's hash of its name", () => {
  const state = reduce(base, [id("Empty", 1), id("Ongoing", 5), id("Ongoing", 9)]);
  assert.deepEqual(state.transactions.sales, { state: "Ongoing", producer_id: 4000, epoch: 3, partitions: ["sales-0"], since_us: 9, started_us: 5 });
  assert.equal(idOf(state, 4000), "sales");
  assert.equal(timeLeft({ ...state.transactions.sales, timeout_ms: 10 }, 4005), 6000);
  assert.equal(partitionFor("sales", 50), 26); // "sales".hashCode() is 109201676 in Java
  assert.equal(partitionFor("polygenelubricants", 50), 0); // and of this one the least integer: its sign is cut off
  assert.equal(coordinatorOf(state, "sales").broker, null);
});

const jobs = { group: "jobs", ...tp };
const acquired = (first, last, client, count, t = 0) => event("share_acquired", "broker-1", { ...jobs, member: "m", client, first, last, count, lock_ms: 10 }, t);
const settled = (first, last, state, count) => event("share_settled", "broker-1", { ...jobs, first, last, state, count, records: last - first + 1 });
const begun = event("share_partition_begins", "broker-1", { ...jobs, start: 0, in_flight: 0, leader_epoch: 0, state_epoch: 0 });

test("a share-partition moves on over what is done, record by record", () => {
  const state = reduce(base, [appended(0, 9), mark(10), begun, acquired(0, 3, "a", 1, 5), settled(1, 1, "acknowledged", 1), settled(2, 2, "archived", 1)]);
  assert.deepEqual(countsOf(state, "jobs"), { available: 0, acquired: 2, acknowledged: 1, archived: 1 });
  assert.deepEqual(state.shares.jobs["sales-0"].records[0], ["acquired", 1, "a", 10_005]);
  assert.equal(shareLag(state, "jobs"), 8);
  const done = reduce(state, [settled(0, 0, "acknowledged", 1)]);
  assert.equal(sharesOf(done, "sales", 0)[0].start, 3);
  assert.equal(heldBy(done, "jobs").get("a"), 1);
});

test("locks that run out give a record back, or archive it; renewed ones begin anew", () => {
  const held = reduce(base, [begun, acquired(0, 1, "a", 5, 0), event("share_renewed", "broker-1", { ...jobs, member: "m", first: 1, last: 1, lock_ms: 10 }, 7)]);
  assert.equal(held.shares.jobs["sales-0"].records[1][3], 10_007);
  const late = reduce(held, [event("share_locks_expired", "broker-1", { ...jobs, first: 0, last: 0, records: 1, state: "archived" })]);
  assert.deepEqual(late.shares.jobs["sales-0"].records[0], ["archived", 5, "", 0]);
});

test("a new leader knows nothing of locks: what was held is available, and that delivery does not count", () => {
  const held = reduce(base, [begun, acquired(0, 0, "a", 2), acquired(1, 1, "a", 1), settled(2, 2, "acknowledged", 1)]);
  const next = reduce(held, [event("share_partition_begins", "broker-2", { ...jobs, start: 0, in_flight: 2, leader_epoch: 1, state_epoch: 0 })]);
  assert.deepEqual(next.shares.jobs["sales-0"].records, { 0: ["available", 1, "", 0], 2: ["acknowledged", 1, "", 0] });
});
