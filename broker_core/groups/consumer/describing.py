"""ConsumerGroupDescribe, and a next-generation group as viewers see it."""

from __future__ import annotations

from typing import Any

from broker_core.groups import describing
from broker_core.groups.consumer.group import ConsumerGroup
from broker_core.groups.consumer.handler import ConsumerGroups
from broker_core.groups.consumer.member import ConsumerMember, Partition, by_topic
from broker_core.groups.registry import CLASSIC, CONSUMER
from broker_core.wire import messages as m

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1
"""Which protocol a member speaks."""


class Describer:
    """Answers ConsumerGroupDescribe."""

    def __init__(self, groups: ConsumerGroups) -> None:
        self.groups = groups

    def describe(self, request: m.ConsumerGroupDescribeRequest) -> m.ConsumerGroupDescribeResponse:
        """Each group asked for, or why not."""
        registry, form = self.groups.registry, m.ConsumerGroupDescribeResponse.DescribedGroup
        found = describing.described(registry, registry.consumer_groups, request, form, CONSUMER, self._told)
        return m.ConsumerGroupDescribeResponse(groups=found)

    def _told(self, group: ConsumerGroup) -> Any:
        names = self.groups.topics.names_by_id()
        return m.ConsumerGroupDescribeResponse.DescribedGroup(
            group_id=group.group_id, group_state=group.state, group_epoch=group.epoch,
            assignment_epoch=group.assignment_epoch,
            assignor_name=group.assignor(self.groups.decisions.assignors[0]),
            members=[_member(group, member, names) for member in group.members.values()],
        )  # fmt: skip


def _member(group: ConsumerGroup, member: ConsumerMember, names: dict[Any, str]) -> Any:
    return m.ConsumerGroupDescribeResponse.Member(
        member_id=member.member_id, instance_id=member.instance_id, rack_id=member.rack_id,
        member_epoch=member.epoch, client_id=member.client_id, client_host=member.client_host,
        subscribed_topic_names=list(member.topics), subscribed_topic_regex=member.pattern,
        assignment=_assignment(member.held, names),
        target_assignment=_assignment(group.target(member.member_id), names),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )  # fmt: skip


def _assignment(partitions: Any, names: dict[Any, str]) -> Any:
    kind = m.ConsumerGroupDescribeResponse
    known: list[Partition] = [one for one in partitions if one[0] in names]
    return kind.Assignment(topic_partitions=[
        kind.TopicPartitions(topic_id=topic, topic_name=names[topic], partitions=numbers)
        for topic, numbers in by_topic(known).items()
    ])  # fmt: skip


def observed(groups: ConsumerGroups, group: ConsumerGroup) -> dict[str, Any]:
    """A group as plain data."""
    offsets: dict[str, dict[str, int]] = {}
    for topic, partition in sorted(group.offsets.committed):
        offsets.setdefault(topic, {})[str(partition)] = group.offsets.committed[(topic, partition)].offset
    names = groups.topics.names_by_id()
    members = [
        {
            **describing.observed_member(group, member, names, member.instance_id, member.revoking),
            "protocol": CONSUMER if member.classic is None else CLASSIC, "state": member.state.name,
        }
        for member in group.members.values()
    ]  # fmt: skip
    assignor = group.assignor(groups.decisions.assignors[0])
    return describing.observed(groups.registry, group, CONSUMER, assignor, members, offsets)
