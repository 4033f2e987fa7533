"""What transactions owe to one another: cycles of dependencies (G0, G1c), and what one has read of its own.

    T1 wrote at orders-0@4, T2 right behind it at @5          T1 -ww-> T2   (offsets are the order of versions)
    a processor made T3's records of what stands at @5        T2 -wr-> T3

| word | exact test |
|---|---|
| write_cycle (G0) | committed transactions that a way of ww leads back to: here in front, there behind |
| read_cycle (G1c) | the same by ww and wr, with a wr on the way: what came of a read stands before what was read |
| precommitted_read | values that a committed transaction has read and had written itself: too soon |

Kafka promises that a transaction is there whole or not at all, and no order of transactions that write at the same
time: batches of two producers that lie between one another are a cycle of ww already. They are counted, not blamed.

What was over before another one began stands in front of it in every log, so no way leads back; but where a log was
cut and offsets were given again, which the receipt tells as lost. So a transaction is *settled* when nothing that was
over only after the oldest open one had begun leads to it: its cycles are counted, and it is forgotten. While none is
open all are; what is kept is what was over since the oldest open one began, and what comes behind that.
Source: A. Adya, Weak Consistency (1999), 4.2; what a processor reads in a transaction is told by `transform`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

WRITE_CYCLE, READ_CYCLE, PRECOMMITTED_READ = "write_cycle", "read_cycle", "precommitted_read"
KINDS = (WRITE_CYCLE, READ_CYCLE, PRECOMMITTED_READ)
LISTED = 1000
"""So many of each kind are kept; of the others there is the count."""
STEP = 2000
"""Settled ones are looked for when so many batches and reads have come."""
Partition = tuple[str, int]
Value = tuple[str, int]
Edges = dict[str, dict[str, None]]


class Anomaly(NamedTuple):
    """A transaction in a cycle at the first place where it wrote (`cycle`: the first of the cycle by name), or a place
    that it wrote and read."""

    kind: str
    transaction: str
    partition: Partition
    offset: int
    cycle: str = ""


@dataclass(slots=True)
class Stretch:
    """Committed transactions that are not settled. `writes`: (first offset, number of them, transaction) of each batch;
    `ended`: the moment at which each was over (none: it is being told of)."""

    writes: dict[Partition, list[tuple[int, int, str]]] = field(default_factory=dict)
    reads: list[tuple[Partition, int, str]] = field(default_factory=list)
    ended: dict[str, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Batches and reads."""
        return sum(map(len, self.writes.values())) + len(self.reads)

    def split(self, moment: int) -> tuple[Stretch, Stretch]:
        """What is settled when the oldest open one has begun at `moment`, and the rest."""
        after, late = self._ww(), self._late(moment)
        for before, reader, _ in self._wr_at():
            after.setdefault(before, {})[reader] = None
        waiting = list(late)
        while waiting:
            for one in after.get(waiting.pop(), ()):
                if one not in late:
                    late.add(one)
                    waiting.append(one)
        settled, rest = Stretch(), Stretch()
        for partition, rows in self.writes.items():
            for row in rows:
                (rest if row[2] in late else settled).writes.setdefault(partition, []).append(row)
        for read in self.reads:
            (rest if read[2] in late else settled).reads.append(read)
        rest.ended = {one: when for one, when in self.ended.items() if one in late}
        return settled, rest

    def _late(self, moment: int) -> set[str]:
        """Who was over after it."""
        everybody = {row[2] for rows in self.writes.values() for row in rows} | {reader for _, _, reader in self.reads}
        return {one for one in everybody if self.ended.get(one, moment + 1) > moment}

    def anomalies(self) -> Iterator[Anomaly]:
        """All of it, in a fixed order."""
        firsts, written, both, read = self._firsts(), self._ww(), self._ww(), set[tuple[str, str]]()
        for writer, reader, place in self._wr_at():
            if writer == reader:
                yield Anomaly(PRECOMMITTED_READ, reader, *place)
            else:
                both.setdefault(writer, {})[reader] = None
                read.add((writer, reader))
        for component in components(written):
            for one in component:
                yield Anomaly(WRITE_CYCLE, one, *firsts[one], component[0])
        for component in components(both):
            members = set(component)
            if any(before in members and after in members for before, after in read):
                for one in component:
                    yield Anomaly(READ_CYCLE, one, *firsts[one], component[0])

    def _wr_at(self) -> Iterator[tuple[str, str, tuple[Partition, int]]]:
        """Who wrote, who has read that, and where."""
        writers = self._writers()
        for partition, offset, reader in self.reads:
            for writer in writers.get((partition, offset), ()):
                yield writer, reader, (partition, offset)

    def _writers(self) -> dict[tuple[Partition, int], list[str]]:
        """Of places that were read."""
        found: dict[tuple[Partition, int], list[str]] = {(partition, offset): [] for partition, offset, _ in self.reads}
        for partition, rows in self.writes.items() if found else ():
            for first, count, transaction in rows:
                for offset in range(first, first + count):
                    if (partition, offset) in found:
                        found[partition, offset].append(transaction)
        return found

    def _firsts(self) -> dict[str, tuple[Partition, int]]:
        found: dict[str, tuple[Partition, int]] = {}
        for partition, rows in self.writes.items():
            for offset, _, transaction in rows:
                place = partition, offset
                found[transaction] = min(found.get(transaction, place), place)
        return found

    def _ww(self) -> Edges:
        found: Edges = {}
        for rows in self.writes.values():
            for (_, _, before), (_, _, after) in pairwise(sorted(rows, key=lambda row: row[0])):
                if before != after:
                    found.setdefault(before, {})[after] = None
        return found


class Found:
    """Anomalies: how many of each kind, and the first of them."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(KINDS, 0)
        self.listed: list[Anomaly] = []

    def add(self, found: Iterable[Anomaly]) -> None:
        for one in found:
            self.counts[one.kind] += 1
            if self.counts[one.kind] <= LISTED:
                self.listed.append(one)


class Dependencies:
    """Rows go in by `take`; `found` may be asked for at any time. `size`: what is kept of what is not settled."""

    def __init__(self, step: int = STEP) -> None:
        self._open: dict[str, int] = {}  # by process: when its transaction has begun
        self._sources: dict[Value, tuple[Partition, int]] = {}  # what values that a processor is to write are made of
        self._stretch = Stretch()
        self._over = Found()
        self._moment = 0
        self._step = self._next = step
        self.size = 0

    def take(self, row: Mapping[str, Any]) -> None:
        """One operation."""
        op, kind = row["op"], row["kind"]
        if op == "transaction":
            self._moment += 1
            if kind == "invoke":
                self._open[row["process"]] = self._moment
            elif self._open.pop(row["process"], None) is not None:
                self._stretch.ended[row["id"]] = self._moment
                self._settle()
        elif op == "send" and kind != "invoke":
            self._sent(row, row.get("transaction") if kind == "ok" and row.get("offset", -1) >= 0 else None)
        elif op == "transform":
            for offset, label, number, count in row["runs"]:
                for step in range(count):
                    self._sources[label, number + step] = (row["topic"], row["partition"]), offset + step

    def _settle(self) -> None:
        """Judge and forget what is settled: all when none is open, else now and then."""
        if not self._open:
            settled, self._stretch = self._stretch, Stretch()
        elif self.size >= self._next:
            settled, self._stretch = self._stretch.split(min(self._open.values()))
        else:
            return
        self._over.add(settled.anomalies())
        self.size = self._stretch.size
        self._next = self.size + self._step

    def _sent(self, row: Mapping[str, Any], transaction: str | None) -> None:
        label, total = row.get("label", row["process"]), 0
        for first, count in row["values"]:
            total += count
            for number in range(first, first + count) if self._sources else ():
                source = self._sources.pop((label, number), None)
                if source is not None and transaction is not None:
                    self._stretch.reads.append((*source, transaction))
                    self.size += 1
        if transaction is not None and total:
            place = row["topic"], row["partition"]
            self._stretch.writes.setdefault(place, []).append((row["offset"], total, transaction))
            self.size += 1

    def found(self) -> Found:
        """All so far."""
        found = Found()
        found.counts, found.listed = dict(self._over.counts), list(self._over.listed)
        found.add(self._stretch.anomalies())
        return found


def components(edges: Edges) -> Iterator[list[str]]:
    """Strongly connected components of more than one node, each sorted (Tarjan 1972, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    there: set[str] = set()
    for root in edges:
        work: list[tuple[str, Iterator[str]]] = []
        if root not in index:
            work.append(_opened(root, edges, index, low, stack, there))
        while work:
            node, after = work[-1]
            step = next(after, None)
            if step is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    yield from _closed(node, stack, there)
            elif step not in index:
                work.append(_opened(step, edges, index, low, stack, there))
            elif step in there:
                low[node] = min(low[node], index[step])


def _opened(
    node: str, edges: Edges, index: dict[str, int], low: dict[str, int], stack: list[str], there: set[str]
) -> tuple[str, Iterator[str]]:
    index[node] = low[node] = len(index)
    stack.append(node)
    there.add(node)
    after: Iterable[str] = edges.get(node, {})
    return node, iter(after)


def _closed(node: str, stack: list[str], there: set[str]) -> Iterator[list[str]]:
    found = []
    while True:
        one = stack.pop()
        there.discard(one)
        found.append(one)
        if one == node:
            break
    if len(found) > 1:
        yield sorted(found)
