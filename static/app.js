/**
 * What a person can do on the screen, and what is derived from what is chosen (`store.js` declares that).
 *
 * Views get this object and read it; they change it only through its methods, each of which asks for
 * a new picture. The cluster's state is never here: it is what the clock says it is.
 */
import { Catalogue } from "./i18n/catalogue.js";
import { Desk } from "./desk/desk.js";
import { commandText } from "./i18n/format.js";
import { copyText } from "./inspect/copy.js";
import { Looking } from "./inspect/looking.js";
import { prepare } from "./inspect/open.js";
import { running, stopped } from "./model/clients.js";
import { byTopic, byNumber, inspectedAs, isInternal, isKRaft, kindIn } from "./model/names.js";
import { placeOf } from "./model/places.js";
import { changesState } from "./model/reduce.js";
import { TOLD_ONLY } from "./model/story.js";
import { PARTS, beginning, keep } from "./store.js";
import { Present } from "./time/present.js";
import { BELOW_TABS, intoSight, reveal } from "./views/reveal.js";

const FRAMES = 60; // until a tab must have been drawn

export class App extends Looking {
  constructor({ history, story, clock, words }) {
    super();
    Object.assign(this, { history, story, clock });
    this.#speak(words);
    this.lookOnly = globalThis.document?.body?.dataset.may === "look"; // came with the class's link
    Object.assign(this, beginning(), PARTS);
    this.desk = new Desk(this); // runs, forks, scenarios, receipts
    this.present = new Present(this); // where an act belongs while rewound
    prepare(this); // questions, metrics, lessons
    for (const name of ["setAcks", "goLive", "play", "setSpeed", "showTab", "choose", "select", "command", "startLesson"]) this[name] = this[name].bind(this);
  }

  /** Set fields, remember those that outlive the page, ask for a picture. */
  set(fields) {
    Object.assign(this, fields);
    this.dirty = true;
    keep(this, Object.keys(fields));
  }

  get state() {
    return this.clock.state;
  }

  /** User topics, then internal ones when they are wanted. */
  get topicNames() {
    return Object.keys(this.state.topics).filter((name) => this.internal || !isInternal(name)).sort(byTopic);
  }

  get topicName() {
    const names = this.topicNames;
    return names.includes(this.chosenTopic) ? this.chosenTopic : names[0] ?? null;
  }

  get topic() {
    return this.topicName === null ? null : this.state.topics[this.topicName];
  }

  get chosenNumber() {
    const partitions = this.topic?.partitions ?? {};
    return this.number in partitions ? this.number : Object.keys(partitions).sort(byNumber)[0] ?? "0";
  }

  get chosenPartition() {
    return this.topic?.partitions[this.chosenNumber] ?? null;
  }

  /** "orders-0", or null when there is no topic. */
  get chosen() {
    return this.chosenPartition ? `${this.topicName}-${this.chosenNumber}` : null;
  }

  choose(topic, number = "0") {
    this.set({ chosenTopic: topic, number: String(number) });
  }

  setInternal(internal) {
    this.set({ internal });
  }

  setStoryAll(storyAll) {
    this.set({ storyAll });
  }

  /** A tab of the inspector; where there is none, what is looked into brings it. */
  showTab(tab) {
    this.set({ tab, tabScroll: 0, mode: "inspect" });
  }

  /** Show a record; beside the story it comes into sight, with as much of the stage as there is room for. */
  openRecord(name, offset, broker) {
    super.openRecord(name, offset, broker);
    if (this.mode !== "inspect") intoSight(document.getElementById("ledger"));
  }

  /** Show a client or a group in the inspector: its card, in sight and with the focus. */
  inspectClient(kind, name) {
    this.showTab("groups");
    this.set({ inspected: inspectedAs(kind, name) });
    const reach = (frames) => {
      const card = document.querySelector(`#tab-panel [data-inspected="${CSS.escape(inspectedAs(kind, name))}"]`);
      if (card) {
        reveal(card, BELOW_TABS);
        card.focus({ preventScroll: true });
      } else if (frames > 0) requestAnimationFrame(() => reach(frames - 1));
    };
    requestAnimationFrame(() => reach(FRAMES));
  }

  /** List the clients behind a box of the stage. */
  openFolded(folded) {
    this.set({ folded });
    this.openDialog("clients-dialog");
  }

  /** acks of the next records: what the producer has that runs in the moment looked at, else what was chosen; until
   * then, in a run that was opened, what its stopped producer had. */
  get acks() {
    const { clients } = this.state;
    const elsewhere = this.desk.live !== null && this.desk.run !== this.desk.live && this.acksChosenIn !== this.desk.run;
    const producer = running(this.state, "producer")[0] ?? (elsewhere ? stopped(this.state, "producer").at(-1) : undefined);
    const used = String(clients[producer]?.settings?.acks ?? this.chosenAcks);
    return used === "-1" ? "all" : used;
  }

  /** A running built-in producer takes it over. */
  setAcks(acks) {
    this.set({ chosenAcks: acks, acksChosenIn: this.desk.run });
    const [producer] = running(this.state, "producer");
    if (producer) this.command({ do: "set_client", name: producer, set: { acks } });
  }

  /** Look at the moment just after the event at `position`. */
  select(position) {
    if (position <= TOLD_ONLY) return this.desk.goToItem(position);
    if (!this.history.at(position)) return;
    this.clock.go(position + 1);
    this.light(position);
  }

  /** A chosen event (null: none) lights its partition, and the bytes at its first offset or at `offset`. */
  light(position, offset = null) {
    const place = position === null ? null : placeOf(this.history.at(position));
    if (place && this.history.live.topics[place.topic] && (this.internal || !isInternal(place.topic))) {
      this.choose(place.topic, place.partition);
      if (place.first !== null) this.set({ byteOffset: offset ?? place.first, fieldLit: null });
    }
    this.set({ selected: position });
  }

  /** The offset of the chosen partition that the chosen event is about, or null: the one that the bytes show. */
  get litOffset() {
    const place = this.selected === null ? null : placeOf(this.history.at(this.selected));
    if (place === null || place.first === null || `${place.topic}-${place.partition}` !== this.chosen) return null;
    return place.first <= this.byteOffset && this.byteOffset <= place.last ? this.byteOffset : null;
  }

  goLive() {
    this.clock.goLive();
    this.set({ selected: null });
  }

  /** At the live edge the cluster plays or stands; in the past the view does. */
  play() {
    if (this.clock.live) this.command({ do: "time", speed: this.clock.cluster.paused ? "play" : "pause" });
    else if (!this.desk.watch.play()) this.clock.togglePlay();
    this.set(this.clock.live ? { selected: null } : {});
  }

  /** One event (or one state change) back or on; at the live edge the cluster itself steps on. */
  step(by, toChange = false) {
    if (by < 0 && this.desk.before(() => this.step(by, toChange))) return;
    if (this.clock.live && by > 0) {
      this.attend.expected = true;
      this.command({ do: "time", speed: toChange ? "step_state" : "step_event" }).then(({ ok }) => { this.attend.expected &&= ok; });
      return;
    }
    if (toChange) this.clock.stepTo(by, (event) => changesState(event.code));
    else this.clock.step(by);
    this.attend.to(this.clock.live ? null : this.clock.viewed - 1);
  }

  setSpeed(speed) {
    if (this.clock.live) this.command({ do: "time", speed });
    else {
      this.desk.watch.hurry(speed);
      this.clock.speed = speed;
    }
    this.set({});
  }

  /** Whether the viewer may change anything; who may only look is told so, whatever way he came. */
  mayChange() {
    if (this.lookOnly) this.notice(this.words.t("look_only"));
    return !this.lookOnly;
  }

  /**
   * Send a command; a refusal becomes a notice. Answers the acknowledgement.
   * What changes the cluster is not done behind the back of a rewound viewer: he is asked where; {ok: false} when he
   * calls it off. `asked`: he was already.
   */
  async command(command, asked = false) {
    if (!this.mayChange()) return { ok: false };
    const where = asked || command.do === "time" ? "now" : await this.present.where(commandText(command, this.words.words));
    if (!where) return { ok: false, cancelled: true };
    const answer = await this.#deliver(command);
    if (where === "fork") await this.#deliver({ do: "time", speed: "play" }); // the branch stood at its first moment
    return answer;
  }

  /** A lesson at one key: several commands, for which a rewound viewer is asked once. */
  async startLesson(lesson) {
    if (!this.mayChange()) return;
    const where = await this.present.where(this.words.t(`macro.${lesson}`));
    if (where) this.runner.start(lesson);
    if (where === "fork") await this.#deliver({ do: "time", speed: "play" });
  }

  async #deliver(command) {
    const answer = await this.send(command);
    if (!answer.ok) this.notice(answer.lost ? this.words.t("refused.lost") : this.refusal(answer));
    else if (command.do === "time") this.#heardTime(command.speed, answer);
    this.dirty = true;
    return answer;
  }

  #heardTime(speed, answer) {
    const facts = { speed: answer.speed, paused: answer.paused, t: answer.t };
    if (facts.paused === undefined) facts.paused = speed !== "play" && typeof speed !== "number";
    if (facts.speed === undefined && typeof speed === "number") facts.speed = speed;
    this.clock.heard(facts, performance.now());
    if (answer.nothing_for_us !== undefined) this.notice(this.words.t(`time.${speed}.nothing`, { s: Math.round(answer.nothing_for_us / 1e6) }), "news");
  }

  /** Another language, without losing the moment that is looked at. */
  setLanguage(catalogue) {
    this.#speak(new Catalogue(catalogue));
    this.set({});
  }

  #speak(words) {
    words.kindOf = (node) => kindIn(this.state, node);
    words.usualDelay = () => this.state.cluster.link_delay_us ?? 0;
    words.generation = () => (isKRaft(this.state) ? "kraft" : this.state.ensemble ? "ensemble" : "zookeeper");
    this.words = words;
  }

  /** A notice says whether it worked: what a button says is the picture's, which the next change of the cluster renews. */
  async copy(text) {
    if (await copyText(text)) this.notice(this.words.t("attach.copied"), "news");
    else this.notice(this.words.t("copy.refused"));
  }
}
