/**
 * Keys and values of records, asked for once where somebody wants to see them: the cells of the stage, a record that is open.
 *
 * They are read as they stand on a replica now; the caller says which checksum the record had at the moment that is
 * looked at, and another one is another record.
 */
import { api } from "../net/api.js";
import { partitionOf } from "../model/record.js";

const MOST = 4000; // records that are remembered
const PAGE = 60;
const EVERY_MS = 350;

/** A key or a value of REST as a text; null for a null. */
export function plain(value) {
  if (value === null || value === undefined) return null;
  return value.text ?? `0x${[...atob(value.base64)].map((one) => one.charCodeAt(0).toString(16).padStart(2, "0")).join("")}`;
}

export class Records {
  constructor(app, ask = api, now = () => performance.now()) {
    Object.assign(this, { app, ask, now });
    this.known = new Map(); // "run orders-0 3" -> {key, value, headers, timestamp, crc, batch, magic, compression} or {error}
    this.wanted = new Map(); // "orders-0" -> [least, most]
    this.asked = -Infinity;
    this.waiting = false;
  }

  #key(name, offset, broker = "") {
    return `${this.app.desk.run} ${name} ${offset} ${broker}`;
  }

  /** What a cell shows of a record: its key or its value; undefined until it is known. */
  text(name, offset, what) {
    const found = this.known.get(this.#key(name, offset));
    if (found) return found.error ? null : found[what] ?? "∅";
    const [least, most] = this.wanted.get(name) ?? [offset, offset];
    this.wanted.set(name, [Math.min(least, offset), Math.max(most, offset)]);
    return undefined;
  }

  /** Ask for what cells have wanted; called now and then. */
  async tick() {
    if (!this.wanted.size || this.waiting || this.now() - this.asked < EVERY_MS) return;
    const [[name, [least]]] = this.wanted;
    this.wanted.delete(name);
    await this.#load(name, least, PAGE);
  }

  /** The record at an offset of one replica: {key, value, ...}, {error}, or null until the answer is there. */
  one({ name, offset, broker }) {
    const found = this.known.get(this.#key(name, offset, broker));
    if (found === undefined && !this.waiting) this.#load(name, offset, 1, broker);
    return found ?? null;
  }

  async #load(name, offset, limit, broker = "") {
    const { desk } = this.app;
    const { topic, partition } = partitionOf(name);
    Object.assign(this, { waiting: true, asked: this.now() });
    if (this.known.size > MOST) this.known.clear();
    const place = `partition=${partition}&offset=${offset}&limit=${limit}&run=${encodeURIComponent(desk.run)}${broker === "" ? "" : `&replica=${broker}`}`;
    try {
      const found = await this.ask(`/labs/${desk.lab}/topics/${encodeURIComponent(topic)}/records?${place}`);
      this.#keep(name, broker, found);
      if (!this.known.has(this.#key(name, offset, broker))) this.known.set(this.#key(name, offset, broker), { error: "gone" });
    } catch (error) {
      this.known.set(this.#key(name, offset, broker), { error: error.message });
    }
    this.waiting = false;
    this.app.set({});
  }

  #keep(name, broker, { batches, records }) {
    const crcs = new Map(batches.map((batch) => [batch.base_offset, batch]));
    for (const { offset, key, value, headers, timestamp, batch } of records) {
      const { crc, producer_id: producer, base_sequence: sequence, count, magic, compression } = crcs.get(batch) ?? {};
      const written = { crc, producer, sequence, count, batch, magic, compression };
      this.known.set(this.#key(name, offset, broker), { key: plain(key), value: plain(value), headers, timestamp, ...written });
    }
  }
}
