"""What clients had done and pipelines held at the moments of a course: figures that no event of the journal carries.

    t       0.00   0.25   0.50   0.75 ...     a look at most every EVERY_US of virtual time
    acked   0      41     99     99           one that is like the last is not kept

A broker's end has one more in front of it, whenever it is; so have other turns of a story, at most every TURN_US.

While a busy second is summed up no event tells where logs end: then the marks of those that have moved stand with the
figures ("marks", as in the feed of a live run), if there are not more than `MOST_LOGS`.

Kept beside the journal, so its bytes do not depend on who looks on, and handed out with the past
(`Branch.history`). Never more than `KEPT`: of the older half every second look goes.
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import merge
from typing import Any

import orjson

from broker_core.kernel import events
from broker_core.kernel.journal import Row
from broker_core.kernel.names import is_broker
from broker_core.kernel.world import World
from lab.clusters.observe import brokers, observe_marks, partitions_of
from lab.clusters.progress import CLIENT_KINDS, observe_progress, shown

EVERY_US = 250_000
TURN_US = 20_000
TURNS = frozenset(code.name for code in (
    events.CONTROLLER_ELECTED, events.LEADER_ELECTED, events.ISR_SHRUNK, events.ISR_EXPANDED, events.TRUNCATED,
))  # fmt: skip
"""Where one stops to look, so that what clients had done must not be older than what the logs hold."""
KEPT = 2000
MOST_LOGS = 1000


class Figures:
    """Everything on the world's thread. Looking changes nothing in the world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rows: list[Row] = []
        self._next_us = self._turn_us = 0
        self._last = b""
        self._machines: dict[str, Any] = {}
        self._ended: dict[str, dict[str, Any]] = {}
        self._summed = False
        self._marks: dict[str, dict[str, list[int]]] = {}
        self.attach()

    def attach(self) -> None:
        """Watch; a world that was pickled knows nobody who watches any more."""
        self.world.journal.transition_watchers.append(self._take)

    def __getstate__(self) -> dict[str, Any]:
        """Without the rows of the past: whoever goes on from a snapshot has them from the run that it is of."""
        return {**self.__dict__, "rows": [], "_last": b""}

    def _take(self, row: Row) -> None:
        """The machine of a client that has ended is gone: what it had done by then is noted. When a broker ends, what
        all had done is noted in front of it: at that moment acknowledged records are counted against lost ones. So
        it is where somebody is elected, or an ISR changes."""
        seq, t_us, name, code = row[:4]
        self._summed |= code == events.SUMMED_UP.name
        if code in TURNS and t_us >= self._turn_us:
            self._turn_us = t_us + TURN_US
            self._note(seq - 1, t_us)
        if code != events.PROCESS_ENDED.name:
            return
        if name in self._machines:
            self._ended[name] = self._machines.pop(name).view()
            self._next_us = 0
        elif is_broker(name):
            self._note(seq - 1, t_us)

    def look(self) -> None:
        """Note the figures when it is time to."""
        world = self.world
        if world.now_us < self._next_us:
            return
        self._next_us = world.now_us + EVERY_US
        self._note(world.seq, world.now_us)

    def _note(self, seq: int, t_us: int) -> None:
        text = orjson.dumps({**self.now(), **self._moved()}, option=orjson.OPT_NON_STR_KEYS)
        if text == self._last:
            return
        self._last = text
        self.rows.append(_row(seq, t_us, text))
        if len(self.rows) > KEPT:
            del self.rows[1 : KEPT // 2 : 2]

    def _moved(self) -> dict[str, Any]:
        """{"marks": those of the logs that have moved}, if events of late were summed up."""
        world = self.world
        if not (self._summed or world.journal.summing):
            return {}
        self._summed = False
        if sum(len(partitions_of(node)) for _, node in brokers(world)) > MOST_LOGS:
            return {}
        before, self._marks = self._marks, observe_marks(world)
        moved = {name: marks for name, marks in self._marks.items() if marks != before.get(name)}
        return {"marks": moved} if moved else {}

    def inherit(self, rows: list[tuple[int, int, bytes]]) -> None:
        """What a course has in common with the run that it goes on from: (event, time, figures as JSON)."""
        self.rows = [_row(*row) for row in rows]

    def now(self) -> dict[str, Any]:
        """As `observe_progress`, with the last figures of clients that have stopped."""
        for name, node in self.world.nodes.items():
            machine: Any = node.machine
            if getattr(machine, "kind", None) in CLIENT_KINDS:
                self._machines[name] = machine
                self._ended.pop(name, None)
        found = observe_progress(self.world)
        found["clients"] |= {name: shown(view) for name, view in self._ended.items()}
        return found

    def complete(self, clients: dict[str, Any]) -> None:
        """What stopped clients of a snapshot had been asked to do, and had done."""
        self.now()
        for name, view in self._ended.items():
            if name in clients:
                clients[name] = {**view, "state": clients[name]["state"]}

    def among(self, rows: list[Row], behind: int, upto: int) -> list[Row]:
        """Rows of the journal with the figures behind event `behind`, up to event `upto`, each at its place."""
        seqs = [row[0] for row in self.rows]
        some = self.rows[bisect_right(seqs, behind) : bisect_right(seqs, upto)]
        return list(merge(rows, some, key=lambda row: row[0]))


def _row(seq: int, t_us: int, text: bytes) -> Row:
    """As one of the journal."""
    return seq, t_us, "world", "progress", 0, orjson.Fragment(text)  # type: ignore[return-value]
