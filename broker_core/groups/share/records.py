"""The records of share groups in `__consumer_offsets` (their bytes: `coordinators.stored`).

| key                                                  | value                                  | says                |
|------------------------------------------------------|----------------------------------------|---------------------|
| 10 ShareGroupMemberMetadata: group, member           | who it is, what it subscribes          | a member            |
| 11 ShareGroupMetadata: group                         | epoch, hash of the topics              | the group epoch     |
| 12 ShareGroupTargetAssignmentMetadata: group         | epoch, when it was computed            | assignment epoch    |
| 13 ShareGroupTargetAssignmentMember: group, member   | partitions                             | what it should have |
| 14 ShareGroupCurrentMemberAssignment: group, member  | epochs, partitions                     | what it has         |
| 15 ShareGroupStatePartitionMetadata: group           | initializing, initialized, deleting    | shared state        |

Source: GroupCoordinatorRecordHelpers.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from broker_core.coordinators import stored
from broker_core.coordinators.stored import Buffer
from broker_core.groups.consumer import records
from broker_core.groups.consumer.member import Partition, listed
from broker_core.groups.consumer.records import Kind, Record

if TYPE_CHECKING:
    from broker_core.groups.share.group import Known, ShareMember

MEMBER, GROUP, TARGET_EPOCH, TARGET, CURRENT, KNOWN = 10, 11, 12, 13, 14, 15
STABLE = 0

KINDS: dict[int, Kind] = {
    MEMBER: Kind(stored.ShareGroupMemberMetadataKey, stored.ShareGroupMemberMetadataValue, "member_id"),
    GROUP: Kind(stored.ShareGroupMetadataKey, stored.ShareGroupMetadataValue, ""),
    TARGET_EPOCH: Kind(
        stored.ShareGroupTargetAssignmentMetadataKey, stored.ShareGroupTargetAssignmentMetadataValue, ""
    ),
    TARGET: Kind(stored.ShareGroupTargetAssignmentMemberKey, stored.ShareGroupTargetAssignmentMemberValue, "member_id"),
    CURRENT: Kind(
        stored.ShareGroupCurrentMemberAssignmentKey, stored.ShareGroupCurrentMemberAssignmentValue, "member_id"
    ),
    KNOWN: Kind(stored.ShareGroupStatePartitionMetadataKey, stored.ShareGroupStatePartitionMetadataValue, ""),
}  # fmt: skip


def encoded(record: Record) -> tuple[bytes, bytes | None]:
    """Key and value as bytes."""
    return records.encoded(record, KINDS)


def decoded(key: Buffer | None, value: Buffer | None) -> Record | None:
    """A record of these kinds, None for another. Raises MalformedRecord."""
    return records.decoded(key, value, KINDS)


def group_record(group_id: str, epoch: int, metadata_hash: int) -> Record:
    return Record(GROUP, group_id, "", stored.ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash))


def member_record(group_id: str, member: ShareMember) -> Record:
    """What is known of a member but for its assignment."""
    value = stored.ShareGroupMemberMetadataValue(
        rack_id=member.rack_id, client_id=member.client_id, client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
    )  # fmt: skip
    return Record(MEMBER, group_id, member.member_id, value)


def target_epoch_record(group_id: str, epoch: int, now_ms: int) -> Record:
    value = stored.ShareGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=now_ms)
    return Record(TARGET_EPOCH, group_id, "", value)


def target_record(group_id: str, member_id: str, partitions: Iterable[Partition]) -> Record:
    kind = stored.ShareGroupTargetAssignmentMemberValue
    return Record(TARGET, group_id, member_id, kind(topic_partitions=listed(kind.TopicPartition, partitions)))


def current_record(group_id: str, member: ShareMember) -> Record:
    """How far a member is; it is never on its way."""
    kind = stored.ShareGroupCurrentMemberAssignmentValue
    value = kind(
        member_epoch=member.epoch, previous_member_epoch=member.previous_epoch, state=STABLE,
        assigned_partitions=listed(kind.TopicPartitions, member.assigned),
    )  # fmt: skip
    return Record(CURRENT, group_id, member.member_id, value)


def known_record(
    group_id: str, initializing: Mapping[uuid.UUID, Known], initialized: Mapping[uuid.UUID, Known],
    deleting: Mapping[uuid.UUID, str],
) -> Record:  # fmt: skip
    """Which share-partitions the share coordinator knows, will know, and shall forget."""
    kind = stored.ShareGroupStatePartitionMetadataValue

    def infos(topics: Mapping[uuid.UUID, Known]) -> list[Any]:
        return [
            kind.TopicPartitionsInfo(topic_id=topic, topic_name=one.name, partitions=sorted(one.partitions))
            for topic, one in sorted(topics.items())
        ]

    gone = [kind.TopicInfo(topic_id=topic, topic_name=name) for topic, name in sorted(deleting.items())]
    value = kind(initializing_topics=infos(initializing), initialized_topics=infos(initialized), deleting_topics=gone)
    return Record(KNOWN, group_id, "", value)


def member_tombstones(group_id: str, member_id: str) -> list[Record]:
    """A member is gone."""
    return [Record(kind, group_id, member_id, None) for kind in (CURRENT, TARGET, MEMBER)]


def group_tombstones(group_id: str) -> list[Record]:
    """A group without members is gone."""
    return [Record(kind, group_id, "", None) for kind in (TARGET_EPOCH, KNOWN, GROUP)]
