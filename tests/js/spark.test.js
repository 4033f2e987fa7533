import assert from "node:assert/strict";
import { test } from "node:test";
import { barsOf, gridOf, heatOf, levelOf, lossIn, momentOf, pick, seedsIn, shellOf, spansOf, sparkline, stepOf, summary, valueOf } from "../../static/model/spark.js";
import { rangesAsRows } from "../../static/views/spark/replay.js";
import { percentOf } from "../../static/views/progress.js";
import { labelOf, short, shown, spoken } from "../../static/views/spark/plots.js";

const words = { words: { "noun.broker": "broker", "spark.value.crash": "crash told" }, name: (node) => `<${node}>`, t: (key, params) => (key === "time.now" ? `${params.t} s` : key) };
const leader = (seq, leo, partition = 0) => ({ seq, code: "became_leader", node: "broker-1", params: { topic: "orders", partition, leo } });
const crash = { seq: 20, code: "process_ended", node: "broker-1", params: { how: "crash" } };

test("a record was lost when the last leader that began at or below its offset took over", () => {
  const events = [leader(1, 0), crash, leader(30, 100), leader(40, 200), leader(50, 300)];
  assert.equal(lossIn(events, { topic: "orders", partition: 0, offset: 105 }).seq, 30);
  assert.equal(lossIn(events, { topic: "orders", partition: 0, offset: 205 }).seq, 40);
});

test("another partition's leaders do not count, and a record that never had an offset was lost with the crash", () => {
  const events = [leader(1, 0), crash, leader(25, 50, 1), leader(30, 100)];
  assert.equal(lossIn(events, { topic: "orders", partition: "0", offset: 120 }).seq, 30);
  assert.equal(lossIn(events, { topic: "orders", partition: 0, offset: -1 }).seq, 20);
  assert.equal(lossIn([leader(1, 0)], { topic: "orders", partition: 0, offset: 5 }), null);
});

test("a row leads to its event, to its time, to a loss, or to what the journal is asked for", () => {
  assert.deepEqual(momentOf("failovers", { seq: 7, from_us: 3, how: "crash" }), { seq: 7, code: "process_ended" });
  assert.deepEqual(momentOf("unavailability", { seq: 7, how: "paused" }), { seq: 7, code: "process_paused" });
  assert.deepEqual(momentOf("write_gaps", { from_us: 3, to_us: 9 }), { t: 3 });
  const row = { topic: "orders", partition: 0, offset: 4 };
  assert.deepEqual(momentOf("lost", row), { lost: row });
  assert.deepEqual(momentOf("unavailability", { seq: 7, cause: "leader cut off", how: "clients, followers" }), { seq: 7, code: "link_changed" });
  const first = { producer: "b", lost: 1, lost_topic: "orders", lost_partition: 2, lost_offset: 900 };
  assert.deepEqual(momentOf("receipt", first), { lost: { topic: "orders", partition: 2, offset: 900 } }, "of any producer, however much was lost before");
  assert.equal(momentOf("receipt", { producer: "b", lost: 0 }), null);
  assert.equal(momentOf("damages", { file: "x" }), null);
  const wanted = momentOf("isr_churn", { topic: "orders", partition: 1 });
  assert.deepEqual(wanted.codes, ["isr_shrunk", "isr_expanded", "leader_elected"]);
  const elected = (seq, isr) => ({ seq, code: "leader_elected", params: { topic: "orders", partition: 1, isr, replicas: [1, 2] } });
  assert.equal(pick([elected(1, [1, 2]), elected(5, [2])], wanted).seq, 5, "an election that left a replica outside");
  const events = [{ seq: 1, params: { topic: "orders", partition: 0 } }, { seq: 2, params: { topic: "orders", partition: 1 } }];
  assert.equal(pick(events, wanted).seq, 2);
  assert.equal(pick([], wanted), null);
});

test("bars share the largest value, and the largest are drawn, each with its row", () => {
  const answer = { rows: Array.from({ length: 50 }, (_, n) => ({ broker: n, a: n, b: null })), chart: { labels: ["broker"], values: ["a", "b"] } };
  const bars = barsOf(answer, (row) => String(row.broker));
  assert.equal(bars.length, 40);
  assert.deepEqual(bars.map(({ row }) => row.broker), Array.from({ length: 40 }, (_, n) => n + 10));
  assert.deepEqual(bars[39].parts, [{ name: "a", value: 49, share: 1 }, { name: "b", value: null, share: 0 }]);
  assert.deepEqual(barsOf({ ...answer, drawn: [{ broker: 700, a: 900 }] }, (row) => String(row.broker)).map(({ row }) => row.broker), [700], "of rows that are not in the table, too");
});

test("lines of time are chosen by the length of their stretches", () => {
  const rows = Array.from({ length: 45 }, (_, n) => ({ topic: `t${n}`, from_us: 0, to_us: n + 1 }));
  const { lines, of } = spansOf({ rows, chart: { labels: ["topic"], values: ["from_us", "to_us"] } }, (row) => row.topic);
  assert.deepEqual([lines.length, of, lines[0].label, lines[0].stretches[0].row], [40, 45, "t5", rows[5]]);
});

test("a stretch without an end lasts to the end of the axis", () => {
  const answer = { rows: [{ topic: "t", from_us: 2e6, to_us: 4e6 }, { topic: "t", from_us: 8e6, to_us: null }], chart: { labels: ["topic"], values: ["from_us", "to_us"] } };
  const { end, ticks, lines } = spansOf(answer, (row) => row.topic);
  assert.equal(lines.length, 1);
  const [closed, open] = lines[0].stretches;
  assert.ok(Math.abs(closed.width - 2e6 / end) < 1e-9 && Math.abs(open.left + open.width - 1) < 1e-9);
  assert.ok(ticks.length <= 8 && ticks[1].t === 2e6);
  assert.equal(stepOf(0), 0.2);
});

const cell = (acks, isr, lost, runs = 2) => ({ cell: `acks=${acks},min.insync.replicas=${isr}`, values: { acks, "min.insync.replicas": isr }, runs, lost, runs_with_loss: lost ? 1 : 0, mean_gap_s: null });
const sweep = { keys: { acks: ["1", "all"], "min.insync.replicas": ["1", "2"] }, cells: [cell("1", "1", 40), cell("1", "2", 10), cell("all", "1", 0), cell("all", "2", 0, 0)] };

test("a heat map has a row for each value of the first key and a level for each cell", () => {
  const { columns, rows, largest } = heatOf(sweep, "lost");
  assert.deepEqual([columns, largest, rows.map((row) => row.name)], [["1", "2"], 20, ["acks=1", "acks=all"]]);
  assert.deepEqual(rows.map((row) => row.cells.map((one) => one.level)), [[5, 2], [0, null]]);
  assert.deepEqual([valueOf(sweep.cells[3], "lost"), levelOf(0.001, 20), levelOf(null, 20)], [null, 1, null]);
  const told = summary(sweep, "lost");
  assert.deepEqual([told.worst.cell, told.value, told.none, told.of], ["acks=1,min.insync.replicas=1", 20, 1, 3]);
});

test("a sweep with one key has one column, with none one cell", () => {
  assert.deepEqual(heatOf({ keys: { acks: ["1"] }, cells: [cell("1", "1", 2)] }, "lost").columns, [null]);
  assert.equal(heatOf({ keys: {}, cells: [{ cell: "all", values: {}, runs: 1, lost: 0 }] }, "lost").rows.length, 1);
});

test("seeds and values are taken as they are written, and the shell's command says the same", () => {
  assert.deepEqual(["1..10", "3, 7", "1..3,9", "3..1", "a", ""].map(seedsIn), [10, 2, 4, null, null, null]);
  assert.deepEqual(["0", "-1", "-3..3", "1..-1", "2,-7"].map(seedsIn), [1, null, null, null, null], "a seed is 0 or more");
  assert.deepEqual(["4611686018427387903", "4611686018427387904", "1..9999999999999999999"].map(seedsIn), [1, null, null], "and has at most 62 bits");
  const grid = gridOf([{ key: "acks", values: "0, 1,1 ," }, { key: "", values: "1" }, { key: "rate", values: " " }]);
  assert.deepEqual(grid, { acks: ["0", "1"] });
  assert.equal(shellOf("acks-1", grid, "1..5"), "./brokerlab sweep acks-1 --grid acks=0,1 --seeds 1..5");
});

test("a line stays in its box", () => {
  assert.equal(sparkline([0, 5, 10], 10, 12), "0.0,11.0 5.0,6.0 10.0,1.0");
  assert.equal(sparkline([0], 10, 12), "0.0,11.0");
});

test("values have their units, partitions are one word, nodes have names", () => {
  assert.deepEqual([short(12345), short(0.12345), short(12345.6)], ["12,345", "0.123", "12,346"]);
  assert.deepEqual(["share:0.5", "from_us:1500000", "seconds:2", "p99_ms:0.25", "broker:2", "follower:broker-2"].map((one) => {
    const [name, value] = one.split(":");
    return shown(name, Number.isNaN(Number(value)) ? value : Number(value), words);
  }), ["50 %", "1.500 s", "2 s", "0.25 ms", "broker 2", "<broker-2>"]);
  assert.deepEqual([shown("how", "crash", words), shown("to_us", null, words)], ["crash told", "–"]);
  assert.equal(labelOf({ run: "1", topic: "orders", partition: 0, follower: "broker-2" }, ["run", "topic", "partition", "follower"], words), "orders-0 · <broker-2>");
});

test("a reading names columns as their headings do", () => {
  const told = { words: { "spark.col.detected": "Detected" }, language: "en" };
  assert.equal(spoken("Most is spent before `detected`: the timeout.", told), "Most is spent before Detected: the timeout.");
  assert.equal(spoken("detected stays", told), "detected stays");
  assert.equal(spoken("시간은 detected 이전", { words: { "spark.col.detected": "감지" }, language: "ko" }), "시간은 감지 이전");
});

test("lost records are told as ranges of offsets, and a range leads to its first one", () => {
  const one = { run: "r", label: "producer-a", topic: "orders", partition: 0, records: 1200, test: "cut" };
  const answer = { query: "lost", count: 1202, columns: ["run", "offset"], rows: [{}], ranges: [{ ...one, first_offset: 2000, last_offset: 3199 }, { ...one, records: 1, first_offset: 7, last_offset: 7 }, { ...one, records: 1, first_offset: null, last_offset: null }] };
  const { rows, columns } = rangesAsRows(answer);
  assert.deepEqual(rows.map(({ offsets, offset }) => [offsets, offset]), [["2,000 – 3,199", 2000], ["7", 7], [null, null]]);
  assert.ok(columns.includes("offsets") && !columns.includes("offset"));
  assert.deepEqual(momentOf("lost", rows[0]).lost.offset, 2000);
});

test("what is still at work is at 99 percent at most", () => {
  assert.deepEqual([0, 0.004, 0.5, 0.996, 1].map(percentOf), [0, 0, 50, 99, 99]);
});
