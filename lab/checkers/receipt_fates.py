"""What has become of each acknowledged value of a history: the words of `fates`, applied.

Three witnesses are heard, as far as they are there:

| witness | tells |
|---|---|
| history | who was told what, who has read what |
| lineage (journal) | whether the place of an acknowledgement is in the log that counts |
| copies (disks) | on how many disks a record is whole; `read_back`: a reader has read every log from end to end |

```
acked p:7 at 60 by broker-1 in epoch 0; in the log that counts 60 is of epoch 1           lost (cut)
... it is of epoch 0; nobody has read p:7                                                 unread
... it is of epoch 0; three copies are promised, and broker 2 ends at 40                  at risk
```
A value has every place where it was acked or read: while one of them is in the log that counts, it is not lost. Where
it was acked and read at one place, both mean one record, and it stands as the acknowledgement says: a reader may have
had it from the log that was cut afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from lab.checkers.copies import Copies
from lab.checkers.fates import Fate, Stand, Test
from lab.checkers.lineage import Lineage, Written
from lab.checkers.receipt_history import Ack, History, Partition, Value


class Judged(NamedTuple):
    """What became of a value, and where that is seen; `copies`: how many disks have it where it is at risk."""

    fate: Fate
    partition: Partition
    offset: int
    test: Test | None = None
    copies: int | None = None


class _Place(NamedTuple):
    stand: Stand
    partition: Partition
    offset: int
    written: Written | None


_BEST = (Stand.THERE, Stand.REMOVED, Stand.CUT, Stand.UNKNOWN)


@dataclass(slots=True)
class Evidence:
    """What is known besides the history. Without `copies` nobody can tell what is at risk."""

    lineage: Lineage
    copies: Copies | None = None
    read_back: bool = False

    @classmethod
    def of_facts(cls, lineage: Lineage, facts: dict[str, Any]) -> Evidence:
        """With what run.json tells."""
        told: Sequence[dict[str, Any]] | None = facts.get("copies")
        return cls(lineage, Copies(told) if told is not None else None, bool(facts.get("read_back")))


class Judge:
    """Judges the values of one history."""

    def __init__(self, history: History, evidence: Evidence) -> None:
        self.history = history
        self.evidence = evidence

    def judged(self) -> Iterator[tuple[Value, Judged]]:
        """Every acknowledged value, in the order of acknowledgement."""
        for value, ack in self.history.acked.items():
            yield value, self.of(value, ack)

    def of(self, value: Value, ack: Ack) -> Judged:
        """One value."""
        place = self._place(value, ack)
        if place.stand is Stand.CUT:
            return Judged(Fate.LOST, place.partition, place.offset, Test.CUT)
        fate, test = (Fate.READ, None) if value in self.history.places else self._unread(value, ack, place)
        there = place.stand is Stand.THERE and fate in (Fate.READ, Fate.UNREAD)
        return Judged(fate, place.partition, place.offset, test, self._too_few(place) if there else None)

    def _place(self, value: Value, ack: Ack) -> _Place:
        """The best of its places: one that is there, else one that was removed; where it was acked comes first."""
        acked = self._acked_at(ack)
        if acked.stand is Stand.THERE or value not in self.history.places:
            return acked
        at = self.history.read_at
        own = (ack.partition, ack.offset)
        read = [self._stand(*place, at(value, *place), None) for place in self.history.places[value] if place != own]
        return min([acked, *read] if ack.offset >= 0 else read, key=lambda place: _BEST.index(place.stand))

    def _acked_at(self, ack: Ack) -> _Place:
        if ack.offset >= 0:
            return self._stand(ack.partition, ack.offset, ack.seq, ack.broker)
        written = self.evidence.lineage.written(ack.partition, 0, ack.seq, None)
        gone = written is not None and written.life != self.evidence.lineage.of(ack.partition).life
        return _Place(Stand.REMOVED if gone else Stand.UNKNOWN, ack.partition, -1, None)

    def _stand(self, partition: Partition, offset: int, seq: int, node: str | None) -> _Place:
        written = self.evidence.lineage.written(partition, offset, seq, node)
        stand = self.evidence.lineage.stand(partition, offset, written) if written is not None else Stand.UNKNOWN
        return _Place(stand, partition, offset, written)

    def _unread(self, value: Value, ack: Ack, place: _Place) -> tuple[Fate, Test | None]:
        """Nobody has read it, and it is not known to be cut off."""
        evidence, passed = self.evidence, 0 <= place.offset <= self.bounds.get(place.partition, -1)
        if place.stand is Stand.REMOVED:
            return Fate.REMOVED, None
        if place.offset < 0:
            return self._never_there(value, ack)
        if place.stand is Stand.UNKNOWN:
            return (Fate.LOST, Test.PASSED) if passed else (Fate.UNREAD, None)
        if evidence.lineage.is_cleaned(place.partition, place.offset) and (passed or evidence.read_back):
            return Fate.REMOVED, None
        if not evidence.read_back:
            return Fate.UNREAD, None
        if evidence.copies is None or not evidence.copies.is_damaged(place.partition, place.offset):
            return Fate.LOST, Test.MISSING
        return (Fate.UNREAD, None) if self._whole(place) else (Fate.LOST, Test.UNREADABLE)

    def _never_there(self, value: Value, ack: Ack) -> tuple[Fate, Test | None]:
        """Nobody was told where it stands."""
        if self.evidence.read_back:
            return Fate.LOST, Test.MISSING
        label, number = value
        later = bool(label) and self._latest.get((ack.partition, label), -1) > number
        return (Fate.LOST, Test.NEVER_THERE) if later else (Fate.UNREAD, None)

    def _whole(self, place: _Place) -> int:
        copies = self.evidence.copies
        return copies.whole(place.partition, place.offset, place.written.epoch) if copies and place.written else 0

    def _too_few(self, place: _Place) -> int | None:
        """On how many disks it is, when these are fewer than promised."""
        copies = self.evidence.copies
        if copies is None or not copies.knows(place.partition):
            return None
        whole = self._whole(place)
        return whole if whole < copies.promised(place.partition) else None

    @cached_property
    def _latest(self) -> dict[tuple[Partition, str], int]:
        """The largest number of a label that was read in a partition."""
        found: dict[tuple[Partition, str], int] = {}
        for partition, log in self.history.logs.items():
            for label, number in log.read.values():
                if label:
                    found[partition, label] = max(number, found.get((partition, label), -1))
        return found

    @cached_property
    def bounds(self) -> dict[Partition, int]:
        """By partition the largest first offset of a value that was read; offsets and indexes have the same order."""
        history = self.history
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
