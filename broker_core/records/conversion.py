"""Between message formats: down for old consumers (KIP-31, KIP-32, KIP-98); `old_formats` has what a leader writes.

A log of today holds magic 2. Converting costs decompression, decoding, encoding and a copy, and it
ends zero copy; that is why Kafka counts it (`ProduceMessageConversionsPerSec`, `FetchMessageConversionsPerSec`).

| from, to | what is lost or made up |
|---|---|
| 0 -> 2 | timestamp -1 |
| 1 -> 2 | nothing |
| 2 -> 1 | headers, producer id, sequence; control batches disappear; zstd is refused |
| 2 -> 0 | and timestamps |
"""

from __future__ import annotations

from collections.abc import Sequence

from broker_core.kernel.problems import problem
from broker_core.kernel.storage import Buffer
from broker_core.records.batch import RECORD_WORK, decode_records, encode_batch
from broker_core.records.compression import DEFAULT_BOUND, ZSTD
from broker_core.records.errors import RecordsError, UnconvertibleError, UnsupportedCompressionError
from broker_core.records.header import Batch, BatchHeader, iterate_batches
from broker_core.records.legacy import encode_message_set
from broker_core.records.record import NewRecord, Record
from broker_core.records.record_rules import NO_TIMESTAMP

ANSWER_WORK = 16 * 1024 * 1024


class Allowance:
    """Work that may still go into one answer: conversion takes turns with everything else that a broker does.
    `records`: how many were converted."""

    __slots__ = ("left", "records")

    def __init__(self, work: int = ANSWER_WORK) -> None:
        self.left = work
        self.records = 0


def down_convert(buffer: Buffer, magic: int, first_offset: int = 0, allowance: Allowance | None = None) -> bytearray:
    """Every batch as messages of `magic` (0 or 1); what is that old already stays as it is.

    Records below `first_offset` (what the consumer asked for) are left out of converted batches, unless these are
    compressed: consumers then expect whole wrappers. Behind what could
    be converted a batch that cannot be ends the answer: the consumer gets on, and the error when it asks for that
    batch (KIP-283). So does a batch for which nothing is left of the allowance.
    Raises CorruptRecordError, InvalidRecordError, UnsupportedCompressionError.
    """
    out = bytearray()
    try:
        for batch in iterate_batches(buffer):
            header = batch.header
            if header.magic <= magic:
                out += batch.data
            elif allowance is not None and allowance.left <= 0:
                break
            elif not header.is_control:
                out += _as_messages(batch, magic, first_offset, allowance)
    except RecordsError:
        if not out:
            raise
    return out


def _as_messages(batch: Batch, magic: int, first_offset: int, allowance: Allowance | None) -> bytearray:
    header = batch.header
    if header.compression == ZSTD:
        raise UnsupportedCompressionError(problem("zstd_down", magic=magic))
    records = decode_records(batch)
    if allowance is not None:
        allowance.left -= work_of(records)
        allowance.records += len(records)
    if not header.compression:
        records = [record for record in records if record.offset >= first_offset]
    if not records:
        return bytearray()
    return encode_message_set(
        new_records(records),
        magic,
        compression=header.compression,
        timestamp_type=int(header.is_log_append_time),
        offsets=[record.offset for record in records],
    )


def work_of(records: list[Record]) -> int:
    """What it takes to look at them, in bytes that could be decompressed meanwhile."""
    return RECORD_WORK * len(records) + sum(len(record.key or b"") + len(record.value or b"") for record in records)


def recompress(batch: Batch, codec: int, bound: int = DEFAULT_BOUND, level: int | None = None) -> bytearray:
    """A v2 batch with another codec (topic `compression.type`, at its level); producer fields and offsets are kept.

    A batch that says LogAppendTime gives each record its one time. Raises UnconvertibleError.
    """
    header: BatchHeader = batch.header
    records = decode_records(batch, bound)
    rows = new_records(records)
    check_times(rows)
    return encode_batch(
        rows,
        base_offset=header.base_offset,
        compression=codec,
        level=level,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        leader_epoch=header.leader_epoch,
        transactional=header.is_transactional,
        control=header.is_control,
        offset_deltas=[record.offset - header.base_offset for record in records],
    )


def new_records(records: list[Record]) -> list[NewRecord]:
    """Records as a producer hands them in."""
    return [(record.timestamp, record.key, record.value, record.headers) for record in records]


def check_times(rows: Sequence[NewRecord]) -> None:
    """Kafka's MemoryRecordsBuilder takes no time before 1970 but "none"."""
    for timestamp, *_ in rows:
        if timestamp < NO_TIMESTAMP:
            raise UnconvertibleError(f"Invalid negative timestamp {timestamp}")
