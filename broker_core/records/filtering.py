"""A batch with fewer records: what the log cleaner writes in place of one (Kafka's `MemoryRecords.filterTo`).

What the batch says of itself stays: first and last offset, leader epoch, producer id, epoch and sequence, codec,
timestamp type. So a log with holes still tells which offsets it once had, and who wrote them.

    offsets 10 11 12 13      records 10, 12 and 13 are superseded
    baseOffset 10, lastOffsetDelta 3, one record with offset delta 1

A batch without any record left is a header alone, 61 bytes; its `recordCount` is 0.

The delete horizon (KIP-534): the first cleaning that meets a tombstone writes down from when on it may be removed.
The time stands where the base timestamp is, and attribute bit 6 says so; records keep their times, as differences.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker_core.kernel.storage import Buffer
from broker_core.records.batch import assemble
from broker_core.records.compression import compress
from broker_core.records.header import COMPRESSION_MASK, DELETE_HORIZON, Batch, BatchHeader
from broker_core.records.legacy import encode_message_set
from broker_core.records.record import Record, encode_records
from broker_core.records.record_rules import NO_TIMESTAMP


def delete_horizon(header: BatchHeader) -> int | None:
    """Milliseconds from which on tombstones of the batch may be removed; None: not set."""
    return header.base_timestamp if header.magic >= 2 and header.attributes & DELETE_HORIZON else None


def with_records(batch: Batch, kept: Sequence[Record], horizon: int | None = None) -> bytearray:
    """The batch with only these of its records, at least one; `horizon`: the delete horizon that it gets."""
    header = batch.header
    if header.magic < 2:
        records = [(one.timestamp, one.key, one.value, ()) for one in kept]
        offsets = [one.offset for one in kept]
        time_type = int(header.is_log_append_time)
        return encode_message_set(records, header.magic, offsets[0], header.compression, time_type, offsets)
    base_timestamp = kept[0].timestamp if horizon is None else horizon
    latest = header.max_timestamp if header.is_log_append_time else max(one.timestamp for one in kept)
    deltas = [one.offset - header.base_offset for one in kept]
    fields = [(one.timestamp, one.key, one.value, one.headers) for one in kept]
    body: Buffer = encode_records(fields, base_timestamp, deltas)
    if header.compression:
        body = compress(header.compression, body)
    attributes = header.attributes & ~DELETE_HORIZON | (0 if horizon is None else DELETE_HORIZON)
    return _like(header, body, attributes, base_timestamp, latest, len(kept))


def without_records(header: BatchHeader) -> bytearray:
    """The header alone, of a batch of magic 2: its offsets and its producer's sequence numbers go on being known."""
    attributes = header.attributes & ~(DELETE_HORIZON | COMPRESSION_MASK)
    return _like(header, b"", attributes, NO_TIMESTAMP, header.max_timestamp, 0)


def _like(
    header: BatchHeader, body: Buffer, attributes: int, base_timestamp: int, max_timestamp: int, count: int
) -> bytearray:
    return assemble(
        body, header.base_offset, header.leader_epoch, attributes, header.last_offset_delta, base_timestamp,
        max_timestamp, header.producer_id, header.producer_epoch, header.base_sequence, count,
    )  # fmt: skip
