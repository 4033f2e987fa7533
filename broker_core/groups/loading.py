"""What a partition of `__consumer_offsets` says about its groups, and taking it over or giving it up.

Reading goes record by record (`coordinators.loading`); of a group with its last generation and its offsets becomes
a `Group` only when all is read, since its members' sessions begin then. Offsets of a transaction count when its marker
is found; those whose marker has not come stay unstable.
"""

from __future__ import annotations

from broker_core.coordinators.stored import Buffer
from broker_core.groups import schema
from broker_core.groups.consumer.group import ConsumerGroup
from broker_core.groups.consumer.handler import ConsumerGroups
from broker_core.groups.consumer.records import GROUP, decoded
from broker_core.groups.group import Group
from broker_core.groups.group_offsets import GroupOffsets
from broker_core.groups.member import Member
from broker_core.groups.rebalance import Rebalancer
from broker_core.groups.registry import GroupRegistry
from broker_core.groups.share import records as sharing
from broker_core.groups.share.group import ShareGroup
from broker_core.groups.share.handler import ShareGroups
from broker_core.groups.states import GroupState
from broker_core.kernel import events
from broker_core.records.header import BatchHeader


class GroupShard:
    """What has been read of one partition so far."""

    __slots__ = ("groups", "consumer_groups", "share_groups", "offsets")

    def __init__(self) -> None:
        self.groups: dict[str, schema.StoredGroup] = {}
        self.consumer_groups: dict[str, ConsumerGroup] = {}
        self.share_groups: dict[str, ShareGroup] = {}
        self.offsets: dict[str, GroupOffsets] = {}

    def replay(self, key: Buffer | None, value: Buffer | None, header: BatchHeader) -> None:
        """One record. A kind of record that is not known is passed over."""
        about = schema.decode_key(key)
        if isinstance(about, schema.OffsetKey):
            offset = None if value is None else schema.decode_offset_value(value)
            offsets = self.offsets.setdefault(about.group, GroupOffsets())
            if offset is not None and header.is_transactional:
                offsets.replay_transactional(header.producer_id, (about.topic, about.partition), offset)
            else:
                offsets.replay((about.topic, about.partition), offset)
        elif isinstance(about, schema.GroupKey):
            self.groups.pop(about.group, None)
            if value is not None:
                self.groups[about.group] = schema.decode_group_value(value)
        else:
            self._replay_consumer(key, value)
            self._replay_share(key, value)

    def _replay_consumer(self, key: Buffer | None, value: Buffer | None) -> None:
        """A record of a next-generation group. Tombstones of one that is not known say nothing."""
        record = decoded(key, value)
        if record is None:
            return
        group = self.consumer_groups.get(record.group_id)
        if group is None and value is None:
            return
        if group is None:
            group = self.consumer_groups[record.group_id] = ConsumerGroup(record.group_id)
        group.replay(record)
        if record.kind == GROUP and value is None and not group.members:
            del self.consumer_groups[record.group_id]

    def _replay_share(self, key: Buffer | None, value: Buffer | None) -> None:
        """A record of a share group."""
        record = sharing.decoded(key, value)
        if record is None or (value is None and record.group_id not in self.share_groups):
            return
        group = self.share_groups.setdefault(record.group_id, ShareGroup(record.group_id))
        group.replay(record)
        if record.kind == sharing.GROUP and value is None and not group.members:
            del self.share_groups[record.group_id]

    def replay_marker(self, header: BatchHeader, commit: bool) -> None:
        """The producer's offsets in this partition count from now on, or never."""
        for offsets in self.offsets.values():
            offsets.end_transaction(header.producer_id, commit)


class GroupShards:
    """Takes partitions over and gives them up."""

    def __init__(
        self, registry: GroupRegistry, rebalancer: Rebalancer, consumer: ConsumerGroups, share: ShareGroups | None
    ) -> None:
        self.registry = registry
        self.rebalancer = rebalancer
        self.consumer = consumer
        self.share = share
        self.node = registry.node

    def blank(self, partition: int) -> GroupShard:
        return GroupShard()

    def take_over(self, partition: int, shard: GroupShard) -> None:
        """The partition's groups are known: they go on here."""
        count = 0
        for group in shard.consumer_groups.values():
            group.offsets = shard.offsets.pop(group.group_id, group.offsets)
            count += len(group.offsets.committed)
            shard.groups.pop(group.group_id, None)
            self.consumer.loaded(group)
        if self.share is not None:
            for shared in shard.share_groups.values():
                self.share.loaded(shared)
        with_offsets = {group_id: None for group_id, offsets in shard.offsets.items() if offsets}
        for group_id in [*shard.groups, *(one for one in with_offsets if one not in shard.groups)]:
            classic = restored_group(group_id, shard.groups.get(group_id), self.node.wall_ms())
            classic.offsets = shard.offsets.get(group_id, classic.offsets)
            count += len(classic.offsets.committed)
            self.registry.groups[group_id] = classic
            self.rebalancer.loaded(classic)
        modern = len(shard.consumer_groups) + len(shard.share_groups)
        groups = modern + len(shard.groups) + sum(one not in shard.groups for one in with_offsets)
        if groups or count:
            self.node.emit(events.GROUP_PARTITION_LOADED, partition=partition, groups=groups, offsets=count)

    def give_up(self, partition: int, known: bool) -> None:
        """Its groups are another broker's now."""
        registry = self.registry
        for group in [one for one in registry.groups.values() if registry.partition_for(one.group_id) == partition]:
            self.rebalancer.unload(group)
            del registry.groups[group.group_id]
        self.consumer.unload(partition)
        if self.share is not None:
            self.share.unload(partition)
        if known:
            self.node.emit(events.GROUP_PARTITION_UNLOADED, partition=partition)

    def refuse(self, partition: int, offset: int, reason: str) -> None:
        """What cannot be read is told."""
        self.node.emit(events.GROUP_RECORD_REFUSED, partition=partition, offset=offset, reason=reason)


def restored_group(group_id: str, stored: schema.StoredGroup | None, now_ms: int) -> Group:
    """The group as its record says: Stable with its members, or Empty. Without a record it only has offsets."""
    if stored is None:
        return Group(group_id, GroupState.EMPTY, now_ms)
    group = Group(group_id, GroupState.STABLE if stored.members else GroupState.EMPTY, now_ms)
    group.generation = stored.generation
    group.protocol_type = stored.protocol_type or None
    group.protocol = stored.protocol
    for one in stored.members:
        group.add(
            Member(
                one.member_id,
                one.instance_id,
                one.client_id,
                one.client_host,
                one.rebalance_timeout_ms,
                one.session_timeout_ms,
                stored.protocol_type,
                [(stored.protocol or "", one.subscription)],
                one.assignment,
            )
        )
    group.leader = stored.leader
    group.state_since_ms = None if stored.state_since_ms == -1 else stored.state_since_ms
    group.subscribed = group.compute_subscribed()
    return group
