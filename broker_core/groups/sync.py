"""SyncGroup: every member asks for its share; the leader brings everybody's along.

The broker does not assign partitions. It chooses one member as leader and tells it what all members
want; the leader's client runs the assignor (range, cooperative-sticky, ...) and its SyncGroup carries the
result. So assignors can change without a new broker (KIP-429 needed none).

    follower's sync  parked
    leader's sync    the generation is written to `__consumer_offsets`; when committed: Stable, all answered
    sync in Stable   the share that was computed: an answer was lost, or a static member is back
"""

from __future__ import annotations

from functools import partial

from broker_core.groups.consumer.classic_members import ClassicMembers
from broker_core.groups.consumer_protocol import MalformedProtocol, assigned_partitions
from broker_core.groups.group import CONSUMER_PROTOCOL_TYPE, Group
from broker_core.groups.member import ClientIdentity, Reply
from broker_core.groups.rebalance import Rebalancer
from broker_core.groups.registry import GroupRegistry, group_write_error
from broker_core.groups.states import GroupState
from broker_core.kernel import events
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

PROTOCOL_REQUIRED_VERSION = 5


class _Assignment:
    """An assignment that is being written."""

    __slots__ = ("group", "generation", "shares")

    def __init__(self, group: Group, generation: int, shares: dict[str, bytes]) -> None:
        self.group = group
        self.generation = generation
        self.shares = shares


class SyncHandler:
    """Answers SyncGroup."""

    def __init__(self, registry: GroupRegistry, rebalancer: Rebalancer, classic: ClassicMembers) -> None:
        self.registry = registry
        self.classic = classic
        self.rebalancer = rebalancer

    def sync(self, request: m.SyncGroupRequest, client: ClientIdentity, reply: Reply) -> None:
        """Decides on one request; a follower's answer comes when the leader's assignment is committed. In a group
        of KIP-848 there is nothing to wait for."""
        error = self._check_alone(request, client)
        if error is not ErrorCode.NONE:
            reply.send(m.SyncGroupResponse(error_code=error))
        elif self.classic.has(request.group_id):
            self.classic.sync(request, reply, partial(self._sync_classic, request, reply))
        else:
            self._sync_classic(request, reply)

    def _sync_classic(self, request: m.SyncGroupRequest, reply: Reply) -> None:
        error = self._check(request)
        if error is not ErrorCode.NONE:
            reply.send(m.SyncGroupResponse(error_code=error))
            return
        group = self.registry.groups[request.group_id]
        member = group.members[request.member_id]
        if group.state is GroupState.STABLE:
            self.rebalancer.synced(group, member.member_id)
            reply.send(sync_response(group, member.assignment))
            self.rebalancer.sessions.restart(group, member)
            return
        member.awaiting_sync = reply
        self.rebalancer.synced(group, member.member_id)
        if group.leader == member.member_id:
            brought = {share.member_id: bytes(share.assignment) for share in request.assignments}
            shares = {member_id: brought.get(member_id, b"") for member_id in group.members}
            written = _Assignment(group, group.generation, shares)
            self.registry.write_group(group, shares, self._written, written)

    def _check_alone(self, request: m.SyncGroupRequest, client: ClientIdentity) -> ErrorCode:
        if client.api_version >= PROTOCOL_REQUIRED_VERSION and None in (request.protocol_type, request.protocol_name):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        error = self.registry.status(request.group_id)
        if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and not self.registry.rewritten:
            return ErrorCode.REBALANCE_IN_PROGRESS  # the rebalance is lost anyway; old clients know this code
        return error

    def _check(self, request: m.SyncGroupRequest) -> ErrorCode:
        group = self.registry.groups.get(request.group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return self._check_in(group, request)

    def _check_in(self, group: Group, request: m.SyncGroupRequest) -> ErrorCode:
        if group.state is GroupState.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        error = group.check_member(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        if request.generation_id != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if request.protocol_type not in (None, group.protocol_type):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if request.protocol_name not in (None, group.protocol):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if group.state is GroupState.EMPTY:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.REBALANCE_IN_PROGRESS if group.state is GroupState.PREPARING_REBALANCE else ErrorCode.NONE

    def _written(self, written: _Assignment, code: int) -> None:
        """The generation's record is committed, or is not. Another member may have joined meanwhile."""
        group = written.group
        if group.state is not GroupState.COMPLETING_REBALANCE or group.generation != written.generation:
            return
        if code != ErrorCode.NONE:
            self.rebalancer.propagate_error(group, group_write_error(code))
            self.rebalancer.maybe_prepare(group, "assignment could not be written")
            return
        for member in group.members.values():
            member.assignment = written.shares[member.member_id]
        self.registry.transition(group, GroupState.STABLE, "assignment committed")
        self.registry.node.emit(
            events.GROUP_ASSIGNED,
            group=group.group_id,
            generation=group.generation,
            assignment={one.member_id: readable_assignment(group, one.assignment) for one in group.members.values()},
        )
        for member in list(group.members.values()):
            if group.answer_sync(member, sync_response(group, member.assignment)):
                self.rebalancer.sessions.restart(group, member)


def sync_response(group: Group, assignment: bytes) -> m.SyncGroupResponse:
    """A member's share."""
    return m.SyncGroupResponse(
        error_code=ErrorCode.NONE,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        assignment=assignment,
    )


def readable_assignment(group: Group, assignment: bytes) -> dict[str, list[int]]:
    """Topic -> partitions for a group of consumers, else nothing: only they speak a language known here."""
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return {}
    try:
        return assigned_partitions(assignment)
    except MalformedProtocol:
        return {}
