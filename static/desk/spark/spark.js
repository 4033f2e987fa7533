/**
 * Spark beside the screen: a dialog with replays and sweeps, and rolling figures of the run that is looked at.
 *
 * All work is done by a process of its own behind the server; this page asks how far it is.
 */
import { api } from "../../net/api.js";
import { eventOf } from "../../model/reduce.js";
import { LOSS_CODES, lossIn, momentOf, pick } from "../../model/spark.js";
import { Replay } from "./replay.js";
import { Rolling } from "./rolling.js";
import { Sweep } from "./sweep.js";

const SETUP_EVERY_MS = 1000;
const MOST_EVENTS = 10_000;
export const DIALOG = "spark-dialog";

export class Spark {
  constructor(app, desk) {
    Object.assign(this, { app, desk });
    this.tab = "replay";
    this.setup = null; // GET /spark
    this.copies = {}; // recorded run -> the branch that it is open as
    this.replay = new Replay(app, this);
    this.sweep = new Sweep(app, this);
    this.rolling = new Rolling(app, this);
    for (const name of ["show", "install"]) this[name] = this[name].bind(this);
  }

  /** Open the dialog: at a run, at a scenario, or where it was. */
  async show(tab = this.tab, { run = null, scenario = null } = {}) {
    this.tab = tab;
    if (run) this.replay.choose(run);
    if (scenario) this.sweep.pick(scenario);
    this.app.set({});
    this.app.openDialog(DIALOG);
    this.desk.list();
    this.desk.lessons.load();
    await this.look();
    await Promise.all([this.replay.recall(), this.sweep.recall()]);
  }

  close() {
    this.app.closeDialog(DIALOG);
  }

  /** Whether Spark is there; while it is being installed, again and again. */
  async look() {
    try {
      this.setup = await api("/spark");
    } catch (error) {
      this.setup = { installed: false, missing: error.message, can_install: false, install: null };
    }
    this.app.set({});
    clearTimeout(this.timer);
    if (this.setup.install?.state === "running") this.timer = setTimeout(() => this.look(), SETUP_EVERY_MS);
  }

  async install() {
    try {
      this.setup = await api("/spark/install", {});
    } catch (error) {
      this.app.notice(error.message);
    }
    this.look();
  }

  // -- moments --------------------------------------------------------------------------------
  /** Look at the course of a recorded run: at itself while it is open, else executed again. True when it is there. */
  async lookAt(run) {
    const open = [run, this.copies[run]].find((name) => name && this.desk.view(name));
    if (open) {
      await this.desk.look(open);
      return true;
    }
    const answer = await this.desk.openRun(run);
    if (answer) this.copies[run] = answer.run;
    return answer !== null;
  }

  /** Where a row of an answer leads: the run, at that moment. */
  async goTo(run, query, row) {
    const wanted = momentOf(query, row);
    if (!wanted || this.desk.work || !(await this.lookAt(run))) return;
    this.close();
    if (row.topic !== undefined && row.topic !== null && row.partition !== undefined) this.app.choose(row.topic, row.partition);
    if (wanted.seq !== undefined) await this.desk.goToSeq(wanted.seq, wanted.code);
    else if (wanted.t !== undefined) await this.#goToTime(wanted.t);
    else if (wanted.lost) await this.goToLoss(wanted.lost);
    else this.#land(await this.#search(wanted));
  }

  /** The moment at which an acknowledged record was lost, in the run that is looked at. */
  async goToLoss(place) {
    if (place.topic) this.app.choose(place.topic, place.partition);
    const found = lossIn(await this.#events(LOSS_CODES), place);
    await this.#land(found);
    return found;
  }

  async #land(event) {
    if (event) await this.desk.goToSeq(event.seq, event.code);
    else this.app.notice(this.app.words.t("spark.no_moment"), "news");
  }

  async #goToTime(t) {
    await this.desk.past.toTime(t);
    this.app.clock.goTime(t);
    this.app.set({ selected: null });
  }

  /** The event that a row means, sought page by page to the end of the run. */
  async #search(wanted) {
    let best = null;
    try {
      for await (const events of this.#pages(wanted.codes)) {
        best = pick(events, wanted) ?? best;
        if (best && !wanted.last) return best;
      }
    } catch (error) {
      this.app.notice(error.message);
    }
    return best;
  }

  /** All events of some codes of the run that is looked at. */
  async #events(codes) {
    const found = [];
    try {
      for await (const events of this.#pages(codes)) found.push(...events);
    } catch (error) {
      this.app.notice(error.message);
    }
    return found;
  }

  async *#pages(codes) {
    let since = 0;
    for (let more = true; more;) {
      const page = await api(`/labs/${this.desk.lab}/events?run=${this.desk.run}&since=${since}&limit=${MOST_EVENTS}&codes=${codes.join(",")}`);
      yield page.items.map((row) => eventOf(row, 0));
      more = page.more && page.next > since;
      since = page.next;
    }
  }
}
