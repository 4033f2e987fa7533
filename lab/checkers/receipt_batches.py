"""What `receipt_outside` keeps of the batches of a partition: columns of numbers, as short as what is told of them.

```
line       acked, of broker-2's first term             in the order of their offsets, and of their appends
last          9     19     29     30    ...            offset of the last record of each batch
records    0     10     20     30    31 ...            records up to there
nth           4      5      9     12    ...            its number among all batches
source        1      1      3      3    ...            connection
```
What holds for a stretch of offsets holds for a stretch of a line, which two bisections find. A batch is an object of
its own only until its answer has left; one that gets none (acks=0) goes into a line when many others wait.

```
same bytes     connection 1, acked | connection 3, acked | ...      runs, in the order of the appends
               9 10 11 12 ... 640  | 700 701 ... 790     |
```
Those with the same bytes as one before are told once more, by their order: neighbours that are alike are one run.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lab.checkers.lineage import Partition, Term, Written

SHELVES = 256
TRIED = 8
"""Lines that may take a batch: appends come in order, answers nearly."""


class Batch:
    """One append of an outside client that waits for its answer."""

    __slots__ = ("seq", "node", "partition", "nth", "last", "records", "source")

    def __init__(self, row: Any, partition: Partition, source: int, nth: int) -> None:
        params = row[5]
        self.seq: int = row[0]
        self.node: str = row[2]
        self.partition = partition
        self.nth = nth
        self.last: int = params["last_offset"]
        self.records: int = self.last - params["base_offset"] + 1
        self.source = source


class Offsets:
    """Batches one behind the other: the offset of the last record of each, and the records up to there."""

    __slots__ = ("last", "records")

    def __init__(self) -> None:
        self.last = array("q")
        self.records = array("q", [0])

    def __len__(self) -> int:
        return len(self.last)

    def put(self, last: int, records: int) -> None:
        """Behind all that are in it."""
        self.last.append(last)
        self.records.append(self.records[-1] + records)

    def has(self, low: int, high: int) -> int:
        """Records of the batches from `low` to before `high`."""
        return self.records[high] - self.records[low]


class Line(Offsets):
    """Batches of one term that were answered alike (`acked`: with NONE, with an error; None: not at all). Without a
    term nobody was known to lead."""

    __slots__ = ("term", "acked", "nth", "source")

    def __init__(self, term: Term | None, acked: bool | None) -> None:
        super().__init__()
        self.term = term
        self.acked = acked
        self.nth = array("q")
        self.source = array("q")

    def add(self, batch: Batch) -> None:
        """Behind all that are in it."""
        self.put(batch.last, batch.records)
        self.nth.append(batch.nth)
        self.source.append(batch.source)

    def base(self, at: int) -> int:
        """Offset of the first record of a batch."""
        return self.last[at] - self.has(at, at + 1) + 1

    def written(self, at: int) -> Written | None:
        """Who wrote one of its batches."""
        return self.term.written(self.last[at]) if self.term is not None else None


class Run(Offsets):
    """Batches with the same bytes, one behind the other, that came over one connection, were answered alike and were
    written by the same reign. `seq`, `node`: as in the journal, of one that waits; it is alone."""

    __slots__ = ("source", "acked", "written", "seq", "node")

    def __init__(
        self, source: int, acked: bool | None, written: Written | None, seq: int = 0, node: str | None = None
    ) -> None:
        super().__init__()
        self.source = source
        self.acked = acked
        self.written = written
        self.seq = seq
        self.node = node

    @classmethod
    def of_line(cls, line: Line, at: int) -> Run:
        """One batch of a line, alone."""
        found = cls(line.source[at], line.acked, line.written(at))
        found.put(line.last[at], line.has(at, at + 1))
        return found

    @classmethod
    def of_waiting(cls, batch: Batch) -> Run:
        """One that waits."""
        found = cls(batch.source, None, None, batch.seq, batch.node)
        found.put(batch.last, batch.records)
        return found

    def is_followed_by(self, other: Run) -> bool:
        """Whether the other one, of a single batch, belongs to it."""
        alike = (self.source, self.acked, self.written) == (other.source, other.acked, other.written)
        return alike and self.last[-1] < other.last[0]


class Same:
    """Batches with the same bytes, in the order of their appends: those before the first that waits as runs."""

    __slots__ = ("runs", "open")

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.open: dict[int, Batch | Run] = {}

    def end(self, nth: int, run: Run) -> None:
        """Number `nth` waits no longer: a run of its own, until all before it have ended, too."""
        self.open[nth] = run
        while self.open:
            nth, first = next(iter(self.open.items()))
            if not isinstance(first, Run):
                return
            del self.open[nth]
            if self.runs and self.runs[-1].is_followed_by(first):
                self.runs[-1].put(first.last[0], first.has(0, 1))
            else:
                self.runs.append(first)
        self.open = {}  # the old one keeps the room for what was in it

    def __len__(self) -> int:
        return len(self.runs) + len(self.open)

    def __iter__(self) -> Iterator[Run]:
        yield from self.runs
        for one in self.open.values():
            yield one if isinstance(one, Run) else Run.of_waiting(one)


class Firsts:
    """Which batch was the first with its bytes, for very many of them: sixteen bytes each, on shelves of their own, so
    that a new one moves few. A dictionary takes ten times as much. The keys of a shelf go up.
    """

    __slots__ = ("shelves",)

    def __init__(self) -> None:
        self.shelves: dict[int, tuple[array[int], array[int]]] = {}

    def of(self, key: int, nth: int) -> int:
        """The number that is known of a key (64 bits, signed); this one where none is, from now on."""
        shelf = self.shelves.get(key % SHELVES)
        if shelf is None:
            shelf = self.shelves[key % SHELVES] = (array("q"), array("q"))
        keys, numbers = shelf
        at = bisect_left(keys, key)
        if at < len(keys) and keys[at] == key:
            return numbers[at]
        keys.insert(at, key)
        numbers.insert(at, nth)
        return nth


class Batches:
    """Those of one partition."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.waiting: dict[int, Batch] = {}
        self.count = 0
        self.runs = 0
        """How many there are to look at, of those with the same bytes as one before: beside the first of all."""
        self._first = Firsts()
        self._same: dict[int, Same] = {}
        self._of: dict[int, Same] = {}
        """Those that wait."""

    def begin(self, batch: Batch, client: str, params: Mapping[str, Any]) -> None:
        """A batch was appended."""
        self.count += 1
        self.waiting[batch.nth] = batch
        if params.get("crc") is not None:
            same = hash((client, params["crc"], params.get("bytes"), batch.records))
            first = self._first.of(same, batch.nth)
            if first != batch.nth:
                if same not in self._same:
                    self._same[same] = self._begun(first)
                self._of[batch.nth] = self._same[same]
                self._same[same].open[batch.nth] = batch
                self.runs += 1

    def end(self, batch: Batch, term: Term | None, acked: bool | None) -> None:
        """It waits no longer. `term`: in which it was appended."""
        del self.waiting[batch.nth]
        for line in reversed(self.lines[-TRIED:]):
            if line.term is term and line.acked is acked and line.last[-1] < batch.last and line.nth[-1] < batch.nth:
                break
        else:
            line = Line(term, acked)
            self.lines.append(line)
        line.add(batch)
        if batch.nth in self._of:
            same = self._of.pop(batch.nth)
            before = len(same)
            same.end(batch.nth, Run.of_line(line, len(line) - 1))
            self.runs += len(same) - before

    @property
    def records(self) -> int:
        """Of all batches."""
        waiting = sum(batch.records for batch in self.waiting.values())
        return waiting + sum(line.records[-1] for line in self.lines)

    def same(self) -> Iterable[Same]:
        """Batches with the same bytes."""
        return self._same.values()

    def _begun(self, first: int) -> Same:
        """With the first of them, which has been waiting, or has not been followed by another one before."""
        found = Same()
        if first in self.waiting:
            self._of[first] = found
            found.open[first] = self.waiting[first]
            return found
        for line in self.lines:
            if line.nth[0] <= first <= line.nth[-1]:
                at = bisect_left(line.nth, first)
                if line.nth[at] == first:
                    found.end(first, Run.of_line(line, at))
                    return found
        raise KeyError(first)
