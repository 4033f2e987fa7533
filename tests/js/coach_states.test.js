/** What the coach says in each state of a cluster: that it names what is wrong, and asks for nothing that makes it worse. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { advice, copied, holds, livingInSync, madeOf, past, standstill } from "../../static/model/coach.js";
import { Tour } from "../../static/desk/tour.js";
import { Catalogue } from "../../static/i18n/catalogue.js";

const PRODUCER = { "producer-orders": { kind: "producer", state: "running", settings: { acks: "all" } } };
const READER = { "consumer-orders": { kind: "consumer", state: "running", settings: {} } };
const VOTERS = [101, 102, 103];

/** Partition orders-0 of brokers 1 to 3, of `count` brokers; what is given differs from a sound cluster in which all is done. */
function world({ count = 3, dead = [], paused = [], disk = [], partition = {}, others = {}, clients = { ...PRODUCER, ...READER }, ...more } = {}) {
  const ids = Array.from({ length: count }, (_, index) => index + 1);
  const how = (id) => (dead.includes(id) ? "stopped" : paused.includes(id) ? "paused" : "running");
  const sound = (replicas) => ({
    leader: replicas[0], isr: replicas, replicas, leader_epoch: 2, min_isr: 2, logs: Object.fromEntries(replicas.map((id) => [id, { leo: 100, hw: 100 }]))
  });
  const partitions = { 0: { ...sound(ids.slice(0, 3)), ...partition }, ...Object.fromEntries(Object.entries(others).map(([number, one]) => [number, { ...sound(one.replicas), ...one }])) };
  return {
    brokers: Object.fromEntries(ids.map((id) => [id, { id, state: how(id), disk: disk.includes(id) ? [{ kind: "full" }] : [] }])),
    topics: { orders: { partitions } }, clients, links: [], connections: {}, cluster: {}, ...more
  };
}

const voting = (voters, ...alive) => ({ voters, replicas: Object.fromEntries(alive.map((id) => [id, {}])) });
const servers = (name, ...states) => Object.fromEntries(states.map((state, index) => [`${name}-${index + 1}`, { state }]));
const OUTSIDE = { connections: { 7: { broker: 2 } }, clients: {} };
const CUT = { links: [{ from: "broker-1", to: "broker-2", partitioned: true }] };
const MOVED = { leader: 2, isr: [2, 3], leader_epoch: 3 };

/** What is there, what is said, what it names, and what its button does. */
const STATES = {
  "a dead leader of whom nobody knows": [world({ dead: [1] }), "waiting", "Broker 1"],
  "the same, and nobody of the lab writes": [world({ dead: [1], clients: {} }), "waiting", "Broker 1"],
  "a dead broker whose lead has moved": [world({ dead: [1], partition: MOVED }), "moved.all", "Broker 2", { do: "restart", broker: 1 }],
  "the same, and nobody has written yet": [world({ dead: [1], partition: MOVED, clients: {} }), "moved.all", "Broker 2", { do: "restart", broker: 1 }],
  "the same with clients from outside only": [world({ dead: [1], partition: MOVED, ...OUTSIDE }), "moved.all", "Broker 2", { do: "restart", broker: 1 }],
  "a dead follower": [world({ dead: [3], partition: { isr: [1, 2] } }), "follower_down", "Broker 3", { do: "restart", broker: 3 }],
  "two are dead, and writes are refused": [world({ dead: [2, 3], partition: { isr: [1] } }), "refused", "orders-0", { do: "restart", broker: 2 }],
  "writes from outside are refused": [world({ dead: [2, 3], partition: { isr: [1] }, ...OUTSIDE }), "refused", "orders-0", { do: "restart", broker: 2 }],
  "two are dead, and nobody writes": [world({ dead: [2, 3], partition: { isr: [1] }, clients: {} }), "last", "Bring broker 2 back", { do: "restart", broker: 2 }],
  "nobody in sync lives": [world({ dead: [1, 2], partition: { leader: -1, isr: [2] } }), "offline", "Bring broker 2 back", { do: "restart", broker: 2 }],
  "all are dead": [world({ dead: [1, 2, 3], partition: { leader: 2, isr: [2] } }), "all_dead", "broker 2", { do: "restart", broker: 2 }],
  "one of all that were dead has just started, and has no copy of the quorum's log yet": [
    world({ dead: [2, 3], partition: { leader: 2, isr: [2] }, quorum: voting([1, 2, 3]) }), "no_majority", "broker 2", { do: "restart", node: "broker-2" }],
  "all are dead, and with them the quorum": [world({ dead: [1, 2, 3], quorum: voting([1, 2, 3]) }), "all_dead", "broker 1", { do: "restart", broker: 1 }],
  "all are dead that a topic could be on": [{ ...world({ dead: [1, 2, 3] }), topics: {} }, "all_dead", "broker 1", { do: "restart", broker: 1 }],
  "one is dead before there is a topic": [{ ...world({ dead: [3] }), topics: {} }, "dead", "Broker 3", { do: "restart", broker: 3 }],
  "one is dead that has no copy": [world({ count: 5, dead: [5] }), "dead", "Broker 5", { do: "restart", broker: 5 }],
  "another partition is offline": [
    world({ count: 5, dead: [4], others: { 1: { replicas: [4], leader: -1, isr: [4] } } }), "offline", "orders-1", { do: "restart", broker: 4 }],
  "a paused broker": [world({ paused: [2] }), "paused", "Broker 2", { do: "resume", broker: 2 }],
  "a paused broker beside a dead one": [world({ paused: [2], dead: [1] }), "paused", "Broker 2", { do: "resume", broker: 2 }],
  "a paused controller": [world({ servers: { "controller-102": { state: "paused" } } }), "server_paused", "Controller 102", { do: "resume", node: "controller-102" }],
  "a dead controller of three": [
    world({ quorum: voting(VOTERS, 101, 103), servers: { "controller-101": { state: "running" }, "controller-102": { state: "stopped" }, "controller-103": { state: "running" } } }),
    "server_dead", "Controller 102", { do: "restart", node: "controller-102" }],
  "two dead controllers of three": [
    world({ dead: [1], quorum: voting(VOTERS, 102) }), "no_majority", "controller 101", { do: "restart", node: "controller-101" }],
  "one dead server of an ensemble": [world({ servers: servers("zookeeper", "running", "stopped", "running") }), "server_dead", "ZooKeeper 2 is dead", { do: "restart", node: "zookeeper-2" }],
  "most servers of an ensemble are dead": [world({ dead: [1], servers: servers("zookeeper", "stopped", "stopped", "running") }), "no_tree", "2 of 3", { do: "restart", node: "zookeeper-1" }],
  "cut links": [world(CUT), "links_cut", "", { do: "stop_all_faults" }],
  "links that repeat": [world({ links: [{ from: "producer-a", to: "broker-1", delay_us: 0, drop: 0, duplicate: 0.3, reorder: 0.3 }] }), "links_repeat", "", { do: "stop_all_faults" }],
  "links that repeat and lose": [world({ links: [{ from: "producer-a", to: "broker-1", delay_us: 0, drop: 0.3, duplicate: 0.3 }] }), "links", "", { do: "stop_all_faults" }],
  "cut links that keep writes out": [world({ ...CUT, partition: { isr: [1] } }), "refused_links", "orders-0", { do: "stop_all_faults" }],
  "a faulty disk": [world({ disk: [2] }), "disk", "broker 2", { do: "repair_disk", broker: 2 }],
  "a faulty disk that keeps writes out": [world({ disk: [3], partition: { isr: [1] } }), "disk", "broker 3", { do: "repair_disk", broker: 3 }],
  "a leader whose disk has failed": [world({ disk: [1], partition: { leader: -1, isr: [1] } }), "disk", "broker 1", { do: "repair_disk", broker: 1 }],
  "no leader, and no reason to be seen": [world({ partition: { leader: -1, isr: [1] } }), "leaderless", "orders-0"],
  "one that catches up": [world({ partition: { isr: [1, 2] } }), "behind", "Broker 3"],
  "a paused writer": [
    world({ clients: { "producer-orders": { ...PRODUCER["producer-orders"], state: "paused" } } }), "client_paused", "Producer orders", { do: "resume", node: "producer-orders" }],
  "an empty lab": [{ ...world(), topics: {} }, "no_topic", "topic", "create_topic"],
  "a topic that nobody has written to": [world({ partition: { logs: {} }, clients: {} }), "no_records", "", "start_client"],
  "records of an earlier day": [world({ clients: {} }), "no_writer", "orders", "start_client"],
  "clients from outside, nothing tried": [world({ ...OUTSIDE, partition: { leader_epoch: 0 } }), "kill", "Broker 1", { do: "kill", broker: 1 }],
  "nothing tried": [world({ partition: { leader_epoch: 0 } }), "kill", "Broker 1", { do: "kill", broker: 1 }],
  "two brokers, one of which votes": [
    world({ count: 2, quorum: voting([1], 1, 2), partition: { leader_epoch: 0 } }), "no_spare", "Broker 1"],
  "one copy": [world({ partition: { leader_epoch: 0, replicas: [1], isr: [1], min_isr: 1 } }), "single", "orders-0"],
  "a lead that was not given back": [world({ partition: { leader: 2 } }), "preferred", "Broker 1", { do: "elect_leaders", topic: "orders", partition: 0 }],
  "nobody reads": [world({ clients: PRODUCER }), "no_readers", "orders", "start_client"],
  "all is done": [world(), "lessons", ""],
};

const read = (part, language) => JSON.parse(readFileSync(new URL(`../../web/messages/${part}.${language}.json`, import.meta.url), "utf8"));
const catalogue = (language) => new Catalogue({ language, page: ["page", "lesson", "desk"].reduce((all, part) => ({ ...all, ...read(part, language) }), {}), story: {} });
const [english, korean] = ["en", "ko"].map(catalogue);

for (const [name, [state, key, names, command = null]] of Object.entries(STATES)) {
  test(name, () => {
    const found = advice(state, "orders", "0");
    assert.equal(found.key, `coach.${key}`);
    assert.ok(english.t(found.key, found.params).includes(names), english.t(found.key, found.params));
    if (typeof command === "string") assert.equal(found.command.do, command);
    else assert.deepEqual(found.command, command);
    for (const words of [english, korean]) {
      for (const text of [found.key, ...(found.command || found.panel ? [found.act ?? `${found.key}.do`] : [])])
        assert.doesNotMatch(words.t(text, found.params), /[{}]|undefined|coach\./, text);
    }
  });
}

test("to kill somebody is asked for only where nothing is wrong, another one could take over and somebody could decide it", () => {
  for (const [name, [state]] of Object.entries(STATES)) {
    const { command } = advice(state, "orders", "0");
    if (command?.do !== "kill") continue;
    assert.ok(Object.values(state.brokers).every((broker) => broker.state === "running" && !broker.disk.length), name);
    assert.ok(livingInSync(state, state.topics.orders.partitions[0]).length > 1, name);
  }
});

test("the first visit asks for nothing while something else is wrong, and goes on when it is mended", () => {
  const fresh = { partition: { leader_epoch: 0 }, clients: { "producer-orders": { ...PRODUCER["producer-orders"], acked: 50 } } };
  const line = (state) => Object.assign(new Tour({
    state, topicName: "orders", chosenNumber: "0", acks: "all", clock: { clusterTime: () => 0 }
  }, { live: null }), { over: false }).line();
  assert.equal(line(world(fresh)).key, "tour.kill");
  assert.equal(line(world({ ...fresh, clients: {} })).key, "tour.producer");
  for (const wrong of [{ dead: [1] }, { dead: [2] }, { paused: [2] }, CUT, { disk: [3] }, { quorum: voting(VOTERS, 101) }]) {
    for (const clients of [fresh.clients, {}]) assert.equal(line(world({ ...fresh, clients, ...wrong })).key, undefined, JSON.stringify(wrong));
  }
});

test("the first visit waits for an election only while somebody could be elected", () => {
  const line = (more) => {
    const tour = Object.assign(new Tour({ state: world(more), topicName: "orders", chosenNumber: "0", clock: { clusterTime: () => 0 } }, { live: null }), { over: false });
    Object.assign(tour.steps, { killed: { broker: 1, t: 0, seq: 1, led: { "orders-0": true }, heard: 0 }, before: 0 });
    return tour.line().key;
  };
  assert.equal(line({ dead: [1] }), "tour.election");
  assert.equal(line({}), "tour.election_back", "started again before anybody has missed it");
  const electing = { dead: [1], quorum: voting([1, 2, 3], 2, 3), cluster: { controller_mode: "kraft", controller: null } };
  assert.equal(line(electing), "tour.election_nobody");
  for (const more of [{ dead: [1, 2, 3] }, { dead: [1], partition: { isr: [1] } }, { dead: [1], paused: [2] }, { dead: [1], quorum: voting(VOTERS, 101) }])
    assert.equal(line(more), undefined, JSON.stringify(more));
});

test("a lab that holds says of what it has taken too much, and where room can be made", () => {
  for (const what of ["disk", "memory"]) {
    const found = holds([what]);
    assert.equal(found.panel, "runs");
    for (const words of [english, korean]) for (const key of [found.key, found.act]) assert.notEqual(words.t(key), key);
  }
});

const OPEN = [
  { run: "0001", parent: null, forked_at_us: 0 }, { run: "0001-1", parent: "0001", forked_at_us: 12_345_000 }, { run: "0007-1", parent: "0007", forked_at_us: 9 }];
const MADE = madeOf(OPEN, "0001-1");
const TIMES = { viewed: "3.1", cluster: "20.0" };

/** What is looked at, what is said, what it names, and what its button does. */
const COPIES = {
  "a moment of the past": [past(TIMES, false), "past", "20.0 s and goes on", "Back to live"],
  "the same of a cluster that stands": [past(TIMES, true), "past.paused", "stands at 20.0 s", "Back to live"],
  "a moment of a copy's past": [past(TIMES, false, MADE), "past.copy", "copy of run 0001", "Back to now"],
  "the same of a copy that stands": [past(TIMES, true, MADE), "past.copy.paused", "The copy stands", "Back to now"],
  "a cluster that stands": [standstill(false), "standing", "stands still", "Let it go on"],
  "a recorded run at its end": [standstill(true), "ended", "at its end", "Let it go on"],
  "a copy that stands": [standstill(true, MADE), "copy.standing", "made at 12.345 s", "Let it go on"],
  "a copy that goes on": [copied(world(), "orders", "0", "all", MADE), "copy", "does not touch it", "Compare with 0001"],
  "a copy in which nothing was tried": [copied(world({ partition: { leader_epoch: 0 } }), "orders", "0", "all", MADE), "copy", "run 0001", "Compare with 0001"],
  "a copy without a topic": [copied({ ...world(), topics: {} }, undefined, "0", "all", MADE), "copy", "run 0001", "Compare with 0001"],
  "a copy with a dead leader": [copied(world({ dead: [1], partition: MOVED }), "orders", "0", "all", MADE), "moved.all", "Broker 2", "Restart broker 1"],
};

for (const [name, [found, key, names, button]] of Object.entries(COPIES)) {
  test(name, () => {
    assert.equal(found.key, `coach.${key}`);
    const act = found.act ?? `${found.key}.do`;
    assert.ok(english.t(found.key, found.params).includes(names), english.t(found.key, found.params));
    assert.equal(english.t(act, found.params), button);
    for (const text of [found.key, act]) assert.doesNotMatch(korean.t(text, found.params), /[{}]|undefined|coach\./, text);
  });
}

test("only a run whose original is open is a copy, and where time stands still it is let go on", () => {
  assert.deepEqual(MADE, { parent: "0001", t: "12.345" });
  assert.deepEqual([madeOf(OPEN, "0001"), madeOf(OPEN, "0007-1"), madeOf(OPEN, "9")], [null, null, null]);
  for (const found of [standstill(false), standstill(true), standstill(true, MADE)]) assert.deepEqual(found.command, { do: "time", speed: "play" });
});
