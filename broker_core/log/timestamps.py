"""From a time to an offset (ListOffsets; KIP-79, KIP-734).

The first segment whose latest record is not older than the wanted time holds the answer, if any
does; inside it the time index leads to the batch, and the batch is decoded for the record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.log.scan import batches_from
from broker_core.records.batch import decode_records

if TYPE_CHECKING:
    from broker_core.log.partition_log import PartitionLog


def offset_for_timestamp(log: PartitionLog, timestamp_ms: int) -> tuple[int, int, int] | None:
    """(offset, timestamp, leader epoch) of the first record at or after a time."""
    for segment in log.segments:
        if segment.max_timestamp >= timestamp_ms:
            found = segment.find_timestamp(timestamp_ms, log.log_start_offset)
            if found is not None:
                record, header = found
                return record.offset, record.timestamp, header.leader_epoch
    return None


def max_timestamp_offset(log: PartitionLog) -> tuple[int, int, int] | None:
    """(offset, timestamp, leader epoch) of the first record that has the largest timestamp, which may be -1: none."""
    latest = max(log.segments, key=_max_timestamp)
    offset = latest.max_timestamp_offset
    for batch in batches_from(latest.log, latest.index.lookup(offset)[1], latest.log.size):
        if batch.header.last_offset >= offset:
            for record in decode_records(batch):
                if record.timestamp == latest.max_timestamp:
                    return record.offset, record.timestamp, batch.header.leader_epoch
            return None
    return None


def _max_timestamp(segment: object) -> int:
    value: int = segment.max_timestamp  # type: ignore[attr-defined]
    return value
