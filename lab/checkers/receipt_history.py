"""The recorded operations sorted out: which value stands where, who read it, and how polls went on.

The version order of a partition is its offsets in order, each with the set of values that ok sends and polls
told of it (an unknown send has no offset; when its value was read, the poll tells it). Gaps are dropped: the
*index* of an offset is the number of known offsets before it.

```
acked   p:0@0  p:1@1  p:2@4
read    p:0@0  q:0@1                offsets 0, 1, 4 have the indexes 0, 1, 2; offset 1 has two values
```
A *value* is (label, number). Values written by hand have no label and need not be unique: the same text twice in
one partition is one value per copy, `text`, `text#1`, ...: acked ones first, in the order of sending; for reads in
the order in which their offsets were first seen.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from broker_core.clients.history import ABORTED
from broker_core.kernel.names import CHECKER

ABORT = "abort"
TEXT = 200  # polls tell so many characters of a text
Value = tuple[str, Any]  # (label, number), or ("", text) for a value written by hand
Partition = tuple[str, int]


class Ack(NamedTuple):
    """Where an acknowledgement says that a value stands (offset -1: it does not say), when it came and from whom."""

    partition: Partition
    offset: int
    seq: int
    broker: str | None


class Step(NamedTuple):
    """From one value that a consumer read to the next one; `inside`: both in one poll."""

    t_us: int
    process: str
    partition: Partition
    before: int
    offset: int
    inside: bool


class Fall(NamedTuple):
    """An acknowledgement whose first offset lies below the last one that the same producer was told before."""

    t_us: int
    process: str
    partition: Partition
    before: int
    offset: int


@dataclass(slots=True)
class Log:
    """What is known of one partition, in the order of recording."""

    acks: list[tuple[Value, int]] = field(default_factory=list)  # as written: copies of texts are not told apart
    read: dict[int, Value] = field(default_factory=dict)  # the first value read at an offset
    texts: dict[int, Value] = field(default_factory=dict)  # the same as written, where it is a text
    others: dict[int, dict[Value, int]] = field(default_factory=dict)  # further values read there, and when first
    seqs: dict[int, int] = field(default_factory=dict)  # when an offset was read first

    def written(self, offset: int) -> Value | None:
        """The first value read at an offset, as written."""
        return self.texts.get(offset) or self.read.get(offset)

    def order(self) -> list[int]:
        """The version order: offsets by their index."""
        return sorted({*self.read, *(offset for _, offset in self.acks)})

    def clashes(self) -> Iterator[tuple[int, Value]]:
        """Values beyond the first at an offset that has several: first come reads, then acknowledgements."""
        first: dict[int, Value] = {}
        found = {(offset, value): None for offset, values in self.others.items() for value in values}
        for value, offset in self.acks:
            known = self.written(offset)
            if (first.setdefault(offset, value) if known is None else known) != value:
                found[offset, value] = None
        yield from sorted(found, key=lambda one: one[0])


def fate_of(row: Mapping[str, Any]) -> str:
    """ok, fail, info, or abort: the transaction that it belongs to was."""
    kind: str = row["kind"]
    return ABORT if kind == "fail" and row.get("transaction") and row.get("error") == ABORTED else kind


def index_step(order: list[int], step: Step) -> int:
    """By how many indexes of the version order a step goes on: 1 is the next value."""
    return bisect_left(order, step.offset) - bisect_left(order, step.before)


class History:
    """Rows go in by `take`; `finish` follows the last one."""

    def __init__(self) -> None:
        self.logs: dict[Partition, Log] = {}
        self.labels: dict[str, None] = {}  # of this run's producers
        self.acked: dict[Value, Ack] = {}  # at the last offset
        self.failed: dict[Value, str | None] = {}  # and the transaction that it was of, if any
        self.aborted: dict[Value, str | None] = {}  # with their transaction: neither acked nor failed
        self.unknown: dict[Value, None] = {}
        self.undecided: dict[Value, None] = {}  # sent in a transaction of which nobody heard how it ended
        self.places: dict[Value, list[tuple[Partition, int]]] = {}  # where it was read
        self.only_checked: dict[Value, None] = {}  # read by the final read-back alone
        self.steps: list[Step] = []  # those that do not go to the next offset
        self.falls: list[Fall] = []
        self._texts: list[tuple[str, Any, Ack, str | None]] = []
        self._copies: dict[tuple[Partition, Any], int] = {}
        self._written: dict[Value, Value] = {}
        self._ends: dict[tuple[str, Partition], int] = {}
        self._positions: dict[str, dict[Partition, int]] = {}
        self._polls: list[tuple[str, Partition, list[list[Any]]]] = []

    def log(self, partition: Partition) -> Log:
        found = self.logs.get(partition)
        if found is None:
            found = self.logs[partition] = Log()
        return found

    def take(self, row: Mapping[str, Any]) -> None:
        """One operation."""
        op, kind = row["op"], row["kind"]
        if op == "send":
            self.labels[row.get("label", row["process"])] = None
            self.decide(row, kind)
        if op == "send" and kind != "invoke":
            self.sent(row, kind)
        elif op == "poll" and kind == "ok":
            self._poll(row)
        elif op == "assign":
            self._positions.pop(row["process"], None)

    def finish(self) -> None:
        """Tell copies of texts apart: acked ones first."""
        copies: dict[tuple[Partition, Any], int] = {}
        for kind, text, ack, transaction in sorted(self._texts, key=lambda one: one[0] != "ok"):
            copy = copies[ack.partition, text] = copies.get((ack.partition, text), -1) + 1
            self.settle(kind, _copy(text, copy), ack, transaction)

    def own(self, value: Value) -> bool:
        """Whether this run sent it: a log may hold what was written before, or by outside clients."""
        if value[0]:
            return value[0] in self.labels
        return value in self.acked or value in self.unknown or value in self.failed or value in self.aborted

    def aborted_at(self) -> dict[Partition, set[int]]:
        """Offsets of values that were aborted, or may have been: who reads committed ones only jumps over them."""
        found: dict[Partition, set[int]] = {}
        for value in {**self.aborted, **self.undecided}:
            for partition, offset in self.places.get(value, ()):
                found.setdefault(partition, set()).add(offset)
        return found

    # -- sends ------------------------------------------------------------------------------
    def decide(self, row: Mapping[str, Any], kind: str) -> None:
        """What is sent in a transaction is undecided until its end is told; of a process that died it never is."""
        if row.get("transaction") and kind != "info":
            for value in _values(row, row.get("label", row.get("process", ""))):
                if kind == "invoke":
                    self.undecided[value] = None
                else:
                    self.undecided.pop(value, None)

    def sent(self, row: Mapping[str, Any], kind: str) -> None:
        """A batch has its fate."""
        partition = (row["topic"], row["partition"])
        base = row.get("offset", -1) if kind == "ok" else -1
        label = row.get("label", row.get("process", ""))
        kind = fate_of(row)
        offset = base
        for value in _values(row, label):
            ack = Ack(partition, offset, row.get("seq", 0), row.get("broker"))
            if value[0]:
                self.settle(kind, value, ack, row.get("transaction"))
            else:
                self._texts.append((kind, value[1], ack, row.get("transaction")))
            if offset >= 0:
                self.log(partition).acks.append((value, offset))
                offset += 1
        if offset > base:
            self.acknowledged(row, partition, base, offset - 1)

    def settle(self, kind: str, value: Value, ack: Ack, transaction: str | None = None) -> None:
        """The fate of one value."""
        if kind == "ok":
            if value not in self.acked or self.acked[value].offset <= ack.offset:
                self.acked[value] = ack
        elif kind == "fail":
            self.failed[value] = transaction
        elif kind == ABORT:
            self.aborted[value] = transaction
        elif kind == "info":
            self.unknown[value] = None

    def acknowledged(self, row: Mapping[str, Any], partition: Partition, first: int, last: int) -> None:
        """What a producer was told goes up, or falls."""
        producer = row["process"]
        before = self._ends.get((producer, partition), -1)
        if first < before:
            self.falls.append(Fall(row.get("t", 0), producer, partition, before, first))
        self._ends[producer, partition] = last

    # -- polls ------------------------------------------------------------------------------
    def _poll(self, row: Mapping[str, Any]) -> None:
        partition, process = (row["topic"], row["partition"]), row["process"]
        log, positions = self.log(partition), self._positions.setdefault(process, {})
        self._polls.append((process, partition, row["runs"]))
        inside = False
        for first, label, number, count in row["runs"]:
            before = None if "delivery" in row else positions.get(partition)  # a queue has no order of readers
            if before is not None and first != before + 1:
                self.steps.append(Step(row.get("t", 0), process, partition, before, first, inside))
            positions[partition], inside = first + count - 1, True
            for step in range(count):
                value = (label, number + step) if label is not None else _text(number)
                self.note_reader(process, value, value in self.places)
                self.note_read(log, partition, first + step, value, row.get("seq", 0))

    def note_reader(self, process: str, value: Value, known: bool) -> None:
        """Who reads a value; `known`: somebody has read it before. The read-back gets what no reader may ever get.

        Of values with a label: what is written by hand is in no transaction, so nobody asks.
        """
        if not value[0]:
            return
        if process != CHECKER:
            self.only_checked.pop(value, None)
        elif not known:
            self.only_checked[value] = None

    def note_read(self, log: Log, partition: Partition, offset: int, value: Value, seq: int) -> None:
        """A value was read at an offset."""
        before = log.written(offset)
        if before == value:
            return
        if before is not None:
            others = log.others.setdefault(offset, {})
            if value in others:
                return
            others[value] = seq
        named = value
        if not value[0]:
            copy = self._copies[partition, value[1]] = self._copies.get((partition, value[1]), -1) + 1
            named = _copy(value[1], copy)
            self._written[named] = value
        if before is None:
            log.read[offset], log.seqs[offset] = named, seq
            if not value[0]:
                log.texts[offset] = value
        self.places.setdefault(named, []).append((partition, offset))

    def read_at(self, value: Value, partition: Partition, offset: int) -> int:
        """When (sequence of the journal) a value was first read at one of its places."""
        log, written = self.logs[partition], self._written.get(value, value)
        others = log.others.get(offset, {})
        return others[written] if written in others else log.seqs[offset]

    def readers(self, value: Value, partition: Partition, offset: int) -> list[str]:
        """Who read a value at an offset, each once."""
        label, number = self._written.get(value, value)
        found = {process: None for process, at, runs in self._polls if at == partition
                 and any(_holds(run, offset, label, number) for run in runs)}
        return list(found)


def _holds(run: list[Any], offset: int, label: str, number: Any) -> bool:
    first, of, base, count = run
    if of is None:
        return not label and first == offset and bool(_text(base)[1] == number)
    return bool(of == label and first <= offset < first + count and base + offset - first == number)


def _values(row: Mapping[str, Any], label: str) -> Iterable[Value]:
    for first, count in row["values"]:
        for number in range(first, first + count):
            yield label, number
    for text in row.get("texts", ()):
        yield _text(text)


def _text(text: Any) -> Value:
    """A value written by hand, as long as polls tell it; a tombstone has none."""
    return "", "null" if text is None else text[:TEXT]


def _copy(text: Any, copy: int) -> Value:
    return "", f"{text}#{copy}" if copy else text
