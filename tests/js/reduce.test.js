import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fingerprint, lag, ledger, lights, shortCrc } from "../../static/model/figures.js";
import { isMoving, moveOf } from "../../static/model/moves.js";
import { lagOf, lagging, observersOf } from "../../static/model/quorum.js";
import { EMPTY, eventOf, reduce, snapshotEvent } from "../../static/model/reduce.js";
import { advice } from "../../static/model/coach.js";

const event = (code, node, params = {}, t = 0) => ({ seq: 1, t, code, node, cause: 0, params });
const freeze = (value) => {
  if (value && typeof value === "object") Object.values(Object.freeze(value)).forEach(freeze);
  return value;
};
const created = event("topic_created", "broker-1", { topic: "orders", assignment: { 0: [1, 2, 3], 1: [2, 3, 1] }, configs: { "min.insync.replicas": "2" } });
const elected = (partition, leader, isr, leader_epoch = 0) => event("leader_elected", "broker-1", { topic: "orders", partition, leader, isr, leader_epoch, replicas: [1, 2, 3] });
const started = [1, 2, 3].map((id) => event("process_started", `broker-${id}`, { incarnation: 1 }));
const orders = (state, partition = 0) => state.topics.orders.partitions[partition];
const cluster = freeze(reduce(EMPTY, [...started, created, elected(0, 1, [1, 2, 3]), elected(1, 2, [1, 2, 3])]));

test("a row of the wire becomes an event with an absolute time", () => {
  assert.deepEqual(eventOf([7, 250, "process_paused", "broker-1", 3, {}], 1000), { seq: 7, t: 1250, code: "process_paused", node: "broker-1", cause: 3, params: {} });
});

test("a reducer never changes the state it was given, and shares what it does not touch", () => {
  const next = reduce(cluster, [event("high_watermark", "broker-1", { topic: "orders", partition: 0, before: 0, after: 5 })]);
  assert.equal(orders(next).logs[1].hw, 5);
  assert.deepEqual(orders(cluster).logs, {});
  assert.equal(orders(next, 1), orders(cluster, 1));
  assert.equal(next.brokers, cluster.brokers);
});

test("one batch gives what event by event gives", () => {
  const events = [
    event("log_appended", "broker-1", { topic: "orders", partition: 0, base_offset: 0, last_offset: 2, bytes: 90, crc: 5 }),
    event("isr_shrunk", "broker-1", { topic: "orders", partition: 0, isr: [1, 2], removed: [3], leader_epoch: 0 }),
    event("process_ended", "broker-3", { how: "crash" }), event("topic_grown", "broker-1", { topic: "orders", partitions: 3, assignment: { 2: [3, 1, 2] } }),
  ];
  let single = cluster;
  for (const one of events) single = freeze(reduce(single, [one]));
  assert.deepEqual(reduce(cluster, events), single);
});

test("an append moves the log end of that replica only and keeps the batch's checksum", () => {
  const next = reduce(cluster, [event("log_appended", "broker-2", { topic: "orders", partition: 0, base_offset: 40, last_offset: 41, bytes: 120, crc: 0xabcd1234 })]);
  assert.equal(orders(next).logs[2].leo, 42);
  assert.equal(orders(next).logs[1], undefined);
  assert.equal(shortCrc(orders(next).logs[2].tail[0][2]), "1234");
});

test("truncation cuts the log end, the high watermark and the batches", () => {
  const rows = [0, 1, 2].map((offset) => event("log_appended", "broker-1", { topic: "orders", partition: 0, base_offset: offset, last_offset: offset, crc: offset }));
  const next = reduce(cluster, [...rows, event("high_watermark", "broker-1", { topic: "orders", partition: 0, after: 3 }), event("truncated", "broker-1", { topic: "orders", partition: 0, before: 3, after: 1 })]);
  assert.deepEqual({ ...orders(next).logs[1], tail: orders(next).logs[1].tail.length }, { leo: 1, hw: 1, start: 0, tail: 1 });
});

test("the lights count under-replicated, offline and below min ISR apart", () => {
  const none = { underReplicated: 0, offline: 0, belowMinIsr: 0 };
  assert.deepEqual(lights(cluster), { partitions: 2, ...none, internal: none });
  const shrunk = reduce(cluster, [event("isr_shrunk", "broker-1", { topic: "orders", partition: 0, isr: [1], removed: [2, 3] }), event("partition_offline", "broker-1", { topic: "orders", partition: 1, isr: [2] })]);
  assert.deepEqual(lights(shrunk), { partitions: 2, underReplicated: 1, offline: 1, belowMinIsr: 1, internal: none });
  const hidden = { leader: 1, isr: [1], replicas: [1, 2], min_isr: 1, logs: {} };
  const both = { ...shrunk, topics: { ...shrunk.topics, __consumer_offsets: { internal: true, partitions: { 0: hidden, 1: hidden } } } };
  assert.deepEqual([lights(both).underReplicated, lights(both).internal.underReplicated], [3, 2], "what tables do not show is told apart");
});

test("a changed min.insync.replicas holds for all partitions of the topic", () => {
  const next = reduce(cluster, [event("config_changed", "broker-1", { resource: "topic", name: "orders", key: "min.insync.replicas", value: "3" })]);
  assert.deepEqual([orders(next).min_isr, orders(next, 1).min_isr], [3, 3]);
  assert.deepEqual([orders(cluster).min_isr, orders(cluster, 1).min_isr], [2, 2]);
});

test("below a chroot the cluster's own paths count, and those of a neighbour change nothing but the tree", () => {
  const orders = reduce(cluster, [snapshotEvent(1, 0, { ...cluster, cluster: { ...cluster.cluster, chroot: "/orders", controller: 1 } })]);
  const away = [event("znode_deleted", "zookeeper-1", { path: "/payments/brokers/ids/1" }), event("znode_deleted", "zookeeper-1", { path: "/payments/controller" })];
  const next = reduce(orders, [event("znode_created", "zookeeper-1", { path: "/orders/brokers/ids/1", ephemeral: "broker-1" }), ...away]);
  assert.deepEqual([next.brokers[1].registered, next.cluster.controller], [true, 1]);
  const gone = reduce(next, [event("znode_deleted", "zookeeper-1", { path: "/orders/controller" }), event("znode_deleted", "zookeeper-1", { path: "/orders/brokers/ids/1" })]);
  assert.deepEqual([gone.brokers[1].registered, gone.cluster.controller], [false, null]);
});

test("a neighbour is a line of its own: what changes is an event, what it writes is counted beside", () => {
  const figures = { chroot: "/payments", brokers: 2, registered: [1, 2], running: [1], controller: 1, elects: false, partitions: 2, led: 1 };
  const next = reduce(cluster, [event("neighbour_changed", "world", { neighbour: "payments", ...figures }), event("progress", "world", { neighbours: { payments: { acked: 70, acked_per_s: 50 } } })]);
  assert.deepEqual(next.neighbours, { payments: { ...figures, acked: 70, acked_per_s: 50 } });
  assert.deepEqual([next.brokers, next.clients, next.topics], [cluster.brokers, cluster.clients, cluster.topics]);
});

test("registration follows the ephemeral znode, the controller follows /controller", () => {
  const up = reduce(cluster, [event("znode_created", "zookeeper-1", { path: "/brokers/ids/3", ephemeral: "broker-3" }), event("controller_elected", "broker-3", { broker: 3, epoch: 4 })]);
  assert.equal(up.brokers[3].registered, true);
  const down = reduce(up, [event("znode_deleted", "zookeeper-1", { path: "/brokers/ids/3" }), event("znode_deleted", "zookeeper-1", { path: "/controller" })]);
  assert.equal(down.brokers[3].registered, false);
  assert.deepEqual([down.cluster.controller, down.cluster.controller_epoch], [null, 4]);
});

test("connections of a broker go with its process", () => {
  const open = reduce(cluster, [event("connection_opened", "broker-2", { connection: 9, peer: "127.0.0.1:5000" }), event("client_software", "broker-2", { connection: 9, client_id: "rdkafka", software: "librdkafka 2" })]);
  assert.equal(open.connections[9].software, "librdkafka 2");
  assert.deepEqual(reduce(open, [event("process_ended", "broker-2", { how: "crash" })]).connections, {});
});

test("a built-in client is there once its process starts, with what it was asked to be", () => {
  const command = { do: "start_client", name: "producer-orders", kind: "producer", settings: { acks: "1" } };
  const asked = reduce(cluster, [event("command", "world", { command })]);
  assert.deepEqual(asked.clients, {});
  const running = reduce(asked, [event("process_started", "producer-orders", { incarnation: 1 })]);
  assert.deepEqual([running.clients["producer-orders"].kind, running.clients["producer-orders"].settings.acks], ["producer", "1"]);
});

test("groups keep members, assignment and offsets, and know their lag", () => {
  const state = reduce(cluster, [
    event("log_appended", "broker-1", { topic: "orders", partition: 0, base_offset: 0, last_offset: 9 }), event("high_watermark", "broker-1", { topic: "orders", partition: 0, after: 10 }),
    event("member_joined", "broker-2", { group: "billing", member: "m1", client_id: "c1" }), event("group_assigned", "broker-2", { group: "billing", generation: 1, assignment: { m1: { orders: [0, 1] } } }),
    event("group_state", "broker-2", { group: "billing", before: "CompletingRebalance", after: "Stable", generation: 1 }), event("offsets_committed", "broker-2", { group: "billing", topic: "orders", partition: 0, offset: 4 }),
  ]);
  assert.deepEqual(state.groups.billing, { state: "Stable", generation: 1, coordinator: 2, members: [{ id: "m1", client_id: "c1", assignment: { orders: [0, 1] } }], offsets: { orders: { 0: 4 } } });
  assert.equal(lag(state, state.groups.billing), 6);
  assert.deepEqual(reduce(state, [event("offsets_deleted", "broker-2", { group: "billing", topic: "orders", partition: 0 })]).groups.billing.offsets, {});
  assert.deepEqual(reduce(state, [event("group_state", "broker-2", { group: "billing", after: "Dead", generation: 1 })]).groups, {});
});

test("replicas whose batch at one offset has two checksums are shown as different", () => {
  const append = (id, crc) => event("log_appended", `broker-${id}`, { topic: "orders", partition: 0, base_offset: 0, last_offset: 0, bytes: 71, crc });
  const [line] = ledger(orders(reduce(cluster, [append(1, 10), append(2, 10), append(3, 11)])));
  assert.deepEqual([line.differs, line.replicas], [true, { 1: 10, 2: 10, 3: 11 }]);
});

test("marks bring every replica up to date while events are summed up", () => {
  const next = reduce(cluster, [event("marks", "world", { "orders-0": { 1: [70, 68, 2] } })]);
  assert.deepEqual(orders(next).logs[1], { leo: 70, hw: 68, start: 2 });
});

test("a snapshot in the history replaces the state", () => {
  const next = reduce(cluster, [snapshotEvent(50, 9, { ...EMPTY, topics: { a: { partitions: {} } } }), event("topic_deleted", "broker-1", { topic: "a" })]);
  assert.deepEqual([next.topics, next.brokers], [{}, {}]);
});

test("events about topics and brokers that are not known do no harm", () => {
  const strange = ["log_appended", "high_watermark", "leader_elected", "isr_shrunk", "truncated", "replica_stopped", "partition_offline"].map((code) => event(code, "broker-9", { topic: "ghost", partition: 3, isr: [] }));
  assert.deepEqual(reduce(cluster, strange).topics, cluster.topics);
});

test("a replica lies in a log directory, a copy of it grows in another one and takes its place", () => {
  const about = { topic: "orders", partition: 0 };
  const place = (...events) => {
    const { directory, moving } = orders(reduce(cluster, events.map(([code, params]) => event(code, "broker-1", { ...about, ...params })))).logs[1];
    return [directory, moving];
  };
  const placed = ["replica_placed", { directory: "data/a" }];
  const begun = ["replica_move_begun", { before: "data/a", directory: "data/b", reached: 0, end: 9 }];
  assert.deepEqual(place(placed), ["data/a", undefined]);
  assert.deepEqual(place(placed, begun), ["data/a", "data/b"]);
  assert.deepEqual(place(placed, begun, ["replica_moved", { before: "data/a", directory: "data/b" }]), ["data/b", undefined]);
  assert.deepEqual(place(placed, begun, ["replica_move_ended", { directory: "data/b", reason: "asked for" }]), ["data/a", undefined]);
});

test("the next thing to try leads from a topic to a kill to a restart", () => {
  const step = (state) => advice(state, Object.keys(state.topics)[0] ?? null, "0");
  assert.equal(step(reduce(EMPTY, started)).command.do, "create_topic");
  assert.equal(step(cluster).command.do, "start_client");
  const busy = reduce(cluster, [event("log_appended", "broker-1", { topic: "orders", partition: 0, base_offset: 0, last_offset: 9 })]);
  assert.equal(step(busy).key, "coach.no_writer");
  assert.deepEqual(step({ ...busy, connections: { 1: {} } }).command, { do: "kill", broker: 1 });
  const dead = reduce(busy, [event("process_ended", "broker-1", { how: "crash" })]);
  assert.equal(step(dead).key, "coach.waiting");
  const moved = reduce(dead, [elected(0, 2, [2, 3], 1)]);
  assert.deepEqual(step(moved).command, { do: "restart", broker: 1 });
  const said = (chosen, ...used) => advice({ ...moved, clients: { ...used.map((acks) => ({ kind: "producer", settings: { acks } })), c: { kind: "consumer" } } }, "orders", "0", chosen).key;
  assert.deepEqual([said("0"), said("1"), said("all"), said("all", "-1", undefined)], ["coach.moved.0", "coach.moved.1", "coach.moved.all", "coach.moved.all"]);
  assert.deepEqual([said("all", "1", "all"), said("1", 0)], ["coach.moved.1", "coach.moved.0"], "the weakest promise is the one to speak of");
  for (const language of ["en", "ko"]) {
    const texts = ["page", "desk"].map((part) => JSON.parse(readFileSync(new URL(`../../web/messages/${part}.${language}.json`, import.meta.url), "utf8")));
    for (const acks of ["0", "1", "all"]) {
      for (const text of [texts[0][`coach.moved.${acks}`], texts[1][`tour.receipt.${acks}`]]) assert.ok(text.includes(`acks=${acks}`), text);
    }
  }
  const offline = reduce(dead, [event("partition_offline", "broker-2", { topic: "orders", partition: 0, isr: [1], leader_epoch: 1 })]);
  assert.equal(step(offline).key, "coach.offline");
});

test("a replica differs when any batch of its end is not the leader's, not the last one alone", () => {
  const log = (...crcs) => ({ tail: crcs.map((crc, index) => [index, index, crc, 80]) });
  const partition = { leader: 1, logs: { 1: log(10, 11, 12), 2: log(10, 99, 12), 3: log(10, 11), 4: log(10, null), 5: { tail: [] } } };
  assert.deepEqual([1, 2, 3, 4, 5].map((id) => fingerprint(partition, id)?.differs), [false, true, false, undefined, undefined]);
  assert.equal(fingerprint(partition, 3).text, `#${shortCrc(11)}`);
});

test("a batch that another replica has and the leader has not is not on the leader, whatever was committed", () => {
  const append = (id, offset, crc) => event("log_appended", `broker-${id}`, { topic: "orders", partition: 0, base_offset: offset, last_offset: offset, bytes: 71, crc });
  const before = reduce(cluster, [append(1, 0, 10), append(2, 0, 10), append(1, 1, 11), event("high_watermark", "broker-1", { topic: "orders", partition: 0, after: 2 })]);
  const absent = (state) => ledger(orders(state)).map((line) => [line.base, line.absent]);
  assert.deepEqual(absent(before), [[1, false], [0, false]]);
  const elected = reduce(before, [event("leader_elected", "broker-3", { topic: "orders", partition: 0, leader: 2, leader_epoch: 9, isr: [2], reason: "unclean" })]);
  assert.deepEqual(absent(elected), [[1, true], [0, false]]);
  const nobody = reduce(before, [event("partition_offline", "broker-3", { topic: "orders", partition: 0 })]);
  assert.deepEqual(absent(nobody), [[1, false], [0, false]]);
  const wider = reduce(elected, [event("log_appended", "broker-2", { topic: "orders", partition: 0, base_offset: 1, last_offset: 4, bytes: 99, crc: 12 })]);
  assert.deepEqual(absent(wider), [[1, false], [1, true], [0, false]]);
});

test("a broker that starts again has the high watermark that it has read, and no batch behind its end", () => {
  const log = { leo: 9, hw: 7, start: 2, tail: [[5, 6, 1, 80], [7, 8, 2, 80]] };
  const stopped = reduce(cluster, [snapshotEvent(9, 9, { ...cluster, topics: { orders: { ...cluster.topics.orders, partitions: { 0: { ...orders(cluster), logs: { 3: log } } } } } })]);
  const at = (...events) => orders(reduce(freeze(stopped), events)).logs[3];
  const where = { topic: "orders", partition: 0 };
  assert.deepEqual(at(event("log_loaded", "broker-3", { ...where, start: 2, end: 9, clean: true })), log);
  assert.deepEqual(at(event("log_loaded", "broker-3", { ...where, start: 2, end: 7, clean: false })), { leo: 7, hw: 7, start: 2, tail: [[5, 6, 1, 80]] });
  assert.deepEqual(at(event("log_loaded", "broker-3", { ...where, start: 8, end: 8, clean: false })), { leo: 8, hw: 8, start: 8, tail: [[5, 6, 1, 80]] });
  for (const code of ["became_leader", "became_follower"]) {
    assert.deepEqual(at(event(code, "broker-3", { ...where, leo: 9, leader_epoch: 4 })), log);
    assert.equal(at(event(code, "broker-3", { ...where, leo: 5, leader_epoch: 4 })).hw, 5);
  }
});

test("what a follower takes of its leader at once are the leader's batches, and none of them is missing there", () => {
  const append = (id, base, last, crc) => event("log_appended", `broker-${id}`, { topic: "orders", partition: 0, base_offset: base, last_offset: last, bytes: 71, crc });
  const written = [append(1, 0, 0, 10), append(1, 1, 2, 11), append(1, 3, 3, 12)];
  const state = reduce(cluster, [...written, append(2, 0, 3, 12)]);
  assert.deepEqual(orders(state).logs[2].tail, orders(state).logs[1].tail);
  assert.deepEqual(ledger(orders(state)).map(({ base, absent, differs }) => [base, absent, differs]), [[3, false, false], [1, false, false], [0, false, false]]);
  const other = reduce(cluster, [...written, append(2, 0, 3, 99)]);
  assert.deepEqual(orders(other).logs[2].tail, [[0, 3, 99, 71]]);
});

test("a clock is wrong from its command on, whatever names its broker, until it is set right or all faults end", () => {
  const asked = (command, from) => reduce(from, [event("command", "operator", { command })]);
  const clocks = (state) => Object.values(state.brokers).map(({ clock_ms: ms }) => ms ?? 0);
  const two = asked({ do: "clock_skew", node: "broker-3", ms: -1500 }, asked({ do: "clock_skew", broker: 2, ms: 3_600_000 }, cluster));
  assert.deepEqual(clocks(two), [0, 3_600_000, -1500]);
  assert.deepEqual(clocks(asked({ do: "clock_skew", broker: 2, ms: 0 }, two)), [0, 0, -1500]);
  assert.deepEqual(clocks(asked({ do: "stop_all_faults" }, two)), [0, 0, 0]);
  const reigns = reduce(cluster, [event("controller_elected", "broker-3", { broker: 3, epoch: 1 })]);
  const roles = [{ leader_of: "orders-0" }, { follower_of: "orders-0" }, { leader_of: "orders-7" }, { controller: "any" }];
  assert.deepEqual(roles.map((role) => clocks(asked({ do: "clock_skew", ms: 5, ...role }, reigns))), [[5, 0, 0], [0, 5, 0], [0, 0, 0], [0, 0, 5]]);
  assert.deepEqual(asked({ do: "clock_skew", broker: 9, ms: 5 }, cluster).brokers, cluster.brokers); // refused: there is none
});

test("clocks that are set show more from then on, and before that what they showed", () => {
  const at = (t) => ({ ...event("command", "operator", { command: { do: "set_clocks", forward_ms: 500 } }), t });
  const began = { ...cluster, time: { ...cluster.time, clocks: [[0, 1000]] } };
  assert.deepEqual(reduce(began, [at(7), at(7), at(9)]).time.clocks, [[0, 1000], [7, 2000], [9, 2500]]);
  assert.deepEqual(reduce(began, [at(0)]).time.clocks, [[0, 1500]]);
});

test("replicas under way in a reassignment join and leave until it is over or called off", () => {
  const assigned = (replicas, adding, removing, from) => reduce(from, [event("assignment_changed", "broker-1", { topic: "orders", partition: 0, replicas, adding, removing, moving: adding.length > 0 })]);
  const moves = (state) => [1, 2, 3, 4].map((id) => moveOf(orders(state), id));
  const under = assigned([2, 3, 4, 1], [4], [1], cluster);
  assert.deepEqual([moves(cluster), moves(under), isMoving(orders(under))], [[null, null, null, null], ["leaving", null, null, "joining"], true]);
  const caught = reduce(under, [event("isr_expanded", "broker-2", { topic: "orders", partition: 0, isr: [1, 2, 3, 4], added: [4] })]);
  assert.deepEqual(moves(caught), ["leaving", null, null, null]);
  const off = assigned([1, 2, 3], [], [], under);
  assert.deepEqual([moves(off), isMoving(orders(off))], [[null, null, null, null], false]);
});

test("an emptied disk holds no record, before its broker starts and when it ran until then; a refusal empties nothing", () => {
  const ends = (state) => Object.fromEntries(Object.entries(orders(state).logs).map(([id, { leo }]) => [id, leo]));
  const written = [1, 2].map((id) => event("log_appended", `broker-${id}`, { topic: "orders", partition: 0, base_offset: 0, last_offset: 4, crc: 1 }));
  const command = { do: "wipe", broker: 2 };
  const [wipe, died] = [event("command", "world", { command }), event("process_ended", "broker-2", { how: "crash" })];
  const held = event("stopped_logs", "broker-2", { logs: { "orders-0": [5, 5, 0] } });
  const full = reduce(cluster, written);
  assert.deepEqual([ends(full), ends(reduce(full, [held, died]))], [{ 1: 5, 2: 5 }, { 1: 5, 2: 5 }]);
  assert.deepEqual(ends(reduce(full, [held, died, wipe])), { 1: 5, 2: 0 });
  const emptied = reduce(full, [wipe, held, died]);
  assert.deepEqual(ends(emptied), { 1: 5, 2: 0 });
  assert.deepEqual(ends(reduce(full, [held, died, wipe, event("command_refused", "world", { command, problem: {} })])), { 1: 5, 2: 5 });
  const again = reduce(emptied, [event("process_started", "broker-2", { incarnation: 2 }), written[1], held, died]);
  assert.deepEqual(ends(again), { 1: 5, 2: 5 });
});

test("a client may have any name, and what becomes of it says nothing of the coordination tree", () => {
  const asked = event("command", "world", { command: { do: "start_client", name: "reader", kind: "consumer", topic: "orders", settings: { "group.id": "billing" } } });
  const tree = event("process_started", "zookeeper-1", { incarnation: 1 });
  const state = reduce(cluster, [tree, asked, event("process_started", "reader", { incarnation: 1 }), event("process_ended", "reader", { how: "shutdown" })]);
  assert.deepEqual([state.clients.reader.kind, state.clients.reader.state, state.clients.reader.settings["group.id"]], ["consumer", "stopped", "billing"]);
  assert.deepEqual(Object.keys(state.servers), ["zookeeper-1"]);
  const made = reduce(cluster, [event("process_started", "mine", { incarnation: 1 }), event("process_started", "producer-a", { incarnation: 1 }), event("process_ended", "operator", { how: "shutdown" })]);
  assert.deepEqual(Object.fromEntries(Object.entries(made.clients).map(([name, one]) => [name, one.kind])), { mine: "consumer", "producer-a": "producer" });
  assert.deepEqual(made.servers ?? {}, {});
});

test("a link whose delay is the cluster's own is healthy, with any other it is not", () => {
  const link = (more) => event("link_changed", "broker-1", { source: "broker-1", dest: "broker-2", delay_us: 2000, jitter_us: 0, drop: 0, duplicate: 0, reorder: 0, bandwidth: 0, partitioned: false, ...more });
  const far = { ...EMPTY, cluster: { ...EMPTY.cluster, link_delay_us: 2000 } };
  const cut = reduce(far, [link({ partitioned: true })]);
  assert.deepEqual([cut.links.length, reduce(cut, [link()]).links.length], [1, 0]);
  assert.deepEqual([reduce(far, [link({ delay_us: 0 })]).links.length, reduce(EMPTY, [link()]).links.length], [1, 1]);
});

test("the quorum's state follows its events: parts, epochs, ends, what is committed, who lags and who has gone", () => {
  const state = { ...EMPTY, cluster: { ...EMPTY.cluster, controller_mode: "kraft" }, quorum: { leader: 101, epoch: 1, voters: [101, 102], high_watermark: 10, replicas: { 101: { state: "leader", epoch: 1, leo: 10 }, 1: { state: "follower", epoch: 1, leo: 10 } } } };
  const after = reduce(state, [
    event("metadata_appended", "controller-101", { base_offset: 10, last_offset: 19 }), event("high_watermark", "controller-101", { topic: "__cluster_metadata", partition: 0, before: 10, after: 20 }),
    event("quorum_state", "controller-102", { before: "follower", after: "candidate", epoch: 2, leader: null }), event("process_ended", "controller-101", { how: "crash" }),
  ]);
  assert.deepEqual([after.quorum.high_watermark, after.quorum.epoch, after.quorum.leader], [20, 2, null]);
  assert.deepEqual(Object.keys(after.quorum.replicas), ["1", "102"]);
  assert.deepEqual([lagging(after.quorum), observersOf(after.quorum)], [["1"], ["1"]]);
  assert.deepEqual([lagOf(after.quorum, 1), lagOf(after.quorum, 102), lagOf(after.quorum, 9), lagOf({ replicas: {} }, 1)], [10, null, null, null]);
  assert.ok(!("__cluster_metadata" in after.topics));
});

test("with KRaft a broker is counted on, known and fenced, or known to nobody; with ZooKeeper there is nothing between", () => {
  const kraft = { ...cluster, cluster: { ...cluster.cluster, controller_mode: "kraft", controller: 101 } };
  const told = (state, ...events) => {
    const { registered, fenced } = reduce(state, events).brokers[2];
    return [registered, Boolean(fenced)];
  };
  const gone = (reason) => event("broker_gone", "controller-101", { broker: 2, reason });
  const starts = event("process_started", "broker-2", { incarnation: 2 });
  assert.deepEqual(told(kraft, gone("session timeout")), [false, true]);
  assert.deepEqual(told(kraft, gone("unregistered")), [false, false]);
  assert.deepEqual(told(kraft, gone("unregistered"), starts), [false, true], "it registers as it starts");
  assert.deepEqual(told(kraft, gone("unregistered"), starts, event("broker_registered", "controller-101", { broker: 2, broker_epoch: 9 })), [true, false]);
  assert.deepEqual(told({ ...kraft, cluster: { ...kraft.cluster, controller: null } }, gone("unregistered"), starts), [false, false], "nobody to register with");
  assert.deepEqual(told(cluster, gone("session expired"), starts), [false, false]);
});
