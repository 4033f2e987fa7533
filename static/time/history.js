/**
 * Everything that was seen of a run, and the state at any moment of it.
 *
 * Events stand in blocks of BLOCK; each block keeps the state before its first event. A seek replays
 * at most BLOCK events onto one of them. When more than LIMIT events are held the oldest blocks go.
 *
 *     position 0 = before the first event kept ... position `end` = the live edge
 *
 * Positions are absolute and keep their meaning when old blocks go: `begin` grows.
 */
import { EMPTY, reduce } from "../model/reduce.js";

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
    this.blocks = [];
    this.live = EMPTY;
    this.byCause = new Map(); // seq -> absolute position of the first event with this sequence
    this.seek = { position: -1, state: EMPTY };
  }

  /** Add events at the live edge. */
  append(events) {
    let from = 0;
    while (from < events.length) {
      let block = this.blocks[this.blocks.length - 1];
      if (!block || block.events.length === BLOCK) {
        block = { base: this.live, events: [] };
        this.blocks.push(block);
      }
      const some = events.slice(from, from + BLOCK - block.events.length);
      for (const event of some) {
        if (event.seq > 0 && !this.byCause.has(event.seq)) this.byCause.set(event.seq, this.end);
        block.events.push(event);
        this.end += 1;
      }
      this.live = reduce(this.live, some);
      from += some.length;
    }
    this.#forget();
  }

  #forget() {
    while (this.end - this.begin > this.limit) {
      const gone = this.blocks.shift();
      for (const event of gone.events) this.byCause.delete(event.seq);
      this.begin += gone.events.length;
    }
  }

  /** The event at a position (the one that leads from `position` to `position + 1`), or null. */
  at(position) {
    if (position < this.begin || position >= this.end) return null;
    const index = position - this.begin;
    return this.blocks[Math.floor(index / BLOCK)].events[index % BLOCK];
  }

  /** The state after all events before `position`. */
  stateAt(position) {
    if (position >= this.end) return this.live;
    if (position === this.seek.position) return this.seek.state;
    const index = Math.max(0, position - this.begin);
    const block = this.blocks[Math.floor(index / BLOCK)];
    if (!block) return this.live;
    const state = reduce(block.base, block.events.slice(0, index % BLOCK));
    this.seek = { position, state };
    return state;
  }

  /** The virtual time at a position: that of the last event before it. */
  timeAt(position) {
    const event = this.at(Math.min(position, this.end) - 1) ?? this.at(this.begin);
    return event ? event.t : 0;
  }

  /** Position of the first event with sequence `seq`, or -1. */
  positionOf(seq) {
    return this.byCause.get(seq) ?? -1;
  }

  /** The first position whose events before it are all at or before time `t`. */
  positionAtTime(t) {
    let low = this.begin;
    let high = this.end;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at(middle).t <= t) low = middle + 1;
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
      if (earlier < this.begin || event.cause >= event.seq) break;
      found.push(earlier);
      event = this.at(earlier);
    }
    return found;
  }
}
