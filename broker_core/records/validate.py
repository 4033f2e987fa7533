"""What a leader checks before it appends a producer's bytes (Kafka's LogValidator, UnifiedLog.append).

One pass over the headers; records are looked at only where a rule needs them.

| check | refused with |
|---|---|
| A. whole batches, magic 0-2, length | CORRUPT_MESSAGE |
| B. base offset 0 from a client | INVALID_RECORD |
| C. batch <= `max.message.bytes`; payload <= `segment.bytes` | MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE |
| D. checksum | CORRUPT_MESSAGE |
| E. count > 0 and last offset delta = count - 1; a producer id needs a sequence | INVALID_RECORD |
| E. no control batch from a client | INVALID_RECORD |
| F. it decompresses | UNKNOWN_SERVER_ERROR |
| F. to no more than `decompressed_bound`, `MOST_RECORDS` records and `MOST_HEADERS` headers | MESSAGE_TOO_LARGE |
| F. `count` records fill it exactly, fields and headers fill each record (see `structure`) | INVALID_RECORD |
| G. a producer should not say LogAppendTime (see `record_rules`) | INVALID_TIMESTAMP |
| H. a key in every record (compacted topics): decodes the batch | INVALID_RECORD |
| H. timestamps within `message.timestamp.before.max.ms` / `after.max.ms` (when set): decodes, too | INVALID_TIMESTAMP |

A compressed batch is decompressed for F and then stored as it came. The latest time in the header of a batch is what
the records say, whatever the producer wrote there, and unless the topic has LogAppendTime the batch has CreateTime: one
that says otherwise is stored with a header of its own. What F and H took is counted in `work` of the
rules, so that a request of many batches can be served in slices.

Where the topic has a `compression.type` of its own and the batch another one, it is compressed anew; a control batch is
not. What is of magic 0 or 1, or goes into a log of these, is the business of `old_formats`. In both cases the result is
a new buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from crc32c import crc32c

from broker_core.kernel.problems import problem
from broker_core.kernel.storage import Buffer
from broker_core.records.batch import (
    RECORD_WORK,
    assign_create_time,
    records_bytes,
)
from broker_core.records.compression import DEFAULT_BOUND, ZSTD
from broker_core.records.conversion import recompress
from broker_core.records.errors import (
    CorruptRecordError,
    DecompressionError,
    InvalidRecordError,
    RecordListTooLargeError,
    RecordTooLargeError,
    UnsupportedCompressionError,
)
from broker_core.records.header import LOG_APPEND_TIME as APPEND_TIME_BIT
from broker_core.records.header import (
    ATTRIBUTES_AT,
    COMPRESSION_MASK,
    CONTROL,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_AT,
    Batch,
    BatchHeader,
    ensure_valid,
    is_single_batch,
    iterate_batches,
    next_size,
    read_header,
)
from broker_core.records.old_formats import check_sizes, fitted
from broker_core.records.record import Record, decode_body
from broker_core.records.record_rules import CREATE_TIME, NO_TIMESTAMP, PARTIAL, WHOLE, check_records
from broker_core.records.structure import SMALLEST_RECORD, check_count, check_structure

MOST_RECORDS, MOST_HEADERS = 64 * 1024, 128 * 1024
"""In a compressed batch, or in one payload of the old formats; `max.message.bytes` bounds those of any other.

A batch is gone through in one event, here, by the cleaner, by whoever reads it: 0.1 s for as many as that. No client
comes near it by itself: the Java producer fills batches of 16 KiB, librdkafka of 10,000 records.
"""
_MOST_WORK_PER_BYTE = RECORD_WORK // SMALLEST_RECORD
LONG_MAX = 0x7FFFFFFFFFFFFFFF
LOG_APPEND_TIME = 1
CLIENT, COORDINATOR, REPLICATION = "client", "coordinator", "replication"
_new = tuple.__new__
_FIRST_OF_BATCHES, _FIRST_ZSTD_PRODUCE = 3, 7


@dataclass(slots=True)
class ValidationRules:
    """The topic's settings, as numbers. `compression` None: keep the producer's; its `level` None: the codec's default.
    `partition`: as shown in errors. `work`: bytes decompressed with these rules, records looked at included
    (`RECORD_WORK`). `magic`: the format of the log. `converted`: records that were written anew for its sake."""

    max_message_bytes: int = 1048588
    segment_bytes: int = 1 << 30
    timestamp_type: int = CREATE_TIME
    before_max_ms: int = LONG_MAX
    after_max_ms: int = LONG_MAX
    compacted: bool = False
    compression: int | None = None
    level: int | None = None
    partition: str = ""
    decompressed_bound: int = DEFAULT_BOUND
    work: int = 0
    magic: int = 2
    converted: int = 0
    per_record: bool = field(init=False)
    """Whether a rule needs every record decoded."""

    def __post_init__(self) -> None:
        self.per_record = self.compacted or self.before_max_ms != LONG_MAX or self.after_max_ms != LONG_MAX


class Validated(NamedTuple):
    """The headers in order and the bytes they stand in: the buffer handed in, or a converted one."""

    headers: Sequence[BatchHeader]
    buffer: Buffer


def validate_batches(
    buffer: Buffer, rules: ValidationRules, now_ms: int, origin: str = CLIENT, first_offset: int = 0
) -> Validated:
    """Check a produce payload of one or more batches. Raises RecordsError of the table's kinds.

    Where the log is of magic 0 or 1, the result has its offsets already, from `first_offset` on.
    """
    size = len(buffer)
    if size > rules.segment_bytes:
        raise RecordListTooLargeError(problem("above_segment", size=size, most=rules.segment_bytes))
    if size >= HEADER_SIZE and buffer[MAGIC_AT] == 2 and (header := read_header(buffer))[1] + LOG_OVERHEAD == size:
        batches = [_new(Batch, (header, buffer, 0))]
    else:
        batches = _split(buffer)
    unfit = rules.magic < 2
    latest: list[int] = []
    for batch in batches:
        header = batch.header
        _check_bytes(batch, rules, origin)
        if header.magic == 2:
            latest.append(_check_batch(batch, rules, now_ms, origin))
            if _keeps_codec(header, rules) and (rules.timestamp_type or _keeps_time(header, latest[-1])):
                continue
        unfit = True
    if unfit:
        return _convert(batches, latest, rules, now_ms, first_offset)
    return _new(Validated, ([batch[0] for batch in batches], buffer))


def _split(buffer: Buffer) -> list[Batch]:
    """The batches of a payload. Behind old messages there may be a part of one: their producers were told so."""
    batches = list(iterate_batches(buffer))
    end = batches[-1].position + batches[-1].header.size if batches else 0
    if not batches or (end != len(buffer) and batches[0].header.magic == 2):
        raise CorruptRecordError(problem("not_whole_batch", size=len(buffer) - end), problem("at_byte", position=end))
    return batches


def _check_bytes(batch: Batch, rules: ValidationRules, origin: str) -> None:
    """Cases B to D."""
    header, data = batch.header, batch.data
    size = len(data)
    if header.magic == 2 and header.base_offset != 0 and origin == CLIENT:
        raise InvalidRecordError(f"base offset of a batch in an append should be 0, but it is {header.base_offset}")
    if size > rules.max_message_bytes:
        raise RecordTooLargeError(
            f"The record batch size in the append is {size} bytes which exceeds the maximum configured value of "
            f"{rules.max_message_bytes}."
        )
    if header.magic == 2:
        if crc32c(memoryview(data)[ATTRIBUTES_AT:]) != header.crc:
            raise CorruptRecordError(problem("crc_unlike"), problem("at_batch_byte", position=batch.position))
    else:
        ensure_valid(batch)


def _keeps_codec(header: BatchHeader, rules: ValidationRules) -> bool:
    return rules.compression is None or rules.compression == header.compression or header.attributes & CONTROL != 0


def _keeps_time(header: BatchHeader, latest_ms: int) -> bool:
    return header.max_timestamp == latest_ms and not header.attributes & APPEND_TIME_BIT


def _check_batch(batch: Batch, rules: ValidationRules, now_ms: int, origin: str) -> int:
    """Cases E to H. The latest time of its records, NO_TIMESTAMP where none has any."""
    header = batch.header
    attributes = header.attributes
    place = problem("at_batch_byte", position=batch.position)
    if header.record_count <= 0:
        raise InvalidRecordError(f"Invalid reported count for record batch: {header.record_count}", place)
    if header.last_offset_delta != header.record_count - 1:
        raise InvalidRecordError(
            f"Inconsistent batch offset range [{header.base_offset}, {header.last_offset}] and count of records "
            f"{header.record_count}",
            place,
        )
    if attributes & CONTROL and origin == CLIENT:
        raise InvalidRecordError("Clients are not allowed to write control records", place)
    if header.producer_id >= 0 and header.base_sequence < 0 and not attributes & CONTROL:
        raise InvalidRecordError(
            f"Invalid sequence number {header.base_sequence} in record batch with producerId {header.producer_id}",
            place,
        )
    codec = attributes & COMPRESSION_MASK
    if codec > ZSTD:
        raise DecompressionError(f"Unknown compression type id: {codec}")
    before = rules.work  # a batch that is refused counts for the most that looking at it can take
    rules.work = before + (rules.decompressed_bound if codec else len(batch.data) * _MOST_WORK_PER_BYTE)
    if codec:
        body: Buffer = records_bytes(batch, rules.decompressed_bound)
        check_count(len(body), header.record_count, MOST_RECORDS)
        work, position = len(body), 0
    else:
        body, work, position = batch.data, 0, HEADER_SIZE
    if rules.per_record or attributes & APPEND_TIME_BIT:
        latest_ms = _check_records(header, bytes(body[position:]), rules, now_ms)
        work += RECORD_WORK * header.record_count
    else:
        seen = check_structure(body, position, header.record_count, MOST_HEADERS if codec else None)
        latest_ms = max(header.base_timestamp + seen.latest_delta, NO_TIMESTAMP)
        work += RECORD_WORK * seen.steps
    rules.work = before + work
    return min(latest_ms, LONG_MAX)


def _check_records(header: BatchHeader, body: bytes, rules: ValidationRules, now_ms: int) -> int:
    """Cases G and H; the latest time."""
    most = MOST_HEADERS if header.compression else None
    append_time = shown_as = None
    if header.attributes & APPEND_TIME_BIT:
        append_time = header.max_timestamp
        shown_as = PARTIAL if header.compression and _keeps_codec(header, rules) else WHOLE
    records = decode_body(body, header.record_count, header.base_offset, header.base_timestamp, append_time, most)
    return check_records(_counted(header, records), rules, now_ms, header.is_control, shown_as)


def _counted(header: BatchHeader, records: Iterable[Record]) -> Iterator[Record]:
    for index, record in enumerate(records):
        if record.offset != header.base_offset + index:
            raise InvalidRecordError(problem("offset_delta", n=index, found=record.offset - header.base_offset))
        yield record


def _convert(
    batches: list[Batch], latest: list[int], rules: ValidationRules, now_ms: int, first_offset: int
) -> Validated:
    """To the magic of the log (see `old_formats`), or to the topic's codec and the `latest` times of the records."""
    if rules.magic < 2 or any(batch.header.magic < 2 for batch in batches):
        out = fitted(batches, rules, now_ms, first_offset, MOST_RECORDS)
        made = list(iterate_batches(out))
        check_sizes(made, len(out), rules)
        return Validated([batch.header for batch in made], out)
    out = bytearray()
    for batch, latest_ms in zip(batches, latest, strict=True):
        if rules.compression is None or _keeps_codec(batch.header, rules):
            data = bytearray(batch.data)
            if not rules.timestamp_type and not _keeps_time(batch.header, latest_ms):
                assign_create_time(data, latest_ms)
        else:
            data = recompress(batch, rules.compression, rules.decompressed_bound, rules.level)
        out += data
    return Validated([batch.header for batch in iterate_batches(out)], out)


def check_produce_payload(buffer: Buffer, api_version: int) -> None:
    """What a Produce request itself demands, before any topic's rules (ProduceRequest.validateRecords).

    From version 3: exactly one batch, of magic 2; zstd from version 7. `buffer` None holds no batch. Before that
    messages, or one batch.
    """
    if api_version < _FIRST_OF_BATCHES:
        size = next_size(buffer, 0)
        if size is not None and buffer[MAGIC_AT] == 2 and next_size(buffer, size) is not None:
            raise InvalidRecordError("Compressed outer record has more than one batch")
        return
    if api_version >= _FIRST_ZSTD_PRODUCE and is_single_batch(buffer):
        return
    subject = f"Produce requests with version {api_version}"
    size = next_size(buffer, 0)
    if size is None:
        raise InvalidRecordError(f"{subject} must have at least one record batch per partition")
    magic = buffer[16]
    if magic != 2:
        read_header(buffer)
        raise InvalidRecordError(f"{subject} are only allowed to contain record batches with magic version 2")
    if api_version < _FIRST_ZSTD_PRODUCE and size >= HEADER_SIZE and buffer[ATTRIBUTES_AT + 1] & 7 == ZSTD:
        raise UnsupportedCompressionError(f"{subject} are not allowed to use ZStandard compression")
    if size != len(buffer) and next_size(buffer, size) is not None:
        raise InvalidRecordError(f"{subject} are only allowed to contain exactly one record batch per partition")
