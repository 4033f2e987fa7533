/**
 * A lesson's run is watched before it is judged: the clock of the page plays the recorded run from stop to stop.
 *
 *     begin() -> a leg is played -> a stop: its caption, the learner goes on -> ... -> the end: over, the verdict
 *
 * Nothing is executed for it. Where the viewer stands follows from what he looks at (`model/watching.js`), so
 * stepping, scrubbing and the time bar work as everywhere.
 */
import { legSpeed, standing } from "../model/watching.js";

const FRAMES = 60; // until the line must have been drawn
const PHONE = "(max-width: 639px)"; // where the page's head would push the stage below its edge
const ABOVE = 4; // pixels

/**
 * The line over the stage gets the focus: the space bar plays, and presses no button that had it before. A line that is
 * not shown yet, or is made anew meanwhile, does not have it then. On a phone it goes to the upper edge: the whole stage shows below it.
 */
function reachLine(frames) {
  if (!globalThis.document) return;
  const line = document.querySelector("[data-watch]");
  line?.focus({ preventScroll: true });
  if (line && matchMedia(PHONE).matches) scrollBy({ top: line.getBoundingClientRect().top - ABOVE });
  if ((!line || document.activeElement !== line) && frames > 0) requestAnimationFrame(() => reachLine(frames - 1));
}

export class Watch {
  constructor(app, desk, reduced = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)")) {
    Object.assign(this, { app, desk, reduced });
    this.ended = null; // the run that is watched: {run, facts, seen}
    this.stops = []; // {position, say, event, t}; position right behind the event
    this.began = 0;
    this.pace = 1; // what the viewer has made of the speed of a leg
    this.leg = 1;
    app.clock.onarrive = () => this.#arrived();
    for (const name of ["go", "skip", "leave", "toVerdict"]) this[name] = this[name].bind(this);
  }

  /** Whether a run is watched, and looked at. */
  get active() {
    return this.ended !== null && this.desk.run === this.ended.run;
  }

  get where() {
    const { clock, history } = this.app;
    return standing(this.stops.map(({ position }) => position), history.end, clock.viewed);
  }

  /** Watch a run that is open: from where its clients start, or from `from` (virtual microseconds). */
  async begin(ended, from = ended.facts.began_us ?? 0) {
    const { app, desk } = this;
    await desk.past.toTime(from);
    if (desk.run !== ended.run) return;
    const stops = (ended.facts.stops ?? []).filter((stop) => stop.t_us >= from);
    this.stops = stops.map((stop) => this.#placed(stop)).filter(Boolean);
    Object.assign(this, { ended, began: from, pace: 1 });
    if (desk.panel) desk.close({ back: false });
    this.reach();
    app.clock.goTime(from);
    app.set({ selected: null });
    if (!this.reduced?.matches) this.go();
  }

  /** Its line over the stage has the focus, and shows. */
  reach() {
    reachLine(FRAMES);
  }

  #placed({ seq, event, say }) {
    const { history } = this.app;
    const place = this.desk.positionOf(seq, event);
    return place === null ? null : { position: place + 1, event: history.at(place), t: history.at(place).t, say };
  }

  /** Play, or go on playing, to the next stop. */
  go() {
    const { clock, history } = this.app;
    const { next } = this.where;
    if (next === null) return;
    const from = clock.live ? history.timeAt(clock.viewed) : clock.t;
    this.leg = legSpeed((next >= history.end ? history.timeAt(history.end) : history.timeAt(next)) - from);
    if (!this.leg || this.reduced?.matches) {
      this.skip();
      return;
    }
    Object.assign(clock, { speed: this.leg * this.pace, until: next, playing: true });
    this.app.set({ selected: null });
  }

  /** The play button: true when it was meant for this. */
  play() {
    if (!this.active || this.app.clock.live) return false;
    if (this.app.clock.playing) this.app.clock.playing = false;
    else this.go();
    return true;
  }

  /** Another speed, for the rest of it. */
  hurry(speed) {
    if (this.active && this.leg) this.pace = speed / this.leg;
  }

  /** Over all that lies between, to what happens next. */
  skip() {
    const { next } = this.where;
    if (next !== null) this.show(next);
  }

  /** Look at a position; that of a stop lights its event. */
  show(position) {
    const { clock } = this.app;
    clock.go(position);
    this.#arrived();
  }

  #arrived() {
    const { app } = this;
    if (!this.active) return;
    const { at, next } = this.where;
    if (at !== null) app.light(this.stops[at].position - 1);
    if (next === null) this.#over();
    app.set({});
  }

  toVerdict() {
    this.app.goLive();
    this.#over();
  }

  /** Everything was seen: the verdict stands beside the end of the run. */
  #over() {
    if (!this.ended.seen) {
      this.desk.lessons.judged(this.ended);
      if (this.desk.panel !== "scenarios") this.desk.show("scenarios");
    }
    this.app.set({ selected: null });
  }

  /** No longer; the run stays what is looked at. */
  leave() {
    if (this.ended) this.desk.lessons.judged(this.ended);
    this.ended = null;
    Object.assign(this.app.clock, { playing: false, until: null });
    this.app.set({});
  }
}
