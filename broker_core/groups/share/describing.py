"""ShareGroupDescribe, and a share group as viewers see it."""

from __future__ import annotations

from typing import Any

from broker_core.groups.consumer.describing import GROUP_OPERATIONS
from broker_core.groups.consumer.member import by_topic, named
from broker_core.groups.share.group import ShareGroup, ShareMember
from broker_core.groups.share.handler import ShareGroups
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

SHARE = "share"
ASSIGNOR = "simple"


def describe(groups: ShareGroups, request: m.ShareGroupDescribeRequest) -> m.ShareGroupDescribeResponse:
    """ShareGroupDescribe 1: each group asked for, or why not."""
    found = [_one(groups, group_id, request.include_authorized_operations) for group_id in request.group_ids]
    return m.ShareGroupDescribeResponse(groups=found)


def _one(groups: ShareGroups, group_id: str, operations: bool) -> Any:
    kind, registry = m.ShareGroupDescribeResponse.DescribedGroup, groups.registry
    error = registry.status(group_id)
    if error is not ErrorCode.NONE:
        return kind(group_id=group_id, error_code=error)
    group = groups.groups.get(group_id)
    if group is None:
        other = registry.other_kind(group_id, groups.groups)
        message = f"Group {group_id} is not a share group." if other else f"Group {group_id} not found."
        return kind(group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=message)
    names = groups.topics.names_by_id()
    described = kind(
        group_id=group_id, group_state=group.state, group_epoch=group.epoch, assignment_epoch=group.assignment_epoch,
        assignor_name=ASSIGNOR, members=[_member(member, names) for member in group.members.values()],
    )  # fmt: skip
    if operations:
        described.authorized_operations = GROUP_OPERATIONS
    return described


def _member(member: ShareMember, names: dict[Any, str]) -> Any:
    kind = m.ShareGroupDescribeResponse
    topics = [
        kind.TopicPartitions(topic_id=topic, topic_name=names[topic], partitions=numbers)
        for topic, numbers in by_topic(member.assigned).items() if topic in names
    ]  # fmt: skip
    return kind.Member(
        member_id=member.member_id, rack_id=member.rack_id, member_epoch=member.epoch, client_id=member.client_id,
        client_host=member.client_host, subscribed_topic_names=list(member.topics),
        assignment=kind.Assignment(topic_partitions=topics),
    )  # fmt: skip


def observed(groups: ShareGroups, group: ShareGroup) -> dict[str, Any]:
    """A group as plain data, in the form of a classic one: its generation is the group epoch."""
    names = groups.topics.names_by_id()
    return {
        "type": SHARE,
        "state": group.state,
        "generation": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "coordinator": groups.registry.broker_id,
        "partition": groups.registry.partition_for(group.group_id),
        "protocol_type": SHARE,
        "protocol": ASSIGNOR,
        "leader": None,
        "members": [
            {
                "id": member.member_id,
                "client_id": member.client_id,
                "instance": None,
                "host": member.client_host,
                "assignment": named(member.assigned, names),
                "epoch": member.epoch,
                "revoking": {},
                "target": named(group.target(member.member_id), names),
            }
            for member in group.members.values()
        ],
        "offsets": {},
    }
