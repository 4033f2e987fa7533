"""What is lost and what is unread in a run that goes on: the words of `lab/checkers/fates.py` over stretches.

An acknowledgement is kept as a stretch of offsets with the reign of its leader, joined to its neighbour where both have
one producer and one reign: `[first, end, reign, life, producer]`. A stretch is lost as far as the log that counts is of
another reign there; it is worked out anew each time, so that a log that comes back brings its records back.

A producer whose batches alternate with another one's in a partition has a stretch a batch. Of each partition `KEPT` are
remembered; older ones are far behind every log end by then, and forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lab.checkers.fates import Stand
from lab.checkers.lineage import Lineage, Written

KEPT = 20_000
Partition = tuple[str, int]


class Standing:
    """Acknowledged places and the rows of the journal that judge them. `state` is all of it, as JSON can hold it."""

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        self.rows: list[list[Any]] = []
        self.open: list[list[Any]] = []  # partition, first, end, owner, seq, broker: the journal may not be there yet
        self.places: dict[str, list[list[Any]]] = {}
        self._lineage = Lineage()
        if state is not None:
            self.open, self.places = state["open"], state["places"]
            for row in state["rows"]:
                self.event(row)

    @property
    def state(self) -> dict[str, Any]:
        return {"rows": self.rows, "open": self.open, "places": self.places}

    def event(self, row: list[Any]) -> None:
        """A row of the journal that tells of a lineage."""
        self.rows.append(row)
        self._lineage.take(row)

    def acked(self, name: str, offset: int, count: int, owner: str, seq: int, broker: str | None) -> None:
        """An acknowledgement that says where."""
        self.open.append([name, offset, offset + count, owner, seq, broker])

    def settle(self) -> None:
        """What is known by now is in: give each acknowledgement its reign."""
        waiting, self.open = self.open, []
        for one in waiting:
            name, first, end, owner, seq, broker = one
            written = self._lineage.written(_place(name), first, seq, broker)
            if written is None:
                self.open.append(one)
                continue
            places = self.places.setdefault(name, [])
            if places and places[-1][1:] == [first, *written, owner]:
                places[-1][1] = end
            else:
                places.append([first, end, *written, owner])
                del places[:-KEPT]
        del self.open[:-KEPT]

    def knows(self, name: str) -> bool:
        """Whether somebody has led the partition, as far as the journal tells."""
        return self._lineage.is_led(_place(name))

    def lost(self) -> Iterator[tuple[str, str, int]]:
        """(partition, producer, how many)."""
        for name, places in self.places.items():
            for first, end, reign, life, owner in places:
                count = self._count(name, first, end, Written(reign, life), Stand.CUT)
                if count:
                    yield name, owner, count

    def there(self, name: str, first: int, end: int, seq: int, broker: str | None) -> int:
        """How many of these offsets, acknowledged then, are in the log that counts."""
        written = self._lineage.written(_place(name), first, seq, broker)
        return self._count(name, first, end, written, Stand.THERE) if written is not None else end - first

    def _count(self, name: str, first: int, end: int, written: Written, wanted: Stand) -> int:
        marks = [*self._stands(name, first, end, written), (end, wanted)]
        return sum(after - at for (at, stand), (after, _) in zip(marks, marks[1:], strict=False) if stand is wanted)

    def _stands(self, name: str, first: int, end: int, written: Written) -> Iterable[tuple[int, Stand]]:
        """(from which offset on, how it stands)."""
        place = _place(name)
        edges = sorted({first, *(edge for edge in self._lineage.edges(place) if first < edge < end)})
        return [(edge, self._lineage.stand(place, edge, written)) for edge in edges]


def _place(name: str) -> Partition:
    topic, _, number = name.rpartition("-")
    return topic, int(number)
