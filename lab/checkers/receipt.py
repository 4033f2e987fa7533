"""The durability receipt: what was acknowledged, what can be read, what was lost, doubled, reordered.

It is computed from the recorded operations alone (invoke / ok / fail / info of sends and polls).

| figure | exact test |
|---|---|
| acked | values of `ok` sends (with acks=0: the producer's own word) |
| read | different values that the reads returned |
| lost | acked and never read: *lost writes* below the bound, *unseen* above it |
| duplicated | copies of a value beyond its first, at other offsets |
| reordered | values read behind a later one of the same producer in the same partition |

The bound of a partition is the largest index, in its version order, of a value that was read. The
version order is the order of offsets, from acknowledged sends and from reads.

```
acked   p:0@0  p:1@1  p:2@2  p:3@3
read    p:0@0  p:1@1  q:0@2                  lost write: p:2 (q:0 stands in its place), unseen: p:3
```
Outside clients are added by `receipt_of` as far as the brokers see them (`receipt_outside`).
Besides: *inconsistent* (two values at one offset), *failed but read* (G1a), *unknown but read*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from broker_core.clients.history import producer_of
from lab.checkers.receipt_outside import outside

MAX_PLACES = 1000
Value = tuple[str, Any]  # (label, number), or ("", text) for a value written by hand
Partition = tuple[str, int]


@dataclass(slots=True)
class Counts:
    """The five figures; `unseen` is the part of `lost` that may still be read."""

    acked: int = 0
    read: int = 0
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    unseen: int = 0

    def to_dict(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in ("acked", "read", "lost", "duplicated", "reordered")}


@dataclass(slots=True)
class Receipt:
    """The verdict on a run: in total, per producer, and where."""

    total: Counts = field(default_factory=Counts)
    producers: dict[str, Counts] = field(default_factory=dict)
    lost_writes: int = 0
    unseen: int = 0
    inconsistent: int = 0
    failed_read: int = 0
    unknown: int = 0
    unknown_read: int = 0
    places: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def of(self, producer: str) -> Counts:
        """Figures of one producer."""
        return self.producers.setdefault(producer, Counts())

    def place(self, anomaly: str, value: Value, partition: Partition, offset: int, **more: Any) -> None:
        """Note where something was found; the list ends after `MAX_PLACES`, the count does not."""
        found = self.places.setdefault(anomaly, [])
        if len(found) < MAX_PLACES:
            named = {"producer": value[0], "number": value[1]} if value[0] else {"text": value[1]}
            found.append({**named, "topic": partition[0], "partition": partition[1], "offset": offset, **more})

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.total.to_dict(),
            "lost_writes": self.lost_writes, "unseen": self.unseen, "inconsistent": self.inconsistent,
            "failed_read": self.failed_read, "unknown": self.unknown, "unknown_read": self.unknown_read,
            "producers": {name: {**of.to_dict(), "unseen": of.unseen} for name, of in sorted(self.producers.items())},
            "places": self.places,
        }  # fmt: skip


class _Log:
    """What is known of one partition: offsets of acked and of read values."""

    __slots__ = ("acked", "read")

    def __init__(self) -> None:
        self.acked: dict[Value, int] = {}
        self.read: dict[int, Value] = {}


class _History:
    """The operations sorted out."""

    def __init__(self) -> None:
        self.logs: dict[Partition, _Log] = {}
        self.acked: dict[Value, tuple[Partition, int]] = {}
        self.failed: dict[Value, None] = {}
        self.unknown: dict[Value, None] = {}
        self.places: dict[Value, list[tuple[Partition, int]]] = {}
        self.inconsistent: list[tuple[Partition, int, Value, Value]] = []
        self._texts: dict[tuple[Partition, str], int] = {}
        self._read_texts: dict[tuple[Partition, int], Value] = {}
        self._read_copies: dict[tuple[Partition, Any], int] = {}

    def log(self, partition: Partition) -> _Log:
        found = self.logs.get(partition)
        if found is None:
            found = self.logs[partition] = _Log()
        return found

    # -- sends ------------------------------------------------------------------------------
    def send(self, row: Mapping[str, Any]) -> None:
        partition = (row["topic"], row["partition"])
        offset = row.get("offset", -1)
        for value in self._sent_values(row, partition):
            if row["kind"] == "ok":
                self.acked[value] = (partition, offset)
                if offset >= 0:
                    self.log(partition).acked[value] = offset
                    offset += 1
            elif row["kind"] == "fail":
                self.failed[value] = None
            elif row["kind"] == "info":
                self.unknown[value] = None

    def _sent_values(self, row: Mapping[str, Any], partition: Partition) -> Iterable[Value]:
        if row["kind"] == "invoke":
            return
        label = row.get("label", row.get("process", ""))
        for first, count in row["values"]:
            for number in range(first, first + count):
                yield (label, number)
        for text in row.get("texts", ()):
            copies = self._texts.get((partition, text), 0)
            self._texts[(partition, text)] = copies + 1
            yield ("", f"{text}#{copies}" if copies else text)

    # -- polls ------------------------------------------------------------------------------
    def poll(self, row: Mapping[str, Any]) -> None:
        partition = (row["topic"], row["partition"])
        log = self.log(partition)
        for first, label, number, count in row["runs"]:
            for step in range(count):
                value = (label, number + step) if label is not None else self._text(partition, first, number)
                self._read(log, partition, first + step, value)

    def _text(self, partition: Partition, offset: int, text: Any) -> Value:
        """The same text twice is one value per copy, in the order of offsets."""
        known = self._read_texts.get((partition, offset))
        if known is None:
            copies = self._read_copies.get((partition, text), 0)
            self._read_copies[(partition, text)] = copies + 1
            known = self._read_texts[(partition, offset)] = ("", f"{text}#{copies}" if copies else text)
        return known

    def _read(self, log: _Log, partition: Partition, offset: int, value: Value) -> None:
        before = log.read.get(offset)
        if before is None:
            log.read[offset] = value
            self.places.setdefault(value, []).append((partition, offset))
        elif before != value:
            self.inconsistent.append((partition, offset, before, value))


def receipt_of(source: Path | str | Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The receipt of a run's directory (also of one that still goes on, as far as it is written), or of operations.

    The shape of `Receipt.to_dict`; of a directory with `outside` besides: what the brokers saw of clients that
    the lab did not start.
    """
    if not isinstance(source, (Path, str)):
        return make_receipt(source).to_dict()
    path = Path(source)
    receipt = make_receipt(_lines(path / "operations.jsonl")).to_dict()
    return {**receipt, "outside": outside(_lines(path / "journal.jsonl"))}


def _lines(path: Path) -> Iterable[Any]:
    """Whole lines of a file that may still grow."""
    with open(path, "rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield orjson.loads(line)


def make_receipt(operations: Iterable[Mapping[str, Any]]) -> Receipt:
    """Judge a history."""
    history = _History()
    for row in operations:
        if row["op"] == "send":
            history.send(row)
        elif row["op"] == "poll" and row["kind"] == "ok":
            history.poll(row)
    receipt = Receipt()
    _count_acked(receipt, history)
    _count_lost(receipt, history)
    _count_duplicates(receipt, history)
    _count_reordered(receipt, history)
    _count_inconsistent(receipt, history)
    for name in ("acked", "read", "lost", "duplicated", "reordered", "unseen"):
        setattr(receipt.total, name, sum(getattr(counts, name) for counts in receipt.producers.values()))
    return receipt


def _owner(value: Value) -> str:
    return producer_of(value[0]) if value[0] else "operator"


def _count_acked(receipt: Receipt, history: _History) -> None:
    for value in history.acked:
        receipt.of(_owner(value)).acked += 1
    for value in history.places:
        receipt.of(_owner(value)).read += 1
    for value in history.failed:
        if value in history.places:
            receipt.failed_read += 1
            partition, offset = history.places[value][0]
            receipt.place("failed_read", value, partition, offset)
    receipt.unknown = len(history.unknown)
    receipt.unknown_read = sum(value in history.places for value in history.unknown)


def _count_lost(receipt: Receipt, history: _History) -> None:
    bounds = {partition: max(log.read, default=-1) for partition, log in history.logs.items()}
    for value, (partition, offset) in history.acked.items():
        if value in history.places:
            continue
        receipt.of(_owner(value)).lost += 1
        below = 0 <= offset <= bounds.get(partition, -1)
        if below:
            receipt.lost_writes += 1
        else:
            receipt.unseen += 1
            receipt.of(_owner(value)).unseen += 1
        receipt.place("lost", value, partition, offset, test="lost-write" if below else "unseen")


def _count_duplicates(receipt: Receipt, history: _History) -> None:
    for value, places in history.places.items():
        if len(places) > 1:
            receipt.of(_owner(value)).duplicated += len(places) - 1
            for partition, offset in places[1:]:
                receipt.place("duplicated", value, partition, offset)


def _count_reordered(receipt: Receipt, history: _History) -> None:
    for partition, log in sorted(history.logs.items()):
        latest: dict[str, int] = {}
        seen: dict[Value, None] = {}
        for offset in sorted(log.read):
            value = log.read[offset]
            label, number = value
            if not label or value in seen:
                continue
            seen[value] = None
            if number < latest.get(label, -1):
                receipt.of(_owner(value)).reordered += 1
                receipt.place("reordered", value, partition, offset, behind=latest[label])
            else:
                latest[label] = number


def _count_inconsistent(receipt: Receipt, history: _History) -> None:
    """Two values at one offset: seen by reads, or acked here and another one read."""
    for partition, offset, _, value in history.inconsistent:
        receipt.inconsistent += 1
        receipt.place("inconsistent", value, partition, offset)
    for partition, log in history.logs.items():
        for value, offset in log.acked.items():
            found = log.read.get(offset)
            if found is not None and found != value and value[0]:
                receipt.inconsistent += 1
                receipt.place("inconsistent", value, partition, offset)
