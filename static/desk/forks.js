/** Going on from a moment with other settings, and two branches side by side. */
import { commandsOf, difference } from "../model/fork.js";
import { LOUD, Story } from "../model/story.js";
import { eventOf } from "../model/reduce.js";
import { api } from "../net/api.js";

export class Forks {
  constructor(app, desk) {
    Object.assign(this, { app, desk });
    this.moment = null; // {run, seq, t, state, topic}: where the dialog would fork
    this.choices = {};
    this.playOn = true;
    this.compared = null; // {left, right, found, stories} of the comparison that is shown
    this.pair = [null, null];
    for (const name of ["ask", "choose", "begin", "compare", "goTo"]) this[name] = this[name].bind(this);
  }

  get commands() {
    return this.moment ? commandsOf(this.choices, this.moment.state, this.moment.topic) : [];
  }

  /** The moment that is looked at. */
  get here() {
    const { clock, history } = this.app;
    const last = history.seqAt(clock.viewed);
    const seq = history.at(clock.viewed)?.seq === last ? last - 1 : last; // in the middle of one step of the world: before it
    return { run: this.desk.run, seq, t: clock.viewedTime, state: clock.state, topic: this.app.topicName };
  }

  /** Open the dialog for the moment that is looked at. */
  ask() {
    this.moment = this.here;
    this.choices = {};
    this.app.set({});
    this.app.openDialog("fork-dialog");
  }

  choose(name, value) {
    this.choices = { ...this.choices, [name]: value };
    this.app.set({});
  }

  /** Make the branch, look at it, let it go on if that is wanted. */
  async begin() {
    const { moment, commands } = this;
    this.app.closeDialog("fork-dialog");
    return this.at(moment, commands, this.playOn);
  }

  /** A branch right behind event `seq` of the run that is looked at. Answers its view, or null. */
  async at({ seq, t }, commands, playOn) {
    const answer = await this.desk.busy("fork.making", { t }, { what: "fork", seq, t: Math.round(t), commands });
    if (!answer) return null;
    for (const { command, ...why } of answer.refused) this.app.notice(this.app.words.t("fork.refused", { command, error: this.app.refusal(why) }));
    await this.desk.look(answer.run);
    await this.desk.list();
    if (playOn) await this.app.command({ do: "time", speed: "play" });
    return answer;
  }

  // -- two branches ---------------------------------------------------------------------------
  /** Lay a branch beside its parent, or any two open runs beside one another. */
  async compare(right = this.desk.run, left = this.desk.view(right)?.parent ?? this.desk.live) {
    const open = this.desk.runs.open.map((one) => one.run);
    if (!open.includes(left) || left === right) left = open.find((run) => run !== right) ?? right;
    this.pair = [left, right];
    this.compared = null;
    this.app.set({});
    this.app.openDialog("compare-dialog");
    const answer = await this.desk.ask({ what: "outline", names: [left, right] });
    if (!answer.ok) {
      this.app.notice(this.app.refusal(answer));
      return;
    }
    const [facts, beside] = await Promise.all([Promise.all([left, right].map((run) => this.#facts(run))), this.#beside(left, right)]);
    const since = { seq: beside?.parting.seq ?? 0, t: beside?.parting.t_us ?? 0 };
    const [one, other] = await Promise.all([this.#story(left, since.seq), this.#story(right, since.seq)]);
    const found = difference(answer.runs[left], answer.runs[right]);
    this.compared = { left: answer.runs[left], right: answer.runs[right], found, since, beside, facts, stories: [one, other], receipts: [null, null] };
    this.app.set({});
    for (const [index, run] of [left, right].entries()) this.#receipt(run, index, this.compared);
  }

  async #receipt(run, index, compared) {
    try {
      compared.receipts[index] = await api(`/runs/${run}/receipt`);
    } catch (error) {
      compared.receipts[index] = { error: error.message };
    }
    this.app.set({});
  }

  /** What is known of a run; of one that was opened, what is known of the one that it is. */
  async #facts(run) {
    const facts = await api(`/runs/${run}`).catch(() => ({}));
    return facts.kind === "opened" ? { ...(await api(`/runs/${facts.parent}`).catch(() => ({}))), run: facts.parent } : { ...facts, run };
  }

  /** Where their journals part, and the longest outage of each; null when that cannot be said. */
  async #beside(left, right) {
    return api(`/runs/${left}/comparison?other=${right}`).catch(() => null);
  }

  /** Look at a run of the comparison at a moment. */
  async goTo(run, seq) {
    this.app.closeDialog("compare-dialog");
    await this.desk.look(run);
    await this.desk.goToSeq(seq);
  }

  async #story(run, seq) {
    const story = new Story(this.app.story.levels, 200);
    const codes = [...LOUD, "command"].join(",");
    try {
      const found = await api(`/labs/${this.desk.lab}/events?run=${run}&since=${seq}&limit=4000&codes=${codes}`);
      found.events.forEach((row, index) => story.add(eventOf(row, 0), index));
    } catch {
      return [];
    }
    return story.items;
  }
}
