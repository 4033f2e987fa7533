"""A next-generation group: what its records say.

    Empty --join--> Assigning --target computed--> Reconciling --all have reached it--> Stable
      ^                ^                                |                                  |
      +-- nobody left  +------- member leaves, is fenced, changes; topics change ----------+

The state is not stored: it follows from the epochs and the members.

| state       | when |
|-------------|------|
| Empty       | no members |
| Assigning   | group epoch > assignment epoch: the target is older than the group |
| Reconciling | some member has not reached the assignment epoch |
| Stable      | all have |
| Dead        | deleted, or another broker coordinates it |

Compaction keeps the last record of each key only, in the order of those: a member's assignment may come before the
member.
Source: ConsumerGroup, GroupMetadataManager.replay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from broker_core.coordinators.stored import MalformedRecord
from broker_core.groups.assigned import DEAD, EMPTY, STABLE, AssignedGroup
from broker_core.groups.consumer import records
from broker_core.groups.consumer.member import ConsumerMember, Partition
from broker_core.groups.consumer.records import Record
from broker_core.groups.group_offsets import GroupOffsets

ASSIGNING, RECONCILING = "Assigning", "Reconciling"


class Resolved(NamedTuple):
    """Topics that a pattern matches, as of which version of the metadata, and when that was found out."""

    topics: tuple[str, ...]
    version: int
    at_ms: int


class ConsumerGroup(AssignedGroup[ConsumerMember]):
    """A group as its coordinator sees it.

    Invariants
        - 1 <= member.epoch <= assignment_epoch <= epoch, but for members that are about to come back
        - no partition is held (`ConsumerMember.held`) by two members
        - `static_members` maps each instance id to its current member id
    """

    def __init__(self, group_id: str, offsets: GroupOffsets | None = None) -> None:
        AssignedGroup.__init__(self, group_id)
        self.static_members: dict[str, str] = {}
        self.patterns: dict[str, Resolved] = {}
        self.offsets = offsets or GroupOffsets()

    @property
    def state(self) -> str:
        if self.gone:
            return DEAD
        if not self.members:
            return EMPTY
        if self.epoch > self.assignment_epoch:
            return ASSIGNING
        reached = all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values())
        return STABLE if reached else RECONCILING

    def holders(self) -> dict[Partition, str]:
        """Who holds what; the values are member ids."""
        return {one: member.member_id for member in self.members.values() for one in member.held}

    def assignor(self, default: str) -> str:
        """The assignor that most members ask for; the default when nobody asks."""
        votes: dict[str, int] = {}
        for member in self.members.values():
            if member.assignor is not None:
                votes[member.assignor] = votes.get(member.assignor, 0) + 1
        return max(votes, key=votes.__getitem__) if votes else default

    def classic_members(self) -> list[ConsumerMember]:
        """Those that speak the classic protocol."""
        return [member for member in self.members.values() if member.classic is not None]

    def speaks(self, names: Iterable[str]) -> bool:
        """Whether one of these assignors is known to all members of the classic protocol: they still choose one,
        though it assigns nothing here."""
        known = [{name for name, _ in one.classic.protocols} for one in self.classic_members() if one.classic]
        return any(all(name in others for others in known) for name in names)

    def waits(self, member: ConsumerMember) -> bool:
        """Whether somebody still holds what a member should get."""
        holders = self.holders()
        return any(one not in member.assigned and one in holders for one in self.target(member.member_id))

    def topics_of(self, member: ConsumerMember) -> set[str]:
        """The names that a member subscribes, with those that its pattern is known to match."""
        resolved = self.patterns.get(member.pattern)
        return {*member.topics, *(resolved.topics if resolved is not None else ())}

    def subscribed(self) -> set[str]:
        """The topics that somebody reads."""
        return {topic for member in self.members.values() for topic in self.topics_of(member)}

    def is_subscribed(self, topic: str) -> bool:
        """Whether somebody reads the topic."""
        return topic in self.subscribed()

    # --- replay ---------------------------------------------------------------------------------

    def replay(self, record: Record) -> None:
        """What a record of this group says. Raises MalformedRecord."""
        REPLAYS[record.kind](self, record.subject, record.value)

    def _member(self, member_id: str, value: Any) -> None:
        if value is None:
            self._forget(member_id)
            return
        before = self.members.get(member_id) or ConsumerMember(member_id)
        self._keep(replace(
            before, instance_id=value.instance_id, rack_id=value.rack_id, client_id=value.client_id,
            client_host=value.client_host, topics=tuple(sorted(value.subscribed_topic_names)),
            pattern=value.subscribed_topic_regex or "", rebalance_timeout_ms=value.rebalance_timeout_ms,
            assignor=value.server_assignor, classic=records.classic_of(value),
        ))  # fmt: skip

    def _current(self, member_id: str, value: Any) -> None:
        if value is None:
            before = self.members.get(member_id)
            if before is not None:
                self._keep(replace(before, epoch=-1, previous_epoch=-1, assigned={}, revoking={}))
            return
        try:
            state = records.state_of(value.state)
        except ValueError:
            raise MalformedRecord(f"member state {value.state} is not known") from None
        before = self.members.get(member_id) or ConsumerMember(member_id)
        self._keep(replace(
            before, epoch=value.member_epoch, previous_epoch=value.previous_member_epoch, state=state,
            assigned=records.owned(value.assigned_partitions, value.member_epoch),
            revoking=records.owned(value.partitions_pending_revocation, value.member_epoch),
        ))  # fmt: skip

    def _pattern(self, pattern: str, value: Any) -> None:
        self.patterns.pop(pattern, None)
        if value is not None:
            self.patterns[pattern] = Resolved(tuple(value.topics), value.version, value.timestamp)

    def _keep(self, member: ConsumerMember) -> None:
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def _forget(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None and self.static_members.get(member.instance_id or "") == member_id:
            del self.static_members[member.instance_id or ""]


REPLAYS: dict[int, Callable[[ConsumerGroup, str, Any], None]] = {
    records.GROUP: ConsumerGroup._group,
    records.MEMBER: ConsumerGroup._member,
    records.TARGET_EPOCH: ConsumerGroup._target_epoch,
    records.TARGET: ConsumerGroup._target,
    records.CURRENT: ConsumerGroup._current,
    records.PATTERN: ConsumerGroup._pattern,
}
