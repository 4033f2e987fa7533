"""One group: its members, its generation and how it chooses its protocol.

Every rebalance ends in a new *generation*: a number that members send with each request, so that a
member that slept through a rebalance is recognised (ILLEGAL_GENERATION) and cannot commit offsets for
partitions that somebody else reads by now.

Worked example of the vote (KIP-62): a protocol must be known to all; then each member votes for
its own first choice among those.

| member | protocols, in its order | candidates            | votes for |
|--------|-------------------------|-----------------------|-----------|
| A      | sticky, range           | range (sticky: not B) | range     |
| B      | range, roundrobin       | range                 | range     |

The group holds no timers' logic and sends nothing by itself except parked answers: rebalancing is in
`groups.rebalance`, its offsets are in `groups.group_offsets`.
"""

from __future__ import annotations

from broker_core.groups.consumer_protocol import MalformedProtocol, subscribed_topics
from broker_core.groups.group_offsets import GroupOffsets
from broker_core.groups.member import Member, Reply
from broker_core.groups.states import GroupState, check_transition
from broker_core.kernel.node import Timer
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

CONSUMER_PROTOCOL_TYPE = "consumer"


class Group:
    """A group as its coordinator sees it.

    - `pending_members`: ids that were handed out (MEMBER_ID_REQUIRED, KIP-394) and not used yet, with
      the timer that forgets them.
    - `pending_sync`: members of this generation whose SyncGroup has not come yet.
    - `frozen`: records that make it a group of KIP-848 are on their way; `converted`: it has become one.

    Invariants
        - `leader` is a member, or None when there are no members
        - `static_members` maps each member's instance id to its current member id
        - `awaiting_join_count` is the number of members with a parked JoinGroup
    """

    def __init__(self, group_id: str, state: GroupState, wall_ms: int) -> None:
        self.group_id = group_id
        self.state = state
        self.state_since_ms: int | None = wall_ms
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.generation = 0
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        self.pending_members: dict[str, Timer] = {}
        self.pending_sync: dict[str, None] = {}
        self.awaiting_join_count = 0
        self.subscribed: list[str] | None = None
        self.offsets = GroupOffsets()
        self.new_member_added = False
        self.frozen = False
        self.converted = False

    # --- state --------------------------------------------------------------------------------

    @property
    def gone(self) -> bool:
        """Whether it is Dead: not here any more, in no other form either."""
        return self.state is GroupState.DEAD and not self.converted

    def transition_to(self, state: GroupState, wall_ms: int) -> None:
        """Takes one step of the table in `groups.states`."""
        check_transition(self.state, state)
        self.state = state
        self.state_since_ms = wall_ms

    def can_rebalance(self) -> bool:
        """Whether a rebalance may begin now (during one, it is already happening)."""
        return self.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY)

    def next_generation(self) -> GroupState:
        """Counts up the generation, chooses the protocol and says which state follows."""
        self.generation += 1
        self.pending_sync.clear()
        self.protocol = self.select_protocol() if self.members else None
        self.subscribed = self.compute_subscribed()
        return GroupState.COMPLETING_REBALANCE if self.members else GroupState.EMPTY

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest that any member asked for: nobody is thrown out before his own timeout."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # --- members ------------------------------------------------------------------------------

    def add(self, member: Member, reply: Reply | None = None) -> None:
        """Takes a member in; the first one gives the group its protocol type and leads it."""
        if member.instance_id is not None:
            assert member.instance_id not in self.static_members, "instance id is taken"
            self.static_members[member.instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        member.awaiting_join = reply
        if reply is not None:
            self.awaiting_join_count += 1
        self.forget_pending(member.member_id)

    def remove(self, member_id: str) -> None:
        """Takes a member (or an id that was only handed out) away; another one leads when it led."""
        member = self.members.pop(member_id, None)
        if member is not None:
            if member.awaiting_join is not None:
                self.awaiting_join_count -= 1
            if member.instance_id is not None:
                self.static_members.pop(member.instance_id, None)
            if member.session_timer is not None:
                member.session_timer.cancel()
                member.session_timer = member.session_deadline_us = None
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.forget_pending(member_id)
        self.pending_sync.pop(member_id, None)

    def forget_pending(self, member_id: str) -> None:
        """The id was used, left or expired: its timer is not needed any more."""
        timer = self.pending_members.pop(member_id, None)
        if timer is not None:
            timer.cancel()

    def replace_static(self, instance_id: str, old_id: str, new_id: str) -> Member:
        """A static member is back under a new member id; whoever still waits with the old one is fenced."""
        member = self.members.pop(old_id)
        self.answer_join(member, join_error(old_id, ErrorCode.FENCED_INSTANCE_ID))
        self.answer_sync(member, m.SyncGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
        member.member_id = new_id
        self.members[new_id] = member
        if self.leader == old_id:
            self.leader = new_id
        if old_id in self.pending_sync:
            del self.pending_sync[old_id]
            self.pending_sync[new_id] = None
        self.static_members[instance_id] = new_id
        return member

    def update(
        self,
        member: Member,
        protocols: list[tuple[str, bytes]],
        rebalance_ms: int,
        session_ms: int,
        reply: Reply | None,
    ) -> None:
        """What a member that joins again brings along; `reply` replaces an older parked join."""
        member.protocols = protocols
        member.rebalance_timeout_ms = rebalance_ms
        member.session_timeout_ms = session_ms
        self.awaiting_join_count += (reply is not None) - (member.awaiting_join is not None)
        member.awaiting_join = reply

    def check_member(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """NONE, or why the sender is not the member that it says it is.

        A. instance id known, under another member id: FENCED_INSTANCE_ID
        B. instance id or member id not known: UNKNOWN_MEMBER_ID
        """
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is not None and current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID  # A
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID  # B
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def all_joined(self) -> bool:
        """Whether a rebalance need not wait any longer: all are parked, no handed-out id is outstanding."""
        return len(self.members) == self.awaiting_join_count and not self.pending_members

    def not_rejoined(self) -> list[Member]:
        """Members without a parked join."""
        return [member for member in self.members.values() if member.awaiting_join is None]

    def elect_joined_leader(self) -> bool:
        """Keeps the leader when it has joined, else makes the first member leader that has. False: nobody has."""
        if self.leader is None:
            return False
        if self.members[self.leader].awaiting_join is not None:
            return True
        for member in self.members.values():
            if member.awaiting_join is not None:
                self.leader = member.member_id
                return True
        return False

    # --- protocol -----------------------------------------------------------------------------

    def supports(self, protocol_type: str, protocols: list[tuple[str, bytes]]) -> bool:
        """Whether somebody with these protocols can be in this group: all must share at least one."""
        if self.state is GroupState.EMPTY:
            return protocol_type != "" and bool(protocols)
        if protocol_type != self.protocol_type:
            return False
        common = self.common_protocols()
        return any(name in common for name, _ in protocols)

    def common_protocols(self) -> list[str]:
        """Protocols that all members have, in the first member's order."""
        members = list(self.members.values())
        if not members:
            return []
        others = [{name for name, _ in member.protocols} for member in members[1:]]
        return [name for name, _ in members[0].protocols if all(name in names for names in others)]

    def select_protocol(self) -> str:
        """The candidate with the most votes; on a tie the one that was voted for first."""
        candidates = self.common_protocols()
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=votes.__getitem__)

    def compute_subscribed(self) -> list[str] | None:
        """Topics that the members read, sorted; None when that cannot be known (not consumers, bad metadata)."""
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return None
        if not self.members:
            return []
        if self.protocol is None:
            return None
        topics: dict[str, None] = {}
        try:
            for member in self.members.values():
                topics.update(dict.fromkeys(subscribed_topics(member.metadata(self.protocol))))
        except MalformedProtocol:
            return None
        return sorted(topics)

    def is_subscribed(self, topic: str) -> bool:
        """Whether somebody reads the topic; True when it is not known, to be on the safe side."""
        return self.subscribed is None or topic in self.subscribed

    # --- answers ------------------------------------------------------------------------------

    def answer_join(self, member: Member, response: m.JoinGroupResponse) -> None:
        """Answers the parked join, when there is one."""
        reply = member.awaiting_join
        if reply is not None:
            member.awaiting_join = None
            self.awaiting_join_count -= 1
            reply.send(response)

    def answer_sync(self, member: Member, response: m.SyncGroupResponse) -> bool:
        """Answers the parked sync; False when there is none."""
        reply = member.awaiting_sync
        if reply is None:
            return False
        member.awaiting_sync = None
        reply.send(response)
        return True

    def join_response(
        self, member_id: str, leader: str | None = None, skip_assignment: bool = False
    ) -> m.JoinGroupResponse:
        """The current generation as this member learns it: only the leader is told who else is in the group."""
        shown_leader = leader if leader is not None else (self.leader or "")
        return m.JoinGroupResponse(
            error_code=ErrorCode.NONE,
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol,
            leader=shown_leader,
            skip_assignment=skip_assignment,
            member_id=member_id,
            members=self.member_metadata() if shown_leader == member_id else [],
        )

    def member_metadata(self) -> list[m.JoinGroupResponse.JoinGroupResponseMember]:
        """All members with what they said under the chosen protocol, for the leader's assignor."""
        assert self.protocol is not None
        return [
            m.JoinGroupResponse.JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                metadata=member.metadata(self.protocol),
            )
            for member in self.members.values()
        ]


def join_error(member_id: str, error: int) -> m.JoinGroupResponse:
    """A JoinGroup answer that is only an error."""
    return m.JoinGroupResponse(
        error_code=error,
        generation_id=-1,
        protocol_type=None,
        protocol_name=None,
        leader="",
        member_id=member_id,
        members=[],
    )
