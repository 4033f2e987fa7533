/**
 * Messages under way while the cluster runs: which are drawn, how, and until when. No DOM.
 *
 * A message is under way for FLIGHT_MS on the screen whatever it took in the cluster (on a link without delay it takes
 * none). Messages of one kind on one way within MERGE_MS travel as one dot with a count.
 *
 *     up to LIMIT dots    each is drawn and labelled by itself: `flights`
 *     above               one crowd a way counts all that are on it: `crowds`, until half of LIMIT would do
 *
 * A crowd is a list of waves, one each MERGE_MS, that keep how many of each kind they hold: no message is left out, and
 * what is drawn is bounded by the number of ways. Failed answers are a crowd of their own.
 */
export const FLIGHT_MS = 700;
const MERGE_MS = 160;
const LIMIT = 500;
const OUTSIDE = "outside";
const CHATTER = new Set(["Heartbeat", "BrokerHeartbeat", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "Metadata", "ApiVersions"]);

/** What an event sends over a way: {from, to, answer, label, quiet} or null. */
export function flightOf(event) {
  const { code, node, params } = event;
  if (code === "request_sent") return { from: node, to: params.to, answer: false, label: params.api, quiet: CHATTER.has(params.api) };
  if (code === "request_received" && /^\d+$/.test(String(params.source))) {
    return { from: String(params.source), to: node, answer: false, label: params.api, quiet: CHATTER.has(params.api) };
  }
  if (code === "response_sent") {
    const failed = params.error && params.error !== "NONE";
    return { from: node, to: String(params.to), answer: true, label: failed ? params.error : params.api, quiet: !failed, failed };
  }
  if (code === "watch_fired") return { from: node, to: params.owner, answer: true, label: params.path, quiet: false };
  return null;
}

/** All connections from outside end at one box. */
const endOf = (node) => (/^\d+$/.test(node) ? OUTSIDE : node);
const wayOf = ({ from, to, answer, failed }) => `${endOf(from)}>${endOf(to)}:${answer}:${Boolean(failed)}`;

export class Traffic {
  /** `stay`: milliseconds that a message stays on the screen; `limit`: how many are drawn by themselves. */
  constructor(stay = FLIGHT_MS, limit = LIMIT) {
    Object.assign(this, { stay, limit });
    this.clear();
  }

  clear() {
    this.flights = []; // {from, to, answer, failed, quiet, label, seq, start, count}
    this.crowds = new Map(); // way -> {from, to, answer, failed, waves: [{seq, start, count, kinds}]}
    this.recent = new Map(); // "from>to:label" -> the flight that like messages still join
  }

  get busy() {
    return this.flights.length > 0 || this.crowds.size > 0;
  }

  /** Whether nothing but polling is under way: followers and consumers that ask whether there is something new. */
  get calm() {
    return this.crowds.size === 0 && this.flights.every(({ quiet, failed, label }) => !failed && (quiet || label === "Fetch"));
  }

  /** The dots that would be needed to draw every message by its kind. */
  get wanted() {
    let dots = this.flights.length;
    for (const { waves } of this.crowds.values()) for (const { kinds } of waves) dots += kinds.size;
    return dots;
  }

  /** Start what `events` send. */
  add(events, wall) {
    this.expire(wall);
    let wanted = this.wanted;
    for (const event of events) {
      const flight = flightOf(event);
      if (!flight || !flight.to) continue;
      const made = { ...flight, seq: event.seq, start: wall, count: 1 };
      if (this.crowds.size > 0 && wanted >= this.limit / 2) wanted += this.#crowd(made, wall);
      else if (!this.#joins(made, wall)) wanted = this.#begin(made, wanted);
    }
  }

  /** A dot of its own, or, where that is one too many, a crowd of all that is under way; answers what is wanted then. */
  #begin(made, wanted) {
    if (wanted < this.limit) {
      this.recent.set(`${made.from}>${made.to}:${made.label}`, made);
      this.flights.push(made);
      return wanted + 1;
    }
    for (const one of this.flights.splice(0)) this.#crowd(one, one.start);
    this.recent.clear();
    this.#crowd(made, made.start);
    return this.wanted;
  }

  /** Whether `made` joins a like message that has just left. */
  #joins(made, wall) {
    const before = this.recent.get(`${made.from}>${made.to}:${made.label}`);
    if (!before || wall - before.start >= MERGE_MS) return false;
    before.count += 1;
    return true;
  }

  /** Put a message into the crowd of its way; answers how many kinds there are more than before. */
  #crowd(one, start) {
    const key = wayOf(one);
    if (!this.crowds.has(key)) this.crowds.set(key, { from: endOf(one.from), to: endOf(one.to), answer: one.answer, failed: one.failed, waves: [] });
    const { waves } = this.crowds.get(key);
    let wave = waves.at(-1);
    if (!wave || start - wave.start >= MERGE_MS) waves.push(wave = { seq: one.seq, start, count: 0, kinds: new Map() });
    wave.count += one.count;
    const before = wave.kinds.get(one.label) ?? 0;
    wave.kinds.set(one.label, before + one.count);
    return before === 0 ? 1 : 0;
  }

  /** Forget what has arrived. */
  expire(wall) {
    const under = ({ start }) => wall - start < this.stay;
    this.flights = this.flights.filter(under);
    for (const [key, crowd] of this.crowds) {
      crowd.waves = crowd.waves.filter(under);
      if (!crowd.waves.length) this.crowds.delete(key);
    }
    for (const [key, one] of this.recent) if (wall - one.start >= MERGE_MS) this.recent.delete(key);
  }

  /** All that is under way, as `sumsOf` gives it. */
  sums() {
    const waves = [...this.crowds.values()].flatMap((crowd) => crowd.waves.flatMap(({ kinds }) => [...kinds].map(([label, count]) => ({
      ...crowd, label, count
    }))));
    return sumsOf([...this.flights, ...waves]);
  }
}

/** Messages by way and kind, most first: [{from, to, answer, failed, label, count}]. */
export function sumsOf(messages) {
  const found = new Map();
  for (const { from, to, answer, failed, label, count = 1 } of messages) {
    const one = { from: endOf(from), to: endOf(to), answer, failed, label };
    const key = `${wayOf(one)}:${label}`;
    found.set(key, { ...one, count: (found.get(key)?.count ?? 0) + count });
  }
  return [...found.values()].sort((left, right) => right.count - left.count);
}

/** What a crowd holds, in one label: "Fetch ×120 · Produce ×30 …". */
export function crowdLabel({ waves }, most = 2) {
  const sums = new Map();
  for (const { kinds } of waves) for (const [label, count] of kinds) sums.set(label, (sums.get(label) ?? 0) + count);
  const named = [...sums].sort((left, right) => right[1] - left[1]);
  const rest = named.slice(most).reduce((sum, [, count]) => sum + count, 0);
  return [...named.slice(0, most).map(([label, count]) => `${label} ×${count}`), ...(rest ? [`+${rest}`] : [])].join(" · ");
}
