"""Who shares which partitions: the assignor "simple".

Partitions may have many readers, so the question is not who has which, but how many share one:

    7 members, 3 partitions    sharing = ceil(7 / 3) = 3; nine places for seven members: two of them have two partitions
    2 members, 6 partitions    sharing = 1; each has three

What a member has it keeps, as far as nobody has too many and no partition is shared by too many. Where members
subscribe different topics, each topic is shared out by itself among those who read it.
Source: SimpleAssignor (KIP-932). Where the order of a Java hash map decides there, it is that of names and numbers.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from broker_core.groups.consumer.assignors import Wishes
from broker_core.groups.consumer.member import Partition, Target


def simple(wishes: Wishes, partitions: Sequence[Partition]) -> dict[str, Target]:
    """Member -> what it should read of `partitions`, which are those that may be assigned."""
    wanted = {wish.topics for wish in wishes.values()}
    if len(wanted) == 1:
        topics = next(iter(wanted))
        mine = [one for one in sorted(partitions) if one[0] in topics]
        return _shared(list(wishes), mine, {member: wish.target for member, wish in wishes.items()})
    found: dict[str, set[Partition]] = {member: set() for member in wishes}
    by_topic: dict[uuid.UUID, list[Partition]] = {}
    for one in sorted(partitions):
        by_topic.setdefault(one[0], []).append(one)
    for topic, of_topic in by_topic.items():
        readers = [member for member, wish in wishes.items() if topic in wish.topics]
        for member, given in _shared(readers, of_topic, {one: wishes[one].target for one in readers}).items():
            found[member] |= given
    return {member: frozenset(given) for member, given in found.items()}


def _shared(members: list[str], partitions: list[Partition], before: Mapping[str, Target]) -> dict[str, Target]:
    """All members may read all partitions."""
    if not members or not partitions:
        return {member: frozenset() for member in members}
    sharing = -(-len(members) // len(partitions))
    places = sharing * len(partitions)
    ends = [-(-places * number // len(members)) for number in range(len(members) + 1)]
    room = {member: ends[number + 1] - ends[number] for number, member in enumerate(members)}
    known = set(partitions)
    given: dict[str, set[Partition]] = {}
    readers = dict.fromkeys(partitions, 0)
    for member in members:  # what everybody keeps: who has too many gives the first ones up
        kept = sorted(before[member] & known, reverse=True)
        given[member] = set()
        for one in kept:
            if len(given[member]) < room[member] and readers[one] < sharing:
                given[member].add(one)
                readers[one] += 1
    waiting = [member for member in members if len(given[member]) < room[member]]
    for one in partitions:  # what is missing, in turn
        tried = 0
        while readers[one] < sharing and tried < len(waiting):
            member = waiting.pop(0)
            if one in given[member]:
                tried += 1
                waiting.append(member)
                continue
            tried = 0
            given[member].add(one)
            readers[one] += 1
            if len(given[member]) < room[member]:
                waiting.append(member)
    return {member: frozenset(found) for member, found in given.items()}
