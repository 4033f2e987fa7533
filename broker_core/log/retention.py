"""Deleting whole old segments: by log start offset, by time, by size (`cleanup.policy` has `delete`).

Segments go from the oldest, one after the other, as long as the rule holds, and never above the
high watermark. An active segment that is itself too old is rolled first, then deleted.

| rule | a segment goes when |
|---|---|
| log start offset | the next one begins at or below the log start |
| time | now - its largest timestamp > `retention.ms` |
| size | the log without it still has `retention.bytes` |

`retention.bytes` 1000, segments of 400, 400, 400 (active): 1200 - 1000 = 200 < 400, so nothing goes;
with one more of 400 the first one goes.
Because the active segment ages with its *newest* record, a busy topic keeps up to `segment.ms`
longer than `retention.ms` says: one day of retention, one segment of five days: five days kept.

A deleted segment's files get the suffix `.deleted` at once and disappear `file.delete.delay.ms`
[60 s] later, so that readers who are in the middle of it can finish.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.kernel import events
from broker_core.log.producer_snapshot import snapshot_name
from broker_core.log.segment import DELETED, LogSegment

if TYPE_CHECKING:
    from broker_core.log.partition_log import PartitionLog


def delete_old_segments(log: PartitionLog, now_ms: int) -> int:
    """Apply the three rules. Returns how many segments went."""
    count = _delete_while(log, now_ms, "log start offset", _below_log_start(log))
    if log.config.is_deleted:
        if log.config.retention_ms >= 0:
            count += _delete_while(log, now_ms, "retention time", _too_old(log, now_ms))
        if log.config.retention_bytes >= 0:
            count += _delete_while(log, now_ms, "retention size", _too_much(log))
    return count


def _below_log_start(log: PartitionLog) -> list[LogSegment]:
    return _leading(log, lambda place: (
        place + 1 < len(log.segments) and log.segments[place + 1].base_offset <= log.log_start_offset
    ))  # fmt: skip


def _too_old(log: PartitionLog, now_ms: int) -> list[LogSegment]:
    return _leading(log, lambda place: now_ms - log.segments[place].largest_timestamp > log.config.retention_ms)


def _too_much(log: PartitionLog) -> list[LogSegment]:
    surplus = log.size_bytes - log.config.retention_bytes
    found: list[LogSegment] = []
    for segment in _leading(log, lambda place: True):
        surplus -= segment.size
        if surplus < 0:
            break
        found.append(segment)
    return found


def _leading(log: PartitionLog, holds: Callable[[int], bool]) -> list[LogSegment]:
    """The oldest segments for which `holds`, wholly below the high watermark, never an empty active one."""
    found: list[LogSegment] = []
    for place, segment in enumerate(log.segments):
        last = place + 1 == len(log.segments)
        end = log.log_end_offset if last else log.segments[place + 1].base_offset
        if log.high_watermark < end or (last and segment.size == 0) or not holds(place):
            break
        found.append(segment)
    return found


def _delete_while(log: PartitionLog, now_ms: int, reason: str, doomed: list[LogSegment]) -> int:
    if not doomed:
        return 0
    if len(doomed) == len(log.segments):
        log.roll(now_ms, "retention")
    for segment in doomed:
        mark_deleted(log, segment, now_ms)
        log.fact(events.SEGMENT_DELETED, base_offset=segment.base_offset, reason=reason, bytes=segment.size)
    first = log.segments[0].base_offset
    if first > log.log_start_offset:
        log.log_start_offset = first
        log.leader_epochs.truncate_from_start(first)
        log.fact(events.LOG_START_MOVED, offset=first, reason="retention")
    return len(doomed)


def mark_deleted(
    log: PartitionLog, segment: LogSegment, now_ms: int | None = None, keep_snapshot: bool = False
) -> None:
    """Out of the list, files renamed to `.deleted`. Without a time the delay begins at the next sweep.

    The producer snapshot of its base offset goes, too, unless another segment will begin there.
    """
    log.forget_segment(segment)
    due = None if now_ms is None else now_ms + log.config.file_delete_delay_ms
    paths = segment.file_names()
    snapshot = f"{log.directory}/{snapshot_name(segment.base_offset)}"
    if log.storage.exists(snapshot) and log.segments and not keep_snapshot:
        paths.append(snapshot)
    for path in paths:
        log.storage.rename(path, path + DELETED)
        log.deleted_files.append((due, path + DELETED))


def delete_expired_files(log: PartitionLog, now_ms: int, most: int | None = None) -> int:
    """Remove `.deleted` files whose delay is over, at most so many; how many went."""
    kept: list[tuple[int | None, str]] = []
    count = 0
    for due, path in log.deleted_files:
        if due is None:
            kept.append((now_ms + log.config.file_delete_delay_ms, path))
        elif due <= now_ms and count != most:
            log.storage.delete(path)
            count += 1
        else:
            kept.append((due, path))
    log.deleted_files = kept
    return count
