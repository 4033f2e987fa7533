/**
 * Lessons at one key: a few commands in a row, each given when its moment has come.
 *
 * A step is {do: command}, {until: (state) => boolean, text} or {pause: milliseconds of the cluster's time}; `plan` looks at the state once and says what
 * will be done, so the same plan can be shown before it is carried out. A step with `undo` is taken back when the
 * lesson ends, also one that is stopped or that fails on its way.
 *
 * | lesson | what is done |
 * |---|---|
 * | shrink | the link between the leader and one follower is cut, and a record is written: the ISR shrinks after replica.lag.time.max.ms |
 * | unclean | unclean elections are allowed, the followers die, the leader writes on and dies, a follower comes back; the topic's settings are as before |
 * | storm | three consumers of one group come and go |
 */
import { brokerNode } from "./names.js";

const partitionOf = (state, topic, number) => state.topics[topic]?.partitions[number] ?? null;
const running = (state, id) => state.brokers[id]?.state === "running";

function shrink(state, topic, number) {
  const { leader, isr } = partitionOf(state, topic, number);
  const victim = isr.find((id) => id !== leader && running(state, id));
  if (leader < 0 || victim === undefined) return null;
  return [
    { do: { do: "partition_link", between: [brokerNode(leader), brokerNode(victim)] } },
    { do: { do: "produce", topic, partition: Number(number), value: "not at every replica", acks: "1" } },
    { until: (now) => !partitionOf(now, topic, number)?.isr.includes(victim), text: "macro.wait_isr", params: { broker: victim } },
  ];
}

const followers = (state, { leader, replicas }) => replicas.filter((id) => id !== leader && running(state, id));

/** Whether so few of the brokers that vote in the metadata quorum would be left that nobody could be elected. */
function losesMajority({ quorum, brokers }, dying) {
  const voters = (quorum?.voters ?? []).filter((id) => brokers[id]);
  return 2 * voters.filter((id) => brokers[id].state === "running" && !dying.includes(id)).length <= voters.length && voters.length > 0;
}

function unclean(state, topic, number, acks) {
  const partition = partitionOf(state, topic, number);
  const { leader } = partition;
  const others = followers(state, partition);
  if (leader < 0 || !others.length || !running(state, leader) || losesMajority(state, others)) return null;
  const back = others[0];
  const set = { "unclean.leader.election.enable": "true", "min.insync.replicas": "1" };
  const before = state.topics[topic].configs ?? {};
  const asBefore = Object.fromEntries(Object.keys(set).map((key) => [key, before[key] ?? null]));
  return [
    { do: { do: "alter_config", topic, set }, undo: { do: "alter_config", topic, set: asBefore } },
    ...others.map((id) => ({ do: { do: "kill", broker: id } })),
    { until: (now) => partitionOf(now, topic, number)?.isr.length === 1, text: "macro.wait_alone", params: { broker: leader } },
    ...[1, 2, 3].map((n) => ({ do: {
      do: "produce", topic, partition: Number(number), value: `only on broker ${leader}: ${n}`, acks: acks === "0" ? "1" : acks
    } })),
    { pause: 600 },
    { do: { do: "kill", broker: leader } },
    { pause: 300 },
    { do: { do: "restart", broker: back } },
    { until: (now) => partitionOf(now, topic, number)?.leader === back, text: "macro.wait_leader", params: { broker: back } },
  ];
}

function storm(state, topic) {
  const names = [1, 2, 3].map((n) => `consumer-storm-${n}`);
  const come = (name) => (name in state.clients
    ? { do: "start_client", name }
    : { do: "start_client", name, kind: "consumer", topic, settings: { "group.id": "storm" } });
  const steps = names.filter((name) => state.clients[name]?.state !== "running").flatMap((name) => [{ do: come(name) }, { pause: 500 }]);
  for (const name of names) {
    const gone = { until: (now) => now.clients[name]?.state !== "running", text: "macro.wait_gone", params: { name } };
    steps.push({ pause: 900 }, { do: { do: "stop_client", name } }, gone, { pause: 900 }, { do: { do: "start_client", name } });
  }
  return steps;
}

const PLANS = { shrink, unclean, storm };
export const LESSONS = ["shrink", "unclean", "storm"];

/** The steps of a lesson, or null when it makes no sense now. */
export function plan(lesson, state, topic, number, acks = "all") {
  if (!topic || !partitionOf(state, topic, number)) return null;
  return PLANS[lesson](state, topic, String(number), acks);
}

/** Why there is no plan. */
function hindrance(lesson, state, topic, number) {
  const partition = partitionOf(state, topic, number);
  return lesson === "unclean" && partition?.leader >= 0 && losesMajority(state, followers(state, partition)) ? "macro.no_majority" : "macro.not_now";
}

/** Carries steps out, one after the other; `tick` is called now and then. */
export class Runner {
  constructor(app, now = () => app.clock.clusterTime() / 1000) {
    Object.assign(this, { app, now });
    this.lesson = null;
    this.steps = [];
    this.at = 0;
    this.since = 0;
    this.busy = false;
    this.undo = null;
  }

  /** Begins a lesson; the one that is under way ends, and so does itself when it is asked for again. */
  start(lesson) {
    const { app } = this;
    const again = this.lesson === lesson;
    if (this.lesson) this.stop();
    if (again) return false;
    const steps = plan(lesson, app.state, app.topicName, app.chosenNumber, app.acks);
    if (!steps) {
      app.notice(app.words.t(hindrance(lesson, app.state, app.topicName, app.chosenNumber), { command: "./brokerlab up --controllers 3 --data DIR" }));
      return false;
    }
    Object.assign(this, { lesson, steps, at: 0, since: this.now(), busy: false });
    app.goLive();
    this.tick();
    return true;
  }

  /** At the end, or before it: what the lesson has changed in settings is as it was, and that is said. */
  async stop() {
    const { undo, app } = this;
    Object.assign(this, { lesson: null, undo: null });
    app.set({});
    if (!undo) return;
    const answer = await app.command(undo, true);
    const settings = Object.entries(undo.set).map(([key, value]) => `${key}=${value ?? app.words.t("macro.default")}`).join(", ");
    app.notice(app.words.t(answer.ok ? "macro.settings_back" : "macro.settings_left", { topic: undo.topic, settings }), answer.ok ? "news" : "bad");
  }

  /** What is waited for: {text, params}, or null. In a cluster that stands nothing comes. */
  get waiting() {
    const step = this.lesson && !this.busy ? this.steps[this.at] : null;
    if (!step || step.do) return null;
    if (this.app.clock.cluster.paused) return { text: "macro.wait_time", params: {} };
    return step.until ? step : null;
  }

  get share() {
    return this.steps.length ? this.at / this.steps.length : 0;
  }

  async tick() {
    if (!this.lesson || this.busy) return;
    const step = this.steps[this.at];
    if (!step) return this.stop();
    if (step.until && !step.until(this.app.history.live)) return;
    if (step.pause && this.now() - this.since < step.pause) return;
    if (step.do) {
      this.busy = true;
      const { steps } = this;
      const answer = await this.app.command(step.do, true);
      this.busy = false;
      if (step.undo && answer.ok) this.undo = step.undo;
      if (this.steps !== steps) return;
      if (!answer.ok || !this.lesson) return this.stop();
    }
    this.at += 1;
    this.since = this.now();
    this.app.set({});
  }
}
