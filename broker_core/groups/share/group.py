"""A share group: what its records say.

    Empty --join--> Stable --nobody left--> Empty --deleted--> Dead

Nobody waits for anybody, so there is nothing between Empty and Stable.
Source: ShareGroup, GroupMetadataManager.replay.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from broker_core.groups.assigned import AssignedGroup
from broker_core.groups.consumer.member import NO_PARTITIONS, Partition, Target, flattened
from broker_core.groups.consumer.records import Record
from broker_core.groups.share import records


@dataclass(frozen=True, slots=True)
class ShareMember:
    """Never changed: another one takes its place. `topics` is sorted."""

    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    epoch: int = 0
    previous_epoch: int = 0
    assigned: Target = NO_PARTITIONS


class Known(NamedTuple):
    """Partitions of a topic that the share coordinator knows, or is being told of since `at_ms`."""

    name: str
    partitions: frozenset[int]
    at_ms: int = 0


Topics = dict[uuid.UUID, Known]


class ShareGroup(AssignedGroup[ShareMember]):
    """A group as its coordinator sees it.

    Invariants
        - member.epoch <= assignment_epoch <= epoch
        - no partition is `initializing` and `initialized`; only initialized ones are in targets
    """

    def __init__(self, group_id: str) -> None:
        AssignedGroup.__init__(self, group_id)
        self.initializing: Topics = {}
        self.initialized: Topics = {}
        self.deleting: dict[uuid.UUID, str] = {}

    def subscribed(self) -> set[str]:
        """The topics that somebody reads."""
        return {topic for member in self.members.values() for topic in member.topics}

    def assignable(self) -> set[Partition]:
        """The share-partitions that the share coordinator knows."""
        return {(topic, number) for topic, one in self.initialized.items() for number in one.partitions}

    # --- replay ---------------------------------------------------------------------------------

    def replay(self, record: Record, now_ms: int = 0) -> None:
        """What a record of this group says; `now_ms`: since when partitions are being initialized."""
        if record.kind == records.KNOWN:
            self._known(record.value, now_ms)
        else:
            REPLAYS[record.kind](self, record.subject, record.value)

    def _member(self, member_id: str, value: Any) -> None:
        if value is None:
            self.members.pop(member_id, None)
            return
        before = self.members.get(member_id) or ShareMember(member_id)
        self.members[member_id] = replace(
            before, rack_id=value.rack_id, client_id=value.client_id, client_host=value.client_host,
            topics=tuple(sorted(value.subscribed_topic_names)),
        )  # fmt: skip

    def _current(self, member_id: str, value: Any) -> None:
        before = self.members.get(member_id)
        if value is None:
            if before is not None:
                self.members[member_id] = replace(before, epoch=0, previous_epoch=0, assigned=NO_PARTITIONS)
            return
        self.members[member_id] = replace(
            before or ShareMember(member_id), epoch=value.member_epoch, previous_epoch=value.previous_member_epoch,
            assigned=frozenset(flattened(value.assigned_partitions)),
        )  # fmt: skip

    def _known(self, value: Any, now_ms: int) -> None:
        self.initializing = {} if value is None else _topics(value.initializing_topics, now_ms)
        self.initialized = {} if value is None else _topics(value.initialized_topics, now_ms)
        self.deleting = {} if value is None else {one.topic_id: one.topic_name for one in value.deleting_topics}


def _topics(infos: Iterable[Any], now_ms: int) -> Topics:
    return {one.topic_id: Known(one.topic_name, frozenset(one.partitions), now_ms) for one in infos}


def joined(one: Mapping[uuid.UUID, Known], other: Mapping[uuid.UUID, Known]) -> Topics:
    """The partitions of both; what `other` says of a topic's time counts."""
    found = dict(one)
    for topic, more in other.items():
        before = found.get(topic)
        found[topic] = more if before is None else more._replace(partitions=before.partitions | more.partitions)
    return found


def without(one: Mapping[uuid.UUID, Known], partitions: Iterable[Partition]) -> Topics:
    """All but these; a topic of which nothing is left goes."""
    gone = set(partitions)
    found: Topics = {}
    for topic, known in one.items():
        rest = frozenset(number for number in known.partitions if (topic, number) not in gone)
        if rest:
            found[topic] = known._replace(partitions=rest)
    return found


REPLAYS: dict[int, Callable[[ShareGroup, str, Any], None]] = {
    records.GROUP: ShareGroup._group,
    records.MEMBER: ShareGroup._member,
    records.TARGET_EPOCH: ShareGroup._target_epoch,
    records.TARGET: ShareGroup._target,
    records.CURRENT: ShareGroup._current,
}
