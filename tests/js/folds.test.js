import assert from "node:assert/strict";
import { test } from "node:test";
import { BAND, kindsOf } from "../../static/draw/folds.js";
import { makeFolds, sketch } from "../../static/draw/sketch.js";
import { EMPTY } from "../../static/model/reduce.js";
import { History } from "../../static/time/history.js";

const brokers = Object.fromEntries([1, 2].map((id) => [id, { id, node: `broker-${id}`, state: "running" }]));
const state = { ...EMPTY, brokers };
const fetch = (n) => ({ seq: n, t: n * 1000, code: "request_sent", node: "broker-2", cause: 0, params: { api: "Fetch", to: "broker-1", correlation: n } });
const kill = (n) => ({ seq: n, t: n * 1000, code: "process_ended", node: "broker-1", cause: 0, params: { how: "crash" } });

/** `count` fetches, a death, and as many once more. */
function quiet(count) {
  const history = new History();
  history.append(Array.from({ length: 2 * count + 1 }, (_, n) => (n === count ? kill(n + 1) : fetch(n + 1))));
  return history;
}

const messages = (slots) => slots.reduce((sum, slot) => sum + (slot.ways ? slot.n : slot.event.code === "request_sent" ? 1 : 0), 0);

test("what happens all the time is a band, the last messages before a death are arrows, and none is left out", () => {
  const history = quiet(3000);
  const folds = makeFolds();
  folds.follow(history);
  const slots = folds.before(history, history.end, 60, false);
  assert.deepEqual(slots.map((slot) => (slot.ways ? slot.n : slot.event.code)), [2995, ...Array(5).fill("request_sent"), "process_ended", ...Array(3).fill("request_sent"), 2997]);
  assert.equal(messages(slots), 6000);
  assert.deepEqual(kindsOf(slots[0]), [["Fetch", 2995]]);
  const found = sketch(history, state, { position: 3001, time: 3_001_000, span: 1, axis: "order", chosen: null, rewound: true, room: 40, folds });
  assert.deepEqual([found.bands.map(({ n }) => n), found.arrows.length, found.marks.map(({ kind }) => kind)], [[2995, 2997], 8, ["death"]]);
  assert.ok(found.bands[0].x2 < found.arrows[0].x1 && found.bands[1].x1 > found.cursor);
});

test("bands share the room that is left: where nothing but routine happens one fills it", () => {
  const look = (count, room) => sketch(quiet(count), state, { position: count, time: count * 1000, span: 1, axis: "order", chosen: null, room, open: false });
  const [band] = look(3000, 40).bands; // five messages before the death stand behind it
  assert.ok(band.x1 < 0.01 && band.x2 > 0.8);
  assert.ok(look(3000, 40).cursor > 0.97);
});

test("a band that the viewer stands in has what came before him, and the rest is ahead", () => {
  const history = quiet(1000);
  const folds = makeFolds();
  folds.follow(history);
  const past = folds.before(history, 400, 60, true);
  const ahead = folds.behind(history, 400, 60);
  assert.equal(messages(past), 400);
  assert.equal(messages([...past, ...ahead]), 2000);
  assert.deepEqual(past.map((slot) => slot.ways ? "band" : "arrow"), ["band", ...Array(5).fill("arrow")]);
});

test("folds grow with the history as if it had come at once, and begin again with another one", () => {
  const history = new History();
  const folds = makeFolds();
  const events = [...quiet(40).between(0, 81)];
  for (let at = 0; at < events.length; at += 7) {
    history.append(events.slice(at, at + 7));
    folds.follow(history);
  }
  const fresh = makeFolds();
  fresh.follow(history);
  const shape = (slots) => slots.map((slot) => (slot.ways ? [slot.begin, slot.end, slot.n] : slot.position));
  assert.deepEqual(shape(folds.before(history, history.end, 90, true)), shape(fresh.before(history, history.end, 90, true)));
  history.reset();
  history.append([fetch(1)]);
  folds.follow(history);
  assert.equal(messages(folds.before(history, history.end, 90, true)), 1);
});

test("bands and slots fit into their room, the newest first", () => {
  const history = new History();
  history.append(Array.from({ length: 4000 }, (_, n) => (n % 40 === 39 ? kill(n + 1) : fetch(n + 1))));
  const folds = makeFolds();
  folds.follow(history);
  for (const room of [24, 50, 96]) {
    const slots = folds.before(history, history.end, room, true);
    assert.ok(slots.reduce((sum, slot) => sum + (slot.ways ? BAND : 1), 0) <= room);
    assert.equal(slots.at(-1).event.code, "process_ended");
  }
});

test("an answer that failed, and what a controller says, is never folded", () => {
  const history = new History();
  const answer = (n, error) => ({ seq: n, t: n, code: "response_sent", node: "broker-1", cause: 0, params: { api: "Fetch", to: "broker-2", correlation: n, error } });
  history.append([...Array.from({ length: 20 }, (_, n) => answer(n + 1, "NONE")), answer(21, "NOT_LEADER_OR_FOLLOWER"), { ...fetch(22), params: { api: "LeaderAndIsr", to: "broker-1", correlation: 22 } }]);
  const folds = makeFolds();
  folds.follow(history);
  const slots = folds.before(history, history.end, 40, false);
  assert.deepEqual(slots.map((slot) => (slot.ways ? slot.n : slot.event.params.error ?? slot.event.params.api)), [20, "NOT_LEADER_OR_FOLLOWER", "LeaderAndIsr"]);
});
