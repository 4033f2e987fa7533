/**
 * The stage as places to walk through with the keys. Pure: what stands there in, the next place out.
 *
 *     up, down       clients -> broker 1 -> its replicas -> broker 2 ... -> links -> groups -> controllers or tree
 *     left           into the records of a replica, the newest first, then older ones
 *     right          newer ones, and out again behind the newest
 *     home, end      the first and the last place; of records, the oldest and the newest
 */
import { byNumber } from "./names.js";

/** What stands on the stage, in reading order: {kind, name} or, of a replica, {kind: "replica", name: broker, number}. */
export function placesOf({ left = [], right = [], brokers = [], links = [] }, topic, servers) {
  const numbers = Object.keys(topic?.partitions ?? {}).sort(byNumber);
  const side = ({ kind, name }) => ({ kind, name });
  const card = ({ id }) => [
    { kind: "broker", name: id },
    ...numbers.filter((number) => topic.partitions[number].replicas.includes(Number(id))).map((number) => ({ kind: "replica", name: id, number })),
  ];
  const ties = links.map(({ name }) => ({ kind: "link", name }));
  return [...left.map(side), ...brokers.flatMap(card), ...ties, ...right.map(side), ...servers.map((name) => ({ kind: "server", name }))];
}

export const samePlace = (one, other) => one?.kind === other?.kind && one?.name === other?.name && one?.number === other?.number;

/** The offset that a key leads to in a log from `start` to `leo` (exclusive); null: out of the records. */
function offsetAfter(key, offset, { start, leo }) {
  if (key === "Home") return start;
  if (key === "End") return leo - 1;
  if (offset === null) return key === "ArrowLeft" ? leo - 1 : null;
  const next = Math.min(offset, leo - 1) + (key === "ArrowLeft" ? -1 : 1);
  return next >= leo ? null : Math.max(start, next);
}

/** The place and offset after `key`; null when the key leads nowhere. `logOf(place)`: {start, leo} of a replica. */
export function walk(places, spot, key, logOf) {
  if (!places.length) return null;
  const at = places.findIndex((place) => samePlace(place, spot));
  if (at < 0) return { ...(places.find(({ kind }) => kind === "broker") ?? places[0]), offset: null };
  const offset = spot.offset ?? null;
  const log = spot.kind === "replica" ? logOf(spot) : null;
  const inside = log !== null && log.leo > log.start
    && (["ArrowLeft", "ArrowRight"].includes(key) || offset !== null) && !["ArrowUp", "ArrowDown"].includes(key);
  if (inside) return { ...places[at], offset: offsetAfter(key, offset, log) };
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: places.length - 1 }[key];
  if (next === undefined) return null;
  return { ...places[Math.max(0, Math.min(places.length - 1, next))], offset: null };
}
