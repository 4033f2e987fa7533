"""The story of a run so far, for a viewer who comes when its events are no longer loaded.

A page begins with the last events of the journal. After minutes of heavy load these are messages alone, and the death
that it all began with is far behind them. So of each kind of state transition the last `KEPT` are held: a thousand
segments that rolled push no death out.

    seq      812             813            90 211           90 240
    code     process_ended   isr_shrunk     segment_rolled   segment_rolled  ...  of each code its newest
"""

from __future__ import annotations

from collections import deque
from heapq import merge

from broker_core.kernel.journal import Row
from broker_core.kernel.world import World

KEPT = 30


class Told:
    """Everything on the world's thread. Listening changes nothing in the world."""

    def __init__(self, world: World) -> None:
        self._rows: dict[str, deque[Row]] = {}
        world.journal.transition_watchers.append(self._take)

    def _take(self, row: Row) -> None:
        held = self._rows.get(row[3])
        if held is None:
            held = self._rows[row[3]] = deque(maxlen=KEPT)
        held.append(row)

    def upto(self, seq: int) -> list[Row]:
        """Up to event `seq`, in the order in which they happened: nearly, rows of one event stand by their code."""
        return [row for row in merge(*self._rows.values(), key=lambda row: row[0]) if row[0] <= seq]

    def inherit(self, rows: list[Row]) -> None:
        """What a course has in common with the run that it goes on from."""
        for row in rows:
            self._take(row)
