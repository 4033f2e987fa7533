import assert from "node:assert/strict";
import { test } from "node:test";
import { BLOCK, History } from "../../static/time/history.js";
import { Past } from "../../static/time/past.js";
import { Clock } from "../../static/time/clock.js";
import { Story, TOLD_ONLY } from "../../static/model/story.js";
import { EMPTY, reduce, snapshotEvent } from "../../static/model/reduce.js";
import { brokerChoices, commandsOf, difference, treeOf } from "../../static/model/fork.js";
import { Tour } from "../../static/model/tour.js";
import { firstLost, lossOf } from "../../static/model/causes.js";
import { figures, furtherOf, judgement, outsideFigures, placesOf } from "../../static/views/receipt.js";
import { sourceName } from "../../static/views/lesson.js";

const mark = (n) => ({ seq: n * 10, t: n * 1000, code: "high_watermark", node: "broker-1", cause: (n - 1) * 10, params: { topic: "t", partition: 0, before: n - 1, after: n } });
const topic = { seq: 1, t: 0, code: "topic_created", node: "broker-1", cause: 0, params: { topic: "t", assignment: { 0: [1] } } };
const all = (count) => [topic, ...Array.from({ length: count }, (_, index) => mark(index + 1))];
const row = ({ seq, t, code, node, cause, params }) => [seq, t, code, node, cause, params];

/** A server that keeps a keyframe every `every` events and answers as the real one does. */
function server(events, every, page = Infinity) {
  const asked = [];
  const frames = [];
  for (let index = 0; index < events.length; index += every) frames.push(index);
  const ask = async ({ seq, after = 0 }) => {
    asked.push(seq);
    const seqOf = (index) => (index ? events[index - 1].seq : 0);
    let at = 0;
    while (at + 1 < frames.length && seqOf(frames[at + 1]) <= seq) at += 1;
    const rest = events.slice(frames[at], frames[at + 1] ?? events.length).filter((event) => event.seq > after);
    const ev = rest.slice(0, page);
    const snap = after ? null : { state: reduce(EMPTY, events.slice(0, frames[at])) };
    return { ok: true, seq: seqOf(frames[at]), t: 0, last: ev.at(-1)?.seq ?? after, whole: ev.length === rest.length, snap, ev: ev.map(row) };
  };
  return { ask, asked };
}

function visited(events, from) {
  const history = new History();
  const story = new Story({ high_watermark: "details" });
  history.append([snapshotEvent(events[from - 1].seq, events[from - 1].t, reduce(EMPTY, events.slice(0, from))), ...events.slice(from)]);
  return { history, story };
}

test("what was before the page is loaded piece by piece, and every state of it is right", async () => {
  const events = all(900);
  const { history, story } = visited(events, 700);
  const { ask, asked } = server(events, 97);
  const past = new Past(history, story, ask);
  await past.reach(() => false);
  assert.equal(past.complete, true);
  assert.equal(history.begin, -700);
  for (const position of [-700, -699, -500, -3, 0]) assert.deepEqual(history.stateAt(position), reduce(EMPTY, events.slice(0, position + 700)), `position ${position}`);
  assert.equal(history.at(history.positionOf(10)).t, 1000);
  assert.deepEqual(history.at(5).seq, events[704].seq);
  assert.ok(asked.length <= 10, `asked ${asked.length} times`);
});

test("more between two keyframes than one answer carries is loaded page by page, without a gap", async () => {
  const events = all(900);
  const { history, story } = visited(events, 700);
  const { ask, asked } = server(events, 600, 64);
  const past = new Past(history, story, ask);
  await past.reach(() => false);
  assert.equal(past.complete, true);
  assert.equal(history.begin, -700);
  for (const position of [-700, -640, -500, -100, -3, 0]) assert.deepEqual(history.stateAt(position), reduce(EMPTY, events.slice(0, position + 700)), `position ${position}`);
  assert.ok(asked.length >= 700 / 64 && asked.length < 20, `asked ${asked.length} times`);
});

test("a page that does not come leaves the past as it is", async () => {
  const events = all(900);
  const { history, story } = visited(events, 700);
  const { ask } = server(events, 600, 64);
  let left = 3;
  const past = new Past(history, story, (question) => (left-- > 0 ? ask(question) : { ok: false, error: "no" }));
  await past.reach(() => false);
  assert.equal(past.complete, true);
  assert.deepEqual(history.stateAt(history.begin + 1), reduce(EMPTY, events.slice(0, history.begin + 701)));
});

test("only as much is loaded as somebody wants to see", async () => {
  const events = all(900);
  const { history, story } = visited(events, 800);
  const { ask, asked } = server(events, 100);
  const past = new Past(history, story, ask);
  await past.toTime(650_000);
  assert.ok(asked.length <= 3);
  assert.ok(past.begin <= 650_000 && past.begin > 500_000);
  await past.toSeq(10);
  assert.ok(history.positionOf(10) !== null);
});

test("of a time that is not loaded what changed the cluster is told", async () => {
  const events = all(36_000);
  const { history, story } = visited(events, 35_990);
  const { ask } = server(events, 4000);
  const death = [5, 5, "process_ended", "broker-1", 0, { how: "crash" }];
  const past = new Past(history, story, async (question) => (question.what === "story" ? { ok: true, ev: [death] } : ask(question)));
  await past.quietly();
  assert.equal(past.complete, false);
  assert.deepEqual(story.items.map(({ code, first }) => [code, first.seq]), [["process_ended", 5]]);
});

test("a server that keeps nothing ends the search", async () => {
  const { history, story } = visited(all(20), 10);
  const past = new Past(history, story, async () => ({ ok: false, error: "no" }));
  await past.more();
  assert.equal(past.complete, true);
});

test("an answer for another run is not taken", async () => {
  const events = all(300);
  const { history, story } = visited(events, 200);
  let answer;
  const past = new Past(history, story, () => new Promise((resolve) => { answer = resolve; }));
  const loading = past.more();
  past.reset();
  answer({ ok: true, seq: 0, snap: { state: EMPTY }, ev: events.slice(0, 100).map(row) });
  await loading;
  assert.equal(history.begin, 0);
});

/** What waits for promises that are kept has gone on. */
const settled = () => new Promise((resolve) => { setTimeout(resolve); });

test("what is loaded of another run is not asked for twice when an answer for the one before comes late", async () => {
  const events = all(300);
  const { history, story } = visited(events, 200);
  const answers = [];
  const past = new Past(history, story, () => new Promise((resolve) => { answers.push(resolve); }));
  const before = past.more();
  past.reset();
  const now = past.more();
  answers[0]({ ok: true, seq: 0, snap: { state: EMPTY }, ev: [] });
  await before;
  const more = past.toTime(-1);
  await settled();
  assert.equal(answers.length, 2, "the second waits for what is under way");
  answers[1]({ ok: true, seq: events[99].seq, snap: { state: reduce(EMPTY, events.slice(0, 100)) }, ev: events.slice(100, 200).map(row) });
  await now;
  await settled();
  answers[2]?.({ ok: true, seq: 0, snap: { state: EMPTY }, ev: events.slice(0, 100).map(row) });
  await more;
  assert.equal(history.begin, -200);
  assert.deepEqual(history.stateAt(-150), reduce(EMPTY, events.slice(0, 50)));
});

test("a connection that is lost says nothing of what is kept: the rest is asked for when somebody wants it", async () => {
  const events = all(300);
  const { history, story } = visited(events, 200);
  const { ask } = server(events, 100);
  let here = false;
  const past = new Past(history, story, (question) => (here ? ask(question) : { ok: false, lost: true }));
  await past.toTime(-1);
  assert.deepEqual([past.complete, history.begin], [false, 0]);
  here = true;
  await past.toTime(-1);
  assert.deepEqual([past.complete, history.begin], [true, -200]);
});

test("stepping back crosses the snapshot in the middle without standing on it", async () => {
  const events = all(40);
  const { history, story } = visited(events, 30);
  await new Past(history, story, server(events, 50).ask).more();
  const clock = new Clock(history);
  clock.go(2);
  clock.step(-1);
  assert.equal(history.at(clock.viewed - 1).seq, events[29].seq);
});

test("old blocks stay while they are looked at", () => {
  const history = new History(2 * BLOCK);
  history.append(all(2 * BLOCK - 1));
  const clock = new Clock(history);
  clock.go(5);
  history.append(Array.from({ length: 3 * BLOCK }, (_, index) => mark(2 * BLOCK + index)));
  assert.equal(history.begin, 0);
  clock.goLive();
  history.append([mark(9999)]);
  assert.ok(history.begin > 0);
});

test("what was told before it was loaded is told once, with its positions", () => {
  const story = new Story({});
  const died = { seq: 50, t: 5, code: "process_ended", node: "broker-1", cause: 0, params: { how: "crash" } };
  story.add(died, TOLD_ONLY - 1);
  story.add({ ...died, seq: 90, node: "broker-2" }, 3);
  story.prepend([{ ...died, seq: 40, node: "broker-3" }, died], -2);
  assert.deepEqual(story.items.map((item) => [item.first.seq, item.positions[0]]), [[40, -2], [50, -1], [90, 3]]);
});

test("choices of a fork become commands: settings before faults", () => {
  const state = { brokers: { 1: { state: "running" }, 2: { state: "stopped" } }, clients: { "producer-orders": { kind: "producer", state: "running" } } };
  assert.deepEqual(commandsOf({ "broker:1": "kill", acks: "1", "min.insync.replicas": "1", links: "slow" }, state, "orders"), [
    { do: "set_client", name: "producer-orders", set: { acks: "1" } },
    { do: "alter_config", topic: "orders", set: { "min.insync.replicas": "1" } },
    { do: "delay_link", between: ["leader_of:orders-0", "followers_of:orders-0"], delay_ms: 100 },
    { do: "kill", broker: 1 },
  ]);
  assert.deepEqual(commandsOf({}, state, "orders"), []);
  assert.deepEqual(commandsOf({ protection: "maximal_isr" }, { ...state, cluster: { protections: {} } }, "orders"), [{ do: "set_protection", set: { maximal_isr: false } }]);
  assert.deepEqual(commandsOf({ protection: "maximal_isr" }, { ...state, cluster: { protections: { maximal_isr: false } } }, "orders"), [{ do: "set_protection", set: { maximal_isr: true } }]);
  assert.deepEqual(brokerChoices(state.brokers[2]), ["restart"]);
});

test("two branches differ where a fact differs, whatever the order of an ISR", () => {
  const one = { leader: 1, leader_epoch: 0, isr: [1, 2], leo: 5, hw: 5, hash: "aa" };
  const left = { controller: 1, controller_epoch: 1, partitions: { a: one, b: one } };
  const right = { controller: 2, controller_epoch: 1, partitions: { a: { ...one, isr: [2, 1] }, b: { ...one, hash: "bb" }, c: one } };
  const found = difference(left, right);
  assert.deepEqual(found.partitions.map(({ name, differs }) => [name, differs.length]), [["a", 0], ["b", 1], ["c", 6]]);
  assert.deepEqual([found.differing, found.cluster], [2, ["controller"]]);
});

test("open runs are a tree, whatever order they come in", () => {
  const open = [{ run: "1-2", parent: "1-1" }, { run: "1", parent: null }, { run: "1-1", parent: "1" }, { run: "7-1", parent: "7" }];
  assert.deepEqual(treeOf(open).map(({ run, depth }) => `${run}:${depth}`), ["1:0", "1-1:1", "1-2:2", "7-1:0"]);
});

test("lost, unread, at risk and duplicated are four figures, whether the run goes on or not", () => {
  const found = { acked: 10, read: 7, lost: 1, unread: 2, at_risk: 3, duplicated: 4, reordered: 0, removed: 0, places: { duplicated: [{ offset: 3 }], lost: [{ offset: 2, test: "cut" }], at_risk: [{ offset: 1, copies: 2 }] } };
  for (const finished of [true, false]) assert.deepEqual(Object.fromEntries(figures({ ...found, finished })), { acked: 10, read: 7, lost: 1, unread: 2, at_risk: 3, duplicated: 4, reordered: 0 });
  assert.deepEqual(placesOf(found).map((one) => one.kind), ["lost", "at_risk", "duplicated"]);
  assert.equal(Object.fromEntries(figures({ ...found, removed: 5 })).removed, 5);
  assert.equal(Object.fromEntries(figures({ ...found, at_risk: null })).at_risk, null, "not recorded is not nothing");
  const odd = { places: { stale: [{ offset: 5, reader: "c", last_read: 2, test: "poll-skip" }], nonmonotonic_send: [{ offset: 3, process: "p", last_acked: 9 }], lost: [{ offset: 2, test: "cut" }] } };
  assert.deepEqual(placesOf(odd).map((one) => one.kind), ["lost", "nonmonotonic_send", "stale"]);
});

test("the verdict speaks of what is lost first, then of what is at risk, then of what is unread", () => {
  const found = { acked: 10, read: 7, lost: 1, unread: 2, at_risk: 3, duplicated: 4, reordered: 0, inconsistent: 0, places: {} };
  assert.deepEqual([judgement(found).key, judgement(found).n], ["lost", 1]);
  assert.deepEqual([judgement({ ...found, lost: 0 }).key, judgement({ ...found, lost: 0 }).n], ["at_risk", 3]);
  assert.equal(judgement({ ...found, lost: 0, at_risk: null }).key, "duplicated");
  const unread = judgement({ ...found, lost: 0, at_risk: 0, duplicated: 0 });
  assert.deepEqual([unread.key, unread.n, unread.tone], ["so_far", 2, "good"]);
  assert.equal(judgement({ ...found, lost: 0, at_risk: 0, duplicated: 0, unread: 0 }).key, "good");
});

test("what outside clients wrote counts in the verdict", () => {
  const nothing = { acked: 0, read: 0, lost: 0, unread: 0, duplicated: 0, reordered: 0, finished: false, places: {} };
  const kcat = { batches: 1, records: 300, acked: 1, acked_records: 300, lost: 0, lost_records: 0, places: [], complete: true };
  assert.equal(judgement(nothing).key, "nothing");
  assert.equal(judgement({ ...nothing, outside: { ...kcat, acked: 0, acked_records: 0 } }).key, "nothing");
  assert.equal(judgement({ ...nothing, outside: kcat }).key, "good");
  const gone = { ...nothing, outside: { ...kcat, lost: 1, lost_records: 300, places: [{ topic: "t", partition: 0, offset: 7, last: 306 }] } };
  assert.deepEqual(judgement({ ...gone, lost: 2 }), { tone: "bad", sign: "✕", key: "lost", n: 302 });

test("a record that was read and never acknowledged is not called safe when another one stands at its offset", () => {
  const cut = { finished: false, acked: 200, read: 200, lost: 0, unread: 0, duplicated: 3, reordered: 0, inconsistent: 37 };
  assert.deepEqual(judgement(cut), { tone: "warn", sign: "▲", key: "replaced", n: 37 });
  assert.equal(judgement({ ...cut, inconsistent: 0 }).key, "duplicated");
  assert.equal(judgement({ ...cut, lost: 37 }).key, "lost");
});
  assert.deepEqual(placesOf(gone).map(({ kind, outside, offset }) => [kind, outside, offset]), [["lost", true, 7]]);
  assert.equal(firstLost(gone).offset, 7);
  assert.deepEqual(judgement({ ...nothing, outside: { ...kcat, unread_records: 300 } }), { tone: "good", sign: "✓", key: "so_far", n: 300 });
  assert.equal(judgement({ ...nothing, outside: { ...kcat, unread_records: 300, at_risk_records: 2 } }).key, "at_risk");
  assert.equal(judgement({ ...nothing, outside: { ...kcat, at_risk_records: null, duplicated_records: 5 } }).key, "duplicated");
  assert.deepEqual(outsideFigures({ ...nothing, outside: { ...kcat, unread_records: 300, at_risk_records: null } }).map(([name, n]) => `${name} ${n}`),
    ["records 300", "acked 300", "lost 0", "unread 300", "at_risk null", "duplicated 0"]);
});

test("the chain of a loss leads to the election that lost the offset, not to another death of a leader", () => {
  const history = new History();
  let seq = 0;
  const say = (code, node, params) => ({ seq: (seq += 1), t: seq * 1000, code, node, cause: 0, params });
  const t = { topic: "t", partition: 0 };
  const write = (node, offset) => say("log_appended", node, { ...t, role: "leader", base_offset: offset, last_offset: offset });
  history.append([
    say("topic_created", "broker-1", { topic: "t", assignment: { 0: [1, 2, 3] } }),
    say("leader_elected", "broker-1", { ...t, leader: 1, leader_epoch: 0, isr: [1, 2, 3], reason: "new" }),
    say("became_leader", "broker-1", { ...t, leader_epoch: 0, leo: 0, isr: [1, 2, 3] }),
    write("broker-1", 0),
    say("process_ended", "broker-1", { how: "crash" }),
    say("leader_elected", "broker-2", { ...t, leader: 2, leader_epoch: 1, isr: [2, 3], reason: "broker gone" }),
    say("became_leader", "broker-2", { ...t, leader_epoch: 1, leo: 1, isr: [2, 3] }),
    say("config_changed", "broker-2", { resource: "topic", name: "t", key: "unclean.leader.election.enable", value: "true" }),
    say("isr_shrunk", "broker-2", { ...t, isr: [2], removed: [3] }),
    write("broker-2", 1),
    say("process_ended", "broker-2", { how: "crash" }),
    say("session_expired", "zookeeper-1", { owner: "broker-2" }),
    say("partition_offline", "broker-2", { ...t, isr: [2], leader_epoch: 1 }),
    say("process_started", "broker-1", { incarnation: 2 }),
    say("leader_elected", "broker-1", { ...t, leader: 1, leader_epoch: 2, isr: [1], reason: "unclean" }),
    say("became_leader", "broker-1", { ...t, leader_epoch: 2, leo: 1, isr: [1] }),
    write("broker-1", 1),
    say("truncated", "broker-2", { ...t, before: 2, after: 1 }),
  ]);
  const lost = { places: { lost: [{ ...t, offset: null, test: "never-there" }, { ...t, offset: 1, test: "cut" }] }, finished: false };
  const links = lossOf(history, firstLost(lost));
  assert.deepEqual(links.map(({ event }) => event.code), ["config_changed", "isr_shrunk", "log_appended", "process_ended", "session_expired", "partition_offline", "process_started", "leader_elected", "truncated"]);
  assert.deepEqual([links[3].event.node, links[7].event.params.reason, links[2].event.node], ["broker-2", "unclean", "broker-2"]);
  assert.deepEqual(lossOf(history, { ...t, offset: 0 }), [], "offset 0 is still there");
});

test("the first visit goes from a topic to the receipt, and a later death begins it anew", () => {
  const partitions = { 0: { leader: 1, logs: { 1: { leo: 0 } } } };
  const state = { cluster: { preset: "default", settings: {} }, topics: {}, clients: {} };
  const tour = new Tour();
  assert.equal(tour.step(state), "topic");
  const written = { ...state, topics: { orders: { internal: false, partitions } } };
  assert.equal(tour.step(written), "producer");
  const busy = { ...written, clients: { p: { kind: "producer", state: "running", acked: 12 } } };
  assert.equal(tour.step(busy), "kill");
  assert.equal(tour.step({ ...busy, clients: { p: { kind: "producer", state: "stopped", acked: 12 } } }), "producer", "old records");
  const old = { ...written, topics: { orders: { internal: false, partitions: { 0: { leader: 1, logs: { 1: { leo: 40 } } } } } } };
  const later = new Tour();
  assert.equal(later.step(old), "producer", "a lab that was started again");
  assert.equal(later.step({ ...old, topics: { orders: { internal: false, partitions: { 0: { leader: 1, logs: { 1: { leo: 50 } } } } } } }), "kill", "somebody from outside has written and gone");
  assert.equal(tour.step({ ...busy, clients: {}, connections: { 4: {} }, topics: { orders: { partitions: { 0: { leader: 1, logs: { 1: { leo: 40 } } } } } } }), "kill");
  tour.take({ code: "process_ended", node: "broker-2", params: { how: "crash" }, t: 1, seq: 1 }, busy);
  assert.equal(tour.step(busy), "kill", "broker 2 led nothing");
  tour.take({ code: "process_ended", node: "broker-1", params: { how: "crash" }, t: 2, seq: 2 }, busy);
  assert.equal(tour.step(busy), "election");
  assert.equal(tour.patience(busy), 18_000_000);
  assert.equal(tour.patience({ ...busy, cluster: { ...busy.cluster, preset: "teaching" } }), 3_000_000);
  assert.equal(tour.patience({ ...busy, cluster: { ...busy.cluster, controller_mode: "kraft" } }), 9_000_000);
  tour.take({ code: "leader_elected", node: "broker-2", params: { topic: "orders", partition: 0, leader: 2, leader_epoch: 1, reason: "broker gone" }, t: 9, seq: 9 }, busy);
  assert.equal(tour.step(busy), "receipt");
  tour.receipt = true;
  assert.equal(tour.step(busy), null);
});

test("the tour waits a whole session from the election of the controller on that has to miss the broker", () => {
  const partitions = { 0: { leader: 1, logs: { 1: { leo: 40 } } } };
  const state = { cluster: { controller_mode: "kraft", controller: null }, clients: {}, connections: {}, topics: { orders: { partitions } } };
  const tour = new Tour();
  tour.take({ code: "process_ended", node: "broker-1", params: { how: "crash" }, t: 5_000_000, seq: 2 }, state);
  assert.equal(tour.killed.heard, 5_000_000);
  tour.take({ code: "controller_elected", node: "broker-2", params: { broker: 2, epoch: 3 }, t: 8_000_000, seq: 3 }, state);
  assert.equal(tour.killed.heard, 8_000_000);
  const old = new Tour(), other = { ...state, cluster: { controller: 1 } };
  for (const event of [{ code: "process_ended", node: "broker-1", params: { how: "crash" } }, { code: "controller_elected", node: "broker-2", params: {} }])
    old.take({ ...event, t: event.code.length, seq: 1 }, other);
  assert.equal(old.killed.heard, "process_ended".length, "ZooKeeper keeps the session, whoever is controller");
});

test("the tour speaks of the partition that holds records, and stays with it", () => {
  const partition = (leader, leo) => ({ leader, logs: { [leader]: { leo } } });
  const state = { cluster: {}, clients: {}, topics: { orders: { partitions: { 0: partition(1, 0), 1: partition(2, 3), 2: partition(3, 40) } }, __consumer_offsets: { internal: true, partitions: { 0: partition(1, 99) } } } };
  const tour = new Tour();
  assert.deepEqual(tour.aim(state), { topic: "orders", number: "2" });
  state.topics.orders.partitions[1] = partition(2, 41);
  assert.equal(tour.aim(state).number, "2", "it does not jump between partitions");
  const led = (number, leader) => ({ code: "leader_elected", params: { topic: "orders", partition: number, leader, leader_epoch: 1, reason: "broker gone" }, t: 9, seq: 9 });
  state.topics.orders.partitions[0] = partition(3, 0);
  tour.take({ code: "process_ended", node: "broker-3", params: { how: "crash" }, t: 2, seq: 2 }, state);
  tour.take(led(0, 1), state);
  tour.take(led(2, 1), state);
  assert.equal(tour.elected.name, "orders-2");
  tour.take({ code: "process_ended", node: "broker-2", params: { how: "crash" }, t: 20, seq: 20 }, state);
  assert.deepEqual([tour.killed.broker, tour.step(state)], [2, "election"], "a leader that dies later is the one to speak of");
  state.topics.orders.partitions[2] = partition(-1, 40);
  assert.equal(tour.aim(state).number, "1");
  assert.equal(new Tour().aim({ ...state, topics: {} }), null);
});

test("a broker that comes back as leader ends the wait for an election, and so does the end of its topic", () => {
  const state = { cluster: {}, clients: {}, topics: { "or-ders": { partitions: { 0: { leader: 1, logs: { 1: { leo: 40 } } } } } } };
  const killed = () => {
    const tour = new Tour();
    tour.aim(state);
    tour.take({ code: "process_ended", node: "broker-1", params: { how: "crash" }, t: 2, seq: 2 }, state);
    assert.equal(tour.step(state), "election");
    return tour;
  };
  const back = killed();
  back.take({ code: "leader_elected", params: { topic: "or-ders", partition: 0, leader: 1, leader_epoch: 1, reason: "broker started" }, t: 9, seq: 9 }, state);
  assert.deepEqual([back.step(state), back.elected.leader], ["receipt", 1]);
  assert.equal(killed().step({ ...state, topics: {} }), "topic");
});

test("where to read more is named in the reader's language, KIPs and settings as they are", () => {
  const words = { words: { "source.Kafka documentation": "Kafka 문서", "source.Replication": "복제", "source.Topic Configs": "토픽 설정" } };
  assert.equal(sourceName("Kafka documentation, 4.7 Replication", words), "Kafka 문서, 4.7 복제");
  assert.equal(sourceName("Kafka documentation, Topic Configs: retention.ms, segment.ms", words), "Kafka 문서, 토픽 설정: retention.ms, segment.ms");
  assert.equal(sourceName("KIP-101", words), "KIP-101");
  assert.equal(sourceName("A book, 1.2 Chapter", words), "A book, 1.2 Chapter");
});

test("further findings are told beside the figures, and values beside a loss as the loss from the other side", () => {
  const found = { acked: 90, read: 40, lost: 50, unread: 0, duplicated: 0, reordered: 0, inconsistent: 50, failed_read: 0, stale: 2, nonmonotonic_send: 1, finished: true };
  assert.deepEqual(furtherOf(found).map(({ kind, n }) => [kind, n]), [["inconsistent", 50], ["nonmonotonic_send", 1], ["stale", 2]]);
  assert.equal(furtherOf(found)[0].key, "receipt.further.inconsistent_lost");
  for (const lost of [0, 49]) assert.equal(furtherOf({ ...found, lost })[0].key, "receipt.further.inconsistent");
  assert.deepEqual(furtherOf({ ...found, inconsistent: 0, stale: 0, nonmonotonic_send: 0 }), []);
});
