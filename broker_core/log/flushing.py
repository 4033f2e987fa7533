"""Bringing a log to stable storage. Everything below the recovery point has been flushed.

A broker flushes rarely: replication is what keeps data, and the operating system writes the page
cache in its own time. What forces a flush:

| | |
|---|---|
| `flush.messages` | so many records since the recovery point, looked at after each append |
| `flush.ms` | so long since the last flush |
| a finished segment | with the next `run_flush` |
| a clean shutdown | everything |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.kernel import events
from broker_core.log.producer_snapshot import write_snapshot

if TYPE_CHECKING:
    from broker_core.log.partition_log import PartitionLog


def flush(log: PartitionLog, now_ms: int | None = None) -> None:
    """See PartitionLog.flush."""
    if now_ms is not None:
        log.last_flush_ms = now_ms
    if log.recovery_point >= log.log_end_offset:
        return
    for segment in log.segments[log.segment_of(log.recovery_point) :]:
        segment.flush()
    _recovered_to(log, log.log_end_offset)


def maybe_flush(log: PartitionLog, now_ms: int) -> bool:
    """See PartitionLog.maybe_flush."""
    log.latest_ms = max(log.latest_ms, now_ms)
    unflushed = log.log_end_offset - log.recovery_point
    due = unflushed >= log.config.flush_messages or now_ms - log.last_flush_ms >= log.config.flush_ms
    if unflushed > 0 and due:
        flush(log, now_ms)
        return True
    return _flush_finished_segments(log)


def _flush_finished_segments(log: PartitionLog) -> bool:
    base = log.active.base_offset
    if log.recovery_point >= base:
        return False
    for segment in log.segments[log.segment_of(log.recovery_point) : -1]:
        segment.flush()
    _recovered_to(log, base)
    return True


def _recovered_to(log: PartitionLog, offset: int) -> None:
    log.recovery_point = offset
    log.fact(events.FLUSHED, offset=offset)


def close(log: PartitionLog) -> None:
    """See PartitionLog.close."""
    log.producers.map_end_offset = log.log_end_offset
    write_snapshot(log.storage, log.directory, log.producers)
    log.active.become_inactive()
    flush(log)
    for segment in log.segments:
        segment.flush()
        segment.close()
