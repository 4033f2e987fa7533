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

from broker_core.kernel.storage import Buffer
from broker_core.records.errors import CorruptRecordError, InvalidRecordError
from broker_core.records.varint import MAX_VARINT_BYTES, SMALL, SMALL_LIMIT, encode_varint, read_varint, varint

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
    data: bytes, count: int, base_offset: int, base_timestamp: int, append_time: int | None = None
) -> list[Record]:
    """Decode `count` records. `append_time` replaces every timestamp (LogAppendTime).

    Raises CorruptRecordError when lengths do not fit each other, InvalidRecordError when the
    count is not what the bytes hold.
    """
    records: list[Record] = []
    append, new, cls = records.append, tuple.__new__, Record
    position, end = 0, len(data)
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
                raise CorruptRecordError(f"length {length} does not fit", f"record {index}")
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
                headers, position = _headers(data, position, stop, index)
            if position != stop:
                raise CorruptRecordError(f"has {stop - position} bytes too many", f"record {index}")
            timestamp = base_timestamp + delta if append_time is None else append_time
            append(new(cls, (base_offset + offset_delta, timestamp, key, value, headers)))
    except IndexError:
        raise CorruptRecordError("records end too early", f"record {len(records)}") from None
    if position != end:
        raise InvalidRecordError(f"{end - position} bytes behind the last of {count} records")
    return records


def _field(data: bytes, position: int, stop: int, index: int) -> tuple[bytes | None, int]:
    size = data[position]
    if size < 0x80:
        size, position = (size >> 1) ^ -(size & 1), position + 1
        if size < 0:
            return None, position
    else:
        size, position = read_varint(data, position)
    end = position + size
    if end > stop or size < 0:
        raise CorruptRecordError(f"field of {size} bytes runs over the record", f"record {index}")
    return data[position:end], end


def _headers(data: bytes, position: int, stop: int, index: int) -> tuple[Headers, int]:
    count, position = read_varint(data, position)
    if count < 0 or count > stop - position:
        raise InvalidRecordError(f"header count {count} does not fit", f"record {index}")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name, position = _field(data, position, stop, index)
        value, position = _field(data, position, stop, index)
        if name is None:
            raise InvalidRecordError("header without a key", f"record {index}")
        headers.append((name.decode("utf-8", "replace"), value))
    return tuple(headers), position


def walk(data: Buffer, position: int, count: int) -> None:
    """Check that exactly `count` record lengths lead from `position` to the end, reading nothing else.

    Runs of records of one length, the common case, are checked by one strided comparison in C:
    10,000 equal records cost what 20 unequal ones do.
    """
    end = len(data)
    if count == 1:  # its length is what is left behind the length
        for prefix in (1, 2):
            left = end - position - prefix
            if 0 <= left < SMALL_LIMIT and data[position : position + prefix] == SMALL[left]:
                return
    index = 0
    patience = 0
    while index < count:
        length, behind = _length(data, position, index)
        stride = behind - position + length
        index += 1
        if length < 0 or position + stride > end:
            raise InvalidRecordError(f"length {length} does not fit", f"record {index - 1}")
        run = 0
        if patience == 0 and index < count:
            most = min(count - index, (end - position) // stride - 1)
            run = _equal_run(data, position, behind - position, stride, most)
            patience = 0 if run > 4 else 16
        elif patience:
            patience -= 1
        index += run
        position += stride * (run + 1)
    if position != end:
        raise InvalidRecordError(f"{end - position} bytes behind the last of {count} records")


def _length(data: Buffer, position: int, index: int) -> tuple[int, int]:
    try:
        byte = data[position]
        if byte < 0x80:
            return (byte >> 1) ^ -(byte & 1), position + 1
    except IndexError:
        raise InvalidRecordError(f"only {index} records are there", f"record {index}") from None
    return read_varint(data, position, MAX_VARINT_BYTES)


def _equal_run(data: Buffer, position: int, prefix: int, stride: int, most: int) -> int:
    """How many of the next `most` records (at most 4,096 looked at) have the same length bytes."""
    most = min(most, 4096)
    if most <= 0:
        return 0
    start = position + stride
    for byte in range(prefix):
        column = bytes(data[start + byte : start + byte + stride * (most - 1) + 1 : stride])
        wanted = data[position + byte]
        if column != bytes((wanted,)) * most:
            most = next(place for place, found in enumerate(column) if found != wanted)
            if most == 0:
                return 0
    return most
