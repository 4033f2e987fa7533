"""A member of a next-generation group, and where it is on its way to its target.

    STABLE                has its target (of its epoch)
    UNREVOKED_PARTITIONS  has been told to give partitions back, and has not said yet that it did
    UNRELEASED_PARTITIONS waits for partitions that others still hold

`assigned` and `revoking` map a partition to the epoch at which this member got it (KIP-1251): a commit with an older
member epoch counts as long as the partition was the member's already then.
Source: ConsumerGroupMember, MemberState.
"""

from __future__ import annotations

import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

Partition = tuple[uuid.UUID, int]
"""Topic id and partition number."""
Owned = dict[Partition, int]
"""Partitions with the epoch since which they are owned."""
Target = frozenset[Partition]
NO_PARTITIONS: Target = frozenset()

JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH = 0, -1, -2
"""Epochs of requests: takes part; is gone; a static member is gone and will be back."""
NO_TIMEOUT = -1


class MemberState(IntEnum):
    """The numbers are those of the records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2


class ClassicProtocols(NamedTuple):
    """Of a member that speaks the classic protocol: its session, and its assignors with what it says under each."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    """Never changed: another one takes its place (`dataclasses.replace`).

    - `pattern` is "" without one.
    - `classic` is None for those who speak the group's own protocol.

    Invariants
        - `topics` is sorted
        - `assigned` and `revoking` have no partition in common
    """

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    pattern: str = ""
    rebalance_timeout_ms: int = NO_TIMEOUT
    assignor: str | None = None
    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Owned = field(default_factory=dict)
    revoking: Owned = field(default_factory=dict)
    classic: ClassicProtocols | None = None

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch

    @property
    def held(self) -> Iterable[Partition]:
        """What nobody else may have: its own, and what it has not given back."""
        yield from self.assigned
        yield from self.revoking

    def same_subscription(self, other: ConsumerMember) -> bool:
        return self.topics == other.topics and self.pattern == other.pattern


def new_member_id(made: uuid.UUID) -> str:
    """For who brings no id of its own: 22 characters, as Kafka writes a Uuid."""
    return urlsafe_b64encode(made.bytes).rstrip(b"=").decode()


def by_topic(partitions: Iterable[Partition]) -> dict[uuid.UUID, list[int]]:
    """Sorted, as answers and records list them."""
    topics: dict[uuid.UUID, list[int]] = {}
    for topic_id, partition in sorted(partitions):
        topics.setdefault(topic_id, []).append(partition)
    return topics


def listed(kind: Any, partitions: Iterable[Partition]) -> list[Any]:
    """The same as structs of a message (`kind`)."""
    return [kind(topic_id=topic_id, partitions=numbers) for topic_id, numbers in by_topic(partitions).items()]


def flattened(topics: Iterable[Any]) -> list[Partition]:
    """The partitions of such structs."""
    return [(topic.topic_id, number) for topic in topics for number in topic.partitions]


def named(partitions: Iterable[Partition], names: Mapping[uuid.UUID, str]) -> dict[str, list[int]]:
    """Topic name -> numbers, for those who read; a topic that is gone shows its id."""
    return {names.get(topic_id, str(topic_id)): numbers for topic_id, numbers in by_topic(partitions).items()}
