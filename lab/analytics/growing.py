"""How far files that grow have been read: what a stream over segments remembers between two looks.

A stream's offset holds for each file `{"from": a, "bytes": b, "marks": [[begin, end, checksum], ...]}`: this step reads
the bytes a to b, and the marks are some batches in front of b, the last one always.

| the file | the next step |
|---|---|
| has more whole batches | reads on from b |
| ends inside a batch, or in zeros that were allocated ahead | waits in front of them |
| ends like that, but a newer segment stands beside it | takes what is left, whose reader tells the damage |
| was cut by its broker (it may have grown again since) | goes back to the last mark that still stands, and says so |
| is gone before a step that was decided on | the bytes that were not read are told |

A cut is found because the last mark is not there any more: a batch that stands in its place has another checksum.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np

from lab.analytics.pieces import PIECE, Ending, pieces
from lab.analytics.places import SegmentPlace

MARKS = 8
Step = dict[str, Any]


def look(place: SegmentPlace, before: Step | None, size: int, most: int | None = None, sealed: bool = False) -> Step:
    """The step behind `before`; `before` itself when there is nothing to do. `size`: what counts of the file; `sealed`:
    nothing is appended any more."""
    if before is None:
        before = {"from": 0, "bytes": 0, "marks": []}
    marks = _standing(place.path, before["marks"], size)
    cut = len(marks) < len(before["marks"])
    begin = (marks[-1][1] if marks else 0) if cut else before["bytes"]
    ends = _ends(place.path, begin, size, most, sealed)
    if not ends and not cut:
        return before
    if ends:
        marks = _thinned([*marks, *([_mark(place.path, *ends[-2:])] if len(ends) > 1 else [])])
    return {"from": begin, "bytes": ends[-1] if ends else begin, "marks": marks}


def _standing(path: str, marks: list[list[int]], size: int) -> list[list[int]]:
    """The marks up to the last one that is still there."""
    for count in range(len(marks), 0, -1):
        begin, end, checksum = marks[count - 1]
        if end <= size and _mark(path, begin, end)[2] == checksum:
            return marks[:count]
    return []


def _mark(path: str, begin: int, end: int) -> list[int]:
    with open(path, "rb") as file:
        file.seek(begin)
        checksum, left = 0, end - begin
        while part := file.read(min(PIECE, left)):
            checksum, left = crc32(part, checksum), left - len(part)
        return [begin, end, checksum]


def _thinned(marks: list[list[int]]) -> list[list[int]]:
    """Some marks: the newer the closer."""
    return marks if len(marks) <= MARKS else [*marks[: MARKS // 2 : 2], *marks[-(MARKS - 2) :]]


def _ends(path: str, begin: int, size: int, most: int | None, sealed: bool) -> list[int]:
    """Where what can be read now ends, with the beginning of the last batch before it; [] when there is nothing new.
    Piece by piece: what nobody has read yet may be a whole disk. A first batch is taken be it larger than `most`."""
    if size <= begin:
        return []
    found: list[int] = []
    ending = Ending(begin)
    with open(path, "rb", buffering=0) as file:
        for piece in pieces(file, begin, size, ending):
            starts = piece.positions + piece.at
            ends = starts + piece.sizes
            fit = len(ends) if most is None else int(np.searchsorted(ends, begin + most, "right"))
            if fit or not found:
                last = max(fit, 1) - 1
                found = [int(starts[last]), int(ends[last])]
            if fit < len(ends):
                return found
    whole = ending.reason is None or (ending.may_go_on and not sealed)
    return found if whole else [size]  # damage: it is told once
