/**
 * Which events are told, how loudly, and which are told as one.
 *
 * A broker's death is fifty events: each partition gets a leader, each broker hears of it. Like events
 * of one moment become one item ("broker 2 became leader of 17 partitions"). Items keep the
 * positions of their events, so a click leads to any of them.
 *
 *     loud    what a learner must see: deaths, elections, ISR changes, lost records, commands
 *     quiet   what makes it happen: sessions, znodes, logs, connections; shown on demand
 *     silent  traffic; it is seen on the stage and in the time lines
 */
import { SILENT } from "./progress.js";

export const LOUD = new Set([
  "broker_added", "machine_added", "broker_id_generated", "process_started", "process_ended", "process_paused", "process_resumed", "link_changed",
  "command_refused", "disk_fault", "disks_changed", "protection_set", "stage_costs_set", "frame_refused", "request_queue_full", "session_expired",
  "controller_elected", "neighbour_changed",
  "controller_resigned", "controller_fenced", "broker_gone", "broker_registered", "broker_refused", "leader_elected",
  "assignment_changed", "partition_offline", "topic_created", "topic_grown", "topic_deleted", "config_changed", "truncated",
  "isr_shrunk", "isr_expanded", "isr_change_refused", "log_recovered", "file_given_up", "logs_loading", "log_cleaning", "log_cleaned",
  "log_uncleanable", "replica_placed", "replica_move_begun", "replica_move_ended", "replica_moved", "group_state",
  "member_joined", "member_left", "member_reconciled", "group_converted", "send_failed", "client_software", "ensemble_epoch",
  "ensemble_truncated", "quorum_voters",
]);
const BAD = new Set([
  "process_ended", "partition_offline", "isr_shrunk", "session_expired", "broker_gone", "disk_fault", "frame_refused",
  "command_refused", "controller_fenced", "replica_fenced", "send_failed", "truncated", "broker_refused", "request_queue_full",
  "isr_change_refused", "log_uncleanable", "log_recovered",
]);
const GOOD = new Set(["broker_added", "broker_id_generated", "process_started", "process_resumed", "isr_expanded", "broker_registered", "replica_moved"]);
const TURN = new Set(["ensemble_epoch", "leader_elected", "controller_elected", "became_leader"]);

/** Of the states of the quorum's replicas only the candidacies: who wins is told as the controller that it is. */
const loud = ({ code, params }) => LOUD.has(code) || code === "command" || (code === "quorum_state" && params.after === "candidate");

/** What kind of mark an event gets: bad | good | turn | plain. Shown by colour and by glyph. */
export function toneOf(code) {
  if (BAD.has(code)) return "bad";
  if (GOOD.has(code)) return "good";
  return TURN.has(code) ? "turn" : "plain";
}

export const GLYPHS = { bad: "✕", good: "✓", turn: "★", plain: "·" };

/** Codes that may be told as one, with the parameters that must be equal for it. */
const MERGED = {
  leader_elected: ["leader", "reason"], partition_offline: [], isr_shrunk: ["removed", "reason"], isr_expanded: ["added"],
  became_leader: [], became_follower: ["leader"], log_loaded: [], logs_loading: [], log_cleaning: [], log_recovered: ["committed"],
  truncated: ["reason", "committed"],
  znode_created: [], znode_changed: [], znode_deleted: [], session_closed: [], session_opened: [], replica_stopped: [],
  group_partition_loaded: [], group_partition_unloaded: [], segment_rolled: [], segment_deleted: [], index_rebuilt: [],
  link_changed: ["delay_us", "drop", "partitioned", "jitter_us", "duplicate", "reorder", "bandwidth"],
  leader_epoch_renewed: [], replica_fenced: ["topic", "partition", "epoch"], client_software: ["software"],
  connection_opened: [], connection_closed: ["reason"], config_changed: ["resource", "name"], log_start_moved: [], log_cleaned: [],
  replica_placed: ["directory"], replica_move_begun: ["before", "directory"], replica_move_ended: ["directory", "reason"], replica_moved: ["directory"],
};
const CUT_AT = { log_recovered: "end", truncated: "after" };
const ONE_MOMENT_US = 300_000;
const LONG = { replica_fenced: 20_000_000, client_software: 5_000_000 }; // the same again and again
const LOOK_BACK = 12;
/** Positions at and below this one: events that were told before they were loaded. */
export const TOLD_ONLY = -1e9;

/** Logs that are cut are told with their offsets: `orders-0 50–99`. */
function nameOf({ code, params }) {
  if (code in CUT_AT) {
    const [first, last] = [params[CUT_AT[code]], params.before - 1];
    return `${params.topic}-${params.partition} ${first}–${last >= first ? last : ""}`;
  }
  if (params.topic !== undefined && params.partition !== undefined) return `${params.topic}-${params.partition}`;
  if (code === "link_changed") return `${params.source}>${params.dest}`;
  if (code.startsWith("znode_")) return params.path;
  if (code.startsWith("session_")) return params.owner;
  if (code.startsWith("connection_")) return String(params.connection);
  return params.key ?? params.path ?? String(params.partition ?? "");
}

/** What the events of an item are about; of links, both directions as one. `name(node)`: a node in words. */
export function namesOf({ code, names }, name) {
  if (code !== "link_changed") return names;
  const back = (way) => way.split(">").reverse().join(">");
  const own = names.filter((way, index) => !names.slice(0, index).includes(back(way)));
  return own.map((way) => way.split(">").map(name).join(names.includes(back(way)) ? " ↔ " : " → "));
}

function same(item, event) {
  if (item.code !== event.code || (item.node !== event.node && event.code !== "link_changed")) return false;
  return MERGED[event.code].every((name) => JSON.stringify(item.first.params[name]) === JSON.stringify(event.params[name]));
}

/** Who calls: a client that connects once more, to another broker, is told among all events only. */
const calling = ({ params }) => `${params.software} ${params.client_id}`;
const CALLS = "client_software";

const GONE = new Set(["process_ended", "process_paused", "controller_resigned"]);

/** Since when there is no controller: from the end, the pause or the resignation of the last one until another is elected. */
class Vacancy {
  constructor() {
    Object.assign(this, { last: null, since: null });
  }

  /** Microseconds without a controller that end with `event`; null where none are known to. */
  hear({ code, node, t }) {
    if (code === "controller_elected") {
      const without = this.since === null ? null : t - this.since;
      Object.assign(this, { last: node, since: null });
      return without;
    }
    if (node === this.last && GONE.has(code)) this.since ??= t;
    if (node === this.last && code === "process_resumed") this.since = null;
    return null;
  }
}

export class Story {
  constructor(levels, limit = 4000) {
    this.levels = levels; // {code: "transitions" | "messages" | "details"}
    this.limit = limit;
    this.items = []; // oldest first: {key, code, node, first, positions, names, loud, without}
    this.vacancy = new Vacancy();
    this.callers = new Set(); // clients that have called before
  }

  #first(event) {
    if (event.code !== CALLS) return true;
    const before = this.callers.size;
    return this.callers.add(calling(event)).size > before;
  }

  /** Take over what happened before all that is told here: who called then does not call for the first time later. */
  #follow(earlier) {
    for (const item of this.items) if (item.code === CALLS && earlier.callers.has(calling(item.first))) item.loud = false;
    for (const caller of earlier.callers) this.callers.add(caller);
  }

  /** Whether an event is told at all. */
  told(event) {
    if (SILENT.has(event.code)) return false;
    if (event.code === "command" && event.params.command?.do === "time") return false;
    return LOUD.has(event.code) || (this.levels[event.code] ?? "transitions") === "transitions";
  }

  /** Tell `event`, which stands at `position` of the history; answers whether it is told. */
  add(event, position) {
    const without = this.vacancy.hear(event);
    if (event.code.startsWith("$") || !this.told(event)) return false;
    const first = this.#first(event);
    if (event.code in MERGED) {
      for (let back = 1; back <= LOOK_BACK; back += 1) {
        const item = this.items[this.items.length - back];
        if (!item || event.t - item.first.t > (LONG[event.code] ?? ONE_MOMENT_US)) break;
        if (!same(item, event)) continue;
        item.positions.push(position);
        if (!item.names.includes(nameOf(event))) item.names.push(nameOf(event));
        item.version += 1;
        return true;
      }
    }
    this.items.push({
      key: position, code: event.code, node: event.node, first: event, positions: [position], names: [nameOf(event)],
      loud: first && loud(event), tone: toneOf(event.code), version: 0, without,
    });
    if (this.items.length > this.limit) this.items.splice(0, this.limit / 4);
    return true;
  }

  /** The items as they are now, for when their events are no longer loaded: each has a position of its own that leads nowhere. */
  asTold() {
    return this.items.map((item, index) => {
      const position = TOLD_ONLY + index - this.items.length;
      return { ...item, key: position, positions: [position], names: [...item.names] };
    });
  }

  /** Another run: nothing is told of it but these items. */
  begin(items) {
    this.items = items;
    this.vacancy = new Vacancy();
    this.callers = new Set(items.filter(({ code }) => code === CALLS).map(({ first }) => calling(first)));
  }

  /** Tell events that came before all others; what was told of the same events without their positions goes. */
  prepend(events, position) {
    const earlier = new Story(this.levels, this.limit);
    events.forEach((event, index) => earlier.add(event, position + index));
    const [first, last] = [events[0].seq, events[events.length - 1].seq];
    this.#follow(earlier);
    const rest = this.items.filter((item) => item.positions[0] > TOLD_ONLY || item.first.seq < first || item.first.seq > last);
    const older = rest.filter((item) => item.first.seq < first);
    this.items = [...older, ...earlier.items, ...rest.slice(older.length)].slice(-2 * this.limit);
  }

  /** Tell the newest state changes of a time whose events are not loaded, as far as they are not told yet. */
  recall(events) {
    const known = this.items[0]?.first.seq ?? Infinity;
    const lowest = Math.min(TOLD_ONLY, this.items[0]?.positions[0] ?? TOLD_ONLY);
    const earlier = new Story(this.levels, this.limit);
    events.filter(({ seq }) => seq < known).forEach((event, index) => earlier.add(event, lowest + index - events.length));
    this.#follow(earlier);
    this.items.unshift(...earlier.items);
  }

  /** An event as an item of its own, told or not. */
  static single(event, position) {
    return {
      key: position, code: event.code, node: event.node, first: event, positions: [position], names: [nameOf(event)], loud: true,
      tone: toneOf(event.code), version: 0
    };
  }

  /** The newest `limit` items that happened before `position`, newest first. */
  before(position, limit, all) {
    const found = [];
    for (let index = this.items.length - 1; index >= 0 && found.length < limit; index -= 1) {
      const item = this.items[index];
      if (item.positions[0] < position && (all || item.loud)) found.push(item);
    }
    return found;
  }
}
