"""A request or a response byte by byte: every byte belongs to one named field.

| bytes | field | value |
|---|---|---|
| 0-3 | size | 46 |
| 4-5 | apiKey | 1 Fetch |
| 6-7 | apiVersion | 12 |
| ... | | |
| 31-34 | topics[0].partitions[0].partition | 0 |

Inside the world messages travel by reference; their bytes are what the codec makes of them, the same as on a
socket. The reader of `wire.plain` is followed field by field; a record batch inside is taken apart, too.
Source: the protocol guide ("Protocol primitive types", "Protocol requests"), KIP-482 for tagged fields.
"""

from __future__ import annotations

import uuid
from typing import Any

from broker_core.records.annotate import annotate
from broker_core.records.errors import RecordsError
from broker_core.records.header import read_header
from broker_core.wire import messages
from broker_core.wire.apis import ApiKey, api_name, is_flexible, request_header_version, response_header_version
from broker_core.wire.errors import ErrorCode, WireError
from broker_core.wire.plain import PlainReader
from broker_core.wire.schema import Field, Struct
from lab.checkers import bytes_meanings
from lab.checkers.message_meanings import meaning

SHOWN_BYTES = 16 * 1024
SHOWN_FIELDS = 1500
IN_MS = {
    "timeout", "throttle_time", "max_wait", "session_timeout", "rebalance_timeout", "transaction_timeout",
    "log_append_time", "retention_time", "session_lifetime", "heartbeat_interval", "push_interval",
}  # fmt: skip
Piece = tuple[int, int, str, Any, str]
"""First byte, byte behind the last, name, value, type."""
OF_RECORDS = {"batch": 2, "message": 1}
"""Types of pieces inside records, and the magic by which their names are explained."""


class AnnotatingReader(PlainReader):
    """Reads a message and notes where each field stood."""

    def __init__(self, what: str, buffer: memoryview, classes: Any) -> None:
        super().__init__(what, buffer, classes)
        self.pieces: list[Piece] = []

    def _name(self, suffix: str = "") -> str:
        path = "".join(self._path).removeprefix(".")
        return ".".join(_camel(part) for part in path.split(".")) + suffix

    def _array(self, field: Field) -> list[Any] | None:
        start = self.position
        held = len(self.pieces)
        values = super()._array(field)
        first = self.pieces[held][0] if len(self.pieces) > held else self.position
        count = -1 if values is None else len(values)
        if isinstance(field.type, Struct):
            kind = "varint" if self._flexible else "int32"
            self.pieces.insert(held, (start, first, self._name(" count"), count, kind))
        else:
            self.pieces[held:] = [(start, self.position, self._name(), values, f"[{field.type}]")]
        return values

    def _single(self, field: Field) -> Any:
        start = self.position
        held = len(self.pieces)
        value = super()._single(field)
        if not isinstance(field.type, Struct):
            self.pieces.append((start, self.position, self._name(), value, field.type))
        elif field.nullable:
            self.pieces.insert(held, (start, start + 1, self._name(" present"), value is not None, "int8"))
        return value

    def _tagged_fields(self, schema: Struct, made: Any) -> None:
        start = self.position
        held = len(self.pieces)
        super()._tagged_fields(schema, made)
        for piece in [*self.pieces[held:], (self.position, self.position, "", None, "")]:
            if piece[0] > start:
                self.pieces.insert(self.pieces.index(piece) if piece in self.pieces else len(self.pieces),
                                   (start, piece[0], self._name(" tags").strip(), "", "tagged fields"))  # fmt: skip
            start = piece[1]


def _camel(name: str) -> str:
    """Kafka's own name: `timeout` of Produce stands as `timeoutMs` in the protocol guide."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest) + ("Ms" if name in IN_MS else "")


def _header(key: int, version: int, answer: bool, data: bytes) -> list[Piece]:
    """Size and header, as pieces."""
    number = int.from_bytes
    size: Piece = (0, 4, "size", number(data[:4], "big", signed=True), "int32")
    if answer:
        found = [size, (4, 8, "correlationId", number(data[4:8], "big", signed=True), "int32")]
        return [*found, (8, 9, "header tags", "", "tagged fields")] if response_header_version(key, version) else found
    found = [
        size, (4, 6, "apiKey", f"{key} {api_name(key)}", "int16"), (6, 8, "apiVersion", version, "int16"),
        (8, 12, "correlationId", number(data[8:12], "big", signed=True), "int32"),
    ]  # fmt: skip
    if request_header_version(key, version) == 0:
        return found
    length = number(data[12:14], "big", signed=True)
    end = 14 + max(0, length)
    name = data[14:end].decode("utf-8", "replace") if length >= 0 else None
    found.append((12, end, "clientId", name, "string"))
    if is_flexible(key, version):
        found.append((end, end + 1, "header tags", "", "tagged fields"))
    return found


def pieces_of(key: int, version: int, answer: bool, data: bytes) -> list[Piece]:
    """All of a whole frame (with its size), in order and without holes. Raises WireError."""
    head = _header(key, version, answer, data)
    begin = head[-1][1]
    kind = getattr(messages, api_name(key) + ("Response" if answer else "Request"))
    reader = AnnotatingReader(kind.__name__, memoryview(data)[begin:], kind.CLASSES)
    reader.message(kind.TYPE.at(version))
    body: list[Piece] = []
    for start, end, name, value, what in reader.pieces:
        if what == "records" and value is not None:
            body += _records(begin + start, begin + end, name, bytes(value))
        else:
            body.append((begin + start, begin + end, name, value, what))
    if begin + reader.position < len(data):
        body.append((begin + reader.position, len(data), "behind the message", "", "bytes"))
    return [piece for piece in head + body if piece[1] > piece[0]]


def _records(start: int, end: int, name: str, data: bytes) -> list[Piece]:
    """The length in front, then each batch field by field; what is no whole batch is one piece."""
    at = end - len(data)
    found: list[Piece] = [(start, at, f"{name} length", len(data), "length")]
    while at < end:
        rest = data[len(data) - (end - at) :]
        try:
            header = read_header(rest)
            size, what = header.size, "batch" if header.magic >= 2 else "message"
            fields = annotate(rest[:size]) if size <= len(rest) else []
        except (RecordsError, IndexError, ValueError):
            size, what, fields = len(rest), "", []
        if not fields:
            found.append((at, end, name, f"{end - at} B", "records"))
            break
        found += [(at + one.start, at + one.end, one.name, one.value, what) for one in fields]
        at += size
    return found


def _shown(name: str, value: Any) -> Any:
    if name.rpartition(".")[2] == "errorCode":
        return f"{value} {ErrorCode(value).name}" if value in ErrorCode._value2member_map_ else value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value[:200]).decode("utf-8", "replace")
    if isinstance(value, list):
        return [_shown("", one) for one in value[:50]]
    return str(value) if isinstance(value, uuid.UUID) else value


def _meaning(piece: Piece) -> tuple[str, str]:
    if piece[4] not in OF_RECORDS:
        return meaning(piece[2], piece[4])
    return bytes_meanings.meaning(piece[2], OF_RECORDS[piece[4]])


def describe(key: int, version: int, answer: bool, data: bytes) -> dict[str, Any]:
    """What the page shows of a frame: {"size", "hex", "cut", "fields": [...]}, shaped as a batch is."""
    try:
        pieces = pieces_of(key, version, answer, data)
    except (WireError, KeyError, AttributeError) as error:
        pieces = [(0, len(data), "message", str(error), "bytes")]
    fields = []
    for piece in pieces[:SHOWN_FIELDS]:
        start, end, name, value, what = piece
        english, korean = _meaning(piece)
        fields.append({
            "name": name, "offset": start, "size": end - start, "value": _shown(name, value),
            "type": "" if what in OF_RECORDS else what, "en": english, "ko": korean,
        })  # fmt: skip
    return {"size": len(data), "hex": data[:SHOWN_BYTES].hex(), "cut": len(data) > SHOWN_BYTES, "fields": fields}


APIS = {api_name(key): int(key) for key in ApiKey}
