"""Forgetting: DeleteGroups, OffsetDelete, expired offsets, deleted topics.

All four end alike: offsets leave the group, tombstones for them go to the log, and a group that has neither
members nor offsets any more is Dead and gets a tombstone, too. Nobody waits for tombstones: one that is lost
leaves its record behind, which expires again at the next coordinator.

When an offset expires (`offsets.retention.minutes`, 7 days; looked at every
`offsets.retention.check.interval.ms`, 10 min; KIP-211)

| the group                                | is counted from            | which offsets                     |
|------------------------------------------|----------------------------|-----------------------------------|
| has no members any more (Empty)          | when it became Empty       | all                               |
| consumers, Stable                        | the commit                 | of topics that nobody subscribes  |
| never had members (offsets kept by hand) | the commit                 | all                               |
| next generation                          | the commit                 | of topics that nobody subscribes  |
| anything else                            |                            | none                              |

An offset that an old client committed with a retention of its own expires at that time instead.
"""

from __future__ import annotations

from collections.abc import Container

from broker_core.coordinators.runtime import KeyValue
from broker_core.groups import schema
from broker_core.groups.assigned import EMPTY
from broker_core.groups.consumer.group import ConsumerGroup
from broker_core.groups.consumer.handler import ConsumerGroups
from broker_core.groups.consumer.records import encoded, group_tombstones
from broker_core.groups.group import CONSUMER_PROTOCOL_TYPE, Group
from broker_core.groups.group_offsets import GroupOffsets, TopicPartition
from broker_core.groups.registry import GroupRegistry
from broker_core.groups.states import GroupState
from broker_core.kernel import events
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode


class RemovalHandler:
    """Deletes groups and offsets."""

    def __init__(self, registry: GroupRegistry, consumer: ConsumerGroups) -> None:
        self.registry = registry
        self.consumer = consumer
        self.node = registry.node

    # --- DeleteGroups -----------------------------------------------------------------------------

    def delete_groups(self, request: m.DeleteGroupsRequest) -> m.DeleteGroupsResponse:
        """Deletes groups without members."""
        results = [
            m.DeleteGroupsResponse.DeletableGroupResult(group_id=group_id, error_code=self.delete_group(group_id))
            for group_id in dict.fromkeys(request.groups_names)
        ]
        return m.DeleteGroupsResponse(results=results)

    def delete_group(self, group_id: str) -> ErrorCode:
        """Deletes one group; NON_EMPTY_GROUP while it has members."""
        error = self.registry.status(group_id, empty_id_allowed=True)
        if error is not ErrorCode.NONE:
            return error
        modern = self.registry.consumer_groups.get(group_id)
        if modern is not None:
            return self._delete_modern(modern, "deleted")
        group = self.registry.groups.get(group_id)
        if group is None or group.state is GroupState.DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if group.state is not GroupState.EMPTY:
            return ErrorCode.NON_EMPTY_GROUP
        self.registry.transition(group, GroupState.DEAD, "deleted")
        for member_id in list(group.pending_members):
            group.forget_pending(member_id)
        self._remove(group, list(group.offsets.committed))
        return ErrorCode.NONE

    def _delete_modern(self, group: ConsumerGroup, why: str) -> ErrorCode:
        """A next-generation group; while a member is about to join it has one."""
        if self.consumer.is_taken(group.group_id):
            return ErrorCode.NON_EMPTY_GROUP
        doomed = group.offsets.remove(list(group.offsets.committed))
        self.consumer.forget(group, why)
        self._append(group.group_id, [
            *((schema.encode_offset_key(group.group_id, topic, number), None) for topic, number in doomed),
            *(encoded(record) for record in group_tombstones(group.group_id, group.patterns)),
        ])  # fmt: skip
        return ErrorCode.NONE

    # --- OffsetDelete ------------------------------------------------------------------------------

    def delete_offsets(self, request: m.OffsetDeleteRequest) -> m.OffsetDeleteResponse:
        """Deletes offsets of topics that no member reads (KIP-496). In 3.9 an empty group goes with the last one."""
        group_error, group = self._offsets_deletable(request.group_id)
        if group is None:
            return m.OffsetDeleteResponse(error_code=group_error, topics=[])
        topics, doomed = [], []
        for topic in request.topics:
            taken = group.state not in (GroupState.EMPTY, EMPTY) and group.is_subscribed(topic.name)
            error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if taken else ErrorCode.NONE
            if not taken:
                doomed += [(topic.name, one.partition_index) for one in topic.partitions]
            partitions = [
                m.OffsetDeleteResponse.OffsetDeleteResponsePartition(
                    partition_index=one.partition_index, error_code=error
                )
                for one in topic.partitions
            ]
            topics.append(m.OffsetDeleteResponse.OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
        if doomed:
            self._tell(group, doomed)
            if isinstance(group, Group) and not self.registry.rewritten:
                self._remove(group, doomed)
            else:
                self._forget_offsets(group, doomed)
        return m.OffsetDeleteResponse(error_code=ErrorCode.NONE, topics=topics)

    def _tell(self, group: Group | ConsumerGroup, doomed: list[TopicPartition]) -> None:
        for topic, partition in doomed if self.node.messages else ():
            if (topic, partition) in group.offsets.committed:
                self.node.emit(events.OFFSETS_DELETED, group=group.group_id, topic=topic, partition=partition)

    def _offsets_deletable(self, group_id: str) -> tuple[ErrorCode, Group | ConsumerGroup | None]:
        error = self.registry.status(group_id)
        if error is not ErrorCode.NONE:
            return error, None
        modern = self.registry.consumer_groups.get(group_id)
        if modern is not None:
            return ErrorCode.NONE, modern
        group = self.registry.groups.get(group_id)
        if group is None or group.state is GroupState.DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND, None
        if group.state is not GroupState.EMPTY and group.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return ErrorCode.NON_EMPTY_GROUP, None
        return ErrorCode.NONE, group

    def topic_partitions_deleted(self, partitions: list[TopicPartition]) -> None:
        """These partitions do not exist any more: neither do offsets in them."""
        for group in list(self.registry.groups.values()):
            self._remove(group, partitions)
        for modern in list(self.registry.consumer_groups.values()):
            self._forget_offsets(modern, partitions)

    # --- expiry -------------------------------------------------------------------------------------

    def expire(self) -> None:
        """Removes what nobody has needed for the retention time."""
        now_ms = self.node.wall_ms()
        for group in list(self.registry.groups.values()):
            self._remove(group, self.expired(group, now_ms))
        for modern in list(self.registry.consumer_groups.values()):
            self._forget_offsets(modern, self._old(modern.offsets, modern.subscribed(), None, now_ms))
            if not modern.members and not modern.offsets:
                self._delete_modern(modern, "no members, no offsets")

    def expired(self, group: Group, now_ms: int) -> list[TopicPartition]:
        """Offsets whose time is over, by the table above."""
        since: int | None = None
        spared: Container[str] = ()
        if group.protocol_type is None:
            pass
        elif group.state is GroupState.EMPTY:
            since = group.state_since_ms
        elif group.state is GroupState.STABLE and group.subscribed is not None:  # only known of consumers
            spared = group.subscribed
        else:
            return []
        return self._old(group.offsets, spared, since, now_ms)

    def _old(
        self, offsets: GroupOffsets, spared: Container[str], since: int | None, now_ms: int
    ) -> list[TopicPartition]:
        """Offsets of topics that are not spared, when their time, from `since` or their commit on, is over."""
        retention_ms = int(self.registry.config["offsets.retention.minutes"]) * 60_000
        doomed = []
        for key, offset in offsets.committed.items():
            if key[0] in spared or offsets.unstable(key):
                continue
            base = offset.commit_timestamp if since is None else since
            ends = offset.expire_timestamp if offset.expire_timestamp is not None else base + retention_ms
            if now_ms >= ends:
                doomed.append(key)
        return doomed

    def _forget_offsets(self, group: Group | ConsumerGroup, keys: list[TopicPartition]) -> None:
        """Offsets go. The group stays, though it be empty: the next look at what has expired finds it."""
        gone = group.offsets.remove(keys)
        self._append(group.group_id, [(schema.encode_offset_key(group.group_id, *key), None) for key in gone])

    def _remove(self, group: Group, keys: list[TopicPartition]) -> None:
        """Offsets go; then the group, when nothing is left of it. A group that never had a generation has
        no record, so it needs no tombstone."""
        removed = group.offsets.remove(keys)
        if group.state is GroupState.EMPTY and not group.offsets and not group.pending_members:
            self.registry.transition(group, GroupState.DEAD, "no members, no offsets")
        records: list[KeyValue] = [
            (schema.encode_offset_key(group.group_id, topic, partition), None) for topic, partition in removed
        ]
        if group.state is GroupState.DEAD:
            del self.registry.groups[group.group_id]
            if group.generation > 0:
                records.append((schema.encode_group_key(group.group_id), None))
        self._append(group.group_id, records)

    def _append(self, group_id: str, records: list[KeyValue]) -> None:
        if records:
            self.registry.runtime.append(group_id, records, self._tombstones_written, None)

    def _tombstones_written(self, context: None, error: int) -> None:
        """Nobody waits: a lost tombstone is written again when the offset expires at the next coordinator."""
