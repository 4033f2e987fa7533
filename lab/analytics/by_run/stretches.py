"""Which places are in the log that counts, looked up one by one in what `standing.Stretches` has folded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from lab.analytics.standing import Row, Stretches

Partition = tuple[str, int]


class Stood(NamedTuple):
    """What is left of a place: `stand` and `reign` as in `fates`; compacted up to `cleaned`."""

    stand: str
    reign: int | None
    cleaned: int | None


class Stands:
    """Asks about one run."""

    def __init__(self, stretches: Stretches) -> None:
        self._written = _placed(stretches.written_rows())
        self._counting = _placed(stretches.counting_rows())
        self._lines = {place: found[0] for place, found in _placed(stretches.lines_rows()).items()}
        self._thin = _placed(stretches.thin_rows())
        self._damaged = _placed(stretches.damaged_rows())

    def __call__(self, partition: Partition, offset: int, seq: int, node: str | None) -> Stood:
        """Of what was written (or read) at an offset, as row `seq` of the journal told."""
        line = self._lines.get(partition)
        if line is None:
            return Stood("unknown", None, None)
        life, start, cleaned = line
        reign, written_life = self._writer(partition, max(offset, 0), seq, node)
        return Stood(self._stand(partition, offset, reign, written_life, life, start), reign, cleaned)

    def _writer(self, partition: Partition, offset: int, seq: int, node: str | None) -> tuple[int | None, int | None]:
        anybodys: tuple[int | None, int | None] = None, None
        for whose, since, until, first, last, reign, life in self._written.get(partition, ()):
            if since <= seq < until and first <= offset < last:
                if whose and whose == node:
                    return reign, life
                if not whose:
                    anybodys = reign, life
        return anybodys

    def _stand(self, partition: Partition, offset: int, reign: int | None, written: int | None, life: int,
               start: int) -> str:  # fmt: skip
        if written is not None and written != life:
            return "removed"
        if offset < 0 or written is None:
            return "unknown"
        for first, last, one in self._counting.get(partition, ()):
            if one == reign and first <= offset < last:
                return "removed" if offset < start else "there"
        return "cut"

    def thin(self, partition: Partition, offset: int, reign: int | None) -> int | None:
        """On how many disks a place is, where these are too few."""
        for first, last, one, copies in self._thin.get(partition, ()):
            if one == reign and first <= offset < last:
                return int(copies)
        return None

    def is_damaged(self, partition: Partition, offset: int) -> bool:
        """Whether somebody's copy of it cannot be trusted."""
        return any(first <= offset < last for first, last in self._damaged.get(partition, ()))


def _placed(rows: Iterable[Row]) -> dict[Partition, list[Any]]:
    """Rows (run, topic, partition, ...) by partition."""
    found: dict[Partition, list[Any]] = {}
    for row in rows:
        found.setdefault((row[1], row[2]), []).append(row[3:])
    return found
