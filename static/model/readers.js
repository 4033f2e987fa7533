/**
 * Who reads what, as far as a state tells: members of groups with their partitions, positions and committed offsets. No DOM.
 *
 * What a built-in member reads is its own word (`assignment_taken`, `partitions_revoked`): while a group rebalances it
 * may have given everything back (eager) or go on with what it keeps (cooperative). Of clients from outside only the
 * group's assignment is known, and it holds while the group is stable.
 */
import { leaderLog } from "./figures.js";
import { byNumber, isReader } from "./names.js";

const COOPERATIVE = "cooperative-sticky";
export const rebalances = (group) => group.state === "PreparingRebalance" || group.state === "CompletingRebalance";

/** Whether its members have given everything back until the rebalance is over (eager). */
const pauses = (group) => rebalances(group) && group.protocol !== COOPERATIVE;

/** One letter or two for each name: what tells them apart when it is short (`reader-a` -> a), else a, b, c, ... */
export function badges(names) {
  const ends = names.map((name) => /[-_.]?([a-z0-9]{1,2})$/i.exec(name)?.[1] ?? "");
  const own = names.every((name, index) => ends[index] && /[-_.]/.test(name.at(-ends[index].length - 1) ?? "")) && new Set(ends).size === names.length;
  return Object.fromEntries(names.map((name, index) => [name, own ? ends[index] : String.fromCharCode(97 + (index % 26))]));
}

const partitionsOf = (assignment) => Object.entries(assignment ?? {}).flatMap(([topic, numbers]) => numbers.map((number) => [topic, String(number)]));

/** The consumers of a group that the lab has started, running or not: [name, client]. */
const ownOf = (state, name) => Object.entries(state.clients).filter(([, client]) => isReader(client) && (client.group
  ?? client.settings?.["group.id"]) === name);

/** What a client of the lab reads: its own word, else the partitions of its positions. */
function reads(client) {
  if (client.state !== "running") return [];
  return client.assignment ? partitionsOf(client.assignment) : (client.positions ?? []).map(([topic, number]) => [topic, String(number)]);
}

/** The badges of `names`, none of which is in `taken` by then: two readers of one log are two letters, whatever groups they are in. */
export function badgesBeside(names, taken) {
  const wanted = badges(names);
  let next = 0;
  const letter = (at) => (at < 26 ? "" : String.fromCharCode(96 + Math.floor(at / 26))) + String.fromCharCode(97 + (at % 26));
  return Object.fromEntries(names.map((name) => {
    let sign = wanted[name];
    while (taken.has(sign)) sign = letter(next++);
    taken.add(sign);
    return [name, sign];
  }));
}

const kept = new WeakMap(); // state -> what `gatherAll` finds

/** Everybody who reads: the members of each group, and the badges of those who are in none. */
function gatherAll(state) {
  const taken = new Set();
  const groups = new Map(Object.keys(state.groups).sort().map((name) => {
    const members = gather(state, name);
    const signs = badgesBeside(members.map(({ id }) => id), taken);
    return [name, members.map((member) => ({ ...member, badge: signs[member.id] }))];
  }));
  const alone = Object.keys(state.clients).filter((name) => isAlone(state.clients[name])).sort();
  return { groups, alone: badgesBeside(alone, taken) };
}

function readersIn(state) {
  if (!kept.has(state)) kept.set(state, gatherAll(state));
  return kept.get(state);
}

/** The members of a group: [{id, name, badge, gone, paused, over, partitions: [[topic, number]], positions}], by name. */
export const membersOf = (state, name) => readersIn(state).groups.get(name);

/** What a client of the lab calls itself to brokers. */
const clientId = (name, { settings }) => settings?.["client.id"] || name;

/** Whether a client still believes in what it was given by a group that it is in no more: it was too slow, and has left or was expelled. */
const hasLeft = ({ members }, name, client) => members.length > 0 && partitionsOf(client.assignment).length > 0
  && !members.some(({ client_id: member }) => member === clientId(name, client));

function gather(state, name) {
  const group = state.groups[name];
  const own = new Map(ownOf(state, name));
  const called = new Set([...own].map(([id, client]) => clientId(id, client)));
  const known = group.members.filter(({ client_id: id }) => !called.has(id));
  const found = [...own].map(([id, client]) => {
    const gone = client.state === "stopped" || hasLeft(group, id, client);
    const partitions = gone || pauses(group) ? [] : reads(client);
    return { id, name: id, gone, paused: client.state === "paused", over: client.over ?? null, partitions, positions: client.positions ?? [] };
  });
  for (const { id, client_id: client, assignment } of known) {
    found.push({ id, name: client ?? id, gone: false, paused: false, over: null, partitions: !pauses(group) ? partitionsOf(assignment) : [], positions: [] });
  }
  return found.sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
}

const positionIn = (positions, topic, number) => positions?.find(([of, one]) => of === topic && String(one) === String(number))?.[2] ?? null;

const isAlone = (client) => client.kind === "consumer" && !client.group && !client.settings?.["group.id"];

/** Consumers of the lab that are in no group: each reads what it has a position of, and commits nothing. */
function alone(state, topic, number, end) {
  return Object.entries(state.clients).flatMap(([name, client]) => {
    const position = isAlone(client) && client.state === "running" ? positionIn(client.positions, topic, number) : null;
    return position === null
      ? []
      : [{
        group: name, badge: readersIn(state).alone[name], member: name, position, committed: null, reading: true, paused: false, over: client.over ?? null,
        lag: Math.max(0, end - position)
      }];
  });
}

/** Who reads a partition: [{group, badge, position, committed, reading, over, lag}], one for each group that has to do with it. */
export function readersOf(state, topic, number) {
  const partition = state.topics[topic]?.partitions[number];
  const end = partition ? leaderLog(partition)?.hw ?? 0 : 0;
  const found = alone(state, topic, number, end);
  for (const name of Object.keys(state.groups).sort()) {
    const members = membersOf(state, name);
    const committed = state.groups[name].offsets?.[topic]?.[number] ?? null;
    const reader = members.find((member) => member.partitions.some(([of, one]) => of === topic && one === String(number)));
    // Of one that is gone and has committed nothing its last position is known.
    const last = reader ?? members.find(({ gone, positions }) => gone && positionIn(positions, topic, number) !== null);
    if (!last && committed === null) continue;
    const told = positionIn((committed === null ? last : reader)?.positions, topic, number);
    const position = told === null ? null : Math.max(told, committed ?? 0); // positions are told now and then, commits at once
    const from = committed ?? position;
    found.push({
      group: name, badge: reader?.badge ?? null, member: reader?.id ?? null, position, committed, reading: Boolean(reader),
      paused: Boolean(reader?.paused), over: reader?.over ?? null, lag: from === null ? null : Math.max(0, end - from)
    });
  }
  return found;
}

/** Records that a group has still to read: the sum of the lengths that the stage shows, also of members that have committed nothing yet, or are gone. */
export function lagOf(state, name) {
  const offsets = partitionsOf(Object.fromEntries(Object.entries(state.groups[name].offsets ?? {}).map(([topic, all]) => [topic, Object.keys(all)])));
  const members = membersOf(state, name);
  const left = members.flatMap(({ gone, positions }) => (gone ? positions.map(([topic, number]) => [topic, String(number)]) : []));
  const places = [...offsets, ...members.flatMap(({ partitions }) => partitions), ...left];
  const apart = new Map(places.map(([topic, number]) => [`${topic}-${number}`, [topic, number]]));
  const lags = [...apart.values()].map(([topic, number]) => readersOf(state, topic, number).find(({ group }) => group === name)?.lag ?? 0);
  return lags.reduce((sum, one) => sum + one, 0);
}

/** Partition numbers of a topic as people write them: 0-2, 5. */
export function numbersText(numbers) {
  const sorted = [...numbers].sort(byNumber).map(Number);
  const found = [];
  for (const number of sorted) {
    const last = found.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else found.push([number, number]);
  }
  return found.map(([from, to]) => (to > from + 1 ? `${from}–${to}` : to > from ? `${from} ${to}` : String(from))).join(" ");
}
