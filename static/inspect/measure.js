/**
 * Kafka's metrics before and after a fault: a snapshot is taken right before the command leaves, then again
 * and again, so the table shows what the fault has done so far.
 */
const FAULTS = new Set(["kill", "restart", "pause", "resume", "stop", "power_loss", "partition_link", "heal_link", "delay_link", "drop_link", "duplicate_link", "reorder_link",
  "bandwidth_link", "lose_next", "isolate", "random_halves", "disk_full", "disk_write_error", "disk_read_error", "lost_fsync", "slow_disk", "misdirected_write", "bit_flip", "repair_disk", "wipe",
  "clock_skew", "expire_session", "stop_all_faults", "alter_config"]);

/** Whether a command is worth a comparison. */
export const isFault = (command) => FAULTS.has(command.do);

const PER_PARTITION = /,(?:topic|partition|group)=/;

/** Rows {name, broker, before, after, delta}: what differs in two snapshots; per-partition values only with `all`. */
export function difference(before, after, all = false) {
  const rows = [];
  for (const name of new Set([...Object.keys(after), ...Object.keys(before)])) {
    if (!all && PER_PARTITION.test(name)) continue;
    const [old, now] = [before[name] ?? {}, after[name] ?? {}];
    for (const broker of [...new Set([...Object.keys(old), ...Object.keys(now)])].sort((a, b) => a - b)) {
      const row = { name, broker, before: old[broker] ?? null, after: now[broker] ?? null };
      if (row.before !== row.after) rows.push({ ...row, delta: (row.after ?? 0) - (row.before ?? 0) });
    }
  }
  return rows;
}

/** The part of a metric's name that tells it from others: "UnderReplicatedPartitions", "TotalTimeMs, Produce". */
export function shortName(name) {
  const parts = Object.fromEntries(name.slice(name.indexOf(":") + 1).split(",").map((part) => part.split("=")));
  const of = ["request", "delayedOperation", "group", "topic"].filter((key) => parts[key]).map((key) => parts[key] + (key === "topic" && parts.partition ? `-${parts.partition}` : ""));
  return [parts.name ?? parts.type, ...of].join(", ");
}

/** The registry's key of a full name: without topic, partition, request, operation, group. */
export function registryKey(name) {
  const at = name.indexOf(":");
  return `${name.slice(0, at)}:${name.slice(at + 1).split(",").filter((part) => /^(type|name)=/.test(part)).join(",")}`;
}

/** First what an operator watches, then what moved most. */
export function ranked(rows, meaning) {
  const weight = (row) => (row.after === null ? -9 : 0) + (row.after !== null && meaning?.[registryKey(row.name)]?.normal != null && row.after !== meaning[registryKey(row.name)].normal ? 2 : 0) + (/Partitions|Isr|Controller|Leader|Offline|Unclean/.test(row.name) ? 1 : 0);
  return [...rows].sort((a, b) => weight(b) - weight(a) || a.name.localeCompare(b.name));
}

export class Measure {
  constructor(inquiry, clock) {
    Object.assign(this, { inquiry, clock });
    this.before = null; // {command, t, values}
    this.wait = null;
  }

  /** Right before `command` is sent. The question leaves first, so it is answered first. */
  async begin(command) {
    if (!isFault(command)) return;
    const asked = this.inquiry.fresh("metrics");
    this.wait = asked;
    const entry = await asked;
    if (this.wait === asked && entry.found) this.before = { command, t: entry.t, values: entry.found.values };
  }

  /** From here on, whatever comes. */
  async mark() {
    const entry = await this.inquiry.fresh("metrics");
    if (entry.found) this.before = { command: null, t: entry.t, values: entry.found.values };
  }
}
