/**
 * Lost records of which nobody was told where they stand: with acks=0 no answer comes. No DOM.
 *
 *     lost, in order of their numbers    2684 ... 2734          51, offsets not known
 *     cut off the old leader's log       2684 ... 2733          50 offsets
 *
 * What a producer sends to a leader arrives in order, and is cut off in order: the first fifty are those that were cut; the
 * last one was on its way when the leader died. It is certain only where one log was cut once, one producer lost such
 * records there, and nobody else wrote what may have stood among them; elsewhere the places stay unknown.
 */
const nameOf = ({ topic, partition }) => `${topic}-${partition}`;
const isUnplaced = ({ offset, producer }) => offset === null && Boolean(producer);

/** Whether any record was lost at a place that nobody knows. */
export const anyUnplaced = (found) => (found.places?.lost ?? []).some(isUnplaced);

/** What leaders had written and was cut off later: [{topic, partition, from, last}]. `history` as far as it is loaded. */
export function cutsOf(history) {
  const wrote = new Map(); // "node orders-0" -> the end of what it appended as a leader
  const cuts = [];
  for (let at = history.begin; at < history.end; at += 1) {
    const { code, node, params } = history.at(at);
    if (code === "log_appended" && params.role === "leader") wrote.set(`${node} ${nameOf(params)}`, params.last_offset + 1);
    else if (code === "truncated" && params.before > params.after && wrote.get(`${node} ${nameOf(params)}`) === params.before)
      cuts.push({ topic: params.topic, partition: params.partition, from: params.after, last: params.before - 1 });
  }
  return cuts;
}

/** The receipt with these places filled in where they are certain. */
export function placed(found, cuts) {
  const { lost = [] } = found.places ?? {};
  if (!anyUnplaced(found) || found.unknown > 0 || found.outside?.records > 0) return found;
  const places = new Map();
  for (const name of new Set(lost.filter(isUnplaced).map(nameOf))) {
    const here = lost.filter((place) => nameOf(place) === name);
    const mine = here.filter(isUnplaced).sort((one, other) => one.number - other.number);
    const [cut, ...more] = cuts.filter((one) => nameOf(one) === name);
    if (!cut || more.length || new Set(mine.map(({ producer }) => producer)).size > 1) continue;
    const taken = new Set(here.map(({ offset }) => offset));
    const free = [];
    for (let offset = cut.from; offset <= cut.last; offset += 1) if (!taken.has(offset)) free.push(offset);
    if (free.length <= mine.length) free.forEach((offset, index) => places.set(mine[index], offset));
  }
  return { ...found, places: { ...found.places, lost: lost.map((place) => (places.has(place) ? { ...place, offset: places.get(place) } : place)) } };
}
