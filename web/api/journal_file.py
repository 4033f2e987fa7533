"""Pages of a journal's file from any event on.

Rows of one event share its number (`kernel.journal`); a page of rows therefore never ends inside one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from lab.experiments.journal_file import place_behind

SCAN = 50_000
CHUNK = 256 * 1024


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events are asked for; what is left out is any. A row that names several partitions or topics is about each
    of them."""

    codes: frozenset[str] = frozenset()
    topic: str | None = None
    partition: int | None = None
    node: str | None = None

    def admits(self, row: list[Any]) -> bool:
        """Of a row as the wire has it."""
        _, _, code, node, _, params = row
        return (
            (not self.codes or code in self.codes)
            and (self.node is None or node == self.node)
            and (self.topic is None or _about(params, "topic", self.topic))
            and (self.partition is None or _about(params, "partition", self.partition))
        )


def _about(params: dict[str, Any], key: str, value: str | int) -> bool:
    if key in params:
        return bool(params[key] == value)
    several = params.get(f"{key}s")
    return isinstance(several, (list, dict)) and value in several


@dataclass(slots=True)
class Page:
    """Rows as the wire has them, `[seq, t, code, node, cause, params]`, and where the next page begins."""

    rows: list[list[Any]] = field(default_factory=list)
    next: int = 0
    more: bool = False


def page_of(rows: Iterable[list[Any]], since: int, limit: int, wanted: Wanted) -> Page:
    """At most `limit` rows behind `since`; looks at about `SCAN` rows. All rows of a number stand on one page: only
    where a single one has more than `limit` the page is longer."""
    page = Page(next=since)
    whole, before = 0, since  # rows of whole numbers, and the last of these
    for looked, row in enumerate(rows):
        if row[0] != page.next:
            whole, before = len(page.rows), page.next
            page.next = row[0]
            if whole >= limit or looked >= SCAN:
                page.more = True
                break
        if wanted.admits(row):
            page.rows.append(row)
            if whole and len(page.rows) > limit:
                page.more = True
                break
    if page.more:
        del page.rows[whole:]
        page.next = before
    return page


def read_page(path: Path, since: int, limit: int, wanted: Wanted) -> Page:
    """The same of a journal's file."""
    with open(path, "rb") as file:
        file.seek(place_behind(file, since))
        return page_of(_rows(file), since, limit, wanted)


def _rows(file: BinaryIO) -> Iterator[list[Any]]:
    for line in file:
        if not line.endswith(b"\n"):
            return
        seq, t, node, code, cause, params = orjson.loads(line)
        yield [seq, t, code, node, cause, params]


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
