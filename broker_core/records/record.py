"""One record of format v2: varints and differences to the batch (KIP-98, "Message Format").

| field | type | meaning |
|---|---|---|
| length | varint | bytes that follow |
| attributes | int8 | unused, 0 |
| timestampDelta | varlong | milliseconds after the batch's base timestamp |
| offsetDelta | varint | offset minus the batch's base offset |
| key | varint length (-1: null) + bytes | |
| value | varint length (-1: null, a tombstone) + bytes | |
| headers | varint count, then key (length + UTF-8) and value (length, -1: null, + bytes) | KIP-82 |

The record `key=k, value=hello`, first in its batch, is 13 bytes:
`18` (length 12) `00` `00` `00` `02 6b` `0a 68 65 6c 6c 6f` `00`.

`encode_records` and `decode_body` are loops over whole batches, with the common case (a number
that fits one byte) written out: a record costs about a microsecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from broker_core.kernel.problems import problem
from broker_core.records.errors import CorruptRecordError, DecompressedTooLargeError, InvalidRecordError
from broker_core.records.varint import SMALL, SMALL_LIMIT, encode_varint, read_varint, varint

Headers: TypeAlias = "Sequence[tuple[str, bytes | None]]"
NewRecord: TypeAlias = "tuple[int, bytes | None, bytes | None, Headers]"
"""What a producer hands in: (timestamp in ms, key, value, headers)."""


class Record(NamedTuple):
    """One record as it is read: absolute offset and timestamp (milliseconds, -1: none)."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


def encode_records(
    records: Sequence[NewRecord], base_timestamp: int, offset_deltas: Sequence[int] | None = None
) -> bytearray:
    """The records' part of a batch, uncompressed. Offset deltas are 0, 1, 2, ... unless given."""
    out = bytearray()
    small, limit = SMALL, SMALL_LIMIT
    for index, (timestamp, key, value, headers) in enumerate(records):
        delta = timestamp - base_timestamp
        offset_delta = index if offset_deltas is None else offset_deltas[index]
        key_size = -1 if key is None else len(key)
        value_size = -1 if value is None else len(value)
        body = b"".join((
            b"\0",
            small[delta] if 0 <= delta < limit else encode_varint(delta),
            small[offset_delta] if offset_delta < limit else encode_varint(offset_delta),
            small[key_size] if 0 <= key_size < limit else encode_varint(key_size),
            key or b"",
            small[value_size] if 0 <= value_size < limit else encode_varint(value_size),
            value or b"",
            encode_headers(headers) if headers else b"\0",
        ))
        size = len(body)
        out += small[size] if size < limit else encode_varint(size)
        out += body
    return out


def encode_headers(headers: Headers) -> bytes:
    """Count, then each header's key and value."""
    parts = [varint(len(headers))]
    for name, value in headers:
        encoded = name.encode()
        parts += (varint(len(encoded)), encoded)
        parts += (b"\x01",) if value is None else (varint(len(value)), value)
    return b"".join(parts)


def decode_body(
    data: bytes, count: int, base_offset: int, base_timestamp: int, append_time: int | None = None,
    most_headers: int | None = None,
) -> list[Record]:  # fmt: skip
    """Decode `count` records. `append_time` replaces every timestamp (LogAppendTime).

    Raises CorruptRecordError when lengths do not fit each other, InvalidRecordError when the
    count is not what the bytes hold, DecompressedTooLargeError above `most_headers` in all.
    """
    records: list[Record] = []
    append, new, cls = records.append, tuple.__new__, Record
    position, end = 0, len(data)
    left = most_headers if most_headers is not None else end
    try:
        for index in range(count):
            number, second = data[position], data[position + 1]
            if number < 0x80:
                length, position = (number >> 1) ^ -(number & 1), position + 2
            elif second < 0x80 and not number & 1:
                length, position = (number & 0x7F | second << 7) >> 1, position + 3
            else:
                length, position = read_varint(data, position)
                position += 1
            stop = position + length - 1
            if length < 0 or stop > end:
                raise CorruptRecordError(problem("length_unfit", n=length), problem("at_record", n=index))
            number = data[position]
            if number < 0x80:
                delta, position = (number >> 1) ^ -(number & 1), position + 1
            else:
                delta, position = read_varint(data, position)
            number, second = data[position], data[position + 1]
            if number < 0x80:
                offset_delta, position = (number >> 1) ^ -(number & 1), position + 1
            elif second < 0x80 and not number & 1:
                offset_delta, position = (number & 0x7F | second << 7) >> 1, position + 2
            else:
                offset_delta, position = read_varint(data, position)
            if data[position] == 1:
                key, position = None, position + 1
            else:
                key, position = _field(data, position, stop, index)
            value, position = _field(data, position, stop, index)
            headers: Headers = ()
            if position < stop and data[position] == 0:
                position += 1
            else:
                headers, position = _headers(data, position, stop, index, left)
                left -= len(headers)
            if position != stop:
                raise CorruptRecordError(problem("bytes_too_many", size=stop - position), problem("at_record", n=index))
            timestamp = base_timestamp + delta if append_time is None else append_time
            append(new(cls, (base_offset + offset_delta, timestamp, key, value, headers)))
    except IndexError:
        raise CorruptRecordError(problem("records_short"), problem("at_record", n=len(records))) from None
    if position != end:
        raise InvalidRecordError(problem("behind_records", size=end - position, n=count))
    return records


def _field(data: bytes, position: int, stop: int, index: int) -> tuple[bytes | None, int]:
    size = data[position]
    if size < 0x80:
        size, position = (size >> 1) ^ -(size & 1), position + 1
        if size < 0:
            return None, position
    else:
        size, position = read_varint(data, position)
        if size < 0:
            return None, position
    end = position + size
    if end > stop:
        raise CorruptRecordError(problem("field_over_record", size=size), problem("at_record", n=index))
    return data[position:end], end


def _headers(data: bytes, position: int, stop: int, index: int, most: int) -> tuple[Headers, int]:
    count, position = read_varint(data, position)
    if count < 0 or count > stop - position:
        raise InvalidRecordError(problem("header_count", n=count), problem("at_record", n=index))
    if count > most:
        raise DecompressedTooLargeError(problem("packed_headers"), problem("at_record", n=index))
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name, position = _field(data, position, stop, index)
        value, position = _field(data, position, stop, index)
        if name is None:
            raise InvalidRecordError(problem("header_no_key"), problem("at_record", n=index))
        headers.append((name.decode("utf-8", "replace"), value))
    return tuple(headers), position

