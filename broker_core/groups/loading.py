"""Reading a partition of `__consumer_offsets` when this broker becomes its leader.

The log is replayed from its start; of each key the last record counts, a tombstone removes it:

    offset 0  (billing, orders-0) -> 10         committed[orders-0] = 10
    offset 1  billing, generation 1             the group with its members and their shares
    offset 2  (billing, orders-0) -> 25         committed[orders-0] = 25
    offset 3  (old, orders-0)     -> tombstone  nothing

Reading goes in slices, so that a long log does not stop everything else of the broker; until the last
one the partition's groups answer COORDINATOR_LOAD_IN_PROGRESS. Losing the partition ends the loading at once.

What a disk has damaged is passed over and told (`log.salvage`): groups and offsets whose last record it was
fall back to the one before, all others are there.
"""

from __future__ import annotations

from broker_core.groups import schema
from broker_core.groups.group import Group
from broker_core.groups.group_offsets import CommittedOffset, TopicPartition
from broker_core.groups.member import Member
from broker_core.groups.ports import RecordView
from broker_core.groups.rebalance import Rebalancer
from broker_core.groups.registry import GroupRegistry
from broker_core.groups.states import GroupState
from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.log.salvage import Damage, Place, readable_batches
from broker_core.records import RecordsError, decode_records
from broker_core.records.header import Batch

SLICE_RECORDS = 1000


class _Loading:
    """What has been read of one partition so far."""

    __slots__ = ("partition", "start", "place", "groups", "offsets")

    def __init__(self, partition: int, start: int) -> None:
        self.partition = partition
        self.start = start
        self.place = Place(start)
        self.groups: dict[str, schema.StoredGroup] = {}
        self.offsets: dict[str, dict[TopicPartition, CommittedOffset]] = {}

    def replay(self, key: schema.Buffer | None, value: schema.Buffer | None) -> None:
        """One record. A kind of record that is not known is passed over."""
        if key is None:
            raise schema.MalformedRecord("it has no key")
        about = schema.decode_key(key)
        if isinstance(about, schema.OffsetKey):
            offsets = self.offsets.setdefault(about.group, {})
            if value is None:
                offsets.pop((about.topic, about.partition), None)
            else:
                offsets[(about.topic, about.partition)] = schema.decode_offset_value(value)
        elif isinstance(about, schema.GroupKey):
            self.groups.pop(about.group, None)
            if value is not None:
                self.groups[about.group] = schema.decode_group_value(value)


class PartitionLoader:
    """Takes over and gives up partitions."""

    def __init__(self, registry: GroupRegistry, rebalancer: Rebalancer) -> None:
        self.registry = registry
        self.rebalancer = rebalancer
        self.node = registry.node

    def elected(self, partition: int, leader_epoch: int) -> None:
        """This broker leads the partition: begin to read it. A new epoch of a partition that is owned
        or being read already changes nothing: no other leader has written to it."""
        registry = self.registry
        if not registry.accept_epoch(partition, leader_epoch):
            return
        if partition in registry.owned or partition in registry.loading:
            return
        registry.loading[partition] = None
        log = registry.log.read(partition)
        start = log.log_start_offset if log is not None else 0
        self.node.soon(self._slice, _Loading(partition, start))

    def resigned(self, partition: int, leader_epoch: int | None) -> None:
        """Another broker leads it (None: the replica is gone): forget its groups, send everybody there."""
        registry = self.registry
        if leader_epoch is not None and not registry.accept_epoch(partition, leader_epoch):
            return
        known = partition in registry.owned or partition in registry.loading
        registry.owned.pop(partition, None)
        registry.loading.pop(partition, None)
        for group in [one for one in registry.groups.values() if registry.partition_for(one.group_id) == partition]:
            self.rebalancer.unload(group)
            del registry.groups[group.group_id]
        if known:
            self.node.emit(events.GROUP_PARTITION_UNLOADED, partition=partition)

    def _slice(self, loading: _Loading) -> None:
        registry = self.registry
        if loading.partition not in registry.loading:
            return
        log = registry.log.read(loading.partition)
        count = 0
        try:
            for found in readable_batches(log, loading.place) if log is not None else ():
                count += self._take(loading, found)
                if count >= SLICE_RECORDS:
                    self.node.soon(self._slice, loading)
                    return
        except StorageError as error:
            registry.log.failed(error)
            return
        self._finish(loading)

    def _take(self, loading: _Loading, found: Batch | Damage) -> int:
        """One batch; what cannot be read of it must not take the partition's other groups with it."""
        if isinstance(found, Damage):
            self._refuse(loading, found.offset, found.reason)
            return 1
        if found.header.is_control:
            return 1
        try:
            records = decode_records(found)
        except RecordsError as error:
            self._refuse(loading, found.header.base_offset, str(error))
            return 1
        for record in records:
            if record.offset >= loading.start:
                self._replay(loading, record)
        return len(records)

    def _replay(self, loading: _Loading, record: RecordView) -> None:
        try:
            loading.replay(record.key, record.value)
        except schema.MalformedRecord as error:
            self._refuse(loading, record.offset, str(error))

    def _refuse(self, loading: _Loading, offset: int, reason: str) -> None:
        self.node.emit(events.GROUP_RECORD_REFUSED, partition=loading.partition, offset=offset, reason=reason)

    def _finish(self, loading: _Loading) -> None:
        registry = self.registry
        del registry.loading[loading.partition]
        registry.owned[loading.partition] = None
        with_offsets = {group_id: None for group_id, offsets in loading.offsets.items() if offsets}
        count = 0
        for group_id in [*loading.groups, *(one for one in with_offsets if one not in loading.groups)]:
            group = restored_group(group_id, loading.groups.get(group_id), self.node.wall_ms())
            for key, offset in loading.offsets.get(group_id, {}).items():
                group.offsets.replay(key, offset)
                count += 1
            registry.groups[group_id] = group
            self.rebalancer.loaded(group)
        groups = len(loading.groups) + sum(one not in loading.groups for one in with_offsets)
        if groups or count:
            self.node.emit(events.GROUP_PARTITION_LOADED, partition=loading.partition, groups=groups, offsets=count)


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
