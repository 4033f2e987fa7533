"""Where an event stands in a journal's file: it is sorted by event number, so halving finds the place."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import orjson

from lab.experiments.directory import JOURNAL

NEAR = 8192
FURTHEST_BACK = 1 << 20


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


def time_before(run: Path, seq: int) -> int:
    """A time at or before that of event `seq`: that of the last row of the journal before it."""
    with open(run / JOURNAL, "rb") as file:
        end = place_behind(file, seq - 1)
        file.seek(max(0, end - FURTHEST_BACK))
        lines = file.read(min(end, FURTHEST_BACK)).splitlines()
    return int(orjson.loads(lines[-1])[1]) if lines and lines[-1].startswith(b"[") else 0
