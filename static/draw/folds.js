/**
 * The journal in its order, with what happens all the time folded. Pure.
 *
 *     Produce Fetch Produce ... Fetch | Produce Fetch Fetch Produce | x broker 1 | LeaderAndIsr | ...
 *     a band: Produce ×240, Fetch ×801 | the last ones before it    | what changed the state, and what it sent
 *
 * Each slot is one event, or a band: a stretch of everyday messages that went well, with how many went which way. No
 * message is left out: what has no slot of its own is counted in a band. An event is looked at once, however often the
 * picture is drawn.
 */
export const EVERYDAY = new Set([
  "Fetch", "Produce", "Heartbeat", "BrokerHeartbeat", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "ShareFetch", "Metadata", "OffsetCommit",
  "ApiVersions", "FetchSnapshot", "BeginQuorumEpoch",
]);
const BEFORE = 5; // everyday messages that are shown before what changed the state
const AFTER = 3; // and behind it
const LEAST = 4; // fewer are no band
export const BAND = 7; // slots that a band takes
const MEMOS = 8; // bands that are remembered as they were counted last
const MESSAGES = new Set(["request_sent", "request_received", "response_sent"]);
const MANY = new Set(["leader_elected", "isr_shrunk", "isr_expanded", "truncated", "partition_offline"]); // of many partitions at once

/** Whether an event is a message like thousands of others. */
export function everyday({ code, params }) {
  if (code === "high_watermark") return true;
  return MESSAGES.has(code) && EVERYDAY.has(params.api) && (!params.error || params.error === "NONE");
}

const endOf = (node) => (/^\d+$/.test(String(node)) ? "outside" : String(node));

/** The way that a message is counted on; an arrival is its departure once more, except from outside. */
function wayOf({ code, node, params }) {
  if (code === "request_sent") return `${node}>${params.to}:${params.api}`;
  if (code === "request_received" && endOf(params.source) === "outside") return `outside>${node}:${params.api}`;
  if (code === "response_sent") return `${node}>${endOf(params.to)}:`;
  return null;
}

function count(band, event, by) {
  const way = wayOf(event);
  if (way === null) return;
  const sum = (band.ways.get(way) ?? 0) + by;
  if (sum > 0) band.ways.set(way, sum);
  else band.ways.delete(way);
}

const bandOf = (position, event) => ({ begin: position, end: position, n: 0, from: event.t, to: event.t, ways: new Map(), recent: [] });

function extend(band, position, event) {
  count(band, event, 1);
  Object.assign(band, { end: position + 1, n: band.n + 1, to: event.t });
  band.recent.push({ position, event });
  if (band.recent.length > BEFORE) band.recent.shift();
}

/** A band without its last events, and those as slots of their own; all of a short one. */
function released(band, history) {
  const short = band.n <= BEFORE + LEAST;
  const own = [];
  if (short) for (let at = band.begin; at < band.end; at += 1) if (everyday(history.at(at) ?? {})) own.push({ position: at, event: history.at(at) });
  const freed = short ? own : band.recent;
  const rest = { ...band, ways: new Map(band.ways), n: band.n - freed.length, end: freed[0]?.position ?? band.end, recent: [] };
  for (const { event } of freed) count(rest, event, -1);
  return [...(short ? [] : [rest]), ...freed.map((entry) => ({ ...entry, n: 1 }))];
}

export class Folds {
  /** `shown(event)`: whether the time lines show it at all; `changes(event)`: whether it has changed the state. */
  constructor(shown, changes) {
    Object.assign(this, { shown, changes });
    this.#forget(null);
  }

  #forget(history) {
    this.slots = []; // {position, event, n} or bands
    this.band = null; // the one that still grows
    this.after = 0;
    this.blocks = history?.blocks ?? null;
    this.memos = new Map(); // where a band begins that somebody stands in -> what was counted last of it
    this.begin = this.end = history?.begin ?? 0;
  }

  /** Look at the events that are new. */
  follow(history) {
    if (this.blocks !== history.blocks || history.begin < this.begin || history.end < this.end) this.#forget(history);
    for (let at = Math.max(this.end, history.begin); at < history.end; at += 1) this.#take(history, history.at(at), at);
    this.end = history.end;
    if (this.begin < history.begin) {
      const kept = this.slots.findIndex((slot) => (slot.end ?? slot.position + 1) > history.begin);
      this.slots.splice(0, kept < 0 ? this.slots.length : kept);
      this.begin = history.begin;
    }
  }

  #take(history, event, position) {
    if (!this.shown(event)) return;
    if (everyday(event)) {
      if (this.after > 0) {
        this.after -= 1;
        this.slots.push({ position, event, n: 1 });
        return;
      }
      this.band ??= bandOf(position, event);
      extend(this.band, position, event);
      return;
    }
    const changes = this.changes(event);
    if (this.band) this.slots.push(...(changes || this.band.n <= BEFORE ? released(this.band, history) : [this.band]));
    this.band = null;
    if (changes) this.after = AFTER;
    const last = this.slots.at(-1);
    if (MANY.has(event.code) && last?.event?.code === event.code && last.event.node === event.node && event.t - last.event.t < 2000) {
      last.n += 1;
      (last.others ??= []).push({ position, event });
    } else this.slots.push({ position, event, n: 1 });
  }

  /** The slots before `position`, the newest last, as many as take `room`; `open`: show the very last messages by themselves. */
  before(history, position, room, open) {
    const closed = this.#tail(room, position);
    const all = this.band && this.band.begin < position ? [...closed, this.band] : closed;
    return this.#fit(this.#cut(all, history, position, open).reverse(), room).reverse();
  }

  /** The slots from `position` on. */
  behind(history, position, room) {
    const all = this.band ? [...this.slots, this.band] : this.slots;
    let first = all.length;
    while (first > 0 && (all[first - 1].end ?? all[first - 1].position + 1) > position) first -= 1;
    const found = all.slice(first, first + room).flatMap((slot) => (slot.ways && slot.begin < position ? this.#rest(history, slot, position) : slot));
    return this.#fit(found, room);
  }

  /** The slots from one position up to another; a band that reaches over either is counted anew. */
  between(history, from, to) {
    if (from >= to) return [];
    const all = this.#tail(Infinity, to);
    let first = all.length;
    while (first > 0 && (all[first - 1].end ?? all[first - 1].position + 1) > from) first -= 1;
    const last = this.band && this.band.begin < to && this.band.end > from ? [this.band] : [];
    const whole = [...all.slice(first), ...last].flatMap((slot) => (slot.ways && slot.begin < from ? this.#rest(history, slot, from) : slot));
    return this.#cut(whole, history, to, false);
  }

  /** The last slots that may stand before `position`. */
  #tail(room, position = Infinity) {
    let last = this.slots.length;
    while (last > 0 && (this.slots[last - 1].begin ?? this.slots[last - 1].position) >= position) last -= 1;
    return this.slots.slice(Math.max(0, last - room), last);
  }

  /** Without what stands at `position` and behind; a band that goes on behind it is counted anew. */
  #cut(slots, history, position, open) {
    const found = slots.filter((slot) => (slot.begin ?? slot.position) < position);
    const last = found.at(-1);
    if (!last?.ways) return found;
    if (last.end <= position) return open && last.recent.length ? [...found.slice(0, -1), ...released(last, history)] : found;
    const band = this.#counted(history, last.begin, position);
    return [...found.slice(0, -1), ...(band ? (open ? released(band, history) : [band]) : [])];
  }

  /** A band of what stands between two positions, null when that is nothing; goes on from what was counted last. */
  #counted(history, from, to) {
    if (!(this.memos.get(from)?.to <= to)) {
      if (this.memos.size >= MEMOS) this.memos.clear();
      this.memos.set(from, { to: from, band: null });
    }
    const memo = this.memos.get(from);
    for (; memo.to < to; memo.to += 1) {
      const event = history.at(memo.to);
      if (!event || !this.shown(event)) continue;
      memo.band ??= bandOf(memo.to, event);
      extend(memo.band, memo.to, event);
    }
    return memo.band && { ...memo.band, ways: new Map(memo.band.ways), recent: [...memo.band.recent] };
  }

  /** What a band holds from `position` on. */
  #rest(history, band, position) {
    const past = this.#counted(history, band.begin, position);
    if (!past) return [band];
    const ways = new Map(band.ways);
    for (const [way, n] of past.ways) ways.set(way, (ways.get(way) ?? 0) - n);
    for (const [way, n] of ways) if (n <= 0) ways.delete(way);
    return ways.size ? [{ ...band, ways, begin: position, n: band.n - past.n, from: history.timeAt(position) }] : [];
  }

  /** As many as take `room`, from the front. */
  #fit(slots, room) {
    let left = room;
    const found = [];
    for (const slot of slots) {
      left -= slot.ways ? BAND : 1;
      if (left < 0) break;
      found.push(slot);
    }
    return found;
  }
}

/** What a band holds, most first: [["Fetch", 801], ["Produce", 240]]. */
export function kindsOf({ ways }) {
  const sums = new Map();
  for (const [way, n] of ways) {
    const api = way.slice(way.lastIndexOf(":") + 1);
    if (api) sums.set(api, (sums.get(api) ?? 0) + n);
  }
  return [...sums].sort((one, other) => other[1] - one[1]);
}
