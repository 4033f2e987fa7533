"""Records on their way into the leader's log: they wait `controller.quorum.append.linger.ms` [25] for others.

One append is one batch, whole or not at all: what a controller decides together is committed together. Several
appends that come within the linger time share a batch as long as it has room; a control batch stands alone.

    append [r1 r2] -> offsets 10, 11     (a batch begins, drain due in 25 ms)
    append [r3]    -> offset 12          (the same batch)
    control voters -> offset 13          (a batch of its own, drain due now)

Offsets are known before anything is written, since only the leader writes. Source: BatchAccumulator.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker_core.raft.control_records import control_batch
from broker_core.records.control import Control
from broker_core.raft.settings import MAX_BATCH_BYTES
from broker_core.records.batch import encode_batch

RECORD_OVERHEAD = 32
_Batch = tuple[int, list[bytes], list[Control]]
"""Time in milliseconds, values, control records: one of the two lists is empty."""


class BatchTooLarge(Exception):
    """Records that must be written together do not fit a batch."""


class Accumulator:
    """`next_offset`: of the next record. `due_us`: when what waits is to be written; None: nothing waits."""

    __slots__ = ("next_offset", "due_us", "_linger_us", "_batches", "_size")

    def __init__(self, next_offset: int, linger_us: int) -> None:
        self.next_offset = next_offset
        self.due_us: int | None = None
        self._linger_us = linger_us
        self._batches: list[_Batch] = []
        self._size = 0

    def append(self, values: Sequence[bytes], now_us: int, now_ms: int) -> int:
        """Offset of the last record. Raises BatchTooLarge."""
        size = sum(len(value) + RECORD_OVERHEAD for value in values)
        if size > MAX_BATCH_BYTES:
            raise BatchTooLarge(f"{len(values)} records of {size} bytes, a batch takes {MAX_BATCH_BYTES}")
        if not self._batches or self._batches[-1][2] or self._size + size > MAX_BATCH_BYTES:
            self._batches.append((now_ms, [], []))
            self._size = 0
        self._batches[-1][1].extend(values)
        self._size += size
        self.next_offset += len(values)
        if self.due_us is None:
            self.due_us = now_us + self._linger_us
        return self.next_offset - 1

    def append_control(self, controls: list[Control], now_us: int, now_ms: int) -> int:
        """Offset of the last record; it is to be written at once."""
        self._batches.append((now_ms, [], controls))
        self.next_offset += len(controls)
        self.due_us = now_us
        return self.next_offset - 1

    def drain(self, epoch: int) -> list[bytearray]:
        """All that waits, as batches in order."""
        drained = []
        for time_ms, values, controls in self._batches:
            if controls:
                drained.append(control_batch(controls, time_ms, epoch))
            else:
                drained.append(encode_batch([(time_ms, None, value, ()) for value in values], leader_epoch=epoch))
        self._batches.clear()
        self._size, self.due_us = 0, None
        return drained
