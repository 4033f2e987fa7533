"""A segment file in pieces of whole batches.

A piece is small enough to stay in the processor's cache from the checksum to the columns. All pieces of a file lie in
one buffer, one after the other: what was made of a piece must not point into it. A file is read, not mapped: its broker
may cut it at any time, and to touch a page that is gone ends the process.

A header may lie about the length. Of a batch that is larger than a piece the body comes into memory only when it is
wanted and its checksum, computed on the way through the file, fits; and what claims to reach behind the end of the file
ends the reading there, as it does for Kafka's recovery of a log (`FileLogInputStream.nextBatch`).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from crc32c import crc32c

from broker_core.kernel.problems import Problem, problem
from broker_core.records import Batch, read_header
from lab.analytics import decode
from lab.analytics.decode import BAD_MAGIC, CUT, HEADER_SIZE, MAGIC_AT, WHOLE, Array

PIECE = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Piece:
    """Batches: `positions` and `sizes` in `data`, which begins at byte `at` of the file."""

    data: Array
    at: int
    positions: Array
    sizes: Array

    def only(self, chosen: Array | slice) -> Piece:
        """Some of the batches."""
        return Piece(self.data, self.at, self.positions[chosen], self.sizes[chosen])

    def old(self) -> Array:
        """Which are messages of magic 0 and 1."""
        magics: Array = self.data[self.positions + MAGIC_AT]
        return magics < 2

    def headers(self) -> Array:
        """The headers; all must be of magic 2."""
        return decode.read_headers(self.data, self.positions)

    def batches(self) -> Iterator[Batch]:
        """One batch after the other, with its position in the file."""
        view = self.data.data
        for position, size in zip(self.positions.tolist(), self.sizes.tolist()):
            yield Batch(read_header(view, position), view[position : position + size], position + self.at)


@dataclass(slots=True)
class Ending:
    """Where whole batches ended, and why; no reason when it was at the end. `may_go_on`: half a batch stands there, or
    room that was allocated ahead."""

    at: int
    reason: Problem | None = None
    may_go_on: bool = True


@dataclass(frozen=True, slots=True)
class Large:
    """A batch that is larger than a piece: `size` bytes from byte `at` of the file, and the bytes it begins with."""

    file: io.FileIO
    at: int
    size: int
    head: memoryview

    def old(self) -> bool:
        """Whether it is a message of magic 0 or 1."""
        return self.head[MAGIC_AT] < 2

    def checksums(self) -> tuple[int, int]:
        """(stored, computed), a piece of the file at a time."""
        place, covers, update = (12, 16, crc32) if self.old() else (17, 21, crc32c)
        computed, room = 0, bytearray(min(PIECE, self.size))
        self.file.seek(self.at + covers)
        left = self.size - covers
        while left and (count := self.file.readinto(memoryview(room)[:left])):
            computed = update(memoryview(room)[:count], computed)
            left -= count
        return int.from_bytes(self.head[place : place + 4], "big"), computed


def pieces(
    file: io.FileIO, start: int, end: int, ending: Ending, wanted: Callable[[Large], bool] | None = None
) -> Iterator[Piece]:
    """The whole batches of the bytes `start` to `end`; `ending` is filled in when they are through.

    `wanted` is asked about each batch that is larger than a piece, and those that it refuses are passed over. Without
    it they come as a piece with their header only, for who asks where batches stand.
    """
    data = np.empty(max(min(max(PIECE, HEADER_SIZE), end - start), 1), np.uint8)
    at, there, how, claimed = start, 0, WHOLE, 0
    while how in (WHOLE, CUT) and at + there < end:
        file.seek(at + there)
        count = file.readinto(data.data[there : end - at])
        if not count:
            break  # the file was cut since its size was asked for
        positions, sizes, stopped, how = decode.find_batches(data, 0, there + count)
        if stopped:
            yield Piece(data, at, positions, sizes)
        there += count - stopped
        data[:there] = data[stopped : stopped + there]
        at += stopped
        ending.at = at
        claimed = decode.size_of(data) if how == CUT and there > MAGIC_AT else 0
        if claimed > end - at:
            break
        if claimed > len(data):
            if wanted is None:
                yield Piece(data, at, np.array([0]), np.array([claimed]))
            elif wanted(Large(file, at, claimed, data.data[:there])):
                data = np.concatenate([data[:there], np.empty(claimed - there, np.uint8)])
                continue
            at, there, how = at + claimed, 0, WHOLE
            ending.at = at
    if there:
        ending.reason = _reason(how, claimed)
        ending.may_go_on = how in (WHOLE, CUT)
        if not data[:there].any() and _is_zeros(file, at + there, end):
            ending.reason, ending.may_go_on = problem("zeros"), True


def _reason(how: int, claimed: int) -> Problem:
    if how == CUT:
        return problem("batch_cut_of", size=claimed) if claimed else problem("batch_cut")
    return problem("no_batch_magic") if how == BAD_MAGIC else problem("no_batch_length")


def _is_zeros(file: io.FileIO, start: int, end: int) -> bool:
    file.seek(start)
    while start < end and (content := file.read(min(PIECE, end - start))):
        if content.strip(b"\0"):
            return False
        start += len(content)
    return True
