"""The log that a partition ought to have, and how far each replica has been compared with it.

The *committed log* grows with the high watermark of the true leader: whatever was below it once must be
there for ever, on every later leader. It keeps (last offset, leader epoch and CRC) of the latest batches:

    committed   [0..4 e0 #1][5..9 e0 #2][10..14 e2 #7]            end 15
    broker 1    [0..4 e0 #1][5..9 e0 #2][10..14 e2 #7][15..19 ]   agrees up to 15
    broker 3    [0..4 e0 #1][5..9 e0 #2][10..12 e1 #5]            agrees up to 10, differs at 10

A replica is compared once; it is compared again from where it was cut, and from the start when its
process has started anew. A slow audit reads everything a second time, with checksums.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from struct import Struct
from struct import error as StructError
from typing import Any, NamedTuple

from crc32c import crc32c

from broker_core.kernel.errors import StorageError
from broker_core.log.errors import LogError
from broker_core.log.partition_log import PartitionLog
from broker_core.records.errors import RecordsError
from broker_core.records.header import read_header

KEPT = 8192
"""Batches of a partition that are remembered, and up to a block more."""
BLOCK = 1024
LOOK_BACK = 4096
"""Offsets below the high watermark that are taken in when a partition is first seen."""
PRODUCERS = 4096
CHUNK = 64 * 1024
LARGEST_SEQUENCE = 0x7FFFFFFF
_HEAD = Struct(">qiiBI2xi")
_PRODUCER = Struct(">qhi")
_PRODUCER_AT, _CRC_FROM, _OVERHEAD = 43, 21, 12
UNREADABLE = (StorageError, LogError, RecordsError, StructError)


class Seen(NamedTuple):
    """One batch as comparisons see it. `key`: leader epoch and CRC in one number."""

    base: int
    last: int
    key: int
    producer_id: int
    producer_epoch: int
    sequence: int
    good: bool

    @property
    def crc(self) -> int:
        """That of its header: over the attributes and everything behind them."""
        return self.key & 0xFFFFFFFF


def walk(log: PartitionLog, position: int, end: int, limit: int, checksums: bool = False) -> list[Seen]:
    """At most `limit` whole batches from the one that holds `position`, below `end`; stops at an unreadable one."""
    found: list[Seen] = []
    while position < end and len(found) < limit:
        try:
            read = log.read(position, CHUNK, end)
            if not read.size:
                break
            for part in read.slices:
                _walk_part(found, part.read(), limit, checksums)
        except UNREADABLE:
            found.append(Seen(position, position, -1, -1, -1, -1, False))
            break
        if not found or found[-1].last < position or not found[-1].good:
            break
        position = found[-1].last + 1
    return found


def _walk_part(found: list[Seen], view: Any, limit: int, checksums: bool) -> None:
    at, size = 0, len(view)
    while at < size and len(found) < limit:
        base, length, epoch, magic, crc, delta = _HEAD.unpack_from(view, at)
        producer, producer_epoch, sequence = -1, -1, -1
        after = at + _OVERHEAD + length
        good = length > 0 and after <= size and delta >= 0
        if magic >= 2 and good:
            producer, producer_epoch, sequence = _PRODUCER.unpack_from(view, at + _PRODUCER_AT)
            if checksums:
                good = crc32c(view[at + _CRC_FROM : after]) == crc
        elif good:
            header = read_header(view, at)
            epoch, crc, delta = -1, header.crc, header.last_offset_delta
        key = (epoch & 0xFFFFFFFF) << 32 | crc
        found.append(Seen(base, base + delta, key, producer, producer_epoch, sequence, good))
        if not good:
            return
        at = after


class Remembered:
    """(last offset, key) of batches in the order of their offsets, in blocks that go as they came: an array that grows
    and is cut leaves holes in the heap.

    Invariants
        * the last offsets go up; a block has as many keys, and no block is empty
    """

    __slots__ = ("blocks",)

    def __init__(self) -> None:
        self.blocks: list[tuple[array[int], array[int]]] = []

    def append(self, last: int, key: int) -> None:
        if not self.blocks or len(self.blocks[-1][0]) == BLOCK:
            self.blocks.append((array("q"), array("Q")))
        lasts, keys = self.blocks[-1]
        lasts.append(last)
        keys.append(key)

    def since(self, offset: int) -> Iterator[tuple[int, int]]:
        """From the batch that holds an offset, or the first one behind it, on."""
        for lasts, keys in self.blocks:
            if lasts[-1] >= offset:
                at = bisect_left(lasts, offset)
                yield from zip(lasts[at:], keys[at:], strict=True)

    def forget_below(self, offset: int) -> None:
        """Batches that end below an offset go."""
        while self.blocks and self.blocks[0][0][-1] < offset:
            del self.blocks[0]
        if self.blocks:
            lasts, keys = self.blocks[0]
            gone = bisect_left(lasts, offset)
            del lasts[:gone], keys[:gone]

    def shorten(self) -> int | None:
        """The oldest block goes where there are too many; the last offset of it."""
        if len(self.blocks) <= KEPT // BLOCK + 1:
            return None
        return self.blocks.pop(0)[0][-1]


class CommittedLog:
    """What has been committed. `end` -1: nothing is known yet.

    * `start`, `end`: offsets from the one to below the other are known, what was before is not judged
    """

    __slots__ = ("start", "end", "batches", "producers", "gaps", "breaks")

    def __init__(self) -> None:
        self.restart(-1)

    def restart(self, offset: int) -> None:
        """Forget everything, begin at `offset`."""
        self.start = self.end = offset
        self.batches = Remembered()
        self.producers: dict[int, tuple[int, int]] = {}
        self.gaps: list[tuple[int, int]] = []
        self.breaks: list[tuple[int, int, int, int]] = []

    def forget_below(self, offset: int) -> None:
        """Compaction has been here: what is below `offset` differs from replica to replica and is not judged."""
        if self.end < offset:
            self.restart(offset)
            return
        self.start = max(self.start, offset)
        self.batches.forget_below(offset)

    def crc_at(self, offset: int) -> int | None:
        """The CRC of the committed batch that holds an offset; None when it is not remembered."""
        if not self.start <= offset < self.end:
            return None
        found = next(self.batches.since(offset), None)
        return found[1] & 0xFFFFFFFF if found is not None else None

    def extend(self, log: PartitionLog, limit: int) -> int:
        """Take in what is below the leader's high watermark; how many batches that were."""
        mark, log_start = log.high_watermark, log.log_start_offset
        if self.end < 0 or self.end < log_start:
            self.restart(max(log_start, mark if mark - log_start > LOOK_BACK else log_start))
        if mark <= self.end:
            return 0
        batches = walk(log, self.end, mark, limit)
        sparse = log.config.is_compacted
        for batch in batches:
            if not batch.good:
                break
            self._add(batch, sparse)
        while (last := self.batches.shorten()) is not None:
            self.start = last + 1
        return len(batches)

    def _add(self, batch: Seen, sparse: bool) -> None:
        if batch.base > self.end and not sparse and self.batches.blocks and batch.key >> 32 != 0xFFFFFFFF:
            self.gaps.append((self.end, batch.base))
        if batch.producer_id >= 0 and batch.sequence >= 0:
            self._note_producer(batch)
        self.batches.append(batch.last, batch.key)
        self.end = batch.last + 1

    def _note_producer(self, batch: Seen) -> None:
        known = self.producers.get(batch.producer_id)
        if known is not None and known[0] == batch.producer_epoch:
            expected = (known[1] + 1) & LARGEST_SEQUENCE
            if batch.sequence != expected:
                self.breaks.append((batch.producer_id, batch.base, batch.sequence, expected))
        elif known is None and len(self.producers) >= PRODUCERS:
            self.producers.clear()
        last = (batch.sequence + batch.last - batch.base) & LARGEST_SEQUENCE
        self.producers[batch.producer_id] = (batch.producer_epoch, last)


class Copy:
    """One replica: everything below `agreed` is as committed; `mismatch` is the first offset that is not, if any.

    `end` and `mark` are the log end and high watermark of the last look, `entries` the length of the index then.
    """

    __slots__ = ("log", "agreed", "mismatch", "end", "mark", "entries", "segment")

    def __init__(self, log: PartitionLog) -> None:
        self.log = log
        self.agreed = -1
        self.mismatch: int | None = None
        self.end = self.mark = -1
        self.entries = -1
        self.segment = -1

    def cut(self, offset: int) -> None:
        """The log was cut: from `offset` on there may be something else now."""
        self.agreed = min(self.agreed, offset)
        if self.mismatch is not None and self.mismatch >= offset:
            self.mismatch = None

    def forget_below(self, offset: int) -> None:
        """What is below `offset` is not judged."""
        if self.mismatch is not None and self.mismatch < offset:
            self.mismatch = None

    def differs_below(self, offset: int) -> bool:
        return self.mismatch is not None and self.mismatch < offset

    def is_compared(self, committed: CommittedLog) -> bool:
        """Whether nothing is left to compare."""
        end = min(committed.end, self.log.log_end_offset)
        return max(self.agreed, committed.start, self.log.log_start_offset) >= end

    def compare(self, committed: CommittedLog, limit: int) -> int:
        """Go on comparing; how many batches were read."""
        log = self.log
        if log.log_end_offset < self.agreed:
            self.cut(log.log_end_offset)
        position = max(self.agreed, committed.start, log.log_start_offset)
        end = min(committed.end, log.log_end_offset)
        if position >= end or self.mismatch is not None or limit <= 0:
            return 0
        batches = walk(log, position, end, limit)
        self.agreed = position
        self._match(committed, batches)
        if not batches:
            self.mismatch = position  # a batch that crosses the end of what is committed
        return len(batches)

    def _match(self, committed: CommittedLog, batches: list[Seen]) -> None:
        wanted = committed.batches.since(self.agreed)
        for batch in batches:
            if not batch.good or next(wanted, None) != (batch.last, batch.key):
                self.mismatch = max(self.agreed, batch.base)
                return
            self.agreed = batch.last + 1

    def audit(self, committed: CommittedLog, position: int, limit: int) -> int:
        """Read once more, with checksums, from `position`; where to go on (`agreed`: at the end)."""
        log = self.log
        position = max(position, committed.start, log.log_start_offset)
        batches = walk(log, position, min(self.agreed, log.log_end_offset), limit, checksums=True)
        if not batches:
            return self.agreed
        agreed, self.agreed = self.agreed, position
        self._match(committed, batches)
        reached, self.agreed = self.agreed, min(agreed, self.agreed if self.mismatch is not None else agreed)
        return agreed if self.mismatch is not None else reached
