/**
 * Two times that are told apart: the cluster's and the viewer's.
 *
 *     live      the view follows the newest event; play, pause, step and speed go to the cluster
 *     rewound   the view stands at a position of the history; play, pause, step and speed are the
 *               viewer's own, and the cluster goes on (or stands) meanwhile
 *
 * The clock holds no timer: `tick(wall)` is called once in each animation frame.
 */
import { SILENT } from "../model/progress.js";
import { SNAPSHOT } from "../model/reduce.js";

/** Positions that nobody steps to. */
const skipped = (code) => code === SNAPSHOT || SILENT.has(code);

export class Clock {
  constructor(history) {
    this.history = history;
    this.position = null; // null = live
    this.playing = false; // replaying a rewound view
    this.speed = 1; // of the replay
    this.until = null; // the position at which a replay stands still
    this.onarrive = () => {};
    this.t = 0; // viewed virtual time while replaying
    this.cluster = { t: 0, speed: 1, paused: false, over: [], wall: 0 };
    this.wall = 0;
  }

  get live() {
    return this.position === null;
  }

  /** Where the view stands. */
  get viewed() {
    return this.position ?? this.history.end;
  }

  get state() {
    return this.history.stateAt(this.viewed);
  }

  /** The viewed virtual time in microseconds. */
  get viewedTime() {
    return this.live ? this.clusterTime() : this.t;
  }

  /** The cluster's time now: the last one heard of, carried on for at most a second and a half. */
  clusterTime() {
    const { t, speed, paused, wall } = this.cluster;
    if (paused || !wall) return t;
    return t + Math.min(1500, Math.max(0, this.wall - wall)) * 1000 * speed;
  }

  /** News of the cluster's time. */
  heard(facts, wall) {
    this.wall = Math.max(this.wall, wall);
    const known = Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
    const before = this.clusterTime();
    this.cluster = { ...this.cluster, ...known, wall };
    // An estimate that ran ahead is not taken back by a few milliseconds: time on the screen never jumps back.
    if (this.cluster.t < before && before - this.cluster.t < 1_500_000 && !this.cluster.paused) this.cluster.t = before;
  }

  goLive() {
    this.position = null;
    this.history.pinned = Infinity;
    this.playing = false;
    this.until = null;
  }

  /** Look at a position; beyond the edge is live. */
  go(position) {
    const { begin, end } = this.history;
    if (position >= end) {
      this.goLive();
      return;
    }
    this.position = Math.max(begin, position);
    this.history.pinned = this.position;
    this.t = this.history.timeAt(this.position);
    this.playing = false;
    this.until = null;
  }

  /** One event back or on. */
  step(by) {
    const { history } = this;
    let position = this.viewed + by;
    // A snapshot in the middle of what was loaded changes nothing that could be seen; figures are no events.
    while (position > history.begin + 1 && position < history.end && skipped(history.at(position - 1).code)) position += by;
    this.go(position);
  }

  /** To the next or last event for which `wanted(event)` holds; the view stands just after it. */
  stepTo(by, wanted) {
    let position = this.viewed + by;
    while (position > this.history.begin && position < this.history.end) {
      const event = this.history.at(position - 1);
      if (wanted(event) && (event.code !== SNAPSHOT || position === this.history.begin + 1)) break;
      position += by;
    }
    this.go(position);
  }

  /** Look at a virtual time. */
  goTime(t) {
    this.go(this.history.positionAtTime(t));
    if (!this.live) this.t = t;
  }

  togglePlay() {
    this.playing = !this.playing;
  }

  /** Move a replay on; answers whether the view has moved. */
  tick(wall) {
    const passed = this.wall ? Math.min(250, wall - this.wall) : 0;
    this.wall = wall;
    if (this.live || !this.playing) return false;
    this.t += passed * 1000 * this.speed;
    const position = this.history.positionAtTime(this.t);
    if (this.until !== null && position >= this.until) {
      this.go(this.until);
      this.onarrive();
      return true;
    }
    if (position >= this.history.end) {
      this.goLive();
      return true;
    }
    const moved = position !== this.position;
    this.position = Math.max(this.history.begin, position);
    return moved;
  }
}
