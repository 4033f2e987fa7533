"""What the servers of an ensemble say to each other: ZAB, ZooKeeper's atomic broadcast.

A transaction id has two halves, zxid = epoch << 32 | counter: 0x300000007 is the seventh transaction of the leader of
epoch 3. Every leader has an epoch of its own, so zxids of two leaders are never the same, and a larger one is newer.

| phase | follower | leader | what for |
|---|---|---|---|
| 0 election | Notification to all | the same | agree on whose log is longest |
| 1 discovery | FollowerInfo(accepted epoch) | | |
| | | LeaderInfo(new epoch) | a majority promises to obey no older leader |
| | AckEpoch(current epoch, last zxid) | | |
| 2 synchronisation | | Diff, Truncate or Snapshot, then NewLeader | the follower's log becomes the leader's |
| | Ack | | a majority: the epoch begins |
| | | UpToDate | the follower serves clients |
| 3 broadcast | Forward (a client's write) | | |
| | | Proposal | |
| | Ack (flushed) | | |
| | | Commit, when a majority has flushed it | |

Acks are counted up to and including their zxid, as a follower flushes in order. `Ping` goes out twice a tick; `Pong`
carries the sessions that have been heard of since the last one, for the leader alone lets sessions expire.

A connection is opened by the follower and has a number; what goes over it is counted in both directions, so that either
end notices when something is missing and gives it up, as TCP would (`Packet`). `Refused`: nobody listens, or no more.
Source: Junqueira, Reed, Serafini, "Zab: High-performance broadcast for primary-backup systems" (2011); Leader, Learner,
LearnerHandler of ZooKeeper 3.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from broker_core.zookeeper.protocol import Multi, WriteOp
from broker_core.zookeeper.tree import CreateSessionTxn, Txn

LOOKING, FOLLOWING, LEADING = "looking", "following", "leading"


def first_zxid(epoch: int) -> int:
    """What stands before the first transaction of an epoch."""
    return epoch << 32


def epoch_of(zxid: int) -> int:
    return zxid >> 32


@dataclass(frozen=True, slots=True, order=True)
class Vote:
    """For whom a server votes. The order is that of the election: newer epoch, then longer log, then larger id."""

    epoch: int
    zxid: int
    leader: int


@dataclass(frozen=True, slots=True)
class Notification:
    """A server tells all others its vote, in its round of the election, and whether it is still looking."""

    round: int
    vote: Vote
    state: str


@dataclass(frozen=True, slots=True)
class FollowerInfo:
    accepted_epoch: int


@dataclass(frozen=True, slots=True)
class LeaderInfo:
    epoch: int


@dataclass(frozen=True, slots=True)
class AckEpoch:
    """`current_epoch` -1: this epoch had been promised before (the follower comes back)."""

    current_epoch: int
    last_zxid: int


@dataclass(frozen=True, slots=True)
class Diff:
    """Committed transactions that the follower lacks."""

    entries: tuple[tuple[int, int, Txn], ...]


@dataclass(frozen=True, slots=True)
class Truncate:
    """Everything behind `zxid` was never committed: away with it."""

    zxid: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole tree as JSON, for a follower that lacks more than the leader has at hand."""

    zxid: int
    text: str


@dataclass(frozen=True, slots=True)
class NewLeader:
    zxid: int


@dataclass(frozen=True, slots=True)
class UpToDate:
    pass


@dataclass(frozen=True, slots=True)
class Proposal:
    """A transaction on its way. `origin`, `request`: the server that a client has asked, and its number for it."""

    zxid: int
    time_ms: int
    txn: Txn
    origin: int
    request: int


@dataclass(frozen=True, slots=True)
class Ack:
    zxid: int


@dataclass(frozen=True, slots=True)
class Commit:
    zxid: int


@dataclass(frozen=True, slots=True)
class EndSession:
    """A client closes its session, or the person at the screen lets it expire."""

    session: int
    expired: bool


@dataclass(frozen=True, slots=True)
class Forward:
    """A client's write, for the leader to decide."""

    session: int
    request: int
    op: WriteOp | Multi | CreateSessionTxn | EndSession


@dataclass(frozen=True, slots=True)
class Revalidate:
    """A client has come to this server with its session: does it live?"""

    session: int
    password: int
    request: int


@dataclass(frozen=True, slots=True)
class Revalidated:
    request: int
    timeout_ms: int  # 0: it has expired


@dataclass(frozen=True, slots=True)
class Ping:
    pass


@dataclass(frozen=True, slots=True)
class Pong:
    """Sessions that this server has heard of since the last one."""

    sessions: tuple[int, ...]


Body: TypeAlias = (
    "FollowerInfo | LeaderInfo | AckEpoch | Diff | Truncate | Snapshot | NewLeader | UpToDate | Proposal | Ack"
    " | Commit | Forward | Revalidate | Revalidated | Ping | Pong"
)


@dataclass(frozen=True, slots=True)
class Packet:
    """One message of a connection between a follower and its leader."""

    connection: int
    sequence: int
    body: Any


@dataclass(frozen=True, slots=True)
class Refused:
    """This connection does not exist (any more)."""

    connection: int
