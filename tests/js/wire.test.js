import assert from "node:assert/strict";
import { test } from "node:test";
import { Feed } from "../../static/net/feed.js";
import { Socket } from "../../static/net/socket.js";
import { Story, TOLD_ONLY } from "../../static/model/story.js";
import { EMPTY } from "../../static/model/reduce.js";
import { Clock } from "../../static/time/clock.js";
import { History } from "../../static/time/history.js";

const head = { v: 1, run: "r", epoch: 1 };
const snap = (seq, state = EMPTY) => ({ ...head, k: "snap", seq, t: seq * 100, state });
const delta = (from, ...seqs) => ({ ...head, k: "d", from, to: seqs.at(-1), t0: 0, t1: 9, ev: seqs.map((seq) => [seq, seq, "process_paused", "broker-1", 0, {}]) });

function feed() {
  const history = new History();
  const made = new Feed(history, new Story({}), new Clock(history));
  made.asked = [];
  made.resync = (last) => made.asked.push(last);
  return made;
}

test("deltas continue a snapshot although sequences have holes", () => {
  const one = feed();
  one.apply([snap(10), delta(10, 14, 20), delta(20, 33)], 0);
  assert.deepEqual([one.last, one.history.end, one.asked], [33, 4, []]);
});

test("a gap applies nothing and asks for what is missing", () => {
  const one = feed();
  one.apply([snap(10), delta(15, 16)], 0);
  assert.deepEqual([one.last, one.history.end, one.asked], [10, 1, [10]]);
});

test("events that a snapshot holds already are not applied again", () => {
  const one = feed();
  one.apply([snap(10), delta(0, 8, 9), delta(9, 10, 11)], 0);
  assert.deepEqual([one.last, one.history.end], [11, 2]);
});

test("a snapshot after a gap keeps the history, another run begins anew", () => {
  const one = feed();
  one.apply([snap(10), delta(10, 11), snap(50)], 0);
  assert.equal(one.history.end, 3);
  one.apply([{ ...snap(1), run: "other" }], 0);
  assert.deepEqual([one.history.end, one.known()], [1, { run: "other", epoch: 1, last: 1 }]);
});

test("a delta of another epoch is not applied: the lab was forked", () => {
  const one = feed();
  one.apply([snap(10), { ...delta(10, 11), epoch: 2 }], 0);
  assert.deepEqual([one.last, one.asked], [10, [0]]);
});

test("a heartbeat that says the cluster stands asks for a new picture", () => {
  const one = feed();
  one.apply([snap(10)], 0);
  assert.equal(one.apply([{ k: "hb", seq: 10, t: 1000, speed: 1, paused: true }], 5), true);
  assert.equal(one.apply([{ k: "hb", seq: 10, t: 1000, speed: 1, paused: true }], 9), false);
  assert.equal(one.apply([{ k: "hb", seq: 10, t: 1000, speed: 1, paused: true, over: ["disk"] }], 9), true);
  assert.equal(one.apply([{ k: "hb", seq: 10, t: 1000, speed: 1, paused: true, over: ["disk"] }], 9), false);
  assert.equal(one.apply([{ k: "hb", seq: 10, t: 1000, speed: 1, paused: true, over: [] }], 9), true);
});

test("polling alone asks for no new picture; what changes the cluster, or is told, does", () => {
  const one = feed();
  const of = (from, seq, code, params = {}) => ({ ...head, k: "d", from, to: seq, t0: 0, t1: seq, ev: [[seq, 0, code, "broker-1", 0, params]] });
  one.apply([snap(10)], 0);
  one.story.levels = { request_sent: "messages", fetch_completed: "messages" };
  const { live } = one.history;
  assert.equal(one.apply([of(10, 11, "request_sent", { to: "broker-2", api: "Fetch" }), of(11, 12, "progress", { pipelines: {} })], 0), false);
  assert.equal(one.history.live, live);
  assert.equal(one.history.end, 3);
  assert.equal(one.apply([of(12, 13, "process_paused")], 0), true);
  assert.equal(one.apply([of(13, 14, "index_rebuilt", { topic: "orders", partition: 0 })], 0), true);
});

class FakeWire {
  constructor() {
    this.readyState = 1;
    this.sent = [];
  }

  send(text) {
    this.sent.push(JSON.parse(text));
  }
}

function socket() {
  let wire;
  const made = new Socket("ws://x", () => ({ run: "r", epoch: 1, last: 5 }), () => (wire = new FakeWire()));
  wire.onopen();
  return [made, wire];
}

test("hello says what is known; several deltas may come in one message", () => {
  const [made, wire] = socket();
  assert.deepEqual(wire.sent, [{ k: "hello", run: "r", epoch: 1, last: 5 }]);
  wire.onmessage({ data: JSON.stringify([delta(5, 6), delta(6, 7)]) });
  wire.onmessage({ data: JSON.stringify(delta(7, 8)) });
  assert.equal(made.drain().length, 3);
  assert.equal(made.drain().length, 0);
});

test("a command resolves with its acknowledgement, or as lost with the connection", async () => {
  const [made, wire] = socket();
  const [first, second] = [made.command({ do: "kill", broker: 1 }), made.command({ do: "kill", broker: 2 })];
  assert.deepEqual(wire.sent[1], { k: "cmd", id: 1, do: "kill", broker: 1 });
  wire.onmessage({ data: JSON.stringify({ k: "ack", id: 1, ok: true, seq: 9 }) });
  assert.equal((await first).seq, 9);
  const timer = globalThis.setTimeout;
  globalThis.setTimeout = () => 0;
  wire.onclose();
  globalThis.setTimeout = timer;
  assert.deepEqual(await second, { ok: false, lost: true });
});

test("a run that was asked for is asked for again after a loss, until it has come", () => {
  const [made, wire] = socket();
  made.look("branch");
  const again = () => {
    const timer = globalThis.setTimeout;
    let connect;
    globalThis.setTimeout = (act) => { connect = act; };
    made.socket.onclose();
    globalThis.setTimeout = timer;
    connect();
    made.socket.onopen();
    return made.socket.sent[0];
  };
  assert.deepEqual(wire.sent.at(-1), { k: "hello", run: "branch", epoch: 0, last: 0 });
  assert.deepEqual(again(), { k: "hello", run: "branch", epoch: 0, last: 0 });
  made.socket.onmessage({ data: JSON.stringify({ ...snap(5), run: "r" }) });
  assert.equal(again().run, "branch");
  made.socket.onmessage({ data: JSON.stringify({ ...snap(5), run: "branch" }) });
  assert.deepEqual(again(), { k: "hello", run: "r", epoch: 1, last: 5 }, "what is known");
});

test("a page that is not drawn drops what waits and asks for a snapshot once", () => {
  const [made, wire] = socket();
  made.synced();
  for (let n = 0; n < 700; n += 1) wire.onmessage({ data: JSON.stringify(delta(n, n + 1)) });
  assert.ok(made.drain().length < 600);
  assert.deepEqual(wire.sent.filter((message) => message.k === "resync"), [{ k: "resync", last: 0 }]);
});

test("what was told of a run is told again when it is back, and nothing of it beside another run", () => {
  const one = feed();
  one.story.add({ seq: 3, t: 0, code: "process_started", node: "broker-1", cause: 0, params: {} }, -2e9);
  one.apply([snap(10)], 0);
  one.apply([delta(10, 11)], 0);
  assert.equal(one.story.items.length, 2);
  one.apply([{ ...snap(5), run: "other" }], 0);
  assert.equal(one.story.items.length, 0);
  one.apply([snap(20)], 0);
  assert.deepEqual(one.story.items.map(({ code }) => code), ["process_started", "process_paused"]);
  one.apply([delta(20, 21)], 0);
  assert.deepEqual(one.story.items.map(({ positions }) => positions[0] <= TOLD_ONLY), [true, true, false]);
  assert.equal(new Set(one.story.items.map(({ key }) => key)).size, 3);
  one.story.prepend([{ seq: 11, t: 0, code: "process_paused", node: "broker-1", cause: 0, params: {} }], 1);
  assert.deepEqual(one.story.items.map(({ positions }) => positions[0]), [TOLD_ONLY - 2, 1, one.history.end - 1]);
});
