/**
 * One lesson in both generations of Kafka, on one clock: `t` counts from the beginning of the clients, for both at once.
 *
 *     a lesson -> its run with ZooKeeper and its run with KRaft (jobs of the server) -> laid side by side -> a clock that plays
 */
import { api } from "../net/api.js";

const SLOWER = 2; // a second of the cluster takes two: so much can be read
const STILL = 1; // microseconds that lie between an event and the next one at the same time

export class Beside {
  constructor(app) {
    this.app = app;
    this.found = null; // what the server answers: {until_us, runs: [ZooKeeper's, KRaft's]}
    this.title = {};
    this.differs = {}; // why the lesson is another one with KRaft, where it says so
    this.t = 0;
    this.playing = false;
    for (const name of ["seek", "play", "step", "close"]) this[name] = this[name].bind(this);
  }

  /** Lay two runs side by side, and begin where the first thing happens. Raises what the server refuses. */
  async open(runs, title, differs = {}) {
    const found = await api(`/runs/${runs[0]}/beside?other=${runs[1]}`);
    Object.assign(this, { found, title, differs, t: 0, playing: false });
    this.step(1);
    this.app.openDialog("beside-dialog");
    this.app.set({});
  }

  close() {
    this.playing = false;
    this.app.closeDialog("beside-dialog");
  }

  seek(t) {
    this.t = Math.max(0, Math.min(this.found.until_us, t));
    this.app.set({});
  }

  /** To the next moment at which something happens in either of them, or to the one before. */
  step(by) {
    const times = [...new Set(this.found.runs.flatMap((run) => run.events.map(([, t]) => t)))].sort((one, other) => one - other);
    const next = by > 0 ? times.find((t) => t >= this.t + STILL) : times.findLast((t) => t <= this.t - STILL);
    this.playing = false;
    this.seek(next ?? (by > 0 ? this.found.until_us : 0));
  }

  /** Let the clock go on, or stop it. */
  play() {
    this.playing = !this.playing;
    if (this.playing && this.t >= this.found.until_us) this.t = 0;
    let before = performance.now();
    const tick = (now) => {
      if (!this.playing) return;
      this.t += ((now - before) * 1000) / SLOWER;
      before = now;
      if (this.t >= this.found.until_us || !document.getElementById("beside-dialog").open) this.playing = false;
      this.seek(this.t);
      if (this.playing) requestAnimationFrame(tick);
    };
    if (this.playing) requestAnimationFrame(tick);
    this.app.set({});
  }
}
