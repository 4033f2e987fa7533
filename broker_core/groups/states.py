"""The states of a consumer group, and what a group in each of them answers.

A group is coordinated by one broker. Its life is a cycle: somebody wants to join, all members are
called together (`PreparingRebalance`), the leader among them is asked for an assignment
(`CompletingRebalance`), everybody gets his share (`Stable`), until the next change.

    Empty --join--> PreparingRebalance --all joined--> CompletingRebalance --leader's sync--> Stable
      ^                  |    ^                              |                                  |
      +--nobody is left--+    +---- member joins, leaves, expires, changes ----+----------------+

`Dead` is where a group ends: it was deleted, it has neither members nor offsets left, or this broker
has lost its partition of `__consumer_offsets` (then the group lives on at another coordinator).

The table below is the whole of it: `transition_to` of `groups.group` looks nowhere else.
Source: Kafka's GroupState (core, 3.9), ClassicGroupState (4.x), KIP-62, KIP-345.
"""

from __future__ import annotations

from enum import Enum


class GroupState(Enum):
    """State of a group in the classic protocol. The value is the name that DescribeGroups shows.

    EMPTY: no members; offsets may be there.
        JoinGroup: the member is taken, a rebalance begins after `group.initial.rebalance.delay.ms`
        => PREPARING_REBALANCE. SyncGroup, Heartbeat, LeaveGroup: UNKNOWN_MEMBER_ID.
        OffsetCommit: only without generation (a "simple" consumer or a tool); OffsetFetch: answered.
        Last offset removed or group deleted => DEAD.

    PREPARING_REBALANCE: members are called together.
        JoinGroup: parked until all have joined or the rebalance timeout is over.
        SyncGroup: REBALANCE_IN_PROGRESS. Heartbeat: REBALANCE_IN_PROGRESS (this is how members learn).
        LeaveGroup: removed. OffsetCommit: taken from members of the old generation; OffsetFetch: answered.
        All joined => COMPLETING_REBALANCE. Nobody is left => EMPTY.

    COMPLETING_REBALANCE: the leader is computing the assignment.
        SyncGroup of a follower: parked; of the leader: written to the log, then => STABLE.
        JoinGroup with the same metadata: the current generation again (an answer was lost); with other
        metadata => PREPARING_REBALANCE. Heartbeat: NONE. LeaveGroup, expiry => PREPARING_REBALANCE.
        OffsetCommit: REBALANCE_IN_PROGRESS.

    STABLE: everybody has an assignment.
        SyncGroup: the current assignment. Heartbeat: NONE. OffsetCommit: taken from the generation's members.
        JoinGroup of a follower with the same metadata: the current generation.
        JoinGroup of the leader, a new member or with new metadata; LeaveGroup; expiry => PREPARING_REBALANCE.

    DEAD: no longer here.
        Everything: COORDINATOR_NOT_AVAILABLE (or NOT_COORDINATOR once the group is out of the table).
    """

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


VALID_PREVIOUS_STATES: dict[GroupState, tuple[GroupState, ...]] = {
    GroupState.EMPTY: (GroupState.PREPARING_REBALANCE,),
    GroupState.PREPARING_REBALANCE: (GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY),
    GroupState.COMPLETING_REBALANCE: (GroupState.PREPARING_REBALANCE,),
    GroupState.STABLE: (GroupState.COMPLETING_REBALANCE,),
    GroupState.DEAD: (
        GroupState.STABLE,
        GroupState.PREPARING_REBALANCE,
        GroupState.COMPLETING_REBALANCE,
        GroupState.EMPTY,
        GroupState.DEAD,
    ),
}


class IllegalTransition(AssertionError):
    """A group was asked to do a step that the table does not have: always a bug of the coordinator."""


def check_transition(before: GroupState, after: GroupState) -> None:
    """Raises IllegalTransition unless the table allows `before` -> `after`."""
    if before not in VALID_PREVIOUS_STATES[after]:
        raise IllegalTransition(f"a group cannot go from {before.value} to {after.value}")
