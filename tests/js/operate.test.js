/** A reassignment is planned, a record is read from its form, the journal becomes the log of one broker. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { another, choicesOf } from "../../static/model/another.js";
import { cancellation, execution, generate, planFor, progressOf, throttleOf, throttling } from "../../static/model/plan.js";
import { levelOf, lineOf, linesBefore, loggerOf, textOf } from "../../static/model/server_log.js";
import { headersOf, written } from "../../static/model/written.js";

test("leaders go round the brokers, and followers stand one place further each time round", () => {
  assert.deepEqual(generate(3, 2, [1, 2, 3]), [[1, 2], [2, 3], [3, 1]]);
  assert.deepEqual(generate(6, 2, [1, 2, 3]).slice(3), [[1, 3], [2, 1], [3, 2]]);
  assert.deepEqual(generate(2, 1, [5]), [[5], [5]]);
  assert.equal(generate(1, 3, [1, 2]), null);
  assert.equal(generate(1, 1, []), null);
  for (const row of generate(40, 3, [1, 2, 3, 4, 5])) assert.equal(new Set(row).size, 3);
});

const state = { topics: { orders: { partitions: { 0: { replicas: [1, 2] }, 1: { replicas: [2, 3] }, 10: { replicas: [2, 3] } } } } };

test("a plan names every partition in order, and what is done is not asked for again", () => {
  const plan = planFor(state, "orders", [2, 3]);
  assert.deepEqual(plan.rows.map((row) => [row.partition, row.before, row.replicas]), [[0, [1, 2], [2, 3]], [1, [2, 3], [3, 2]], [10, [2, 3], [2, 3]]]);
  const moving = { "orders-0": { adding: [3], removing: [1] } };
  assert.deepEqual(plan.rows.map((row) => progressOf(row, "orders", state, moving)), ["moving", "open", "done"]);
  assert.deepEqual(execution(plan, state, moving), [{ do: "reassign", topic: "orders", partition: 1, replicas: [3, 2] }]);
  assert.deepEqual(cancellation(plan, state, moving), [{ do: "cancel_reassignment", topic: "orders", partition: 0 }]);
  assert.equal(progressOf(plan.rows[0], "orders", { topics: {} }), "gone");
  assert.equal(planFor(state, "nothing", [1]), null);
});

test("a plan under a throttle asks for it, changes it for what is under way, and takes it away with the moves", () => {
  const plan = { ...planFor(state, "orders", [2, 3]), throttle: 500 };
  const moving = { "orders-0": { adding: [3], removing: [1] } };
  const throttles = [
    { broker: 2, quota: "LeaderReplication", bound: 500, rate: 480, topics: { orders: [0] } },
    { broker: 1, quota: "FollowerReplication", bound: 500, rate: 0, topics: { all: null } }];
  assert.deepEqual(execution(plan, state, moving), [{ do: "reassign", topic: "orders", partition: 1, replicas: [3, 2], throttle: 500 }]);
  assert.deepEqual(throttling(plan, state, moving, 900), [{ do: "reassign", topic: "orders", partition: 0, replicas: [2, 3], throttle: 900 }]);
  assert.deepEqual(cancellation(plan, state, moving, throttles).at(-1), { do: "verify_reassignment", topic: "orders" });
  assert.deepEqual(cancellation(plan, state, {}, throttles), []);
  assert.deepEqual(throttleOf({ throttles, forgotten: true }), { brokers: [1, 2], bounds: [500], rate: 480, names: ["all", "orders-0"], forgotten: true });
  assert.equal(throttleOf({ throttles: [] }), null);
  assert.equal(throttleOf(null), null);
});

test("a record by hand may have no value, and headers with or without one", () => {
  assert.deepEqual(headersOf("source=web, empty ,a==b,,=x"), { source: "web", empty: null, a: "=b" });
  assert.deepEqual(headersOf('route="a, b" , said = "he said ""no"", twice",none="",last="x'), { route: "a, b", said: 'he said "no", twice', none: "", last: '"x' });
  assert.deepEqual(headersOf('open="a"b, c'), { open: '"a"b', c: null });
  assert.deepEqual(written({ key: "", value: "" }, "hello"), { value: "hello" });
  assert.deepEqual(written({ key: "k", value: "1", headers: "a=1" }, "hello"), { value: "1", key: "k", headers: { a: "1" } });
  assert.deepEqual(written({ key: "k", value: "1", tombstone: "on" }, "hello"), { value: null, key: "k" });
  assert.deepEqual(written({ value: "1", other_acks: "2" }, "hello"), { value: "1", acks: "2" });
  assert.deepEqual(written({ value: "1", to: "0", damaged: "on" }, "hello"), { value: "1", to: 0, damaged: true });
});

test("the log of a broker has its own events, requests only on TRACE, each with level, logger and correlation id", () => {
  const events = [
    { code: "isr_shrunk", node: "broker-1", t: 1_500_000, params: {} }, { code: "request_received", node: "broker-1", t: 2_000_000, params: { correlation: 17 } },
    { code: "isr_shrunk", node: "broker-2", t: 2_100_000, params: {} }, { code: "segment_rolled", node: "broker-1", t: 2_200_000, params: {} },
  ];
  const history = { begin: 0, end: events.length, at: (position) => events[position] };
  assert.deepEqual(linesBefore(history, "broker-1", 4, { trace: false, limit: 9, depth: 99 }), [0, 3]);
  assert.deepEqual(linesBefore(history, "broker-1", 4, { trace: true, limit: 9, depth: 99 }), [0, 1, 3]);
  assert.deepEqual(linesBefore(history, "broker-1", 4, { trace: true, limit: 9, depth: 99, told: (code) => code !== "segment_rolled" }), [0, 1]);
  assert.deepEqual(linesBefore(history, "broker-1", 3, { trace: true, limit: 1, depth: 99 }), [1]);
  assert.deepEqual([levelOf("isr_shrunk"), levelOf("isr_expanded"), levelOf("response_sent")], ["WARN", "INFO", "TRACE"]);
  assert.equal(loggerOf("isr_shrunk"), "kafka.cluster.Partition");
  const line = textOf(lineOf(events[1], [[0, Date.UTC(2026, 2, 1, 9)], [2_000_001, 0]], () => "takes Fetch v13."));
  assert.equal(line, "[2026-03-01 09:00:02,000] TRACE takes Fetch v13. correlationId=17 (kafka.request.logger)");
});

test("one more client has a name of its own, and today's kinds only where today's brokers are", () => {
  const kraft = { cluster: { controller_mode: "kraft" }, clients: { "consumer-orders-b": {}, "worker-orders-c": {} } };
  assert.deepEqual(choicesOf(kraft), ["classic", "consumer", "share", "transactional"]);
  assert.deepEqual(choicesOf({ ...kraft, cluster: { controller_mode: "zookeeper" } }), ["classic", "transactional"]);
  const asked = (choice, group) => another(kraft, "orders", choice, group);
  assert.deepEqual(asked("classic", ""), {
    do: "start_client", name: "consumer-orders-c", kind: "consumer", topic: "orders", settings: { "group.id": "readers" } });
  assert.deepEqual(asked("consumer", "mine").settings, { "group.id": "mine", "group.protocol": "consumer" });
  assert.deepEqual([asked("share", "").name, asked("share", "").kind], ["worker-orders-b", "worker"]);
  assert.equal(asked("transactional", null).settings["transactional.id"], "producer-orders-b");
});
