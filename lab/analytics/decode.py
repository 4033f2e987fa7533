"""Record batches v2 into columns, many at a time.

Walking over bytes one at a time is what Python is slowest at, and records are made of varints. Here the
walk is compiled (numba) and fills numpy arrays: per batch its header, per record where key, value and
headers lie. The bytes of keys and values are then copied once, into what becomes an Arrow column.

| step | function | what it gives |
|---|---|---|
| 1 | `find_batches` | position and size of each batch of a buffer, and where the chain breaks |
| 2 | `read_headers` | the 61 bytes of all headers as one array with named fields |
| 3 | `find_damaged` | which batches do not fit their CRC-32C |
| 4 | `locate_records` | offset, timestamp, places of key, value, headers of each record |
| 5 | `gather` | the bytes at such places, one behind the other, with Arrow's offsets |

A varint here: 7 bits a byte, lowest first, the highest bit says that more follow; then zigzag, so that
-1 is 1 and 1 is 2. At most 10 bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from crc32c import crc32c
from numba import njit

Array = np.ndarray[Any, Any]

HEADER_SIZE = 61
SMALLEST_SIZE = 26
MAGIC_AT = 16
HEADER_FIELDS = np.dtype([
    ("base_offset", ">i8"), ("batch_length", ">i4"), ("leader_epoch", ">i4"), ("magic", "i1"), ("crc", ">u4"),
    ("attributes", ">i2"), ("last_offset_delta", ">i4"), ("base_timestamp", ">i8"), ("max_timestamp", ">i8"),
    ("producer_id", ">i8"), ("producer_epoch", ">i2"), ("base_sequence", ">i4"), ("record_count", ">i4"),
])  # fmt: skip
WHOLE, CUT, BAD_LENGTH, BAD_MAGIC = range(4)
"""How a walk over batches ended."""
FINE, BAD_RECORD = 0, 1
_LONG_BATCH = 4096
_SHIFT_LIMIT = 70


def _crc_tables() -> Array:
    """Eight tables for CRC-32C (Castagnoli, reversed polynomial 0x82F63B78), eight bytes at a time."""
    tables = np.zeros((8, 256), np.uint32)
    for number in range(256):
        value = number
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        tables[0, number] = value
    for number in range(256):
        for table in range(1, 8):
            before = int(tables[table - 1, number])
            tables[table, number] = (before >> 8) ^ int(tables[0, before & 0xFF])
    return tables


_TABLES = _crc_tables()


@njit(cache=True, nogil=True)
def _walk(data, start, end, positions, sizes):  # type: ignore[no-untyped-def]
    count, position = 0, start
    while position < end:
        left = end - position
        if left < 17:
            return count, position, 1
        length = (np.int64(data[position + 8]) << 24 | np.int64(data[position + 9]) << 16
                  | np.int64(data[position + 10]) << 8 | np.int64(data[position + 11]))
        magic = data[position + 16]
        size = length + 12
        if length >= 0x80000000 or size < 26 or (magic == 2 and size < 61) or (magic == 1 and size < 34):
            return count, position, 2
        if magic > 2:
            return count, position, 3
        if size > left:
            return count, position, 1
        if count == len(positions):
            return count, position, -1
        positions[count] = position
        sizes[count] = size
        count += 1
        position += size
    return count, position, 0


def find_batches(data: Array, start: int, end: int) -> tuple[Array, Array, int, int]:
    """(positions, sizes, where the walk ended, how: WHOLE, CUT, BAD_LENGTH, BAD_MAGIC)."""
    room = max(16, (end - start) // 2048)
    while True:
        positions, sizes = np.empty(room, np.int64), np.empty(room, np.int64)
        count, position, how = _walk(data, start, end, positions, sizes)
        if how >= 0:
            return positions[:count], sizes[:count], int(position), int(how)
        room *= 4


def read_headers(data: Array, positions: Array) -> Array:
    """The headers at `positions` (magic 2) as one array with the fields of `HEADER_FIELDS`."""
    flat = np.empty((len(positions), HEADER_SIZE), np.uint8)
    _copy_headers(data, positions, flat)
    return flat.view(HEADER_FIELDS)[:, 0]


@njit(cache=True, nogil=True)
def _copy_headers(data, positions, flat):  # type: ignore[no-untyped-def]
    for index in range(len(positions)):
        position = positions[index]
        for byte in range(61):
            flat[index, byte] = data[position + byte]


@njit(cache=True, nogil=True)
def _crc_of_short(data, positions, sizes, tables, limit, out):  # type: ignore[no-untyped-def]
    for index in range(len(positions)):
        if sizes[index] > limit:
            continue
        at, end = positions[index] + 21, positions[index] + sizes[index]
        crc = np.uint32(0xFFFFFFFF)
        while at + 8 <= end:
            low = crc ^ (np.uint32(data[at]) | np.uint32(data[at + 1]) << np.uint32(8)
                         | np.uint32(data[at + 2]) << np.uint32(16) | np.uint32(data[at + 3]) << np.uint32(24))
            crc = (tables[7, low & 0xFF] ^ tables[6, (low >> 8) & 0xFF] ^ tables[5, (low >> 16) & 0xFF]
                   ^ tables[4, (low >> 24) & 0xFF] ^ tables[3, data[at + 4]] ^ tables[2, data[at + 5]]
                   ^ tables[1, data[at + 6]] ^ tables[0, data[at + 7]])
            at += 8
        while at < end:
            crc = tables[0, (crc ^ data[at]) & 0xFF] ^ (crc >> np.uint32(8))
            at += 1
        out[index] = crc ^ np.uint32(0xFFFFFFFF)


def checksums(data: Array, positions: Array, sizes: Array) -> Array:
    """CRC-32C of each batch: short ones in compiled code, long ones by the processor's own instruction."""
    out = np.zeros(len(positions), np.uint32)
    _crc_of_short(data, positions, sizes, _TABLES, _LONG_BATCH, out)
    for index in np.flatnonzero(sizes > _LONG_BATCH):
        position = int(positions[index])
        out[index] = crc32c(memoryview(data[position + 21 : position + int(sizes[index])]))
    return out


@njit(cache=True, nogil=True, inline="always")
def _varint(data, at, end):  # type: ignore[no-untyped-def]
    value, shift = np.uint64(0), np.uint64(0)
    while at < end:
        byte = data[at]
        at += 1
        value |= np.uint64(byte & 0x7F) << shift
        if byte < 0x80:
            return np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1)), at
        shift += np.uint64(7)
        if shift >= 70:
            break
    return np.int64(0), np.int64(-1)


@njit(cache=True, nogil=True)
def _record(data, at, end, row, out):  # type: ignore[no-untyped-def]
    """One record into row `row`; where the next begins, or -1."""
    length, at = _varint(data, at, end)
    if at < 0 or length < 1 or at + length > end:
        return np.int64(-1)
    stop = at + length
    out[row, 1], at = _varint(data, at + 1, stop)
    if at < 0:
        return np.int64(-1)
    out[row, 0], at = _varint(data, at, stop)
    if at < 0:
        return np.int64(-1)
    for field in range(2, 6, 2):
        size, at = _varint(data, at, stop)
        if at < 0 or size < -1 or size > stop - at:
            return np.int64(-1)
        out[row, field], out[row, field + 1] = at, size
        at += max(size, np.int64(0))
    count, behind = _varint(data, at, stop)
    if behind < 0 or count < 0 or (count == 0 and behind != stop):
        return np.int64(-1)
    out[row, 6], out[row, 7] = at, count
    return stop


@njit(cache=True, nogil=True)
def _locate(data, starts, ends, counts, first_rows, out, owners, status):  # type: ignore[no-untyped-def]
    for batch in range(len(starts)):
        at, row = starts[batch], first_rows[batch]
        for _ in range(counts[batch]):
            owners[row] = batch
            at = _record(data, at, ends[batch], row, out)
            if at < 0:
                break
            row += 1
        if at != ends[batch]:
            status[batch] = 1


PLACES = ("offset_delta", "timestamp_delta", "key_at", "key_size", "value_at", "value_size", "headers_at", "headers")
"""Columns of what `locate_records` fills, one row a record."""


def locate_records(data: Array, starts: Array, ends: Array, counts: Array) -> tuple[Array, Array, Array]:
    """(places, owners, status): `places` has the columns of PLACES, `owners` the batch of each record.

    `counts` are the record counts of the batches, which must fit their sizes (a record has 7 bytes at
    least). Rows of batches with status BAD_RECORD hold nothing and are left out.
    """
    first_rows = np.zeros(len(counts), np.int64)
    np.cumsum(counts[:-1], out=first_rows[1:])
    total = int(counts.sum())
    places, owners = np.empty((total, len(PLACES)), np.int64), np.empty(total, np.int64)
    status = np.zeros(len(counts), np.int8)
    _locate(data, starts, ends, counts, first_rows, places, owners, status)
    if status.any():
        owners = np.repeat(np.arange(len(counts)), counts)
        kept = status[owners] == FINE
        places, owners = places[kept], owners[kept]
    return places, owners, status


@njit(cache=True, nogil=True)
def _gather(data, at, size, offsets, out):  # type: ignore[no-untyped-def]
    for index in range(len(at)):
        start, target, length = at[index], offsets[index], size[index]
        if length > 0:
            out[target : target + length] = data[start : start + length]


def gather(data: Array, at: Array, size: Array) -> tuple[Array, Array]:
    """(Arrow's offsets, bytes) of the fields at these places; a size of -1 is a field that is null."""
    offsets = np.zeros(len(at) + 1, np.int32)
    np.cumsum(np.maximum(size, 0), out=offsets[1:])
    out = np.empty(int(offsets[-1]), np.uint8)
    _gather(data, at, size, offsets, out)
    return offsets, out
