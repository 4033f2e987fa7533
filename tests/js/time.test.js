import assert from "node:assert/strict";
import { test } from "node:test";
import { BLOCK, History } from "../../static/time/history.js";
import { Clock } from "../../static/time/clock.js";
import { Present } from "../../static/time/present.js";
import { EMPTY, reduce } from "../../static/model/reduce.js";
import { Story } from "../../static/model/story.js";

const mark = (n) => ({ seq: n * 10, t: n * 1000, code: "high_watermark", node: "broker-1", cause: (n - 1) * 10, params: { topic: "t", partition: 0, before: n - 1, after: n } });
const topic = { seq: 1, t: 0, code: "topic_created", node: "broker-1", cause: 0, params: { topic: "t", assignment: { 0: [1] } } };
const many = (count) => [topic, ...Array.from({ length: count }, (_, index) => mark(index + 1))];
const hw = (state) => state.topics.t.partitions[0].logs[1]?.hw ?? 0;

test("the state at every position is that of a reduction from the beginning", () => {
  const history = new History();
  const events = many(3 * BLOCK);
  for (let from = 0; from < events.length; from += 100) history.append(events.slice(from, from + 100));
  for (const position of [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, events.length]) {
    assert.deepEqual(history.stateAt(position), reduce(EMPTY, events.slice(0, position)), `position ${position}`);
  }
});

test("old blocks go, positions keep their meaning", () => {
  const history = new History(2 * BLOCK);
  history.append(many(5 * BLOCK));
  assert.ok(history.end - history.begin <= 2 * BLOCK);
  assert.equal(hw(history.stateAt(history.end)), 5 * BLOCK);
  assert.equal(hw(history.stateAt(history.begin + 10)), history.begin + 9);
  assert.equal(history.at(0), null);
  assert.equal(history.positionOf(10), null);
});

test("a moment is found by time and by sequence", () => {
  const history = new History();
  history.append(many(1000));
  assert.equal(history.positionAtTime(500_500), 501);
  assert.equal(history.at(history.positionOf(700 * 10)).t, 700_000);
});

test("causes are followed back, nearest first", () => {
  const history = new History();
  history.append(many(10));
  assert.deepEqual(history.causes(history.positionOf(50), 3).map((position) => history.at(position).seq), [40, 30, 20]);
});

test("a cause that is not in the journal is none, also where clients have told their figures since", () => {
  const history = new History();
  const told = { seq: 30, t: 3000, code: "progress", node: "", cause: 0, params: { clients: {} } };
  history.append([topic, mark(1), mark(2), told, mark(4)]); // 30 was recorded at no level of this journal
  assert.equal(history.positionOf(30), null);
  assert.deepEqual(history.causes(history.positionOf(40)), []);
  const earlier = new History();
  earlier.append([{ ...told, seq: 20 }, mark(3)]);
  assert.equal(earlier.positionOf(20), null);
});

test("100,000 events are built and sought in well under a second", () => {
  const history = new History();
  const events = many(100_000);
  const start = performance.now();
  for (let from = 0; from < events.length; from += 500) history.append(events.slice(from, from + 500));
  assert.ok(performance.now() - start < 3000);
  const before = performance.now();
  for (let n = 0; n < 100; n += 1) history.stateAt((n * 997) % history.end);
  assert.ok((performance.now() - before) / 100 < 5);
});

test("stepping back leaves the live edge, stepping on comes back to it", () => {
  const history = new History();
  history.append(many(5));
  const clock = new Clock(history);
  clock.step(-1);
  assert.deepEqual([clock.live, hw(clock.state)], [false, 4]);
  history.append([mark(6)]);
  assert.equal(hw(clock.state), 4);
  clock.step(1);
  clock.step(1);
  assert.deepEqual([clock.live, hw(clock.state)], [true, 6]);
});

test("a replay moves with the wall clock at its own speed and ends live", () => {
  const history = new History();
  history.append(many(100));
  const clock = new Clock(history);
  clock.go(11);
  clock.speed = 0.5;
  clock.togglePlay();
  clock.tick(1000);
  clock.tick(1020);
  assert.equal(hw(clock.state), 20);
  for (let wall = 1200; wall < 3000; wall += 100) clock.tick(wall);
  assert.equal(clock.live, true);
});

test("the cluster's time goes on between messages, and stands while it is paused", () => {
  const clock = new Clock(new History());
  clock.heard({ t: 1_000_000, speed: 0.1, paused: false }, 500);
  clock.tick(700);
  assert.equal(clock.clusterTime(), 1_020_000);
  clock.heard({ t: 1_020_000, paused: true }, 700);
  clock.tick(900);
  assert.equal(clock.clusterTime(), 1_020_000);
});

const levels = { high_watermark: "messages", leader_elected: "transitions", znode_created: "transitions" };
const elected = (partition, leader, t) => ({ seq: t, t, code: "leader_elected", node: "broker-1", cause: 0, params: { topic: "t", partition, leader, reason: "broker gone" } });

test("like events of one moment become one item, others stay apart", () => {
  const story = new Story(levels);
  [elected(0, 2, 10), elected(1, 3, 11), elected(2, 2, 12), elected(3, 2, 900_000)].forEach((event, position) => story.add(event, position));
  assert.deepEqual(story.items.map((item) => item.positions), [[0, 2], [1], [3]]);
  assert.deepEqual(story.items[0].names, ["t-0", "t-2"]);
});

test("traffic is not told, quiet things only on demand, nothing from the future of the view", () => {
  const story = new Story(levels);
  story.add(mark(1), 0);
  story.add({ ...elected(0, 2, 1), code: "znode_created", params: { path: "/a" } }, 1);
  story.add(elected(0, 2, 2), 2);
  assert.equal(story.before(9, 10, false).length, 1);
  assert.equal(story.before(9, 10, true).length, 2);
  assert.equal(story.before(2, 10, false).length, 0);
});

test("how long nobody was controller is told of the one who is elected then, if it was seen when the last one went", () => {
  const story = new Story({});
  const happens = (code, node, t) => story.add({ seq: t, t, code, node, cause: 0, params: {} }, t);
  happens("controller_elected", "broker-2", 10);
  happens("process_ended", "broker-1", 20);
  happens("process_ended", "broker-2", 30);
  happens("controller_elected", "broker-3", 75);
  happens("process_paused", "broker-3", 80);
  happens("process_resumed", "broker-3", 90);
  happens("controller_elected", "broker-1", 95); // the link of the other one was cut: nobody knows since when
  happens("controller_resigned", "broker-1", 100);
  happens("process_ended", "broker-1", 110);
  happens("controller_elected", "broker-2", 130);
  assert.deepEqual(story.items.filter(({ code }) => code === "controller_elected").map(({ without }) => without), [null, 45, null, 30]);
});

test("a rewound viewer is asked where an act belongs; at the live edge nobody is", async () => {
  const happened = [];
  const clock = new Clock(new History());
  const app = { clock, openDialog: () => happened.push("asked"), closeDialog: () => happened.push("closed"), goLive: () => { happened.push("live"); clock.goLive(); } };
  app.desk = { forks: { here: { seq: 7 }, at: async ({ seq }, commands, playOn) => { happened.push(["fork", seq, commands.length, playOn]); return { run: "1-1" }; } } };
  const present = new Present(app);
  assert.equal(await present.where("kill"), "now");
  assert.deepEqual(happened, []);
  const ask = (answer) => {
    clock.position = 0;
    happened.length = 0;
    const found = present.where("kill");
    present.answer(answer);
    return found;
  };
  assert.equal(await ask(null), null);
  assert.deepEqual(happened, ["asked", "closed"]);
  assert.equal(clock.live, false);
  assert.equal(await ask("fork"), "fork");
  assert.deepEqual(happened, ["asked", "closed", ["fork", 7, 0, false]]);
  assert.equal(await ask("now"), "now");
  assert.deepEqual(happened, ["asked", "closed", "live"]);
  app.desk.forks.at = async () => null;
  assert.equal(await ask("fork"), null);
});
