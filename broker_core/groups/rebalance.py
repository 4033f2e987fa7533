"""The rebalance: calling the members together, and what makes and keeps them a generation.

    prepare          => PreparingRebalance; members hear REBALANCE_IN_PROGRESS from their heartbeats and join again
    all have joined, or the rebalance timeout is over (those that are missing are out)
    complete         => CompletingRebalance, generation + 1; all parked joins are answered
    leader's sync    => Stable (in `groups.sync`)

How long a rebalance waits
    A. the group was Empty: `group.initial.rebalance.delay.ms` (3 s), and as long again whenever another new
       member came meanwhile, at most the members' rebalance timeout in all (KIP-134). A group whose
       consumers start one after the other is so assigned once, not once per consumer.
    B. else: until all members have joined, at most the longest rebalance timeout among them
       (`max.poll.interval.ms` for consumers).
    C. after it: every member must sync within the rebalance timeout, or it is removed and the
       group rebalances again (KAFKA-9935).

Static members that are missing at the end of B stay: only their session timeout removes them.
"""

from __future__ import annotations

from broker_core.groups.delayed import DelayedJoin, DelayedSync, InitialDelayedJoin, join_key, sync_key
from broker_core.groups.group import Group, join_error
from broker_core.groups.member import UNKNOWN_MEMBER_ID, Member, Reply
from broker_core.groups.registry import GroupRegistry
from broker_core.groups.sessions import Sessions
from broker_core.groups.states import GroupState
from broker_core.kernel import events
from broker_core.purgatory.operations import DelayedOperationPurgatory
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""How long the parked JoinGroup of a member that has never been in a generation is kept."""


class Rebalancer:
    """Begins and ends rebalances, and removes members."""

    def __init__(self, registry: GroupRegistry) -> None:
        self.registry = registry
        self.node = registry.node
        self.purgatory = DelayedOperationPurgatory(registry.node, "Rebalance")
        self.sessions = Sessions(registry.node, self._member_expired, self._pending_expired)

    # --- beginning --------------------------------------------------------------------------------

    def add_member(self, group: Group, member: Member, reply: Reply) -> None:
        """A new member is in the group: everybody has to come together."""
        member.is_new = True
        if group.state is GroupState.PREPARING_REBALANCE and group.generation == 0:
            group.new_member_added = True
        group.add(member, reply)
        self.node.emit(
            events.MEMBER_JOINED,
            group=group.group_id,
            member=member.member_id,
            client_id=member.client_id,
            instance=member.instance_id,
        )
        self.sessions.restart(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self.maybe_prepare(group, "new member")

    def maybe_prepare(self, group: Group, reason: str) -> None:
        """Begins a rebalance unless one is being prepared already, or the group is about to be another one."""
        if group.can_rebalance() and not group.frozen:
            self.prepare(group, reason)

    def prepare(self, group: Group, reason: str) -> None:
        """Calls the members together; parked syncs are sent back to join."""
        if group.state is GroupState.COMPLETING_REBALANCE:
            self.propagate_error(group, ErrorCode.REBALANCE_IN_PROGRESS)
        self._end_sync_watch(group)
        was_empty = group.state is GroupState.EMPTY
        self.registry.transition(group, GroupState.PREPARING_REBALANCE, reason)
        if was_empty:  # A
            delay_ms = int(self.registry.config["group.initial.rebalance.delay.ms"])
            self._watch_initial(group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        else:  # B
            self._watch_join(group)

    def maybe_complete(self, group: Group) -> None:
        """Ends the wait when all have joined; the initial delay is always waited for."""
        if group.state is GroupState.PREPARING_REBALANCE:
            self.purgatory.check_and_complete(join_key(group))

    def _watch_initial(self, group: Group, delay_ms: int, remaining_ms: int) -> None:
        operation = InitialDelayedJoin(self, group, delay_ms, remaining_ms)
        self.purgatory.try_complete_else_watch(operation, [join_key(group)], delay_ms)

    def _watch_join(self, group: Group) -> None:
        timeout_ms = max(group.rebalance_timeout_ms, 1)  # a client may say 0: never turn on the spot
        self.purgatory.try_complete_else_watch(DelayedJoin(self, group), [join_key(group)], timeout_ms)

    def initial_delay_over(self, group: Group, delay_ms: int, remaining_ms: int) -> None:
        """Somebody else has come meanwhile: wait once more, while there is time. Else go on."""
        if group.new_member_added and remaining_ms > 0:
            group.new_member_added = False
            next_ms = min(delay_ms, remaining_ms)
            self._watch_initial(group, next_ms, remaining_ms - next_ms)
        else:
            self.complete_join(group)

    # --- ending ---------------------------------------------------------------------------------------

    def complete_join(self, group: Group) -> None:
        """All have joined, or the time is over: whoever is here makes the next generation."""
        if group.frozen:
            return
        group.new_member_added = False
        for member in group.not_rejoined():
            if not member.is_static:
                self._drop(group, member, "rebalance timeout")
        if not group.elect_joined_leader() and group.members:
            self._watch_join(group)  # only missing static members are left: their sessions decide
            return
        following = group.next_generation()
        self.registry.transition(group, following, "all joined" if group.members else "no members")
        if following is GroupState.EMPTY:
            self.registry.write_group(group, {}, self._empty_group_written, group)
            return
        for member in list(group.members.values()):
            group.answer_join(member, group.join_response(member.member_id))
            self.sessions.restart(group, member)
            member.is_new = False
            group.pending_sync[member.member_id] = None
        self.purgatory.try_complete_else_watch(  # C
            DelayedSync(self, group), [sync_key(group)], group.rebalance_timeout_ms
        )

    def _empty_group_written(self, group: Group, error: int) -> None:
        """Nobody waits for this record. Without it a later coordinator would find the last members once
        more, and their sessions would expire there."""

    # --- syncing ----------------------------------------------------------------------------------

    def synced(self, group: Group, member_id: str) -> None:
        """The member has asked for its share; when all have, the watch (C) ends."""
        group.pending_sync.pop(member_id, None)
        if not group.pending_sync:
            self.purgatory.check_and_complete(sync_key(group))

    def _end_sync_watch(self, group: Group) -> None:
        group.pending_sync.clear()
        self.purgatory.check_and_complete(sync_key(group))

    def sync_overdue(self, group: Group) -> None:
        """Whoever has joined and does not ask for its share is out."""
        if group.frozen:
            return
        for member_id in list(group.pending_sync):
            self._drop(group, group.members[member_id], "rebalance timeout")
        self.prepare(group, "missing sync")

    def propagate_error(self, group: Group, error: int) -> None:
        """No assignment comes: all parked syncs are answered with the error."""
        for member in group.members.values():
            member.assignment = b""
        for member in list(group.members.values()):
            if group.answer_sync(member, m.SyncGroupResponse(error_code=error)):
                self.sessions.restart(group, member)

    # --- losing members -------------------------------------------------------------------------------

    def remove_member(self, group: Group, member: Member, reason: str) -> None:
        """The member is out. A join of its own that is still parked is answered first, so that a client
        which is alive after all starts afresh."""
        group.answer_join(member, join_error(UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID))
        self._drop(group, member, reason)
        if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            self.maybe_prepare(group, f"member: {reason}")
        else:
            self.maybe_complete(group)

    def remove_pending(self, group: Group, member_id: str) -> None:
        """Nobody joins any more with this handed-out id."""
        group.remove(member_id)
        self.maybe_complete(group)

    def _drop(self, group: Group, member: Member, reason: str) -> None:
        group.remove(member.member_id)
        self.node.emit(events.MEMBER_LEFT, group=group.group_id, member=member.member_id, reason=reason)

    def _member_expired(self, group: Group, member: Member) -> None:
        if group.state is not GroupState.DEAD and not group.frozen:
            self.remove_member(group, member, "session timeout")

    def _pending_expired(self, group: Group, member_id: str) -> None:
        if group.state is not GroupState.DEAD:
            self.remove_pending(group, member_id)

    # --- another protocol -------------------------------------------------------------------------

    def freeze(self, group: Group) -> None:
        """Records are on their way that make it a group of KIP-848 (`consumer.conversion`): it stays as it is till
        then, and who waits for a rebalance is told that another one has begun."""
        group.frozen = True
        again = ErrorCode.REBALANCE_IN_PROGRESS
        for member in group.members.values():
            group.answer_join(member, join_error(member.member_id, again))
            group.answer_sync(member, m.SyncGroupResponse(error_code=again))

    def thaw(self, group: Group) -> None:
        """They were not written: it goes on, with a rebalance from the beginning if one was under way."""
        group.frozen = False
        if group.state is GroupState.PREPARING_REBALANCE:
            self._watch_join(group)
        elif group.state is GroupState.COMPLETING_REBALANCE:
            self.prepare(group, "not converted")
        for member in group.members.values():
            self.sessions.restart(group, member)

    def retire(self, group: Group) -> None:
        """They are: its members and offsets are another group's of the same name."""
        group.converted = True
        group.transition_to(GroupState.DEAD, self.node.wall_ms())
        self._end(group)

    # --- moving ---------------------------------------------------------------------------------------

    def unload(self, group: Group) -> None:
        """Another broker coordinates the group from now on: everybody who waits here is sent there."""
        group.pending_sync.clear()
        self.registry.transition(group, GroupState.DEAD, "coordinator moved")
        for member in list(group.members.values()):
            group.answer_join(member, join_error(member.member_id, ErrorCode.NOT_COORDINATOR))
            group.answer_sync(member, m.SyncGroupResponse(error_code=ErrorCode.NOT_COORDINATOR))
        self._end(group)

    def _end(self, group: Group) -> None:
        """No clock runs for it any more."""
        for member in group.members.values():
            self.sessions.stop(member)
        for member_id in list(group.pending_members):
            group.forget_pending(member_id)
        self.purgatory.check_and_complete(join_key(group))
        self.purgatory.check_and_complete(sync_key(group))

    def loaded(self, group: Group) -> None:
        """A group was read from the log: its members get a full session to show themselves."""
        if len(group.members) > int(self.registry.config["group.max.size"]):
            self.prepare(group, "more than group.max.size members")
        for member in group.members.values():
            self.sessions.restart(group, member)
