"""The group coordinator of one broker: all group requests come in here.

    request ---> status: is the group's partition loaded here?  ---> handler of the API ---> answer
                   | COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR        | parked in the member
                                                                          | kept until a record is committed

| API | module | answered |
|---|---|---|
| JoinGroup | `join`, `rebalance` | when all have joined |
| SyncGroup | `sync` | when the generation is committed |
| Heartbeat, LeaveGroup | `membership`, `sessions` | at once |
| OffsetCommit | `offsets` | when the offsets are committed |
| OffsetFetch | `offsets` | at once |
| TxnOffsetCommit | `transactional` | when the offsets are in the log; they count with the marker |
| DeleteGroups, OffsetDelete, expiry | `removal` | at once |
| ListGroups, DescribeGroups | `inspection` | at once |
| ConsumerGroupHeartbeat (KIP-848) | `consumer` | when what it changes is committed |
| ConsumerGroupDescribe | `consumer.describing` | at once |
| ShareGroupHeartbeat (KIP-932) | `share` | when what it changes is committed |
| ShareGroupDescribe | `share.describing` | at once |

A member that was loaded from the log has only the protocol that its group had chosen, until it joins again.
Members of the classic protocol in a group of KIP-848 are `consumer.classic_members`'.
Not here: authorization (the request handlers' business).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from broker_core.coordinators.ports import StateTopicPort
from broker_core.coordinators.runtime import CoordinatorRuntime
from broker_core.groups.consumer.classic_members import ClassicMembers
from broker_core.groups.consumer.describing import Describer, observed
from broker_core.groups.consumer.handler import ConsumerGroups
from broker_core.groups.consumer.subscriptions import TopicsPort
from broker_core.groups.group_offsets import TopicPartition
from broker_core.groups.inspection import InspectionHandler, observe
from broker_core.groups.join import JoinHandler
from broker_core.groups.loading import GroupShards
from broker_core.groups.member import ClientIdentity, Reply
from broker_core.groups.membership import MembershipHandler
from broker_core.groups.offsets import OffsetHandler
from broker_core.groups.rebalance import Rebalancer
from broker_core.groups.registry import GroupRegistry
from broker_core.groups.removal import RemovalHandler
from broker_core.groups.share import describing as sharing
from broker_core.groups.share.handler import ShareGroups, SharePersister
from broker_core.groups.share.offsets import ShareOffsets
from broker_core.groups.sync import SyncHandler
from broker_core.groups.transactional import TransactionalOffsets, commit_response
from broker_core.kernel.node import Node
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

Done = Callable[[Any, Any], None]


class GroupCoordinator:
    """Coordinates the groups whose partition of `__consumer_offsets` this broker leads.

    `config` maps Kafka's setting names to typed values; read are group.initial.rebalance.delay.ms,
    group.min.session.timeout.ms, group.max.session.timeout.ms, group.max.size, offset.metadata.max.bytes,
    offsets.retention.minutes, offsets.retention.check.interval.ms, offsets.topic.num.partitions and group.consumer.*.
    `topics`: what next-generation groups are assigned. `persister`: the share coordinators; None: no share groups here.
    """

    def __init__(
        self, node: Node, broker_id: int, config: Mapping[str, Any], topic: StateTopicPort, topics: TopicsPort,
        persister: SharePersister | None = None,
    ) -> None:  # fmt: skip
        self.registry = GroupRegistry(node, broker_id, config, rewritten=persister is not None)
        self.rebalancer = Rebalancer(self.registry)
        self.consumer = ConsumerGroups(self.registry, topics, self.rebalancer)
        self.share = None if persister is None else ShareGroups(self.registry, topics, persister)
        self.share_offsets = None if self.share is None else ShareOffsets(self.share)
        shards = GroupShards(self.registry, self.rebalancer, self.consumer, self.share)
        self.runtime = CoordinatorRuntime(node, topic, int(config["offsets.topic.num.partitions"]), shards)
        self.registry.runtime = self.runtime
        classic = ClassicMembers(self.consumer)
        self._joins = JoinHandler(self.registry, self.rebalancer, self.consumer, classic)
        self._syncs = SyncHandler(self.registry, self.rebalancer, classic)
        self._membership = MembershipHandler(self.registry, self.rebalancer, self.consumer, classic)
        self._offsets = OffsetHandler(self.registry, self.rebalancer, topics)
        self._transactional = TransactionalOffsets(self.registry, topics)
        self._removal = RemovalHandler(self.registry, self.consumer)
        self._inspection = InspectionHandler(self.registry)
        self._describer = Describer(self.consumer)
        self.runtime.every(int(config["offsets.retention.check.interval.ms"]), self._removal.expire)

    # --- which groups -------------------------------------------------------------------------------

    def partition_for(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` whose leader coordinates this group (FindCoordinator)."""
        return self.runtime.partition_for(group_id)

    def on_election(self, partition: int, leader_epoch: int) -> None:
        """This broker has become leader of a partition of `__consumer_offsets`."""
        self.runtime.elected(partition, leader_epoch)

    def on_resignation(self, partition: int, leader_epoch: int | None) -> None:
        """This broker leads the partition no longer; None when the replica was stopped or deleted."""
        self.runtime.resigned(partition, leader_epoch)

    def on_partitions_deleted(self, partitions: list[TopicPartition]) -> None:
        """Topics were deleted: committed offsets in these (topic, partition) go, too."""
        self._removal.topic_partitions_deleted(partitions)

    def shut_down(self) -> None:
        """The broker is stopping: from now on COORDINATOR_NOT_AVAILABLE."""
        self.runtime.shut_down()

    # --- requests -----------------------------------------------------------------------------------

    def join_group(self, request: m.JoinGroupRequest, client: ClientIdentity, done: Done, context: Any) -> None:
        """JoinGroup 0-9; later `done(context, JoinGroupResponse)`."""
        self._joins.join(request, client, Reply(done, context))

    def sync_group(self, request: m.SyncGroupRequest, client: ClientIdentity, done: Done, context: Any) -> None:
        """SyncGroup 0-5; later `done(context, SyncGroupResponse)`."""
        self._syncs.sync(request, client, Reply(done, context))

    def heartbeat(self, request: m.HeartbeatRequest) -> m.HeartbeatResponse:
        """Heartbeat 0-4."""
        return self._membership.heartbeat(request)

    def leave_group(self, request: m.LeaveGroupRequest, client: ClientIdentity) -> m.LeaveGroupResponse:
        """LeaveGroup 0-5."""
        return self._membership.leave(request, client)

    def commit_offsets(self, request: m.OffsetCommitRequest, client: ClientIdentity, done: Done, context: Any) -> None:
        """OffsetCommit 1-9; later `done(context, OffsetCommitResponse)`. Topics that do not exist were taken out."""
        self._take_once(request)
        self._offsets.commit(request, client, Reply(done, context))

    def commit_transactional(
        self, request: m.TxnOffsetCommitRequest, guard: int | None, done: Done, context: Any
    ) -> None:
        """TxnOffsetCommit 0-5; later `done(context, TxnOffsetCommitResponse)`; `guard`: of its verification."""
        self._take_once(request)
        self._transactional.commit(request, guard, Reply(done, context))

    def expect_transactional(self, group_id: str) -> None:
        """A TxnOffsetCommit is about to be verified: 3.9 has the group from now on, whatever comes of it."""
        if not self.registry.rewritten and self.registry.status(group_id) is ErrorCode.NONE:
            self.registry.get_or_create(group_id)

    def refuse_transactional(self, request: m.TxnOffsetCommitRequest, error: ErrorCode) -> m.TxnOffsetCommitResponse:
        """The answer to a commit that is not tried at all."""
        self._take_once(request)
        return commit_response(request, error, {})

    def transaction_ended(self, producer_id: int, partitions: list[int], commit: bool) -> None:
        """The producer's marker is committed in these partitions of `__consumer_offsets`."""
        self._transactional.transaction_ended(producer_id, partitions, commit)

    def fetch_offsets(self, request: m.OffsetFetchRequest, client: ClientIdentity) -> m.OffsetFetchResponse:
        """OffsetFetch 1-10, topics by name."""
        return self._offsets.fetch(request, client)

    def delete_offsets(self, request: m.OffsetDeleteRequest) -> m.OffsetDeleteResponse:
        """OffsetDelete 0."""
        self._take_once(request)
        return self._removal.delete_offsets(request)

    def _take_once(self, request: Any) -> None:
        """3.9 goes by topic and partition: of what a request names twice the last counts, and is answered once."""
        if self.registry.rewritten:
            return
        kept: dict[str, tuple[Any, dict[int, Any]]] = {}
        for topic in request.topics:
            parts = kept.setdefault(topic.name, (topic, {}))[1]
            parts.update((one.partition_index, one) for one in topic.partitions)
        for topic, parts in kept.values():
            topic.partitions = list(parts.values())
        request.topics = [topic for topic, _ in kept.values()]

    def delete_groups(self, request: m.DeleteGroupsRequest) -> m.DeleteGroupsResponse:
        """DeleteGroups 0-2."""
        return self._removal.delete_groups(request)

    def list_groups(self, request: m.ListGroupsRequest) -> m.ListGroupsResponse:
        """ListGroups 0-5."""
        return self._inspection.list_groups(request)

    def describe_groups(self, request: m.DescribeGroupsRequest, api_version: int) -> m.DescribeGroupsResponse:
        """DescribeGroups 0-6."""
        return self._inspection.describe_groups(request, api_version)

    def consumer_heartbeat(
        self, request: m.ConsumerGroupHeartbeatRequest, client: ClientIdentity, done: Done, context: Any
    ) -> None:
        """ConsumerGroupHeartbeat 0-1; later `done(context, ConsumerGroupHeartbeatResponse)`."""
        self.consumer.heartbeat(request, client, Reply(done, context))

    def describe_consumer_groups(self, request: m.ConsumerGroupDescribeRequest) -> m.ConsumerGroupDescribeResponse:
        """ConsumerGroupDescribe 0-1."""
        return self._describer.describe(request)

    def share_heartbeat(
        self, request: m.ShareGroupHeartbeatRequest, client: ClientIdentity, done: Done, context: Any
    ) -> None:
        """ShareGroupHeartbeat 1; later `done(context, ShareGroupHeartbeatResponse)`."""
        assert self.share is not None
        self.share.heartbeat(request, client, Reply(done, context))

    def describe_share_groups(self, request: m.ShareGroupDescribeRequest) -> m.ShareGroupDescribeResponse:
        """ShareGroupDescribe 1."""
        assert self.share is not None
        return sharing.describe(self.share, request)

    def take_group_settings(self, group_id: str, values: dict[str, str]) -> None:
        """Everything that is set for one group alone."""
        for overrides in (self.consumer.overrides, self.registry.overrides):
            overrides.pop(group_id, None)
            if values:
                overrides[group_id] = values

    # --- viewers ------------------------------------------------------------------------------------

    def groups(self) -> dict[str, dict[str, Any]]:
        """All groups by id, sorted, as plain data: state, generation, members with assignment, offsets."""
        modern = {name: observed(self.consumer, group) for name, group in self.registry.consumer_groups.items()}
        if self.share is not None:
            modern |= {name: sharing.observed(self.share, group) for name, group in self.share.groups.items()}
        return dict(sorted({**observe(self.registry), **modern}.items()))
