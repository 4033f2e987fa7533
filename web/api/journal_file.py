"""Reading a journal's file from any event on: it is sorted by event number, so halving finds the place.

Rows of one event share its number (`kernel.journal`); a page of rows therefore never ends inside one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import orjson

NEAR = 8192
SCAN = 50_000
CHUNK = 256 * 1024


@dataclass(slots=True)
class Page:
    """Rows as the wire has them, `[seq, t, code, node, cause, params]`, and where the next page begins."""

    rows: list[list[Any]] = field(default_factory=list)
    next: int = 0
    more: bool = False


def place_behind(file: BinaryIO, seq: int) -> int:
    """Where the first row behind event `seq` begins.

    * rows that begin below `low` are at or before `seq`; those that begin at `high` or above are behind it
    """
    low, high = 0, file.seek(0, 2)
    while high - low > NEAR:
        middle = (low + high) // 2
        file.seek(middle - 1)
        file.readline()
        start = file.tell()
        line = file.readline()
        if start >= high or not line.endswith(b"\n") or _seq(line) > seq:
            high = middle
        else:
            low = start + len(line)
    file.seek(low)
    for line in file:
        if not line.endswith(b"\n") or _seq(line) > seq:
            break
        low += len(line)
    return low


def _seq(line: bytes) -> int:
    """`[17,...` begins with the number."""
    return int(line[1 : line.index(b",")])


def read_page(path: Path, since: int, limit: int, codes: frozenset[str] = frozenset()) -> Page:
    """About `limit` rows behind `since`, of these codes only when some are given; looks at `SCAN` rows at most."""
    page = Page(next=since)
    with open(path, "rb") as file:
        file.seek(place_behind(file, since))
        for looked, line in enumerate(file):
            if not line.endswith(b"\n"):
                break
            seq, t, node, code, cause, params = orjson.loads(line)
            if (len(page.rows) >= limit or looked >= SCAN) and seq != page.next:
                page.more = True
                break
            page.next = seq
            if not codes or code in codes:
                page.rows.append([seq, t, code, node, cause, params])
    return page


def whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """The rest of a file in pieces that end with a line's end; a line that is being written is left out."""
    kept = b""
    while piece := file.read(CHUNK):
        head, newline, tail = piece.rpartition(b"\n")
        if newline:
            yield kept + head + newline
            kept = tail
        else:
            kept += piece
