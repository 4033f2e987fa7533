"""What a kept receipt holds of one partition: two columns of numbers by offset, packed where nobody works on them.

```
offset     0    1    2    3    4    5
cells      R    R    A    .    !    P        R: acked and read, A: acked, P: read only, !: odd, .: nothing
values     p:0  p:1  p:2       -    q:7
stretches  0 to 3: acknowledged by broker-1 in its first term; 4 to 5: by broker-2
```
An offset is *plain* while one value is known there that is known nowhere else, acknowledged at most once. Everything
else is odd, and judged value by value as of old (`receipt_history`). The letters stand for a producer each: with
`bytearray.count` a million offsets are counted in a millisecond.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from lab.checkers import column

EMPTY, ODD, FOREIGN, PENDING, FIRST = 0, 1, 2, 3, 4
LABELS = (256 - FIRST) // 2
"""So many producers (in each of their lives) have cells of their own."""
BITS = 40
JOINED = 200


class Stretch(NamedTuple):
    """Offsets `first` to `end` (exclusive) were told at `seq`, by `node` where somebody told the producer."""

    first: int
    end: int
    seq: int
    node: str | None
    term: int


class TooMuch(Exception):
    """It cannot be kept in this form: the receipt is judged from the files."""


class Stretches:
    """Stretches in the order in which they were told; one that goes on in the same term is made longer."""

    def __init__(self) -> None:
        self.rows: list[Stretch] = []
        self._next = JOINED

    def add(self, first: int, end: int, seq: int, node: str | None, term: int) -> None:
        """`term`: how many terms of the partition had begun by then."""
        last = self.rows[-1] if self.rows else None
        if last is not None and (last.end, last.node, last.term) == (first, node, term):
            self.rows[-1] = last._replace(end=end)
            return
        self.rows.append(Stretch(first, end, seq, node, term))
        if len(self.rows) > self._next:
            self._join()
            self._next = 2 * len(self.rows) + JOINED

    def _join(self) -> None:
        """What came out of order, but of one term, in one."""
        joined: list[Stretch] = []
        for one in sorted(self.rows, key=lambda row: (row.term, row.node or "", row.first)):
            last = joined[-1] if joined else None
            if last is not None and (last.end, last.node, last.term) == (one.first, one.node, one.term):
                joined[-1] = last._replace(end=one.end, seq=min(last.seq, one.seq))
            else:
                joined.append(one)
        self.rows = joined

    def at(self, offset: int) -> Stretch:
        """The last one that holds an offset."""
        return next(one for one in reversed(self.rows) if one.first <= offset < one.end)


class KeptLog:
    """One partition.

    * `latest`: the largest number of each label that was read so far, in the order of offsets; `top`: up to where
    * `behind`: offset -> the larger number of the same label that was read below it
    * `passed`: the largest offset at which something plain was read
    * `late`: something was read below `top` for the first time: the order has to be gone through again
    """

    def __init__(self) -> None:
        self.cells = column.small()
        self.values = column.large()
        self.acks = Stretches()
        self.reads = Stretches()
        self.latest: dict[int, int] = {}
        self.largest: dict[int, int] = {}
        self.behind: dict[int, int] = {}
        self.top = self.passed = -1
        self.late = False

    def put(self, offset: int, cell: int, values: array[int]) -> None:
        """One cell for all these values, from an offset on."""
        self.cells.write(offset, bytearray([cell]) * len(values))
        self.values.write(offset, values)

    def paint(self, offset: int, count: int, cell: int) -> None:
        """One cell for so many offsets."""
        self.cells.write(offset, bytearray([cell]) * count)

    def has_only(self, cell: int, offset: int, count: int) -> bool:
        """Whether it stands at so many offsets."""
        return self.cells.read(offset, offset + count).count(cell) == count

    def known_between(self, one: int, other: int) -> int:
        """By how many known offsets `other` is behind `one`; negative when it is before."""
        if other < one:
            return -self.known_between(other, one)
        return other - one - self.count(EMPTY, one, other)

    def count(self, cell: int, first: int, end: int) -> int:
        """How often a cell is there between two offsets."""
        return self.cells.count(cell, first, end)

    def plain(self, first: int, end: int) -> Iterator[int]:
        """Offsets of acknowledged plain values between two."""
        for begin, piece in self.cells.pieces(first, end):
            for offset, cell in enumerate(piece, begin):
                if cell >= FIRST:
                    yield offset

    def find(self, value: int) -> int | None:
        """The offset of a plain value, if it is here."""
        wanted = array("q", [value]).tobytes()
        for first, part in self.values.pieces():
            content, at = part.tobytes(), -1
            while (at := content.find(wanted, at + 1)) >= 0:
                if at % 8 == 0 and self.cells[first + at // 8] not in (EMPTY, ODD):
                    return first + at // 8
        return None


def edges_in(marks: list[int], first: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a stretch between those marks that lie in it."""
    inner = sorted({first, *(mark for mark in marks if first < mark < end)})
    yield from zip(inner, [*inner[1:], end], strict=True)

