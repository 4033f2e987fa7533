"""The durability receipt: what was acknowledged, read, lost, is unread or at risk, was doubled, reordered.

The words lost, unread, at risk, duplicated and removed are defined in `fates`; `receipt_history` explains values,
offsets and indexes of the version order, `receipt_fates` who is heard as a witness.

| figure | exact test |
|---|---|
| acked | values of `ok` sends (with acks=0: the producer's own word) |
| read | different values of this run's sends that the reads returned |
| lost, unread, at_risk, removed | `fates`; at_risk is None where nobody knows the disks |
| duplicated | places of a value beyond its first: other offsets at which it was read or acked |
| reordered | values read behind a later one of the same producer in the same partition |
| inconsistent | values beyond the first at one offset, in reads and acknowledgements |
| failed_read | values of failed writes that an ok read holds (G1a); a place for each offset and reader |
| aborted, aborted_read | values of aborted transactions; those of them that a reader got (G1a), not the read-back |
| write_cycle, read_cycle, precommitted_read | transactions that depend on themselves: `dependencies` |
| stale | steps of a consumer from a value to the next by more than one index (skip) or less (nonmonotonic) |
| nonmonotonic_send | acknowledgements of one producer, in the order in which it got them, whose offset goes down |

Values of aborted transactions, and of those whose end nobody was told, are no part of the order that steps go by. Steps
are told apart: `poll_skip` and `nonmonotonic_poll` from one poll to the next, `int_poll_skip` and
`int_nonmonotonic_poll` inside one poll. A step over a rebalance is none.

Of a history without a journal, what readers have passed counts as lost. The bound of a partition is the largest
*first* index of a value that was read; an acked value whose last index is not above it should have been read.

```
acked   p:0@0  p:1@1  p:2@2  p:3@3
read    p:0@0  p:1@1  q:0@2                  lost (passed): p:2 (q:0 stands in its place), unread: p:3
read    p:0@0  p:1@1  p:1@2                  bound 1, for p:1 is there at 1 already: p:2 and p:3 are unread
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
from broker_core.kernel.names import OPERATOR
from lab.checkers.dependencies import KINDS, PRECOMMITTED_READ, Dependencies, Found
from lab.checkers.fates import Fate
from lab.checkers.lineage import Lineage, read_lineage
from lab.checkers.receipt_fates import Evidence, Judge
from lab.checkers.receipt_history import History, Partition, Step, Value, index_step
from lab.checkers.receipt_outside import outside

MAX_PLACES = 1000
COUNTS = ("acked", "read", "lost", "unread", "at_risk", "duplicated", "reordered", "removed")
STEPS = ("poll_skip", "nonmonotonic_poll", "int_poll_skip", "int_nonmonotonic_poll")


@dataclass(slots=True)
class Counts:
    """The figures that there are in total and of each producer."""

    acked: int = 0
    read: int = 0
    lost: int = 0
    unread: int = 0
    at_risk: int | None = 0
    duplicated: int = 0
    reordered: int = 0
    removed: int = 0

    def to_dict(self) -> dict[str, int | None]:
        return {name: getattr(self, name) for name in COUNTS}


@dataclass(slots=True)
class Receipt:
    """The verdict on a run: in total, per producer, and where."""

    total: Counts = field(default_factory=Counts)
    producers: dict[str, Counts] = field(default_factory=dict)
    inconsistent: int = 0
    failed_read: int = 0
    aborted: int = 0
    aborted_read: int = 0
    write_cycle: int = 0
    read_cycle: int = 0
    precommitted_read: int = 0
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
            at = offset if offset >= 0 else None  # acks=0: nobody was told
            found.append({**named, "topic": partition[0], "partition": partition[1], "offset": at, **more})

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.total.to_dict(),
            "inconsistent": self.inconsistent, "failed_read": self.failed_read,
            "aborted": self.aborted, "aborted_read": self.aborted_read,
            **{name: getattr(self, name) for name in KINDS},
            "unknown": self.unknown, "unknown_read": self.unknown_read,
            "stale": sum(self.steps.values()), **self.steps, "nonmonotonic_send": self.nonmonotonic_send,
            "producers": {name: of.to_dict() for name, of in sorted(self.producers.items())},
            "places": self.places,
        }  # fmt: skip


def receipt_of(
    source: Path | str | Iterable[Mapping[str, Any]], copies: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """The receipt of a run's directory (also of one that still goes on, as far as it is written), or of operations.

    The shape of `Receipt.to_dict`; of a directory with `outside` besides: what the brokers saw of clients that
    the lab did not start. `copies`: the disks of a run that goes on (`copies_of`); one that has ended tells of its own.
    """
    if not isinstance(source, (Path, str)):
        return make_receipt(source).to_dict()
    path = Path(source)
    facts = orjson.loads((path / "run.json").read_bytes()) if (path / "run.json").exists() else {}
    evidence = Evidence.of_facts(read_lineage(path / "journal.jsonl"), facts if copies is None else {"copies": copies})
    receipt = make_receipt(_lines(path / "operations.jsonl"), evidence).to_dict()
    seen = outside(_lines(path / "journal.jsonl"), _lines(path / "operations.jsonl"),
                   copies if copies is not None else facts.get("copies"))
    return {**receipt, "outside": seen}


def _lines(path: Path) -> Iterable[Any]:
    """Whole lines of a file that may still grow."""
    with open(path, "rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield orjson.loads(line)


def make_receipt(operations: Iterable[Mapping[str, Any]], evidence: Evidence | None = None) -> Receipt:
    """Judge a history; without `evidence` by itself alone."""
    evidence = evidence or Evidence(Lineage())
    history, dependencies = History(), Dependencies()
    for row in operations:
        history.take(row)
        dependencies.take(row)
    history.finish()
    receipt = Receipt()
    count_fates(receipt, Judge(history, evidence))
    count_dependencies(receipt, dependencies.found())
    for judge in (count_acked, count_duplicates, count_reordered, count_inconsistent,
                  count_failed_reads, count_aborted_reads, count_steps, count_falls):
        judge(receipt, history)
    sum_up(receipt, evidence)
    return receipt


def sum_up(receipt: Receipt, evidence: Evidence) -> None:
    """All producers together."""
    for name in COUNTS:
        setattr(receipt.total, name, sum(getattr(counts, name) for counts in receipt.producers.values()))
    if evidence.copies is None:
        for counts in (receipt.total, *receipt.producers.values()):
            counts.at_risk = None


def _named(value: Value) -> dict[str, Any]:
    return {"producer": value[0], "number": value[1]} if value[0] else {"text": value[1]}


def owner(value: Value) -> str:
    """Who sent it: a producer in any of its lives; by hand, the operator."""
    return producer_of(value[0]) if value[0] else OPERATOR


def count_acked(receipt: Receipt, history: History) -> None:
    """What was acked, read, and is unknown."""
    for value in history.acked:
        receipt.of(owner(value)).acked += 1
    for value in filter(history.own, history.places):
        receipt.of(owner(value)).read += 1
    receipt.aborted = len(history.aborted)
    receipt.unknown = len(history.unknown)
    receipt.unknown_read = sum(value in history.places for value in history.unknown)


def count_fates(receipt: Receipt, judge: Judge) -> None:
    """What has become of each acknowledged value."""
    for value, found in judge.judged():
        counts, where = receipt.of(owner(value)), (found.partition, found.offset)
        if found.copies is not None:
            counts.at_risk = (counts.at_risk or 0) + 1
            receipt.place("at_risk", value, *where, copies=found.copies)
        if found.fate is Fate.LOST:
            counts.lost += 1
            receipt.place("lost", value, *where, test=found.test)
        elif found.fate is Fate.UNREAD:
            counts.unread += 1
        elif found.fate is Fate.REMOVED:
            counts.removed += 1
            receipt.place("removed", value, *where)


def count_duplicates(receipt: Receipt, history: History) -> None:
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
        receipt.of(owner(value)).duplicated += len(found)
        for place in found:
            receipt.place("duplicated", value, *place)


def count_reordered(receipt: Receipt, history: History) -> None:
    """Values behind later ones of their producer."""
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
                receipt.of(owner(value)).reordered += 1
                receipt.place("reordered", value, partition, offset, behind=latest[label])
            else:
                latest[label] = number


def count_inconsistent(receipt: Receipt, history: History) -> None:
    """Offsets with several values."""
    for partition, log in history.logs.items():
        for offset, value in log.clashes():
            receipt.inconsistent += 1
            receipt.place("inconsistent", value, partition, offset)


def count_failed_reads(receipt: Receipt, history: History) -> None:
    """Failed writes that were read, and who read them."""
    for value, transaction in history.failed.items():
        places = history.places.get(value, ())
        receipt.failed_read += bool(places)
        for partition, offset in places:
            for reader in history.readers(value, partition, offset):
                receipt.place("failed_read", value, partition, offset, reader=reader, **_of(transaction))


def count_aborted_reads(receipt: Receipt, history: History) -> None:
    """Values of aborted transactions that a reader got, and which one: many, where readers want them all."""
    for value, transaction in history.aborted.items():
        places = () if value in history.only_checked else history.places.get(value, ())
        receipt.aborted_read += bool(places)
        for partition, offset in places:
            receipt.place("aborted_read", value, partition, offset, **_of(transaction))


def _of(transaction: str | None) -> dict[str, str]:
    return {"transaction": transaction} if transaction is not None else {}


def count_dependencies(receipt: Receipt, found: Found) -> None:
    """Transactions in cycles, and what they have read of their own."""
    for kind, count in found.counts.items():
        setattr(receipt, kind, count)
    for one in found.listed:
        more = {} if one.kind == PRECOMMITTED_READ else {"cycle": one.cycle}
        receipt.place(one.kind, None, one.partition, one.offset, transaction=one.transaction, **more)


def count_steps(receipt: Receipt, history: History) -> None:
    """Steps of consumers that are not to the next value."""
    orders: dict[Partition, list[int]] = {}
    aborted = history.aborted_at()
    for step in history.steps:
        log, gone = history.logs[step.partition], aborted.get(step.partition, set())
        if step.before in gone or step.offset in gone:
            continue
        if step.partition not in orders:
            orders[step.partition] = [offset for offset in log.order() if offset not in gone]
        order = orders[step.partition]
        by = index_step(order, step)
        if by != 1:
            count_step(receipt, step, by, log.read[step.offset])


def count_step(receipt: Receipt, step: Step, by: int, value: Value) -> None:
    """A step by another number of indexes than one, to this value."""
    test = f"{'int-' if step.inside else ''}{'poll-skip' if by > 1 else 'nonmonotonic-poll'}"
    receipt.steps[test.replace("-", "_")] += 1
    receipt.place("stale", value, step.partition, step.offset, reader=step.process,
                  last_read=step.before, step=by, test=test, t_us=step.t_us)


def count_falls(receipt: Receipt, history: History) -> None:
    """Acknowledgements that go down."""
    for fall in history.falls:
        receipt.nonmonotonic_send += 1
        receipt.place("nonmonotonic_send", None, fall.partition, fall.offset, process=fall.process,
                      last_acked=fall.before, t_us=fall.t_us)
