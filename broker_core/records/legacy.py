"""The old message formats: magic 0 (before 0.10) and magic 1 (0.10, with timestamps; KIP-32).

There was no batch: a message set is messages one after another, each with its own header.

| byte | field | type | magic |
|---|---|---|---|
| 0 | offset | int64 | 0, 1 |
| 8 | size | int32 | 0, 1 |
| 12 | crc | uint32, CRC-32 (not C) of byte 16 to the end | 0, 1 |
| 16 | magic | int8 | 0, 1 |
| 17 | attributes | int8: bits 0-2 compression, bit 3 timestamp type | 0, 1 |
| 18 | timestamp | int64 | 1 |
| 18/26 | key | int32 length (-1: null) + bytes | 0, 1 |
| | value | int32 length (-1: null) + bytes | 0, 1 |

Compression needs a *wrapper*: one message whose value is a compressed message set. The wrapper's
offset is that of its **last** inner message.

| | magic 0 | magic 1 |
|---|---|---|
| inner offsets | absolute: assigning them means compressing anew | 0, 1, 2, ... (KIP-31) |
| wrapper offset 52, inner 50 51 52 | read 50, 51, 52 | stored 0, 1, 2; base = 52 - 2 = 50 |

There are no headers, producer ids, transactions or control messages here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from struct import error as StructError
from zlib import crc32

from broker_core.kernel.problems import problem
from broker_core.records.compression import DEFAULT_BOUND, LZ4, ZSTD, compress, decompress
from broker_core.records.errors import CorruptRecordError, InvalidRecordError, UnsupportedCompressionError
from broker_core.records.header import (
    COMPRESSION_MASK,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    Batch,
    ensure_valid,
    iterate_batches,
    legacy_crc,
)
from broker_core.records.record import NewRecord, Record

_FRONT = Struct(">qiI")
_INT32 = Struct(">i")
_INT64 = Struct(">q")
_CRC = Struct(">I")
_FIELDS_AT = {0: 18, 1: 26}


def encode_message(
    magic: int, offset: int, timestamp: int, key: bytes | None, value: bytes | None, attributes: int = 0
) -> bytes:
    """One message of magic 0 or 1."""
    parts = [bytes((magic, attributes))]
    if magic == 1:
        parts.append(_INT64.pack(timestamp))
    for field in (key, value):
        parts += (b"\xff\xff\xff\xff",) if field is None else (_INT32.pack(len(field)), field)
    body = b"".join(parts)
    return _FRONT.pack(offset, 4 + len(body), crc32(body)) + body


def encode_message_set(
    records: Sequence[NewRecord],
    magic: int,
    base_offset: int = 0,
    compression: int = 0,
    timestamp_type: int = 0,
    offsets: Sequence[int] | None = None,
    level: int | None = None,
) -> bytearray:
    """Plain messages, or one wrapper when compressed. Headers are dropped: the formats have none.

    `offsets` gives absolute offsets (with gaps after compaction) instead of counting from `base_offset`.
    """
    if offsets is None:
        offsets = range(base_offset, base_offset + len(records))
    attributes = timestamp_type << 3 if magic == 1 else 0
    if compression == 0:
        return bytearray().join(
            encode_message(magic, offset, record[0], record[1], record[2], attributes)
            for offset, record in zip(offsets, records, strict=True)
        )
    if compression >= ZSTD:
        raise UnsupportedCompressionError(problem("magic_codec", magic=magic, codec=compression))
    shift = offsets[0] if magic == 1 else 0
    inner = b"".join(
        encode_message(magic, offset - shift, record[0], record[1], record[2], attributes)
        for offset, record in zip(offsets, records, strict=True)
    )
    packed = compress(compression, inner, level=level, old_lz4_header=magic == 0 and compression == LZ4)
    timestamp = max(record[0] for record in records)
    return bytearray(encode_message(magic, offsets[-1], timestamp, None, packed, attributes | compression))


def decode_message(batch: Batch, bound: int = DEFAULT_BOUND, proved: bool = False) -> list[Record]:
    """The record of one message, or the records inside a wrapper, with absolute offsets.

    `proved`: the checksum of each message inside has to fit, too.
    """
    header = batch.header
    outer = _shallow(batch)
    if not header.attributes & COMPRESSION_MASK:
        return [outer]
    if header.compression >= ZSTD:
        raise UnsupportedCompressionError(problem("magic_codec", magic=header.magic, codec=header.compression))
    inner = list(_inner_messages(header.magic, decompress(header.compression, outer.value or b"", bound), proved))
    if not inner:
        raise InvalidRecordError(problem("wrapper_empty"), problem("at_offset", offset=outer.offset))
    base = 0
    if header.magic == 1 and outer.offset != 0:
        base = outer.offset - inner[-1].offset
        if base < 0:
            what = problem("inner_offset", n=inner[-1].offset)
            raise InvalidRecordError(what, problem("at_wrapper", offset=outer.offset))
    stamp = outer.timestamp if header.attributes & LOG_APPEND_TIME else None
    return [
        record._replace(offset=record.offset + base, timestamp=record.timestamp if stamp is None else stamp)
        for record in inner
    ]


def _inner_messages(magic: int, data: bytes, proved: bool) -> Iterator[Record]:
    end = 0
    for message in iterate_batches(data):
        if proved:
            ensure_valid(message)
        if message.header.magic != magic:
            raise InvalidRecordError(problem("inner_magic", given=message.header.magic, magic=magic))
        if message.header.attributes & COMPRESSION_MASK:
            raise InvalidRecordError(problem("wrapper_nested"))
        end = message.position + len(message.data)
        yield _shallow(message)
    if end != len(data):
        raise InvalidRecordError(problem("behind_inner", size=len(data) - end))


def with_offset_and_time(message: Batch, offset: int, timestamp: int, timestamp_type: int) -> bytearray:
    """The message (or wrapper) as it came but for these; its checksum is made anew where the time has changed.

    (`AbstractLegacyRecordBatch.setLastOffset`, `setMaxTimestamp`.) Magic 0 has no place for a time.
    """
    header, data = message.header, bytearray(message.data)
    _INT64.pack_into(data, 0, offset)
    append_time = timestamp_type * LOG_APPEND_TIME
    if header.magic and (header.max_timestamp, header.attributes & LOG_APPEND_TIME) != (timestamp, append_time):
        data[17] = header.compression | append_time
        _INT64.pack_into(data, 18, timestamp)
        _CRC.pack_into(data, LOG_OVERHEAD, legacy_crc(data))
    return data


def _shallow(message: Batch) -> Record:
    """The message itself: for a wrapper, its value is still compressed."""
    data, header = memoryview(message.data), message.header
    try:
        key, position = _field(data, _FIELDS_AT[header.magic])
        value, position = _field(data, position)
    except StructError:
        raise CorruptRecordError(problem("message_short"), problem("at_offset", offset=header.base_offset)) from None
    if position != len(data) or header.batch_length + LOG_OVERHEAD != len(data):
        what = problem("fields_end", size=len(data), position=position)
        raise CorruptRecordError(what, problem("at_offset", offset=header.base_offset))
    return Record(header.base_offset, header.base_timestamp, key, value, ())


def _field(data: memoryview, position: int) -> tuple[bytes | None, int]:
    size: int = _INT32.unpack_from(data, position)[0]
    position += 4
    if size < 0:
        return None, position
    if position + size > len(data):
        raise CorruptRecordError(problem("field_over_message", size=size), problem("at_byte", position=position))
    return bytes(data[position : position + size]), position + size
