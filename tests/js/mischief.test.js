/** Faults with a place: the commands of a click name broker, partition and offset, and only where there is something to harm. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { itemsOf, serversOf } from "../../static/views/menu.js";
import { harm } from "../../static/views/mischief.js";

const state = { brokers: { 1: { state: "stopped" }, 2: { state: "running" }, 3: { state: "stopped" } } };
const view = { state, topicName: "orders", chosenNumber: "2", chosenPartition: { logs: { 1: { start: 3, leo: 9 }, 2: { start: 4, leo: 4 } } } };

test("a bit is turned in the last record that the broker has, and its index is lost", () => {
  assert.deepEqual(harm(view, "1").bit_flip, { do: "bit_flip", broker: 1, topic: "orders", partition: 2, offset: 8 });
  assert.deepEqual(harm(view, "1").lose_index, { do: "lose_index", broker: 1, topic: "orders", partition: 2 });
  assert.equal(harm({ ...view, state: { brokers: { 1: { state: "running" } } } }, "1").lose_index, null);
});

test("a broker without records has none to harm, but a clock and a disk of its own", () => {
  for (const id of ["2", "3"]) {
    assert.equal(harm(view, id).bit_flip, null);
    assert.equal(harm(view, id).lose_index, null);
    assert.equal(harm(view, id).torn.broker, Number(id));
  }
});

test("a clock is set wrong, and one that is wrong is set right, from the levers and from its broker's menu", () => {
  const wrong = { ...state, brokers: { ...state.brokers, 2: { state: "running", clock_ms: 3_600_000 } }, links: [] };
  assert.deepEqual(harm(view, "2").clock_skew, { do: "clock_skew", broker: 2, ms: 3_600_000 });
  assert.equal(harm(view, "2").clock_right, undefined);
  const right = { do: "clock_skew", broker: 2, ms: 0 };
  assert.deepEqual([harm({ ...view, state: wrong }, "2").clock_right, harm({ ...view, state: wrong }, "2").clock_skew], [right, undefined]);
  const offered = (id) => itemsOf({ state: wrong }, { kind: "broker", name: id }).find(([verb]) => verb === "clock_right")?.[1];
  assert.deepEqual([offered("2"), offered("1")], [right, undefined]);
});

test("a menu offers what the state of its thing allows", () => {
  const state = { brokers: { 1: { state: "running" }, 2: { state: "stopped" } }, servers: { "controller-101": { state: "paused" } }, machines: { "machine-1": { state: "stopped" } }, links: [{ from: "broker-1", to: "broker-2", partitioned: true }], clients: {}, cluster: { controller_mode: "kraft" }, quorum: { voters: [101] } };
  const verbs = (kind, name) => itemsOf({ state, acks: "1", topicName: null }, { kind, name }).map(([verb]) => verb);
  assert.deepEqual(verbs("broker", "1"), ["kill", "pause", "stop", "add_machine", "power_loss", "stop_all_faults", "open"]);
  assert.deepEqual(verbs("broker", "2"), ["restart", "wipe", "add_machine", "open"]);
  assert.deepEqual(verbs("broker", "9"), []);
  assert.deepEqual(verbs("server", "controller-101"), ["kill", "resume", "stop", "remove_controller", "isolate"]);
  assert.deepEqual(verbs("server", "machine-1"), ["restart"]);
  assert.deepEqual(serversOf(state), ["controller-101", "machine-1"]);
  assert.deepEqual(serversOf({ ...state, servers: undefined, cluster: { controller_mode: "zookeeper" } }), ["zookeeper-1", "machine-1"]);
  const [, chosen] = itemsOf({ state, acks: "1", topicName: null }, { kind: "you", name: "operator" });
  assert.deepEqual(chosen, ["acks=1", null, { acks: "1", on: true }]);
});
