/**
 * The part of a run that was before this page looked: asked for piece by piece, newest first.
 *
 * The server keeps the state every few seconds (a keyframe). One answer is a keyframe and the events
 * behind it; what is known already is cut off, the rest goes before everything else in the history
 * and in the story. Where more happened between two keyframes than one answer carries, it is asked for
 * page by page: `whole` is false, and the next page is what stands behind `last`. What is not loaded is told all the
 * same: minutes of heavy load are messages alone, and what led to them is long before.
 *
 *     keyframe 40   events 41 ... 97 | 98 ...           asked for 97, the history begins at 98
 */
import { SNAPSHOT, eventOf } from "../model/reduce.js";

const QUIETLY = 30_000; // events that are loaded without anybody asking for them
const MOST_PIECES = 400;

export class Past {
  /** `ask({what: "history", seq})` answers {ok, seq, t, snap, ev, last}. */
  constructor(history, story, ask) {
    Object.assign(this, { history, story, ask });
    this.onchange = () => {};
    this.reset();
  }

  reset() {
    this.run = (this.run ?? 0) + 1; // answers for another run are not taken
    this.complete = false;
    this.loading = null;
    this.floor = Infinity; // sequence of the oldest keyframe that came
  }

  /** Sequence of the oldest event that the history holds; a snapshot stands for all events up to its own. */
  get first() {
    const { history } = this;
    const event = history.at(history.begin);
    if (!event) return null;
    return event.code === SNAPSHOT ? event.seq + 1 : event.seq;
  }

  get begin() {
    return this.history.at(this.history.begin)?.t ?? 0;
  }

  /** Load until `enough()`, or until there is nothing before. One loader at a time. */
  async reach(enough) {
    while (this.loading) await this.loading;
    const { run } = this;
    for (let piece = 0; piece < MOST_PIECES && run === this.run && !this.complete && !this.history.full && !enough(); piece += 1) {
      this.loading = this.#piece(run);
      this.onchange();
      const lost = await this.loading;
      if (run === this.run) this.loading = null; // another run may be loaded by now
      if (lost) break;
    }
    this.onchange();
  }

  /** At least one event before the oldest one. */
  more() {
    const { begin } = this.history;
    return this.reach(() => this.history.begin < begin);
  }

  toTime(t) {
    return this.reach(() => this.begin <= t);
  }

  toSeq(seq) {
    return this.reach(() => this.first !== null && this.first <= seq);
  }

  /** What a visitor gets without asking: the last minutes, or all of a short run; of a longer one what is told of the time before. */
  async quietly() {
    const { run } = this;
    await this.reach(() => this.history.end - this.history.begin > QUIETLY);
    if (this.complete || this.first === null || run !== this.run) return;
    const found = await this.ask({ what: "story", seq: this.first - 1 });
    if (!found.ok || run !== this.run) return;
    this.story.recall(found.ev.map((row) => eventOf(row, 0)));
    this.onchange();
  }

  /** Answers whether the connection was lost, which says nothing of what is kept: it is asked for again when there is one. */
  async #piece(run) {
    const { first } = this;
    const wanted = first === null ? 0 : Math.min(first, this.floor) - 1;
    if (wanted <= 0) {
      this.complete = true;
      return false;
    }
    const found = await this.ask({ what: "history", seq: wanted });
    if (run !== this.run) return false;
    if (found.lost) return true;
    if (!found.ok || found.seq > wanted) {
      this.complete = true; // nothing is kept from before
      return false;
    }
    const rows = [...found.ev];
    for (let page = found; page.whole === false && page.last < wanted && page.ev.length; ) {
      page = await this.ask({ what: "history", seq: wanted, after: page.last });
      if (run !== this.run) return false;
      if (page.lost) return true;
      if (!page.ok) {
        this.complete = true; // a gap would make every state behind it wrong
        return false;
      }
      for (const row of page.ev) rows.push(row);
    }
    this.floor = found.seq;
    const events = rows.map((row) => eventOf(row, 0)).filter((event) => event.seq < first && event.seq > found.seq);
    if (!events.length) return false; // sequences have holes: the keyframe stands right before what is known
    this.history.prepend(found.snap.state, events);
    this.story.prepend(events, this.history.begin);
    return false;
  }
}
