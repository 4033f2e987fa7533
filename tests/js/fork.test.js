/** What the fork dialog makes of settings that were chosen freely. */
import assert from "node:assert/strict";
import test from "node:test";

import { Forks } from "../../static/desk/forks.js";
import { commandsOf, difference, inOrder, subjectsOf, trialOf } from "../../static/model/fork.js";

test("free settings of a fork are one command for each client, topic and broker", () => {
  const state = {
    brokers: { 1: { state: "running" }, 2: { state: "stopped" }, 3: { state: "running" } }, topics: { orders: {}, __consumer_offsets: {} },
    clients: { "producer-orders": { kind: "producer", state: "running" }, reader: { kind: "consumer", state: "stopped" } },
  };
  assert.deepEqual(subjectsOf(state), ["client:producer-orders", "client:reader", "topic:orders", "brokers", "broker:1", "broker:3"]);
  const rows = [
    { subject: "client:producer-orders", name: " enable.idempotence ", value: "false" }, { subject: "client:producer-orders", name: "linger.ms", value: "" },
    { subject: "topic:orders", name: "flush.messages", value: "1" }, { subject: "brokers", name: "log.flush.interval.messages", value: "1" },
    { subject: "broker:3", name: "num.io.threads", value: "2" }, { subject: "topic:orders", name: "", value: "7" },
  ];
  const choices = { acks: "all", "min.insync.replicas": "1", links: "cut" };
  assert.deepEqual(commandsOf(choices, state, "orders", { number: "2", rows }), [
    { do: "set_client", name: "producer-orders", set: { acks: "all", "enable.idempotence": "false", "linger.ms": null } },
    { do: "alter_config", topic: "orders", set: { "min.insync.replicas": "1", "flush.messages": "1" } },
    { do: "alter_config", broker: 1, set: { "log.flush.interval.messages": "1" } },
    { do: "alter_config", broker: 3, set: { "log.flush.interval.messages": "1", "num.io.threads": "2" } },
    { do: "partition_link", between: ["leader_of:orders-2", "followers_of:orders-2"] },
  ]);
  const given = { choices: { acks: "0" }, state, topic: "orders", rows };
  assert.deepEqual(trialOf(rows[0], given), { do: "set_client", name: "producer-orders", set: { acks: "0", "enable.idempotence": "false", "linger.ms": null } });
  assert.equal(trialOf(rows[5], given), null);
});

test("with time that stands the dialog says that settings come after faults, else not", () => {
  const forks = new Forks({ set() {} }, {});
  const state = { brokers: { 1: { state: "running" } }, clients: {}, topics: { orders: { partitions: {} } }, cluster: {} };
  forks.moment = { run: "0001", seq: 7, t: 1, state, topic: "orders", number: 0 };
  const setting = { key: 1, subject: "topic:orders", name: "retention.ms", value: "1000" };
  const said = (on, rows, choices) => {
    Object.assign(forks, { rows, choices });
    forks.letGoOn(on);
    return forks.settingsComeLast;
  };
  assert.equal(said(false, [setting], { "broker:1": "kill" }), true);
  assert.equal(said(true, [setting], { "broker:1": "kill" }), false);
  assert.equal(said(false, [setting], {}), false);
  assert.equal(said(false, [], { "broker:1": "kill" }), false);
});

test("of two runs what differs comes first, and internal partitions that are the same are one line", () => {
  const same = { leader: 1, leader_epoch: 0, isr: [1, 2], leo: 5, hw: 5, hash: "a" };
  const offsets = (count) => Object.fromEntries(Array.from({ length: count }, (_, number) => [`__consumer_offsets-${number}`, same]));
  const left = { partitions: { ...offsets(50), "orders-0": same, "orders-1": same, "payments-0": same } };
  const right = { partitions: { ...offsets(50), "__consumer_offsets-7": { ...same, leo: 6 }, "orders-0": same, "orders-1": { ...same, leader: 2 } } };
  const { rows, folded } = inOrder(difference(left, right).partitions);
  assert.deepEqual(rows.map(({ name }) => name), ["orders-1", "payments-0", "__consumer_offsets-7", "orders-0"]);
  assert.deepEqual(folded, [{ topic: "__consumer_offsets", n: 49 }]);
});
