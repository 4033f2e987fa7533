"""Leader epochs: which leader wrote which part of a log (KIP-101, KIP-279, KIP-320).

Each leader writes its epoch into its batches. The cache keeps, per epoch, the first offset
written under it; `leader-epoch-checkpoint` holds the same on disk.

| entries | log end | asked for epoch | answer (epoch, end offset) |
|---|---|---|---|
| 0 -> 0, 2 -> 10, 5 -> 25 | 40 | 5 (the latest) | 5, 40 |
| | | 2 | 2, 25: where the next epoch begins |
| | | 3 (unknown here) | 2, 25: the largest epoch not above it |
| | | 7 (newer than anything here) | -1, -1 |
| first entry 2 -> 10 | | 1 (older than anything here) | 1, 10 |

A follower cuts its log to that end offset: what lies behind it was written by a leader whose tail
the cluster has given up. Without it followers cut to their high watermark, which loses or
diverges (scenarios S1, S2).

Messages of magic 0 and 1 have no epoch. A log that is written in them keeps none: there is no file, every question is
answered with -1, and its followers cut to their high watermark (`UnifiedLog.maybeCreateLeaderEpochCache` of 3.9).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from broker_core.kernel.storage import Storage
from broker_core.log import checkpoints

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class LeaderEpochCache:
    """`latest_epoch` -1: nothing has been written. `recorded`: the latest one of which the file told at the start.

    Invariants
        - an epoch stands in the file before a batch of it stands in the log
        - epochs go strictly up, start offsets go strictly up
    """

    __slots__ = ("_storage", "_path", "_log_end_offset", "_epochs", "_starts", "latest_epoch", "recorded", "_kept")

    def __init__(self, storage: Storage, path: str, log_end_offset: Callable[[], int]) -> None:
        """`log_end_offset` is a bound method of the log."""
        self._storage = storage
        self._path = path
        self._log_end_offset = log_end_offset
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self.latest_epoch = UNDEFINED_EPOCH
        self._kept = True
        for epoch, start in checkpoints.read_epochs(storage, path):
            self._put(epoch, start)
        self.recorded = self.latest_epoch

    @property
    def entries(self) -> list[tuple[int, int]]:
        """[(epoch, start offset)] from the oldest."""
        return list(zip(self._epochs, self._starts, strict=True))

    def moved_to(self, path: str) -> None:
        """The partition's directory has got another name."""
        self._path = path

    def keep(self, kept: bool) -> None:
        """Whether the log's format has epochs. If not, what is there goes with its file."""
        self._kept = kept
        if not kept:
            self._epochs.clear()
            self._starts.clear()
            self.latest_epoch = UNDEFINED_EPOCH
            if self._storage.exists(self._path):
                self._storage.delete(self._path)

    def assign(self, epoch: int, start_offset: int) -> bool:
        """From `start_offset` on the log is of `epoch`. Entries that contradict it go. Returns whether it was news."""
        if not self._kept:
            return False
        if self._epochs and self._epochs[-1] == epoch and self._starts[-1] <= start_offset:
            return False
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"epoch {epoch} from offset {start_offset}")
        self._put(epoch, start_offset)
        self._write()
        return True

    def follow(self, other: LeaderEpochCache) -> None:
        """Take over the later epochs of another copy of the same records: those in which nothing was written yet.

        A copy of batches alone does not know them (Kafka's does not). A leader whose log has just changed its directory
        could then not say where an epoch ends that a follower still has, and would refuse its Fetches until something
        is written.
        """
        for epoch, start in other.entries:
            if epoch > self.latest_epoch:
                self.assign(epoch, start)

    def _put(self, epoch: int, start_offset: int) -> None:
        while self._epochs and (self._epochs[-1] >= epoch or self._starts[-1] >= start_offset):
            self._epochs.pop()
            self._starts.pop()
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        self.latest_epoch = epoch

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        """(largest epoch known here that is not above `epoch`, its end offset): the table above."""
        if epoch == UNDEFINED_EPOCH or not self._epochs:
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if epoch == self._epochs[-1]:
            return epoch, self._log_end_offset()
        higher = bisect_right(self._epochs, epoch)
        if higher == len(self._epochs):
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if higher == 0:
            return epoch, self._starts[0]
        return self._epochs[higher - 1], self._starts[higher]

    def epoch_for_offset(self, offset: int) -> int:
        """The epoch that wrote `offset`; -1 when it lies below all entries."""
        slot = bisect_right(self._starts, offset) - 1
        return self._epochs[slot] if slot >= 0 else UNDEFINED_EPOCH

    def truncate_from_end(self, end_offset: int) -> None:
        """The log now ends at `end_offset`: drop epochs that begin at or behind it."""
        if end_offset < 0 or not self._starts or self._starts[-1] < end_offset:
            return
        while self._starts and self._starts[-1] >= end_offset:
            self._epochs.pop()
            self._starts.pop()
        self._write()

    def truncate_from_start(self, start_offset: int) -> None:
        """The log now begins at `start_offset`: the epoch that wrote it begins there, older ones go."""
        slot = bisect_right(self._starts, start_offset) - 1
        if slot < 0 or (slot == 0 and self._starts[0] == start_offset):
            return
        del self._epochs[:slot], self._starts[:slot]
        self._starts[0] = start_offset
        self._write()

    def clear(self) -> None:
        self._epochs.clear()
        self._starts.clear()
        if self._kept:
            self._write()

    def _write(self) -> None:
        self.latest_epoch = self._epochs[-1] if self._epochs else UNDEFINED_EPOCH
        checkpoints.write_epochs(self._storage, self._path, self.entries)
