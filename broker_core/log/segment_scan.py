"""One segment is gone through: what of it is whole, with its indexes, leader epochs and producers made anew."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from broker_core.log.errors import CorruptIndex
from broker_core.log.markers import completed
from broker_core.log.producer_snapshot import read_latest_snapshot
from broker_core.log.producers import ProducerStateTable
from broker_core.log.scan import batches_from, headers_from
from broker_core.log.segment import LogSegment
from broker_core.records.batch import decode_records
from broker_core.records.errors import RecordsError
from broker_core.records.header import Batch, BatchHeader

if TYPE_CHECKING:
    from broker_core.log.partition_log import PartitionLog

BATCH_WORK = 1024
"""A batch that is looked at by itself takes about as long as so many bytes whose checksum is proved."""
_FRONT = struct.Struct(">qi4xb")
"""Base offset, length, (leader epoch,) magic."""


class Scan:
    """One segment is proved and its indexes are made anew, a slice at a time.

    - `good`: bytes of whole batches so far; `work`: what they took
    - `checked`: bytes that were gone through; those that are gone through once more count once
    - `cut`, `reason`: what was cut behind them; `reached`: an offset that was there before
    - `wrong`: what was wrong with an index

    No checksum covers the base offset of a batch. One that stands too high looks right until the next one comes, which
    goes on where the one in front of it ended, if only in its first bytes: then it is the stranger, and the log
    ends before it. (Kafka would keep it, and a follower that cuts its log by epochs then lacks what is below.) Nor does
    one cover the leader epoch: an epoch that the checkpoint, written before any batch of it, does not know has never
    been. (Kafka would keep it, and a follower that asks with such an epoch is answered OFFSET_OUT_OF_RANGE for ever.)
    """

    def __init__(
        self, log: PartitionLog, segment: LogSegment, reached: int, wrong: tuple[str, str] | None = None
    ) -> None:
        self.log = log
        self.segment = segment
        self.reached = reached
        self.wrong = wrong
        self.notes = _Notes(log)
        self.checked = self.work = self._place = 0
        self.cut, self.reason = 0, ""
        self._end = segment.log.size
        self._begin()

    def _begin(self) -> None:
        """`_least`: where the last batch ended; `_last`: where it began; `_before`: where the one before it ended."""
        self.good, self._least = 0, self.segment.base_offset
        self._last = self._before = self._least
        self.segment.begin_rebuild()

    def advance(self, most_work: int) -> bool:
        """True when the segment has come to its end."""
        segment, limit = self.segment, self.work + most_work
        reason = self.reason or "incomplete batch"
        try:
            for batch in batches_from(segment.log, self.good, self._end):
                if self.work >= limit:
                    return False
                if self._before <= batch.header.base_offset < self._last:
                    self._without_the_last(batch.header.base_offset)
                    return self.advance(limit - self.work)
                if self.wrong is None and self.notes.is_stranger(batch.header):
                    reason = f"leader epoch {batch.header.leader_epoch} has never begun"
                    break
                segment.rebuild_with(batch, self._least)
                self.notes.visit(batch)
                self._place, self.good = batch.position, batch.position + batch.header.size
                self.checked = max(self.checked, self.good)
                self.work += max(BATCH_WORK, batch.header.size)
                self._before, self._last, self._least = self._least, batch.header.base_offset, batch.header.next_offset
        except (RecordsError, CorruptIndex) as error:
            reason = str(error)
        begun = self._begun_behind()
        if begun is not None and self._before <= begun < self._last:
            self._without_the_last(begun)
            return self.advance(limit - self.work)
        self.cut = segment.end_rebuild(self.good)
        self.reason = reason if self.cut else ""
        if self.notes.transactional:
            self._index_transactions()
        return True

    def _begun_behind(self) -> int | None:
        """The base offset of what follows the last whole batch, if it looks like the front of one: zeros do not."""
        if self._end - self.good < _FRONT.size:
            return None
        base, size, magic = _FRONT.unpack(self.segment.log.read(self.good, _FRONT.size))
        return int(base) if magic == 2 and size > 0 else None

    def _without_the_last(self, next_base: int) -> None:
        """The last batch contradicts those around it: once more, up to where it begins."""
        self.reason = f"offset {self._last} stands between {self._before - 1} and {next_base}"
        self._end = self._place
        self._begin()

    def _index_transactions(self) -> None:
        """From the producers as they were at the segment's base."""
        log, segment, table = self.log, self.segment, ProducerStateTable()
        start = read_latest_snapshot(log.storage, log.directory, table, log.log_start_offset, segment.base_offset)
        for one in log.segments[log.segment_of(start) : log.segments.index(segment)]:
            replay(table, one, start)
        replay(table, segment, segment.base_offset, indexing=True)


class _Notes:
    """Puts the leader epochs of scanned batches into the cache. `transactional`: has any of them been?

    Then the segment's transaction index is filled afterwards, from the producers as they were at its base.
    """

    def __init__(self, log: PartitionLog) -> None:
        self.cache = log.leader_epochs
        self.transactional = False

    def is_stranger(self, header: BatchHeader) -> bool:
        """Of an epoch in which nobody has led. Where no checkpoint was, nobody knows."""
        return header.magic == 2 and -1 < self.cache.recorded < header.leader_epoch

    def visit(self, batch: Batch) -> None:
        header = batch.header
        if header.magic == 2 and header.leader_epoch > self.cache.latest_epoch:
            self.cache.assign(header.leader_epoch, header.base_offset)
        self.transactional |= header.is_transactional


def replay(
    table: ProducerStateTable, segment: LogSegment, start: int, indexing: bool = False, most_batches: int | None = None
) -> int | None:
    """Take in what a segment has from an offset on; `indexing`: its transaction index has to be told.

    After `most_batches` the offset at which to go on, else None.
    """
    found = segment.locate(start)
    headers = headers_from(segment.log, found[0], segment.size) if found else ()
    for number, (position, header) in enumerate(headers):
        if most_batches is not None and number > most_batches:
            return header.base_offset
        if header.producer_id >= 0 and header.next_offset > start:
            records = decode_records(segment.log.read(position, header.size)) if header.is_control else None
            ended = table.update(header, records)
            if ended is not None:
                completed(table, ended, segment if indexing else None)
    return None
