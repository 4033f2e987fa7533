/**
 * What Spark has found, made ready to be drawn: axes of a heat map, scales, and which moment a row leads to.
 *
 * A row of an answer leads to an event of the run. Some say which (`seq`) or when (`from_us`, `t_us`); for the
 * others the journal is asked for events of some codes, and the first that fits is taken.
 */
import { brokerNode } from "./names.js";

const TIMES = ["from_us", "at_us", "t_us"];
const place = (row) => (event) => event.params.topic === row.topic && Number(event.params.partition) === Number(row.partition);
const holds = (row) => (event) => place(row)(event) && event.params.base_offset <= row.offset && row.offset <= event.params.last_offset;

/** Whether an election left replicas outside of the ISR. */
const isSmall = ({ params }) => params.isr.length < params.replicas.length;

/** States of a group, by either protocol, that are not Stable. */
const REBALANCING = new Set(["PreparingRebalance", "Assigning", "Reconciling"]);

/** Query -> row -> {codes, fits, last?}: which events of the journal are meant. */
const MEANT = {
  duplicated: (row) => ({ codes: ["log_appended"], fits: holds(row) }),
  reordered: (row) => ({ codes: ["log_appended"], fits: holds(row) }),
  inconsistent: (row) => ({ codes: ["log_appended"], fits: holds(row), last: true }),
  elections: (row) => ({ codes: ["leader_elected", "partition_offline"], fits: ({ code, params }) => (code === "leader_elected"
    ? params.reason === row.reason
    : /alive/.test(row.reason)) }),
  isr_churn: (row) => ({ codes: ["isr_shrunk", "isr_expanded", "leader_elected"], fits: (event) => place(row)(event) && (event.code !== "leader_elected"
    || isSmall(event)) }),
  replication_lag: (row) => ({ codes: ["log_appended"], fits: (event) => event.node === row.follower && place(row)(event) }),
  latency: (row) => ({ codes: ["request_received"], fits: ({ params }) => params.api === row.api }),
  rebalance_cost: (row) => ({ codes: ["group_state"], fits: ({ params }) => params.group === row.group && REBALANCING.has(params.after) }),
  transaction_cycles: (row) => ({ codes: ["transaction_ends"], fits: place(row) }),
  stable_gap: (row) => ({ codes: ["transaction_begins"], fits: place(row) }),
  aborted_share: (row) => ({ codes: ["transaction_state"], fits: ({ params }) => params.transactional_id === row.producer && params.after === "PrepareAbort" }),
  zookeeper_and_kraft: () => ({ codes: ["controller_elected"], fits: () => true }),
  leader_skew: (row) => ({ codes: ["became_leader"], fits: ({ node }) => node === row.broker }),
  key_skew: (row) => ({ codes: ["log_appended"], fits: place(row) }),
  retention: (row) => ({ codes: ["segment_deleted"], fits: ({ node, params }) => node === brokerNode(row.broker) && params.topic === row.topic }),
};

/** Which of the events with one number is meant, by how a leader ended. */
const ENDS = { paused: "process_paused", "stepped down": "became_follower" };

/** The event that began a window: what cut the leader off, or how it ended. */
function beginning({ cause, how }) {
  return cause === "leader cut off" ? "link_changed" : how ? ENDS[how] ?? "process_ended" : null;
}

/** {seq, code} | {t} | {lost: row} | {codes, fits} | null: where a row of an answer leads. */
export function momentOf(query, row) {
  if (Number.isInteger(row.seq)) return { seq: row.seq, code: beginning(row) };
  if (query === "lost") return { lost: row };
  if (query === "receipt") return row.lost ? { lost: { topic: row.lost_topic, partition: row.lost_partition, offset: row.lost_offset } } : null;
  const time = TIMES.find((name) => Number.isFinite(row[name]));
  if (time) return { t: row[time] };
  return MEANT[query]?.(row) ?? null;
}

/** The event that a journal search means; null when none fits. */
export function pick(events, { fits, last = false }) {
  return (last ? events.findLast(fits) : events.find(fits)) ?? null;
}

export const LOSS_CODES = ["became_leader", "process_ended"];

/**
 * The event with which an acknowledged record was lost: the last leader of its partition that began at or below its
 * offset, without it. When no such leader came (the record never reached a log), the first crash.
 */
export function lossIn(events, row) {
  const leaders = events.filter((event) => event.code === "became_leader" && place(row)(event));
  const took = Number.isInteger(row.offset) ? leaders.findLast((event, index) => index > 0 && event.params.leo <= row.offset) : null;
  return took ?? events.find((event) => event.code === "process_ended" && event.params.how !== "shutdown") ?? null;
}

// -- plots ------------------------------------------------------------------------------------
export const MOST = 40;

/** The rows that a plot takes: those with the largest bars or the longest stretches where not all rows are here. */
export const drawnOf = ({ rows, drawn }) => drawn ?? rows;

const height = (row, chart) => Math.max(...chart.values.map((name) => Number(row[name] ?? 0)));

/** Bars: [{row, label, parts: [{name, value, share}]}], the MOST largest in the order of the rows; share of the largest value. */
export function barsOf(answer, label) {
  const { chart } = answer;
  const rows = drawnOf(answer);
  const chosen = new Set([...rows].sort((a, b) => height(b, chart) - height(a, chart)).slice(0, MOST));
  const shown = rows.filter((row) => chosen.has(row));
  const largest = Math.max(0, ...shown.map((row) => height(row, chart))) || 1;
  return shown.map((row) => ({
    row, label: label(row, chart.labels),
    parts: chart.values.map((name) => ({ name, value: row[name], share: Number(row[name] ?? 0) / largest })),
  }));
}

/** A step of 1, 2 or 5 times a power of ten that gives at most six ticks. */
export function stepOf(end) {
  const rough = Math.max(end, 1) / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((one) => one * power >= rough) ?? 10);
}

/** Stretches of time: {end, ticks, of, lines: [{label, stretches: [{index, row, from, to, left, width}]}]}, the MOST of `of` lines with the longest
 * stretches; times in microseconds. */
export function spansOf(answer, label) {
  const { chart } = answer;
  const rows = drawnOf(answer);
  const [begin, until] = chart.values;
  const end = Math.max(1, ...rows.map((row) => Number(row[until] ?? row[begin]))) * 1.05;
  const lines = new Map();
  for (const [index, row] of rows.entries()) {
    const name = label(row, chart.labels);
    const to = row[until] ?? end;
    const stretch = { index, row, from: row[begin], to: row[until], left: row[begin] / end, width: (to - row[begin]) / end };
    lines.set(name, [...(lines.get(name) ?? []), stretch]);
  }
  const step = stepOf(end);
  const ticks = Array.from({ length: Math.floor(end / step) + 1 }, (_, index) => ({ t: index * step, left: (index * step) / end }));
  const length = (stretches) => stretches.reduce((sum, { width }) => sum + width, 0);
  const chosen = new Set([...lines.keys()].sort((a, b) => length(lines.get(b)) - length(lines.get(a))).slice(0, MOST));
  return { end, ticks, of: lines.size, lines: [...lines].filter(([name]) => chosen.has(name)).map(([name, stretches]) => ({ label: name, stretches })) };
}

/** Points of a line through values that are 0 ... largest, in a box of w x h. */
export function sparkline(values, w, h) {
  const known = values.map((value) => Number(value ?? 0));
  const largest = Math.max(...known, 0) || 1;
  const step = known.length > 1 ? w / (known.length - 1) : 0;
  return known.map((value, index) => `${(index * step).toFixed(1)},${(h - 1 - (value / largest) * (h - 2)).toFixed(1)}`).join(" ");
}

// -- sweeps -----------------------------------------------------------------------------------
export const FIGURES = ["lost", "duplicated", "reordered", "mean_gap_s"];

/** What a cell of the heat map tells: a figure a run; null when no run has ended. */
export function valueOf(cell, figure) {
  if (!cell?.runs) return null;
  return figure === "mean_gap_s" ? cell.mean_gap_s : cell[figure] / cell.runs;
}

/** The heat map: rows by the first key, columns by the second; with more keys the others stand before the row's. */
export function heatOf({ keys, cells }, figure) {
  const [first, second, ...others] = Object.keys(keys);
  const rows = new Map();
  const columns = second ? keys[second] : [null];
  for (const cell of cells) {
    const name = [...others, ...(first ? [first] : [])].map((key) => `${key}=${cell.values[key]}`).join(", ");
    if (!rows.has(name)) rows.set(name, {});
    rows.get(name)[second ? cell.values[second] : null] = cell;
  }
  const largest = Math.max(0, ...cells.map((cell) => valueOf(cell, figure) ?? 0));
  const shaded = (cell) => {
    const value = valueOf(cell, figure);
    return { cell, value, level: levelOf(value, largest) };
  };
  return { first, second, largest, columns, rows: [...rows].map(([name, by]) => ({ name, cells: columns.map((column) => (by[column]
    ? shaded(by[column])
    : null)) })) };
}

export const LEVELS = 5;

/** 0 for nothing, 1 ... LEVELS by the share of the largest value; null without one. */
export function levelOf(value, largest) {
  if (value === null || value === undefined) return null;
  return value > 0 ? Math.max(1, Math.min(LEVELS, Math.ceil((LEVELS * value) / (largest || 1)))) : 0;
}

/** {worst, value, none, of}: the cell with most of a figure, and how many cells have nothing of it. */
export function summary({ cells }, figure) {
  const told = cells.map((cell) => ({ cell, value: valueOf(cell, figure) })).filter(({ value }) => value !== null);
  const worst = told.reduce((best, one) => (best === null || one.value > best.value ? one : best), null);
  return { worst: worst?.cell ?? null, value: worst?.value ?? 0, none: told.filter(({ value }) => value === 0).length, of: told.length };
}

const LARGEST_SEED = 2n ** 62n - 1n;

/** How many seeds `1..20,25` are; null when it is not written so, or when the shell would refuse one: a seed is 0 or more and has at most 62 bits. */
export function seedsIn(text) {
  let count = 0;
  for (const part of text.split(",")) {
    const found = /^\s*(\d+)(?:\.\.(\d+))?\s*$/.exec(part);
    if (!found) return null;
    const [first, last] = [BigInt(found[1]), BigInt(found[2] ?? found[1])];
    if (last < first || last > LARGEST_SEED) return null;
    count += Number(last - first) + 1;
  }
  return count;
}

/** Rows of the form as the grid of a request: [{key, values: "0, 1, all"}] -> {acks: ["0", "1", "all"]}. */
export function gridOf(axes) {
  const grid = {};
  for (const { key, values } of axes) {
    const chosen = [...new Set(values.split(",").map((one) => one.trim()).filter(Boolean))];
    if (key.trim() && chosen.length) grid[key.trim()] = chosen;
  }
  return grid;
}

/** The same sweep from the shell. */
export function shellOf(scenario, grid, seeds) {
  return `./brokerlab sweep ${scenario}${Object.entries(grid).map(([key, values]) => ` --grid ${key}=${values.join(",")}`).join("")} --seeds ${seeds}`;
}
