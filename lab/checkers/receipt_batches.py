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
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from lab.checkers.lineage import Partition, Term, Written

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


class Line:
    """Batches of one term that were answered alike (`acked`: with NONE, with an error; None: not at all). Without a
    term nobody was known to lead."""

    __slots__ = ("term", "acked", "last", "records", "nth", "source")

    def __init__(self, term: Term | None, acked: bool | None) -> None:
        self.term = term
        self.acked = acked
        self.last = array("q")
        self.records = array("q", [0])
        self.nth = array("q")
        self.source = array("q")

    def __len__(self) -> int:
        return len(self.last)

    def add(self, batch: Batch) -> None:
        """Behind all that are in it."""
        self.last.append(batch.last)
        self.records.append(self.records[-1] + batch.records)
        self.nth.append(batch.nth)
        self.source.append(batch.source)

    def has(self, low: int, high: int) -> int:
        """Records of the batches from `low` to before `high`."""
        return self.records[high] - self.records[low]

    def base(self, at: int) -> int:
        """Offset of the first record of a batch."""
        return self.last[at] - self.has(at, at + 1) + 1

    def sent(self, at: int) -> Sent:
        """One of its batches."""
        written = self.term.written(self.last[at]) if self.term is not None else None
        return Sent(self.nth[at], self.acked, self.last[at], self.has(at, at + 1), self.source[at], written, 0, None)


class Sent(NamedTuple):
    """One of several batches with the same bytes. `seq`, `node`: as in the journal, of one that waits."""

    nth: int
    acked: bool | None
    last: int
    records: int
    source: int
    written: Written | None
    seq: int
    node: str | None


class Batches:
    """Those of one partition."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.waiting: dict[int, Batch] = {}
        self.count = 0
        self.again = 0
        """How many have the same bytes as one before."""
        self._first: dict[int, int] = {}
        self._same: dict[int, list[int]] = {}
        self._ended: dict[int, Sent | None] = {}
        """Those of `_same`; None: it waits."""

    def begin(self, batch: Batch, client: str, params: Mapping[str, Any]) -> None:
        """A batch was appended."""
        self.count += 1
        self.waiting[batch.nth] = batch
        if params.get("crc") is not None:
            same = hash((client, params["crc"], params.get("bytes"), batch.records))
            first = self._first.setdefault(same, batch.nth)
            if first != batch.nth:
                if same not in self._same:
                    self._same[same] = [first]
                    self._ended[first] = None if first in self.waiting else self._in_a_line(first)
                self._same[same].append(batch.nth)
                self._ended[batch.nth] = None
                self.again += 1

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
        if batch.nth in self._ended:
            self._ended[batch.nth] = line.sent(len(line) - 1)

    @property
    def records(self) -> int:
        """Of all batches."""
        waiting = sum(batch.records for batch in self.waiting.values())
        return waiting + sum(line.records[-1] for line in self.lines)

    def same(self) -> Iterator[list[Sent]]:
        """Batches with the same bytes, those of each group in the order of their appends."""
        for numbers in self._same.values():
            yield [self._sent(nth) for nth in numbers]

    def _sent(self, nth: int) -> Sent:
        found = self._ended[nth]
        if found is not None:
            return found
        batch = self.waiting[nth]
        return Sent(nth, None, batch.last, batch.records, batch.source, None, batch.seq, batch.node)

    def _in_a_line(self, nth: int) -> Sent:
        for line in self.lines:
            if line.nth[0] <= nth <= line.nth[-1]:
                at = bisect_left(line.nth, nth)
                if line.nth[at] == nth:
                    return line.sent(at)
        raise KeyError(nth)
