/** Where in a log an event happened. */

const RANGES = {
  log_appended: ({ base_offset: first, last_offset: last }) => [first, last],
  duplicate_batch: ({ base_offset: first, last_offset: last }) => [first, last],
  truncated: ({ before, after }) => [after, before - 1],
  high_watermark: ({ before, after }) => [Math.min(before ?? after, after - 1), after - 1],
  log_start_moved: ({ offset }) => [offset, offset],
  offsets_committed: ({ offset }) => [offset, offset],
};

/** {topic, partition, first, last}: offsets are null for an event of the partition as a whole; null when it has no partition. */
export function placeOf(event) {
  const { topic, partition } = event?.params ?? {};
  if (topic === undefined || partition === undefined) return null;
  const [first, last] = RANGES[event.code]?.(event.params) ?? [null, null];
  return Number.isInteger(first) && Number.isInteger(last) && first >= 0
    ? { topic, partition: String(partition), first, last }
    : { topic, partition: String(partition), first: null, last: null };
}
