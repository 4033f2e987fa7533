"""What a leader knows about one of its followers: nothing but what the follower's fetches tell.

A follower that fetches from offset 57 has everything below 57: that is its log end offset. It is
*caught up* when it fetches from the leader's end. A leader that is written to all the time never sees
that exactly, so a follower also counts as caught up to the time of its previous fetch when it now
fetches from where the leader's end was then:

| t (ms) | leader's end | follower fetches from | caught up as of |
|--------|--------------|-----------------------|-----------------|
| 0      | 100          | 100, the end          | 0               |
| 500    | 180          | 140, past the 100 of before | 0         |
| 1000   | 260          | 180, the end of before | 500            |
| 1500   | 340          | 200, not yet 260      | 500             |

(Kafka: kafka.cluster.Replica, ReplicaState.)

A follower with an incremental session (KIP-227) names only partitions that changed, and each of its
fetches counts for all of them. So the time of the last fetch is read from the session, but only up to
the moment when the leader's log moved past the follower (`freeze`).
"""

from __future__ import annotations

from typing import Protocol

UNKNOWN_OFFSET = -1
NEVER_MS = -(1 << 40)


class FetchClock(Protocol):
    """Something that knows when the follower last fetched, and as which registration: its session."""

    last_fetch_ms: int
    broker_epoch: int


class Replica:
    """A follower as its leader sees it. Times are milliseconds of virtual time.

    * `log_end_offset` -1: it has not fetched since this broker leads

    Invariants
        * last_caught_up_ms <= last_fetch_ms (right after the election both are its time)
    """

    __slots__ = (
        "broker_id", "log_start_offset", "log_end_offset", "last_fetch_leader_leo", "last_fetch_ms",
        "last_caught_up_ms", "broker_epoch", "session",
    )  # fmt: skip

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.broker_epoch = -1
        self.session: FetchClock | None = None
        self.log_start_offset = UNKNOWN_OFFSET
        self.log_end_offset = UNKNOWN_OFFSET
        self.reset(0, False, 0)

    def forget_offsets(self) -> None:
        """Another leader may have cut this follower's log since."""
        self.log_start_offset = UNKNOWN_OFFSET
        self.log_end_offset = UNKNOWN_OFFSET
        self.broker_epoch = -1

    def reset(self, now_ms: int, in_sync: bool, leader_leo: int) -> None:
        """A new leader epoch: members of the ISR get the time to show up."""
        self.last_fetch_leader_leo = leader_leo
        self.last_fetch_ms = now_ms if in_sync else NEVER_MS
        self.last_caught_up_ms = now_ms if in_sync else NEVER_MS
        self.session = None

    def fetched(self, offset: int, log_start_offset: int, now_ms: int, leader_leo: int) -> None:
        """The follower fetches from `offset` while the leader's log ends at `leader_leo`."""
        if offset >= leader_leo:
            if now_ms > self.last_caught_up_ms:
                self.last_caught_up_ms = now_ms
        elif offset >= self.last_fetch_leader_leo:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_start_offset = log_start_offset
        self.log_end_offset = offset
        self.last_fetch_leader_leo = leader_leo
        self.last_fetch_ms = now_ms

    def freeze(self) -> None:
        """The leader's log moves past a follower that was at its end: keep when it last was there."""
        if self.session is not None and self.session.last_fetch_ms > self.last_fetch_ms:
            self.last_fetch_ms = self.last_caught_up_ms = self.session.last_fetch_ms

    def caught_up_ms(self, leader_leo: int, now_ms: int) -> int:
        """As of when the follower was at the leader's end."""
        return now_ms if self.log_end_offset == leader_leo else self.last_caught_up_ms

    def caught_up_as_of_ms(self, leader_leo: int) -> int:
        """The last fetch, of this partition or any other of its session, by which it was at the leader's end."""
        if self.log_end_offset == leader_leo and self.session is not None:
            return max(self.last_caught_up_ms, self.session.last_fetch_ms)
        return self.last_caught_up_ms

    def is_caught_up(self, leader_leo: int, now_ms: int, max_lag_ms: int) -> bool:
        """Whether it counts as in sync: at the end now, or within `replica.lag.time.max.ms`."""
        return self.log_end_offset == leader_leo or now_ms - self.last_caught_up_ms <= max_lag_ms

    def current_broker_epoch(self) -> int:
        """The registration of its last fetch, of this partition or any other of its session."""
        return max(self.broker_epoch, self.session.broker_epoch if self.session is not None else -1)

    def last_fetched_ms(self) -> int:
        """When it last fetched, this partition or any other of its session."""
        return max(self.last_fetch_ms, self.session.last_fetch_ms if self.session is not None else 0)
