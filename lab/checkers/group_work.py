"""What consumer groups have made of the records: dealt with once, more than once, or passed over.

| figure | exactly |
|---|---|
| processed | records that a member has dealt with |
| twice | dealings beyond the first with a record |
| missed | records below the group's last committed offset that no member has dealt with, nor was about to |

A record stands for a (partition, offset) that an acknowledgement or a poll told of. An application deals with what a
poll gave it one record after the other, `process_us` each: from the poll on, or with `commit: before` from the answer
to the commit on. A process that crashes takes with it what it had not come to; one that shuts down finishes its poll.

A processor has dealt with a record when what it made of it counts: the send was acknowledged (in a transaction: that
was committed), or, where nobody heard, a reader has got it (of a transaction's: one that reads committed records only).

```
poll 0..9 at 1.0 s, 100 ms a record, crash at 1.45 s      0..3 are processed
... and 10 had been committed before                      4..9 are missed
... and 0 had been committed; the next member reads 0..9  0..3 are processed twice
```
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Partition = tuple[str, int]
Value = tuple[str, int]  # label and running number
Place = tuple[str, int, int]  # topic, partition, offset
FIGURES = ("processed", "twice", "missed")


@dataclass(slots=True)
class Reader:
    """A consumer's group and how its application works."""

    group: str
    process_us: int = 0
    commit: str = "auto"
    writes: bool = False  # a processor
    transactional: bool = False


@dataclass(slots=True)
class Batch:
    """What one poll gave, in order; `begin_us`: when the application turns to it, -1 while it commits first."""

    t_us: int
    begin_us: int
    places: list[Place] = field(default_factory=list)


@dataclass(slots=True)
class Work:
    """One group: how often each record was dealt with, what somebody is about to, how far was committed."""

    done: Counter[Place] = field(default_factory=Counter)
    in_hand: set[Place] = field(default_factory=set)
    committed: dict[Partition, int] = field(default_factory=dict)


@dataclass(slots=True)
class Made:
    """What processors made of what they read, and which of it counts."""

    sources: dict[Value, tuple[str, Place]] = field(default_factory=dict)  # by what was written: by whom, of what
    acked: set[Value] = field(default_factory=set)
    read: set[Value] = field(default_factory=set)
    read_committed: set[Value] = field(default_factory=set)

    def take(self, row: Mapping[str, Any], readers: Mapping[str, Reader], committed_only: Collection[str]) -> None:
        """One operation."""
        process = row["process"]
        if row["op"] == "transform":
            for offset, label, number, count in row["runs"]:
                for step in range(count):
                    place = row["topic"], row["partition"], offset + step
                    self.sources[label, number + step] = process, place
        elif row["op"] == "send" and row["kind"] == "ok" and process in readers:
            self.acked.update((row["label"], first + step) for first, count in row["values"] for step in range(count))
        elif row["op"] == "poll" and row["kind"] == "ok" and self.sources:
            found = self.read_committed if process in committed_only else self.read
            found.update((run[1], run[2] + step) for run in row["runs"] if run[1] for step in range(run[3]))

    def counting(self, readers: Mapping[str, Reader]) -> Iterator[tuple[str, Place]]:
        """Who has dealt with which record, once for each that was written of it."""
        for value, (process, place) in self.sources.items():
            seen = value in self.read_committed or (value in self.read and not readers[process].transactional)
            if value in self.acked or seen:
                yield process, place


def group_work(
    operations: Iterable[Mapping[str, Any]], crashes: Mapping[str, list[int]], readers: Mapping[str, Reader],
    until_us: int, committed_only: Collection[str] = (),
) -> dict[str, dict[str, int]]:  # fmt: skip
    """Group -> figure -> count, at a moment. `crashes`: process -> times at which it ended without a word.
    `committed_only`: who reads no records but committed ones."""
    known: set[Place] = set()
    work = {reader.group: Work() for reader in readers.values()}
    batches: dict[str, list[Batch]] = {name: [] for name, reader in readers.items() if not reader.writes}
    made = Made()
    for row in operations:
        if row["t"] > until_us:
            continue
        made.take(row, readers, committed_only)
        if row["op"] == "send" and row["kind"] == "ok" and row.get("offset", -1) >= 0:
            count = sum(run[1] for run in row["values"]) + len(row.get("texts", ()))
            known.update((row["topic"], row["partition"], row["offset"] + step) for step in range(count))
        elif row["process"] not in readers:
            continue
        elif row["op"] == "poll" and row["kind"] == "ok":
            known.update(_polled(row, batches.get(row["process"], [])))
        elif row["op"] == "commit":
            _commit(row, readers[row["process"]], batches.get(row["process"], []), work)
    for name, found in batches.items():
        for batch in found:
            _deal_with(batch, readers[name], sorted(crashes.get(name, ())), until_us, work[readers[name].group])
    for name, place in made.counting(readers):
        work[readers[name].group].done[place] += 1
    return {group: _figures(one, known) for group, one in work.items()}


def _polled(row: Mapping[str, Any], batches: list[Batch]) -> list[Place]:
    """Rows of one moment are one poll: a row for each partition."""
    if not batches or batches[-1].t_us != row["t"]:
        batches.append(Batch(row["t"], row["t"]))
    found = [(row["topic"], row["partition"], run[0] + step) for run in row["runs"] for step in range(run[3])]
    batches[-1].places += found
    return found


def _commit(row: Mapping[str, Any], reader: Reader, batches: list[Batch], work: Mapping[str, Work]) -> None:
    if row["kind"] == "ok":
        for topic, partition, offset in row["offsets"]:
            work[reader.group].committed[topic, partition] = offset
    if reader.commit == "before" and batches:
        if row["kind"] != "invoke":
            batches[-1].begin_us = row["t"]
        elif row["t"] == batches[-1].t_us:
            batches[-1].begin_us = -1


def _deal_with(batch: Batch, reader: Reader, crashes: list[int], until_us: int, work: Work) -> None:
    """As far as the process came before it crashed, or before the end."""
    nth = bisect_left(crashes, batch.t_us)
    crash_us = crashes[nth] if nth < len(crashes) else None
    end_us = until_us if crash_us is None else min(crash_us, until_us)
    for number, place in enumerate(batch.places, 1):
        if batch.begin_us >= 0 and batch.begin_us + number * reader.process_us <= end_us:
            work.done[place] += 1
        elif crash_us is None or crash_us > until_us:
            work.in_hand.add(place)


def _figures(work: Work, known: set[Place]) -> dict[str, int]:
    missed = [
        place for place in known
        if place not in work.done and place not in work.in_hand and place[2] < work.committed.get(place[:2], 0)
    ]  # fmt: skip
    return {
        "processed": len(work.done), "twice": sum(work.done.values()) - len(work.done), "missed": len(missed),
    }  # fmt: skip
