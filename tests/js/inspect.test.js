import assert from "node:assert/strict";
import { test } from "node:test";
import { placeOf } from "../../static/model/places.js";
import { Attend } from "../../static/inspect/attend.js";
import { History } from "../../static/time/history.js";
import { Inquiry } from "../../static/inspect/inquiry.js";
import { Measure, difference, isFault, registryKey, shortName, startsComparison } from "../../static/inspect/measure.js";
import { Runner, plan } from "../../static/model/macros.js";
import { EMPTY, changesState, reduce } from "../../static/model/reduce.js";
import { refusal } from "../../static/i18n/problems.js";
import { requestAt } from "../../static/model/request.js";
import { fieldsOfBytes, pieces } from "../../static/views/bytes.js";
import { resetOf } from "../../static/views/tabs/offsets.js";
import { copyText } from "../../static/inspect/copy.js";
import { prose } from "../../static/views/prose.js";
import { commandLines } from "../../static/views/tabs/attach.js";

const partition = (leader, isr) => ({ leader, leader_epoch: 1, isr, replicas: [1, 2, 3], min_isr: 1, logs: {} });
const cluster = (leader = 1, isr = [1, 2, 3]) => ({
  ...EMPTY, brokers: Object.fromEntries([1, 2, 3].map((id) => [id, { id, state: "running" }])), topics: { orders: { configs: {}, partitions: { 0: partition(leader, isr) } } },
});

test("a question is asked once, again while it is shown, and not at all when nobody looks", async () => {
  let now = 0;
  const asked = [];
  const inquiry = new Inquiry(async ({ of, name }) => { asked.push(`${of} ${name}`); return { ok: true, t: 5, found: { n: asked.length } }; }, () => {}, () => now);
  inquiry.open = true;
  assert.equal(inquiry.get("broker", 2).found, null);
  inquiry.get("broker", 2);
  await Promise.resolve();
  await Promise.resolve();
  assert.deepEqual([asked.length, inquiry.get("broker", 2).found.n], [1, 1]);
  now = 800;
  inquiry.tick();
  assert.equal(asked.length, 2);
  now = 9000;
  inquiry.tick();
  assert.equal(asked.length, 2);
});

test("figures and lights change the state, but nobody steps to them", () => {
  const before = { ...EMPTY, clients: { "producer-a": { kind: "producer", acked: 1 } } };
  const event = (code, params) => ({ seq: 1, t: 0, code, node: "world", cause: 0, params });
  const after = reduce(before, [event("progress", { clients: { "producer-a": { acked: 9, failed: 2 } }, pipelines: { 1: { queue: 3 } } }), event("lights", { StrongIsr: { ok: false, violations: 1, first: { seq: 4 } } })]);
  assert.deepEqual([after.clients["producer-a"].acked, after.clients["producer-a"].failed, after.pipelines[1].queue, after.invariants.StrongIsr.ok], [9, 2, 3, false]);
  assert.equal(before.clients["producer-a"].acked, 1);
  assert.ok(!changesState("progress") && !changesState("lights") && changesState("isr_shrunk"));
});

test("metrics before and after: what differs, by broker, without partitions unless asked for", () => {
  const name = "kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions";
  const log = "kafka.log:type=Log,name=Size,topic=orders,partition=0";
  const rows = difference({ [name]: { 1: 0, 2: 0 }, [log]: { 1: 5 } }, { [name]: { 2: 4 }, [log]: { 1: 6 } });
  assert.deepEqual(rows, [{ name, broker: "1", before: 0, after: null, delta: 0 }, { name, broker: "2", before: 0, after: 4, delta: 4 }]);
  assert.equal(difference({ [log]: { 1: 5 } }, { [log]: { 1: 6 } }, true).length, 1);
  assert.deepEqual(difference({}, { [name]: { 1: 0, 2: 7 } }).map(({ broker }) => broker), ["2"]);
  assert.equal(shortName("kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce"), "TotalTimeMs, Produce");
  assert.equal(registryKey("kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce"), "kafka.network:type=RequestMetrics,name=TotalTimeMs");
  assert.ok(isFault({ do: "kill" }) && !isFault({ do: "time" }));
});

test("a disturbance from anywhere begins a comparison with the newest sample from before it", async () => {
  const clock = { cluster: { t: 0, paused: false } };
  let [wall, asked] = [0, 0];
  const inquiry = { fresh: async () => ({ t: clock.cluster.t, found: { values: { n: { 1: (asked += 1) } } } }) };
  const measure = new Measure(inquiry, clock, () => wall);
  const at = async (t, act) => {
    clock.cluster.t = wall = t;
    await act();
    await measure.pending;
  };
  for (const t of [1000, 2000, 5000, 9000]) await at(t, () => measure.tick("1", 0));
  assert.deepEqual(measure.samples.map(({ t }) => t), [1000, 5000, 9000]);
  const told = (code, t, params, node = "operator") => ({ seq: t, t, code, node, cause: 0, params });
  await measure.heard([told("high_watermark", 9500, {}), told("command", 8000, { command: { do: "kill", broker: 1 } }), told("leader_elected", 9900, {})], "1");
  assert.deepEqual([measure.before.t, measure.before.event.params.command.do], [5000, "kill"]);
  await measure.heard([told("command", 9900, { command: { do: "produce", topic: "t", value: "v" } })], "1");
  assert.equal(measure.before.t, 5000, "a record is no disturbance");
  await measure.heard([told("command", 9900, { command: { do: "kill", broker: 9 } }), told("command_refused", 9900, { reason: "no broker 9" })], "1");
  assert.equal(measure.before.t, 5000, "nor is what was refused");
  await at(9950, () => measure.begin({ do: "pause", broker: 2 }));
  await measure.heard([told("command", 9960, { command: { do: "pause", broker: 2 } })], "1");
  assert.equal(measure.before.t, 9950, "a command of this page has a sample of its own");
  await measure.heard([told("command", 20, { command: { do: "kill", broker: 1 } })], "2");
  assert.deepEqual([measure.run, measure.before.values], ["2", { n: { 1: asked } }], "nothing from another run");
  assert.ok(startsComparison(told("process_ended", 1, { how: "halted" }, "broker-1")));
  assert.ok(!startsComparison(told("process_ended", 1, { how: "crash" }, "broker-1")), "the command that killed it counts");
});

test("a request is put together from the journal by its correlation number and its ends", () => {
  const row = (t, code, node, params) => ({ seq: t, t, code, node, cause: 0, params: { api: "Produce", correlation: 7, ...params } });
  const events = [row(1, "request_sent", "producer-a", { to: "broker-1", version: 9 }), row(2, "request_sent", "producer-b", { to: "broker-1" }), row(5, "request_received", "broker-1", { source: "producer-a", version: 9, client_id: "a" }),
    row(6, "request_received", "broker-1", { source: "producer-b" }), row(9, "response_sent", "broker-1", { to: "producer-a", error: "NONE" })];
  const history = { begin: 0, end: events.length, at: (position) => events[position] };
  const request = requestAt(history, 2);
  assert.deepEqual(request.parts.map((part) => part.position), [0, 2, 4]);
  assert.deepEqual([request.client, request.broker, request.took, request.error, request.version], ["producer-a", "broker-1", 8, "NONE", 9]);
});

test("every byte of a batch leads to its field, and a line of the hex view is cut at fields", () => {
  const batch = { size: 5, hex: "0001020304", fields: [{ offset: 0, size: 3 }, { offset: 3, size: 2 }] };
  const owner = fieldsOfBytes(batch);
  assert.deepEqual([...owner], [0, 0, 0, 1, 1]);
  assert.deepEqual(pieces(batch, owner, 0, 5), [{ field: 0, text: "00 01 02", begin: 0, end: 3 }, { field: 1, text: "03 04", begin: 3, end: 5 }]);
});

test("an event with offsets is a place in a log, one of a partition has none, others are nowhere", () => {
  const at = (code, params) => placeOf({ code, params: { topic: "orders", partition: 1, ...params } });
  assert.deepEqual(at("log_appended", { base_offset: 3, last_offset: 5 }), { topic: "orders", partition: "1", first: 3, last: 5 });
  assert.deepEqual(at("truncated", { before: 9, after: 7 }), { topic: "orders", partition: "1", first: 7, last: 8 });
  assert.deepEqual([at("high_watermark", { before: 4, after: 6 }).first, at("high_watermark", { before: 6, after: 6 }).first, at("high_watermark", { before: 0, after: 0 }).first], [4, 5, null]);
  assert.equal(at("leader_elected", { leader: 2 }).first, null);
  assert.equal(placeOf({ code: "process_ended", params: { how: "crash" } }), null);
  assert.equal(placeOf(null), null);
});

test("lessons know when they make sense", () => {
  assert.deepEqual(plan("shrink", cluster(), "orders", "0")[0].do, { do: "partition_link", between: ["broker-1", "broker-2"] });
  assert.equal(plan("shrink", cluster(1, [1]), "orders", "0"), null);
  assert.equal(plan("unclean", cluster(-1), "orders", "0"), null);
  assert.equal(plan("shrink", cluster(), null, "0"), null);
  assert.deepEqual(plan("unclean", cluster(), "orders", "0").filter((step) => step.do?.do === "kill").map((step) => step.do.broker), [2, 3, 1]);
});

test("where brokers are the controllers no lesson takes their majority", () => {
  const of = (voters) => ({ ...cluster(), quorum: { voters } });
  assert.equal(plan("unclean", of([1, 2, 3]), "orders", "0"), null);
  for (const voters of [[], [101, 102, 103]]) assert.equal(plan("unclean", of(voters), "orders", "0").length, plan("unclean", cluster(), "orders", "0").length);
  const said = [];
  const app = { topicName: "orders", chosenNumber: "0", acks: "all", words: { t: (key) => key }, notice: (text) => said.push(text) };
  for (const state of [of([1, 2, 3]), cluster(-1)]) assert.equal(new Runner({ ...app, state }, () => 0).start("unclean"), false);
  assert.deepEqual(said, ["macro.no_majority", "macro.not_now"]);
});

test("a lesson waits until its moment has come", async () => {
  const sent = [];
  const app = { state: cluster(), topicName: "orders", chosenNumber: "0", acks: "all", history: { live: cluster() }, clock: { cluster: { paused: false } }, goLive() {}, set() {}, words: { t: (key) => key }, notice() {}, command: async (command) => { sent.push(command.do); return { ok: true }; } };
  const runner = new Runner(app, () => 0);
  assert.ok(runner.start("shrink"));
  await Promise.resolve();
  await Promise.resolve();
  await runner.tick();
  assert.equal(runner.waiting.text, "macro.wait_isr");
  app.clock.cluster.paused = true;
  assert.equal(runner.waiting.text, "macro.wait_time", "nothing comes in a cluster that stands");
  app.clock.cluster.paused = false;
  app.history.live = cluster(1, [1, 3]);
  await runner.tick();
  await runner.tick();
  assert.deepEqual([runner.lesson, sent], [null, ["partition_link", "produce"]]);
});

test("a storm's pauses are the cluster's time, and a consumer comes back when it has stopped", async () => {
  const sent = [];
  const live = { ...cluster(), clients: {} };
  const clock = { cluster: { paused: false }, t: 0, clusterTime: () => clock.t };
  const command = async ({ do: what, name }) => {
    sent.push(`${what} ${name}`);
    if (what === "start_client") live.clients[name] = { state: "running" };
    return { ok: true };
  };
  const app = { state: live, topicName: "orders", chosenNumber: "0", acks: "all", history: { live }, clock, goLive() {}, set() {}, words: { t: (key) => key }, notice() {}, command };
  const runner = new Runner(app);
  const turns = async () => { for (let n = 0; n < 20; n += 1) await runner.tick(); };
  runner.start("storm");
  await turns();
  assert.deepEqual(sent, ["start_client consumer-storm-1"], "time stands");
  for (; sent.length < 4; clock.t += 1_000_000) await turns();
  assert.equal(sent[3], "stop_client consumer-storm-1");
  for (let n = 0; n < 5; n += 1, clock.t += 1_000_000) await turns();
  assert.deepEqual([sent.length, runner.waiting.text], [4, "macro.wait_gone"]);
  live.clients["consumer-storm-1"].state = "stopped";
  for (let n = 0; n < 2; n += 1, clock.t += 1_000_000) await turns();
  assert.equal(sent[4], "start_client consumer-storm-1");
});

test("a lesson that changes settings puts them back, at its end and when it is stopped, and says so", async () => {
  const sent = [];
  const said = [];
  const state = cluster();
  state.topics.orders.configs = { "min.insync.replicas": "2" };
  const app = { state, topicName: "orders", chosenNumber: "0", acks: "1", history: { live: state }, goLive() {}, set() {}, words: { t: (key, params) => (params ? `${key} ${params.settings}` : key) }, notice: (text) => said.push(text), command: async (command) => { sent.push(command); return { ok: true }; } };
  const back = { do: "alter_config", topic: "orders", set: { "unclean.leader.election.enable": null, "min.insync.replicas": "2" } };
  const turn = () => new Promise((done) => { setTimeout(done, 0); });
  const runner = new Runner(app, () => 0);
  runner.start("unclean");
  await turn();
  assert.equal(runner.start("unclean"), false, "asked for again it ends");
  await turn();
  assert.deepEqual([sent.map((one) => one.do), sent[1], runner.lesson], [["alter_config", "alter_config"], back, null]);
  assert.deepEqual(said, ["macro.settings_back unclean.leader.election.enable=macro.default, min.insync.replicas=2"]);
  sent.length = 0;
  let now = 0;
  const whole = new Runner(app, () => now);
  whole.start("unclean");
  for (let step = 0; whole.lesson && step < 40; step += 1) {
    now += 1000;
    app.history.live = cluster(step > 12 ? 2 : 1, [1]);
    await whole.tick();
    await turn();
  }
  assert.deepEqual(sent.at(-1), back);
  assert.deepEqual(sent.map((one) => one.do), ["alter_config", "kill", "kill", "produce", "produce", "produce", "kill", "restart", "alter_config"]);
});

test("every client has a command with the brokers' addresses", () => {
  const lines = commandLines("127.0.0.1:9092", "orders");
  assert.ok(lines.length >= 9);
  for (const [key, text] of lines) assert.ok(text.includes("127.0.0.1:9092"), key);
});

test("a refusal is a sentence, with its place where that helps", () => {
  const words = { words: { problems: { no_leader: "{partition} has no leader", look_only: "the token is for looking only" } }, t: (key, { text, place }) => `${text} (${place})` };
  const no_leader = { code: "no_leader", params: { partition: "orders-0" } };
  assert.equal(refusal({ problem: no_leader, place: "leader_of" }, words), "orders-0 has no leader.");
  assert.equal(refusal({ problem: no_leader, place: "between[1]" }, words), "orders-0 has no leader. (between[1])");
  assert.equal(refusal({ problem: { code: "look_only", params: {} } }, words), "The token is for looking only.");
});

/** An app that knows `events`, looks at bytes and at the message at `looked`. */
function stepper(events, fields) {
  const history = new History();
  history.append(events);
  const asked = [];
  const app = { history, ledgerView: "bytes", looked: null, selected: null, lit: [], set: (values) => Object.assign(app, values), light: (position) => app.lit.push(position), ...fields };
  app.messages = { shown: null, ask: (of, side) => asked.push(`${of} ${side}`), ...fields.messages };
  const timers = [];
  const attend = new Attend(app, (act) => timers.push(act), () => { timers.length = 0; });
  return { app, asked, attend, calm: () => timers.splice(0).forEach((act) => act()) };
}

const exchange = [
  { seq: 1, t: 10, code: "request_sent", node: "producer-a", cause: 0, params: { api: "Produce", version: 9, correlation: 4, to: "broker-1" } },
  { seq: 2, t: 20, code: "request_received", node: "broker-1", cause: 1, params: { api: "Produce", version: 9, correlation: 4, source: "producer-a" } },
  { seq: 3, t: 20, code: "log_appended", node: "broker-1", cause: 2, params: { topic: "orders", partition: 0, base_offset: 7, last_offset: 7, role: "leader" } },
  { seq: 4, t: 30, code: "response_sent", node: "broker-1", cause: 2, params: { api: "Produce", correlation: 4, to: "producer-a", error: "NONE" } },
];

test("a step takes the bytes and the message that is looked at along, and asks for its bytes once it is calm", () => {
  const { app, asked, attend, calm } = stepper(exchange, { looked: 0, messages: { shown: { of: "x", side: "request", waiting: false } } });
  attend.to(1);
  attend.to(2);
  calm();
  assert.deepEqual([app.looked, asked], [2, []]); // an append is no message
  attend.to(3);
  assert.deepEqual(asked, []);
  calm();
  assert.deepEqual([app.looked, app.lit, asked], [3, [1, 2, 3], ["producer-a>broker-1:Produce#4 answer"]]);
});

test("a step leaves alone what nobody looks at, and a question waits for the one before", () => {
  const idle = stepper(exchange, { ledgerView: "batches" });
  idle.attend.to(2);
  idle.calm();
  assert.deepEqual([idle.app.selected, idle.app.looked, idle.app.lit, idle.asked], [2, null, [], []]);
  const shown = { of: "x", side: "request", waiting: true };
  const busy = stepper(exchange, { looked: 1, messages: { shown } });
  busy.attend.to(0);
  busy.calm();
  assert.deepEqual(busy.asked, []);
  shown.waiting = false;
  busy.calm();
  assert.deepEqual(busy.asked, ["producer-a>broker-1:Produce#4 request"]);
});

test("a step of the cluster itself is followed to its last event that can be seen", () => {
  const { app, attend } = stepper([...exchange, { seq: 4, t: 30, code: "progress", node: "world", cause: 0, params: {} }], {});
  attend.heard(5);
  assert.equal(app.lit.length, 0);
  attend.expected = true;
  attend.heard(5);
  assert.deepEqual([app.lit, attend.expected], [[3], false]);
});

test("the form of a group's offsets says what the command line tool would", () => {
  const given = (place, amount) => resetOf("billing", { topic: "orders", place, amount });
  const about = { do: "reset_offsets", group: "billing", topic: "orders" };
  assert.deepEqual(given("earliest"), { ...about, to: "earliest" });
  assert.deepEqual(given("offset", "7"), { ...about, to_offset: 7 });
  assert.deepEqual(given("time", "9.25"), { ...about, to_ms: 9250 });
  assert.deepEqual(given("shift", "-5"), { ...about, shift_by: -5 });
});

test("a page over plain http copies by selection, and says when the browser allows neither", async () => {
  const page = (does) => ({
    activeElement: { focus() {} }, body: { append(field) { this.field = field; } }, querySelector: () => null,
    createElement: () => ({ select() {}, remove() {} }), execCommand: () => does,
  });
  const insecure = page(true);
  assert.deepEqual([await copyText("a", { clipboard: undefined, page: insecure }), insecure.body.field.value], [true, "a"]);
  assert.equal(await copyText("a", { clipboard: undefined, page: page(false) }), false);
  assert.equal(await copyText("a", { clipboard: { writeText: async () => {} }, page: null }), true);
  assert.equal(await copyText("a", { clipboard: { writeText: () => Promise.reject(new Error("denied")) }, page: page(true) }), true);
});

test("marks of documents are drawn, not shown", () => {
  const parts = prose("Set `acks` to **all**, *never* to 2 * 3.");
  assert.deepEqual(parts.map((part) => (typeof part === "string" ? part : [part.tag, part.children.join("")])), ["Set ", ["code", "acks"], " to ", ["b", "all"], ", ", ["b", "never"], " to 2 * 3."]);
  assert.deepEqual(prose(null), []);
});
