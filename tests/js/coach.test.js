import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { advice, standstill } from "../../static/model/coach.js";
import { Tour } from "../../static/desk/tour.js";
import { Catalogue } from "../../static/i18n/catalogue.js";

/** A cluster of three brokers with a topic orders; `brokers`: states that differ from running, `partition`: what differs. */
function cluster({ brokers = {}, partition = {}, clients = {}, links = [] } = {}) {
  const logs = Object.fromEntries([1, 2, 3].map((id) => [id, { leo: 100, hw: 100, start: 0 }]));
  const own = { leader: 1, isr: [1, 2, 3], replicas: [1, 2, 3], leader_epoch: 0, min_isr: 2, logs, ...partition };
  return {
    brokers: Object.fromEntries([1, 2, 3].map((id) => [id, { id, state: brokers[id] ?? "running" }])),
    topics: { orders: { partitions: { 0: own } } }, clients, links, cluster: {},
  };
}

const producer = { "producer-orders": { kind: "producer", state: "running", settings: { acks: "all" } } };
const reader = { "consumer-orders": { kind: "consumer", state: "running", settings: {} } };
const said = (options, acks) => advice(cluster(options), "orders", "0", acks);

test("what is dead, silent or cut comes before what could be tried", () => {
  const cases = [
    [{ brokers: { 2: "paused" } }, "coach.paused", { do: "resume", broker: 2 }],
    [{ brokers: { 1: "stopped" } }, "coach.waiting", null],
    [{ brokers: { 1: "stopped" }, partition: { leader: -1, isr: [1] } }, "coach.offline", { do: "restart", broker: 1 }],
    [{ brokers: { 1: "stopped" }, partition: { leader: 2, isr: [2, 3], leader_epoch: 1 } }, "coach.moved.all", { do: "restart", broker: 1 }],
    [{ brokers: { 3: "stopped" }, partition: { isr: [1, 2], leader_epoch: 1 } }, "coach.follower_down", { do: "restart", broker: 3 }],
    [{ links: [{ from: "broker-1", to: "broker-2", partitioned: true }] }, "coach.links_cut", { do: "stop_all_faults" }],
    [{ partition: { isr: [1, 2] } }, "coach.behind", null],
  ];
  for (const [options, key, command] of cases) {
    const found = said(options);
    assert.deepEqual([found.key, found.command], [key, command], key);
  }
  assert.equal(said({ partition: { isr: [1, 2], logs: { 1: { leo: 100 }, 2: { leo: 100 }, 3: { leo: 60 } } } }).params.lacks, 40);
});

test("without a majority of its controllers a cluster of KRaft is asked for the next one that it needs", () => {
  const quorum = (voters, ...alive) => ({ voters, replicas: Object.fromEntries(alive.map((id) => [id, { state: "follower" }])) });
  const found = (state, of, brokers = {}) => advice({ ...cluster({ brokers }), quorum: state, cluster: { controller_mode: "kraft" } }, "orders", "0")?.[of];
  const combined = { 2: "stopped", 3: "stopped" };
  assert.deepEqual(found(quorum([1, 2, 3], 1), "command", combined), { do: "restart", node: "broker-2" });
  assert.deepEqual(found(quorum([1, 2, 3], 1), "params", combined), { n: 2, of: 3, node: "broker-2" });
  assert.deepEqual(found(quorum([101, 102, 103], 1, 2, 3, 103), "command"), { do: "restart", node: "controller-101" });
  for (const [state, brokers] of [[quorum([1, 2, 3], 1, 2), { 3: "stopped" }], [quorum([101, 102, 103], 1, 2, 3, 102, 103), {}], [quorum([101], 101, 1), { 2: "stopped" }]]) {
    assert.notEqual(found(state, "key", brokers), "coach.no_majority");
  }
});

test("while nobody could be elected the coach asks for a server of the tree, and the first visit for no death", () => {
  const servers = (...states) => Object.fromEntries(states.map((state, index) => [`zookeeper-${index + 1}`, { state }]));
  const found = (...states) => advice({ ...cluster({ clients: producer }), servers: servers(...states) }, "orders", "0");
  assert.deepEqual([found("stopped").key, found("stopped").command], ["coach.no_tree", { do: "restart", node: "zookeeper-1" }]);
  assert.deepEqual(found("running", "stopped", "stopped").params, { n: 2, of: 3, node: "zookeeper-2" });
  assert.notEqual(found("running", "stopped", "running").key, "coach.no_tree");
  const line = (state) => {
    const tour = new Tour({ state: { ...cluster({ clients: { "producer-orders": { ...producer["producer-orders"], acked: 50 } } }), servers: servers(state) }, acks: "all" }, { live: null });
    tour.over = false;
    return tour.line();
  };
  assert.deepEqual([line("running").key, line("stopped").key, line("stopped").step], ["tour.kill", undefined, "kill"]);
});

test("writes that are refused are what to mend, by what keeps the others out", () => {
  const partition = { leader: 1, isr: [1], leader_epoch: 0 };
  assert.deepEqual(said({ brokers: { 2: "stopped", 3: "stopped" }, partition, clients: producer }).key, "coach.refused");
  assert.deepEqual(said({ partition, clients: producer, links: [{ from: "broker-1", to: "broker-2", partitioned: true }] }).command, { do: "stop_all_faults" });
  assert.equal(said({ partition, clients: producer }).key, "coach.refused_behind");
  assert.equal(said({ brokers: { 2: "stopped", 3: "stopped" }, partition }).key, "coach.last", "nobody writes that is refused");
});

test("the last replica that has everything is never to be killed", () => {
  for (const options of [
    { brokers: { 2: "stopped", 3: "stopped" }, partition: { isr: [1] } }, { partition: { isr: [1] } }, { partition: { isr: [1], replicas: [1] } },
    { brokers: { 2: "stopped", 3: "stopped" }, partition: { isr: [1, 2, 3] } },
  ]) assert.notEqual(said(options)?.command?.do, "kill", JSON.stringify(options));
});

test("a lab with the records of an earlier day is asked to write before anything is killed", () => {
  assert.deepEqual([said({}).key, said({}).command.do], ["coach.no_writer", "start_client"]);
  assert.equal(advice({ ...cluster(), connections: { 7: {} } }, "orders", "0").command.do, "kill");
});

test("a step that is done is not asked for again", () => {
  assert.equal(said({ clients: producer }).command.do, "kill");
  const moved = { leader: 2, leader_epoch: 1 };
  assert.deepEqual(said({ partition: moved, clients: producer }).command, { do: "elect_leaders", topic: "orders", partition: 0 });
  const back = { leader: 1, leader_epoch: 2 };
  assert.equal(said({ partition: back, clients: producer }).key, "coach.no_readers");
  const done = said({ partition: back, clients: { ...producer, ...reader } });
  assert.deepEqual([done.key, done.panel, done.command], ["coach.lessons", "scenarios", null]);
});

test("in a paused world nobody is told to wait", () => {
  assert.deepEqual([standstill(false), standstill(true)].map(({ key, command }) => [key, command.speed]), [["coach.standing", "play"], ["coach.ended", "play"]]);
});

test("a cause is told in human words, and its own sentence has the protocol's", () => {
  const read = (part) => JSON.parse(readFileSync(new URL(`../../web/messages/${part}.en.json`, import.meta.url), "utf8"));
  const words = new Catalogue({ language: "en", page: { ...read("page"), ...read("lesson") }, story: read("story") });
  const event = { code: "request_received", node: "broker-3", params: { api: "LeaderAndIsr", version: 7, source: "broker-1" } };
  assert.equal(words.because(event), "Broker 3 was told what it leads and what it follows.");
  assert.match(words.say(event), /LeaderAndIsr v7/);
  const other = { ...event, params: { ...event.params, api: "Heartbeat" } };
  assert.equal(words.because(other), words.say(other));
});
