"""One segment file, or a part of it, as Arrow record batches.

What cannot be read is told, with the byte at which it stands, and reading goes on as far as it can:

| found | told as | then |
|---|---|---|
| a checksum that does not fit | `crc` | the batch is left out, the next is read |
| records that do not decode | what the decoder says | the same |
| a length or magic that cannot be | `no_batch_magic`, `no_batch_length` | the rest is left out, its bytes are counted |
| the file ends inside a batch, or its length is a lie | `batch_cut_of` | the end |
| the file is gone since it was listed | `file_gone` | its bytes are counted |
| the disk or the rights of the user refuse it | `file_unreadable` | the same |

A batch whose base offset or leader epoch was changed on disk is not found: the checksum does not cover them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from broker_core.kernel.problems import Problem, problem
from broker_core.records import Batch, RecordsError, decode_records
from broker_core.records.batch import offsets_of
from broker_core.records.compression import NAMES, decompress
from broker_core.records.header import ensure_valid
from lab.analytics import decode
from lab.analytics.columns import Chunk, batch_columns, instant, plain_rows, record_columns
from lab.analytics.decode import BAD_RECORD, HEADER_SIZE, Array
from lab.analytics.errors import AnalyticsError, kept
from lab.analytics.pieces import Ending, Large, Piece, pieces
from lab.analytics.places import SegmentPlace

ROWS = 32_768
ROOM = 32 * 1024 * 1024
"""Bytes of uncompressed records that are turned into columns at once: well compressed, a piece can hold gigabytes."""
SMALLEST_RECORD = 7


@dataclass(slots=True)
class SegmentReader:
    """Reads bytes `start` to `end` of a segment into rows of `schema`."""

    place: SegmentPlace
    schema: pa.Schema
    start: int = 0
    end: int = -1
    checksums: bool = True
    note: Problem | None = None
    damage: list[dict[str, Any]] = field(default_factory=list)
    wrong: list[Problem] = field(default_factory=list)

    def records(self) -> Iterator[pa.RecordBatch]:
        """Rows of the table `records`, then those that report damage."""
        for piece in self._sound():
            old = piece.old()
            yield from self._old_records(piece.only(old))
            yield from self._new_records(piece.only(~old))
        yield from self._reported()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Rows of the table `batches`, then those that report damage."""
        for piece in self._sound():
            old = piece.old()
            rows = [_old_batch(one) for one in piece.only(old).batches()]
            if rows:
                yield plain_rows(self.place, rows, self.schema)
            if not old.all():
                new = piece.only(~old)
                yield batch_columns(self.place, new.headers(), new.positions + new.at, new.sizes, self.schema)
        yield from self._reported()

    def segment(self) -> Iterator[pa.RecordBatch]:
        """The one row of the table `segments`."""
        row: dict[str, Any] = {
            "size": self.place.size, "base_offset": int(self.place.name.split(".")[0]), "batches": 0, "records": 0,
            "index_size": self._beside(".index"), "time_index_size": self._beside(".timeindex"),
        }  # fmt: skip
        newest: list[int] = []
        for piece in self._sound():
            first, last = piece.only(np.array([0, -1])).batches()
            new, old = piece.only(~piece.old()).headers(), piece.only(piece.old())
            newest += [batch.header.max_timestamp for batch in old.batches()]
            newest = [max([*newest, *([int(new["max_timestamp"].max())] if len(new) else [])])]
            row.setdefault("first_offset", offsets_of(first)[0])
            row["last_offset"] = last.header.last_offset
            row["batches"] += len(piece.positions)
            row["records"] += int(new["record_count"].sum()) + sum(offsets_of(batch)[1] for batch in old.batches())
        error = kept(self._first()) if self.damage else None
        row["max_timestamp"] = instant(newest[0]) if newest and newest[0] >= 0 else None
        yield plain_rows(self.place, [{**row, "damages": len(self.damage), "error": error}], self.schema)

    def _beside(self, suffix: str) -> int | None:
        path = self.place.path.removesuffix(".log") + suffix
        return os.path.getsize(path) if os.path.isfile(path) else None

    # -- damage -----------------------------------------------------------------------------
    def _tell(self, position: int, what: Problem) -> None:
        self.damage.append({"position": position, "error": kept(what)})
        self.wrong.append(what)

    def _first(self) -> Problem:
        place = problem("at_byte", position=self.damage[0]["position"])
        return problem("wrong_in", place=place, what=self.wrong[0])

    def _reported(self) -> Iterator[pa.RecordBatch]:
        if self.note is not None and "error" in self.schema.names:
            self._tell(self.start, self.note)
        if not self.damage:
            return
        if "error" not in self.schema.names:
            what, n = self._first(), len(self.damage)
            raise AnalyticsError(problem("damaged_places", path=self.place.path, what=what, n=n))
        yield plain_rows(self.place, self.damage, self.schema)

    # -- batches ----------------------------------------------------------------------------
    def _sound(self) -> Iterator[Piece]:
        """The batches whose checksum fits, a piece of the file after the other."""
        end = self.place.size if self.end < 0 else self.end
        ending = Ending(self.start)
        try:
            with open(self.place.path, "rb", buffering=0) as file:
                end = min(end, os.fstat(file.fileno()).st_size)
                for piece in pieces(file, self.start, end, ending, self._fits):
                    if self.checksums:
                        piece = piece.only(self._check(piece))
                    if len(piece.positions):
                        yield piece
        except FileNotFoundError:
            self._tell(self.start, problem("file_gone", size=end - self.start))
        except OSError as error:
            what = problem("file_unreadable", why=error.strerror)
            self._tell(ending.at, problem("with_left", what=what, size=end - ending.at))
        else:
            if ending.reason is not None:
                self._tell(ending.at, problem("with_left", what=ending.reason, size=end - ending.at))

    def _fits(self, batch: Large) -> bool:
        """Whether a large batch is what its header says; also without `checksums`: a wrong length may claim it all."""
        stored, found = batch.checksums()
        if stored != found:
            offset = int.from_bytes(batch.head[:8], "big", signed=True)
            what = _unlike(stored, found)
            place = problem("at_batch", offset=offset)
            self._tell(batch.at, problem("wrong_in", place=place, what=what) if batch.old() else what)
        return stored == found

    def _check(self, piece: Piece) -> Array:
        """Which batches fit their checksum; the others are told."""
        fine, old = np.ones(len(piece.positions), bool), piece.old()
        new = piece.only(~old)
        stored, found = new.headers()["crc"], decode.checksums(piece.data, new.positions, new.sizes)
        numbers = np.flatnonzero(~old)
        for index in np.flatnonzero(stored != found):
            fine[numbers[index]] = False
            self._tell(piece.at + int(new.positions[index]), _unlike(int(stored[index]), int(found[index])))
        for index, batch in zip(np.flatnonzero(old), piece.only(old).batches()):
            try:
                ensure_valid(batch)
            except RecordsError as error:
                fine[index] = False
                self._tell(batch.position, error.problem)
        return fine

    # -- records ----------------------------------------------------------------------------
    def _new_records(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        if not len(piece.positions):
            return
        headers = piece.headers()
        rows = np.cumsum(np.maximum(headers["record_count"].astype(np.int64), 0))
        parts = max(1, -(-int(rows[-1]) // ROWS))
        borders = np.flatnonzero(np.diff(rows * parts // (int(rows[-1]) + 1))) + 1
        for first, last in zip([0, *borders.tolist()], [*borders.tolist(), len(rows)]):
            yield from self._chunk(piece.only(slice(first, last)), headers[first:last])

    def _chunk(self, piece: Piece, headers: Array) -> Iterator[pa.RecordBatch]:
        for first, last, source, starts, ends in self._bodies(piece, headers):
            yield from self._columns(piece.only(slice(first, last)), headers[first:last], source, starts, ends)

    def _columns(
        self, piece: Piece, headers: Array, source: Array, starts: Array, ends: Array
    ) -> Iterator[pa.RecordBatch]:
        counts = headers["record_count"].astype(np.int64)
        possible = (counts >= 0) & (counts * SMALLEST_RECORD <= ends - starts)
        places, counts, status = decode.locate_records(source, starts, ends, np.where(possible, counts, 0))
        for index in np.flatnonzero((status == BAD_RECORD) & (starts >= 0)):
            self._tell(piece.at + int(piece.positions[index]), problem("lengths_unlike"))
        if places.shape[1]:
            yield record_columns(Chunk(self.place, headers, piece.positions + piece.at, source, places, counts),
                                 self.schema)

    def _bodies(self, piece: Piece, headers: Array) -> Iterator[tuple[int, int, Array, Array, Array]]:
        """(first batch, last batch + 1, bytes, starts, ends) of uncompressed records, about ROOM bytes at a time;
        starts and ends are -1 where they cannot be had."""
        codecs = headers["attributes"].astype(np.int64) & 0x07
        if not codecs.any():
            yield 0, len(codecs), piece.data, piece.positions + HEADER_SIZE, piece.positions + piece.sizes
            return
        parts: list[bytes] = []
        first, total = 0, 0
        starts, ends = np.full(len(codecs), -1), np.full(len(codecs), -1)
        for index, (codec, batch) in enumerate(zip(codecs.tolist(), piece.batches())):
            try:
                body = decompress(codec, batch.data[HEADER_SIZE:])
            except RecordsError as error:
                self._tell(batch.position, error.problem)
                continue
            if parts and total + len(body) > ROOM:
                yield first, index, _joined(parts), starts[first:index], ends[first:index]
                parts, first, total = [], index, 0
            parts.append(body)
            starts[index], ends[index] = total, total + len(body)
            total += len(body)
        yield first, len(codecs), _joined(parts), starts[first:], ends[first:]

    # -- old formats ------------------------------------------------------------------------
    def _old_records(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        rows: list[dict[str, Any]] = []
        room = ROOM
        for batch in piece.batches():
            shared = _old_batch(batch)
            try:
                found = decode_records(batch)
            except RecordsError as error:
                self._tell(batch.position, error.problem)
                continue
            kind = -1 if shared["magic"] == 0 else int(bool(batch.data[17] & 0x08))
            rows += [{**shared, "key": one.key, "value": one.value, "offset": one.offset, "sequence": -1,
                      "timestamp": instant(one.timestamp), "timestampType": kind} for one in found]
            room -= sum(len(one.value or b"") + len(one.key or b"") for one in found)
            if room < 0 or len(rows) >= ROWS:
                yield plain_rows(self.place, rows, self.schema)
                rows, room = [], ROOM
        if rows:
            yield plain_rows(self.place, rows, self.schema)


def _unlike(stored: int, found: int) -> Problem:
    return problem("crc", given=f"{stored:#010x}", found=f"{found:#010x}")


def _joined(parts: list[bytes]) -> Array:
    return np.frombuffer(b"".join(parts) or b"\0", np.uint8)


def _old_batch(batch: Batch) -> dict[str, Any]:
    header = batch.header
    first, count = offsets_of(batch)
    return {
        "position": batch.position, "size": len(batch.data), "base_offset": first,
        "last_offset": header.last_offset, "record_count": count, "leader_epoch": -1,
        "producer_id": -1, "producer_epoch": -1, "base_sequence": -1, "magic": header.magic, "crc": header.crc,
        "codec": NAMES[header.compression] if header.compression < len(NAMES) else "unknown",
        "base_timestamp": instant(header.base_timestamp), "max_timestamp": instant(header.max_timestamp),
        "transactional": False, "control": False,
    }  # fmt: skip


def split(place: SegmentPlace, most: int) -> list[tuple[int, int]]:
    """Parts of at least `most` bytes that begin at batches; one part when the file is small."""
    if place.size <= most:
        return [(0, place.size)]
    borders = [0]
    try:
        with open(place.path, "rb", buffering=0) as file:
            for piece in pieces(file, 0, place.size, Ending(0)):
                for start in (piece.positions + piece.at).tolist():
                    if start - borders[-1] >= most:
                        borders.append(start)
    except OSError:
        pass  # its reader says so
    return list(zip(borders, [*borders[1:], place.size]))
