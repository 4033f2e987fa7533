"""Opening a partition's directory: what is kept, what is checked, what is cut.

| found | done |
|---|---|
| `.deleted`, `.cleaned` | dropped: a deletion or cleaning that had not ended |
| `.swap` | a cleaning that had ended: takes the place of what it was made of (`swapping`) |
| `.index`, `.timeindex` without `.log` | dropped |
| an index that is missing or contradicts itself | rebuilt from the `.log` |
| no clean-shutdown marker | every segment from the recovery point on is scanned: each batch's length, CRC and order |
| a bad batch in that scan | the file is cut in front of it, later segments are deleted |
| offsets missing between two segments of it | later segments are deleted |
| leader epochs behind the new end | dropped |
| producer state | newest snapshot, then the batches behind it |

Below the recovery point nothing is read: a bit that flipped there is found by the first reader.

With records 0..99 flushed (recovery point 100) and 100..140 only in the page cache, a crash loses
nothing (the scan finds 100..140 whole); a power loss may leave any part of them, and the log ends
in front of the first batch that is not whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.kernel import events
from broker_core.log.errors import CorruptIndex
from broker_core.log.producer_snapshot import load_latest_snapshot, remove_stray_snapshots
from broker_core.log.segment import DELETED, INDEX, LOG, TIME_INDEX, TRANSACTION_INDEX, LogSegment
from broker_core.log.swapping import finish_swaps
from broker_core.records.batch import decode_records
from broker_core.records.header import Batch

if TYPE_CHECKING:
    from broker_core.log.partition_log import PartitionLog


def load(log: PartitionLog, now_ms: int, clean: bool) -> None:
    """Fill a fresh PartitionLog from its directory, or make the first segment."""
    finish_swaps(log.storage, log.directory)
    names = log.storage.list(log.directory)
    if not names:
        log.add_segment(log.log_start_offset, now_ms)
        log.recovery_point = log.log_start_offset
        log.producers.clear(log.log_start_offset)
        return
    missing = _open_segments(log, _without_left_overs(log, names), now_ms)
    _check_indexes(log, missing, log.segment_of(log.recovery_point) if log.segments and not clean else None)
    if not clean:
        _recover(log)
    if not log.segments:
        log.add_segment(log.log_start_offset, now_ms)
    _drop_when_below_start(log, now_ms)
    log.log_end_offset = max(log.active.next_offset(), log.active.base_offset)
    log.log_start_offset = max(log.log_start_offset, log.segments[0].base_offset)
    log.high_watermark = log.log_start_offset
    log.recovery_point = log.log_end_offset if clean else min(log.recovery_point, log.log_end_offset)
    log.leader_epochs.truncate_from_end(log.log_end_offset)
    log.leader_epochs.truncate_from_start(log.log_start_offset)
    remove_stray_snapshots(log.storage, log.directory, [segment.base_offset for segment in log.segments])
    rebuild_producers(log, now_ms)
    log.fact(events.LOG_LOADED, start=log.log_start_offset, end=log.log_end_offset, clean=clean)


def _without_left_overs(log: PartitionLog, names: list[str]) -> list[str]:
    """Delete what a deletion has left, and indexes without a log; returns the other names."""
    logs = {name[:20]: True for name in names if name.endswith(LOG)}
    kept: list[str] = []
    for name in names:
        orphan = name.endswith((INDEX, TIME_INDEX, TRANSACTION_INDEX)) and name[:20] not in logs
        if orphan or name.endswith(DELETED):
            log.storage.delete(f"{log.directory}/{name}")
        else:
            kept.append(name)
    return kept


def _open_segments(log: PartitionLog, names: list[str], now_ms: int) -> list[str]:
    """Open every segment; returns the names of index files that were not there."""
    present = dict.fromkeys(names)
    missing: list[str] = []
    for name in names:
        if name.endswith(LOG) and name[: -len(LOG)].isdigit():
            stem = name[: -len(LOG)]
            missing += [stem + suffix for suffix in (INDEX, TIME_INDEX) if stem + suffix not in present]
            log.add_segment(int(stem), now_ms)
    return missing


def _check_indexes(log: PartitionLog, missing: list[str], scanned_from: int | None) -> None:
    """Rebuild what is missing or damaged; from segment `scanned_from` on, recovery does it anyway."""
    for place, segment in enumerate(log.segments):
        stem = f"{segment.base_offset:020d}"
        gone = [stem + suffix for suffix in (INDEX, TIME_INDEX) if stem + suffix in missing]
        try:
            if gone and segment.size:
                raise CorruptIndex("missing")
            segment.sanity_check()
        except CorruptIndex as error:
            if scanned_from is None or place < scanned_from:
                cut, reason = _recover_segment(log, segment)
                if cut:
                    log.fact(events.LOG_RECOVERED, bytes_cut=cut, reason=reason, end=segment.next_offset())
            log.fact(events.INDEX_REBUILT, file=gone[0] if gone else stem + INDEX, reason=str(error))
            continue
        if scanned_from is None or place < scanned_from:
            segment.load()


def _recover(log: PartitionLog) -> None:
    """Scan from the recovery point; delete what lies behind a cut or a hole."""
    place = log.segment_of(log.recovery_point) if log.segments else 0
    while place < len(log.segments):
        segment = log.segments[place]
        cut, reason = _recover_segment(log, segment)
        place += 1
        end = max(segment.next_offset(), segment.base_offset)
        if not cut:
            reason = _hole(log, place, end)
        if reason:
            later = log.segments[place:]
            cut += sum(one.size for one in later)
            for one in later:
                log.drop_segment(one)
            log.fact(events.LOG_RECOVERED, bytes_cut=cut, reason=reason, end=end)
            return


def _hole(log: PartitionLog, place: int, end: int) -> str:
    """What is missing in front of segment `place`; "" when nothing is.

    After a power loss a later file may have survived while the end of an earlier one has not. Only
    the cleaner leaves gaps on purpose, so compacted logs are not judged.
    """
    if place == len(log.segments) or log.config.is_compacted or log.segments[place].base_offset <= end:
        return ""
    return f"offsets {end}..{log.segments[place].base_offset - 1} are missing"


def _recover_segment(log: PartitionLog, segment: LogSegment) -> tuple[int, str]:
    noted = _EpochNotes(log)
    return segment.rebuild(noted.visit)


class _EpochNotes:
    """Puts the leader epochs of scanned batches into the cache."""

    def __init__(self, log: PartitionLog) -> None:
        self.cache = log.leader_epochs

    def visit(self, batch: Batch) -> None:
        header = batch.header
        if header.magic == 2 and header.leader_epoch > self.cache.latest_epoch:
            self.cache.assign(header.leader_epoch, header.base_offset)


def _drop_when_below_start(log: PartitionLog, now_ms: int) -> None:
    """A log that ends below its checkpointed start (its tail was lost) begins anew there."""
    if log.active.next_offset() >= log.log_start_offset:
        return
    for segment in list(log.segments):
        log.drop_segment(segment)
    log.leader_epochs.clear()
    log.add_segment(log.log_start_offset, now_ms)


def rebuild_producers(log: PartitionLog, now_ms: int | None = None) -> None:
    """Producer state at the log end: newest snapshot, then the headers of the batches behind it."""
    table, end = log.producers, log.log_end_offset
    start = load_latest_snapshot(log.storage, log.directory, table, log.log_start_offset, end, now_ms)
    for segment in log.segments[log.segment_of(start) :]:
        if start >= end:
            break
        found = segment.locate(start)
        for batch in segment.batches(found[0]) if found else []:
            if batch.header.producer_id >= 0 and batch.header.next_offset > start:
                table.update(batch.header, decode_records(batch) if batch.header.is_control else None)
    table.map_end_offset = end
