"""The durability receipt: what was acknowledged, what can be read, what was lost, doubled, reordered.

It is computed from the recorded operations alone (invoke / ok / fail / info of sends and polls), sorted out
by `receipt_history`, where values, offsets and indexes of the version order are explained.

| figure | exact test |
|---|---|
| acked | values of `ok` sends (with acks=0: the producer's own word) |
| read | different values of this run's sends that the reads returned |
| lost | acked and never read: *lost write* at or below the bound, *unseen* above it |
| duplicated | places of a value beyond its first: other offsets at which it was read or acked |
| reordered | values read behind a later one of the same producer in the same partition |
| inconsistent | values beyond the first at one offset, in reads and acknowledgements |
| failed_read | values of failed writes that an ok read holds (G1a); a place for each offset and reader |
| stale | steps of a consumer from a value to the next by more than one index (skip) or less (nonmonotonic) |
| nonmonotonic_send | acknowledgements of one producer, in the order in which it got them, whose offset goes down |

Steps are told apart: `poll_skip` and `nonmonotonic_poll` from one poll to the next, `int_poll_skip` and
`int_nonmonotonic_poll` inside one poll. A step over a rebalance is none.

The bound of a partition is the largest *first* index of a value that was read. An acked value whose last index
is not above it must have been read, for something that came later was.

```
acked   p:0@0  p:1@1  p:2@2  p:3@3
read    p:0@0  p:1@1  q:0@2                  lost write: p:2 (q:0 stands in its place), unseen: p:3
read    p:0@0  p:1@1  p:1@2                  bound 1, for p:1 is there at 1 already: p:2 and p:3 are unseen
```
Outside clients are added by `receipt_of` as far as the brokers see them (`receipt_outside`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from broker_core.clients.history import producer_of
from lab.checkers.receipt_history import History, Partition, Value, index_step
from lab.checkers.receipt_outside import outside

MAX_PLACES = 1000
STEPS = ("poll_skip", "nonmonotonic_poll", "int_poll_skip", "int_nonmonotonic_poll")


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
    steps: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STEPS, 0))
    nonmonotonic_send: int = 0
    places: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def of(self, producer: str) -> Counts:
        """Figures of one producer."""
        return self.producers.setdefault(producer, Counts())

    def place(self, anomaly: str, value: Value | None, partition: Partition, offset: int, **more: Any) -> None:
        """Note where something was found; the list ends after `MAX_PLACES`, the count does not."""
        found = self.places.setdefault(anomaly, [])
        if len(found) < MAX_PLACES:
            named = {} if value is None else _named(value)
            found.append({**named, "topic": partition[0], "partition": partition[1], "offset": offset, **more})

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.total.to_dict(),
            "lost_writes": self.lost_writes, "unseen": self.unseen, "inconsistent": self.inconsistent,
            "failed_read": self.failed_read, "unknown": self.unknown, "unknown_read": self.unknown_read,
            "stale": sum(self.steps.values()), **self.steps, "nonmonotonic_send": self.nonmonotonic_send,
            "producers": {name: {**of.to_dict(), "unseen": of.unseen} for name, of in sorted(self.producers.items())},
            "places": self.places,
        }  # fmt: skip


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
    history = History()
    for row in operations:
        history.take(row)
    history.finish()
    receipt = Receipt()
    for judge in (_count_acked, _count_lost, _count_duplicates, _count_reordered, _count_inconsistent,
                  _count_failed_reads, _count_steps, _count_falls):
        judge(receipt, history)
    for name in ("acked", "read", "lost", "duplicated", "reordered", "unseen"):
        setattr(receipt.total, name, sum(getattr(counts, name) for counts in receipt.producers.values()))
    return receipt


def _named(value: Value) -> dict[str, Any]:
    return {"producer": value[0], "number": value[1]} if value[0] else {"text": value[1]}


def _owner(value: Value) -> str:
    return producer_of(value[0]) if value[0] else "operator"


def _count_acked(receipt: Receipt, history: History) -> None:
    for value in history.acked:
        receipt.of(_owner(value)).acked += 1
    for value in filter(history.own, history.places):
        receipt.of(_owner(value)).read += 1
    receipt.unknown = len(history.unknown)
    receipt.unknown_read = sum(value in history.places for value in history.unknown)


def _bounds(history: History) -> dict[Partition, int]:
    """By partition the largest first offset of a value that was read; offsets and indexes have the same order."""
    acked: dict[tuple[Partition, Value], int] = {}
    for partition, log in history.logs.items():
        for value, offset in log.acks:
            if value[0] and value in history.places:
                acked[partition, value] = min(offset, acked.get((partition, value), offset))
    bounds: dict[Partition, int] = {}
    for value, places in history.places.items():
        first: dict[Partition, int] = {}
        for partition, offset in places:
            known = first.get(partition, acked.get((partition, value), offset))
            first[partition] = min(offset, known)
        for partition, offset in first.items():
            bounds[partition] = max(offset, bounds.get(partition, -1))
    return bounds


def _count_lost(receipt: Receipt, history: History) -> None:
    bounds = _bounds(history)
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


def _count_duplicates(receipt: Receipt, history: History) -> None:
    """A value's places: where it was read, in the order of reading, then where it was only acked."""
    more: dict[Value, dict[tuple[Partition, int], None]] = {}
    first: dict[Value, tuple[Partition, int]] = {}
    for partition, log in history.logs.items():
        for value, offset in log.acks:
            place = (partition, offset)
            read = history.places.get(value) or (first.setdefault(value, place),)
            if value[0] and place not in read:
                more.setdefault(value, {})[place] = None
    often = {value: None for value, places in history.places.items() if len(places) > 1 and history.own(value)}
    for value in {**often, **more}:
        found = [*history.places.get(value, (first.get(value),)), *more.get(value, ())][1:]
        receipt.of(_owner(value)).duplicated += len(found)
        for place in found:
            receipt.place("duplicated", value, *place)


def _count_reordered(receipt: Receipt, history: History) -> None:
    for partition, log in sorted(history.logs.items(), key=lambda one: one[0]):
        latest: dict[str, int] = {}
        seen: dict[Value, None] = {}
        for offset in sorted(log.read):
            value = log.read[offset]
            label, number = value
            if not label or value in seen or not history.own(value):
                continue
            seen[value] = None
            if number < latest.get(label, -1):
                receipt.of(_owner(value)).reordered += 1
                receipt.place("reordered", value, partition, offset, behind=latest[label])
            else:
                latest[label] = number


def _count_inconsistent(receipt: Receipt, history: History) -> None:
    for partition, log in history.logs.items():
        for offset, value in log.clashes():
            receipt.inconsistent += 1
            receipt.place("inconsistent", value, partition, offset)


def _count_failed_reads(receipt: Receipt, history: History) -> None:
    for value in history.failed:
        places = history.places.get(value, ())
        receipt.failed_read += bool(places)
        for partition, offset in places:
            for reader in history.readers(value, partition, offset):
                receipt.place("failed_read", value, partition, offset, reader=reader)


def _count_steps(receipt: Receipt, history: History) -> None:
    orders: dict[Partition, list[int]] = {}
    for step in history.steps:
        log = history.logs[step.partition]
        order = orders.get(step.partition) or orders.setdefault(step.partition, log.order())
        by = index_step(order, step)
        if by == 1:
            continue
        test = f"{'int-' if step.inside else ''}{'poll-skip' if by > 1 else 'nonmonotonic-poll'}"
        receipt.steps[test.replace("-", "_")] += 1
        receipt.place("stale", log.read[step.offset], step.partition, step.offset, reader=step.process,
                      last_read=step.before, step=by, test=test, t_us=step.t_us)


def _count_falls(receipt: Receipt, history: History) -> None:
    for fall in history.falls:
        receipt.nonmonotonic_send += 1
        receipt.place("nonmonotonic_send", None, fall.partition, fall.offset, process=fall.process,
                      last_acked=fall.before, t_us=fall.t_us)
