/**
 * Snapshot + events -> state. No DOM, no clock, no sentences.
 *
 * Each journal code that changes what a viewer sees has one function in a table; a code that is in
 * no table changes nothing here and is only told in the story. The shape of the state is that of
 * the server's snapshot, so a snapshot can take the place of any number of events:
 *
 *     reduce(reduce(snapshot@10, events 11..20), events 21..30)  =  snapshot@30
 */
import { Draft } from "./draft.js";
import { processes } from "./processes.js";
import { partitions } from "./partitions.js";
import { groups } from "./groups.js";
import { quorum } from "./quorum.js";
import { shares } from "./shares.js";
import { transactions } from "./transactions.js";
import { SILENT, progress } from "./progress.js";

export const SNAPSHOT = "$snapshot";

const TABLE = { ...processes, ...partitions, ...groups, ...quorum, ...transactions, ...shares, ...progress };

/** One event of the history: {seq, t, code, node, cause, params}; t is virtual microseconds. */
export function eventOf(row, t0) {
  return { seq: row[0], t: t0 + row[1], code: row[2], node: row[3], cause: row[4], params: row[5] ?? {} };
}

/** A snapshot as an event: it replaces the state, so that a history can hold one after a gap. */
export function snapshotEvent(seq, t, state) {
  return { seq, t, code: SNAPSHOT, node: "", cause: 0, params: { state } };
}

/** The state after `events` (any iterable), sharing with `state` all that they do not touch. */
export function reduce(state, events) {
  let draft = new Draft(state);
  for (const event of events) {
    if (event.code === SNAPSHOT) draft = new Draft(event.params.state);
    else TABLE[event.code]?.(draft, event.params, event);
  }
  return draft.finish();
}

/** Whether an event of this code changes the state. Errors of clients come often, and hardly ever do. */
export function changesState(code) {
  return code === SNAPSHOT || (code in TABLE && !SILENT.has(code) && code !== "client_error");
}

/** Before the first snapshot. */
export const EMPTY = Object.freeze({
  cluster: { name: "", controller_mode: "zookeeper", controller: null, controller_epoch: 0, preset: "default", seed: 0, settings: {} },
  time: { t_us: 0, speed: 1, paused: false, clocks: [[0, 0]] },
  brokers: {}, topics: {}, groups: {}, transactions: {}, shares: {}, clients: {}, connections: {}, znodes: {}, links: [], pipelines: {}, invariants: {},
});
