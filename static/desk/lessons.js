/**
 * Scenarios: predict, run, look at the moment, try the other setting.
 *
 *     list -> one (its text, a prediction) -> running (a job of the server's) -> done (receipt, verdict)
 *
 * A run is executed by a process of its own; when it has ended it is opened as a branch, so that it can
 * be walked through and forked.
 */
import { api } from "../net/api.js";

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
    this.refused = null; // why the link that the page was opened with is none
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
    Object.assign(this, { one: null, error: null, refused: null, chosen: this.done[name]?.chosen ?? null });
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
    await this.desk.goToSeq(moment.seq, this.one.document.moment.event);
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
  /** The commands of the run that is looked at: {yaml, link, name}, or null. */
  async #export() {
    const answer = await this.desk.ask({ what: "export", name: this.desk.run });
    if (!answer.ok) this.app.notice(this.app.words.t("refused", { error: answer.code ? this.app.words.t(answer.code) : answer.error ?? "?" }));
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

  async copyLink(button) {
    const found = await this.#export();
    if (!found) return;
    this.link = `${location.origin}/#scenario=${found.link}`;
    this.app.set({});
    await this.app.copy(this.link, button, "export.link").catch(() => {}); // without a clipboard it can be taken from the field
  }

  /** A page that was opened with a link: check what it holds and offer to run it. */
  async visit(hash) {
    const link = /^#scenario=(.+)$/.exec(hash)?.[1];
    if (!link) return;
    this.desk.show("scenarios");
    const found = await this.desk.ask({ what: "receive", link });
    if (found.ok) this.one = { ...found, own: { document: found.document } };
    else this.refused = found;
    this.app.set({});
  }
}
