"""Cleaning one log: of each key only the latest record stays (Kafka's `Cleaner`; guide, "Log Compaction").

    offset   0 1 2 3 4 5 6 7 | 8 9 10 | 11 ...
    key      a b a c a b c a | a d b  | e
             clean (tail)    ^ dirty  ^ active segment, never cleaned
                             first dirty offset

1. Read the dirty part and note the latest offset of each key in the offset map: a 8, d 9, b 10.
2. Copy every segment from the log's beginning, batch by batch, without what the map knows a later record of.
   Segments that have become small are copied into one, up to `segment.bytes`.
3. Put the copies in the place of the old segments (`swapping`). The first dirty offset is now the end of step 1.

Steps 1 and 2 are done in slices: a log of gigabytes does not stop its broker. What a slice takes is counted in bytes
that are read, with so many for a batch and for a record, since small ones cost more than their bytes. A copied batch
gets a new checksum, which would hide a flipped bit, so each is proved before.

| a record | stays while |
|---|---|
| with a value | the map knows no later one of its key |
| without a value (a tombstone) | the same, and its delete horizon has not come |
| without a key (the topic was not compacted before) | it is never kept |
| behind what the map knows | always |

A tombstone lives on for `delete.retention.ms` after the first cleaning that met it, so that a reader who is at most so
far behind learns of the deletion. That time is in the batch (KIP-534); old formats have no room for it, there the age
of the segment counts. Markers and the records of transactions: see
`cleaned_transactions`. Offsets never change; a batch that loses all its records is dropped, but for

- the last batch of a producer that is still known: its sequence numbers are needed (`recordCount` 0);
- the marker of a producer that is known by nothing else: its epoch is needed;
- the last batch of a round: else the log would end too early for a reader (`recordCount` 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_core.kernel.storage import Buffer
from broker_core.log.errors import LogError
from broker_core.log.cleaned_transactions import CleanedTransactions
from broker_core.log.markers import aborted_transactions
from broker_core.log.offset_map import OffsetMap
from broker_core.log.scan import batches_from
from broker_core.log.segment import CLEANED, LARGEST_RELATIVE_OFFSET, LogSegment
from broker_core.log.swapping import replace_segments
from broker_core.records.batch import RECORD_WORK, decode_records
from broker_core.records.filtering import delete_horizon, with_records, without_records
from broker_core.records.header import Batch, BatchHeader, ensure_valid, read_header
from broker_core.records.record import Record

if TYPE_CHECKING:
    from broker_core.log.partition_log import PartitionLog

BATCH_WORK = 256
UNPACKED_BYTES = 16
"""So many bytes that come out of a compressed batch take about as long as one that is read."""
WRITE_BYTES = 1 << 20
"""Copied batches are written together in pieces of about this size."""


@dataclass(slots=True)
class CleaningStats:
    """What one cleaning did. Bytes of segments, counts of records."""

    read_bytes: int = 0
    copied_bytes: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    records_before: int = 0
    records_after: int = 0
    keyless: int = 0
    tombstones: int = 0
    segments_before: int = 0
    segments_after: int = 0
    map_utilization: float = 0.0

    @property
    def io_bytes(self) -> int:
        """Read and written, which `log.cleaner.io.max.bytes.per.second` limits."""
        return self.read_bytes + self.bytes_before + self.bytes_after


class CleaningAborted(LogError):
    """The log has changed under the cleaner: it was cut, deleted, or has lost segments (Kafka: LogCleaningAborted)."""


@dataclass(slots=True)
class _Copying:
    """A group of segments on its way into one. `place`, `position`: what is copied next."""

    group: list[LogSegment]
    copy: LogSegment
    place: int = 0
    position: int = 0


class Cleaning:
    """One cleaning of one log, a slice at a time; between two slices the log is read and written as ever.

    - `total_bytes`: what there is to read, in both steps, at most
    - `log.cleaned_to` is the new first dirty offset when `advance` has said True

    Invariants
        - the segments that it works on are those that were there at its beginning, of the same size; else it is aborted
        - what is half copied is `.cleaned`, which no reader sees and the next start deletes
    """

    def __init__(
        self, log: PartitionLog, offsets: OffsetMap, first_dirty: int, upper_bound: int, now_ms: int
    ) -> None:
        """Clean up to `upper_bound`, or to where the map is full."""
        older = [segment for segment in log.segments if segment.base_offset < first_dirty]
        self.log = log
        self.offsets = offsets
        self.now_ms = now_ms
        self.first_dirty = first_dirty
        self.upper_bound = upper_bound
        self.legacy_horizon_ms = older[-1].largest_timestamp - log.config.delete_retention_ms if older else 0
        self.last_of_producers = {
            one.producer_id: (one.last_offset, one.epoch) for one in log.producers.entries.values()
        }
        self.transactions = CleanedTransactions()
        self._read_transactions = CleanedTransactions()
        self._read_transactions.add(aborted_transactions(log, first_dirty, upper_bound))
        self.stats = CleaningStats()
        self.slice_work = 0
        self._sizes = {one: one.size for one in log.segments if one.base_offset < upper_bound}
        dirty = sum(size for one, size in self._sizes.items() if one.base_offset >= first_dirty)
        self.total_bytes = dirty + sum(self._sizes.values())
        self._unread = [one for one in _covering(log, first_dirty) if one.base_offset < upper_bound][::-1]
        self._position = self._unread[-1].index.lookup(first_dirty)[1] if self._unread else 0
        self._groups: list[list[LogSegment]] | None = None
        self._copying: _Copying | None = None

    @property
    def done_bytes(self) -> int:
        return self.stats.read_bytes + self.stats.copied_bytes

    def advance(self, most_work: int | None = None) -> bool:
        """Go on until so much work was done (None: to the end). True when the log is clean.

        Raises RecordsError for a batch that cannot be read, CleaningAborted, StorageError; the log is then as before,
        but for groups of segments that were done.
        """
        self.slice_work = 0
        limit = most_work if most_work is not None else 1 << 62
        try:
            self._check()
            while self._unread:
                if not self._fill(limit):
                    return False
            if self._groups is None:
                self._group()
            while self._copying is not None or self._groups:
                if not self._clean_group(limit):
                    return False
        except BaseException:
            self.give_up()
            raise
        self._finish()
        return True

    def give_up(self) -> None:
        """Delete what is half copied."""
        if self._copying is not None:
            for path in self._copying.copy.file_names():
                self.log.storage.delete(path)
            self._copying = None

    def _check(self) -> None:
        present = {one: one.size for one in self.log.segments}
        if any(present.get(one) != size for one, size in self._sizes.items()):
            raise CleaningAborted(f"{self.log.name} has changed while it was cleaned")

    def _spend(self, header: BatchHeader, limit: int) -> bool:
        """A batch has been gone through. True when the slice has been used up."""
        self.slice_work += header.size + BATCH_WORK
        return self.slice_work >= limit

    def _fill(self, limit: int) -> bool:
        """Step 1, one segment; False when the slice ends in it."""
        segment = self._unread[-1]
        for batch in batches_from(segment.log, self._position, segment.log.size):
            ensure_valid(batch)
            self.stats.read_bytes += batch.header.size
            self._position = batch.position + batch.header.size
            if not _fill_from(self, batch, self._read_transactions):
                self._unread = []
                return True
            if self._spend(batch.header, limit):
                return False
        self._unread.pop()
        self._position = 0
        self.offsets.read_up_to((self._unread[-1].base_offset if self._unread else self.upper_bound) - 1)
        return True

    def _group(self) -> None:
        """Which segments become one."""
        config = self.log.config
        doomed = [one for one in self._sizes if one.base_offset < self.offsets.latest_offset + 1]
        self._groups = group_by_size(doomed, config.segment_bytes, config.segment_index_bytes, self.upper_bound)[::-1]

    def _clean_group(self, limit: int) -> bool:
        """Steps 2 and 3 for segments that become one; False when the slice ends in it."""
        if self._copying is None:
            assert self._groups is not None
            self._copying = self._begin_copy(self._groups.pop())
            self.transactions.index = self._copying.copy.transaction_index
        work = self._copying
        while work.place < len(work.group):
            if not self._copy(work, limit):
                return False
            work.place, work.position = work.place + 1, 0
        copy, group, stats = work.copy, work.group, self.stats
        copy.become_inactive()
        copy.flush()
        copy.tail.clear(copy.size)
        stats.segments_before += len(group)
        stats.segments_after += 1
        stats.bytes_before += sum(segment.size for segment in group)
        stats.bytes_after += copy.size
        self._copying = None
        replace_segments(self.log, group, copy, self.now_ms)
        for one in group:
            del self._sizes[one]
        return True

    def _begin_copy(self, group: list[LogSegment]) -> _Copying:
        log, config = self.log, self.log.config
        return _Copying(group, LogSegment(
            log.storage, log.directory, group[0].base_offset, config.segment_index_bytes, config.index_interval_bytes,
            group[-1].modified_ms, CLEANED,
        ))  # fmt: skip

    def _copy(self, work: _Copying, limit: int) -> bool:
        """One segment; False when the slice ends in it. Batches are written in pieces of about `WRITE_BYTES`."""
        segment, written, size, is_over = work.group[work.place], [], 0, False
        if not work.position:
            end = max(segment.next_offset(), segment.base_offset)
            self.transactions.add(aborted_transactions(self.log, segment.base_offset, end))
        for batch in batches_from(segment.log, work.position, segment.log.size):
            ensure_valid(batch)
            filtered = _filtered(self, batch, segment)
            if filtered is not None:
                written.append(filtered)
                size += len(filtered)
            work.position = batch.position + batch.header.size
            self.stats.copied_bytes += batch.header.size
            is_over = self._spend(batch.header, limit)
            if is_over or size >= WRITE_BYTES:
                _write(work.copy, written)
                written, size = [], 0
            if is_over:
                break
        _write(work.copy, written)
        return not is_over

    def _finish(self) -> None:
        log = self.log
        self.stats.map_utilization = self.offsets.utilization
        log.cleaned_to = self.offsets.latest_offset + 1
        log.recovery_point = max(log.recovery_point, rewritten_to(log))  # what was copied has been flushed


def _write(copy: LogSegment, batches: list[Buffer]) -> None:
    if batches:
        copy.append([read_header(one) for one in batches], batches)


def clean(log: PartitionLog, offsets: OffsetMap, first_dirty: int, upper_bound: int, now_ms: int) -> CleaningStats:
    """A whole cleaning at once."""
    work = Cleaning(log, offsets, first_dirty, upper_bound, now_ms)
    work.advance()
    return work.stats


def rewritten_to(log: PartitionLog) -> int:
    """Base offset of the first segment that the cleaner has not copied; 0: it was never here.

    Below it replicas may differ: each broker cleans its own copy in its own time.
    """
    if not log.cleaned_to:
        return 0
    bases = (segment.base_offset for segment in log.segments)
    return next((base for base in bases if base >= log.cleaned_to), log.log_end_offset)


def _records(work: Cleaning, batch: Batch) -> list[Record]:
    """The records of a batch, at the slice's expense."""
    records = decode_records(batch)
    work.slice_work += RECORD_WORK * len(records)
    if batch.header.compression:
        work.slice_work += sum(len(one.key or b"") + len(one.value or b"") for one in records) // UNPACKED_BYTES
    return records


def _fill_from(work: Cleaning, batch: Batch, transactions: CleanedTransactions) -> bool:
    """False when the map is full."""
    header, offsets, first_dirty = batch.header, work.offsets, work.first_dirty
    if header.is_control:
        transactions.is_needless(batch)
    elif not transactions.is_aborted(batch):
        for record in _records(work, batch):
            if record.key is not None and record.offset >= first_dirty:
                if offsets.is_full:
                    return False
                offsets.put(record.key, record.offset)
    if header.last_offset >= first_dirty:
        offsets.read_up_to(header.last_offset)
    return True


def _covering(log: PartitionLog, offset: int) -> list[LogSegment]:
    return log.segments[log.segment_of(offset) :]


def group_by_size(
    segments: Sequence[LogSegment], most_bytes: int, most_index_bytes: int, upper_bound: int
) -> list[list[LogSegment]]:
    """Neighbours whose copies fit one segment: log and indexes by their present sizes, offsets by their range."""
    groups: list[list[LogSegment]] = []
    size = index = times = 0
    for place, segment in enumerate(segments):
        end = segments[place + 1].base_offset if place + 1 < len(segments) else upper_bound
        sizes = segment.size, segment.index.file.size, segment.time_index.file.size
        fits = (
            groups
            and size + sizes[0] <= most_bytes
            and index + sizes[1] <= most_index_bytes
            and times + sizes[2] <= most_index_bytes
            and end - 1 - groups[-1][0].base_offset <= LARGEST_RELATIVE_OFFSET
        )
        if fits:
            groups[-1].append(segment)
            size, index, times = size + sizes[0], index + sizes[1], times + sizes[2]
        else:
            groups.append([segment])
            size, index, times = sizes
    return groups


def _filtered(work: Cleaning, batch: Batch, segment: LogSegment) -> Buffer | None:
    """What is written in place of a batch; None: nothing."""
    header, stats = batch.header, work.stats
    horizon = delete_horizon(header)
    records = _records(work, batch)
    if header.is_control:
        needless = work.transactions.is_needless(batch)
        gone = needless and horizon is not None and horizon <= work.now_ms
        kept = [] if gone else records
    else:
        needless = False
        stats.records_before += len(records)
        aborted = work.transactions.is_aborted(batch)
        kept = [] if aborted else [record for record in records if _stays(work, batch, record, segment)]
        stats.records_after += len(kept)
    if not kept:
        needed = _is_last_of_producer(work, header) or header.next_offset == work.upper_bound
        return without_records(header) if needed and header.magic >= 2 else None
    doomed = needless or any(record.value is None for record in kept)
    unset = horizon is None and header.magic >= 2 and doomed
    if len(kept) == len(records) and not unset:
        return bytes(batch.data)
    return with_records(batch, kept, work.now_ms + work.log.config.delete_retention_ms if unset else horizon)


def _is_last_of_producer(work: Cleaning, header: BatchHeader) -> bool:
    """Whether all that a producer is still known by stands in this batch: its sequences, else its epoch."""
    last = work.last_of_producers.get(header.producer_id)
    if last is None:
        return False
    offset, epoch = last
    return header.last_offset == offset if offset >= 0 else header.is_control and header.producer_epoch == epoch


def _stays(work: Cleaning, batch: Batch, record: Record, segment: LogSegment) -> bool:
    if record.offset > work.offsets.latest_offset:
        return True
    if record.key is None:
        work.stats.keyless += 1
        return False
    if record.offset < work.offsets.get(record.key):
        return False
    if record.value is not None:
        return True
    horizon = delete_horizon(batch.header)
    if batch.header.magic < 2:
        lives = segment.largest_timestamp > work.legacy_horizon_ms
    else:
        lives = horizon is None or work.now_ms < horizon
    work.stats.tombstones += not lives
    return lives
