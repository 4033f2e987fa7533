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

Dependencies are looked for among the transactions of one *stretch*: between two moments at which none was open. What
was over before another one began stands in front of it in every log, so no way leads back; but where a log was cut and
offsets were given again, which the receipt tells as lost.
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
    """What was committed since none was open. `writes`: (first offset, number of them, transaction) of each batch."""

    writes: dict[Partition, list[tuple[int, int, str]]] = field(default_factory=dict)
    reads: list[tuple[Partition, int, str]] = field(default_factory=list)

    def anomalies(self) -> Iterator[Anomaly]:
        """All of it, in a fixed order."""
        writers, firsts = self._writers(), self._firsts()
        written, both, read = self._ww(), self._ww(), set[tuple[str, str]]()
        for partition, offset, reader in self.reads:
            for writer in writers.get((partition, offset), ()):
                if writer == reader:
                    yield Anomaly(PRECOMMITTED_READ, reader, partition, offset)
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
    """Rows go in by `take`; `found` may be asked for at any time. `size`: what is kept of the stretch that goes on."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        self._sources: dict[Value, tuple[Partition, int]] = {}  # what values that a processor is to write are made of
        self._stretch = Stretch()
        self._over = Found()
        self.size = 0

    def take(self, row: Mapping[str, Any]) -> None:
        """One operation."""
        op, kind = row["op"], row["kind"]
        if op == "transaction":
            if kind == "invoke":
                self._open[row["process"]] = row["id"]
            elif self._open.pop(row["process"], None) is not None and not self._open:
                self._over.add(self._stretch.anomalies())
                self._stretch, self.size = Stretch(), 0
        elif op == "send" and kind != "invoke":
            self._sent(row, row.get("transaction") if kind == "ok" and row.get("offset", -1) >= 0 else None)
        elif op == "transform":
            for offset, label, number, count in row["runs"]:
                for step in range(count):
                    self._sources[label, number + step] = (row["topic"], row["partition"]), offset + step

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
