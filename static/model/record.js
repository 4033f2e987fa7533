/**
 * One record as a thing: when it was written and by whom, who has it, who has read it. Pure: history and state in.
 *
 *     Produce of producer-orders -> log_appended (leader) -> log_appended (follower) ...
 *
 * An offset may have held several records: the one that is meant stands in the last append of that replica before the
 * moment that is looked at.
 */
import { readersOf } from "./readers.js";
import { brokerNode } from "./names.js";

/** "orders-0" -> {topic, partition}. */
export const partitionOf = (name) => ({ topic: name.slice(0, name.lastIndexOf("-")), partition: name.slice(name.lastIndexOf("-") + 1) });

function holds({ code, params }, { topic, partition }, offset) {
  return code === "log_appended" && params.topic === topic && String(params.partition) === partition
    && params.base_offset <= offset && offset <= params.last_offset;
}

/** The last position before `viewed`, and not before `from`, at which `wanted(event)` holds; null when there is none that is known. */
function lastBefore(history, viewed, wanted, from = history.begin) {
  for (let at = viewed - 1; at >= Math.max(from, history.begin); at -= 1) if (wanted(history.at(at))) return at;
  return null;
}

/** The client whose Produce request has led to the append at `position`, as far as its causes are known. */
function writerOf(history, position) {
  const chain = [position, ...history.causes(position, 8)];
  for (const at of chain) {
    const found = history.at(at);
    const near = found?.code === "request_received" && found.params.api === "Produce" ? found : null;
    if (near) return { source: String(near.params.source), client: near.params.client_id ?? null };
    // Events of one sequence have one cause: the request stands among them.
    for (let beside = at - 1; history.at(beside)?.seq === found?.seq; beside -= 1) {
      const other = history.at(beside);
      if (other.code === "request_received" && other.params.api === "Produce")
        return { source: String(other.params.source), client: other.params.client_id ?? null };
    }
  }
  return null;
}

/** {written, writer, copies: {broker: position}} of the record that `broker` had at `offset`; null: not known any more. */
export function originOf(history, viewed, { name, offset, broker }) {
  const place = partitionOf(name);
  const own = lastBefore(history, viewed, (event) => holds(event, place, offset) && event.node === brokerNode(broker));
  if (own === null) return null;
  const event = history.at(own);
  const written = event.params.role === "leader" ? own : lastBefore(history, own, (other) => holds(other, place, offset) && other.params.role === "leader");
  const crc = event.params.base_offset === offset && event.params.last_offset === offset ? event.params.crc : null;
  return { appended: own, written, writer: written === null ? null : writerOf(history, written), crc, base: event.params.base_offset };
}

/** The origin of one record, looked for in the whole history once; while the viewer goes on only in what is new. */
export class Tracer {
  constructor() {
    this.kept = null; // {key, blocks, viewed, found}
  }

  of(history, viewed, record) {
    const key = `${history.begin} ${JSON.stringify(record)}`;
    const { kept } = this;
    const same = kept?.key === key && kept.blocks === history.blocks && viewed >= kept.viewed;
    if (same && lastBefore(history, viewed, (event) => holds(event, partitionOf(record.name), record.offset), kept.viewed) === null) kept.viewed = viewed;
    else this.kept = { key, blocks: history.blocks, viewed, found: originOf(history, viewed, record) };
    return this.kept.found;
  }
}

/** Each group that has to do with the partition, and whether it has read and committed this offset. */
export function readBy(state, name, offset) {
  const { topic, partition } = partitionOf(name);
  return readersOf(state, topic, partition).map((reader) => ({
    ...reader, done: reader.committed !== null && reader.committed > offset, seen: Math.max(reader.position ?? -1, reader.committed ?? -1) > offset,
  }));
}
