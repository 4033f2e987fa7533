"""The transactions of one partition: what is open, and from where on readers with `read_committed` wait (KIP-98).

    0 A   1 B   2 -   3 commit A   4 B        offsets and producers; high watermark 3

    after 2:   A open from 0, B open from 1                     last stable offset 0
    after 3:   B open from 1; A is complete, but its marker is  last stable offset 0: if this leader dies now,
               not below the high watermark yet                 the marker may be gone, and A is open again
    mark at 4: B open from 1                                    last stable offset 1

So the *first unstable offset* is the first one of any transaction that is open or not replicated; the last stable
offset is that, or the high watermark where it is lower. It never goes back while the log is not cut.

**Verification** (KIP-890 part 1): before a batch opens a transaction here, the leader asks the coordinator whether the
partition is part of it. The question gets a *guard*, a number that is never given twice, and the append must show it:

| meanwhile | the guard | the append |
|---|---|---|
| nothing | is still the producer's | opens the transaction; the guard has done its work |
| a marker ended that transaction (the batch came late) | is gone | INVALID_TXN_STATE, and so no hanging transaction |
| another batch of the producer asked, too | is the same one | opens it |

Until it is verified only its lowest sequence may begin: batch 5..9 must not overtake 0..4, whose question failed.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

RECENT = 8
"""Transactions that are over and can still be shown; nothing is decided by them."""


class CompletedTransaction(NamedTuple):
    """What a marker has ended; `last_offset` is its own."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool


class Transactions:
    """Open and unreplicated transactions; each begins at an offset of its own.

    - open: first offset -> producer id, ascending
    - unreplicated: first offset -> offset of the marker, in the order of the markers
    - recent: the last that have ended, for those who look on; `changes` counts beginnings and ends

    Invariants
        - first offsets in `open` go up, markers in `unreplicated` go up, and no transaction is in both
    """

    __slots__ = ("open", "unreplicated", "first_unstable", "recent", "changes")

    def __init__(self) -> None:
        self.open: dict[int, int] = {}
        self.unreplicated: dict[int, int] = {}
        self.recent: deque[CompletedTransaction] = deque(maxlen=RECENT)
        self.changes = 0
        self.first_unstable: int | None = None
        """Asked at each fetch, so it is kept; None: everything below the high watermark is stable."""

    def load(self, started: dict[int, int]) -> None:
        """Those that a snapshot says are open, by first offset."""
        self.open = dict(sorted(started.items()))
        self.recent.clear()
        self.unreplicated.clear()
        self._look()

    def begin(self, first_offset: int, producer_id: int) -> None:
        self.open[first_offset] = producer_id
        self.changes += 1
        self._look()

    def complete(self, ended: CompletedTransaction) -> None:
        """Its marker is in the log."""
        del self.open[ended.first_offset]
        self.unreplicated[ended.first_offset] = ended.last_offset
        self.recent.append(ended)
        self.changes += 1
        self._look()

    def replicated_to(self, offset: int) -> None:
        """The high watermark is `offset`: transactions whose marker is below it are over."""
        if self.unreplicated:
            self.unreplicated = {first: last for first, last in self.unreplicated.items() if last >= offset}
            self._look()

    def last_stable_after(self, ended: CompletedTransaction) -> int:
        """What `.txnindex` says with it: the next open transaction of another producer, else behind the marker."""
        others = (first for first, producer_id in self.open.items() if producer_id != ended.producer_id)
        return next(others, ended.last_offset + 1)

    def clear(self) -> None:
        self.load({})

    def _look(self) -> None:
        firsts = [next(iter(self.open))] if self.open else []
        self.first_unstable = min([*firsts, *self.unreplicated], default=None)


OF_ANY_EPOCH = -1
"""The guard of who need not be verified: the producer has a transaction open here, of whatever epoch (before 4.0)."""


class Verification:
    """A producer whose next transactional batch is being verified. `lowest_sequence`: of its unverified batches."""

    __slots__ = ("guard", "lowest_sequence", "epoch", "supports_epoch_bump", "since_ms")

    def __init__(self, guard: int, sequence: int, epoch: int, supports_epoch_bump: bool, since_ms: int) -> None:
        self.guard = guard
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.supports_epoch_bump = supports_epoch_bump
        self.since_ms = since_ms

    def asked_again(self, sequence: int, epoch: int) -> None:
        """Another batch of the producer wants to begin; a newer epoch counts its sequences anew."""
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


class Verifications:
    """By producer id. Those that never come to an end go with the silent producers."""

    __slots__ = ("of", "given")

    def __init__(self) -> None:
        self.of: dict[int, Verification] = {}
        self.given = 0

    def start(self, producer_id: int, sequence: int, epoch: int, supports_epoch_bump: bool, now_ms: int) -> int:
        """The guard that the append has to show."""
        found = self.of.get(producer_id)
        if found is None:
            self.given += 1
            found = self.of[producer_id] = Verification(self.given, sequence, epoch, supports_epoch_bump, now_ms)
        found.asked_again(sequence, epoch)
        return found.guard

    def is_right(self, producer_id: int, guard: int) -> bool:
        found = self.of.get(producer_id)
        return found is not None and found.guard == guard

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        self.of = {key: one for key, one in self.of.items() if now_ms - one.since_ms < expiration_ms}
