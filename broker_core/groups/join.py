"""JoinGroup: a member wants to be in the next generation.

Who is asking, and what happens
    A. no member id, dynamic, v4+: an id is made, MEMBER_ID_REQUIRED; the client joins again with it (KIP-394: a
       join whose answer was lost would otherwise leave a ghost that everybody waits for).
    B. no member id, dynamic, v0-3: member at once.
    C. no member id, static instance not known: member at once.
    D. no member id, static instance known (it has restarted): new member id, old one fenced; in a Stable
       group it keeps its place without a rebalance (KIP-345).
    E. an id that was handed out in A: member.
    F. a member's id: in Stable and CompletingRebalance the current generation is answered when nothing
       has changed, a rebalance begins when its metadata have, or when the leader asks (topics may
       have changed).
    G. an id that is not known: UNKNOWN_MEMBER_ID; the client forgets its id and comes again (A).
    H. the group is one of the next generation (KIP-848) with members: `consumer.classic_members`; one without members
       becomes a classic one. A share group: INCONSISTENT_GROUP_PROTOCOL.
"""

from __future__ import annotations

from broker_core.groups.consumer.classic_members import ClassicMembers
from broker_core.groups.consumer.handler import ConsumerGroups
from broker_core.groups.group import Group, join_error
from broker_core.groups.member import UNKNOWN_MEMBER_ID, ClientIdentity, Member, Reply
from broker_core.groups.rebalance import Rebalancer
from broker_core.groups.registry import GroupRegistry, group_write_error
from broker_core.groups.states import GroupState
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

MEMBER_ID_REQUIRED_VERSION = 4
PROTOCOL_NAME_NULLABLE_VERSION = 7
SKIP_ASSIGNMENT_VERSION = 9


class VersionedReply:
    """Gives the answer the form that old versions know: no protocol was "" before it could be null (v7)."""

    def __init__(self, reply: Reply, api_version: int) -> None:
        self.reply = reply
        self.api_version = api_version

    def done(self, context: object, response: m.JoinGroupResponse) -> None:
        """Passes the answer on."""
        if self.api_version < PROTOCOL_NAME_NULLABLE_VERSION and response.protocol_name is None:
            response.protocol_name = ""
        self.reply.send(response)


class Join:
    """One JoinGroup on its way through the cases."""

    __slots__ = (
        "group_id", "member_id", "instance_id", "client", "rebalance_timeout_ms", "session_timeout_ms",
        "protocol_type", "protocols", "reply",
    )  # fmt: skip

    def __init__(self, request: m.JoinGroupRequest, client: ClientIdentity, reply: Reply) -> None:
        self.group_id: str = request.group_id
        self.member_id: str = request.member_id
        self.instance_id: str | None = request.group_instance_id
        self.client = client
        self.session_timeout_ms: int = request.session_timeout
        self.rebalance_timeout_ms: int = request.rebalance_timeout
        if client.api_version == 0:
            self.rebalance_timeout_ms = request.session_timeout
        self.protocol_type: str = request.protocol_type
        self.protocols = [(protocol.name, bytes(protocol.metadata)) for protocol in request.protocols]
        self.reply = Reply(VersionedReply(reply, client.api_version).done, None)

    def refuse(self, error: int, member_id: str | None = None) -> None:
        """Answers with an error; `member_id` when it differs from the one that was sent."""
        self.reply.send(join_error(self.member_id if member_id is None else member_id, error))


class JoinHandler:
    """Answers JoinGroup."""

    def __init__(
        self, registry: GroupRegistry, rebalancer: Rebalancer, consumer: ConsumerGroups, classic: ClassicMembers
    ) -> None:
        self.registry = registry
        self.classic = classic
        self.consumer = consumer
        self.rebalancer = rebalancer
        self.config = registry.config

    def join(self, request: m.JoinGroupRequest, client: ClientIdentity, reply: Reply) -> None:
        """Decides on one request; the answer may come much later."""
        join = Join(request, client, reply)
        error = self.registry.status(join.group_id)
        if error is not ErrorCode.NONE:
            return join.refuse(error)
        shortest, longest = self.config["group.min.session.timeout.ms"], self.config["group.max.session.timeout.ms"]
        if not shortest <= join.session_timeout_ms <= longest:
            return join.refuse(ErrorCode.INVALID_SESSION_TIMEOUT)
        if join.group_id in self.registry.share_groups:
            return join.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID)  # H
        if self.classic.has(join.group_id):
            return self.classic.join(request, client, join.reply, self._join_classic)  # H
        self._join_classic(request, client, reply)

    def _join_classic(self, request: m.JoinGroupRequest, client: ClientIdentity, reply: Reply) -> None:
        """Cases A to G; the group is a classic one, or will be."""
        join = Join(request, client, reply)
        unknown = join.member_id == UNKNOWN_MEMBER_ID
        error = self.registry.status(join.group_id)
        if error is not ErrorCode.NONE:
            return join.refuse(error)
        if unknown and join.group_id in self.registry.consumer_groups:
            self.consumer.make_classic(self.registry.consumer_groups[join.group_id])
        if not unknown and join.group_id not in self.registry.groups:
            return join.refuse(ErrorCode.UNKNOWN_MEMBER_ID)  # G
        group = self.registry.get_or_create(join.group_id)
        if not self._has_room(group, join.member_id):
            group.remove(join.member_id)
            join.refuse(ErrorCode.GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID)
        elif group.state is GroupState.DEAD:
            join.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        elif not group.supports(join.protocol_type, join.protocols):
            join.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        elif unknown:
            self._join_new(group, join)
        else:
            self._join_known(group, join)
        self.rebalancer.maybe_complete(group)

    def _has_room(self, group: Group, member_id: str) -> bool:
        """`group.max.size` (KIP-389). During a rebalance those that have joined count, so that an oversized
        group sheds the last ones."""
        largest = int(self.config["group.max.size"])
        member = group.members.get(member_id)
        if group.state is GroupState.PREPARING_REBALANCE:
            return (member is not None and member.awaiting_join is not None) or group.awaiting_join_count < largest
        if group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
            return member is not None or len(group.members) < largest
        return True

    # --- without a member id ----------------------------------------------------------------------

    def _join_new(self, group: Group, join: Join) -> None:
        prefix = join.client.client_id if join.instance_id is None else join.instance_id
        new_id = self._new_member_id(group, prefix)
        if join.instance_id is not None:
            old_id = group.static_members.get(join.instance_id)
            if old_id is None:
                self._add(group, new_id, join)  # C
            else:
                self._replace_static(group, old_id, new_id, join)  # D
        elif join.client.api_version >= MEMBER_ID_REQUIRED_VERSION:  # A
            self.rebalancer.sessions.expect(group, new_id, join.session_timeout_ms)
            join.refuse(ErrorCode.MEMBER_ID_REQUIRED, new_id)
        else:
            self._add(group, new_id, join)  # B

    def _new_member_id(self, group: Group, prefix: str) -> str:
        """One that nobody of the group has: a node that starts again with the same seed draws the same numbers again,
        and the members that it reads from its log have those of last time."""
        found = f"{prefix}-{self.registry.node.uuid()}"
        while found in group.members or found in group.pending_members:
            found = f"{prefix}-{self.registry.node.uuid()}"
        return found

    def _add(self, group: Group, member_id: str, join: Join) -> None:
        member = Member(
            member_id,
            join.instance_id,
            join.client.client_id,
            join.client.host,
            join.rebalance_timeout_ms,
            join.session_timeout_ms,
            join.protocol_type,
            join.protocols,
        )
        self.rebalancer.add_member(group, member, join.reply)

    # --- D: a static member is back ---------------------------------------------------------------

    def _replace_static(self, group: Group, old_id: str, new_id: str, join: Join) -> None:
        assert join.instance_id is not None
        before = _Before(group, group.members[old_id], old_id, new_id, join)
        member = group.replace_static(join.instance_id, old_id, new_id)
        group.update(member, join.protocols, join.rebalance_timeout_ms, join.session_timeout_ms, join.reply)
        self.rebalancer.sessions.restart(group, member)
        if group.state is GroupState.COMPLETING_REBALANCE:
            # the leader is computing with the old member id: its assignment would miss this member
            self.rebalancer.prepare(group, "static member joins again")
        elif group.state is GroupState.STABLE:
            if group.select_protocol() != group.protocol:
                self.rebalancer.maybe_prepare(group, "static member changes the protocol")
            else:
                shares = {other.member_id: other.assignment for other in group.members.values()}
                self.registry.write_group(group, shares, self._replacement_written, before)

    def _replacement_written(self, before: _Before, code: int) -> None:
        group, member, join = before.group, before.member, before.join
        if group.state is not GroupState.STABLE or member.awaiting_join is not join.reply:
            return  # the group has moved on: a rebalance or an unloading answers
        if code != ErrorCode.NONE:
            self._revert_replacement(before, group_write_error(code))
        elif join.client.api_version >= SKIP_ASSIGNMENT_VERSION:
            leads = group.leader == before.new_id
            group.answer_join(member, group.join_response(before.new_id, skip_assignment=leads))
        else:
            # told an id of the past as leader, it does not compute an assignment that nobody would hear
            group.answer_join(member, group.join_response(before.new_id, leader=before.leader))

    def _revert_replacement(self, before: _Before, error: int) -> None:
        group, member = before.group, before.member
        assert member.instance_id is not None
        group.update(member, before.protocols, before.rebalance_timeout_ms, before.session_timeout_ms, None)
        group.replace_static(member.instance_id, before.new_id, before.old_id)
        self.rebalancer.sessions.restart(group, member)
        before.join.refuse(error, UNKNOWN_MEMBER_ID)

    # --- with a member id -------------------------------------------------------------------------

    def _join_known(self, group: Group, join: Join) -> None:
        if join.member_id in group.pending_members:
            if join.instance_id is not None:
                return join.refuse(ErrorCode.UNKNOWN_SERVER_ERROR)  # ids are only handed out to dynamic members
            return self._add(group, join.member_id, join)  # E
        error = group.check_member(join.member_id, join.instance_id)
        if error is not ErrorCode.NONE:
            return join.refuse(error)  # G
        member = group.members[join.member_id]  # F
        unchanged = member.protocols == join.protocols
        if group.state is GroupState.EMPTY:
            join.refuse(ErrorCode.UNKNOWN_MEMBER_ID)
        elif unchanged and self._may_keep(group, join.member_id):
            join.reply.send(group.join_response(join.member_id))
        else:
            reason = "member joins again" if unchanged else "member changes its metadata"
            group.update(member, join.protocols, join.rebalance_timeout_ms, join.session_timeout_ms, join.reply)
            self.rebalancer.maybe_prepare(group, reason)

    @staticmethod
    def _may_keep(group: Group, member_id: str) -> bool:
        """Whether a member with unchanged metadata is in the current generation still."""
        stable = group.state is GroupState.STABLE and group.leader != member_id
        return stable or group.state is GroupState.COMPLETING_REBALANCE


class _Before:
    """How things were before a static member was replaced, in case the replacement cannot be written."""

    __slots__ = (
        "group", "member", "join", "old_id", "new_id", "leader", "protocols", "rebalance_timeout_ms",
        "session_timeout_ms",
    )  # fmt: skip

    def __init__(self, group: Group, member: Member, old_id: str, new_id: str, join: Join) -> None:
        self.group = group
        self.member = member
        self.join = join
        self.old_id = old_id
        self.new_id = new_id
        self.leader = group.leader or ""
        self.protocols = member.protocols
        self.rebalance_timeout_ms = member.rebalance_timeout_ms
        self.session_timeout_ms = member.session_timeout_ms
