/**
 * Scenarios: choose a setting, predict, run, look at the moment, try the other course, compare.
 *
 *     list -> one (its text, its variants, a prediction) -> running (a job of the server's) -> watched (`Watch`)
 *                                  -> receipt, verdict -> the fork of that run (a job, too) -> compared
 *
 * A run is executed by a process of its own; when it has ended it is opened as a branch, so that it can
 * be walked through and forked. Its other course is executed in the same way, and opened where the two part.
 */
import { told } from "../i18n/format.js";
import { sentence } from "../i18n/problems.js";
import { ofSetting } from "../model/setting.js";
import { prediction } from "../model/watching.js";
import { api, base, ofServer } from "../net/api.js";
import { Results } from "./results.js";

const ASK_EVERY_MS = 250;
const LARGEST = 1_000_000;
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

export class Lessons {
  constructor(app, desk) {
    Object.assign(this, { app, desk });
    this.all = null; // what the server lists, and under which subjects: [{subject, title, scenarios: [name]}]
    this.subjects = [];
    this.one = null; // {name, title, text, document, yaml, own}
    this.variant = ""; // the setting that it is run with
    this.generation = ""; // of Kafka, where it was chosen: "zookeeper", "kraft"; else that of the file
    this.era = ""; // whose defaults, where it was chosen: "2.x", "3.9", "4.3"
    this.chosen = null; // the prediction: index of a choice, or the number, or the broker (-1: nobody)
    this.job = null;
    this.pairs = {}; // "name/variant" -> {generation: its run}, where both were looked at side by side
    this.done = {}; // "name/generation/variant/era" -> {facts, recorded, run, chosen, seen, other: {facts, recorded, run}}
    this.results = new Results(globalThis.localStorage, globalThis.document?.body?.dataset.student ? ofServer : null); // of this and earlier visits
    this.last = null; // the lesson that was seen last
    this.wanted = ""; // what is searched for
    this.error = null;
    this.refused = null; // why a link or a file is no scenario
    for (const name of [
      "load", "pick", "back", "choose", "chooseGeneration", "chooseEra", "predict", "run", "cancel", "openRun", "showMoment", "tryOther",
      "showParting", "showVerdict", "compare", "both", "exportYaml", "copyLink", "shareRun", "readFile", "forget"])
      this[name] = this[name].bind(this);
  }

  async load() {
    try {
      if (!this.all) {
        await this.results.load();
        ({ items: this.all, subjects: this.subjects } = await api("/scenarios"));
      }
      this.error = null;
    } catch (error) {
      this.error = error.message;
    }
    this.app.set({});
  }

  back() {
    Object.assign(this, { one: null, error: null, link: null });
    this.app.set({});
  }

  async pick(name) {
    Object.assign(this, { one: null, error: null, refused: null, link: null });
    try {
      this.#take(await api(`/scenarios/${name}`));
    } catch (error) {
      this.error = error.message;
    }
    this.app.set({});
  }

  #take(one) {
    this.one = one;
    this.generation = "";
    this.era = "";
    this.choose(one.variant || this.variants[0]?.name || "");
  }

  /** The settings that it can be run with: [{name, title}]. */
  get variants() {
    return Object.entries(this.one?.document.variants ?? {}).map(([name, one]) => ({ name, title: one?.title ?? {} }));
  }

  /** Another setting is another question. */
  choose(variant) {
    this.variant = variant;
    this.chosen = this.result?.chosen ?? null;
    Object.assign(this, { error: null, link: null });
    this.app.set({});
  }

  /** In another generation of Kafka text, settings and question may be others; an answer is not asked for twice. */
  async chooseGeneration(controller) {
    const { one, variant } = this;
    try {
      const found = await (one.own ? api("/scenarios/validate", { ...one.own, controller }) : api(`/scenarios/${one.name}?controller=${controller}`));
      if (this.one !== one) return;
      this.one = { ...one, ...found, generations: one.generations };
      this.generation = controller;
      this.era = "";
      this.choose(this.variants.some(({ name }) => name === variant) ? variant : this.variants[0]?.name ?? "");
    } catch (error) {
      this.error = error.message;
      this.app.set({});
    }
  }

  /** Defaults of another time, for what the lesson does not set itself. */
  chooseEra(era) {
    this.era = era;
    this.choose(this.variant);
  }

  get #key() {
    return `${this.one.name}/${this.one.generation}/${this.variant}/${this.era}`;
  }

  get result() {
    return this.one ? this.done[this.#key] ?? null : null;
  }

  /** A run was seen to its end: its verdict may be shown, and the lesson is done. */
  judged(ended) {
    ended.seen = true;
    const name = ended.facts.scenario?.scenario;
    if (!this.all?.some((one) => one.name === name)) return;
    this.last = name;
    this.#keep(this.results.take(name, prediction(ended)?.grade));
  }

  /** The results are shown as they are here; where the server has not kept them, that is said. */
  #keep(kept) {
    kept.catch((error) => this.app.notice(error.message)).then(() => this.app.set({}));
  }

  /** Narrow the list to what has these words. */
  search(wanted) {
    this.wanted = wanted;
    this.app.set({});
  }

  /** Results of all visits. */
  forget() {
    this.#keep(this.results.forget());
    this.last = null;
    this.app.set({});
  }

  get running() {
    return this.job !== null && ["queued", "running"].includes(this.job.state);
  }

  /** Whether it can be run now: a prediction comes first where there is one to make. */
  get ready() {
    return this.one !== null && !this.running && (!ofSetting(this.one, this.variant).predict || this.chosen !== null);
  }

  predict(index) {
    this.chosen = index;
    this.app.set({});
  }

  /** Run it as a job, then open what it has left. */
  async run() {
    const { one, chosen, variant, generation, era } = this;
    const key = this.#key;
    const options = { ...(variant && { variant }), ...(generation && { controller: generation }), ...(era && { era }) };
    const asked = one.own ? ["/scenarios/run", { ...one.own, ...options }] : [`/scenarios/${one.name}/run`, options];
    const found = await this.#work(...asked);
    if (found) {
      this.done[key] = { ...found, run: null, chosen, other: null, seen: !found.facts.stops?.length };
      if (this.done[key].seen) {
        this.judged(this.done[key]);
        await this.openRun();
      } else await this.watchRun();
    }
    this.app.set({});
  }

  /** A job until it has ended: {recorded, facts} of the run that it leaves, or null when it failed. */
  async #work(path, body) {
    Object.assign(this, { error: null, link: null });
    let found = null;
    try {
      this.job = await api(path, body);
      this.app.set({});
      while (this.running) {
        await pause(ASK_EVERY_MS);
        this.job = await api(`/jobs/${this.job.id}`);
        this.app.moved = true;
      }
      if (this.job.state === "done") found = { recorded: this.job.run, facts: await api(`/runs/${this.job.run}`) };
      else this.error = this.job.error?.problem ? sentence(told(this.job.error.problem, this.app.words.words)) : this.app.words.t(`job.${this.job.state}`);
    } catch (error) {
      this.error = error.message;
    }
    this.job = null;
    return found;
  }

  async cancel() {
    try {
      await api(`/jobs/${this.job.id}`, undefined, "DELETE");
    } catch {
      return;
    }
  }

  /** The moment of a run of a lesson, or of one of its courses, that proves an answer. */
  async prove(name, course, micros) {
    if (this.desk.panel !== "scenarios") this.desk.show("scenarios");
    await this.pick(name);
    if (!this.one) return;
    const found = await this.#work(`/scenarios/${name}/run`, course ? { variant: course } : {});
    const ended = found && { ...found, run: null };
    if (ended && (await this.#open(ended))) {
      this.#chooseTopic(found.facts.scenario);
      await this.desk.goTo(micros);
      this.desk.close();
    }
    this.app.set({});
  }

  // -- branches -------------------------------------------------------------------------------
  /** The branch that a finished run is open as; opened (again) when it is not. True when it is looked at. */
  async #open(ended) {
    if (!ended) return false;
    if (!ended.run || !this.desk.view(ended.run)) {
      await this.#makeRoom();
      const answer = await this.desk.openRun(ended.recorded);
      if (!answer) return false;
      ended.run = answer.run;
      this.app.clock.goLive();
      await this.desk.list();
    } else await this.desk.look(ended.run);
    return true;
  }

  /** Branches of other lessons are closed: a lab keeps a dozen open, and any of them can be opened again. */
  async #makeRoom() {
    const mine = this.one ? this.#key : null;
    for (const [key, one] of Object.entries(this.done)) {
      if (key === mine) continue;
      for (const ended of [one, one.other]) if (ended?.run && this.desk.view(ended.run)) await this.desk.closeRun(ended.run);
    }
  }

  openRun() {
    return this.#open(this.result);
  }

  /** Play a run, the lesson's own or its other course (from where it parts), from stop to stop. */
  async watchRun(ended = this.result) {
    if (!(await this.#open(ended))) return;
    this.#chooseTopic(ended.facts.scenario);
    await this.desk.watch.begin(ended, ended.facts.forked_at_us);
  }

  /** What came out, without watching. */
  async showVerdict() {
    const { result } = this;
    this.judged(result);
    if (this.desk.watch.active) this.desk.watch.leave();
    await this.openRun();
    this.app.set({});
  }

  #chooseTopic(document) {
    const topic = document.topics?.[0]?.name;
    if (topic) this.app.choose(topic, document.moment?.where?.partition ?? "0");
  }

  /** The moment that mattered. */
  async showMoment() {
    const { facts } = this.result ?? {};
    if (!facts?.moment || !(await this.openRun())) return;
    this.#chooseTopic(facts.scenario);
    await this.desk.goToSeq(facts.moment.seq, facts.scenario.moment.event);
  }

  /** Go on otherwise from where the scenario's fork begins, to the end; then look at the point where the two part. */
  async tryOther() {
    const { result } = this;
    if (!result) return;
    const found = await this.#work(`/runs/${result.recorded}/fork`, {});
    if (found) {
      result.other = { ...found, run: null };
      await this.showParting();
    }
    this.app.set({});
  }

  /** The other course, at the last event that it has in common with the run. */
  async showParting() {
    const { result } = this;
    if (!result?.other || !(await this.#open(result.other))) return;
    const { facts } = result.other;
    this.#chooseTopic(facts.scenario);
    await this.desk.goToSeq(facts.forked_at_seq);
  }

  /** The run and its other course, side by side, each as it has ended. */
  async compare() {
    const { result } = this;
    if (!(await this.#open(result)) || !(await this.#open(result.other))) return;
    await this.desk.forks.compare(result.other.run, result.run);
  }

  /** The lesson in both generations, on one clock: those that it has not been run in are run now. */
  async both() {
    const { one, variant } = this;
    const pair = (this.pairs[`${one.name}/${variant}`] ??= {});
    for (const controller of Object.keys(one.generations)) {
      pair[controller] ??= this.done[`${one.name}/${controller}/${variant}/`]?.recorded ?? null;
      if (pair[controller] !== null) continue;
      const options = { ...(variant && { variant }), controller };
      const found = await this.#work(...(one.own ? ["/scenarios/run", { ...one.own, ...options }] : [`/scenarios/${one.name}/run`, options]));
      if (!found) return;
      pair[controller] = found.recorded;
    }
    try {
      await this.desk.beside.open(Object.values(pair), one.title, one.generations.kraft);
    } catch (error) {
      this.error = error.message;
      this.app.set({});
    }
  }

  // -- what I just did ------------------------------------------------------------------------
  /** The commands of the run that is looked at: {yaml, link, name}, or null. */
  async #export() {
    const answer = await this.desk.ask({ what: "export", name: this.desk.run });
    if (!answer.ok) this.app.notice(answer.code ? this.app.words.t("refused", { error: this.app.words.t(answer.code) }) : this.app.refusal(answer));
    return answer.ok ? answer : null;
  }

  async exportYaml() {
    const found = await this.#export();
    if (!found) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([found.yaml], { type: "application/yaml" }));
    link.download = `${found.name}.yaml`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  async copyLink() {
    const found = await this.#export();
    if (found) await this.#shared(found.link);
  }

  /** The lesson as it was run, with the setting that was chosen, as a link. */
  async shareRun() {
    try {
      const { link } = await api("/scenarios/link", { document: this.result.facts.scenario });
      await this.#shared(link);
    } catch (error) {
      this.app.notice(error.message);
    }
  }

  async #shared(link) {
    this.link = `${location.origin}${base}/#scenario=${link}`;
    this.app.set({});
    await this.app.copy(this.link); // without a clipboard it can be taken from the field
  }

  // -- a link, a file -------------------------------------------------------------------------
  /** A page that was opened with a link: check what it holds and offer to run it. */
  async visit(hash) {
    const link = /^#scenario=(.+)$/.exec(hash)?.[1];
    if (!link) return;
    this.desk.show("scenarios");
    await this.#receive("/scenarios/link/read", { link }, "link");
  }

  /** A YAML file from this computer. */
  async readFile(file) {
    if (!file) return;
    Object.assign(this, { one: null, refused: null });
    if (file.size > LARGEST) this.refused = { what: "file", file: file.name, error: this.app.words.t("link.large") };
    else await this.#receive("/scenarios/validate", { yaml: await file.text() }, "file", file.name);
    this.app.set({});
  }

  async #receive(path, body, what, file = null) {
    try {
      const found = await api(path, body);
      this.#take({ ...found, document: found.document, own: { document: found.document } });
    } catch (error) {
      const text = error.code ? this.app.words.t(`link.${error.code}`) : error.message;
      this.refused = { what, file, line: error.line, error: text };
    }
    this.app.set({});
  }
}
