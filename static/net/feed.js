/**
 * Messages of the wire -> history and story. No DOM, no socket.
 *
 *     snap   replaces the state; when events were missed the history gets a snapshot as an event
 *     d      continues after `from`; from > last is a gap: nothing is applied, a resync is asked for
 *     hb     the cluster's time
 */
import { eventOf, snapshotEvent } from "../model/reduce.js";

const STORIES = 12; // as many runs as a lab keeps open

export class Feed {
  constructor(history, story, clock) {
    this.history = history;
    this.story = story;
    this.clock = clock;
    this.run = "";
    this.epoch = 0;
    this.last = 0;
    this.gaps = 0;
    this.left = new Map(); // run -> what was told of it when another one was looked at: nothing else may tell it when it is back
    this.resync = () => {};
    this.synced = () => {};
    this.onevents = () => {};
    this.onrun = () => {}; // another run, or another epoch of it
  }

  /** What a hello tells the server. */
  known() {
    return { run: this.run, epoch: this.epoch, last: this.last };
  }

  /** Apply messages in order; answers whether the state has changed, or something is told: polling alone changes nothing. */
  apply(messages, wall) {
    let changed = false;
    for (const message of messages) {
      if (message.k === "snap") changed = this.#snap(message, wall) || changed;
      else if (message.k === "d") changed = this.#delta(message, wall) || changed;
      else if (message.k === "hb") changed = this.#beat(message, wall) || changed;
    }
    return changed;
  }

  /** Answers whether the cluster runs in another way than before. */
  #beat({ t, speed, paused, over }, wall) {
    const before = this.clock.cluster;
    this.clock.heard({ t, speed, paused, over }, wall);
    return ["speed", "paused"].some((name) => before[name] !== this.clock.cluster[name]) || before.over.join() !== this.clock.cluster.over.join();
  }

  /** Another run is told; what was told of this one is kept for when it is back, as told before it was loaded. */
  #turnTo(run) {
    this.left.delete(this.run);
    this.left.set(this.run, this.story.asTold());
    if (this.left.size > STORIES) this.left.delete(this.left.keys().next().value);
    this.story.begin(this.left.get(run) ?? []);
  }

  #snap({ run, epoch, seq, t, state }, wall) {
    let other = false;
    if (run !== this.run || epoch !== this.epoch) {
      this.history.reset();
      if (this.run) this.#turnTo(run); // what was told before the first snapshot stays
      this.clock.goLive();
      Object.assign(this, { run, epoch });
      other = true;
    } else if (seq > this.last + 1) this.gaps += 1;
    this.last = seq;
    this.history.append([snapshotEvent(seq, t, state)]);
    this.clock.heard({ t, speed: state.time?.speed, paused: state.time?.paused, over: state.time?.over }, wall);
    this.synced();
    if (other) this.onrun(run);
    return true;
  }

  #delta({ run, epoch, from, to, t0, t1, ev }, wall) {
    if (run !== this.run || epoch !== this.epoch) {
      this.resync(0);
      return false;
    }
    if (from > this.last) {
      this.resync(this.last);
      return false;
    }
    this.synced();
    this.clock.heard({ t: t1 }, wall);
    if (to <= this.last) return false;
    const events = [];
    for (const row of ev) if (row[0] > this.last) events.push(eventOf(row, t0));
    this.last = to;
    if (!events.length) return false;
    const first = this.history.end;
    const before = this.history.live;
    this.history.append(events);
    const told = events.filter((event, index) => this.story.add(event, first + index));
    this.onevents(events, first);
    return this.history.live !== before || told.length > 0;
  }
}
