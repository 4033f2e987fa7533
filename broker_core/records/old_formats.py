"""Appending where magic 0 or 1 is involved: what came is that old, or the log is written so (KIP-31, KIP-32).

A log's format is the topic's `message.format.version`. A leader makes of a payload what the log holds:

| came | log of magic 0 | of magic 1 | of magic 2 |
|---|---|---|---|
| messages of magic 0 | as they came | anew, timestamp -1 | one batch, timestamp -1 |
| messages of magic 1 | anew, without timestamp | as they came | one batch |
| a wrapper of magic 0 | packed anew: its inner offsets are absolute | packed anew | one batch |
| a wrapper of magic 1 | packed anew | as it came: its inner offsets are relative | one batch |
| a batch | messages or a wrapper | messages or a wrapper | as it came |

"As it came" means that offset, time and checksum of the outermost message are written over, no more; a wrapper whose
inner offsets do not count 0, 1, 2, ... is packed anew all the same, as is all that the topic's `compression.type`
wants in another codec. Packing anew makes one wrapper or batch of all. What an old format has no place for is refused:
producer ids with UNSUPPORTED_FOR_MESSAGE_FORMAT, headers and zstd with UNKNOWN_SERVER_ERROR.

Source: `LogValidator.validateMessagesAndAssignOffsets` of 3.9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker_core.kernel.problems import problem
from broker_core.records.batch import RECORD_WORK, decode_records, encode_batch
from broker_core.records.compression import ZSTD
from broker_core.records.conversion import check_times, new_records, work_of
from broker_core.records.errors import (
    DecompressedTooLargeError,
    DecompressionError,
    InvalidRecordError,
    RecordListTooLargeError,
    RecordTooLargeError,
    UnconvertibleError,
    UnsupportedFormatError,
)
from broker_core.records.header import Batch
from broker_core.records.legacy import decode_message, encode_message_set, with_offset_and_time
from broker_core.records.record import NewRecord, Record
from broker_core.records.record_rules import NO_TIMESTAMP, OLD, check_records

if TYPE_CHECKING:
    from broker_core.records.validate import ValidationRules

LARGEST_CODEC = ZSTD


def fitted(
    batches: Sequence[Batch], rules: ValidationRules, now_ms: int, first_offset: int, most_records: int
) -> bytearray:
    """What the log gets. Messages of magic 0 and 1 have their offsets, from `first_offset`; a batch counts from 0.

    Batches of magic 2 have been checked by themselves. `rules.converted` counts the records that were written anew.
    Raises RecordsError.
    """
    source = _codec_of(batches)
    _check_alike(batches, source)
    _check_carried(batches[0], rules.magic)
    parts = _records(batches, rules, most_records)
    for batch, part in zip(batches, parts, strict=True):
        check_records(part, rules, now_ms, shown_as=OLD if batch.header.is_log_append_time else None)
    records = [record for part in parts for record in part]
    target = source if rules.compression is None else rules.compression
    if _stays(batches[0], records, source, target, rules.magic):
        out = _in_place(batches, records, rules, now_ms, first_offset)
    else:
        out = _anew(batches[0], records, target, rules, now_ms, first_offset)
        rules.converted += len(records)
    return out


def _codec_of(batches: Sequence[Batch]) -> int:
    return next((one.header.compression for one in reversed(batches) if one.header.compression), 0)


def _check_alike(batches: Sequence[Batch], source: int) -> None:
    """One wrapper or one batch, or messages of one magic."""
    first = batches[0].header.magic
    if len(batches) > 1 and (first == 2 or source):
        raise InvalidRecordError("Compressed outer record has more than one batch")
    for batch in batches:
        if batch.header.magic != first:
            raise InvalidRecordError(
                f"Batch magic {batch.header.magic} is not the same as the first batch's magic byte {first}"
            )


def _check_carried(batch: Batch, magic: int) -> None:
    header = batch.header
    if magic < 2 and header.is_transactional:
        raise UnsupportedFormatError(f"Transactional records cannot be used with magic version {magic}")
    if magic < 2 and header.producer_id >= 0:
        raise UnsupportedFormatError(f"Idempotent records cannot be used with magic version {magic}")


def _records(batches: Sequence[Batch], rules: ValidationRules, most_records: int) -> list[list[Record]]:
    """Those of each batch; what they took is added to the work of the rules, the most that it can be if they are
    refused."""
    before, count = rules.work, 0
    parts: list[list[Record]] = []
    rules.work += rules.decompressed_bound if batches[0].header.compression else RECORD_WORK * len(batches)
    for batch in batches:
        if batch.header.magic == 2:
            parts.append(decode_records(batch, rules.decompressed_bound))
        else:
            if batch.header.compression > LARGEST_CODEC:
                raise DecompressionError(f"Unknown compression type id: {batch.header.compression}")
            if batch.header.compression == ZSTD:
                raise InvalidRecordError(problem("magic_codec", magic=batch.header.magic, codec=ZSTD))
            parts.append(decode_message(batch, rules.decompressed_bound, proved=True))
        count += len(parts[-1])
        if count > most_records:
            raise DecompressedTooLargeError(problem("old_records", n=most_records))
    rules.work = before + sum(map(work_of, parts))
    return parts


def _stays(first: Batch, records: list[Record], source: int, target: int, magic: int) -> bool:
    """Whether the bytes are kept but for offsets and times."""
    if first.header.magic != magic or source != target:
        return False
    if not source:
        return True
    return magic > 0 and [record.offset for record in records] == list(range(len(records)))


def _in_place(
    batches: Sequence[Batch], records: list[Record], rules: ValidationRules, now_ms: int, first_offset: int
) -> bytearray:
    times = [now_ms if rules.timestamp_type else max(record.timestamp, NO_TIMESTAMP) for record in records]
    if batches[0].header.compression:
        last = first_offset + len(records) - 1
        return with_offset_and_time(batches[0], last, max(times), rules.timestamp_type)
    return bytearray().join(
        with_offset_and_time(batch, first_offset + place, times[place], rules.timestamp_type)
        for place, batch in enumerate(batches)
    )


def _anew(
    first: Batch, records: list[Record], codec: int, rules: ValidationRules, now_ms: int, first_offset: int
) -> bytearray:
    rows = new_records(records)
    _check_writable(rows, codec, rules.magic)
    if rules.magic == 2:
        return encode_batch(rows, compression=codec, level=rules.level)
    if rules.timestamp_type:
        rows = [(now_ms, key, value, headers) for _, key, value, headers in rows]
    elif rules.magic == 0:
        rows = [(NO_TIMESTAMP, key, value, headers) for _, key, value, headers in rows]
    return encode_message_set(rows, rules.magic, first_offset, codec, rules.timestamp_type, level=rules.level)


def _check_writable(rows: Sequence[NewRecord], codec: int, magic: int) -> None:
    """What Kafka's MemoryRecordsBuilder refuses."""
    if magic < 2 and codec == ZSTD:
        raise UnconvertibleError(f"ZStandard compression is not supported for magic {magic}")
    check_times(rows)
    if magic < 2 and any(headers for *_, headers in rows):
        raise UnconvertibleError(f"Magic v{magic} does not support record headers")


def check_sizes(batches: Sequence[Batch], size: int, rules: ValidationRules) -> None:
    """What has been made anew must fit the topic's limits, too."""
    for batch in batches:
        if batch.header.size > rules.max_message_bytes:
            raise RecordTooLargeError(
                f"Message batch size is {batch.header.size} bytes in append to partition {rules.partition} which "
                f"exceeds the maximum configured size of {rules.max_message_bytes}."
            )
    if size > rules.segment_bytes:
        raise RecordListTooLargeError(problem("above_segment", size=size, most=rules.segment_bytes))
