"""Cutting a log: at its end (a follower gives up what the leader does not have) and at its start.

| | what goes | what follows |
|---|---|---|
| `truncate_to` | the batch that holds the offset, all behind it | indexes, epochs, producers; HW <= the new end |
| `truncate_fully_and_start_at` | everything | an empty segment at the offset; HW = the offset |
| `begin_with_batch` | everything, and there is nothing | an empty segment at the batch; log start and HW stay |
| `move_log_start` | nothing: offsets below are refused | whole segments below it go with the next retention |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.kernel import events
from broker_core.log.errors import OffsetOutOfRange
from broker_core.log.producer_snapshot import remove_all_snapshots
from broker_core.log.recovery import rebuild_producers
from broker_core.log.retention import mark_deleted

if TYPE_CHECKING:
    from broker_core.log.partition_log import PartitionLog


def truncate_to(log: PartitionLog, offset: int, reason: str) -> bool:
    """See PartitionLog.truncate_to."""
    before, committed = log.log_end_offset, offset < log.high_watermark
    if offset >= before:
        return False
    if offset < log.segments[0].base_offset:
        truncate_fully_and_start_at(log, offset, reason)
        return True
    for segment in [segment for segment in log.segments if segment.base_offset > offset]:
        mark_deleted(log, segment)
    log.active.truncate_to(offset)
    log.log_end_offset = offset
    log.log_start_offset = min(log.log_start_offset, offset)
    log.cleaned_to = min(log.cleaned_to, offset)
    log.recovery_point = min(log.recovery_point, offset)
    log.leader_epochs.truncate_from_end(offset)
    rebuild_producers(log)
    log.update_high_watermark(min(log.high_watermark, offset))
    log.fact(events.TRUNCATED, before=before, after=offset, reason=reason, committed=committed)
    return True


def truncate_fully_and_start_at(log: PartitionLog, offset: int, reason: str) -> None:
    """See PartitionLog.truncate_fully_and_start_at."""
    before, committed = log.log_end_offset, offset < log.high_watermark
    _start_over(log, offset)
    log.fact(events.TRUNCATED, before=before, after=offset, reason=reason, committed=committed)


def begin_with_batch(log: PartitionLog, base_offset: int) -> None:
    """For the first batch of an empty log, whose start lies within it: DeleteRecords stopped there at the leader.

    Batches are stored whole, so files begin at the batch; readers still find nothing below the log start. Source:
    `Partition.appendRecordsToFollowerOrFutureReplica`.
    """
    start = log.log_start_offset
    _start_over(log, base_offset)
    log.log_start_offset = log.high_watermark = start


def _start_over(log: PartitionLog, offset: int) -> None:
    for segment in list(log.segments):
        if segment.base_offset == offset:
            log.drop_segment(segment)
        else:
            mark_deleted(log, segment)
    log.add_segment(offset, log.latest_ms)
    log.log_start_offset = log.log_end_offset = log.high_watermark = log.recovery_point = offset
    log.cleaned_to = min(log.cleaned_to, offset)
    log.leader_epochs.clear()
    remove_all_snapshots(log.storage, log.directory)
    log.producers.clear(offset)


def move_log_start(log: PartitionLog, offset: int, reason: str) -> bool:
    """See PartitionLog.delete_records_before. Raises OffsetOutOfRange above the high watermark."""
    if offset > log.high_watermark:
        raise OffsetOutOfRange(offset, log.log_start_offset, log.high_watermark)
    if offset <= log.log_start_offset:
        return False
    log.log_start_offset = offset
    log.producers.transactions.replicated_to(offset)
    log.leader_epochs.truncate_from_start(offset)
    log.fact(events.LOG_START_MOVED, offset=offset, reason=reason)
    return True
