"""ShareGroupDescribe, and a share group as viewers see it."""

from __future__ import annotations

from typing import Any

from broker_core.groups import describing
from broker_core.groups.consumer.member import by_topic
from broker_core.groups.registry import SHARE
from broker_core.groups.share.group import ShareGroup, ShareMember
from broker_core.groups.share.handler import ShareGroups
from broker_core.wire import messages as m

ASSIGNOR = "simple"


def describe(groups: ShareGroups, request: m.ShareGroupDescribeRequest) -> m.ShareGroupDescribeResponse:
    """ShareGroupDescribe 1: each group asked for, or why not."""
    form, names = m.ShareGroupDescribeResponse.DescribedGroup, groups.topics.names_by_id()

    def tell(group: ShareGroup) -> Any:
        return form(
            group_id=group.group_id, group_state=group.state, group_epoch=group.epoch,
            assignment_epoch=group.assignment_epoch, assignor_name=ASSIGNOR,
            members=[_member(member, names) for member in group.members.values()],
        )  # fmt: skip

    found = describing.described(groups.registry, groups.groups, request, form, SHARE, tell)
    return m.ShareGroupDescribeResponse(groups=found)


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
    """A group as plain data; its members give nothing back."""
    names = groups.topics.names_by_id()
    members = [describing.observed_member(group, member, names, None, ()) for member in group.members.values()]
    return describing.observed(groups.registry, group, SHARE, ASSIGNOR, members, {})
