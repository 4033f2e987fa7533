/**
 * What became of single records, by partition: from the receipt, and from checksums that stand twice in a log. No DOM.
 *
 *     lost        acknowledged, and no leader has it any more
 *     doubled     offset -> how often its value stands in the log
 *     reordered   behind a later record of the same producer
 *     ranges      lost ones as ranges: [[from, last], ...]
 *     borders     where these begin, and where they end
 */
const NONE = Object.freeze({ lost: new Set(), doubled: new Map(), reordered: new Set(), ranges: [], borders: [] });
const kept = new WeakMap();

const nameOf = ({ topic, partition }) => `${topic}-${partition}`;

function gather(found) {
  const fates = new Map();
  const of = (place) => {
    const name = nameOf(place);
    if (!fates.has(name)) fates.set(name, { lost: new Set(), doubled: new Map(), reordered: new Set() });
    return fates.get(name);
  };
  const { lost = [], duplicated = [], reordered = [] } = found.places ?? {};
  for (const place of lost) if (Number.isInteger(place.offset)) of(place).lost.add(place.offset);
  for (const place of found.outside?.places ?? [])
    for (let offset = place.offset; offset <= (place.last ?? place.offset); offset += 1) of(place).lost.add(offset);
  for (const place of duplicated) of(place).doubled.set(place.offset, 2);
  for (const place of reordered) of(place).reordered.add(place.offset);
  for (const one of fates.values()) {
    one.ranges = rangesOf(one.lost);
    one.borders = one.ranges.flatMap(([from, last]) => [from, last + 1]);
  }
  return fates;
}

/** {lost, doubled, reordered} of "orders-0" as a receipt (null: none yet) has them. */
export function fatesOf(found, name) {
  if (!found) return NONE;
  if (!kept.has(found)) kept.set(found, gather(found));
  return kept.get(found).get(name) ?? NONE;
}

/** Offset -> how many batches with its checksum the log's tail has: the same batch was appended again. */
export function doubledIn(log) {
  const seen = new Map();
  for (const [, , crc] of log.tail ?? []) if (crc !== null) seen.set(crc, (seen.get(crc) ?? 0) + 1);
  const found = new Map();
  for (const [base, last, crc] of log.tail ?? []) {
    const times = crc === null ? 1 : seen.get(crc);
    for (let offset = base; times > 1 && offset <= last; offset += 1) found.set(offset, times);
  }
  return found;
}

/** Offsets as ranges: [3, 4, 5, 9] -> [[3, 5], [9, 9]]. */
export function rangesOf(offsets) {
  const found = [];
  for (const offset of [...offsets].sort((one, other) => one - other)) {
    const last = found.at(-1);
    if (last && offset <= last[1] + 1) last[1] = offset;
    else found.push([offset, offset]);
  }
  return found;
}

/** Whether a record without a known place is the next of its producer. */
const isNext = (last, place) => last.offset === null && place.offset === null && last.producer && place.number === (last.lastNumber ?? last.number) + 1
  && ["kind", "topic", "partition", "producer"].every((name) => last[name] === place[name]);

/** Places of a receipt that stand in one row: [{...first place, last, n}], neighbours of one kind and partition as one. */
export function stretchesOf(places) {
  const found = [];
  for (const place of places) {
    const last = found.at(-1);
    const same = last && !place.outside && Number.isInteger(place.offset) && place.offset >= 0
      && ["kind", "topic", "partition", "outside"].every((name) => last[name] === place[name]);
    if (same && Math.abs(place.offset - last.end) === 1)
      Object.assign(last, {
        offset: Math.min(last.offset, place.offset), last: Math.max(last.last, place.offset), end: place.offset, n: last.n + 1
      });
    else if (last && isNext(last, place)) Object.assign(last, { lastNumber: place.number, n: last.n + 1 });
    else found.push({ ...place, last: place.last ?? place.offset, end: place.offset, n: place.outside ? (place.last ?? place.offset) - place.offset + 1 : 1 });
  }
  return found;
}
