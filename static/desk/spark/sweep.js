/**
 * A sweep: a scenario, values for some keys, seeds; its table; a cell with its runs; a run opened at the moment of
 * its loss.
 */
import { told } from "../../i18n/format.js";
import { api } from "../../net/api.js";
import { gridOf, seedsIn } from "../../model/spark.js";
import { reveal } from "../../views/reveal.js";
import { Work } from "./work.js";

const home = ({ id }) => `/sweeps/${id}`;
const ASK_EVERY_MS = 350;
const DRAWN_MS = 200; // by then the list is on the screen
const KEPT_OPEN = 3; // runs of sweeps that stay open beside the one that is opened
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

export class Sweep extends Work {
  constructor(app, spark) {
    super(app);
    this.spark = spark;
    this.scenario = "acks-1"; // "" for the text
    this.text = null; // a scenario of one's own, YAML
    this.axes = [{ key: "acks", values: "0, 1, all" }, { key: "min.insync.replicas", values: "1, 2, 3" }];
    this.seeds = "1..10";
    this.figure = "lost";
    this.cell = null; // name of the cell whose runs are listed
    this.runs = null; // {runs, total} of that cell
    this.opening = null; // {cell, seed, job} while a run is executed again
    this.opened = [];
    for (const name of ["start", "write", "edit", "editAxis", "addAxis", "dropAxis", "show", "pickCell", "open"]) this[name] = this[name].bind(this);
  }

  // -- the form -------------------------------------------------------------------------------
  pick(scenario) {
    this.edit({ scenario });
  }

  /** A scenario of one's own: begins with the text of the one that was chosen. */
  async write() {
    const begin = this.scenario;
    this.edit({ scenario: "" });
    if (this.text !== null || !begin) return;
    this.edit({ text: "" });
    try {
      const { yaml } = await api(`/scenarios/${begin}`);
      if (this.text === "") this.edit({ text: yaml });
    } catch (error) {
      this.edit({ error: error.message });
    }
  }

  edit(fields) {
    Object.assign(this, fields);
    this.app.set({});
  }

  editAxis(index, fields) {
    this.edit({ axes: this.axes.map((axis, at) => (at === index ? { ...axis, ...fields } : axis)) });
  }

  addAxis() {
    this.edit({ axes: [...this.axes, { key: "", values: "" }] });
  }

  dropAxis(index) {
    this.edit({ axes: this.axes.filter((_, at) => at !== index) });
  }

  get grid() {
    return gridOf(this.axes);
  }

  /** {cells, seeds, runs}: how much work it is; seeds null when they are not written as seeds. */
  get size() {
    const cells = Object.values(this.grid).reduce((product, values) => product * values.length, 1);
    const seeds = seedsIn(this.seeds);
    return { cells, seeds, runs: cells * (seeds ?? 0) };
  }

  // -- the work -------------------------------------------------------------------------------
  start() {
    Object.assign(this, { cell: null, runs: null });
    const what = this.scenario ? { scenario: this.scenario } : { yaml: this.text ?? "" };
    return this.begin("/sweeps", { ...what, grid: this.grid, seeds: this.seeds.replaceAll(" ", "") }, home);
  }

  /** The newest sweep of this server. */
  async recall() {
    if (this.found) return;
    try {
      const [newest] = (await api("/sweeps?limit=1")).items;
      if (!newest || this.found) return;
      this.found = newest;
      if (!newest.own) this.scenario = newest.scenario;
      this.axes = Object.entries(newest.keys).map(([key, values]) => ({ key, values: values.join(", ") }));
      this.seeds = newest.seeds_written;
      await this.follow(home);
    } catch {
      this.found = null;
    }
    this.app.set({});
  }

  show(figure) {
    this.edit({ figure });
  }

  async pickCell(cell) {
    this.edit({ cell, runs: null });
    await this.list();
    setTimeout(() => {
      const runs = document.querySelector(".sweep-runs");
      if (runs) reveal(runs);
    }, DRAWN_MS);
  }

  /** The runs of the cell that is looked at. */
  async list() {
    const { cell } = this;
    try {
      const runs = await api(`${home(this.found)}/runs?cell=${encodeURIComponent(cell)}&limit=200`);
      if (cell === this.cell) this.edit({ runs });
    } catch (error) {
      this.edit({ error: error.message });
    }
  }

  // -- a run ----------------------------------------------------------------------------------
  /** Execute a run again, open it, go to the moment at which it lost a record (or to the scenario's moment). */
  async open({ cell, seed }) {
    if (this.opening) return;
    this.edit({ opening: { cell, seed, job: null }, error: null });
    try {
      const facts = await this.#executed(cell, seed);
      this.edit({ opening: null });
      await this.#makeRoom();
      if (!(await this.spark.lookAt(facts.run))) return;
      this.spark.close();
      this.opened.push(this.spark.desk.run);
      const lost = facts.receipt.places?.lost?.[0];
      if (lost) await this.spark.goToLoss(lost);
      else if (facts.moment) await this.spark.desk.goToSeq(facts.moment.seq);
    } catch (error) {
      this.edit({ error: error.message, opening: null });
    }
  }

  async #executed(cell, seed) {
    let job = await api(`${home(this.found)}/runs`, { cell, seed });
    while (["queued", "running"].includes(job.state)) {
      this.edit({ opening: { cell, seed, job } });
      await pause(ASK_EVERY_MS);
      job = await api(`/jobs/${job.id}`);
    }
    if (job.state !== "done") throw new Error(job.error?.problem ? told(job.error.problem, this.app.words.words) : this.app.words.t(`job.${job.state}`));
    return api(`/runs/${job.run}`);
  }

  /** Only so many runs can be open: of those that were opened here the oldest is closed. */
  async #makeRoom() {
    const { desk } = this.spark;
    this.opened = this.opened.filter((run) => desk.view(run));
    while (this.opened.length >= KEPT_OPEN) await desk.closeRun(this.opened.shift());
  }
}
