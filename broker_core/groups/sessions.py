"""Session timers: noticing that a member is silent.

Every heartbeat moves its member's deadline, three times in a session (`heartbeat.interval.ms` 3 s)
or more, and nearly none of these deadlines is ever reached. So a heartbeat only writes a number:
each member has one armed timer, and when that fires too early it is armed again for the rest.

    t=0   joined      deadline 45 s, timer armed for 45 s
    t=3…  heartbeats  deadline 48, 51, ... 87 s; the timer is left alone
    t=45  fires       deadline is 87 s: armed for another 42 s
    t=87  fires       deadline reached: the member is silent, expired

(Kafka holds a DelayedHeartbeat per member in a purgatory and completes it with each heartbeat; the moments
at which members expire are the same.)
"""

from __future__ import annotations

from collections.abc import Callable

from broker_core.groups.group import Group
from broker_core.groups.member import Member
from broker_core.kernel.node import Node


class Sessions:
    """Deadlines of members, and of member ids that were handed out and not used yet."""

    def __init__(
        self, node: Node, member_expired: Callable[[Group, Member], None], pending_expired: Callable[[Group, str], None]
    ) -> None:
        self.node = node
        self.member_expired = member_expired
        self.pending_expired = pending_expired

    def restart(self, group: Group, member: Member, timeout_ms: int | None = None) -> None:
        """The member has shown life: its session (or `timeout_ms`) begins again now."""
        timeout_us = (timeout_ms if timeout_ms is not None else member.session_timeout_ms) * 1000
        deadline = self.node.now_us() + timeout_us
        earlier = member.session_deadline_us is not None and deadline < member.session_deadline_us
        member.session_deadline_us = deadline
        if member.session_timer is not None and (earlier or not member.session_timer.active):
            member.session_timer.cancel()
            member.session_timer = None
        if member.session_timer is None:
            member.session_timer = self.node.after(timeout_us, self._fired, group, member)

    def stop(self, member: Member) -> None:
        """No session runs any more."""
        if member.session_timer is not None:
            member.session_timer.cancel()
        member.session_timer = member.session_deadline_us = None

    def expect(self, group: Group, member_id: str, timeout_ms: int) -> None:
        """An id was handed out: it is forgotten when nobody joins with it in time (KIP-394)."""
        group.pending_members[member_id] = self.node.after(
            timeout_ms * 1000, self._pending_fired, group, member_id
        )

    def _fired(self, group: Group, member: Member) -> None:
        member.session_timer = None
        deadline = member.session_deadline_us
        if deadline is None or group.members.get(member.member_id) is not member:
            return
        rest = deadline - self.node.now_us()
        if rest > 0:
            member.session_timer = self.node.after(rest, self._fired, group, member)
            return
        member.session_deadline_us = None
        if not member.session_is_excused():
            self.member_expired(group, member)

    def _pending_fired(self, group: Group, member_id: str) -> None:
        if group.pending_members.pop(member_id, None) is not None:
            self.pending_expired(group, member_id)
