"""Which bytes mean what: every byte of a batch belongs to one named field.

| start | end | name | value |
|---|---|---|---|
| 0 | 8 | baseOffset | 50 |
| 8 | 12 | batchLength | 62 |
| ... | | | |
| 61 | 62 | record 0 length | 12 |
| 65 | 66 | record 0 keyLength | 1 |
| 66 | 67 | record 0 key | k |

This is what an annotated hex view shows. The records of a compressed batch are one span, for their bytes
mean nothing one by one; so are the messages that an old wrapper holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from broker_core.kernel.storage import Buffer
from broker_core.records.compression import NAMES
from broker_core.records.header import HEADER, HEADER_SIZE, BatchHeader, read_header
from broker_core.records.varint import read_varint

_NAMES = (
    "baseOffset", "batchLength", "partitionLeaderEpoch", "magic", "crc", "attributes", "lastOffsetDelta",
    "baseTimestamp", "maxTimestamp", "producerId", "producerEpoch", "baseSequence", "recordCount",
)  # fmt: skip
_SIZES = (8, 4, 4, 1, 4, 2, 4, 8, 8, 8, 2, 4, 4)
_OLD = (("offset", 8), ("size", 4), ("crc", 4), ("magic", 1), ("attributes", 1), ("timestamp", 8))
_SIGNED = ("offset", "size", "timestamp")


class Field(NamedTuple):
    """Bytes `start` to `end` (exclusive) and what they say."""

    start: int
    end: int
    name: str
    value: Any


def annotate(batch: Buffer) -> list[Field]:
    """The fields of one whole batch or old message, in order, without holes. Raises CorruptRecordError."""
    header = read_header(batch)
    data = bytes(batch)
    if header.magic < 2:
        return _old_fields(data, header)
    fields: list[Field] = []
    position = 0
    for name, size, value in zip(_NAMES, _SIZES, HEADER.unpack_from(data), strict=True):
        fields.append(Field(position, position + size, name, value))
        position += size
    if header.compression:
        codec = NAMES[header.compression] if header.compression < len(NAMES) else "unknown codec"
        fields.append(Field(HEADER_SIZE, len(data), "records", f"{header.record_count} records, {codec}"))
        return fields
    for index in range(header.record_count):
        position = _record_fields(fields, data, position, f"record {index} ")
    return fields


def _old_fields(data: bytes, header: BatchHeader) -> list[Field]:
    """A message or a wrapper; a length that lies ends with the message."""
    fields: list[Field] = []
    position = 0
    for name, size in _OLD if header.magic else _OLD[:-1]:
        value = int.from_bytes(data[position : position + size], "big", signed=name in _SIGNED)
        fields.append(Field(position, position + size, name, value))
        position += size
    for name in ("key", "value"):
        start = min(position + 4, len(data))
        size = int.from_bytes(data[position:start], "big", signed=True)
        fields.append(Field(position, start, f"{name}Length", size))
        position = len(data) if name == "value" else min(start + max(size, 0), len(data))
        if position > start:
            fields.append(_old_content(name, data[start:position], start, header.compression))
    return fields


def _old_content(name: str, content: bytes, start: int, compression: int) -> Field:
    """A key or a value; the value of a wrapper is its messages."""
    if name == "value" and compression:
        return Field(start, start + len(content), "messages", NAMES[compression & 3])
    return Field(start, start + len(content), name, content.decode("utf-8", "replace"))


def _record_fields(fields: list[Field], data: bytes, position: int, prefix: str) -> int:
    position = _number(fields, data, position, prefix + "length")
    fields.append(Field(position, position + 1, prefix + "attributes", data[position]))
    position = _number(fields, data, position + 1, prefix + "timestampDelta")
    position = _number(fields, data, position, prefix + "offsetDelta")
    position = _bytes(fields, data, position, prefix, "key")
    position = _bytes(fields, data, position, prefix, "value")
    position = _number(fields, data, position, prefix + "headerCount")
    for number in range(fields[-1].value):
        position = _bytes(fields, data, position, f"{prefix}header {number} ", "key")
        position = _bytes(fields, data, position, f"{prefix}header {number} ", "value")
    return position


def _number(fields: list[Field], data: bytes, position: int, name: str) -> int:
    value, end = read_varint(data, position)
    fields.append(Field(position, end, name, value))
    return end


def _bytes(fields: list[Field], data: bytes, position: int, prefix: str, name: str) -> int:
    position = _number(fields, data, position, f"{prefix}{name}Length")
    size: int = fields[-1].value
    if size <= 0:
        return position
    content = data[position : position + size]
    fields.append(Field(position, position + size, prefix + name, content.decode("utf-8", "replace")))
    return position + size
