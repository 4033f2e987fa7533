"""Heartbeat and LeaveGroup: staying in a group, and going.

A heartbeat does two things: it says "I am alive", and its answer is the only way in which the
coordinator can tell a member anything: REBALANCE_IN_PROGRESS means "join again".

Who stops without leaving is noticed after `session.timeout.ms` (45 s); until then its partitions are
read by nobody. Static members leave on purpose without LeaveGroup: they want to come back.
"""

from __future__ import annotations

from typing import Any

from broker_core.groups.consumer.classic_members import ClassicMembers
from broker_core.groups.consumer.group import ConsumerGroup
from broker_core.groups.consumer.handler import ConsumerGroups
from broker_core.groups.group import Group
from broker_core.groups.member import UNKNOWN_MEMBER_ID, ClientIdentity
from broker_core.groups.rebalance import Rebalancer
from broker_core.groups.registry import GroupRegistry
from broker_core.groups.states import GroupState
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

BATCHED_LEAVE_VERSION = 3


class MembershipHandler:
    """Answers Heartbeat and LeaveGroup."""

    def __init__(
        self, registry: GroupRegistry, rebalancer: Rebalancer, consumer: ConsumerGroups, classic: ClassicMembers
    ) -> None:
        self.registry = registry
        self.classic = classic
        self.consumer = consumer
        self.rebalancer = rebalancer

    def heartbeat(self, request: m.HeartbeatRequest) -> m.HeartbeatResponse:
        """NONE, REBALANCE_IN_PROGRESS, or why the sender is not a member."""
        return m.HeartbeatResponse(error_code=self._heartbeat_error(request))

    def _heartbeat_error(self, request: m.HeartbeatRequest) -> ErrorCode:
        error = self.registry.status(request.group_id)
        if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return ErrorCode.NONE  # members are not known yet: believe it
        if error is not ErrorCode.NONE:
            return error
        told = self.classic.heartbeat(request)
        if told is not None:
            return told
        group = self.registry.groups.get(request.group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if group.state is GroupState.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        error = group.check_member(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        if request.generation_id != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        self.rebalancer.sessions.restart(group, group.members[request.member_id])
        return ErrorCode.REBALANCE_IN_PROGRESS if group.state is GroupState.PREPARING_REBALANCE else ErrorCode.NONE

    def leave(self, request: m.LeaveGroupRequest, client: ClientIdentity) -> m.LeaveGroupResponse:
        """Removes one member (v0-2) or several (v3+), each with an error of its own."""
        batched = client.api_version >= BATCHED_LEAVE_VERSION
        leaving = request.members if batched else [m.LeaveGroupRequest.MemberIdentity(member_id=request.member_id)]
        error = self.registry.status(request.group_id)
        if error is not ErrorCode.NONE:
            return m.LeaveGroupResponse(error_code=error, members=[])
        group = self.registry.groups.get(request.group_id)
        if group is not None and group.state is GroupState.DEAD:
            return m.LeaveGroupResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, members=[])
        modern = self.registry.consumer_groups.get(request.group_id)
        if modern is not None:
            errors = self._leave_modern(modern, leaving)
        elif group is not None and group.frozen:
            self.consumer.remove_members(group.group_id, [one.member_id for one in leaving])
            errors = [group.check_member(one.member_id, one.group_instance_id) for one in leaving]
        else:
            errors = [self._leave_one(group, one) for one in leaving]
        if not batched:
            return m.LeaveGroupResponse(error_code=errors[0], members=[])
        answers = [
            m.LeaveGroupResponse.MemberResponse(
                member_id=one.member_id, group_instance_id=one.group_instance_id, error_code=error
            )
            for one, error in zip(leaving, errors, strict=True)
        ]
        return m.LeaveGroupResponse(error_code=ErrorCode.NONE, members=answers)

    def _leave_modern(self, group: ConsumerGroup, leaving: list[Any]) -> list[ErrorCode]:
        """Members of the classic protocol go, or a tool removes members of either."""
        found = [self._modern_member(group, one) for one in leaving]
        there = [member_id for member_id, error in found if error is ErrorCode.NONE]
        if there:
            self.consumer.remove_members(group.group_id, there)
        return [error for _, error in found]

    @staticmethod
    def _modern_member(group: ConsumerGroup, one: Any) -> tuple[str, ErrorCode]:
        if one.group_instance_id is None:
            return one.member_id, ErrorCode.NONE if one.member_id in group.members else ErrorCode.UNKNOWN_MEMBER_ID
        current = group.static_members.get(one.group_instance_id)
        if current is None:
            return one.member_id, ErrorCode.UNKNOWN_MEMBER_ID
        fenced = one.member_id not in (UNKNOWN_MEMBER_ID, current)
        return current, ErrorCode.FENCED_INSTANCE_ID if fenced else ErrorCode.NONE

    def _leave_one(self, group: Group | None, one: m.LeaveGroupRequest.MemberIdentity) -> ErrorCode:
        """One member goes.

        A. no member id: a tool removes a static member by its instance id (KIP-345)
        B. an id that was handed out only
        C. a member
        """
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        member_id = one.member_id
        if member_id == UNKNOWN_MEMBER_ID:  # A
            current = group.static_members.get(one.group_instance_id) if one.group_instance_id is not None else None
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            self.rebalancer.remove_member(group, group.members[current], "removed")
            return ErrorCode.NONE
        if member_id in group.pending_members:  # B
            self.rebalancer.remove_pending(group, member_id)
            return ErrorCode.NONE
        error = group.check_member(member_id, one.group_instance_id)
        if error is ErrorCode.NONE:  # C
            self.rebalancer.remove_member(group, group.members[member_id], "left")
        return error
