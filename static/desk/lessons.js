/**
 * Scenarios: predict, run, look at the moment, try the other setting.
 *
 *     list -> one (its text, a prediction) -> running (a job of the server's) -> done (receipt, verdict)
 *
 * A run is executed by a process of its own; when it has ended it is opened as a branch, so that it can
 * be walked through and forked.
 */
import { api } from "../net/api.js";
import { exportOf, packed, unpacked } from "../model/export.js";

const ASK_EVERY_MS = 350;
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

export class Lessons {
  constructor(app, desk) {
    Object.assign(this, { app, desk });
    this.all = null; // what the server lists
    this.one = null; // {name, title, text, document, yaml, own}
    this.chosen = null; // index of the prediction
    this.job = null;
    this.done = {}; // name -> {facts, run, chosen} of what was run here
    this.error = null;
    for (const name of ["load", "pick", "back", "predict", "run", "cancel", "openRun", "showMoment", "tryOther", "exportYaml", "copyLink"]) this[name] = this[name].bind(this);
  }

  async load() {
    try {
      this.all ??= (await api("/scenarios")).scenarios;
      this.error = null;
    } catch (error) {
      this.error = error.message;
    }
    this.app.set({});
  }

  back() {
    Object.assign(this, { one: null, error: null });
    this.app.set({});
  }

  async pick(name) {
    Object.assign(this, { one: null, error: null, chosen: this.done[name]?.chosen ?? null });
    try {
      this.one = await api(`/scenarios/${name}`);
    } catch (error) {
      this.error = error.message;
    }
    this.app.set({});
  }

  get result() {
    return this.one ? this.done[this.one.name] ?? null : null;
  }

  get running() {
    return this.job !== null && ["queued", "running"].includes(this.job.state);
  }

  /** Whether it can be run now: a prediction comes first where there is one to make. */
  get ready() {
    return this.one !== null && !this.running && (!this.one.document.predict || this.chosen !== null);
  }

  predict(index) {
    this.chosen = index;
    this.app.set({});
  }

  /** Run it as a job, then open what it has left. */
  async run() {
    const { one, chosen } = this;
    try {
      const asked = one.own ? ["/scenarios/run", one.own] : [`/scenarios/${one.name}/run`, {}];
      this.job = await api(...asked);
      this.app.set({});
      while (this.running) {
        await pause(ASK_EVERY_MS);
        this.job = await api(`/jobs/${this.job.id}`);
        this.app.set({});
      }
      if (this.job.state === "done") {
        const facts = await api(`/runs/${this.job.run}`);
        this.done[one.name] = { facts, recorded: this.job.run, run: null, chosen };
        this.job = null;
        await this.openRun();
      } else {
        this.error = this.job.error?.title ?? this.app.words.t(`job.${this.job.state}`);
        this.job = null;
      }
    } catch (error) {
      this.error = error.message;
      this.job = null;
    }
    this.app.set({});
  }

  async cancel() {
    try {
      await api(`/jobs/${this.job.id}`, undefined, "DELETE");
    } catch {
      return;
    }
  }

  /** The branch that the run is open as; opened (again) when it is not. */
  async openRun() {
    const { result } = this;
    if (!result) return false;
    if (!result.run || !this.desk.view(result.run)) {
      const answer = await this.desk.openRun(result.recorded);
      if (!answer) return false;
      result.run = answer.run;
      this.app.clock.goLive();
    } else await this.desk.look(result.run);
    return true;
  }

  /** The moment that mattered. */
  async showMoment() {
    const moment = this.result?.facts.moment;
    if (!moment || !(await this.openRun())) return;
    const topic = this.one.document.topics?.[0]?.name;
    if (topic) this.app.choose(topic, this.one.document.moment?.where?.partition ?? "0");
    await this.desk.goToSeq(moment.seq);
  }

  /** Fork right before the step that the scenario names, with its other steps, and let it go on. */
  async tryOther() {
    const { one, result } = this;
    const { fork } = one.document;
    const step = result?.facts.steps?.[fork.before ?? 0];
    if (!step || !(await this.openRun())) return;
    const question = { what: "fork", seq: step.seq - 1, t: step.t_us, steps: fork.steps, began_us: result.facts.began_us ?? 0 };
    const answer = await this.desk.busy("fork.making", { t: step.t_us }, question);
    if (!answer) return;
    result.other = answer.run;
    await this.desk.look(answer.run);
    await this.desk.list();
    await this.app.command({ do: "time", speed: "play" });
  }

  // -- what I just did ------------------------------------------------------------------------
  /** The commands of the run that is looked at, as a document of the scenario grammar. */
  async document() {
    const { run, lab } = this.desk;
    await this.desk.list();
    const facts = await api(`/runs/${run}`);
    const found = await api(`/labs/${lab}/events?run=${run}&since=0&limit=10000&codes=command`);
    return exportOf(facts, found.events, this.app.clock.cluster.t);
  }

  async exportYaml() {
    await this.#guarded(async () => {
      const { yaml, name } = await this.document();
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([yaml], { type: "application/yaml" }));
      link.download = `${name}.yaml`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }

  async copyLink(button) {
    await this.#guarded(async () => {
      const { yaml } = await this.document();
      const link = `${location.origin}/#scenario=${await packed(yaml)}`;
      this.link = link;
      this.app.set({});
      await this.app.copy(link, button, "export.link");
    });
  }

  async #guarded(work) {
    try {
      await work();
    } catch (error) {
      this.app.notice(this.app.words.t("refused", { error: error.message }));
    }
  }

  /** A page that was opened with a link: check what it holds and offer to run it. */
  async visit(hash) {
    const text = /^#scenario=(.+)$/.exec(hash)?.[1];
    if (!text) return;
    this.desk.show("scenarios");
    try {
      const yaml = await unpacked(text);
      const found = await api("/scenarios/validate", { yaml });
      this.one = { ...found, name: found.scenario, document: found.document ?? {}, yaml, own: { yaml } };
    } catch (error) {
      this.error = this.app.words.t("link.damaged", { error: error.code ? this.app.words.t(error.code) : error.message });
    }
    this.app.set({});
  }
}
