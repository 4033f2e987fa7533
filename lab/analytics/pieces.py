"""A segment file in pieces of whole batches.

A piece is small enough to stay in the processor's cache from the checksum to the columns. All pieces of a file lie in
one buffer, one after the other: what was made of a piece must not point into it. A file is read, not mapped: its broker
may cut it at any time, and to touch a page that is gone ends the process.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from broker_core.records import Batch, read_header
from lab.analytics import decode
from lab.analytics.decode import BAD_MAGIC, CUT, MAGIC_AT, WHOLE, Array

PIECE = 4 * 1024 * 1024
_ENDINGS = {CUT: "the file ends inside a batch", BAD_MAGIC: "no batch begins here: unknown magic"}


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
        return self.data[self.positions + MAGIC_AT] < 2

    def headers(self) -> Array:
        """The headers; all must be of magic 2."""
        return decode.read_headers(self.data, self.positions)

    def batches(self) -> Iterator[Batch]:
        """One batch after the other, with its position in the file."""
        view = memoryview(self.data)
        for position, size in zip(self.positions.tolist(), self.sizes.tolist()):
            yield Batch(read_header(view, position), view[position : position + size], position + self.at)


@dataclass(slots=True)
class Ending:
    """Where whole batches ended, and why; no reason when it was at the end. `may_go_on`: half a batch stands there, or
    room that was allocated ahead."""

    at: int
    reason: str | None = None
    may_go_on: bool = True


def pieces(file: io.FileIO, start: int, end: int, ending: Ending) -> Iterator[Piece]:
    """The whole batches of the bytes `start` to `end`; `ending` is filled in when they are through."""
    data = np.empty(max(min(PIECE, end - start), 1), np.uint8)
    at, there, how = start, 0, WHOLE
    while how in (WHOLE, CUT) and at + there < end:
        if there == len(data):
            data = np.concatenate([data, np.empty_like(data)])
        file.seek(at + there)
        count = file.readinto(memoryview(data)[there : end - at])
        if not count:
            break  # the file was cut since its size was asked for
        positions, sizes, stopped, how = decode.find_batches(data, 0, there + count)
        if stopped:
            yield Piece(data, at, positions, sizes)
        there += count - stopped
        data[:there] = data[stopped : stopped + there]
        at += stopped
        ending.at = at
    ending.at = at
    if there:
        ending.reason = _ENDINGS.get(how, "no batch begins here: impossible length")
        ending.may_go_on = how in (WHOLE, CUT)
        if not data[:there].any() and _is_zeros(file, at + there, end):
            ending.reason, ending.may_go_on = "zeros up to the end of the file", True


def _is_zeros(file: io.FileIO, start: int, end: int) -> bool:
    file.seek(start)
    while start < end and (content := file.read(min(PIECE, end - start))):
        if content.strip(b"\0"):
            return False
        start += len(content)
    return True
