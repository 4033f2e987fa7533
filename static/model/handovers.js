/**
 * Who has to give up what, and who waits for it, while a group is on its way to its target (KIP-848). No DOM.
 *
 *     consumer-a has 0 1 2 3, its target is 0 1      gives 2 3 to consumer-b, be it told of it already or not
 *     consumer-b has nothing, its target is 2 3      waits for 2 3 from consumer-a
 *
 * Members are those of a group's description: {id, client_id, assignment, revoking, target}, each of the three {topic: [partition]}.
 */
const partitions = (assignment) => Object.entries(assignment ?? {}).flatMap(([topic, numbers]) => numbers.map((number) => `${topic}-${number}`));

const nameOf = ({ client_id: client, id }) => client ?? id;

/** Each member's id -> {gives, to, waits, from}: partitions, and the names of the other members. */
export function handovers(members) {
  const all = members.map((one) => {
    const target = partitions(one.target);
    const holds = [...new Set([...partitions(one.assignment), ...partitions(one.revoking)])];
    return {
      one, gives: holds.filter((name) => !target.includes(name)),
      waits: target.filter((name) => !partitions(one.assignment).includes(name)),
    };
  });
  const whose = (list, names) => all.filter((other) => other[list].some((name) => names.includes(name))).map(({ one }) => nameOf(one));
  return Object.fromEntries(all.map(({ one, gives, waits }) => [one.id, { gives, to: whose("waits", gives), waits, from: whose("gives", waits) }]));
}
