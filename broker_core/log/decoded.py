"""Records out of a log, one after the other, over batches and segments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from broker_core.records.batch import decode_records
from broker_core.records.header import iterate_batches
from broker_core.records.record import Record

if TYPE_CHECKING:
    from broker_core.log.partition_log import PartitionLog


def records(log: PartitionLog, start: int, end: int) -> Iterator[Record]:
    """See PartitionLog.records."""
    position = max(start, log.log_start_offset)
    while position < min(end, log.log_end_offset):
        found = log.read(position, 1024 * 1024, log.log_end_offset)
        if not found.size:
            return
        for part in found.slices:
            for batch in iterate_batches(part.read()):
                if not batch.header.is_control:
                    yield from (one for one in decode_records(batch) if position <= one.offset < end)
        position = found.next_offset
