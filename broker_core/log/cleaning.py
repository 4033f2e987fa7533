"""Cleaning one log: of each key only the latest record stays (Kafka's `Cleaner`; guide, "Log Compaction").

    offset   0 1 2 3 4 5 6 7 | 8 9 10 | 11 ...
    key      a b a c a b c a | a d b  | e
             clean (tail)    ^ dirty  ^ active segment, never cleaned
                             first dirty offset

1. Read the dirty part and note the latest offset of each key in the offset map: a 8, d 9, b 10.
2. Copy every segment from the log's beginning, batch by batch, without what the map knows a later record of.
   Segments that have become small are copied into one, up to `segment.bytes`.
3. Put the copies in the place of the old segments (`swapping`). The first dirty offset is now the end of step 1.

| a record | stays while |
|---|---|
| with a value | the map knows no later one of its key |
| without a value (a tombstone) | the same, and its delete horizon has not come |
| without a key (the topic was not compacted before) | it is never kept |
| behind what the map knows | always |

A tombstone lives on for `delete.retention.ms` after the first cleaning that met it, so that a reader who is at most so
far behind learns of the deletion. That time is in the batch (KIP-534); old formats have no room for it, there the age
of the segment counts. Offsets never change; a batch that loses all its records is dropped, but for

- the last batch of a producer that is still known: its sequence numbers are needed (`recordCount` 0);
- the last batch of a round: else the log would end too early for a reader (`recordCount` 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker_core.kernel.storage import Buffer
from broker_core.log.offset_map import OffsetMap
from broker_core.log.scan import batches_from
from broker_core.log.segment import CLEANED, LARGEST_RELATIVE_OFFSET, LogSegment
from broker_core.log.swapping import replace_segments
from broker_core.records.batch import decode_records
from broker_core.records.filtering import delete_horizon, with_records, without_records
from broker_core.records.header import Batch, ensure_valid, read_header
from broker_core.records.record import Record

if TYPE_CHECKING:
    from broker_core.log.partition_log import PartitionLog

WRITE_BYTES = 1 << 20
"""Copied batches are written together in pieces of about this size."""


@dataclass(slots=True)
class CleaningStats:
    """What one cleaning did. Bytes of segments, counts of records."""

    read_bytes: int = 0
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


@dataclass(slots=True)
class _Round:
    """What holds for one cleaning of one log."""

    log: PartitionLog
    offsets: OffsetMap
    now_ms: int
    first_dirty: int
    upper_bound: int
    legacy_horizon_ms: int
    last_of_producers: dict[int, int]
    stats: CleaningStats = field(default_factory=CleaningStats)


def clean(log: PartitionLog, offsets: OffsetMap, first_dirty: int, upper_bound: int, now_ms: int) -> CleaningStats:
    """Clean up to `upper_bound` or to where the map is full; `log.cleaned_to` is then the new first dirty offset.

    Raises RecordsError for a batch that cannot be read, StorageError; the log is then as before.
    """
    older = [segment for segment in log.segments if segment.base_offset < first_dirty]
    work = _Round(
        log, offsets, now_ms, first_dirty, upper_bound,
        older[-1].largest_timestamp - log.config.delete_retention_ms if older else 0,
        {entry.producer_id: entry.last_offset for entry in log.producers.entries.values()},
    )  # fmt: skip
    _fill(work)
    end = offsets.latest_offset + 1
    doomed = [segment for segment in log.segments if segment.base_offset < end]
    for group in group_by_size(doomed, log.config.segment_bytes, log.config.segment_index_bytes, upper_bound):
        _clean_group(work, group)
    work.stats.map_utilization = offsets.utilization
    log.cleaned_to = end
    log.recovery_point = max(log.recovery_point, rewritten_to(log))  # what was copied has been flushed
    return work.stats


def rewritten_to(log: PartitionLog) -> int:
    """Base offset of the first segment that the cleaner has not copied; 0: it was never here.

    Below it replicas may differ: each broker cleans its own copy in its own time.
    """
    if not log.cleaned_to:
        return 0
    bases = (segment.base_offset for segment in log.segments)
    return next((base for base in bases if base >= log.cleaned_to), log.log_end_offset)


def _fill(work: _Round) -> None:
    """Step 1."""
    log, offsets = work.log, work.offsets
    dirty = [one for one in _covering(log, work.first_dirty) if one.base_offset < work.upper_bound]
    ends = [segment.base_offset for segment in dirty[1:]] + [work.upper_bound]
    for segment, end in zip(dirty, ends, strict=True):
        for batch in _batches(segment, segment.index.lookup(work.first_dirty)[1]):
            work.stats.read_bytes += batch.header.size
            if not _fill_from(offsets, batch, work.first_dirty):
                return
        offsets.read_up_to(end - 1)


def _fill_from(offsets: OffsetMap, batch: Batch, first_dirty: int) -> bool:
    """False when the map is full."""
    header = batch.header
    if not header.is_control:
        for record in decode_records(batch):
            if record.key is not None and record.offset >= first_dirty:
                if offsets.is_full:
                    return False
                offsets.put(record.key, record.offset)
    if header.last_offset >= first_dirty:
        offsets.read_up_to(header.last_offset)
    return True


def _covering(log: PartitionLog, offset: int) -> list[LogSegment]:
    return log.segments[log.segment_of(offset) :]


def _batches(segment: LogSegment, position: int = 0) -> list[Batch]:
    """Batches with their checksums proved: what is copied gets a new one, which would hide a flipped bit."""
    batches = list(batches_from(segment.log, position, segment.log.size))
    for batch in batches:
        ensure_valid(batch)
    return batches


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


def _clean_group(work: _Round, group: Sequence[LogSegment]) -> None:
    """Steps 2 and 3 for segments that become one."""
    log, config, stats = work.log, work.log.config, work.stats
    base = group[0].base_offset
    storage = log.storage
    copy = LogSegment(
        storage, log.directory, base, config.segment_index_bytes, config.index_interval_bytes,
        group[-1].created_ms, CLEANED,
    )  # fmt: skip
    try:
        for segment in group:
            _copy(work, segment, copy)
        copy.become_inactive()
        copy.flush()
    except BaseException:
        for path in copy.file_names():
            storage.delete(path)
        raise
    copy.tail.clear(copy.size)
    stats.segments_before += len(group)
    stats.segments_after += 1
    stats.bytes_before += sum(segment.size for segment in group)
    stats.bytes_after += copy.size
    replace_segments(log, group, copy, work.now_ms)


def _copy(work: _Round, segment: LogSegment, copy: LogSegment) -> None:
    written: list[Buffer] = []
    size = 0
    for batch in _batches(segment):
        filtered = _filtered(work, batch, segment)
        if filtered is not None:
            written.append(filtered)
            size += len(filtered)
            if size >= WRITE_BYTES:
                copy.append([read_header(one) for one in written], written)
                written, size = [], 0
    if written:
        copy.append([read_header(one) for one in written], written)


def _filtered(work: _Round, batch: Batch, segment: LogSegment) -> Buffer | None:
    """What is written in place of a batch; None: nothing."""
    header, stats = batch.header, work.stats
    if header.is_control:
        return bytes(batch.data)
    records = decode_records(batch)
    stats.records_before += len(records)
    kept = [record for record in records if _stays(work, batch, record, segment)]
    stats.records_after += len(kept)
    if not kept:
        last = header.producer_id >= 0 and work.last_of_producers.get(header.producer_id) == header.last_offset
        needed = last or header.next_offset == work.upper_bound
        return without_records(header) if needed and header.magic >= 2 else None
    horizon = delete_horizon(header)
    unset = horizon is None and header.magic >= 2 and any(record.value is None for record in kept)
    if len(kept) == len(records) and not unset:
        return bytes(batch.data)
    return with_records(batch, kept, work.now_ms + work.log.config.delete_retention_ms if unset else horizon)


def _stays(work: _Round, batch: Batch, record: Record, segment: LogSegment) -> bool:
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
