"""A group changes its protocol while its members read on (KIP-848, "online migration").

    classic, generation 7                       a member that speaks KIP-848 joins
      A orders 0 1, B orders 2 3          -->   group epoch 7: A and B at epoch 7 with what they have and say
                                                then the newcomer's heartbeat: epoch 8, a target for three

    A and B hear REBALANCE_IN_PROGRESS with their next heartbeat, send JoinGroup as ever, and SyncGroup gives them what
    the broker has assigned. One after the other they are started again with the new protocol.

    The last member of the new protocol goes    -->   classic again, generation = group epoch, a rebalance begins

`group.consumer.migration.policy` says which of the two is allowed. All records of a change are one batch, so whoever
loads the group finds it before or after.
Source: GroupMetadataManager.convertToConsumerGroup, convertToClassicGroup; ConsumerGroup.fromClassicGroup.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from broker_core.coordinators.runtime import KeyValue
from broker_core.groups import schema
from broker_core.groups.consumer import records as r
from broker_core.groups.consumer.checks import HeartbeatRefused
from broker_core.groups.consumer.group import ConsumerGroup
from broker_core.groups.consumer.member import ClassicProtocols, ConsumerMember, Partition, by_topic
from broker_core.groups.consumer.records import Record
from broker_core.groups.consumer.subscriptions import TopicsPort, metadata_hash, shapes
from broker_core.groups.consumer_protocol import (
    MalformedProtocol,
    assigned_partitions,
    encode_assignment,
    has_user_data,
    subscription,
)
from broker_core.groups.group import CONSUMER_PROTOCOL_TYPE, Group
from broker_core.groups.member import Member
from broker_core.groups.registry import stored_group
from broker_core.groups.states import GroupState
from broker_core.wire.errors import ErrorCode

UPGRADES, DOWNGRADES = ("upgrade", "bidirectional"), ("downgrade", "bidirectional")


def _allows(config: Mapping[str, Any], policies: tuple[str, ...]) -> bool:
    return str(config["group.consumer.migration.policy"]).lower() in policies


def allows_downgrade(config: Mapping[str, Any]) -> bool:
    """Whether groups may become classic ones."""
    return _allows(config, DOWNGRADES)


# --- upgrade ------------------------------------------------------------------------------------


def check_upgrade(group: Group, config: Mapping[str, Any]) -> None:
    """Raises HeartbeatRefused, in Kafka's words, when a classic group with members stays one."""
    if not _allows(config, UPGRADES):
        raise _refused(group, "online upgrade is disabled.")
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        raise _refused(group, "the group does not use the consumer embedded protocol.")
    if len(group.members) > int(config["group.consumer.max.size"]):
        raise _refused(group, "the group size exceeds the consumer group maximum size.")


def _refused(group: Group, why: str) -> HeartbeatRefused:
    words = f"Cannot upgrade classic group {group.group_id} to consumer group because {why}"
    return HeartbeatRefused(ErrorCode.GROUP_ID_NOT_FOUND, words)


def upgraded(group: Group, topics: TopicsPort) -> tuple[ConsumerGroup, list[Record]]:
    """The classic group as one of KIP-848, and the records that say so. Raises HeartbeatRefused."""
    made = ConsumerGroup(group.group_id, group.offsets)
    epoch, protocol = group.generation, group.protocol or group.select_protocol()
    try:
        members = [_upgraded_member(one, epoch, protocol, topics) for one in group.members.values()]
    except MalformedProtocol:
        raise _refused(group, "the embedded consumer protocol is malformed.") from None
    except _CustomAssignor:
        raise _refused(
            group, "an unsupported custom assignor is in use. "
            "Please refer to the documentation or switch to a default assignor before re-attempting the upgrade.",
        ) from None  # fmt: skip
    wanted = {topic for member in members for topic in member.topics}
    group_id = group.group_id
    records = [
        *(r.member_record(group_id, one) for one in members),
        r.group_record(group_id, epoch, metadata_hash(shapes(topics, wanted))),
        *(r.target_record(group_id, one.member_id, one.assigned) for one in members),
        r.target_epoch_record(group_id, epoch, 0),
        *(r.current_record(group_id, one) for one in members),
    ]
    for record in records:
        made.replay(record)
    return made, records


class _CustomAssignor(Exception):
    """An assignment holds what only the assignor understands."""


def _upgraded_member(member: Member, epoch: int, protocol: str, topics: TopicsPort) -> ConsumerMember:
    """A member at the generation's epoch, with what it was assigned last."""
    said = subscription(member.metadata(protocol))
    if member.assignment and has_user_data(member.assignment):
        raise _CustomAssignor
    assigned: dict[Partition, int] = {}
    for topic, numbers in assigned_partitions(member.assignment).items():
        shape = topics.shape(topic)
        if shape is not None:
            assigned.update(dict.fromkeys([(shape.topic_id, number) for number in numbers], epoch))
    return ConsumerMember(
        member.member_id, instance_id=member.instance_id, rack_id=said.rack, client_id=member.client_id,
        client_host=member.client_host, topics=tuple(sorted(set(said.topics))),
        rebalance_timeout_ms=member.rebalance_timeout_ms, epoch=epoch, previous_epoch=epoch, assigned=assigned,
        classic=ClassicProtocols(member.session_timeout_ms, tuple(member.protocols)),
    )  # fmt: skip


# --- downgrade ----------------------------------------------------------------------------------


def may_downgrade(group: ConsumerGroup, leaving: Collection[str], config: Mapping[str, Any]) -> bool:
    """Whether only members of the classic protocol are left when these have gone, and the group may follow them."""
    rest = [member for member in group.members.values() if member.member_id not in leaving]
    gone = [member for member in group.members.values() if member.member_id in leaving]
    return (
        bool(rest)
        and all(member.classic is not None for member in rest)
        and any(member.classic is None for member in gone)
        and allows_downgrade(config)
        and len(rest) <= int(config["group.max.size"])
    )


def downgraded(group: ConsumerGroup, leaving: Collection[str], topics: TopicsPort, now_ms: int) -> Group:
    """The group as a classic one: Stable in a generation that is the group epoch, each with its target."""
    made = Group(group.group_id, GroupState.STABLE, now_ms)
    made.generation = group.epoch
    for member in group.classic_members():
        if member.member_id not in leaving and member.classic is not None:
            made.add(Member(
                member.member_id, member.instance_id, member.client_id, member.client_host,
                member.rebalance_timeout_ms, member.classic.session_timeout_ms, CONSUMER_PROTOCOL_TYPE,
                list(member.classic.protocols),
            ))  # fmt: skip
    made.protocol = made.select_protocol()
    made.subscribed = made.compute_subscribed()
    made.offsets = group.offsets
    names = topics.names_by_id()
    for one in made.members.values():
        one.assignment = assignment_bytes(group.target(one.member_id), one.metadata(made.protocol), names)
    return made


def assignment_bytes(partitions: Collection[Partition], metadata: bytes, names: Mapping[Any, str]) -> bytes:
    """What a member of the classic protocol is told that it has, in the version of its subscription."""
    found = {names[topic]: numbers for topic, numbers in by_topic(partitions).items() if topic in names}
    return encode_assignment(found, subscription(metadata).version)


def lines_of_downgrade(group: ConsumerGroup, said: list[Record], made: Group) -> list[KeyValue]:
    """All that was known of the group is taken back; one record says what it is now. `said`: what the same decision
    has written before."""
    new = [one.subject for one in said if one.kind == r.MEMBER and one.value is not None]
    gone_already = {one.subject for one in said if one.kind == r.MEMBER and one.value is None}
    group_id = group.group_id
    members = [*(one for one in group.members if one not in gone_already), *new]
    gone = [
        *(Record(r.CURRENT, group_id, one, None) for one in members),
        *(Record(r.TARGET, group_id, one, None) for one in members),
        Record(r.TARGET_EPOCH, group_id, "", None),
        *(Record(r.MEMBER, group_id, one, None) for one in members),
        *(Record(r.PATTERN, group_id, pattern, None) for pattern in group.patterns),
        Record(r.GROUP, group_id, "", None),
    ]
    shares = {one.member_id: one.assignment for one in made.members.values()}
    value = schema.encode_group_value(stored_group(made, shares))
    return [*(r.encoded(record) for record in gone), (schema.encode_group_key(group_id), value)]
