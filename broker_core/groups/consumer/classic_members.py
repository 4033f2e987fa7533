"""Members of the classic protocol in a group of KIP-848: their four requests, answered from the group's epochs.

A classic member knows generations and assignments; the group has epochs and targets. So for such a member

| it says                  | it hears |
|--------------------------|---|
| JoinGroup                | at once: its member epoch as generation, its own first assignor; no leader, no others |
| SyncGroup                | what the broker has assigned; REBALANCE_IN_PROGRESS when there is a newer target      |
| Heartbeat                | REBALANCE_IN_PROGRESS when the target is newer than its epoch, when it is to give     |
|                          | something back, when what it waits for is free; ILLEGAL_GENERATION for another epoch |
| LeaveGroup               | as from a classic group; the target without it is computed when the next one speaks   |
| OffsetCommit             | as from a classic group, or an older generation in which it had the partition already |

An *eager* member gives everything up before it joins, so with a group epoch it stops for two round trips; a cooperative
one says what it owns, and goes on. It must join within its rebalance timeout after it was told to, and sync within
the same time after that, or it is out. It is never asked to share out anything.
Source: GroupMetadataManager.classicGroupJoinToConsumerGroup, -SyncTo-, -HeartbeatTo-, -LeaveTo-.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from broker_core.groups.consumer.checks import HeartbeatRefused, static_member_of
from broker_core.groups.consumer.conversion import assignment_bytes
from broker_core.groups.consumer.decisions import Joins
from broker_core.groups.consumer.group import ConsumerGroup
from broker_core.groups.consumer.handler import ConsumerGroups, Outcome
from broker_core.groups.consumer.member import ConsumerMember, MemberState, new_member_id
from broker_core.groups.consumer.settings import ASSIGNMENT_INTERVAL
from broker_core.groups.consumer_protocol import MalformedProtocol, subscription
from broker_core.groups.group import CONSUMER_PROTOCOL_TYPE, join_error
from broker_core.groups.member import UNKNOWN_MEMBER_ID, ClientIdentity, Reply
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

MEMBER_ID_REQUIRED_VERSION = 4


class JoinRefused(Exception):
    """A JoinGroup that is answered with an error; `member_id`: the name that the client is told, if any."""

    def __init__(self, error: ErrorCode, member_id: str = UNKNOWN_MEMBER_ID) -> None:
        super().__init__(error)
        self.error = error
        self.member_id = member_id


class ClassicMembers:
    """Answers JoinGroup, SyncGroup and Heartbeat of groups that are not classic ones."""

    def __init__(self, groups: ConsumerGroups) -> None:
        self.groups = groups
        self.registry = groups.registry

    def has(self, group_id: str) -> bool:
        """Whether the group has members of the newer protocol, or is becoming or ceasing to be one."""
        group = self.registry.consumer_groups.get(group_id)
        return self.groups.lanes.busy(group_id) or (group is not None and bool(group.members))

    # --- join -----------------------------------------------------------------------------------

    def join(
        self, request: m.JoinGroupRequest, client: ClientIdentity, reply: Reply, classic: Callable[..., None]
    ) -> None:
        """Decides when it is the group's turn; `classic(request, client, reply)` when it is a classic group by then."""
        runtime = self.registry.runtime
        self.groups.lanes.run(runtime, request.group_id, self._join, request, client, reply, classic)

    def _join(
        self, request: m.JoinGroupRequest, client: ClientIdentity, reply: Reply, classic: Callable[..., None]
    ) -> Outcome | None:
        group = self.registry.consumer_groups.get(request.group_id)
        if group is None or not group.members or self.registry.status(request.group_id) is not ErrorCode.NONE:
            classic(request, client, reply)
            return None
        try:
            joins = self._joins(group, request, client)
            interval_ms = self.groups.setting(group.group_id, ASSIGNMENT_INTERVAL)
            decision = self.groups.decisions.join(group, joins, self.registry.node.wall_ms(), interval_ms)
        except JoinRefused as refusal:
            reply.send(join_error(refusal.member_id, refusal.error))
            return None
        key = group.group_id, decision.response.member_id
        if decision.into is None:
            self.groups.joins.stop(key)
            self.groups.sessions.restart(key, request.session_timeout)
            self.groups.syncs.restart(key, joins.rebalance_timeout_ms)
        return Outcome(group, decision, reply, "left", refused=partial(join_error, UNKNOWN_MEMBER_ID))

    def _joins(self, group: ConsumerGroup, request: m.JoinGroupRequest, client: ClientIdentity) -> Joins:
        """What the request says, checked. Raises JoinRefused."""
        unknown = request.member_id == UNKNOWN_MEMBER_ID
        member_id = new_member_id(self.registry.node.uuid()) if unknown else request.member_id
        largest = int(self.registry.config["group.consumer.max.size"])
        if len(group.members) >= largest and member_id not in group.members:
            raise JoinRefused(ErrorCode.GROUP_MAX_SIZE_REACHED)
        protocols = tuple((one.name, bytes(one.metadata)) for one in request.protocols)
        if request.protocol_type != CONSUMER_PROTOCOL_TYPE or not group.speaks([name for name, _ in protocols]):
            raise JoinRefused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        instance_id = request.group_instance_id
        if unknown and instance_id is None and client.api_version >= MEMBER_ID_REQUIRED_VERSION:
            raise JoinRefused(ErrorCode.MEMBER_ID_REQUIRED, member_id)
        try:
            said = subscription(protocols[0][1])
        except MalformedProtocol:  # Kafka takes it for a fault of its own
            raise JoinRefused(ErrorCode.UNKNOWN_SERVER_ERROR) from None
        if not unknown and instance_id is not None:
            try:
                static_member_of(group, member_id, instance_id)
            except HeartbeatRefused as refusal:
                raise JoinRefused(refusal.error) from None
        topics = self.groups.topics
        shapes = {topic: topics.shape(topic) for topic in said.owned}
        owned = [(shape.topic_id, one) for topic, shape in shapes.items() if shape for one in said.owned[topic]]
        timeout = request.session_timeout if client.api_version == 0 else request.rebalance_timeout
        return Joins(
            member_id, instance_id, unknown, client, timeout, request.session_timeout, protocols,
            tuple(sorted(set(said.topics))), said.rack, owned,
        )  # fmt: skip

    # --- sync -----------------------------------------------------------------------------------

    def sync(self, request: m.SyncGroupRequest, reply: Reply, classic: Callable[[], None]) -> None:
        """Tells a member what it has; behind what is on its way into the log."""
        self.groups.lanes.run(self.registry.runtime, request.group_id, self._sync, request, reply, classic)

    def _sync(self, request: m.SyncGroupRequest, reply: Reply, classic: Callable[[], None]) -> None:
        group = self.registry.consumer_groups.get(request.group_id)
        if group is None:
            classic()
            return
        error, member = self._member(group, request.member_id, request.group_instance_id, request.generation_id)
        if error is ErrorCode.NONE and member is not None:
            error = self._sync_error(group, member, request)
        if error is not ErrorCode.NONE or member is None or member.classic is None:
            reply.send(m.SyncGroupResponse(error_code=error))
            return
        key = group.group_id, member.member_id
        self.groups.syncs.stop(key)
        self.groups.sessions.restart(key, member.classic.session_timeout_ms)
        names = self.groups.topics.names_by_id()
        reply.send(m.SyncGroupResponse(
            protocol_type=request.protocol_type, protocol_name=request.protocol_name,
            assignment=assignment_bytes(member.assigned, member.classic.protocols[0][1], names),
        ))  # fmt: skip

    def _sync_error(self, group: ConsumerGroup, member: ConsumerMember, request: m.SyncGroupRequest) -> ErrorCode:
        assert member.classic is not None
        if request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if request.protocol_name not in (None, member.classic.protocols[0][0]):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if group.assignment_epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._must_join(group, member)
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    # --- heartbeat ------------------------------------------------------------------------------

    def heartbeat(self, request: m.HeartbeatRequest) -> ErrorCode | None:
        """What a classic member of such a group is told; None: it is no such group."""
        group = self.registry.consumer_groups.get(request.group_id)
        if group is None:
            return None
        error, member = self._member(group, request.member_id, request.group_instance_id, request.generation_id)
        if member is None or member.classic is None or error is not ErrorCode.NONE:
            return error
        self.groups.sessions.restart((group.group_id, member.member_id), member.classic.session_timeout_ms)
        waits = member.state is MemberState.UNRELEASED_PARTITIONS and not group.waits(member)
        if member.epoch < group.assignment_epoch or member.state is MemberState.UNREVOKED_PARTITIONS or waits:
            self._must_join(group, member)
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def _must_join(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """From now on it has its rebalance timeout to do so."""
        key = group.group_id, member.member_id
        if key not in self.groups.joins.watches:
            self.groups.joins.restart(key, member.rebalance_timeout_ms)

    def _member(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
    ) -> tuple[ErrorCode, ConsumerMember | None]:
        """The member that asks, if it is one of the classic protocol and in this generation."""
        member = group.members.get(member_id)
        if instance_id is not None:
            current = group.static_members.get(instance_id)
            if current is not None and current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID, None
            member = group.members.get(current or "")
        if member is None or member.classic is None:
            return ErrorCode.UNKNOWN_MEMBER_ID, None
        return (ErrorCode.NONE if member.epoch == generation else ErrorCode.ILLEGAL_GENERATION), member
