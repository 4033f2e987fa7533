/**
 * A reassignment of a topic as `kafka-reassign-partitions` does it: --generate, --execute, --verify, --cancel. No DOM.
 *
 *     generate(3 partitions, 2 replicas, brokers 1 2 3)  ->  0: [1, 2]   1: [2, 3]   2: [3, 1]
 *
 * Leaders go round the brokers; the other replicas of a partition stand behind its leader, by one place more each time
 * that the leaders have gone round, so that the load of a dead broker falls on all others (Kafka's
 * AdminUtils.assignReplicasToBrokers, without racks). The tool begins at random, here the first broker leads partition 0.
 */

/** The brokers of each of `partitions`, the preferred leader first; null where there are fewer brokers than replicas. */
export function generate(partitions, factor, brokers) {
  const n = brokers.length;
  if (!n || factor > n) return null;
  return Array.from({ length: partitions }, (_, partition) => {
    const first = partition % n;
    const shift = Math.floor(partition / n);
    const others = Array.from({ length: factor - 1 }, (_, at) => (first + 1 + ((shift + at) % (n - 1))) % n);
    return [first, ...others].map((place) => brokers[place]);
  });
}

const numbersOf = ({ partitions }) => Object.keys(partitions).map(Number).sort((a, b) => a - b);

/** The plan for a topic of the state: {topic, rows: [{partition, before, replicas}]}, or null. */
export function planFor(state, topic, brokers) {
  const found = state.topics[topic];
  if (!found) return null;
  const numbers = numbersOf(found);
  const factor = Math.max(...numbers.map((number) => found.partitions[number].replicas.length));
  const replicas = generate(numbers.length, factor, brokers);
  return replicas && { topic, rows: numbers.map((partition, at) => ({ partition, before: found.partitions[partition].replicas, replicas: replicas[at] })) };
}

const same = (a, b) => a.length === b.length && a.every((one, at) => one === b[at]);

/** How far one row is: open (nothing was asked yet), moving, done, or gone. `moving`: {"orders-0": {adding, removing}}. */
export function progressOf(row, topic, state, moving = {}) {
  const partition = state.topics[topic]?.partitions[row.partition];
  if (!partition) return "gone";
  if (moving[`${topic}-${row.partition}`]) return "moving";
  return same(partition.replicas, row.replicas) ? "done" : "open";
}

const asked = ({ topic, rows, throttle }, state, moving, at) => rows.filter((row) => progressOf(row, topic, state, moving) === at)
  .map(({ partition, replicas }) => ({ do: "reassign", topic, partition, replicas, ...(throttle ? { throttle } : {}) }));

/** The commands that carry out what is not done yet, under the plan's throttle where it has one: bytes a second. */
export const execution = (plan, state, moving) => asked(plan, state, moving, "open");

/** The commands that give what is under way another throttle: the same replicas are asked for again. */
export const throttling = (plan, state, moving, throttle) => asked({ ...plan, throttle }, state, moving, "moving");

/** The command that takes throttles away once nothing moves any more. */
export const verification = ({ topic }) => ({ do: "verify_reassignment", topic });

/** The commands that take back what is under way, and a throttle with it. */
export function cancellation(plan, state, moving, throttles = []) {
  const { topic, rows } = plan;
  const found = rows.filter((row) => progressOf(row, topic, state, moving) === "moving")
    .map(({ partition }) => ({ do: "cancel_reassignment", topic, partition }));
  return found.length && throttles.length ? [...found, verification(plan)] : found;
}

/** What stands of throttles, of a look at the balance: brokers, limits, what passes, replicas; null where there is none, or no look yet. */
export function throttleOf(found) {
  const { throttles = [], forgotten = false } = found ?? {};
  if (!throttles.length) return null;
  const once = (values) => [...new Set(values)].sort((a, b) => (a < b ? -1 : 1));
  const parts = throttles.flatMap(({ topics }) => Object.entries(topics).flatMap(
    ([topic, numbers]) => (numbers ? numbers.map((number) => `${topic}-${number}`) : [topic])));
  return {
    brokers: once(throttles.map((one) => one.broker)), bounds: once(throttles.map((one) => one.bound).filter((bound) => bound !== null)),
    rate: Math.max(...throttles.map((one) => one.rate)), names: once(parts), forgotten
  };
}
