"""ConsumerGroupDescribe, and a next-generation group as viewers see it."""

from __future__ import annotations

from typing import Any

from broker_core.groups.consumer.group import ConsumerGroup
from broker_core.groups.consumer.handler import ConsumerGroups
from broker_core.groups.consumer.member import ConsumerMember, Partition, by_topic, named
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

CONSUMER = "consumer"
CONSUMER_MEMBER = 1
"""The kind of member that speaks the new protocol; 0 would be one that speaks the classic one."""
GROUP_OPERATIONS = sum(1 << bit for bit in (3, 6, 8, 10, 11))
"""READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS: what 4.3 says that everybody may do with a group."""


class Describer:
    """Answers ConsumerGroupDescribe."""

    def __init__(self, groups: ConsumerGroups) -> None:
        self.groups = groups

    def describe(self, request: m.ConsumerGroupDescribeRequest) -> m.ConsumerGroupDescribeResponse:
        """Each group asked for, or why not."""
        return m.ConsumerGroupDescribeResponse(
            groups=[self._one(group_id, request.include_authorized_operations) for group_id in request.group_ids]
        )

    def _one(self, group_id: str, operations: bool) -> Any:
        kind, registry = m.ConsumerGroupDescribeResponse.DescribedGroup, self.groups.registry
        error = registry.status(group_id)
        if error is not ErrorCode.NONE:
            return kind(group_id=group_id, error_code=error)
        group = registry.consumer_groups.get(group_id)
        if group is None:
            other = registry.other_kind(group_id, registry.consumer_groups)
            message = f"Group {group_id} is not a consumer group." if other else f"Group {group_id} not found."
            return kind(group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=message)
        names = self.groups.topics.names_by_id()
        described = kind(
            group_id=group_id, group_state=group.state, group_epoch=group.epoch,
            assignment_epoch=group.assignment_epoch,
            assignor_name=group.assignor(self.groups.decisions.assignors[0]),
            members=[_member(group, member, names) for member in group.members.values()],
        )  # fmt: skip
        if operations:
            described.authorized_operations = GROUP_OPERATIONS
        return described


def _member(group: ConsumerGroup, member: ConsumerMember, names: dict[Any, str]) -> Any:
    return m.ConsumerGroupDescribeResponse.Member(
        member_id=member.member_id, instance_id=member.instance_id, rack_id=member.rack_id,
        member_epoch=member.epoch, client_id=member.client_id, client_host=member.client_host,
        subscribed_topic_names=list(member.topics), subscribed_topic_regex=member.pattern,
        assignment=_assignment(member.assigned, names),
        target_assignment=_assignment(group.target(member.member_id), names),
        member_type=CONSUMER_MEMBER,
    )  # fmt: skip


def _assignment(partitions: Any, names: dict[Any, str]) -> Any:
    kind = m.ConsumerGroupDescribeResponse
    known: list[Partition] = [one for one in partitions if one[0] in names]
    return kind.Assignment(topic_partitions=[
        kind.TopicPartitions(topic_id=topic, topic_name=names[topic], partitions=numbers)
        for topic, numbers in by_topic(known).items()
    ])  # fmt: skip


def observed(groups: ConsumerGroups, group: ConsumerGroup) -> dict[str, Any]:
    """A group as plain data, in the form of a classic one: its generation is the group epoch."""
    offsets: dict[str, dict[str, int]] = {}
    for topic, partition in sorted(group.offsets.committed):
        offsets.setdefault(topic, {})[str(partition)] = group.offsets.committed[(topic, partition)].offset
    names = groups.topics.names_by_id()
    return {
        "type": CONSUMER,
        "state": group.state,
        "generation": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "coordinator": groups.registry.broker_id,
        "partition": groups.registry.partition_for(group.group_id),
        "protocol_type": CONSUMER,
        "protocol": group.assignor(groups.decisions.assignors[0]),
        "leader": None,
        "members": [
            {
                "id": member.member_id,
                "client_id": member.client_id,
                "instance": member.instance_id,
                "host": member.client_host,
                "assignment": named(member.assigned, names),
                "epoch": member.epoch,
                "revoking": named(member.revoking, names),
                "target": named(group.target(member.member_id), names),
            }
            for member in group.members.values()
        ],
        "offsets": offsets,
    }
