/**
 * Kafka's metrics before and after a fault, whoever caused it: this page, another one, REST, a scenario.
 *
 *     samples    t=1.0   t=3.0              a few, one every few seconds
 *     events                     kill t=3.6
 *     compared           t=3.0 with now     the newest sample that is not younger than the fault
 *
 * A command of this page is preceded by a sample of its own, so its comparison begins right before it.
 */
import { brokerOf } from "../model/names.js";

const FAULTS = new Set([
  "kill", "restart", "pause", "resume", "stop", "power_loss", "partition_link", "heal_link", "delay_link", "drop_link", "duplicate_link",
  "reorder_link",
  "bandwidth_link", "lose_next", "hold_next", "isolate", "random_halves", "lose_index", "disk_full", "disk_write_error", "disk_read_error",
  "lost_fsync", "slow_disk", "misdirected_write", "bit_flip", "repair_disk", "wipe",
  "clock_skew", "expire_session", "stop_all_faults", "alter_config"]);

/** Whether a command is worth a comparison. */
export const isFault = (command) => FAULTS.has(command.do);

/** Whether an event is: a command that disturbs, or a broker that goes down by itself. */
export const startsComparison = ({ code, node, params }) => (code === "command"
  ? isFault(params.command ?? {})
  : code === "process_ended" && params.how === "halted" && brokerOf(node) !== null);

const SAMPLE_MS = 3000;
const KEPT = 4;

const PER_PARTITION = /,(?:topic|partition|group)=/;

/** Rows {name, broker, before, after, delta}: what differs in two snapshots; per-partition values only with `all`.
 * The zeros that a new process begins with are none. */
export function difference(before, after, all = false) {
  const rows = [];
  for (const name of new Set([...Object.keys(after), ...Object.keys(before)])) {
    if (!all && PER_PARTITION.test(name)) continue;
    const [old, now] = [before[name] ?? {}, after[name] ?? {}];
    for (const broker of [...new Set([...Object.keys(old), ...Object.keys(now)])].sort((a, b) => a - b)) {
      const row = { name, broker, before: old[broker] ?? null, after: now[broker] ?? null };
      if (row.before !== row.after && !(row.before === null && row.after === 0)) rows.push({ ...row, delta: (row.after ?? 0) - (row.before ?? 0) });
    }
  }
  return rows;
}

/** The part of a metric's name that tells it from others: "UnderReplicatedPartitions", "TotalTimeMs, Produce". */
export function shortName(name) {
  const parts = Object.fromEntries(name.slice(name.indexOf(":") + 1).split(",").map((part) => part.split("=")));
  const of = ["request", "delayedOperation", "group", "topic"].filter((key) => parts[key]).map((key) => parts[key] + (key === "topic"
    && parts.partition
    ? `-${parts.partition}`
    : ""));
  return [parts.name ?? parts.type, ...of].join(", ");
}

/** The registry's key of a full name: without topic, partition, request, operation, group. */
export function registryKey(name) {
  const at = name.indexOf(":");
  return `${name.slice(0, at)}:${name.slice(at + 1).split(",").filter((part) => /^(type|name)=/.test(part)).join(",")}`;
}

/** First what an operator watches, then what moved most. */
export function ranked(rows, meaning) {
  const weight = (row) => (row.after === null ? -9 : 0) + (row.after !== null && (meaning?.[registryKey(row.name)]?.normal ?? null) !== null
    && row.after !== meaning[registryKey(row.name)].normal
    ? 2
    : 0)
    + (/Partitions|Isr|Controller|Leader|Offline|Unclean/.test(row.name) ? 1 : 0);
  return [...rows].sort((a, b) => weight(b) - weight(a) || a.name.localeCompare(b.name));
}

export class Measure {
  constructor(inquiry, clock, now = () => performance.now()) {
    Object.assign(this, { inquiry, clock, now });
    this.#reset(null);
  }

  #reset(run) {
    this.run = run;
    this.before = null; // {event, t, values}: event null for a mark
    this.samples = []; // {t, values}, oldest first
    this.asked = -Infinity;
    this.pending = null;
  }

  /** Take a sample; resolves when it is there. */
  sample() {
    this.asked = this.now();
    const { samples } = this;
    const pending = this.inquiry.fresh("metrics").then(({ found, t }) => {
      if (found) samples.push({ t, values: found.values });
      samples.sort((one, other) => one.t - other.t).splice(0, samples.length - KEPT);
      if (this.pending === pending) this.pending = null;
    });
    this.pending = pending;
    return pending;
  }

  /** Called now and then: something to compare with must be there before anything happens. A large cluster is asked less often. */
  tick(run, partitions) {
    if (run !== this.run) this.#reset(run);
    if (this.now() - this.asked < SAMPLE_MS * (1 + partitions / 50)) return;
    const still = this.clock.cluster.paused && this.samples.at(-1)?.t >= this.clock.cluster.t;
    if (!still) this.sample();
  }

  /** Right before `command` is sent. The question leaves first, so it is answered first. */
  begin(command) {
    if (isFault(command)) this.sample();
  }

  /** New events: the last disturbance among them begins a comparison. */
  async heard(events, run) {
    if (run !== this.run) this.#reset(run);
    const refused = new Set(events.filter(({ code }) => code === "command_refused").map(({ seq }) => seq));
    const event = events.findLast((one) => startsComparison(one) && !refused.has(one.seq));
    if (!event) return;
    const { samples } = this;
    if (this.pending) await this.pending;
    const old = () => samples.findLast(({ t }) => t <= event.t);
    if (!old()) await this.sample(); // a page that has just been opened: from right after it
    if (samples !== this.samples) return;
    const from = old() ?? samples.at(-1);
    if (from) this.before = { event, ...from };
  }

  /** From here on, whatever comes. */
  async mark() {
    await this.sample();
    const from = this.samples.at(-1);
    if (from) this.before = { event: null, ...from };
  }
}
