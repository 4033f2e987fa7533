/** Leads a newcomer through the first minute, and shows the chain of causes at its end. */
import { running } from "../model/clients.js";
import { decideWithout, halted, livingInSync, trouble, weakestAcks } from "../model/coach.js";
import { rows } from "../model/figures.js";
import { brokerNode, isKRaft } from "../model/names.js";
import { STEPS, Tour as Steps } from "../model/tour.js";

const FINISHED = "lab-tour";
const LOOK_AFTER_US = 1_500_000;

export class Tour {
  constructor(app, desk) {
    Object.assign(this, { app, desk });
    this.steps = new Steps();
    this.over = globalThis.localStorage?.getItem(FINISHED) === "done";
    this.finish = this.finish.bind(this);
    this.start = this.start.bind(this);
  }

  /** New events, in order, with the state before the first. */
  heard(events, stateBefore) {
    if (this.desk.live !== null && this.desk.run !== this.desk.live) return;
    this.#aim();
    for (const event of events) if (event.code === "process_ended" || event.code === "leader_elected") this.steps.take(event, stateBefore);
  }

  /** Once there is something to lose, the screen shows the partition that the tour speaks of. */
  #aim() {
    const { app, steps } = this;
    if (this.over || !app.clock.live || steps.step(app.state) !== "kill") return;
    const before = steps.targetName;
    const target = steps.aim(app.state);
    if (target && steps.targetName !== before) app.choose(target.topic, target.number);
  }

  finish() {
    this.over = true;
    localStorage.setItem(FINISHED, "done");
    this.app.set({});
  }

  start() {
    this.over = false;
    this.steps.reset();
    localStorage.removeItem(FINISHED);
    this.app.set({});
  }

  /** {step, number, of, key, params, act?: {text, run}, share?} for the line above the stage; null when the tour is over. */
  line() {
    const { app, steps } = this;
    const elsewhere = this.desk.live !== null && this.desk.run !== this.desk.live;
    const step = this.over || elsewhere ? null : steps.step(app.state);
    if (!step) return null;
    const stuck = step === "election" ? this.#nobodyComes(app.state) : step !== "receipt" && this.#hindered(app); // what to do comes first
    return { step, number: STEPS.indexOf(step) + 1, of: STEPS.length, ...(stuck ? null : this[`_${step}`](app)) };
  }

  /** What was not asked for is dead, silent or cut: nobody takes a step past it. */
  #hindered({ state, topicName, chosenNumber, acks }) {
    return trouble(state, `${topicName}-${chosenNumber}`, state.topics[topicName]?.partitions[chosenNumber], acks) !== null;
  }

  /** Nobody can be elected for what the dead broker has led: there is nothing to wait for. */
  #nobodyComes(state) {
    const led = rows(state).filter(({ name }) => name in this.steps.killed.led);
    return halted(state) !== null || led.every(({ partition }) => !livingInSync(state, partition).length);
  }

  _topic() {
    return null;
  }

  _producer({ state, topicName, acks }) {
    const begin = async () => {
      for (const kind of ["producer", "consumer"]) {
        const name = `${kind}-${topicName}`;
        const settings = kind === "producer" ? { rate: 20, settings: { acks } } : { settings: { "group.id": "readers", "auto.offset.reset": "earliest" } };
        if (state.clients[name]?.state !== "running")
          await this.app.command(name in state.clients
            ? { do: "start_client", name }
            : { do: "start_client", name, kind, topic: topicName, ...settings });
      }
    };
    return running(state, "producer").length
      ? { key: "tour.writing", params: { topic: topicName } }
      : { key: "tour.producer", params: { topic: topicName }, act: begin };
  }

  _kill({ state }) {
    const target = this.steps.aim(state);
    const partition = target && state.topics[target.topic].partitions[target.number];
    if (!partition || livingInSync(state, partition).length < 2 || !decideWithout(state, partition.leader)) return null;
    const { leader } = partition;
    return { key: "tour.kill", params: { leader, partition: this.steps.targetName }, act: () => this.app.command({ do: "kill", broker: leader }) };
  }

  _election({ state, clock }) {
    const { broker, heard, led } = this.steps.killed;
    if (isKRaft(state) && state.cluster.controller === null) return { key: "tour.election_nobody", params: { broker } };
    const patience = this.steps.patience(state);
    const passed = Math.max(0, clock.clusterTime() - heard);
    const params = { broker, n: Object.keys(led).length, left: Math.max(0, Math.ceil((patience - passed) / 1e6)) };
    const waits = state.brokers[broker]?.state === "running" ? "tour.election_back" : "tour.election"; // its new process has to wait as well
    return { key: params.left ? waits : "tour.election_now", params, share: Math.min(1, passed / patience) };
  }

  _receipt({ clock, state, acks }) {
    const { elected, killed } = this.steps;
    const params = { leader: elected.leader, partition: elected.name, broker: killed.broker, without: ((elected.t - killed.t) / 1e6).toFixed(1) };
    const act = () => {
      this.steps.receipt = true;
      this.finish();
      if (this.desk.panel !== "receipt") this.desk.show("receipt");
    };
    const key = elected.reason === "unclean"
      ? "tour.receipt_unclean"
      : elected.leader === killed.broker ? "tour.receipt_back" : `tour.receipt.${weakestAcks(state, acks)}`;
    return { key, params, act, wait: clock.clusterTime() - elected.t < LOOK_AFTER_US };
  }

  /** From the last death of a leader to the election that followed: [{position, event}], oldest first. */
  chain() {
    const { history } = this.app;
    const { killed, elected } = this.steps;
    if (!elected) return [];
    const begin = history.positionOf(killed.seq);
    if (begin === null) return [];
    const found = {};
    for (let position = begin; position < history.end; position += 1) {
      const event = history.at(position);
      if (event.seq > elected.seq) break;
      if (belongs(event, killed, elected, this.app.state.cluster.chroot ?? "")) found[event.code] ??= { position, event };
    }
    return CHAIN.map((code) => found[code]).filter(Boolean);
  }
}

const CHAIN = ["process_ended", "session_expired", "znode_deleted", "controller_elected", "broker_gone", "leader_elected"];

/** Whether an event is a link between a death and an election. */
function belongs({ code, node, params, seq }, { broker, seq: death }, { name }, chroot) {
  if (code === "process_ended") return seq === death && node === brokerNode(broker);
  if (code === "session_expired") return params.owner === brokerNode(broker);
  if (code === "znode_deleted") return params.path === `${chroot}/brokers/ids/${broker}`;
  if (code === "broker_gone") return params.broker === broker;
  if (code === "leader_elected") return `${params.topic}-${params.partition}` === name;
  return code === "controller_elected";
}
