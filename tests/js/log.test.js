import assert from "node:assert/strict";
import { test } from "node:test";
import { axisOf, placeOn } from "../../static/model/axis.js";
import { truthOf } from "../../static/model/figures.js";
import { doubledIn, fatesOf, rangesOf, stretchesOf } from "../../static/model/fates.js";
import { cutsOf, placed } from "../../static/model/unplaced.js";
import { badges, badgesBeside, lagOf, membersOf, numbersText, readersOf } from "../../static/model/readers.js";
import { Tracer, originOf, readBy } from "../../static/model/record.js";
import { arriving, bringing } from "../../static/model/flights.js";
import { EMPTY, reduce } from "../../static/model/reduce.js";
import { Records, plain } from "../../static/inspect/records.js";
import { History } from "../../static/time/history.js";
import { lacking, vanished } from "../../static/views/lacking.js";
import { cellKind, readerPlaces, replacedIn, replicaRow } from "../../static/views/log.js";
import { placesCounted } from "../../static/views/receipt.js";
import { placesOf } from "../../static/views/stage.js";

const logs = (...ends) => ({ logs: Object.fromEntries(ends.map((leo, index) => [index + 1, { leo, hw: 0, start: 0 }])) });
const text = ({ columns }) => columns.map(({ from, to }) => (to - from === 1 ? String(from) : `${from}..${to - 1}`)).join(" ");
const event = (code, params, node = "broker-1") => ({ seq: 1, t: 1, code, node, cause: 0, params });

test("every replica shows its own end, however far apart they are, and all in the same columns", () => {
  assert.equal(text(axisOf(logs(2749, 2699, 2699), 316)), "2695 2696 2697 2698 2699..2746 2747 2748");
  assert.equal(text(axisOf(logs(56, 55), 135)), "51 52 53 54 55");
  assert.equal(text(axisOf(logs(3, 0), 200)), "0 1 2");
  assert.deepEqual(axisOf(logs(), 200).columns, []);
});

test("the columns fit into their room at every number of replicas and digits of offsets", () => {
  for (const room of [90, 140, 220, 316, 500]) {
    for (const ends of [[5], [99999, 99998, 10], [5_000_000, 4_000_000, 3_000_000, 2_000_000, 1_000_000], [738, 201, 0]]) {
      const axis = axisOf(logs(...ends), room, [ends[0] - 3]);
      assert.ok(axis.width <= room + 0.01, `${room} ${ends}: ${axis.width}`);
      assert.equal(axis.columns.at(-1).to, Math.max(...ends));
      assert.ok(axis.columns.every(({ from, to }, index) => to > from && (!index || from === axis.columns[index - 1].to)));
    }
  }
});

test("an offset that is looked at gets a cell, and borders stand where they belong", () => {
  const axis = axisOf(logs(738, 201), 316, [300]);
  assert.ok(axis.columns.some(({ from, to }) => from === 300 && to === 301));
  assert.equal(placeOn(axis, 738), axis.width);
  assert.equal(placeOn(axis, 0), null);
  const found = axis.columns.find(({ from }) => from === 300);
  assert.equal(placeOn(axis, 300), found.x);
});

test("a cell has the cluster's truth: committed stays committed, whatever a disk remembers", () => {
  const log = { start: 1, leo: 6, hw: 0 };
  const kinds = (facts, offsets = [0, 2, 3, 5, 6]) => offsets.map((offset) => cellKind(offset, log, facts));
  assert.deepEqual(kinds({ end: 6, committed: 5 }), ["gone", "committed", "committed", "waiting", "hole"]);
  assert.deepEqual(kinds({ end: 3, committed: 5 }), ["gone", "committed", "astray", "astray", "hole"]);
  assert.equal(cellKind(5, { ...log, forked: 4 }, { end: 9, committed: 9 }), "astray"); // the leader has another record there
  assert.deepEqual([cellKind(5, log, { end: 3, lost: true }), cellKind(5, log, { committed: 3, lost: true }), cellKind(5, log, { end: 6, lost: true })], ["lost", "lost", "waiting"]);
});

test("what gets lost is not lost while somebody alive has it, nor missed by nobody once all are dead", () => {
  const partition = { leader: 1, committed: 9, logs: { 1: { leo: 0, hw: 0, start: 0 }, 2: { leo: 9, hw: 8, start: 0 } } };
  const brokers = (one, two) => ({ brokers: { 1: { state: one }, 2: { state: two } } });
  const alive = truthOf(brokers("stopped", "running"), partition);
  assert.deepEqual(alive, { end: Infinity, held: 9, committed: 9 });
  assert.equal(cellKind(4, partition.logs[2], { ...alive, lost: true }), "committed");
  const dead = truthOf(brokers("stopped", "stopped"), partition);
  assert.equal(dead.held, null);
  assert.equal(cellKind(4, partition.logs[2], { ...dead, lost: true }), "lost");
  assert.equal(axisOf(logs(0, 0), 200, [], [], 9).end, 9);
  assert.equal(text(axisOf(logs(6, 6), 300, [], [2, 4])), "0 1 2 3 4 5");
});

test("where lost records stood others stand now: at the live edge, in the past from the election on that cut them", () => {
  const log = { start: 0, leo: 20, hw: 20 };
  const facts = { partition: {}, end: 20, held: 20, committed: 20 };
  const fates = { ranges: [[4, 6], [15, 15], [30, 31]] };
  assert.deepEqual(replacedIn(fates, log, facts, true), [[4, 6], [15, 15]]);
  assert.deepEqual(replacedIn(fates, log, facts, false), []);
  assert.deepEqual(replacedIn(fates, log, { ...facts, partition: { cut: 10 } }, false), [[15, 15]]);
  assert.deepEqual(replacedIn(fates, { ...log, forked: 4 }, facts, true), [], "these are the lost ones themselves");
});

test("what is committed follows the leaders, and what another log has behind a new leader's end is its own until it is cut", () => {
  const at = { topic: "orders", partition: 0 };
  const base = { ...EMPTY, topics: { orders: { configs: {}, partitions: { 0: { leader: 1, leader_epoch: 0, isr: [1, 2], replicas: [1, 2], logs: { 1: { leo: 9, hw: 0, start: 0 }, 2: { leo: 7, hw: 0, start: 0 } } } } } } };
  const of = (state) => state.topics.orders.partitions[0];
  const marked = reduce(base, [event("high_watermark", { ...at, before: 0, after: 7 }), event("high_watermark", { ...at, before: 0, after: 3 }, "broker-2")]);
  assert.equal(of(marked).committed, 7);
  const elected = reduce(marked, [event("leader_elected", { ...at, leader: 2, leader_epoch: 1, isr: [2], reason: "broker gone" }), event("became_leader", { ...at, leader_epoch: 1, leo: 7 }, "broker-2"), event("log_appended", { ...at, base_offset: 7, last_offset: 11 }, "broker-2")]);
  assert.deepEqual([of(elected).committed, of(elected).logs[1].forked], [7, 7]);
  assert.equal(of(reduce(elected, [event("truncated", { ...at, before: 9, after: 7 })])).logs[1].forked, undefined);
  const unclean = reduce(marked, [event("leader_elected", { ...at, leader: 2, leader_epoch: 1, isr: [2], reason: "unclean" }), event("became_leader", { ...at, leader_epoch: 1, leo: 2 }, "broker-2")]);
  assert.deepEqual([of(unclean).committed, of(unclean).cut, of(marked).cut], [2, 2, undefined]);
});

test("two histories in one log: another one than the leader's from where they parted to where the follower was cut", () => {
  const at = { topic: "orders", partition: 0 };
  const base = { ...EMPTY, topics: { orders: { configs: {}, partitions: { 0: { leader: 2, leader_epoch: 0, isr: [2, 3], replicas: [2, 3, 4], logs: { 2: { leo: 9, hw: 4, start: 0 }, 3: { leo: 4, hw: 4, start: 0 }, 4: { leo: 9, hw: 4, start: 0 } } } } } } };
  const lead = (state, leader, leader_epoch, leo) => reduce(state, [event("leader_elected", { ...at, leader, leader_epoch, isr: [leader], reason: "unclean" }), event("became_leader", { ...at, leader_epoch, leo }, `broker-${leader}`)]);
  const other = reduce(lead(base, 3, 1, 4), [event("log_appended", { ...at, base_offset: 4, last_offset: 11 }, "broker-3")]);
  const back = lead(other, 2, 2, 9);
  const cut = reduce(back, [event("log_appended", { ...at, base_offset: 9, last_offset: 12 }, "broker-2"), event("truncated", { ...at, before: 12, after: 9 }, "broker-3"), event("log_appended", { ...at, base_offset: 9, last_offset: 12, role: "follower" }, "broker-3")]);
  const partings = (state) => [2, 3, 4].map((id) => [state.topics.orders.partitions[0].logs[id].forked, state.topics.orders.partitions[0].logs[id].joined]);
  assert.deepEqual(partings(other), [[4, undefined], [undefined, undefined], [4, undefined]]);
  assert.deepEqual(partings(back), [[undefined, undefined], [4, undefined], [undefined, undefined]], "broker 4 has followed broker 2 all along");
  const chosen = reduce(other, [event("leader_elected", { ...at, leader: 2, leader_epoch: 2, isr: [2], reason: "unclean" })]);
  assert.deepEqual(partings(chosen), partings(back), "what the elected replica has counts before it knows that it leads");
  assert.deepEqual(partings(lead(back, 2, 3, 9))[1], [4, undefined], "elected once more: the other one is still another");
  assert.deepEqual(partings(cut)[1], [4, 9]);
  const log = cut.topics.orders.partitions[0].logs[3];
  assert.deepEqual([3, 4, 8, 9, 12].map((offset) => cellKind(offset, log, { end: 13, committed: 13 })), ["committed", "astray", "astray", "committed", "committed"]);
  assert.deepEqual(partings(lead(cut, 3, 3, 13)), [[4, 9], [undefined, undefined], [4, 9]]);
});

test("the receipt says what became of which offset, and ranges say it briefly", () => {
  const found = { finished: true, places: { lost: [3, 4, 5, 9].map((offset) => ({ topic: "orders", partition: 0, offset })), duplicated: [{ topic: "orders", partition: 0, offset: 7 }], reordered: [{ topic: "orders", partition: 1, offset: 2 }] } };
  const fates = fatesOf(found, "orders-0");
  assert.deepEqual([[...fates.lost], [...fates.doubled], fates.borders], [[3, 4, 5, 9], [[7, 2]], [3, 6, 9, 10]]);
  assert.equal(fatesOf(found, "orders-2").lost.size + fatesOf(null, "orders-0").lost.size, 0);
  assert.deepEqual(rangesOf([9, 4, 3, 5]), [[3, 5], [9, 9]]);
  assert.deepEqual([...doubledIn({ tail: [[0, 1, 11, 9], [2, 2, 12, 9], [3, 4, 11, 9], [5, 5, null, 9]] })], [[0, 2], [1, 2], [3, 2], [4, 2]]);
});

const group = (more) => ({ state: "Stable", protocol: "range", members: [{ id: "m1", client_id: "reader-a", assignment: { orders: [0] } }], offsets: { orders: { 0: 4, 1: 2 } }, ...more });
const reader = (more) => ({ kind: "consumer", state: "running", group: "billing", assignment: { orders: [0] }, positions: [["orders", 0, 6]], ...more });
const world = (groups, clients) => ({ ...EMPTY, groups, clients, topics: { orders: { partitions: { 0: { leader: 1, logs: { 1: { leo: 10, hw: 9, start: 0 } } }, 1: { leader: 1, logs: { 1: { leo: 5, hw: 5, start: 0 } } } } } } });

test("a partition's readers: who, from where, how far behind; nobody while an eager group rebalances", () => {
  const state = world({ billing: group() }, { "reader-a": reader(), "reader-b": reader({ state: "stopped" }) });
  assert.deepEqual(readersOf(state, "orders", "0").map(({ badge, position, committed, lag, reading }) => [badge, position, committed, lag, reading]), [["a", 6, 4, 5, true]]);
  assert.deepEqual(readersOf(state, "orders", "1").map(({ reading, lag }) => [reading, lag]), [[false, 3]]);
  assert.deepEqual(membersOf(state, "billing").map(({ badge, gone, partitions }) => [badge, gone, partitions.length]), [["a", false, 1], ["b", true, 0]]);
  const rebalancing = (protocol) => world({ billing: group({ state: "PreparingRebalance", protocol }) }, { "reader-a": reader() });
  assert.deepEqual(["range", "cooperative-sticky"].map((protocol) => readersOf(rebalancing(protocol), "orders", "0")[0].reading), [false, true]);
});

test("a member that has left reads nothing, and a group's lag has that of members that never committed", () => {
  const members = [{ id: "m1", client_id: "reader-a", assignment: { orders: [0] } }];
  const b = reader({ assignment: { orders: [1] }, positions: [["orders", 1, 2]] });
  const both = world({ billing: group({ members: [...members, { id: "m2", client_id: "reader-b", assignment: { orders: [1] } }], offsets: { orders: { 0: 4 } } }) }, { "reader-a": reader(), "reader-b": b });
  assert.equal(lagOf(both, "billing"), 5 + 3);
  const left = world({ billing: group({ members, offsets: { orders: { 0: 4, 1: 2 } } }) }, { "reader-a": reader(), "reader-b": b });
  assert.deepEqual(membersOf(left, "billing").map(({ gone, partitions }) => [gone, partitions.length]), [[false, 1], [true, 0]]);
  assert.equal(readersOf(left, "orders", "1")[0].reading, false);
  const silent = { ...left, groups: { billing: group({ members, offsets: { orders: { 0: 4 } } }) } };
  assert.deepEqual(readersOf(silent, "orders", "1").map(({ reading, position, lag }) => [reading, position, lag]), [[false, 2, 3]]);
  assert.equal(lagOf(silent, "billing"), 5 + 3, "what it has left lying is the group's");
  const before = world({ billing: group({ members }) }, { "reader-a": reader(), "reader-b": reader({ assignment: undefined, positions: [] }) });
  assert.deepEqual(membersOf(before, "billing").map(({ gone }) => gone), [false, false], "it has not joined yet");
  const renamed = world({ billing: group({ members }) }, { "consumer-1": reader({ settings: { "client.id": "reader-a" } }) });
  assert.deepEqual(membersOf(renamed, "billing").map(({ name, gone, partitions }) => [name, gone, partitions.length]), [["consumer-1", false, 1]]);
});

test("where rows are low those that somebody reads get room for it, and the others give it", () => {
  const state = world({ billing: group() }, { "reader-a": reader() });
  const view = { state, topicName: "orders", topic: state.topics.orders };
  assert.deepEqual(placesOf(view, ["0", "1"], 1, 52, 26, 25), [{ tall: 26, top: 25 }, { tall: 26, top: 51 }], "both are read: no room for both");
  const alone = { ...view, state: world({}, { "reader-x": reader({ group: undefined, settings: {} }) }) };
  assert.deepEqual(placesOf(alone, ["0", "1"], 1, 52, 26, 25), [{ tall: 31, top: 25 }, { tall: 21, top: 56 }]);
  assert.deepEqual(placesOf(alone, ["0", "1"], 2, 52, 26, 25), [{ tall: 26, top: 25 }, { tall: 26, top: 51 }], "nobody reads here");
  assert.deepEqual(placesOf(alone, ["0", "1"], 1, 120, 60, 25), [{ tall: 60, top: 25 }, { tall: 60, top: 85 }]);
});

test("a consumer without a group reads from its position and commits nothing", () => {
  const state = world({}, { "reader-x": { kind: "consumer", state: "running", positions: [["orders", 0, 7]] }, "reader-y": { kind: "consumer", state: "stopped", positions: [["orders", 0, 1]] } });
  assert.deepEqual(readersOf(state, "orders", "0").map(({ group, position, committed, lag }) => [group, position, committed, lag]), [["reader-x", 7, null, 2]]);
});

test("members from outside have what their group gave them", () => {
  const state = world({ billing: group({ members: [{ id: "m1", client_id: "rdkafka", assignment: { orders: [1] } }] }) }, {});
  assert.deepEqual(readersOf(state, "orders", "1").map(({ reading, position, badge }) => [reading, position, badge]), [[true, null, "a"]]);
});

test("no two readers of the cluster have the same badge, whatever groups they are in", () => {
  const groups = Object.fromEntries(["audit", "billing"].map((name) => [name, group({ members: [] })]));
  const clients = { "consumer-one": reader(), "consumer-two": reader({ group: "audit" }), "b-a": reader({ group: "audit" }), "tail-a": reader({ group: undefined, settings: {} }) };
  const state = world(groups, clients);
  const badgesOf = readersOf(state, "orders", "0").map(({ member, badge }) => [member, badge]);
  assert.deepEqual(membersOf(state, "audit").map(({ id, badge }) => [id, badge]), [["b-a", "a"], ["consumer-two", "b"]]);
  assert.deepEqual(badgesOf, [["tail-a", "d"], ["b-a", "a"], ["consumer-one", "c"]]);
  const many = badgesBeside(Array.from({ length: 60 }, (_, index) => `reader${index}x`), new Set(["a", "aa"]));
  assert.equal(new Set(Object.values(many)).size, 60);
});

test("names of readers on one log cover no mark and no other name", () => {
  const scale = (offset) => offset * 3;
  for (const places of [[60, 60, 60], [60, 62, 61], [3, 3, 4], [0, 60, 0]]) {
    const found = places.map((committed, index) => ({ badge: "abc"[index], committed, position: committed, reading: index !== 1, lag: 0 }));
    const shown = readerPlaces(found, scale, 100, ["nobody reads"]);
    const boxes = shown.flatMap(({ at, left, sign }) => [[at - 4.5, at + 4.5, "mark"], ...(left === null ? [] : [[left, left + 7 * sign.length, sign]])]);
    for (const one of boxes) for (const other of boxes)
      assert.ok(one === other || (one[2] === "mark" && other[2] === "mark") || one[1] <= other[0] || other[1] <= one[0], JSON.stringify([places, one, other]));
    assert.ok(shown.filter(({ left }) => left !== null).length >= 2, JSON.stringify(shown));
  }
  const nobody = (at, edge) => readerPlaces([{ committed: at, position: at, reading: false, lag: 0 }], scale, 100, ["nobody reads", "nobody"], edge).map(({ sign, left }) => [sign, left !== null]);
  assert.deepEqual([nobody(60, 300), nobody(20, 200), nobody(3, 150)], [[["nobody reads", true]], [["nobody", true]], [["nobody", false]]], "in its card, shorter if need be");
});

test("members are told apart by a letter, their partitions by ranges", () => {
  assert.deepEqual(badges(["reader-a", "reader-c"]), { "reader-a": "a", "reader-c": "c" });
  assert.deepEqual(badges(["alpha", "beta"]), { alpha: "a", beta: "b" });
  assert.deepEqual(badges(["reader-1", "reader-1x"]), { "reader-1": "1", "reader-1x": "1x" });
  assert.equal(numbersText(["10", "0", "1", "2", "5"]), "0–2 5 10");
});

test("fifty lost records are one row of the receipt, whichever way their numbers run", () => {
  const place = (kind, offset, partition = 0) => ({ kind, topic: "orders", partition, offset });
  const found = stretchesOf([place("lost", 3), place("lost", 4), place("lost", 5), place("lost", 5, 1), place("duplicated", 9), place("duplicated", 8), place("lost", -1), place("lost", null)]);
  assert.deepEqual(found.map(({ kind, offset, last, n }) => [kind, offset, last, n]), [["lost", 3, 5, 3], ["lost", 5, 5, 1], ["duplicated", 8, 9, 2], ["lost", -1, -1, 1], ["lost", null, null, 1]]);
});

test("a record is traced to the request that brought it, and another one at its offset is another record", () => {
  const history = new History();
  const at = { topic: "orders", partition: 0 };
  const appended = (seq, node, role, base, last, crc, cause = 0) => ({ seq, t: seq, code: "log_appended", node, cause, params: { ...at, base_offset: base, last_offset: last, role, crc } });
  history.append([
    { seq: 1, t: 1, code: "request_received", node: "broker-1", cause: 0, params: { api: "Produce", source: "producer-a", correlation: 1 } },
    appended(1, "broker-1", "leader", 4, 4, 77, 0), appended(2, "broker-2", "follower", 4, 4, 77, 1), appended(3, "broker-3", "leader", 4, 6, 99, 0),
  ]);
  const record = { name: "orders-0", offset: 4, broker: 2 };
  assert.deepEqual(originOf(history, 3, record), { appended: 2, written: 1, writer: { source: "producer-a", client: null }, crc: 77, base: 4 });
  assert.equal(originOf(history, 4, { ...record, broker: 3 }).crc, null); // the checksum is that of the last of several batches
  assert.equal(originOf(history, 1, record), null);
  const tracer = new Tracer();
  assert.equal(tracer.of(history, 3, record).written, 1);
  history.append([{ seq: 4, t: 4, code: "isr_shrunk", node: "broker-1", cause: 0, params: {} }, appended(5, "broker-2", "follower", 4, 6, 99, 3)]);
  assert.deepEqual([5, 6, 3].map((viewed) => tracer.of(history, viewed, record).written), [1, 3, 1]); // cut, and copied from the new leader
  const state = world({ billing: group() }, { "reader-a": reader() });
  assert.deepEqual([3, 5, 6].map((offset) => readBy(state, "orders-0", offset).map(({ seen, done }) => [seen, done])), [[[true, true]], [[true, false]], [[false, false]]]);
});

test("values that cells show are asked for once, many at a time", async () => {
  const asked = [];
  const app = { desk: { run: "7", lab: "lab" }, set() {} };
  const answer = { batches: [{ base_offset: 3, crc: 5 }], records: [3, 4].map((offset) => ({ offset, key: null, value: { text: `v${offset}` }, headers: [], batch: 3 })) };
  const records = new Records(app, async (path) => (asked.push(path), answer), () => 0);
  assert.deepEqual([records.text("orders-0", 4, "value"), records.text("orders-0", 3, "value")], [undefined, undefined]);
  await records.tick();
  assert.deepEqual([records.text("orders-0", 3, "value"), records.text("orders-0", 4, "key")], ["v3", "∅"]);
  await records.tick();
  assert.deepEqual(asked, ["/labs/lab/topics/orders/records?partition=0&offset=3&limit=60&run=7"]);
  assert.equal(plain({ base64: "AP8=" }), "0x00ff");
});

test("what stands on no disk any more is lost, and what one disk still has is only missing", () => {
  const fates = { ranges: [[10, 29]] };
  const of = (partition, held = null) => ({ partition, fates, held, axis: { end: 40 } });
  const gone = logs(0, 0, 5);
  assert.equal(vanished(of(gone), gone.logs[3]), 20);
  assert.equal(vanished(of(gone), gone.logs[1]), 0); // the third broker's disk ends later: what it lacks of that is missing
  assert.equal(vanished(of(logs(15, 15)), { leo: 15 }), 15);
  assert.equal(vanished(of(gone, 5), gone.logs[3]), 0); // somebody is there: what it does not have is told by who leads
});

test("records that nobody was told the place of are those that were cut off, in order, and what never arrived has none", () => {
  const at = { topic: "t", partition: 0 };
  const events = [
    { code: "log_appended", node: "broker-1", params: { ...at, base_offset: 3, last_offset: 7, role: "leader" } }, { code: "log_appended", node: "broker-2", params: { ...at, base_offset: 3, last_offset: 4, role: "follower" } },
    { code: "truncated", node: "broker-2", params: { ...at, before: 5, after: 4 } }, { code: "truncated", node: "broker-1", params: { ...at, before: 8, after: 5 } },
  ];
  const cuts = cutsOf({ begin: 0, end: events.length, at: (index) => events[index] });
  assert.deepEqual(cuts, [{ ...at, from: 5, last: 7 }]);
  const lost = (number, producer = "p") => ({ ...at, producer, number, offset: null });
  const found = { unknown: 0, places: { lost: [lost(13), lost(10), lost(11), lost(12), lost(14)] } };
  assert.deepEqual(stretchesOf(placed(found, cuts).places.lost.sort((a, b) => a.number - b.number)).map(({ offset, last, number, lastNumber, n }) => [offset, offset === null ? [number, lastNumber] : last, n]), [[5, 7, 3], [null, [13, 14], 2]]);
  for (const other of [{ ...found, unknown: 1 }, { ...found, places: { lost: [...found.places.lost, lost(1, "q")] } }, { ...found, places: { lost: [lost(10)] } }])
    assert.ok(placed(other, cuts).places.lost.every(({ offset }) => offset === null));
  assert.ok(placed(found, [...cuts, ...cuts]).places.lost.every(({ offset }) => offset === null));
});

test("a broker without a replica says so, and nothing else of the log", () => {
  const state = { ...EMPTY, brokers: { 9: { state: "running" } }, topics: { orders: { partitions: { 0: { leader: 1, replicas: [1], isr: [1], logs: { 1: { leo: 4, hw: 4, start: 0 } } } } } } };
  const view = { state, topicName: "orders", topic: state.topics.orders, chosen: "orders-0", words: { t: (key) => key } };
  const row = replicaRow(view, { id: "9", x: 0, y: 0, w: 700, h: 90 }, "0", { tall: 60, top: 25, alone: true });
  assert.match(row.props.class, /\bnone\b/);
  assert.match(JSON.stringify(row), /stage\.no_replica/);
});

test("a receipt that names the first places alone says of how many", () => {
  const some = (kind, n, more) => Array.from({ length: n }, () => ({ kind, ...more }));
  assert.equal(placesCounted({ lost: 2 }, some("lost", 2)), 2);
  assert.equal(placesCounted({ lost: 11_328, duplicated: 5 }, [...some("lost", 1000), ...some("duplicated", 5)]), 11_333);
  assert.equal(placesCounted({ lost: 0 }, some("lost", 3, { outside: true })), 3);
});

test("of what a follower lacks, what is on its way stands apart from what is missing", () => {
  const history = new History();
  const append = (seq, cause, last, node) => ({ seq, t: seq, code: "log_appended", node, cause, params: { role: "follower", topic: "orders", partition: 0, base_offset: 10, last_offset: last } });
  history.append([
    { seq: 1, t: 1, code: "response_sent", node: "broker-1", cause: 0, params: { api: "Fetch", to: "broker-2" } },
    { seq: 2, t: 2, code: "process_ended", node: "broker-1", cause: 0, params: { how: "crash" } },
    append(3, 1, 29, "broker-2"), append(4, 3, 49, "broker-3"),
  ]);
  const coming = arriving(history, history.positionBehind(2));
  assert.deepEqual([...coming], [["orders-0@2", 30]], "what is sent later was not on its way");
  const view = { arriving: coming, words: { t: (key, { n }) => `${key} ${n}` } };
  const partition = logs(50, 10, 10);
  const facts = { partition, name: "orders-0", axis: axisOf(partition, 600, [], [30]), fates: { ranges: [] }, held: 50 };
  const said = (id) => lacking(view, facts, partition.logs[id], id, { x: 0, y: 0, tall: 24 }).flat().filter((one) => one && one.props.class.startsWith("cell-text"));
  assert.deepEqual(said(2).map(({ children }) => String(children)), ["stage.coming 20", "stage.lacks 20"]);
  assert.deepEqual(said(3).map(({ children }) => String(children)), ["stage.lacks 40"]);
  const brings = [{ topic: "orders", partition: 0, until: 30 }];
  assert.deepEqual([...bringing([{ to: "broker-2", brings }, { to: "broker-3" }])], [...coming], "of a cluster that stands still now, too");
});

test("the record under the finger as it came down is the one that opens, whatever is there as it goes up", () => {
  const state = { ...EMPTY, brokers: { 1: { state: "running" } }, topics: { orders: { partitions: { 0: { leader: 1, replicas: [1], isr: [1], logs: { 1: { leo: 0, hw: 0, start: 0 } } } } } } };
  const done = [];
  const view = {
    state, topicName: "orders", topic: state.topics.orders, chosen: "orders-0", words: { t: (key) => key }, pressed: null,
    openRecord: (...record) => done.push(record), choose: (...partition) => done.push(partition),
  };
  const { props } = replicaRow(view, { id: "1", x: 0, y: 0, w: 700, h: 90 }, "0", { tall: 60, top: 25, alone: true });
  const press = (record) => props.onpointerdown({ target: { closest: () => record && { dataset: { record } } } });
  press("orders-0@17@1");
  props.onclick();
  props.onclick();
  press("orders-0@18@1");
  press(null);
  props.onclick();
  assert.deepEqual(done, [["orders-0", 17, 1], ["orders", "0"], ["orders", "0"]]);
});
