/**
 * The metadata quorum as the events tell it: who votes, in which state and epoch each replica is, how far its log goes, and what
 * is committed.
 *
 *     quorum: { leader, epoch, voters, high_watermark, replicas: { 101: { node, state, epoch, leo, applied } } }
 */
import { brokerOf, byNumber, controllerOf } from "./names.js";

const LATE = 5; // records: two and a half seconds of a cluster in which nothing happens

const idOf = (node) => brokerOf(node) ?? controllerOf(node);

function replica(draft, node) {
  const id = idOf(node);
  return id === null ? null : Object.assign(draft.make("quorum", "replicas", id), { node });
}

/** Replicas that have no vote, sorted. */
export function observersOf(quorum) {
  const voters = (quorum?.voters ?? []).map(String);
  return Object.keys(quorum?.replicas ?? {}).filter((id) => !voters.includes(id)).sort(byNumber);
}

/** How many records of what is committed a replica lacks; null where nobody knows. */
export function lagOf(quorum, id) {
  const leo = quorum?.replicas?.[id]?.leo;
  return leo === undefined || !(quorum.high_watermark >= 0) ? null : Math.max(0, quorum.high_watermark - leo);
}

/** Replicas whose log lacks more of what is committed than comes between two fetches. */
export function lagging(quorum) {
  return Object.keys(quorum?.replicas ?? {}).filter((id) => lagOf(quorum, id) > LATE).sort(byNumber);
}

export const quorum = {
  quorum_state(draft, { after, epoch, leader }, { node }) {
    const one = replica(draft, node);
    if (!one) return;
    Object.assign(one, { state: after, epoch });
    const all = draft.make("quorum");
    if (epoch >= (all.epoch ?? 0)) Object.assign(all, { epoch, leader: leader ?? (epoch > (all.epoch ?? 0) ? null : all.leader ?? null) });
  },
  metadata_appended(draft, { last_offset }, { node }) {
    const one = replica(draft, node);
    if (one) one.leo = last_offset + 1;
  },
  metadata_snapshot(draft, { offset, how }, { node }) {
    const one = how === "fetched" ? replica(draft, node) : null;
    if (one) one.leo = Math.max(one.leo ?? 0, offset);
  },
};

/** What is committed, as the leader of the quorum says. */
export function committed(draft, after) {
  const all = draft.make("quorum");
  all.high_watermark = Math.max(all.high_watermark ?? 0, after);
}

/** A process that has ended has no copy that anybody could fetch. */
export function leaveQuorum(draft, node) {
  const id = idOf(node);
  if (id !== null && draft.root.quorum?.replicas?.[id]) delete draft.own("quorum", "replicas")[id];
}
