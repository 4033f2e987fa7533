"""Who reads what: the assignors of a consumer group, as pure functions.

The leader of a group (a consumer, not a broker) gets everybody's subscription and shares out the
partitions. Same input, same result: members are taken in the order of their ids.

Three consumers C0, C1, C2 subscribe to topics t0 and t1 with 4 partitions each:

| assignor | C0 | C1 | C2 |
|---|---|---|---|
| range | t0-0 t0-1 t1-0 t1-1 | t0-2 t1-2 | t0-3 t1-3 |
| roundrobin | t0-0 t0-3 t1-2 | t0-1 t1-0 t1-3 | t0-2 t1-1 |
| sticky, from nothing | as roundrobin, 3 / 3 / 2 | | |
| sticky, C1 has left | keeps t0-0 t0-3 t1-2, plus one of C1's | gone | keeps its two, plus two of C1's |

*range* cuts each topic on its own, so the first members get more when several topics do not divide
evenly. *roundrobin* deals all partitions like cards. *sticky* (KIP-54) is as even as roundrobin and
moves as little as possible: what a member had it keeps, up to its fair share. *cooperative-sticky* (KIP-429)
is the same in two steps: what changes hands is given to nobody until its owner has let go. Racks (KIP-881)
are not considered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

TopicPartition = tuple[str, int]
Assignment = dict[str, list[TopicPartition]]


@dataclass(slots=True)
class Subscription:
    """What a member wants, and what it owned in which generation (-1: it does not say)."""

    topics: list[str]
    owned: list[TopicPartition] = field(default_factory=list)
    generation: int = -1
    instance: str | None = None


Assignor = Callable[[Mapping[str, int], Mapping[str, Subscription]], Assignment]


def _order(members: Mapping[str, Subscription]) -> list[str]:
    """Static members (KIP-345) first, by instance id, then the others by member id."""
    return sorted(members, key=lambda m: (members[m].instance is None, members[m].instance or m))


def _subscribers(members: Mapping[str, Subscription]) -> dict[str, list[str]]:
    """Topic -> members that want it, in order."""
    found: dict[str, list[str]] = {}
    for member in _order(members):
        for topic in dict.fromkeys(members[member].topics):
            found.setdefault(topic, []).append(member)
    return found


def range_assign(partitions: Mapping[str, int], members: Mapping[str, Subscription]) -> Assignment:
    """Each topic cut into one piece per member; the first ones are longer by one where it does not divide."""
    result: Assignment = {member: [] for member in _order(members)}
    for topic, readers in sorted(_subscribers(members).items()):
        share, rest = divmod(partitions.get(topic, 0), len(readers))
        start = 0
        for index, member in enumerate(readers):
            end = start + share + (index < rest)
            result[member] += [(topic, partition) for partition in range(start, end)]
            start = end
    return result


def round_robin_assign(partitions: Mapping[str, int], members: Mapping[str, Subscription]) -> Assignment:
    """All partitions of all topics in order, one to each member in turn; who does not want it is skipped."""
    order = _order(members)
    result: Assignment = {member: [] for member in order}
    turn = 0
    for topic, readers in sorted(_subscribers(members).items()):
        for partition in range(partitions.get(topic, 0)):
            while order[turn % len(order)] not in readers:
                turn += 1
            result[order[turn % len(order)]].append((topic, partition))
            turn += 1
    return result


def sticky_assign(partitions: Mapping[str, int], members: Mapping[str, Subscription]) -> Assignment:
    """Even shares with the fewest moves.

    A. what a member says it owned stays with it, if it still wants it, nobody of a newer generation
       claims it, and its share is not exceeded;
    B. what is left goes to whoever has least of those that want it;
    C. while somebody has at least two more than another who could take one of them, one is moved
       (A and B leave this only when subscriptions differ).
    """
    wanted = _subscribers(members)
    result = _keep_owned(partitions, members, wanted)
    given = {tp for owned in result.values() for tp in owned}
    for topic in sorted(wanted):
        for partition in range(partitions.get(topic, 0)):
            if (topic, partition) not in given:
                least = min(wanted[topic], key=lambda member: len(result[member]))
                result[least].append((topic, partition))
    _balance(result, wanted)
    for owned in result.values():
        owned.sort()
    return result


def cooperative_sticky_assign(partitions: Mapping[str, int], members: Mapping[str, Subscription]) -> Assignment:
    """As sticky, without what another member still reads: that one gives it up first and joins again, and the next
    rebalance hands it out (`CooperativeStickyAssignor.adjustAssignment`)."""
    claimed: dict[TopicPartition, str] = {}
    for member in sorted(_order(members), key=lambda m: -members[m].generation):
        for tp in members[member].owned:
            claimed.setdefault(tp, member)
    target = sticky_assign(partitions, members)
    return {m: [tp for tp in owned if claimed.get(tp, m) == m] for m, owned in target.items()}


def _keep_owned(
    partitions: Mapping[str, int], members: Mapping[str, Subscription], wanted: Mapping[str, list[str]]
) -> Assignment:
    order = _order(members)
    result: Assignment = {member: [] for member in order}
    claims: dict[TopicPartition, str] = {}
    for member in sorted(order, key=lambda m: -members[m].generation):
        for tp in members[member].owned:
            if tp[1] < partitions.get(tp[0], 0) and member in wanted.get(tp[0], ()):
                claims.setdefault(tp, member)
    total = sum(partitions.get(topic, 0) for topic in wanted)
    share, longer = divmod(total, len(order)) if order else (0, 0)
    even = len({tuple(sorted(s.topics)) for s in members.values()}) == 1
    for tp, member in sorted(claims.items()):
        owned = len(result[member])
        if even and owned >= share:
            if owned > share or longer == 0:
                continue
            longer -= 1
        result[member].append(tp)
    return result


def _balance(result: Assignment, wanted: Mapping[str, list[str]]) -> None:
    moved = True
    while moved:
        moved = False
        for giver in sorted(result, key=lambda member: -len(result[member])):
            for tp in sorted(result[giver], reverse=True):
                taker = min(wanted[tp[0]], key=lambda member: len(result[member]))
                if len(result[giver]) - len(result[taker]) >= 2:
                    result[giver].remove(tp)
                    result[taker].append(tp)
                    moved = True


COOPERATIVE = "cooperative-sticky"

ASSIGNORS: dict[str, Assignor] = {
    "range": range_assign,
    "roundrobin": round_robin_assign,
    "sticky": sticky_assign,
    COOPERATIVE: cooperative_sticky_assign,
}

JAVA_NAMES = {
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.StickyAssignor": "sticky",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": COOPERATIVE,
}
