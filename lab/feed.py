"""The journal as viewers get it: batches of events, serialised once for all of them.

A batch's text is a JSON array of rows `[seq, dt, code, node, cause, {params}]`, dt in microseconds
behind `t0`. While the journal sums events up, a `marks` row (not part of the journal) carries the
end offset and the high watermark of every replica that moved, so that no viewer falls behind. A few times a
second a `progress` row (not part of the journal) carries what clients have done and what pipelines hold. When an
invariant's light turns red, a `lights` row (not part of the journal, either) carries the lights that turned. `among`
puts further rows between those of the journal (`stops`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from broker_core.kernel.journal import Journal, Row

_OPTIONS = orjson.OPT_NON_STR_KEYS
PROGRESS_EVERY = 5
"""Flushes between two looks at the clients."""


@dataclass(slots=True, frozen=True)
class Batch:
    """Events `first`..`last` (sequence numbers), between `t0` and `t1` microseconds."""

    first: int
    last: int
    t0: int
    t1: int
    text: str
    count: int


Subscriber = Callable[[Batch], None]


def rows_text(rows: list[Row], t0: int) -> str:
    """Rows as the wire carries them, their times counted from `t0`."""
    shaped = [(seq, t - t0, code, node, cause, params) for seq, t, node, code, cause, params in rows]
    return orjson.dumps(shaped, option=_OPTIONS).decode()


class JournalFeed:
    """Collects rows while somebody looks on; `flush` hands them out as one batch."""

    def __init__(
        self, journal: Journal, marks: Callable[[], dict[str, Any]], lights: Callable[[], dict[str, Any]] | None = None,
        progress: Callable[[], dict[str, Any]] | None = None, among: Callable[[list[Row]], list[Row]] = list,
    ) -> None:  # fmt: skip
        self.journal = journal
        self.marks = marks
        self.lights = lights
        self.progress = progress
        self.among = among
        self._flushes = 0
        self._told: dict[str, Any] = {}
        self._rows: list[Row] = []
        self._subscribers: dict[int, Subscriber] = {}

    def subscribe(self, token: int, subscriber: Subscriber) -> None:
        """From now on `subscriber` gets each batch, on the world's thread."""
        if not self._subscribers:
            self.journal.watchers.append(self._take)
        self._subscribers[token] = subscriber

    @property
    def watched(self) -> bool:
        """Whether anybody gets batches."""
        return bool(self._subscribers)

    def unsubscribe(self, token: int) -> None:
        if self._subscribers.pop(token, None) is not None and not self._subscribers:
            self.journal.watchers.remove(self._take)
            self._rows.clear()

    def _take(self, row: Row) -> None:
        self._rows.append(row)

    @property
    def waiting(self) -> bool:
        """Whether a flush would hand anything out."""
        return bool(self._rows) or (bool(self._subscribers) and self.journal.summing)

    def flush(self, seq: int, now_us: int) -> None:
        """Hand out what has come together."""
        rows, self._rows = self._rows, []
        if not self._subscribers:
            return
        rows = self.among(rows)
        if self.journal.summing:
            rows.append((seq, now_us, "world", "marks", 0, self.marks()))
        moved = self._moved()
        if moved:
            rows.append((seq, now_us, "world", "progress", 0, moved))
        turned = self.lights() if self.lights is not None else None
        if turned:
            rows.append((seq, now_us, "world", "lights", 0, turned))
        if not rows:
            return
        batch = Batch(rows[0][0], rows[-1][0], rows[0][1], rows[-1][1], rows_text(rows, rows[0][1]), len(rows))
        for subscriber in list(self._subscribers.values()):
            subscriber(batch)

    def _moved(self) -> dict[str, Any] | None:
        """What clients and pipelines show, when it is time to look and something is another than before."""
        self._flushes += 1
        if self.progress is None or self._flushes % PROGRESS_EVERY:
            return None
        now = self.progress()
        if now == self._told:
            return None
        self._told = now
        return now

    def since(self, seq: int) -> str | None:
        """Rows behind `seq` with absolute times; None when some of them are no longer in memory."""
        tail = self.journal.tail
        if not tail or (tail[0][0] > seq + 1 and self.journal.count > len(tail)):
            return None
        index = len(tail)
        while index > 0 and tail[index - 1][0] > seq:
            index -= 1
        return rows_text(self.among(list(islice(tail, index, None))), 0)
