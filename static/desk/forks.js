/** Going on from a moment with other settings, and two branches side by side. */
import { commandsOf, difference, subjectsOf, trialOf } from "../model/fork.js";
import { LOUD, Story } from "../model/story.js";
import { eventOf } from "../model/reduce.js";
import { api } from "../net/api.js";

const PATIENCE_MS = 90_000; // for what the cluster has to agree to, which may first ask brokers that are dead
const PAUSE_MS = 350; // after the last key, before a row is tried

/**
 * Commands that the branch begins with, and those that are given one after the other while it goes on: settings that
 * the cluster has to agree to take their time, and faults are to meet them.
 */
function inTurn(commands) {
  const asked = commands.filter((one) => one.do === "alter_config");
  const at = commands.findLastIndex((one) => one.do === "alter_config");
  const after = commands.slice(at + 1);
  if (!asked.length || !after.length) return [commands, []];
  return [commands.slice(0, at).filter((one) => !asked.includes(one)), [...asked, ...after]];
}

export class Forks {
  constructor(app, desk) {
    Object.assign(this, { app, desk });
    this.moment = null; // {run, seq, t, state, topic, number}: where the dialog would fork
    this.choices = {};
    this.rows = []; // settings that were chosen freely: {key, subject, name, value, refused}
    this.playOn = true;
    this.compared = null; // {left, right, found, stories} of the comparison that is shown
    this.pair = [null, null];
    for (const name of ["ask", "choose", "begin", "compare", "goTo", "addRow", "letGoOn"]) this[name] = this[name].bind(this);
  }

  get commands() {
    const { moment, rows, choices } = this;
    return moment ? commandsOf(choices, moment.state, moment.topic, { number: moment.number, rows }) : [];
  }

  /** The moment that is looked at. */
  get here() {
    const { clock, history } = this.app;
    const last = history.seqAt(clock.viewed);
    const seq = history.at(clock.viewed)?.seq === last ? last - 1 : last; // in the middle of one step of the world: before it
    return { run: this.desk.run, seq, t: clock.viewedTime, state: clock.state, topic: this.app.topicName, number: this.app.chosenNumber };
  }

  /** Open the dialog for the moment that is looked at. */
  ask() {
    if (!this.app.mayChange()) return;
    this.moment = this.here;
    this.choices = {};
    this.rows = [];
    this.addRow();
    this.app.openDialog("fork-dialog");
  }

  choose(name, value) {
    this.choices = { ...this.choices, [name]: value };
    this.#tryAll();
    this.app.set({});
  }

  /** Whether the branch goes on at once. */
  letGoOn(on) {
    this.playOn = on;
    this.app.set({});
  }

  /** Whether settings come after faults: time stands, and the cluster has no time to agree to anything. */
  get settingsComeLast() {
    const asked = ({ do: name }) => name === "alter_config";
    return !this.playOn && this.commands.some(asked) && !this.commands.every(asked);
  }

  // -- settings that are chosen freely ----------------------------------------------------------
  /** Another row, about what the last one was about. */
  addRow() {
    const subject = this.rows.at(-1)?.subject ?? subjectsOf(this.moment.state)[0] ?? "";
    this.rows.push({ key: (this.rows.at(-1)?.key ?? 0) + 1, subject, name: "", value: "", refused: null });
    this.app.set({});
  }

  dropRow(row) {
    this.rows = this.rows.filter((one) => one !== row);
    this.#tryAll();
    this.app.set({});
  }

  /** What a row says now; it is tried when the hand rests. */
  setRow(row, fields) {
    Object.assign(row, fields, { refused: null });
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.#tryAll(), PAUSE_MS);
    this.app.set({});
  }

  /** Ask for each row whether its command would be refused. */
  #tryAll() {
    clearTimeout(this.resting);
    return Promise.all(this.rows.map((row) => this.#try(row)));
  }

  async #try(row) {
    const command = trialOf(row, { ...this, state: this.moment.state, topic: this.moment.topic });
    const said = command && JSON.stringify({ ...command, seq: this.moment.seq });
    row.said = said;
    const answer = command && (await this.desk.ask({ what: "inspect", of: "trial", name: said }));
    if (row.said !== said) return; // it says something else by now
    row.refused = !answer || answer.ok || answer.lost ? null : this.app.refusal({ ...answer, place: null });
    this.app.set({});
  }

  /** Make the branch, look at it, let it go on if that is wanted; not while a row would be refused. */
  async begin() {
    const { moment, commands } = this;
    await this.#tryAll();
    const wrong = this.rows.find((row) => row.refused);
    if (wrong) {
      document.querySelector(`[data-fork-row="${wrong.key}"] [name=setting]`)?.focus();
      return null;
    }
    this.app.closeDialog("fork-dialog");
    const [first, later] = this.playOn ? inTurn(commands) : [commands, []];
    const branch = await this.at(moment, first, this.playOn);
    for (const command of branch ? later : []) if (!(await this.#settled(command))) break;
    return branch;
  }

  /** Give a command and wait until it is carried out; false when it was refused, or nobody answers. */
  async #settled(command) {
    const { app } = this;
    const { history } = app;
    let position = history.end;
    const answer = await app.command(command);
    if (!answer.ok || !answer.pending) return answer.ok;
    app.notice(app.words.t("fork.waiting", { command }), "news");
    const name = String(command.topic ?? command.broker);
    for (const until = performance.now() + PATIENCE_MS; performance.now() < until; await new Promise((resolve) => { setTimeout(resolve, 100); })) {
      for (position = Math.max(position, history.begin); position < history.end; position += 1) {
        const { code, params } = history.at(position);
        if (code === "config_changed" && params.name === name && params.key in command.set) return true;
        if (code === "command_refused" && params.command?.do === command.do) return false;
      }
    }
    return false;
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
      found.items.forEach((row, index) => story.add(eventOf(row, 0), index));
    } catch {
      return [];
    }
    return story.items;
  }
}
