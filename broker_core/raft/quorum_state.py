"""The state of one replica and the ways from one to the next: each is checked, written down, and told.

Invariants
    - what `states.LEGAL` does not name never happens
    - the epoch never goes down; in one epoch a replica votes for one candidate and knows one leader
    - epoch, vote and leader are on disk before anybody learns of them

At a start the replica goes on where `quorum-state` says; who was leader comes back as resigned, since records of its
epoch that it had not flushed may be gone, and two different records must never have the same offset and epoch.
Source: QuorumState (KIP-595, KIP-853, KIP-996).
"""

from __future__ import annotations

from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.raft.leader import Leader
from broker_core.raft.metadata_log import MetadataLog
from broker_core.raft.quorum_file import ElectionState, QuorumStateFile
from broker_core.raft.settings import MOST_LATE_US, QuorumSettings
from broker_core.raft.states import (
    LEGAL,
    NEVER_US,
    Candidate,
    EpochElection,
    EpochState,
    Follower,
    Prospective,
    Resigned,
    Unattached,
)
from broker_core.raft.voter_history import VoterHistory
from broker_core.raft.voters import ReplicaKey, VoterNode


class IllegalTransition(RuntimeError):
    """A change of state that must not be: a fault of this program."""


class QuorumState:
    """See the module. `state` is what the replica is now."""

    def __init__(
        self, node: Node, own: VoterNode, log: MetadataLog, history: VoterHistory, settings: QuorumSettings
    ) -> None:
        self.node = node
        self.own = own
        self.log = log
        self.history = history
        self.settings = settings
        self.file = QuorumStateFile(node.storage, log.directory)
        self.state: EpochState = self._first(self.file.read() or ElectionState(0))
        self._store()

    def _first(self, stored: ElectionState) -> EpochState:
        """What the replica is when it starts. Raises CorruptQuorumState."""
        if stored.epoch < self.log.last_epoch:
            return Unattached(self.log.last_epoch, None, None, None, self._election_deadline_us())
        deadline_us = self._election_deadline_us()
        if not self.is_voter:
            return Unattached(stored.epoch, None, stored.voted, None, NEVER_US)
        if stored.leader_id == self.own.key.id:
            others = [one for one in self.history.last_voters.ids if one != self.own.key.id]
            return Resigned(stored.epoch, self.own.key, stored.voted, deadline_us, [], others)
        if stored.voted is not None and stored.voted.matches(self.own.key) and stored.leader_id is None:
            election = EpochElection(self.history.last_voters.ids)
            election.record(self.own.key.id, True)
            return Candidate(stored.epoch, self.own.key, None, deadline_us, election)
        if stored.leader_id is not None:
            return self._follower(stored.epoch, stored.leader_id, stored.voted, None)
        return Unattached(stored.epoch, None, stored.voted, None, deadline_us)

    # -- facts ------------------------------------------------------------------------------------
    @property
    def epoch(self) -> int:
        return self.state.epoch

    @property
    def leader_id(self) -> int | None:
        return self.state.leader_id

    @property
    def is_voter(self) -> bool:
        return self.own.key in self.history.last_voters

    @property
    def is_only_voter(self) -> bool:
        return self.history.last_voters.is_only(self.own.key)

    @property
    def leader(self) -> Leader | None:
        """The leader's state while this replica is it."""
        return self.state if isinstance(self.state, Leader) else None

    @property
    def follower(self) -> Follower | None:
        return self.state if isinstance(self.state, Follower) else None

    def _election_deadline_us(self) -> int:
        """From one to two election timeouts, drawn anew each time: so that candidates do not meet again and again."""
        timeout_us = self.settings.election_timeout_ms * 1000
        return self.node.now_us() + timeout_us + int(self.node.random("elections").random() * timeout_us)

    def _lateness_us(self) -> int:
        return int(self.node.random("lateness").random() * MOST_LATE_US) if self.is_voter else 0

    # -- transitions ------------------------------------------------------------------------------
    def to_unattached(self, epoch: int, leader_id: int | None = None, voted: ReplicaKey | None = None) -> None:
        """A newer epoch without a known address of its leader; a vote that was given; a lost pre-vote."""
        state = self.state
        if epoch < state.epoch:
            raise IllegalTransition(f"unattached in epoch {epoch}, in epoch {state.epoch} already")
        keeps = isinstance(state, Unattached | Candidate | Prospective | Resigned) and voted is None
        deadline_us = state.deadline_us if keeps else self._election_deadline_us()
        if deadline_us <= self.node.now_us():
            deadline_us = self._election_deadline_us()
        if not self.is_voter:
            deadline_us = NEVER_US
        if epoch == state.epoch:
            voted = voted or state.voted
            leader_id = leader_id if leader_id is not None else state.leader_id
        reason = "vote" if voted else "epoch"
        self._become(Unattached(epoch, leader_id, voted, state.high_watermark, deadline_us), reason)

    def add_vote(self, epoch: int, candidate: ReplicaKey) -> None:
        """Vote for somebody else, in this epoch, once."""
        state = self.state
        if epoch != state.epoch or candidate.id == self.own.key.id:
            raise IllegalTransition(f"vote for {candidate.id} in epoch {epoch}, in epoch {state.epoch}")
        if isinstance(state, Prospective):
            state.voted = candidate
            state.deadline_us = self._election_deadline_us()
            self._store()
        else:
            self.to_unattached(epoch, None, candidate)
        self.node.emit(events.QUORUM_VOTE, candidate=candidate.id, epoch=epoch)

    def to_follower(self, epoch: int, leader_id: int) -> None:
        """There is a leader: fetch from it."""
        state = self.state
        if leader_id == self.own.key.id:
            raise IllegalTransition(f"to follow oneself in epoch {epoch}")
        if epoch < state.epoch or (epoch == state.epoch and isinstance(state, Leader)):
            raise IllegalTransition(f"follower of {leader_id} in epoch {epoch}, {state.name} in epoch {state.epoch}")
        if epoch == state.epoch and state.leader_id not in (None, leader_id):
            raise IllegalTransition(f"two leaders of epoch {epoch}: {state.leader_id} and {leader_id}")
        voted = state.voted if epoch == state.epoch else None
        self._become(self._follower(epoch, leader_id, voted, state.high_watermark), "leader")

    def _follower(self, epoch: int, leader_id: int, voted: ReplicaKey | None, high_watermark: int | None) -> Follower:
        now_us = self.node.now_us()
        period_us = self.settings.fetch_timeout_ms * 1000
        follower = Follower(
            epoch, leader_id, voted, high_watermark, self._lateness_us(), now_us + period_us, now_us + period_us,
        )  # fmt: skip
        follower.wait_for(now_us, self.settings.fetch_timeout_ms)
        return follower

    def to_prospective(self, reason: str) -> None:
        """Ask whether a majority would vote, in the present epoch."""
        state = self.state
        election = EpochElection(self.history.last_voters.ids)
        election.record(self.own.key.id, True)
        self._become(
            Prospective(
                state.epoch, state.leader_id, state.voted, state.high_watermark, self._election_deadline_us(), election
            ),
            reason,
        )

    def to_candidate(self) -> None:
        """Raise the epoch and vote for oneself."""
        state = self.state
        election = EpochElection(self.history.last_voters.ids)
        election.record(self.own.key.id, True)
        self._become(
            Candidate(state.epoch + 1, self.own.key, state.high_watermark, self._election_deadline_us(), election),
            "majority of pre-votes",
        )

    def to_leader(self) -> Leader:
        """A majority has voted for this replica. The high watermark is unknown until it has committed something."""
        state = self.state
        if not isinstance(state, Candidate) or not state.election.is_granted:
            raise IllegalTransition(f"leader without a majority, {state.name} in epoch {state.epoch}")
        leader = Leader(
            state.epoch, self.own, state.voted, self.log.end_offset, self.history.last_voters, state.election.granting,
            self.settings, self.node.now_us(),
        )  # fmt: skip
        self._become(leader, "majority of votes")
        return leader

    def to_resigned(self, reason: str) -> None:
        """Give the epoch up; the same replica takes no part in it again."""
        state = self.state
        if not isinstance(state, Leader):
            raise IllegalTransition(f"{state.name} cannot resign")
        preferred = state.successors
        self._become(
            Resigned(state.epoch, self.own.key, state.voted, self._election_deadline_us(), preferred,
                     [key.id for key in preferred]),
            reason,
        )  # fmt: skip

    def _become(self, state: EpochState, reason: str) -> None:
        before = self.state
        if state.name not in LEGAL[before.name]:
            raise IllegalTransition(f"{before.name} -> {state.name}")
        if isinstance(before, Follower) and before.fetching is not None:
            before.fetching.abandon()
        changed = (state.name, state.epoch, state.leader_id) != (before.name, before.epoch, before.leader_id)
        self.state = state
        if (state.epoch, state.leader_id, state.voted) != (before.epoch, before.leader_id, before.voted):
            self._store()
        if changed:
            self.node.emit(
                events.QUORUM_STATE, before=before.name, after=state.name, epoch=state.epoch, leader=state.leader_id,
                reason=reason,
            )  # fmt: skip

    def _store(self) -> None:
        state = self.state
        self.file.write(
            ElectionState(state.epoch, state.leader_id, state.voted), self.history.last_version,
            self.history.last_voters.ids,
        )  # fmt: skip
