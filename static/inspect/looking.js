/** What a person does to look closer: at a message, a broker, a record, its bytes, an invariant. `App` is one of these. */
import { refusal } from "../i18n/problems.js";
import { arriving, bringing, passing, positionOf, standing } from "../model/flights.js";

const AGAIN_MS = 150;

export class Looking {
  #past = { position: null, end: null, found: [], coming: new Map() };

  constructor() {
    for (const name of ["deliver", "drop", "showBytes"]) this[name] = this[name].bind(this);
  }

  /** What is under way now, asked for while the cluster stands still or the tab of requests is open. */
  get standing() {
    const { clock, history, inquiry } = this;
    if (!clock.live || !(clock.cluster.paused || this.tab === "request")) return [];
    const entry = inquiry.get("flights");
    const { found, t } = entry;
    // What was asked for before the cluster stood still is asked for again at once.
    if (clock.cluster.paused && t < clock.cluster.t && !entry.waiting && performance.now() - entry.asked > AGAIN_MS) inquiry.fresh("flights");
    const sentAt = (seq) => {
      const position = history.positionOf(seq);
      return position === null ? null : history.at(position)?.t ?? null;
    };
    return found ? standing(found.flights, t, sentAt) : [];
  }

  /** What was under way at the moment of the past that is looked at; found once for each moment. */
  get passing() {
    return this.#looked.found;
  }

  /** What is on its way to followers at a moment at which the cluster stands still, see `model/flights.js`; null while time goes on. */
  get arriving() {
    const { clock, inquiry } = this;
    if (clock.live) return clock.cluster.paused ? bringing(inquiry.get("flights").found?.flights ?? []) : null;
    return clock.playing ? null : this.#looked.coming;
  }

  get #looked() {
    const { clock: { viewed: position }, history } = this;
    const { end } = history;
    if (this.#past.position !== position || this.#past.end !== end) {
      this.#past = { position, end, found: passing(history, position), coming: arriving(history, position) };
    }
    return this.#past;
  }

  lookAtFlight(flight) {
    const position = positionOf(this.history, flight);
    this.set({ flight: flight.key, looked: position ?? this.looked, messageLit: null });
    this.showTab("request");
  }

  /** The message arrives next. */
  deliver(flight) {
    return this.#next("deliver_next", flight);
  }

  /** The message is lost. */
  drop(flight) {
    return this.#next("drop_next", flight);
  }

  async #next(verb, { from, to }) {
    const answer = await this.command({ do: verb, between: [from, to] });
    await this.inquiry.fresh("flights");
    this.set({ flight: null });
    return answer;
  }

  /** Why an answer says no, in the viewer's words. */
  refusal(answer) {
    return refusal(answer, this.words);
  }

  lookAt(position) {
    this.set({ looked: position });
    this.showTab("request");
  }

  openBroker(id) {
    this.set({ brokerOpen: String(id) });
    this.showTab("brokers");
  }

  openRecord(name, offset, broker) {
    this.choose(name.slice(0, name.lastIndexOf("-")), name.slice(name.lastIndexOf("-") + 1));
    this.set({ record: { name, offset, broker: Number(broker) }, ledgerView: "record" });
  }

  /** Whether one was open beside the stage, where nothing else of its panel is shown. */
  closeRecord() {
    if (!this.record || this.mode === "inspect") return false;
    this.set({ record: null, ledgerView: "batches" });
    return true;
  }

  showBytes(offset) {
    this.set({ byteOffset: offset, ledgerView: "bytes", fieldLit: null, mode: "inspect" });
  }

  /** The tab of invariants, and the moment at which this one was first violated. */
  goToLight(name) {
    const first = this.state.invariants[name]?.first;
    this.showTab("lights");
    if (first) this.#goToSeq(first.seq);
  }

  /** The moment of the run, be it loaded or not. */
  async goToTime(t) {
    await this.desk.past?.toTime(t);
    this.clock.goTime(t);
    this.set({ selected: null });
  }

  async #goToSeq(seq) {
    await this.desk.past?.toSeq(seq);
    const position = this.history.positionOf(seq);
    if (position !== null && position !== undefined && this.history.at(position)) this.select(position);
    else this.clock.goTime(this.history.timeAt(this.history.positionBehind(seq)));
    this.set({});
  }
}
