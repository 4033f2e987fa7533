"""Columns of Arrow from what `decode` has found.

A *chunk* is some batches of one file with all their records. Each column of the table is made by a function
of its own, and only those asked for are made: keys and values that nobody wants are never copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from broker_core.records.compression import NAMES
from broker_core.records.varint import read_varint
from lab.analytics.decode import PLACES, Array, gather
from lab.analytics.places import SegmentPlace
from lab.analytics.schemas import HEADERS

ARROW = {
    "string": pa.string(), "binary": pa.binary(), "int": pa.int32(), "bigint": pa.int64(), "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    HEADERS: pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])),
}  # fmt: skip
_CODECS = pa.array([*NAMES, "unknown", "unknown", "unknown"])
EARLIEST, LATEST = -62_135_596_800_000, 253_402_300_799_999
"""The milliseconds of the years 1 to 9999: neither Python nor SQL has names for other times."""
_AT = {name: index for index, name in enumerate(PLACES)}


@dataclass(slots=True)
class Chunk:
    """Batches of one file: `headers`, `positions` and `counts` one a batch, `places` a column a record."""

    place: SegmentPlace
    headers: Array
    positions: Array
    data: Array
    places: Array
    counts: Array

    def of_batch(self, values: Array) -> Array:
        """A value of each batch, for each of its records."""
        return np.repeat(values, self.counts)

    def place_of(self, name: str) -> Array:
        """What one of PLACES is for each record."""
        found: Array = self.places[_AT[name]]
        return found

    def field(self, name: str) -> Array:
        found: Array = self.headers[name].astype(np.int64)
        return found

    def flag(self, bit: int) -> Array:
        found: Array = (self.headers["attributes"].astype(np.int64) & bit) != 0
        return found


def constant(value: Any, kind: pa.DataType, count: int) -> pa.Array:
    """The same value in every row: the beginning of an array that is kept for the next chunk."""
    return _constant(value, kind, 1 << max(count - 1, 0).bit_length()).slice(0, count)


@lru_cache(64)
def _constant(value: Any, kind: pa.DataType, count: int) -> pa.Array:
    return pa.nulls(count, kind) if value is None else pa.repeat(pa.scalar(value, kind), count)


def place_columns(place: SegmentPlace) -> dict[str, Any]:
    """What is the same in every row of a file."""
    return {"run": place.run, "broker": place.broker, "topic": place.topic, "partition": place.partition,
            "segment": place.name}


def _bytes_column(name: str) -> Callable[[Chunk], pa.Array]:
    def column(chunk: Chunk) -> pa.Array:
        size = chunk.place_of(f"{name}_size")
        offsets, data = gather(chunk.data, chunk.place_of(f"{name}_at"), size)
        there = size >= 0
        valid = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
        return pa.Array.from_buffers(pa.binary(), len(size), [valid, pa.py_buffer(offsets), pa.py_buffer(data)])

    return column


def _timestamps(chunk: Chunk) -> pa.Array:
    append_time = chunk.flag(0x08)
    base = np.where(append_time, chunk.field("max_timestamp"), chunk.field("base_timestamp"))
    delta = chunk.place_of("timestamp_delta")
    if append_time.any():
        delta = np.where(chunk.of_batch(append_time), 0, delta)
    return _instants(chunk.of_batch(base) + delta)


def _instants(milliseconds: Array) -> pa.Array:
    """Null where a column cannot hold it: producers send any 64 bits as a timestamp, nanoseconds by mistake."""
    beyond = (milliseconds > LATEST) | (milliseconds < EARLIEST)
    values = pa.array(np.where(beyond, 0, milliseconds) * 1000, pa.int64(), mask=beyond if beyond.any() else None)
    return values.cast(pa.timestamp("us")).cast(ARROW["timestamp"])


def instant(milliseconds: int) -> int | None:
    """Microseconds; None when a column cannot hold them."""
    return milliseconds * 1000 if EARLIEST <= milliseconds <= LATEST else None


def _sequences(chunk: Chunk) -> pa.Array:
    base = chunk.of_batch(chunk.field("base_sequence"))
    sequence = (base + chunk.place_of("offset_delta")) & 0x7FFFFFFF
    return pa.array(np.where(base < 0, -1, sequence).astype(np.int32))


def _codec_names(attributes: Array) -> pa.Array:
    return _CODECS.take(pa.array(attributes.astype(np.int64) & 0x07))


def _headers(chunk: Chunk) -> pa.Array:
    counts = chunk.place_of("headers")
    if not counts.any():
        return pa.nulls(len(counts), ARROW[HEADERS])
    at = chunk.place_of("headers_at")
    rows: list[list[dict[str, Any]] | None] = [None] * len(counts)
    for row in np.flatnonzero(counts).tolist():
        rows[row] = read_record_headers(chunk.data, int(at[row]))
    return pa.array(rows, ARROW[HEADERS])


def read_record_headers(data: Array, at: int) -> list[dict[str, Any]]:
    """Headers of one record; `locate_records` has seen that their lengths fit."""
    view: memoryview = data.data
    count, at = read_varint(view, at)
    found = []
    for _ in range(count):
        size, at = read_varint(view, at)
        key, at = bytes(view[at : at + size]).decode("utf-8", "replace"), at + size
        size, at = read_varint(view, at)
        value = None if size < 0 else bytes(view[at : at + size])
        at += max(size, 0)
        found.append({"key": key, "value": value})
    return found


def _number(name: str) -> Callable[[Chunk], Array]:
    return lambda chunk: chunk.of_batch(chunk.field(name))


_RECORD: dict[str, Callable[[Chunk], Any]] = {
    "key": _bytes_column("key"), "value": _bytes_column("value"), "headers": _headers,
    "offset": lambda chunk: chunk.of_batch(chunk.field("base_offset")) + chunk.place_of("offset_delta"),
    "timestamp": _timestamps, "timestampType": lambda chunk: chunk.of_batch(chunk.flag(0x08)).astype(np.int32),
    "position": lambda chunk: chunk.of_batch(chunk.positions), "sequence": _sequences,
    "base_offset": _number("base_offset"), "leader_epoch": _number("leader_epoch"), "magic": _number("magic"),
    "producer_id": _number("producer_id"), "producer_epoch": _number("producer_epoch"), "crc": _number("crc"),
    "codec": lambda chunk: _codec_names(chunk.of_batch(chunk.headers["attributes"])),
    "transactional": lambda chunk: chunk.of_batch(chunk.flag(0x10)),
    "control": lambda chunk: chunk.of_batch(chunk.flag(0x20)),
}  # fmt: skip


def record_columns(chunk: Chunk, schema: pa.Schema) -> pa.RecordBatch:
    """The records of a chunk as the columns of `schema`."""
    count, same = chunk.places.shape[1], place_columns(chunk.place)
    made = []
    for field in schema:
        maker = _RECORD.get(field.name)
        made.append(_typed(maker(chunk), field.type) if maker else constant(same.get(field.name), field.type, count))
    return pa.RecordBatch.from_arrays(made, schema=schema)


def _typed(values: Any, kind: pa.DataType) -> pa.Array:
    array = values if isinstance(values, pa.Array) else pa.array(values)
    return array if array.type == kind else array.cast(kind)


_BATCH: dict[str, Callable[[Array], Any]] = {
    "base_offset": lambda headers: headers["base_offset"].astype(np.int64),
    "last_offset": lambda headers: headers["base_offset"].astype(np.int64) + headers["last_offset_delta"],
    "base_timestamp": lambda headers: _instants(headers["base_timestamp"].astype(np.int64)),
    "max_timestamp": lambda headers: _instants(headers["max_timestamp"].astype(np.int64)),
    "codec": lambda headers: _codec_names(headers["attributes"]),
    "transactional": lambda headers: (headers["attributes"].astype(np.int64) & 0x10) != 0,
    "control": lambda headers: (headers["attributes"].astype(np.int64) & 0x20) != 0,
}


def batch_columns(
    place: SegmentPlace, headers: Array, positions: Array, sizes: Array, schema: pa.Schema
) -> pa.RecordBatch:
    """The batches themselves as the columns of `schema`."""
    made, same = [], place_columns(place)
    for field in schema:
        if field.name in _BATCH:
            values = _BATCH[field.name](headers)
        elif field.name in ("position", "size"):
            values = positions if field.name == "position" else sizes
        elif field.name in (headers.dtype.names or ()):
            values = headers[field.name].astype(np.int64)
        else:
            values = constant(same.get(field.name), field.type, len(headers))
        made.append(_typed(values, field.type))
    return pa.RecordBatch.from_arrays(made, schema=schema)


def plain_rows(place: SegmentPlace, rows: Sequence[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Rows that came as dictionaries: old formats, damage, segments. What a row lacks is null."""
    same = place_columns(place)
    columns = [pa.array([row.get(field.name, same.get(field.name)) for row in rows], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
