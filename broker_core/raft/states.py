"""What a replica of the metadata log can be, and what it does in each state.

| state | who | it ends by |
|---|---|---|
| unattached | knows no leader of this epoch | a leader; the election timeout: prospective |
| prospective | asks whether a majority *would* vote for it | a majority: candidate; a refusal or time: back |
| candidate | has raised the epoch and voted for itself | a majority: leader; time: prospective |
| leader | the only one that appends | no majority fetches, shutdown: resigned; a newer epoch |
| follower | fetches from the leader | the fetch timeout: prospective |
| resigned | was the leader of this epoch, takes no part in it again | time: unattached in the next epoch |

| state | a vote is granted | a pre-vote is granted (KIP-996) |
|---|---|---|
| unattached, prospective | no leader, no vote for another, the log is new enough | the log is new enough |
| candidate, resigned | never | the log is new enough |
| follower | never | the same, and this leader has never answered it |
| leader | never | never |

`LEGAL` holds every transition that there is. An observer is unattached or a follower, never anything else.
Pre-votes keep a replica that was cut off from raising the epoch of a quorum that works without it.
Source: QuorumState and the EpochState classes of Kafka 4 (KIP-595, KIP-853, KIP-996).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from broker_core.raft.voters import ReplicaKey

if TYPE_CHECKING:
    from broker_core.raft.snapshots import RawSnapshot

UNATTACHED, PROSPECTIVE, CANDIDATE, LEADER, FOLLOWER, RESIGNED = (
    "unattached", "prospective", "candidate", "leader", "follower", "resigned",
)  # fmt: skip
NEVER_US = 1 << 62

LEGAL: dict[str, tuple[str, ...]] = {
    UNATTACHED: (UNATTACHED, PROSPECTIVE, FOLLOWER),
    PROSPECTIVE: (UNATTACHED, PROSPECTIVE, CANDIDATE, FOLLOWER),
    CANDIDATE: (UNATTACHED, PROSPECTIVE, LEADER, FOLLOWER),
    LEADER: (UNATTACHED, RESIGNED, FOLLOWER),
    FOLLOWER: (UNATTACHED, PROSPECTIVE, FOLLOWER),
    RESIGNED: (UNATTACHED, FOLLOWER),
}


class EpochElection:
    """Votes of one round, by voter id. Granted and rejected are never both true: one needs a majority, the other
    takes it away for good."""

    __slots__ = ("votes",)

    def __init__(self, voters: Iterable[int]) -> None:
        self.votes: dict[int, bool | None] = dict.fromkeys(voters)

    def record(self, voter: int, granted: bool) -> bool:
        """Whether this is somebody whose vote counts and has not been counted."""
        if voter not in self.votes or self.votes[voter] is not None:
            return False
        self.votes[voter] = granted
        return True

    @property
    def majority(self) -> int:
        return len(self.votes) // 2 + 1

    @property
    def granting(self) -> list[int]:
        return [voter for voter, granted in self.votes.items() if granted]

    @property
    def missing(self) -> list[int]:
        """Who has not answered."""
        return [voter for voter, granted in self.votes.items() if granted is None]

    @property
    def is_granted(self) -> bool:
        return len(self.granting) >= self.majority

    @property
    def is_rejected(self) -> bool:
        return len(self.granting) + len(self.missing) < self.majority


class EpochState:
    """Base of all states. `voted`: for whom in this epoch; `high_watermark` None: not known yet.
    `deadline_us`: when its timeout (see the module) is over."""

    name = ""
    __slots__ = ("epoch", "leader_id", "voted", "high_watermark", "deadline_us")

    def __init__(
        self, epoch: int, leader_id: int | None, voted: ReplicaKey | None, high_watermark: int | None, deadline_us: int
    ) -> None:
        self.epoch = epoch
        self.leader_id = leader_id
        self.voted = voted
        self.high_watermark = high_watermark
        self.deadline_us = deadline_us

    def can_grant(self, candidate: ReplicaKey, new_enough: bool, pre_vote: bool) -> bool:
        """Whether it votes for the candidate; `new_enough`: whether its log is not behind the own one."""
        raise NotImplementedError


class Unattached(EpochState):
    """`leader_id` may be known without an address to reach it at."""

    name = UNATTACHED
    __slots__ = ()

    def can_grant(self, candidate: ReplicaKey, new_enough: bool, pre_vote: bool) -> bool:
        if pre_vote:
            return new_enough
        if self.voted is not None:
            return self.voted.matches(candidate)
        return self.leader_id is None and new_enough


class Prospective(EpochState):
    name = PROSPECTIVE
    __slots__ = ("election",)

    def __init__(
        self, epoch: int, leader_id: int | None, voted: ReplicaKey | None, high_watermark: int | None,
        deadline_us: int, election: EpochElection,
    ) -> None:  # fmt: skip
        super().__init__(epoch, leader_id, voted, high_watermark, deadline_us)
        self.election = election

    can_grant = Unattached.can_grant


class Candidate(EpochState):
    """Has voted for itself: `voted` is its own key."""

    name = CANDIDATE
    __slots__ = ("election",)

    def __init__(
        self, epoch: int, own: ReplicaKey, high_watermark: int | None, deadline_us: int, election: EpochElection
    ) -> None:
        super().__init__(epoch, None, own, high_watermark, deadline_us)
        self.election = election

    def can_grant(self, candidate: ReplicaKey, new_enough: bool, pre_vote: bool) -> bool:
        return pre_vote and new_enough


class Follower(EpochState):
    """`fetched`: the leader has answered a Fetch. `fetching`: the snapshot that is being copied.
    `lateness_us`: how much after its fetch timeout this replica notices (see `settings`).
    `update_voter_us`: when it next looks whether the voters' record describes it rightly; `described`: the leader has
    been told who it is, where no record says so. `join_us`: when an observer next asks to become a voter."""

    name = FOLLOWER
    __slots__ = ("described", "fetched", "fetching", "join_us", "lateness_us", "update_voter_us")

    def __init__(
        self, epoch: int, leader_id: int, voted: ReplicaKey | None, high_watermark: int | None, lateness_us: int,
        update_voter_us: int, join_us: int,
    ) -> None:  # fmt: skip
        super().__init__(epoch, leader_id, voted, high_watermark, NEVER_US)
        self.lateness_us = lateness_us
        self.described = False
        self.fetched = False
        self.fetching: RawSnapshot | None = None
        self.update_voter_us = update_voter_us
        self.join_us = join_us

    def wait_for(self, now_us: int, fetch_timeout_ms: int) -> None:
        """The leader has another fetch timeout."""
        self.deadline_us = now_us + fetch_timeout_ms * 1000 + self.lateness_us

    def can_grant(self, candidate: ReplicaKey, new_enough: bool, pre_vote: bool) -> bool:
        return pre_vote and new_enough and not self.fetched


class Resigned(EpochState):
    """`preferred`: who should be leader next, best first; `unacknowledged`: voters that have not answered
    EndQuorumEpoch."""

    name = RESIGNED
    __slots__ = ("preferred", "unacknowledged")

    def __init__(
        self, epoch: int, own: ReplicaKey, voted: ReplicaKey | None, deadline_us: int, preferred: list[ReplicaKey],
        unacknowledged: Iterable[int],
    ) -> None:  # fmt: skip
        super().__init__(epoch, own.id, voted, None, deadline_us)
        self.preferred = preferred
        self.unacknowledged = dict.fromkeys(unacknowledged)

    def can_grant(self, candidate: ReplicaKey, new_enough: bool, pre_vote: bool) -> bool:
        return pre_vote and new_enough
