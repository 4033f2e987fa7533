/**
 * Everything that was seen of a run, and the state at any moment of it.
 *
 * Events stand in blocks of at most BLOCK; each block keeps the state before its first event. A seek
 * replays at most BLOCK events onto one of them.
 *
 *     ... -2 -1 | 0 1 2 ... end
 *     loaded    | seen since the page was opened         `begin` is the first position kept
 *     later       0 = before the first event seen, `end` = the live edge
 *
 * Positions keep their meaning: what is loaded from before gets positions below `begin`. When more
 * than LIMIT events are held the oldest blocks go, but not those at and after `pinned`.
 */
import { SILENT } from "../model/progress.js";
import { EMPTY, reduce, SNAPSHOT } from "../model/reduce.js";

export const BLOCK = 256;
const LIMIT = 120_000;

export class History {
  constructor(limit = LIMIT) {
    this.limit = limit;
    this.reset();
  }

  reset() {
    this.begin = 0;
    this.end = 0;
    this.pinned = Infinity; // the position that is looked at
    this.blocks = []; // {start, base, events}, oldest first
    this.live = EMPTY;
    this.byCause = new Map(); // seq -> position of the first event of the journal with this sequence
    this.seek = { position: null, state: EMPTY };
    this.last = 0; // index of the block that was found last
  }

  get full() {
    return this.end - this.begin >= this.limit;
  }

  /** Add events at the live edge. */
  append(events) {
    let from = 0;
    while (from < events.length) {
      let block = this.blocks[this.blocks.length - 1];
      if (!block || block.events.length >= BLOCK) {
        block = { start: this.end, base: this.live, events: [] };
        this.blocks.push(block);
      }
      const some = events.slice(from, from + BLOCK - block.events.length);
      for (const event of some) {
        if (event.seq > 0 && !this.byCause.has(event.seq) && !SILENT.has(event.code)) this.byCause.set(event.seq, this.end);
        block.events.push(event);
        this.end += 1;
      }
      this.live = reduce(this.live, some);
      from += some.length;
    }
    this.#forget();
  }

  /** Put events before all others; `base` is the state before the first of them. */
  prepend(base, events) {
    const blocks = [];
    let state = base;
    for (let from = 0; from < events.length; from += BLOCK) {
      const some = events.slice(from, from + BLOCK);
      blocks.push({ start: this.begin - events.length + from, base: state, events: some });
      state = reduce(state, some);
    }
    // A snapshot stands for everything before it: now that is known.
    if (this.blocks[0]?.events[0]?.code === SNAPSHOT) this.blocks[0].base = state;
    this.begin -= events.length;
    for (let index = events.length - 1; index >= 0; index -= 1) {
      if (!SILENT.has(events[index].code)) this.byCause.set(events[index].seq, this.begin + index);
    }
    this.blocks.unshift(...blocks);
    this.last = 0;
    this.seek = { position: null, state: EMPTY };
  }

  #forget() {
    while (this.end - this.begin > this.limit && this.blocks.length > 1 && this.blocks[1].start <= this.pinned) {
      const gone = this.blocks.shift();
      for (const event of gone.events) this.byCause.delete(event.seq);
      this.begin = this.blocks[0].start;
      this.last = Math.max(0, this.last - 1);
    }
  }

  /** The block that holds `position`. */
  #block(position) {
    const near = this.blocks[this.last];
    if (near && position >= near.start && position < near.start + near.events.length) return near;
    let low = 0;
    let high = this.blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.blocks[middle].start <= position) low = middle;
      else high = middle - 1;
    }
    this.last = low;
    return this.blocks[low];
  }

  /** The event at a position (the one that leads from `position` to `position + 1`), or null. */
  at(position) {
    if (position < this.begin || position >= this.end) return null;
    const block = this.#block(position);
    return block.events[position - block.start];
  }

  /** The state after all events before `position`. */
  stateAt(position) {
    if (position >= this.end || !this.blocks.length) return this.live;
    if (position === this.seek.position) return this.seek.state;
    const wanted = Math.max(position, this.begin);
    const block = this.#block(wanted);
    const state = reduce(block.base, block.events.slice(0, wanted - block.start));
    this.seek = { position, state };
    return state;
  }

  /** The virtual time at a position: that of the last event before it. */
  timeAt(position) {
    const event = this.at(Math.min(position, this.end) - 1) ?? this.at(this.begin);
    return event ? event.t : 0;
  }

  /** The sequence number at a position: that of the last event before it. */
  seqAt(position) {
    return (this.at(Math.min(position, this.end) - 1) ?? this.at(this.begin))?.seq ?? 0;
  }

  /** Position of the first event with sequence `seq`, or null. */
  positionOf(seq) {
    return this.byCause.get(seq) ?? null;
  }

  /** The position right behind all events with sequences up to `seq`. */
  positionBehind(seq) {
    return this.#search((event) => event.seq <= seq);
  }

  /** The first position whose events before it are all at or before time `t`. */
  positionAtTime(t) {
    return this.#search((event) => event.t <= t);
  }

  #search(before) {
    let low = this.begin;
    let high = this.end;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (before(this.at(middle))) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Events from position `from` up to `to`, oldest first. */
  *between(from, to) {
    for (let position = Math.max(from, this.begin); position < Math.min(to, this.end); position += 1) yield this.at(position);
  }

  /** The chain of causes of the event at `position`, nearest first, at most `depth` positions. */
  causes(position, depth = 6) {
    const found = [];
    let event = this.at(position);
    while (event && event.cause > 0 && found.length < depth) {
      const earlier = this.positionOf(event.cause);
      if (earlier === null || earlier < this.begin || event.cause >= event.seq) break;
      found.push(earlier);
      event = this.at(earlier);
    }
    return found;
  }
}
