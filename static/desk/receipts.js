/** The durability receipt of the run that is looked at, as far as it is known by now. */
import { firstLost, lossOf } from "../model/causes.js";
import { brokerOf } from "../model/names.js";
import { anyUnplaced, cutsOf, placed } from "../model/unplaced.js";
import { api } from "../net/api.js";

const FRESH_MS = 12_000;

export class Receipts {
  constructor(app, desk) {
    Object.assign(this, { app, desk });
    this.forget();
    this.load = this.load.bind(this);
    this.readBack = this.readBack.bind(this);
  }

  forget() {
    this.found = null;
    this.error = null;
    this.loading = false;
    this.at = 0;
    this.seenT = 0; // the cluster's time when the operations were counted
    this.lost = { found: null, begin: 0, place: null, links: [] };
  }

  /** {place, links}: how the first lost record was lost; place null without a loss. Looked up again when more of the past is there. */
  loss() {
    const { found } = this;
    const { history } = this.app;
    if (this.lost.found !== found || history.begin < this.lost.begin) {
      const place = firstLost(found);
      this.lost = { found, begin: history.begin, place, links: place ? lossOf(history, place) : [] };
    }
    return this.lost;
  }

  /** Whether something may have happened since. */
  get stale() {
    return !this.loading && performance.now() - this.at > FRESH_MS && this.app.clock.cluster.t > this.seenT;
  }

  async load() {
    const { run } = this.desk;
    if (this.loading || !run) return;
    this.loading = true;
    const t = this.app.clock.cluster.t;
    this.app.set({});
    try {
      const found = await api(`/runs/${run}/receipt`);
      if (run === this.desk.run) Object.assign(this, { found, error: null, seenT: t });
    } catch (error) {
      if (run === this.desk.run) this.error = error.message;
    }
    Object.assign(this, { loading: false, at: performance.now() });
    this.app.set({});
    if (this.found && anyUnplaced(this.found)) await this.#place(this.found);
    if (this.loss().place) this.desk.past.reach(() => this.loss().links.length > 0);
  }

  /** Where lost records stood of which their producer was told nothing: what was cut off tells. */
  async #place(found) {
    const { history } = this.app;
    await this.desk.past.reach(() => cutsOf(history).length > 0);
    if (this.found === found) this.found = placed(found, cutsOf(history));
    this.app.set({});
  }

  /** Let somebody read everything: what was acknowledged and is not there is then lost for certain. */
  async readBack() {
    const { state } = this.app;
    const topics = Object.keys(state.topics).filter((name) => !state.topics[name].internal);
    if (!topics.length) return;
    if (!(await this.app.command({ do: "stop_all_faults" })).ok) return;
    for (const broker of Object.values(state.brokers)) if (broker.state === "stopped") await this.app.command({ do: "restart", broker: broker.id });
    let number = 1;
    while (`consumer-receipt-${number}` in state.clients) number += 1;
    const settings = { "auto.offset.reset": "earliest", "group.id": `receipt-${number}` };
    await this.app.command({ do: "start_client", name: `consumer-receipt-${number}`, kind: "consumer", topic: topics.join(","), settings });
    this.at = performance.now() - FRESH_MS + 3000;
  }

  /** The moment at which an offset was written to the leader's log. */
  async goTo({ topic, partition, offset }) {
    const { history, clock } = this.app;
    this.app.choose(topic, partition);
    if (offset === null) return;
    const holds = ({ code, params }) => code === "log_appended" && params.topic === topic && String(params.partition) === String(partition)
      && params.base_offset <= offset && offset <= params.last_offset;
    const find = () => {
      for (let position = history.begin; position < history.end; position += 1) if (holds(history.at(position))) return position;
      return null;
    };
    await this.desk.past.reach(() => find() !== null);
    const found = find();
    if (found === null) this.app.notice(this.app.words.t("receipt.not_seen", { partition: `${topic}-${partition}`, offset }), "news");
    else {
      clock.go(found + 1);
      this.app.light(found, offset);
    }
  }

  /** A range of records on the stage: lost ones at the election that did without them, others once the last was written. */
  async showStretch({ kind, topic, partition, offset, last }) {
    const { app, desk } = this;
    const gone = kind === "lost" || kind === "inconsistent"; // the same records from two sides
    const links = () => (gone ? lossOf(app.history, { topic, partition, offset }) : []);
    if (gone) await desk.past.reach(() => links().length > 0);
    const found = links();
    const elected = found.find(({ event }) => event.code === "leader_elected");
    const written = found.find(({ event }) => event.code === "log_appended");
    if (!elected) await this.goTo({ topic, partition, offset: last });
    else {
      app.choose(topic, partition);
      app.clock.go(elected.position + 1);
      app.light(elected.position);
    }
    const broker = brokerOf(written?.event.node) ?? app.chosenPartition?.leader;
    app.openRecord(`${topic}-${partition}`, last, broker);
  }
}
