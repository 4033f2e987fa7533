"""What docstrings of clients, groups and coordinators claim."""

from __future__ import annotations

from typing import Any

from tests.claims.bullets import holds

from broker_core.clients.accumulator import NO_SEQUENCE, Batch, PartitionQueue
from broker_core.clients.partitioner import Sticky
from broker_core.coordinators.runtime import CoordinatorRuntime
from broker_core.groups.assigned import AssignedGroup
from broker_core.groups.consumer.group import ConsumerGroup
from broker_core.groups.consumer.member import ConsumerMember
from broker_core.groups.group import Group
from broker_core.groups.share.group import ShareGroup
from broker_core.sharing.partition import SharePartition
from broker_core.sharing.batches import ACQUIRED, AVAILABLE
from broker_core.sharing.state import ShareState
from broker_core.transactions.producer_ids import ProducerIds

Memory = dict[str, Any]


def ascending(values: list[Any]) -> bool:
    """Strictly."""
    return all(one < other for one, other in zip(values, values[1:], strict=False))


@holds(Batch, "once it has a sequence number, its records and their order never change")
def _(batch: Batch, memory: Memory) -> bool:
    if batch.sequence == NO_SEQUENCE or batch.done:
        return True
    return batch.records == memory.setdefault("records", list(batch.records))


@holds(PartitionQueue, "in `batches` those that have a sequence number come first, ascending")
def _(queue: PartitionQueue, memory: Memory) -> bool:
    numbered = [one.sequence != NO_SEQUENCE for one in queue.batches]
    return numbered == sorted(numbered, reverse=True) and ascending(
        [one.sequence for one in queue.batches if one.sequence != NO_SEQUENCE])  # fmt: skip


@holds(Sticky, "`0 <= produced < 2 * sticky_bytes` between calls")
def _(sticky: Sticky, memory: Memory) -> bool:
    return 0 <= sticky.produced < 2 * sticky.sticky_bytes


@holds(CoordinatorRuntime, "`owned` and `loading` have no partition in common")
def _(runtime: CoordinatorRuntime, memory: Memory) -> bool:
    return not runtime.owned.keys() & runtime.loading.keys()


@holds(AssignedGroup, "assignment_epoch <= epoch")
def _(group: AssignedGroup[Any], memory: Memory) -> bool:
    return group.assignment_epoch <= group.epoch


@holds(ConsumerGroup, "1 <= member.epoch <= assignment_epoch <= epoch, but for members that are about to come back")
def _(group: ConsumerGroup, memory: Memory) -> bool:
    epochs = [one.epoch for one in group.members.values() if one.epoch > 0]
    return all(epoch <= group.assignment_epoch for epoch in epochs)


@holds(ConsumerGroup, "no partition is held (`ConsumerMember.held`) by two members")
def _(group: ConsumerGroup, memory: Memory) -> bool:
    held = [partition for member in group.members.values() for partition in member.held]
    return len(held) == len(set(held))


@holds(ConsumerGroup, "`static_members` maps each instance id to its current member id")
@holds(Group, "`static_members` maps each member's instance id to its current member id")
def _(group: ConsumerGroup | Group, memory: Memory) -> bool:
    return all(group.members[member].instance_id == instance for instance, member in group.static_members.items()) and all(
        group.static_members.get(one.instance_id) == one.member_id for one in group.members.values() if one.instance_id)  # fmt: skip


@holds(ConsumerMember, "`topics` is sorted")
def _(member: ConsumerMember, memory: Memory) -> bool:
    return list(member.topics) == sorted(member.topics)


@holds(ConsumerMember, "`assigned` and `revoking` have no partition in common")
def _(member: ConsumerMember, memory: Memory) -> bool:
    return not member.assigned.keys() & member.revoking.keys()


@holds(Group, "`leader` is a member, or None when there are no members")
def _(group: Group, memory: Memory) -> bool:
    return group.leader in group.members if group.members else group.leader is None


@holds(Group, "`awaiting_join_count` is the number of members with a parked JoinGroup")
def _(group: Group, memory: Memory) -> bool:
    return group.awaiting_join_count == sum(one.awaiting_join is not None for one in group.members.values())


@holds(ShareGroup, "member.epoch <= assignment_epoch <= epoch")
def _(group: ShareGroup, memory: Memory) -> bool:
    return all(one.epoch <= group.assignment_epoch <= group.epoch for one in group.members.values())


@holds(ShareGroup, "no partition is `initializing` and `initialized`; only initialized ones are in targets")
def _(group: ShareGroup, memory: Memory) -> bool:
    def all_of(topics: Any) -> set[Any]:
        return {(topic, partition) for topic, known in topics.items() for partition in known.partitions}

    targets = {partition for target in group.targets.values() for partition in target}
    return not all_of(group.initializing) & all_of(group.initialized) and targets <= all_of(group.initialized)


@holds(SharePartition, "each offset from `start` to `end` is in `records`, or free: one of those gaps")
def _(partition: SharePartition, memory: Memory) -> bool:
    return all(one in partition.records or one in partition.free for one in range(partition.start, partition.end + 1))


@holds(SharePartition, "a record that is free is AVAILABLE, and one that is ACQUIRED has a member and a deadline")
def _(partition: SharePartition, memory: Memory) -> bool:
    free = [partition.records[one] for one in partition.free if one in partition.records]
    taken = [one for one in partition.records.values() if one.state == ACQUIRED]
    return all(one.state == AVAILABLE for one in free) and all(one.member and one.deadline_us for one in taken)


@holds(ShareState, "`batches` are sorted and do not overlap; none ends before `start`")
def _(state: ShareState, memory: Memory) -> bool:
    spans = [bound for one in state.batches for bound in (one.first, one.last + 1)]
    return spans == sorted(spans) and all(one.last >= state.start for one in state.batches)


@holds(ProducerIds, "first <= position <= last + 1 of `current`")
def _(ids: ProducerIds, memory: Memory) -> bool:
    return ids.current.first <= ids.position <= ids.current.last + 1


@holds(ProducerIds, "at most one block is asked for or kept in `following` at a time")
def _(ids: ProducerIds, memory: Memory) -> bool:
    return not (ids.in_flight and ids.following is not None)
