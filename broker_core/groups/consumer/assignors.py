"""Who should have which partitions: the assignors that run in the coordinator.

**uniform** gives everybody as many as everybody else, and moves as few as that allows:

    7 partitions, A has 0-6, B and C join      quota 2, and one more for the first: A 3, B 2, C 2
    A keeps three of its seven, the four that are over it go to B and C

Where not all members subscribe the same topics, the partitions of the topics with the fewest readers go first, each to
the reader that has fewest; then partitions move from who has most to who has least of those who may have them.

**range** cuts each topic into one piece for each of its readers, so that partition 3 of two topics of the same size is
one member's. Members with an instance id come first, in its order: a restart does not move them.

Source: UniformAssignor, UniformHomogeneousAssignmentBuilder, RangeAssignor. Where the order of a Java hash map decides
there (which of many equal partitions moves), the order here is that of names and numbers; and who has more already is
the first to get one more, so that no partition moves without need.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import NamedTuple

from broker_core.groups.consumer.member import Partition, Target

Topics = Mapping[uuid.UUID, int]
"""Topic id -> number of partitions."""


class Wish(NamedTuple):
    """What an assignor knows of a member: the topics that it wants (those that exist), and its target so far."""

    topics: frozenset[uuid.UUID]
    target: Target
    instance_id: str | None = None


Wishes = Mapping[str, Wish]
Assignor = Callable[[Wishes, Topics], dict[str, Target]]


def in_range(wishes: Wishes, topics: Topics) -> dict[str, Target]:
    """A piece of each topic for each of its readers."""
    order = sorted(wishes, key=lambda one: (wishes[one].instance_id is None, wishes[one].instance_id or "", one))
    given: dict[str, set[Partition]] = {member: set() for member in order}
    for topic, count in topics.items():
        readers = [member for member in order if topic in wishes[member].topics]
        if not readers:
            continue
        least, more = divmod(count, len(readers))
        start = 0
        for position, member in enumerate(readers):
            end = start + least + (position < more)
            given[member].update((topic, number) for number in range(start, end))
            start = end
    return {member: frozenset(partitions) for member, partitions in given.items()}


def uniform(wishes: Wishes, topics: Topics) -> dict[str, Target]:
    """The same number for everybody, as far as subscriptions allow it."""
    if not wishes:
        return {}
    wanted = {wish.topics for wish in wishes.values()}
    return _alike(wishes, topics) if len(wanted) == 1 else _unlike(wishes, topics)


def _alike(wishes: Wishes, topics: Topics) -> dict[str, Target]:
    """All subscribe the same: a quota for each, then what is over or free goes to those below theirs."""
    wanted = next(iter(wishes.values())).topics
    everything = {(topic, number) for topic in wanted for number in range(topics[topic])}
    least, more = divmod(len(everything), len(wishes))
    kept: dict[str, list[Partition]] = {}
    room: dict[str, int] = {}
    taken: set[Partition] = set()
    for position, member in enumerate(sorted(wishes, key=lambda one: -len(wishes[one].target & everything))):
        quota = least + (position < more)
        kept[member] = sorted(wishes[member].target & everything - taken)[:quota]
        room[member] = quota - len(kept[member])
        taken.update(kept[member])
    free = iter(sorted(everything - taken))
    return {member: frozenset([*kept[member], *(next(free) for _ in range(room[member]))]) for member in wishes}


def _unlike(wishes: Wishes, topics: Topics) -> dict[str, Target]:
    """Subscriptions differ: keep what is wanted, give away what is free, then level out."""
    readers = {topic: [member for member, wish in wishes.items() if topic in wish.topics] for topic in topics}
    given: dict[str, set[Partition]] = {}
    taken: set[Partition] = set()
    for member, wish in wishes.items():
        given[member] = {
            one for one in wish.target - taken if one[0] in wish.topics and one[1] < topics.get(one[0], 0)
        }
        taken |= given[member]
    for topic in sorted(topics, key=lambda one: (len(readers[one]), one)):
        for number in range(topics[topic] if readers[topic] else 0):
            if (topic, number) not in taken:
                fewest = min(readers[topic], key=lambda one: len(given[one]))
                given[fewest].add((topic, number))
    _level(given, readers)
    return {member: frozenset(partitions) for member, partitions in given.items()}


def _level(given: dict[str, set[Partition]], readers: Mapping[uuid.UUID, list[str]]) -> None:
    """Moves a partition while one of its readers has two less than its owner. Each move makes the sum of the squares
    smaller, so it ends."""
    moved = True
    while moved:
        moved = False
        for owner in sorted(given, key=lambda one: -len(given[one])):
            for topic, number in sorted(given[owner]):
                fewest = min(readers[topic], key=lambda one: len(given[one]))
                if len(given[owner]) - len(given[fewest]) >= 2:
                    given[owner].discard((topic, number))
                    given[fewest].add((topic, number))
                    moved = True


ASSIGNORS: dict[str, Assignor] = {"uniform": uniform, "range": in_range}
_JAVA_CLASSES = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}


def offered(names: str | list[str]) -> list[str]:
    """The assignors of the setting `group.consumer.assignors` that are here, the default first."""
    given = names if isinstance(names, list) else names.split(",")
    short = [_JAVA_CLASSES.get(name.strip(), name.strip()) for name in given]
    return [name for name in short if name in ASSIGNORS] or ["uniform"]
