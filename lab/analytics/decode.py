"""Record batches v2 into columns, many at a time.

Walking over bytes one at a time is what Python is slowest at, and records are made of varints. Here the
walk is compiled (numba) and fills numpy arrays: per batch its header, per record where key, value and
headers lie. The bytes of keys and values are then copied once, into what becomes an Arrow column.

| step | function | what it gives |
|---|---|---|
| 1 | `find_batches` | position and size of each batch of a buffer, and where the chain breaks |
| 2 | `read_headers` | the 61 bytes of all headers as one array with named fields |
| 3 | `checksums` | the CRC-32C of each batch |
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

from lab.analytics.memory import byte_at, copy_bytes

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
_63_BITS = 0x7FFFFFFFFFFFFFFF


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


def size_of(data: Array) -> int:
    """The size of the batch at the beginning of `data`, as its header tells."""
    return int.from_bytes(data[8:12].tobytes(), "big") + 12


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
        out[index] = crc32c(data[position + 21 : position + int(sizes[index])].data)
    return out


@njit(cache=True, nogil=True)
def _varint(at, end):  # type: ignore[no-untyped-def]
    """(value, address behind it) of the varint at an address; (0, -1) when it does not end in front of `end`."""
    value, shift = np.int64(0), 0
    while at < end and shift < _SHIFT_LIMIT:
        byte = byte_at(at)  # type: ignore[call-arg, var-annotated]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) & _63_BITS ^ -(value & 1), at
        shift += 7
    return np.int64(0), np.int64(-1)


@njit(cache=True, nogil=True)
def _field(at, end):  # type: ignore[no-untyped-def]
    """(size, where its bytes begin, address behind it) of a key or a value; -1 as the last one says no."""
    size, at = _varint(at, end)
    if at < 0 or size < -1 or size > end - at:
        return np.int64(0), np.int64(0), np.int64(-1)
    return size, at, at + max(size, np.int64(0))


@njit(cache=True, nogil=True)
def _behind_headers(at, end, count):  # type: ignore[no-untyped-def]
    """The address behind so many headers; -1 when they do not fit. A header has a key; its value may be null."""
    for _ in range(count):
        size, _begin, at = _field(at, end)
        if at < 0 or size < 0:
            return np.int64(-1)
        _size, _begin, at = _field(at, end)
        if at < 0:
            return np.int64(-1)
    return at


@njit(cache=True, nogil=True)
def _locate(data, starts, ends, counts, first_rows, out, status):  # type: ignore[no-untyped-def]
    home = np.int64(data.ctypes.data)
    for batch in range(len(starts)):
        at, end, row = home + starts[batch], home + ends[batch], first_rows[batch]
        for _ in range(counts[batch]):
            length, at = _varint(at, end)
            if at < 0 or length < 1 or length > end - at:
                break
            stop = at + length
            time, at = _varint(at + 1, stop)
            if at < 0:
                break
            offset, at = _varint(at, stop)
            if at < 0:
                break
            key_size, key, at = _field(at, stop)
            if at < 0:
                break
            value_size, value, at = _field(at, stop)
            if at < 0:
                break
            headers, behind = _varint(at, stop)
            if behind < 0 or headers < 0 or _behind_headers(behind, stop, headers) != stop:
                break
            out[0, row], out[1, row], out[2, row], out[3, row] = offset, time, key - home, key_size
            out[4, row], out[5, row], out[6, row], out[7, row] = value - home, value_size, at - home, headers
            at, row = stop, row + 1
        if at != end or row != first_rows[batch] + counts[batch]:
            status[batch] = 1


PLACES = ("offset_delta", "timestamp_delta", "key_at", "key_size", "value_at", "value_size", "headers_at", "headers")
"""Rows of what `locate_records` fills, one column a record."""


def locate_records(data: Array, starts: Array, ends: Array, counts: Array) -> tuple[Array, Array, Array]:
    """(places, counts, status): `places` has the rows of PLACES, `counts` says how many records of each batch it has.

    The given counts are those of the headers and must fit the batches' sizes (a record has 7 bytes at least). Batches
    with status BAD_RECORD have no records.
    """
    first_rows = np.zeros(len(counts), np.int64)
    np.cumsum(counts[:-1], out=first_rows[1:])
    places, status = np.empty((len(PLACES), int(counts.sum())), np.int64), np.zeros(len(counts), np.int8)
    _locate(data, starts, ends, counts, first_rows, places, status)
    if status.any():
        places = places[:, np.repeat(status == FINE, counts)]
        counts = np.where(status == FINE, counts, 0)
    return places, counts, status


@njit(cache=True, nogil=True)
def _gather(data, at, size, offsets, out):  # type: ignore[no-untyped-def]
    source, target = np.int64(data.ctypes.data), np.int64(out.ctypes.data)
    for index in range(len(at)):
        if size[index] > 0:
            copy_bytes(target + offsets[index], source + at[index], size[index])  # type: ignore[call-arg]


def gather(data: Array, at: Array, size: Array) -> tuple[Array, Array]:
    """(Arrow's offsets, bytes) of the fields at these places; a size of -1 is a field that is null."""
    offsets = np.zeros(len(at) + 1, np.int32)
    np.cumsum(np.maximum(size, 0), out=offsets[1:])
    out = np.empty(int(offsets[-1]), np.uint8)
    _gather(data, at, size, offsets, out)
    return offsets, out
