"""What requests of and about next-generation groups may not say; messages in Kafka's words.

A member epoch in a heartbeat:

| it says                                    | answer |
|--------------------------------------------|--------|
| 0                                          | it joins, or joins again: taken |
| the member's                               | taken |
| the one before, and owns no more than it should | taken: the answer with the new epoch was lost |
| any other                                  | FENCED_MEMBER_EPOCH: it gives everything up and joins again |

and in a commit of offsets: the member's own, or an older one of a time when it had the partition already (KIP-1251);
else STALE_MEMBER_EPOCH, or ILLEGAL_GENERATION to a member of the classic protocol.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping

from broker_core.groups.consumer.group import ConsumerGroup
from broker_core.groups.consumer.member import (
    JOIN_EPOCH,
    LEAVE_STATIC_EPOCH,
    NO_TIMEOUT,
    ConsumerMember,
    Partition,
)
from broker_core.groups.group_offsets import TopicPartition
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

CLIENTS_MEMBER_ID_VERSION = 1
"""From this version of ConsumerGroupHeartbeat on the client makes the member id (KIP-1082)."""
MEMBER_EPOCH_VERSION = 9
"""Of OffsetCommit."""


class HeartbeatRefused(Exception):
    """A request that is answered with an error; nothing has changed."""

    def __init__(self, error: ErrorCode, message: str | None = None) -> None:
        super().__init__(message)
        self.error = error
        self.message = message


def check_request(request: m.ConsumerGroupHeartbeatRequest, version: int, assignors: Collection[str]) -> None:
    """Whether a heartbeat makes sense by itself."""
    if version >= CLIENTS_MEMBER_ID_VERSION or request.member_epoch != JOIN_EPOCH:
        _not_blank(request.member_id, "MemberId can't be empty.")
    _not_blank(request.group_id, "GroupId can't be empty.")
    _not_blank(request.instance_id, "InstanceId can't be empty.")
    _not_blank(request.rack_id, "RackId can't be empty.")
    epoch = request.member_epoch
    if epoch == JOIN_EPOCH:
        _check_join(request)
    elif epoch == LEAVE_STATIC_EPOCH and request.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    elif epoch < LEAVE_STATIC_EPOCH:
        raise _invalid("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise HeartbeatRefused(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(assignors)}.",
        )


def _check_join(request: m.ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout == NO_TIMEOUT:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise _invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")


def _not_blank(text: str | None, message: str) -> None:
    if text is not None and not text.strip():
        raise _invalid(message)


def _invalid(message: str) -> HeartbeatRefused:
    return HeartbeatRefused(ErrorCode.INVALID_REQUEST, message)


def check_epoch(member: ConsumerMember, epoch: int, owned: Iterable[Partition] | None) -> None:
    """Fences a member that is at another epoch."""
    if epoch in (JOIN_EPOCH, member.epoch):
        return
    word = "greater" if epoch > member.epoch else "smaller"
    lost = epoch == member.previous_epoch and owned is not None and all(one in member.assigned for one in owned)
    if word == "greater" or not lost:
        raise HeartbeatRefused(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {word} member epoch ({epoch}) than the one known by the group "
            f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin.",
        )


def member_of(group: ConsumerGroup, member_id: str) -> ConsumerMember:
    """Raises HeartbeatRefused when it is none."""
    member = group.members.get(member_id)
    if member is None:
        message = f"Member {member_id} is not a member of group {group.group_id}."
        raise HeartbeatRefused(ErrorCode.UNKNOWN_MEMBER_ID, message)
    return member


def static_member_of(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerMember:
    """The member behind an instance id, which must be this one."""
    current = group.static_members.get(instance_id)
    if current is None:
        raise HeartbeatRefused(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if current != member_id:
        raise HeartbeatRefused(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {current}.",
        )
    return group.members[current]


# --- offsets ----------------------------------------------------------------------------------


def commit_error(
    group: ConsumerGroup, member_id: str, instance_id: str | None, epoch: int, version: int | None,
    partitions: Iterable[TopicPartition], topic_ids: Mapping[str, uuid.UUID],
) -> ErrorCode:  # fmt: skip
    """NONE, or why these offsets are not taken. `version`: of OffsetCommit; None: part of a transaction."""
    if epoch < 0 and not group.members:
        return ErrorCode.NONE
    if version is None and epoch < 0 and not member_id and instance_id is None:
        return ErrorCode.NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if version is not None and version < MEMBER_EPOCH_VERSION and member.classic is None:
        return ErrorCode.UNSUPPORTED_VERSION
    if epoch == member.epoch:
        return ErrorCode.NONE
    owned = {**member.assigned, **member.revoking}
    since = [owned.get((topic_ids[topic], number)) if topic in topic_ids else None for topic, number in partitions]
    fits = epoch < member.epoch and all(one is not None and one <= epoch for one in since)
    if fits:
        return ErrorCode.NONE
    return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION


def fetch_error(group: ConsumerGroup, member_id: str | None, epoch: int) -> ErrorCode:
    """NONE, or why the offsets are not told to this member; who names none may see them."""
    if member_id is None and epoch < 0:
        return ErrorCode.NONE
    member = group.members.get(member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if epoch == member.epoch:
        return ErrorCode.NONE
    return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
