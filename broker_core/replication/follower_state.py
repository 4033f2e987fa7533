"""Where a follower stands with one partition.

| phase     | what it waits for                                             | next                         |
|-----------|---------------------------------------------------------------|------------------------------|
| fetching  | the leader's records                                          | any other                    |
| truncating| the leader's end offset of an epoch (OffsetsForLeaderEpoch)   | fetching, delayed            |
| searching | the leader's log end and start, being out of range (ListOffsets) | fetching, delayed         |
| delayed   | `replica.fetch.backoff.ms` after an error                     | the phase it was delayed in  |
| fenced    | the controller: the leader knows a newer epoch                | (a new state replaces this)  |

A new leader epoch makes a new state; answers to questions of an old one find it gone.
"""

from __future__ import annotations

from broker_core.kernel.node import Timer
from broker_core.replication.partition import Partition

FETCHING, TRUNCATING, SEARCHING, DELAYED, FENCED = "fetching", "truncating", "searching", "delayed", "fenced"


class FollowerState:
    """One followed partition in one leader epoch.

    * `lag`: by how much the log end was behind the leader's high watermark after its last answer; -1 before it
    * `sent`: the leader's session knows exactly this state
    * `refused`: the offset from which on the leader's records did not go into our log the last time, None: they did

    Invariants
        * phase == FETCHING: fetch_offset is the log end
    """

    __slots__ = (
        "partition", "key", "leader_epoch", "fetch_offset", "last_fetched_epoch", "phase", "sent", "timer", "resume",
        "lag", "refused",
    )  # fmt: skip

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.key: tuple[str, int] = (partition.topic, partition.index)
        self.leader_epoch = partition.leader_epoch
        self.fetch_offset = partition.log.log_end_offset
        self.last_fetched_epoch = -1
        self.phase = FETCHING
        self.sent = False
        self.timer: Timer | None = None
        self.resume = FETCHING
        self.lag = -1
        self.refused: int | None = None

    def cancel(self) -> None:
        """This state is over."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
