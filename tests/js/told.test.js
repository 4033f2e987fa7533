import assert from "node:assert/strict";
import { test } from "node:test";
import { elections, formerController } from "../../static/model/crown.js";
import { Story, TOLD_ONLY } from "../../static/model/story.js";

const elected = (seq, broker, epoch) => ({ seq, t: seq * 1e6, code: "controller_elected", node: `broker-${broker}`, cause: 0, params: { broker, epoch } });
const died = (seq) => ({ seq, t: seq * 1e6, code: "process_ended", node: "broker-1", cause: 0, params: { how: "crash" } });

/** A page that looks at second `t`, behind what has happened by then. */
function page(t, controller, one, events) {
  const story = new Story({});
  events.forEach((event, index) => story.add(event, index));
  const viewed = events.filter((event) => event.t <= t * 1e6).length;
  return {
    story, clock: { viewed, viewedTime: t * 1e6 },
    state: { cluster: { controller }, brokers: { 1: { state: one }, 2: { state: "running" } } },
  };
}

const RUN = [elected(1, 1, 1), died(5), elected(8, 2, 2)];

test("while nobody is controller the last one stands there as what he was", () => {
  assert.equal(formerController(page(3, 1, "running", RUN)), null);
  assert.deepEqual(formerController(page(6, null, "stopped", RUN)), { broker: 1, epoch: 1, t: 1e6 });
});

test("behind the election the one before is shown as long as it is down, and for some seconds when it runs", () => {
  assert.equal(formerController(page(9, 2, "stopped", RUN)).broker, 1);
  assert.equal(formerController(page(90, 2, "stopped", RUN)).broker, 1);
  assert.equal(formerController(page(9, 2, "running", RUN)).broker, 1);
  assert.equal(formerController(page(90, 2, "running", RUN)), null);
});

test("who is elected again and again is one controller", () => {
  const story = new Story({});
  [elected(1, 1, 1), elected(2, 1, 2), elected(3, 1, 3)].forEach((event, index) => story.add(event, index));
  assert.deepEqual(elections(story.items, 9).map(({ broker }) => broker), [1]);
});

test("what is told of a time whose events are not loaded stands in front of what is told already, once", () => {
  const story = new Story({});
  story.add(elected(80, 2, 2), 4);
  story.recall([elected(1, 1, 1), died(5), elected(80, 2, 2)]);
  assert.deepEqual(story.items.map(({ first }) => first.seq), [1, 5, 80]);
  story.recall([elected(1, 1, 1), died(5)]);
  assert.equal(story.items.length, 3);
  assert.ok(story.items.slice(0, 2).every(({ positions: [position] }) => position < TOLD_ONLY));
  story.prepend([elected(1, 1, 1), died(5)], -2);
  assert.deepEqual(story.items.map(({ positions: [position] }) => position), [-2, -1, 4]);
});

test("a client that connects once more does not stand above the death that made it do so", () => {
  const calls = (seq, client_id) => ({ seq, t: seq * 1e6, code: "client_software", node: "broker-2", cause: 0, params: { connection: seq, software: "librdkafka", client_id } });
  const story = new Story({});
  [calls(1, "kcat"), died(5), calls(11, "kcat"), calls(20, "other")].forEach((event, index) => story.add(event, index));
  assert.deepEqual(story.before(9, 9, false).map(({ first }) => first.seq), [20, 5, 1]);
  assert.equal(story.before(9, 9, true).length, 4);
  story.prepend([calls(0, "other")], -1);
  assert.deepEqual(story.before(9, 9, false).map(({ first }) => first.seq), [5, 1, 0]);
});
