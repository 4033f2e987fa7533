"""Where a run's files differ from what its execution gives: each place is named, with what was expected there.

| problem | says |
|---|---|
| differs_line | journal or operations, from this line on: what was expected, what stands there |
| differs_byte | another file, from this byte on, in hex |
| missing_file, cut_file, long_file, extra_file | how many bytes there should be, and are |
| differs_fact | a key of run.json, as `receipt.producers.producer-a.lost` |

Of each file only the first place is told: what stands behind it may just be shifted. Files are read a piece at a time,
however large they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from broker_core.kernel.problems import Problem, problem

PIECE = 1 << 20
SHOWN = 400
HEX_SHOWN = 16
NOTHING = "-"
_GONE = object()


class Against:
    """Takes what an execution gives for one file, in pieces, and holds it against the file of the run.

    * `lines`: it is text, and each piece consists of whole lines

    Invariants
        * until the first difference `size` bytes and `line` lines are equal
    """

    def __init__(self, run: Path, name: str, lines: bool) -> None:
        self.name = name
        self.lines = lines
        self.size = 0
        self.line = 0
        self._found: Problem | None = None
        self._ended_at: int | None = None
        self._file: BinaryIO | None = open(run / name, "rb") if (run / name).is_file() else None

    def take(self, piece: bytes) -> None:
        """The next bytes that are expected."""
        before, self.size = self.size, self.size + len(piece)
        if self._file is None or self._found is not None or self._ended_at is not None:
            return
        there = self._file.read(len(piece))
        if there == piece:
            self.line += piece.count(b"\n") if self.lines else 0
        elif piece.startswith(there):
            self._ended_at = before + len(there)
        else:
            self._found = self._line(piece, there) if self.lines else self._byte(piece, there, before)

    def _line(self, piece: bytes, there: bytes) -> Problem:
        assert self._file is not None
        there += self._file.readline(PIECE)
        pairs = zip_longest(piece.split(b"\n"), there.split(b"\n"), fillvalue=b"")
        index, (wanted, found) = next((at, pair) for at, pair in enumerate(pairs) if pair[0] != pair[1])
        number = self.line + index + 1
        return problem("differs_line", path=self.name, n=number, wanted=_text(wanted), found=_text(found))

    def _byte(self, piece: bytes, there: bytes, before: int) -> Problem:
        at = next((index for index, pair in enumerate(zip(piece, there, strict=False)) if pair[0] != pair[1]), 0)
        wanted, found = (one[at : at + HEX_SHOWN].hex(" ") for one in (piece, there))
        return problem("differs_byte", path=self.name, position=before + at, wanted=wanted, found=found)

    def end(self) -> Problem | None:
        """Nothing more is expected."""
        if self._file is None:
            return problem("missing_file", path=self.name, expected=self.size)
        rest = self._file.read(1)
        self._file.close()
        if self._found is not None:
            return self._found
        if self._ended_at is not None:
            return problem("cut_file", path=self.name, position=self._ended_at, expected=self.size)
        return problem("long_file", path=self.name, expected=self.size) if rest else None


def _text(line: bytes) -> str:
    return line[:SHOWN].decode(errors="replace")


def of_file(run: Path, name: str, again: Path, lines: bool = False) -> Problem | None:
    """The first difference of a run's file from the one of its execution."""
    against = Against(run, name, lines)
    with open(again / name, "rb") as file:
        while piece := b"".join(file.readlines(PIECE)) if lines else file.read(PIECE):
            against.take(piece)
    return against.end()


def of_disks(run: Path, again: Path, nodes: list[str]) -> Iterator[Problem]:
    """Those of the disks that a simulated run has left, and files that nobody wrote."""
    wanted, there = (_files(root, nodes) for root in (again, run))
    for name in wanted:
        found = of_file(run, name, again)
        if found is not None:
            yield found
    for name in sorted(set(there) - set(wanted)):
        yield problem("extra_file", path=name)


def _files(root: Path, nodes: list[str]) -> list[str]:
    found = [path for node in nodes for path in (root / node).rglob("*") if not path.is_dir() or path.is_symlink()]
    return sorted(path.relative_to(root).as_posix() for path in found)


def of_facts(wanted: Any, found: Any, path: str, key: str = "") -> Iterator[Problem]:
    """Leaves of what was read as JSON that are not what they should be; `path` is the file."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for name in dict.fromkeys([*wanted, *found]):
            inner = f"{key}.{name}" if key else name
            yield from of_facts(wanted.get(name, _GONE), found.get(name, _GONE), path, inner)
    elif isinstance(wanted, list) and isinstance(found, list):
        for index, (one, other) in enumerate(zip_longest(wanted, found, fillvalue=_GONE)):
            yield from of_facts(one, other, path, f"{key}[{index}]")
    elif _json(wanted) != _json(found):
        yield problem("differs_fact", path=path, key=key, wanted=_json(wanted), found=_json(found))


def _json(value: Any) -> str:
    """True is not 1, and 1 is not 1.0."""
    return NOTHING if value is _GONE else _text(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
