"""One segment file, or a part of it, as Arrow record batches.

What cannot be read is told, with the byte at which it stands, and reading goes on as far as it can:

| found | told as | then |
|---|---|---|
| a checksum that does not fit | `stored crc 0x..., computed 0x...` | the batch is left out, the next is read |
| records that do not decode | what the decoder says | the same |
| a length or magic that cannot be | `no batch begins here` | the rest of the file is left out, its bytes are counted |
| the file ends inside a batch | `the file ends inside a batch` | the end |
| the file is gone since it was listed | `the file is gone` | its bytes are counted |

A batch whose base offset or leader epoch was changed on disk is not found: the checksum does not cover them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from broker_core.records import Batch, RecordsError, decode_records, read_header
from broker_core.records.compression import NAMES, decompress
from broker_core.records.header import ensure_valid
from lab.analytics import decode
from lab.analytics.columns import Chunk, batch_columns, plain_rows, record_columns
from lab.analytics.decode import BAD_MAGIC, BAD_RECORD, CUT, HEADER_SIZE, Array
from lab.analytics.places import SegmentPlace

ROWS = 32_768
CHUNK_BYTES = 16 * 1024 * 1024
SMALLEST_RECORD = 7
_ENDINGS = {CUT: "the file ends inside a batch", BAD_MAGIC: "no batch begins here: unknown magic"}


@dataclass(slots=True)
class SegmentReader:
    """Reads bytes `start` to `end` of a segment into rows of `schema`."""

    place: SegmentPlace
    schema: pa.Schema
    start: int = 0
    end: int = -1
    checksums: bool = True
    note: str | None = None
    damage: list[dict[str, Any]] = field(default_factory=list)

    def records(self) -> Iterator[pa.RecordBatch]:
        """Rows of the table `records`, then those that report damage."""
        for data, positions, sizes in self._sound():
            old = data[positions + decode.MAGIC_AT] < 2
            yield from self._old_records(data, positions[old], sizes[old])
            yield from self._new_records(data, positions[~old], sizes[~old])
        yield from self._reported()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Rows of the table `batches`, then those that report damage."""
        for data, positions, sizes in self._sound():
            old = data[positions + decode.MAGIC_AT] < 2
            rows = [self._old_batch(data, *one) for one in zip(positions[old].tolist(), sizes[old].tolist())]
            if rows:
                yield plain_rows(self.place, rows, self.schema)
            if not old.all():
                headers = decode.read_headers(data, positions[~old])
                yield batch_columns(self.place, headers, positions[~old] + self.start, sizes[~old], self.schema)
        yield from self._reported()

    def segment(self) -> Iterator[pa.RecordBatch]:
        """The one row of the table `segments`."""
        row: dict[str, Any] = {
            "size": self.place.size, "base_offset": int(self.place.name.split(".")[0]), "batches": 0, "records": 0,
            "index_size": self._beside(".index"), "time_index_size": self._beside(".timeindex"),
        }  # fmt: skip
        for data, positions, _ in self._sound():
            headers = [read_header(memoryview(data), int(one)) for one in positions[[0, -1]]]
            new = decode.read_headers(data, positions[data[positions + decode.MAGIC_AT] == 2])
            row |= {
                "first_offset": headers[0].base_offset, "last_offset": headers[1].last_offset,
                "batches": len(positions), "records": int(new["record_count"].sum()) + len(positions) - len(new),
                "max_timestamp": int(new["max_timestamp"].max()) * 1000 if len(new) else None,
            }  # fmt: skip
        first = f"byte {self.damage[0]['position']}: {self.damage[0]['error']}" if self.damage else None
        yield plain_rows(self.place, [{**row, "damages": len(self.damage), "error": first}], self.schema)

    def _beside(self, suffix: str) -> int | None:
        path = self.place.path.removesuffix(".log") + suffix
        return os.path.getsize(path) if os.path.isfile(path) else None

    # -- damage -----------------------------------------------------------------------------
    def _tell(self, position: int, error: str) -> None:
        self.damage.append({"position": position, "error": error})

    def _reported(self) -> Iterator[pa.RecordBatch]:
        if self.note is not None and "error" in self.schema.names:
            self._tell(self.start, self.note)
        if not self.damage:
            return
        if "error" not in self.schema.names:
            first = self.damage[0]
            raise ValueError(
                f"{self.place.path}: byte {first['position']}: {first['error']} ({len(self.damage)} such places;"
                " with the column `error` among the columns asked for they become rows)"
            )
        yield plain_rows(self.place, self.damage, self.schema)

    # -- batches ----------------------------------------------------------------------------
    def _sound(self) -> Iterator[tuple[Array, Array, Array]]:
        """(bytes, positions, sizes) of the batches whose checksum fits; nothing when there are none."""
        end = self.place.size if self.end < 0 else self.end
        try:
            data = np.fromfile(self.place.path, np.uint8, end - self.start, offset=self.start)
        except FileNotFoundError:
            self._tell(self.start, f"the file is gone, {end - self.start} bytes of it were not read")
            return
        positions, sizes, stopped, how = decode.find_batches(data, 0, len(data))
        if how:
            left = f"{len(data) - stopped} bytes are left"
            reason = _ENDINGS.get(how, "no batch begins here: impossible length")
            if not data[stopped:].any():
                reason = "zeros up to the end of the file"
            self._tell(self.start + stopped, f"{reason}, {left}")
        if self.checksums and len(positions):
            fine = self._check(data, positions, sizes)
            positions, sizes = positions[fine], sizes[fine]
        if len(positions):
            yield data, positions, sizes

    def _check(self, data: Array, positions: Array, sizes: Array) -> Array:
        """Which batches fit their checksum; the others are told."""
        fine = np.ones(len(positions), bool)
        new = np.flatnonzero(data[positions + decode.MAGIC_AT] == 2)
        stored = decode.read_headers(data, positions[new])["crc"]
        found = decode.checksums(data, positions[new], sizes[new])
        for index in np.flatnonzero(stored != found):
            fine[new[index]] = False
            self._tell(self.start + int(positions[new[index]]),
                       f"stored crc {int(stored[index]):#010x}, computed {int(found[index]):#010x}")
        for index in np.flatnonzero(data[positions + decode.MAGIC_AT] < 2):
            try:
                ensure_valid(_batch(data, int(positions[index]), int(sizes[index])))
            except RecordsError as error:
                fine[index] = False
                self._tell(self.start + int(positions[index]), str(error))
        return fine

    # -- records ----------------------------------------------------------------------------
    def _new_records(self, data: Array, positions: Array, sizes: Array) -> Iterator[pa.RecordBatch]:
        headers = decode.read_headers(data, positions)
        rows = np.cumsum(np.maximum(headers["record_count"].astype(np.int64), 0)) // ROWS
        parts = np.cumsum(sizes) // CHUNK_BYTES
        borders = np.flatnonzero((np.diff(rows) != 0) | (np.diff(parts) != 0)) + 1
        for first, last in zip([0, *borders.tolist()], [*borders.tolist(), len(positions)]):
            if first < last:
                yield from self._chunk(data, positions[first:last], sizes[first:last], headers[first:last])

    def _chunk(self, data: Array, positions: Array, sizes: Array, headers: Array) -> Iterator[pa.RecordBatch]:
        source, starts, ends = self._bodies(data, positions, sizes, headers)
        counts = headers["record_count"].astype(np.int64)
        possible = (counts >= 0) & (counts * SMALLEST_RECORD <= ends - starts)
        counts = np.where(possible, counts, 0)
        places, owners, status = decode.locate_records(source, starts, ends, counts)
        for index in np.flatnonzero((status == BAD_RECORD) & (starts >= 0)):
            self._tell(self.start + int(positions[index]), "its records do not decode: lengths do not fit each other")
        if len(owners):
            chunk = Chunk(self.place, headers, positions + self.start, source, places, owners)
            yield record_columns(chunk, self.schema)

    def _bodies(self, data: Array, positions: Array, sizes: Array, headers: Array) -> tuple[Array, Array, Array]:
        """(bytes, starts, ends) of the uncompressed records; -1, -1 where they cannot be had."""
        codecs = headers["attributes"].astype(np.int64) & 0x07
        if not codecs.any():
            return data, positions + HEADER_SIZE, positions + sizes
        parts, starts, ends, total = [], np.full(len(positions), -1), np.full(len(positions), -1), 0
        for index, (position, size, codec) in enumerate(zip(positions.tolist(), sizes.tolist(), codecs.tolist())):
            try:
                parts.append(decompress(codec, memoryview(data[position + HEADER_SIZE : position + size])))
            except RecordsError as error:
                self._tell(self.start + position, str(error))
                continue
            starts[index], ends[index] = total, total + len(parts[-1])
            total = int(ends[index])
        return np.frombuffer(b"".join(parts) or b"\0", np.uint8), starts, ends

    # -- old formats ------------------------------------------------------------------------
    def _old_records(self, data: Array, positions: Array, sizes: Array) -> Iterator[pa.RecordBatch]:
        rows: list[dict[str, Any]] = []
        for position, size in zip(positions.tolist(), sizes.tolist()):
            shared = self._old_batch(data, position, size)
            try:
                found = decode_records(_batch(data, position, size))
            except RecordsError as error:
                self._tell(self.start + position, str(error))
                continue
            kind = -1 if shared["magic"] == 0 else int(bool(data[position + 17] & 0x08))
            rows += [{**shared, "key": one.key, "value": one.value, "offset": one.offset, "sequence": -1,
                      "timestamp": one.timestamp * 1000, "timestampType": kind} for one in found]
        for first in range(0, len(rows), ROWS):
            yield plain_rows(self.place, rows[first : first + ROWS], self.schema)

    def _old_batch(self, data: Array, position: int, size: int) -> dict[str, Any]:
        header = read_header(memoryview(data), position)
        return {
            "position": position + self.start, "size": size, "base_offset": header.base_offset,
            "last_offset": header.last_offset, "record_count": header.record_count, "leader_epoch": -1,
            "producer_id": -1, "producer_epoch": -1, "base_sequence": -1, "magic": header.magic, "crc": header.crc,
            "codec": NAMES[header.compression] if header.compression < len(NAMES) else "unknown",
            "base_timestamp": header.base_timestamp * 1000, "max_timestamp": header.max_timestamp * 1000,
            "transactional": False, "control": False,
        }  # fmt: skip


def _batch(data: Array, position: int, size: int) -> Batch:
    view = memoryview(data)
    return Batch(read_header(view, position), view[position : position + size], position)


def split(place: SegmentPlace, most: int) -> list[tuple[int, int]]:
    """Parts of at most about `most` bytes that begin at batches; one part when the file is small."""
    if place.size <= most:
        return [(0, place.size)]
    data = np.memmap(place.path, np.uint8, "r", shape=(place.size,))
    positions, _, _, _ = decode.find_batches(data, 0, place.size)
    wanted = np.arange(most, place.size, most)
    at = positions[np.minimum(np.searchsorted(positions, wanted), max(len(positions) - 1, 0))] if len(positions) else []
    borders = sorted({0, *(int(one) for one in at)})
    return list(zip(borders, [*borders[1:], place.size]))
