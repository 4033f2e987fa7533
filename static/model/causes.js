/**
 * How an acknowledged record was lost: from its write to the election that did without it. No DOM.
 *
 *     broker 1 (leader)  0 1 2 3 4     offset 4 is acknowledged, broker 1 dies
 *     broker 2           0 1 2         became_leader, log end 3: offsets 3 and 4 are gone
 *
 * So the event that loses an offset is the first election after its write whose leader's log ends at or below it;
 * an unclean one is meant where there are several. What led to it, and what cut the offset off elsewhere, stands around it.
 */
import { brokerNode } from "./names.js";

const holds = ({ base_offset: base, last_offset: last }, offset) => base <= offset && offset <= last;
const cuts = ({ before, after }, offset) => after <= offset && offset < before;

/** The first lost record whose offset is known, of the lab's clients before those from outside: {topic, partition, offset}; or null. */
export function firstLost(found) {
  return [...(found?.places?.lost ?? []), ...(found?.outside?.places ?? [])].find((place) => Number.isInteger(place.offset)) ?? null;
}

/** Events of the partition, and those of processes and sessions, oldest first: [{position, event}]. */
function relevant(history, { topic, partition }) {
  const found = [];
  for (let position = history.begin; position < history.end; position += 1) {
    const event = history.at(position);
    const { params, code } = event;
    const ours = params?.topic === topic && String(params.partition) === String(partition);
    if (ours || /^(process_|session_expired|broker_gone|config_changed)/.test(code)) found.push({ position, event, ours });
  }
  return found;
}

/** {written, old, elected}: indexes of the write (-1: not seen) and of the election, and the node that led before. */
function turn(all, offset) {
  const turns = [];
  let [written, elected, old] = [-1, -1, null];
  all.forEach(({ event: { code, params, node }, ours }, index) => {
    if (!ours) return;
    if (code === "log_appended" && params.role === "leader" && holds(params, offset)) written = index;
    if (code === "leader_elected") elected = index;
    if (code !== "became_leader") return;
    const election = all[elected]?.event.params;
    const unclean = election?.reason === "unclean";
    if (election?.leader_epoch === params.leader_epoch && params.leo <= offset && (written >= 0 || unclean)) {
      turns.push({ written, old: written >= 0 ? all[written].event.node : old, elected, unclean, leader: node });
      written = -1;
    }
    old = node;
  });
  return turns.find((one) => one.unclean) ?? turns.at(-1) ?? null;
}

/** The links of the chain, oldest first: [{position, event}]; none when the events that are there do not show it. */
export function lossOf(history, place) {
  const all = relevant(history, place);
  const found = turn(all, place.offset);
  if (!found) return [];
  const { written, old, elected, unclean, leader } = found;
  const last = (from, holds) => {
    for (let index = elected - 1; index > from; index -= 1) if (holds(all[index].event, all[index].ours)) return index;
    return -1;
  };
  const ended = last(written, ({ code, node }) => (code === "process_ended" || code === "process_paused") && node === old);
  const links = [
    unclean
      ? last(-1, ({ code, params }) => code === "config_changed" && params.key === "unclean.leader.election.enable"
        && String(params.value) === "true" && (params.resource !== "topic" || params.name === place.topic))
      : -1,
    last(-1, ({ code }, ours) => ours && code === "isr_shrunk"),
    written,
    ended,
    last(ended, ({ code, params }) => code === "session_expired" && params.owner === old),
    last(ended, ({ code, params }) => code === "broker_gone" && brokerNode(params.broker) === old),
    last(ended, ({ code }, ours) => ours && code === "partition_offline"),
    last(ended, ({ code, node }) => code === "process_started" && node === leader),
    elected,
    all.findIndex(({ event, ours }, index) => index > elected && ours && event.code === "truncated" && cuts(event.params, place.offset)),
  ];
  return [...new Set(links)].filter((index) => index >= 0).sort((one, other) => one - other).map((index) => ({
    position: all[index].position, event: all[index].event
  }));
}
