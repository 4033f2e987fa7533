/** What is wrong with a record on one disk, and with a client that can do nothing any more, shows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { axisOf } from "../../static/model/axis.js";
import { EMPTY, changesState, reduce } from "../../static/model/reduce.js";
import { readersOf } from "../../static/model/readers.js";
import { behindDamage, cracks, gates, isDamaged, refusal } from "../../static/views/damage.js";
import { side, sidesText } from "../../static/views/sides.js";

const event = (code, params, node = "operator") => ({ seq: 1, t: 1, code, node, cause: 0, params });
const damage = (...found) => event("damage", { logs: found.map(([broker, offsets]) => ["orders", 0, String(broker), offsets]) });
const log = (leo) => ({ leo, hw: leo, start: 0 });
const base = { ...EMPTY, brokers: { 1: { state: "running" }, 2: { state: "running" } }, topics: { orders: { partitions: { 0: { leader: 1, replicas: [1, 2], logs: { 1: log(400), 2: log(400) } } } } } };
const logsOf = (state) => state.topics.orders.partitions[0].logs;

test("what is damaged on disks is said with each flip, and holds until it is cut or the disk is empty", () => {
  const harmed = reduce(base, [damage([1, [90, 200]])]);
  assert.deepEqual([logsOf(harmed)[1].damaged, logsOf(harmed)[2].damaged], [[90, 200], undefined]);
  assert.deepEqual([199, 200, 201].map((offset) => isDamaged(logsOf(harmed)[1], offset)), [false, true, false]);
  const after = (...events) => logsOf(reduce(harmed, events));
  assert.deepEqual([1, 2].map((id) => after(damage([2, [7]]))[id].damaged), [undefined, [7]], "a bit that has turned back is damage no more");
  assert.deepEqual(after(event("truncated", { topic: "orders", partition: 0, before: 400, after: 150 }, "broker-1"))[1].damaged, [90]);
  assert.equal(after(event("command", { command: { do: "wipe", broker: 1 } }))[1].damaged, undefined);
  assert.ok(!changesState("damage"));
});

test("a follower that refuses what its leader sends says from where, until it takes something or begins anew", () => {
  const refused = event("client_error", { api: "Fetch", error: "CORRUPT_MESSAGE", reaction: "fetch again", topic: "orders", partition: 0, offset: 300 }, "broker-2");
  const short = { ...base, topics: { orders: { partitions: { 0: { leader: 1, replicas: [1, 2], logs: { 1: log(400), 2: log(300) } } } } } };
  const state = reduce(short, [refused]);
  const words = { t: (key, { offset }) => `${key} ${offset}` };
  assert.deepEqual(refusal({ words }, logsOf(state)[1], "100 missing"), []);
  assert.equal(refusal({ words }, logsOf(state)[2], "100 missing")[0], "stage.refuses 300 · 100 missing");
  const place = { topic: "orders", partition: 0 };
  for (const next of [["log_appended", { ...place, base_offset: 300, last_offset: 310 }], ["became_follower", { ...place, leo: 300 }]])
    assert.deepEqual(refusal({ words }, logsOf(reduce(state, [event(...next, "broker-2")]))[2], ""), [], next[0]);
});

test("a damaged record is in sight on every broker, and cracked on the one whose disk it is", () => {
  const partition = reduce(base, [damage([1, [200]])]).topics.orders.partitions[0];
  const axis = axisOf(partition, 600, [], behindDamage(partition));
  for (const room of [600, 240]) assert.ok(axisOf(partition, room, [], behindDamage(partition)).columns.some(({ from, to }) => from === 200 && to === 201));
  const view = { words: { t: (key, params) => `${key} ${params.broker} ${params.offset}` } };
  const drawn = (broker) => cracks(view, { axis, name: "orders-0" }, partition.logs[broker], broker, { x: 0, y: 0, tall: 24 }, String);
  assert.deepEqual(drawn(2), []);
  assert.deepEqual(drawn(1).map(({ props }) => props["data-damaged"]), ["orders-0@200@1"]);
  const far = axisOf(partition, 600);
  assert.equal(cracks(view, { axis: far, name: "orders-0" }, partition.logs[1], 1, { x: 0, y: 0, tall: 24 }, String).length, 1, "through the fold that hides it");
});

test("a client that is fenced, or whose next batch is damaged, looks so until it starts again", () => {
  const clients = { a: { kind: "producer", state: "running", settings: {}, acked: 3, failed: 0 }, b: { kind: "consumer", state: "running", settings: {}, read: 2 } };
  const error = (node, name, reaction) => event("client_error", { api: "EndTxn", error: name, reaction, topic: "orders", partition: 0, offset: 200 }, node);
  const state = reduce({ ...base, clients }, [error("a", "PRODUCER_FENCED", "give up"), error("b", "CORRUPT_MESSAGE", "give up")]);
  assert.deepEqual([state.clients.a.over, state.clients.b.over], ["fenced", "damaged"]);
  assert.deepEqual(state.clients.b.positions, [["orders", 0, 200]], "it is seen where it stands");
  assert.equal(reduce({ ...base, clients }, [error("a", "NOT_LEADER_OR_FOLLOWER", "give up"), error("b", "CORRUPT_MESSAGE", "retry")]).clients.a.over, undefined);
  assert.equal(reduce(state, [event("process_ended", { how: "exit" }, "a")]).clients.a.over, "fenced");
  assert.equal(reduce(state, [event("process_started", { incarnation: 2 }, "a")]).clients.a.over, null);
  assert.ok(!changesState("client_error"), "nobody steps from one retry to the next");
  const words = { t: (key) => key, words: {}, name: String };
  const item = { kind: "producer", name: "a", client: state.clients.a, x: 0, y: 0, w: 120, h: 60 };
  const view = { words, state, scene: { left: [item] } };
  assert.match(side(view, item).props.class, /\bover\b/);
  assert.match(sidesText(view)[0][1], /✕ stage\.over\.fenced/);
  const paused = { ...item, client: { ...clients.a, state: "paused" } };
  assert.match(sidesText({ ...view, scene: { left: [paused] } })[0][1], /^❚❚ stage\.producer · stage\.you\.acks/);
});

test("a reader stands at a gate in front of the batch that it cannot read, until its group commits what is behind", () => {
  const topics = { orders: { partitions: { 0: base.topics.orders.partitions[0], 1: { leader: 1, replicas: [1, 2], logs: { 1: log(400), 2: log(400) } } } } };
  const clients = { b: { kind: "consumer", state: "running", group: "g", settings: { "group.id": "g" }, assignment: { orders: [0, 1] }, positions: [["orders", 1, 400]] } };
  const groups = { g: { state: "Stable", generation: 1, coordinator: 1, members: [{ id: "b-1", client_id: "b", assignment: { orders: [0, 1] } }], offsets: {} } };
  const damaged = event("client_error", { api: "Fetch", error: "CORRUPT_MESSAGE", reaction: "give up", topic: "orders", partition: 0, offset: 199 }, "b");
  const commit = (offset) => event("offsets_committed", { group: "g", topic: "orders", partition: 0, offset }, "broker-1");
  const state = reduce({ ...base, topics, clients, groups }, [damage([1, [200]]), damaged, commit(199)]);
  const words = { t: (key, { member, offset }) => `${key} ${member} ${offset}` };
  const drawn = (now, number) => {
    const partition = now.topics.orders.partitions[number];
    return gates({ words }, { axis: axisOf(partition, 600, [], behindDamage(partition)) }, partition.logs[1], readersOf(now, "orders", number), { x: 0, y: 0, tall: 24 });
  };
  assert.deepEqual(drawn(state, 0).map(({ props }) => props["data-gate"]), ["b"]);
  assert.deepEqual(drawn(state, 1), [], "it stands still there, too, but nothing is wrong with that log");
  assert.deepEqual(readersOf(state, "orders", 1).map(({ over }) => over), ["damaged"]);
  assert.deepEqual(drawn(reduce(state, [commit(250)]), 0), []);
});
