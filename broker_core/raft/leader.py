"""The leader's view: how far each replica is, what is committed, and whether a majority still listens.

    voter 101 (leader)  end 120      sorted: 120 118 90, of three the second: 118 is on a majority,
    voter 102           fetched 118  so the high watermark is 118 - if it lies beyond the start of this epoch:
    voter 103           fetched 90   a leader commits its own first record before it counts older ones (Raft, 5.4.2)

Invariants
    - the high watermark never goes down
    - a voter is known by id and directory: a fetch of the same id with another directory is an observer's
    - the leader resigns when no majority has fetched for 1.5 fetch timeouts (KIP-835): it might be cut off alone

Source: LeaderState (KIP-595, KIP-642, KIP-853).
"""

from __future__ import annotations

from typing import Any

from broker_core.raft.accumulator import Accumulator
from broker_core.raft.settings import (
    CAUGHT_UP_WITHIN_MS,
    CHECK_QUORUM_FACTOR,
    OBSERVER_SESSION_TIMEOUT_MS,
    QuorumSettings,
)
from broker_core.raft.states import LEADER, NEVER_US, EpochState
from broker_core.raft.voters import ReplicaKey, VoterNode, VoterSet

UNKNOWN = -1


class ReplicaProgress:
    """One replica as the leader knows it; times in milliseconds of its clock, -1: never. `fetched_us`: in the world's.
    """

    __slots__ = (
        "key", "end_offset", "fetched_us", "last_fetch_ms", "last_caught_up_ms", "leader_end_at_fetch", "acknowledged",
    )  # fmt: skip

    def __init__(self, key: ReplicaKey, acknowledged: bool = False) -> None:
        self.key = key
        self.end_offset = UNKNOWN
        self.fetched_us = -NEVER_US
        self.last_fetch_ms = UNKNOWN
        self.last_caught_up_ms = UNKNOWN
        self.leader_end_at_fetch = UNKNOWN
        self.acknowledged = acknowledged

    def fetched(self, now_ms: int, offset: int, leader_end: int) -> None:
        """It asks for what is behind `offset`: so it has all below."""
        if offset >= leader_end:
            self.last_caught_up_ms = max(now_ms, self.last_caught_up_ms)
        elif self.leader_end_at_fetch > 0 and offset >= self.leader_end_at_fetch:
            self.last_caught_up_ms = max(self.last_fetch_ms, self.last_caught_up_ms)
        self.last_fetch_ms = max(now_ms, self.last_fetch_ms)
        self.leader_end_at_fetch = leader_end
        self.end_offset = offset


class Leader(EpochState):
    """See the module. `change`: the voter change that is under way, None without one. `described`: what static voters
    have said of themselves, which no record holds yet (kraft.version 0)."""

    name = LEADER
    __slots__ = (
        "own", "start_offset", "accumulator", "voters", "observers", "granting", "check_quorum_us",
        "begin_quorum_us", "resign_requested", "change", "described", "_fetched", "_settings", "_taken",
    )  # fmt: skip

    def __init__(
        self, epoch: int, own: VoterNode, voted: ReplicaKey | None, start_offset: int, voters: VoterSet,
        granting: list[int], settings: QuorumSettings, now_us: int,
    ) -> None:  # fmt: skip
        super().__init__(epoch, own.key.id, voted, None, NEVER_US)
        self.own = own.key
        self.start_offset = start_offset
        self.accumulator = Accumulator(start_offset, settings.append_linger_ms * 1000)
        self.voters = {node.key.id: ReplicaProgress(node.key, node.key.matches(own.key)) for node in voters}
        self.observers: dict[ReplicaKey, ReplicaProgress] = {}
        self.granting = [key for key in (progress.key for progress in self.voters.values()) if key.id in granting]
        self._taken = voters
        self._settings = settings
        self._fetched: dict[int, None] = {}
        self.check_quorum_us = now_us + self._check_quorum_timeout_us
        self.begin_quorum_us = now_us
        self.resign_requested = False
        self.change: Any = None
        self.described = {own.key.id: own}

    @property
    def _check_quorum_timeout_us(self) -> int:
        return int(self._settings.fetch_timeout_ms * CHECK_QUORUM_FACTOR * 1000)

    @property
    def begin_quorum_period_us(self) -> int:
        return self._settings.fetch_timeout_ms * 1000 // 2

    def can_grant(self, candidate: ReplicaKey, new_enough: bool, pre_vote: bool) -> bool:
        return False

    # -- progress ---------------------------------------------------------------------------------
    def progress_of(self, key: ReplicaKey) -> ReplicaProgress:
        """What is known of a replica; an unknown one is an observer from now on."""
        voter = self.voters.get(key.id)
        if voter is not None and voter.key.matches(key):
            return voter
        found = self.observers.get(key)
        if found is None:
            found = self.observers[key] = ReplicaProgress(key)
        return found

    def update_local(self, end_offset: int, voters: VoterSet) -> bool:
        """The own log has grown, perhaps by a record that changes the voters. Whether more is committed now."""
        self._take_voters(voters)
        self.progress_of(self.own).end_offset = end_offset
        return self._maybe_advance()

    def update_replica(self, key: ReplicaKey, now_us: int, now_ms: int, offset: int) -> bool:
        """A replica fetches from `offset`. Whether more is committed now."""
        if key.id < 0:
            return False
        progress = self.progress_of(key)
        progress.fetched_us = now_us
        progress.fetched(now_ms, offset, self.progress_of(self.own).end_offset)
        self.heard(key, now_us)
        return self._is_voter(progress) and self._maybe_advance()

    def heard(self, key: ReplicaKey, now_us: int) -> None:
        """A replica lives: with a majority of voters heard, the leader may go on for another period."""
        progress = self.progress_of(key)
        if not self._is_voter(progress):
            return
        self._fetched[key.id] = None
        needed = len(self.voters) // 2 + 1 - (self.own.id in self.voters)
        if len(self._fetched) >= needed:
            self._fetched.clear()
            self.check_quorum_us = now_us + self._check_quorum_timeout_us

    def quorum_is_lost(self, now_us: int) -> bool:
        alone = len(self.voters) == 1 and self.own.id in self.voters
        return not alone and now_us >= self.check_quorum_us

    def _is_voter(self, progress: ReplicaProgress) -> bool:
        return self.voters.get(progress.key.id) is progress

    def _maybe_advance(self) -> bool:
        ends = sorted((progress.end_offset for progress in self.voters.values()), reverse=True)
        on_majority = ends[len(self.voters) // 2]
        if on_majority <= self.start_offset or on_majority <= (self.high_watermark or UNKNOWN):
            return False
        self.high_watermark = on_majority
        return True

    def _take_voters(self, voters: VoterSet) -> None:
        """Another set of voters: who goes is an observer, who comes was one."""
        if voters is self._taken:
            return
        self._taken = voters
        if [progress.key for progress in self.voters.values()] == [node.key for node in voters]:
            return
        before = self.voters
        self.voters = {}
        for node in voters:
            known = before.pop(node.key.id, None)
            if known is None or not node.key.matches(known.key):
                known = next((one for key, one in self.observers.items() if node.key.matches(key)), None)
            found = known or ReplicaProgress(node.key)
            self.observers.pop(found.key, None)
            found.key = node.key
            self.voters[node.key.id] = found
        for progress in before.values():
            self.observers[progress.key] = progress

    # -- what others ask --------------------------------------------------------------------------
    @property
    def successors(self) -> list[ReplicaKey]:
        """The other voters, the one that has most first."""
        others = [progress for progress in self.voters.values() if progress.key.id != self.own.id]
        return [progress.key for progress in sorted(others, key=lambda one: (-one.end_offset, one.key.id))]

    @property
    def unacknowledged(self) -> list[ReplicaKey]:
        """Voters that have not confirmed that they know of this leader."""
        return [progress.key for progress in self.voters.values() if not progress.acknowledged]

    def silent(self, now_us: int) -> list[ReplicaKey]:
        """Voters that have not fetched for half a fetch timeout, if ever: they may not know who leads."""
        since_us = now_us - self.begin_quorum_period_us
        return [one.key for one in self.voters.values() if one.key.id != self.own.id and one.fetched_us <= since_us]

    def live_observers(self, now_ms: int) -> list[ReplicaProgress]:
        """Observers that have fetched within five minutes; the others are forgotten."""
        for key, progress in list(self.observers.items()):
            if now_ms - progress.last_fetch_ms >= OBSERVER_SESSION_TIMEOUT_MS and key != self.own:
                del self.observers[key]
        return list(self.observers.values())

    def is_caught_up(self, key: ReplicaKey, now_ms: int) -> bool:
        """Whether an observer has reached the end once and fetched within an hour: fit to become a voter."""
        found = self.observers.get(key)
        return (
            found is not None and found.last_caught_up_ms > 0 and found.last_fetch_ms > now_ms - CAUGHT_UP_WITHIN_MS
        )
