/** Replay of one run: which, how far, and the answer that is looked at. */
import { api } from "../../net/api.js";
import { OPEN, Work } from "./work.js";

const home = ({ id }) => `/replays/${id}`;

export class Replay extends Work {
  constructor(app, spark) {
    super(app);
    Object.assign(this, { spark, run: null, chosen: null });
    for (const name of ["choose", "start", "pick"]) this[name] = this[name].bind(this);
  }

  /** The run that is asked about, the one that is looked at without a choice. */
  get asked() {
    return this.run ?? this.spark.desk.run;
  }

  choose(run) {
    if (this.running || (run === this.asked && this.found?.run === run)) return;
    Object.assign(this, { run, found: null, error: null });
    this.app.set({});
    this.recall();
  }

  /** What this server has found of the run before, or is at. */
  async recall() {
    const { asked } = this;
    if (this.running || this.found || !asked) return;
    try {
      const known = (await api("/replays?limit=500")).items.find((one) => one.run === asked && [...OPEN, "done"].includes(one.state));
      if (!known) return;
      const found = await api(home(known));
      if (asked !== this.asked || this.found || this.running) return; // another one was chosen or begun meanwhile
      Object.assign(this, { found, run: asked });
      await this.follow(home);
    } catch {
      this.found = null; // a server that knows no replays
    }
    this.app.set({});
  }

  start() {
    Object.assign(this, { chosen: null, run: this.asked });
    return this.begin(`/runs/${this.asked}/replay`, {}, home);
  }

  get answers() {
    return this.found?.answers ?? [];
  }

  /** The answer that is looked at: the chosen one, else the first. */
  get answer() {
    return this.answers.find((one) => one.query === this.chosen) ?? this.answers[0] ?? null;
  }

  pick(query) {
    this.chosen = query;
    this.app.set({});
  }

  /** The moment that a row of the answer leads to. */
  goTo(row) {
    return this.spark.goTo(this.found.run, this.answer.query, row);
  }
}
