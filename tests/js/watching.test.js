import assert from "node:assert/strict";
import { test } from "node:test";
import { legSpeed, prediction, standing } from "../../static/model/watching.js";
import { brokersOf } from "../../static/views/predict.js";
import { Clock } from "../../static/time/clock.js";
import { History } from "../../static/time/history.js";
import { Watch } from "../../static/desk/watch.js";

const topic = { seq: 1, t: 0, code: "topic_created", node: "broker-1", cause: 0, params: { topic: "t", assignment: { 0: [1] } } };
const mark = (n) => ({ seq: n * 10, t: n * 100_000, code: "high_watermark", node: "broker-1", cause: 0, params: { topic: "t", partition: 0, before: n - 1, after: n } });

/** A page before a run of 100 events in 10 s, whose stops are those of `at` (numbers of events). */
function page(at, { reduced = false } = {}) {
  const history = new History();
  history.append([topic, ...Array.from({ length: 100 }, (_, index) => mark(index + 1))]);
  const clock = new Clock(history);
  const lit = [];
  const app = { history, clock, set() {}, light: (position) => lit.push(position), goLive: () => clock.goLive() };
  const desk = { lessons: { judged: (ended) => { ended.seen = true; } },
    run: "0001-1", panel: "scenarios", past: { toTime: async () => {} }, close() { this.panel = null; }, show(panel) { this.panel = panel; },
    positionOf: (seq) => history.positionOf(seq),
  };
  const watch = new Watch(app, desk, { matches: reduced });
  desk.watch = watch;
  const ended = { run: "0001-1", facts: { began_us: 0, stops: at.map((n) => ({ seq: n * 10, t_us: n * 100_000, event: "high_watermark" })) } };
  return { app, clock, desk, watch, ended, lit, history };
}

/** Animation frames for so many seconds. */
function frames(clock, s) {
  for (let passed = 0; passed < s * 1000; passed += 50) clock.tick(clock.wall + 50);
}

test("a leg is played at a speed that can be read, whole or one over a whole number", () => {
  assert.deepEqual([5e6, 30e6, 90e6, 0.5e6, 20_000, 7_000, 100].map(legSpeed), [1, 5, 20, 1 / 5, 1 / 100, 1 / 400, 0]);
});

test("where a viewer stands follows from the position alone", () => {
  assert.deepEqual(standing([10, 20], 50, 5), { reached: 0, of: 2, at: null, next: 10 });
  assert.deepEqual(standing([10, 20], 50, 10), { reached: 1, of: 2, at: 0, next: 20 });
  assert.deepEqual(standing([10, 20], 50, 30), { reached: 2, of: 2, at: null, next: 50 });
  assert.equal(standing([10, 20], 50, 50).next, null);
});

test("a run is played from stop to stop, stands still at each, and the verdict comes at its end", async () => {
  const { clock, desk, watch, ended, lit } = page([30, 32, 90]);
  clock.tick(1);
  await watch.begin(ended);
  assert.equal(desk.panel, null, "nothing covers the picture");
  for (const [index, position] of [31, 33, 91].entries()) {
    assert.ok(clock.playing, `leg ${index}`);
    frames(clock, 7);
    assert.deepEqual([clock.viewed, clock.playing, watch.where.at, lit.at(-1)], [position, false, index, position - 1]);
    assert.ok(!ended.seen);
    watch.go();
  }
  frames(clock, 7);
  assert.deepEqual([ended.seen, desk.panel, watch.where.next], [true, "scenarios", null]);
});

test("one may skip, step back, hurry, and go to the verdict at once", async () => {
  const { clock, desk, watch, ended } = page([30, 90]);
  clock.tick(1);
  await watch.begin(ended);
  watch.skip();
  assert.deepEqual([clock.viewed, watch.where.at], [31, 0]);
  clock.step(-1);
  assert.deepEqual([watch.where.at, watch.where.next], [null, 31]);
  watch.hurry(4 * watch.leg);
  assert.ok(watch.play() && clock.playing && clock.speed === 4 * watch.leg);
  assert.ok(watch.play() && !clock.playing);
  watch.toVerdict();
  assert.deepEqual([ended.seen, desk.panel], [true, "scenarios"]);
});

test("with reduced motion nothing travels: each step is the next stop", async () => {
  const { clock, watch, ended } = page([30, 90], { reduced: true });
  await watch.begin(ended);
  assert.ok(!clock.playing);
  watch.go();
  assert.deepEqual([clock.playing, clock.viewed], [false, 31]);
});

test("another run that is looked at is not watched", async () => {
  const { desk, watch, ended } = page([30]);
  await watch.begin(ended);
  desk.run = "live";
  assert.deepEqual([watch.active, watch.play()], [false, false]);
});

test("the brokers that one chooses among are those of the lesson's cluster, in its setting", () => {
  const document = { cluster: { brokers: [0, 1, 2] }, variants: { six: { cluster: { brokers: [0, { id: 7, rack: "a" }] } }, five: { title: {} } } };
  assert.deepEqual(["five", "six", ""].map((variant) => brokersOf(document, variant)), [[0, 1, 2], [0, 7], [0, 1, 2]]);
  assert.deepEqual(brokersOf({ cluster: { brokers: 2 } }, ""), [1, 2]);
});

test("a prediction is graded honestly: a number near the answer is near, not right", () => {
  const asked = (chosen, predict, facts) => prediction({ chosen, facts: { scenario: { predict }, ...facts } })?.grade;
  const number = { number: { of: "receipt.lost", near: 20 } };
  assert.deepEqual([50, 45, 60, 61, 0].map((guess) => asked(guess, number, { answer: 50 })), ["right", "near", "near", "wrong", "wrong"]);
  assert.equal(asked(1, number, { answer: 0 }), "wrong", "nothing is near to none");
  const broker = { broker: { of: "leader_of.orders-0" } };
  assert.deepEqual([asked(2, broker, { answer: 2 }), asked(1, broker, { answer: 2 }), asked(-1, broker, { answer: -1 })], ["right", "wrong", "right"]);
  assert.deepEqual([asked(1, { choices: [{}, {}] }, { prediction: 1 }), asked(0, { choices: [{}, {}] }, { prediction: 1 }), asked(0, { choices: [{}, {}] }, { prediction: null })], ["right", "wrong", undefined]);
});
