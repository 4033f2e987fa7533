/** Events of consumer groups and of the built-in clients. */
import { brokerOf } from "./names.js";

function group(draft, name) {
  const found = draft.make("groups", name);
  found.state ??= "Empty";
  found.generation ??= 0;
  found.coordinator ??= null;
  found.members ??= [];
  found.offsets ??= {};
  return found;
}

/** A member that stood in front of a damaged batch, and whose group commits what is behind it, has got past: another leader has it well. */
function readOn(draft, { group: name, topic, partition, offset }) {
  for (const [id, client] of Object.entries(draft.root.clients)) {
    const past = ([of, number, at]) => of === topic && number === partition && at < offset;
    if (client.over === "damaged" && client.group === name && client.positions?.some(past)) draft.own("clients", id).over = null;
  }
}

export const groups = {
  group_state(draft, params, { node }) {
    if (params.after === "Dead") {
      delete draft.make("groups")[params.group];
      if (draft.root.shares?.[params.group]) delete draft.make("shares")[params.group];
      return;
    }
    const coordinator = brokerOf(node);
    const found = Object.assign(group(draft, params.group), { state: params.after, generation: params.generation });
    if (params.protocol) found.protocol = params.protocol;
    if (coordinator !== null) draft.own("groups", params.group).coordinator = Number(coordinator);
  },
  member_joined(draft, params) {
    const found = group(draft, params.group);
    const others = found.members.filter((member) => member.id !== params.member);
    found.members = [...others, { id: params.member, client_id: params.client_id, assignment: {} }];
    const client = draft.own("clients", params.client_id);
    if (client) client.group = params.group;
  },
  member_left(draft, params) {
    const found = group(draft, params.group);
    found.members = found.members.filter((member) => member.id !== params.member);
  },
  group_assigned(draft, params) {
    const found = group(draft, params.group);
    found.generation = params.generation;
    found.members = found.members.map((member) => ({ ...member, assignment: params.assignment?.[member.id] ?? {} }));
  },
  member_reconciled(draft, params) {
    const found = group(draft, params.group);
    const now = { assignment: params.assigned ?? {}, epoch: params.epoch, revoking: params.revoking ?? {}, state: params.state };
    found.members = found.members.map((member) => (member.id === params.member ? { ...member, ...now } : member));
  },
  group_converted(draft, params) {
    const found = Object.assign(group(draft, params.group), { kind: params.after, generation: params.generation });
    if (params.after === "classic") found.members = found.members.map(({ epoch, revoking, state, ...rest }) => rest);
  },
  offsets_committed(draft, params) {
    group(draft, params.group);
    draft.make("groups", params.group, "offsets", params.topic)[params.partition] = params.offset;
    readOn(draft, params);
  },
  offsets_deleted(draft, params) {
    group(draft, params.group);
    const offsets = draft.make("groups", params.group, "offsets", params.topic);
    delete offsets[params.partition];
    if (!Object.keys(offsets).length) delete draft.make("groups", params.group, "offsets")[params.topic];
  },
  send_failed(draft, params, { node }) {
    const client = draft.own("clients", node);
    if (client) client.failed = (client.failed ?? 0) + Number(params.count ?? 0);
  },
  assignment_taken(draft, params, { node }) {
    const client = draft.own("clients", node);
    if (client) Object.assign(client, { assignment: params.partitions, reads_from: {} });
  },
  partitions_revoked(draft, params, { node }) {
    const client = draft.own("clients", node);
    if (client) client.assignment = params.kept;
  },
  read_replica(draft, { topic, partition, broker, reason }, { node }) {
    if (!draft.own("clients", node)) return;
    const from = draft.make("clients", node, "reads_from", topic);
    if (reason === "nearest") from[partition] = broker;
    else delete from[partition];
  },
};
