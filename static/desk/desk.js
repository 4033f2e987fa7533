/**
 * What lies beside the live picture: runs and their branches, the past, scenarios, receipts.
 *
 * One drawer shows one of them (`panel`); a fork and a comparison are dialogs. Views read this object
 * and the ones it owns; each method that changes something asks the app for a new picture.
 */
import { api } from "../net/api.js";
import { Past } from "../time/past.js";
import { followAddresses } from "./address.js";
import { Beside } from "./beside.js";
import { Eras } from "./eras.js";
import { Forks } from "./forks.js";
import { Lessons } from "./lessons.js";
import { Packs } from "./packs.js";
import { Receipts } from "./receipts.js";
import { Spark } from "./spark/spark.js";
import { Tour } from "./tour.js";
import { Watch } from "./watch.js";

const LIST_EVERY_MS = 4000;

export class Desk {
  constructor(app) {
    this.app = app;
    this.panel = null;
    this.run = null; // the run that is looked at
    this.runs = { open: [], items: [], total: 0 };
    this.asked = this.heard = 0; // the last question for these, and the one that they answer
    this.work = null; // {key, params, share}: what is being made ready
    this.lab = "lab";
    this.hosted = false;
    this.past = new Past(app.history, app.story, (question) => this.ask(question));
    this.past.onchange = () => app.set({});
    this.eras = new Eras(app);
    this.forks = new Forks(app, this);
    this.lessons = new Lessons(app, this);
    this.beside = new Beside(app);
    this.packs = new Packs(app, this);
    this.watch = new Watch(app, this);
    this.receipts = new Receipts(app, this);
    this.spark = new Spark(app, this);
    this.tour = new Tour(app, this);
    this.ready = new Promise((resolve) => { this.connected = resolve; });
    for (const name of ["show", "close", "look", "openRun", "closeRun"]) this[name] = this[name].bind(this);
  }

  /** The wire is there. */
  open(socket, feed) {
    this.socket = socket;
    this.run = feed.run;
    const before = socket.onstate;
    socket.onstate = () => {
      before();
      if (socket.open) this.#greet();
    };
    if (socket.open) this.#greet();
  }

  async #greet() {
    try {
      const [lab] = (await api("/labs")).items;
      this.lab = lab.id;
      this.hosted = Array.isArray(lab.open); // this process has the runs
    } catch {
      // A process that only shows viewers a lab: there is nothing beside the live picture.
    }
    if (!this.greeted) {
      this.greeted = true;
      this.connected();
      this.lessons.visit(location.hash);
      followAddresses(this.app);
      const [wanted, micros] = /^#run=([\w.-]+)(?:\/(\d+))?$/.exec(location.hash)?.slice(1) ?? [];
      if (wanted && wanted !== this.run) await this.openRun(wanted);
      if (micros) await this.goTo(Number(micros));
    }
    this.past.quietly();
    this.list();
  }

  ask(question, progress) {
    return this.socket.ask(question, progress);
  }

  // -- the drawer -----------------------------------------------------------------------------
  show(panel) {
    this.panel = this.panel === panel ? null : panel;
    clearInterval(this.timer);
    if (this.panel) {
      this.opener = document.activeElement;
      this.timer = setInterval(() => this.#refresh(), LIST_EVERY_MS);
      this.#refresh(true);
    }
    this.app.set({});
  }

  /** `back`: what opened the drawer has the focus again. */
  close({ back = true } = {}) {
    if (!this.panel) return false;
    this.show(this.panel);
    if (back) this.opener?.focus();
    return true;
  }

  #refresh(now = false) {
    if (this.panel === "runs") this.list();
    if (this.panel === "receipt" && (now || this.receipts.stale)) this.receipts.load();
    if (this.panel === "scenarios" && now) this.lessons.load();
  }

  // -- runs -----------------------------------------------------------------------------------
  async list() {
    if (!this.hosted) return;
    this.asked += 1;
    const { asked } = this;
    try {
      const found = await api(`/labs/${this.lab}/runs?limit=40`);
      if (asked < this.heard) return; // a later question was answered before
      this.heard = asked;
      this.runs = found;
    } catch {
      return;
    }
    this.app.set({});
  }

  /** What is known of an open run, the one that is looked at without a name. */
  view(run = this.run) {
    return this.runs.open.find((one) => one.run === run) ?? null;
  }

  get live() {
    return this.runs.open.find((one) => one.live)?.run ?? null;
  }

  /** Look at an open run. */
  look(run) {
    if (run === this.run) return Promise.resolve();
    this.app.set({ selected: null, spot: null, menu: null });
    if (this.app.record) this.app.set({ record: null, ledgerView: "batches" }); // another run has other records
    return new Promise((resolve) => {
      this.arriving = resolve;
      this.socket.look(run);
    });
  }

  /** The first snapshot of a run is there. */
  arrived(run) {
    const before = this.run;
    this.run = run;
    this.past.reset();
    if (this.socket === undefined || (before === null)) return;
    this.receipts.forget();
    const live = run === this.live;
    history.replaceState(null, "", live ? location.pathname : `#run=${run}`);
    this.past.quietly();
    this.list();
    if (!live) this.receipts.load(); // what became of its records is drawn on them
    this.arriving?.();
    this.app.set({});
  }

  /** Something that takes a while, with its progress; answers the result or null when it was refused. */
  async busy(key, params, question) {
    this.work = { key, params, share: 0 };
    this.app.set({});
    const answer = await this.ask(question, (share) => {
      if (this.work) this.work.share = share;
      this.app.moved = true;
    });
    this.work = null;
    this.app.set({});
    if (answer.ok) return answer;
    this.app.notice(answer.lost ? this.app.words.t("refused.lost") : this.app.refusal(answer));
    return null;
  }

  /** A run of the lab's directory; one that is not open is executed again. */
  async openRun(name) {
    const answer = await this.busy("runs.opening", { run: name }, { what: "open", name });
    if (answer) await this.look(answer.run);
    return answer;
  }

  /** A moment of the run that is looked at. */
  async goTo(micros) {
    await this.past.toTime(micros);
    this.app.clock.goTime(micros);
    this.app.set({});
  }

  async closeRun(name) {
    if (name === this.run && this.live) await this.look(this.live);
    await this.busy("runs.closing", { run: name }, { what: "close", name });
    await this.list();
  }

  // -- moments --------------------------------------------------------------------------------
  /** Stepping back from the first event that is there: load what was before, then do it. True when it waits. */
  before(act) {
    const { clock } = this.app;
    if (this.past.complete || clock.viewed > clock.history.begin + 1) return false;
    this.past.more().then(() => (clock.history.begin < clock.viewed - 1 || this.past.complete) && act());
    return true;
  }

  /** The moment right behind event `seq` (of this code, where several have the same number); loads the past as far as it must. */
  async goToSeq(seq, code = null) {
    await this.past.toSeq(seq);
    const { history, clock } = this.app;
    if (history.full && seq < (this.past.first ?? 0)) { // more has happened since than a page can hold
      this.app.notice(this.app.words.t("past.too_far"));
      return;
    }
    const position = this.positionOf(seq, code);
    clock.go(position === null ? history.positionBehind(seq) : position + 1);
    this.app.light(position);
  }

  /** The position of event `seq` (of this code, where several have the same number); null when it is not loaded. */
  positionOf(seq, code = null) {
    const { history } = this.app;
    const first = history.positionOf(seq);
    let position = first;
    while (code !== null && position !== null && history.at(position)?.seq === seq && history.at(position).code !== code) position += 1;
    return position !== null && history.at(position)?.seq !== seq ? first : position;
  }

  /** An item of the story that was told before its event was loaded. */
  async goToItem(position) {
    const item = this.app.story.items.find((one) => one.positions.includes(position));
    if (item) await this.goToSeq(item.first.seq, item.code);
  }
}


