"""The records of next-generation groups (their bytes: `coordinators.stored`).

| key                                                     | value                              | says |
|---------------------------------------------------------|------------------------------------|------|
| 3  ConsumerGroupMetadata: group                         | epoch, hash of the topics          | the group epoch |
| 5  ConsumerGroupMemberMetadata: group, member           | who it is, what it subscribes      | a member |
| 6  ConsumerGroupTargetAssignmentMetadata: group         | epoch, when it was computed        | assignment epoch |
| 7  ConsumerGroupTargetAssignmentMember: group, member   | partitions                         | what it should have |
| 8  ConsumerGroupCurrentMemberAssignment: group, member  | epochs, state, partitions          | what it has |
| 16 ConsumerGroupRegularExpression: group, pattern       | topics, metadata version, when     | a pattern |

A decision is a list of these; `Record.value` None is a tombstone.
Source: GroupCoordinatorRecordHelpers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from broker_core.coordinators import stored
from broker_core.coordinators.stored import Buffer, decode, encode, version_of
from broker_core.groups.consumer.member import (
    ClassicProtocols,
    ConsumerMember,
    MemberState,
    Owned,
    Partition,
    by_topic,
    listed,
)

VALUE_VERSION = 0
GROUP, MEMBER, TARGET_EPOCH, TARGET, CURRENT, PATTERN = 3, 5, 6, 7, 8, 16


class Kind(NamedTuple):
    """Key and value of a kind of records, and what the key names beside the group ("" for nothing)."""

    key: Any
    value: Any
    subject: str


KINDS: dict[int, Kind] = {
    GROUP: Kind(stored.ConsumerGroupMetadataKey, stored.ConsumerGroupMetadataValue, ""),
    MEMBER: Kind(stored.ConsumerGroupMemberMetadataKey, stored.ConsumerGroupMemberMetadataValue, "member_id"),
    TARGET_EPOCH: Kind(
        stored.ConsumerGroupTargetAssignmentMetadataKey, stored.ConsumerGroupTargetAssignmentMetadataValue, ""
    ),
    TARGET: Kind(
        stored.ConsumerGroupTargetAssignmentMemberKey, stored.ConsumerGroupTargetAssignmentMemberValue, "member_id"
    ),
    CURRENT: Kind(
        stored.ConsumerGroupCurrentMemberAssignmentKey, stored.ConsumerGroupCurrentMemberAssignmentValue, "member_id"
    ),
    PATTERN: Kind(
        stored.ConsumerGroupRegularExpressionKey, stored.ConsumerGroupRegularExpressionValue, "regular_expression"
    ),
}  # fmt: skip


class Record(NamedTuple):
    """`kind`: the key's version; `subject`: the member or the pattern that it is about, "" for the group."""

    kind: int
    group_id: str
    subject: str
    value: Any


def encoded(record: Record, kinds: Mapping[int, Kind] = KINDS) -> tuple[bytes, bytes | None]:
    """Key and value as bytes."""
    kind = kinds[record.kind]
    names = {kind.subject: record.subject} if kind.subject else {}
    key = encode(kind.key(group_id=record.group_id, **names), record.kind)
    return key, None if record.value is None else encode(record.value, VALUE_VERSION)


def decoded(
    key: Buffer | None, value: Buffer | None, kinds: Mapping[int, Kind] = KINDS
) -> Record | None:
    """A record of these kinds, None for another. Raises MalformedRecord."""
    number = version_of(key)
    kind = kinds.get(number)
    if kind is None or key is None:
        return None
    found, _ = decode(kind.key, key)
    subject = getattr(found, kind.subject) if kind.subject else ""
    return Record(number, found.group_id, subject, None if value is None else decode(kind.value, value)[0])


# --- making them ------------------------------------------------------------------------------


def group_record(group_id: str, epoch: int, metadata_hash: int) -> Record:
    return Record(GROUP, group_id, "", stored.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash))


def member_record(group_id: str, member: ConsumerMember) -> Record:
    """What is known of a member but for its assignment."""
    value = stored.ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id, rack_id=member.rack_id, client_id=member.client_id,
        client_host=member.client_host, subscribed_topic_names=list(member.topics),
        subscribed_topic_regex=member.pattern, rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor, classic_member_metadata=_classic(member),
    )  # fmt: skip
    return Record(MEMBER, group_id, member.member_id, value)


def _classic(member: ConsumerMember) -> Any:
    """What a member of the classic protocol has said, so that it can be answered in it; None for others."""
    if member.classic is None:
        return None
    kind = stored.ConsumerGroupMemberMetadataValue
    return kind.ClassicMemberMetadata(
        session_timeout_ms=member.classic.session_timeout_ms,
        supported_protocols=[kind.ClassicProtocol(name=one, metadata=said) for one, said in member.classic.protocols],
    )


def classic_of(value: Any) -> ClassicProtocols | None:
    """The same from a record's value."""
    said = value.classic_member_metadata
    return None if said is None else ClassicProtocols(
        said.session_timeout_ms, tuple((one.name, bytes(one.metadata)) for one in said.supported_protocols)
    )


def target_epoch_record(group_id: str, epoch: int, now_ms: int) -> Record:
    value = stored.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=now_ms)
    return Record(TARGET_EPOCH, group_id, "", value)


def target_record(group_id: str, member_id: str, partitions: Iterable[Partition]) -> Record:
    kind = stored.ConsumerGroupTargetAssignmentMemberValue
    return Record(TARGET, group_id, member_id, kind(topic_partitions=listed(kind.TopicPartition, partitions)))


def current_record(group_id: str, member: ConsumerMember) -> Record:
    """How far a member is."""
    value = stored.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch, previous_member_epoch=member.previous_epoch, state=int(member.state),
        assigned_partitions=_owned(member.assigned), partitions_pending_revocation=_owned(member.revoking),
    )  # fmt: skip
    return Record(CURRENT, group_id, member.member_id, value)


def _owned(partitions: Mapping[Partition, int]) -> list[Any]:
    kind = stored.ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions
    return [
        kind(topic_id=topic, partitions=numbers, assignment_epochs=[partitions[topic, one] for one in numbers])
        for topic, numbers in by_topic(partitions).items()
    ]


def owned(topics: Iterable[Any], epoch: int) -> Owned:
    """The partitions of such a record. Brokers before 4.3 wrote no epochs; then `epoch` stands for them."""
    found: Owned = {}
    for topic in topics:
        epochs = topic.assignment_epochs or [epoch] * len(topic.partitions)
        found.update({(topic.topic_id, one): since for one, since in zip(topic.partitions, epochs, strict=False)})
    return found


def state_of(number: int) -> MemberState:
    """Raises ValueError for a state that is not known."""
    return MemberState(number)


def pattern_record(group_id: str, pattern: str, topics: Iterable[str], version: int, now_ms: int) -> Record:
    value = stored.ConsumerGroupRegularExpressionValue(topics=sorted(topics), version=version, timestamp=now_ms)
    return Record(PATTERN, group_id, pattern, value)


def member_tombstones(group_id: str, member_id: str) -> list[Record]:
    """A member is gone. Its assignment first: who reads on meets no assignment without a member."""
    return [Record(kind, group_id, member_id, None) for kind in (CURRENT, TARGET, MEMBER)]


def group_tombstones(group_id: str, patterns: Iterable[str]) -> list[Record]:
    """A group without members is gone."""
    return [
        *(Record(PATTERN, group_id, pattern, None) for pattern in patterns),
        Record(TARGET_EPOCH, group_id, "", None),
        Record(GROUP, group_id, "", None),
    ]
