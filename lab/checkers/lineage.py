"""The log that counts: which leader wrote which offsets of a partition, and who has them, from state transitions alone.

A journal always has its state transitions, whatever its record level and budget. They are enough: a log is told
by its leader epochs (KIP-101), each with the offset at which it begins, and these change only when a broker begins
to lead, to follow, is cut, or loads its disks.

```
broker-1 leads in epoch 0 from 0                  broker-1  e0 from 0
broker-2 follows, and dies at 40                  broker-2  e0 from 0, ends at 40
broker-1 writes up to 90, dies; broker-2 leads    broker-2  e0 from 0, e1 from 40      <- counts
broker-1 comes back, is cut from 90 to 40         broker-1  e0 from 0, ends at 40
```
An acknowledgement of offset 60 by broker-1 was one of epoch 0 (it led in no other); in the log that counts, offset 60
is of epoch 1: the record is gone. Broker-1's offset 20 is of epoch 0 there, too: it is there.

What a follower has copied is not told row by row. It is what its leader has: up to the log end that the follower
names when the next thing happens to it, its log has the leader's epochs.

A broker that loses its power and comes back may lead on in the same epoch: nobody else was elected. What it lost and
what it writes then share epoch and offsets, so each time that it begins to lead is a **reign** of its own: number n of
an epoch.

Left out: `log_recovered`, which a `log_loaded` with the same end always follows.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from lab.checkers.fates import Stand

Partition = tuple[str, int]
Epochs = tuple[tuple[int, int], ...]
"""(reign or epoch, first offset), both going up."""
_REIGNS = 20
"""Bits for the number of a reign in its epoch."""
BEFORE = -1 << _REIGNS
"""The reign of what lay on the disks before anybody led: nothing is known of it, and it is the same everywhere."""
CODES = ("became_leader", "became_follower", "truncated", "log_loaded", "log_start_moved", "log_cleaned",
         "topic_deleted", "replica_stopped")
_CODES = frozenset(f'"{code}"'.encode() for code in CODES)


class Written(NamedTuple):
    """What tells a record at an offset from another one there: the reign of its leader, the life of its topic."""

    reign: int
    life: int

    @property
    def epoch(self) -> int:
        """The leader epoch that stands in its batch."""
        return epoch_of_reign(self.reign)


class Term(NamedTuple):
    """A broker leads: from this row of the journal on, with this log."""

    seq: int
    node: str
    reign: int
    epochs: Epochs
    life: int

    def written(self, offset: int) -> Written:
        """Who wrote what stands at an offset in this log."""
        return Written(owner_of(self.epochs, offset), self.life)


def epoch_of_reign(reign: int) -> int:
    return reign >> _REIGNS


def owner_of(epochs: Epochs, offset: int, before: int = BEFORE) -> int:
    """The reign (or epoch) that wrote an offset; `before` below the first."""
    at = bisect_right(epochs, offset, key=_begins)
    return epochs[at - 1][0] if at else before


def borders(epochs: Epochs, first: int, end: int) -> list[int]:
    """Offsets behind `first` and before `end` at which another reign begins."""
    low = bisect_right(epochs, first, key=_begins)
    return [begin for _, begin in epochs[low : bisect_left(epochs, end, low, key=_begins)]]


def _begins(epoch: tuple[int, int]) -> int:
    return epoch[1]


@dataclass(slots=True)
class _Copy:
    """A broker's log. `end`: it certainly goes so far; a leader's goes on, a follower's is settled by its next row."""

    epochs: Epochs = ()
    end: int = 0
    start: int = 0
    cleaned: int = 0
    leads: bool = False
    follows: int | None = None

    def cut(self, end: int) -> None:
        self.epochs = tuple(one for one in self.epochs if one[1] < end)
        self.end = min(self.end, end)


@dataclass(slots=True)
class _Lines:
    """Of one partition: its terms in the order of the journal, by reign too, and each broker's copy.

    * `life` counts the topics of this name: what one of them had is gone with it
    * `counted`: beside each term the one that counted when it began; `last` is the one that counts now
    """

    terms: list[Term] = field(default_factory=list)
    counted: list[Term] = field(default_factory=list)
    last: Term | None = None
    leaders: dict[int, Term] = field(default_factory=dict)
    copies: dict[str, _Copy] = field(default_factory=dict)
    life: int = 0

    def settle(self, node: str, end: int) -> _Copy:
        """The broker's log ends here now: what is new in it came from the leader that it followed."""
        copy = self.copies.setdefault(node, _Copy())
        if end < copy.end:
            copy.cut(end)
        elif end > copy.end and (reigns := self.reigns(copy.follows)):
            theirs = self.leaders[reigns[-1]].epochs
            first = owner_of(theirs, copy.end)
            known = copy.epochs[-1][0] if copy.epochs else BEFORE
            begun = () if first == known else ((first, copy.end),)
            copy.epochs += (*begun, *(one for one in theirs if copy.end < one[1] < end))
        copy.end = end
        return copy

    def reigns(self, epoch: int | None) -> list[int]:
        """Those of an epoch, the first one first."""
        return [reign for reign in self.leaders if epoch_of_reign(reign) == epoch]

    def begin(self, term: Term) -> None:
        """The term that counts is that of the highest epoch, and of its last reign."""
        self.leaders[term.reign] = term
        self.terms.append(term)
        if self.last is None or term.reign >= self.last.reign:
            self.last = term
        self.counted.append(self.last)


class Lineage:
    """Rows of a journal go in by `take`, in order; questions may be asked at any time."""

    def __init__(self) -> None:
        self.partitions: dict[Partition, _Lines] = {}

    def take(self, row: Any) -> None:
        """One row; others than those of `CODES` do nothing, nor do those that are damaged."""
        read = _READ.get(row[3])
        if read is not None:
            with suppress(KeyError, TypeError):
                read(self, row)

    def of(self, partition: Partition) -> _Lines:
        found = self.partitions.get(partition)
        if found is None:
            found = self.partitions[partition] = _Lines()
        return found

    # -- questions --------------------------------------------------------------------------
    def term_at(self, partition: Partition, seq: int, node: str | None = None) -> Term | None:
        """The last term of a broker that had begun by then; without a broker, the one that counted then."""
        lines = self.partitions.get(partition)
        begun = bisect_right(lines.terms, seq, key=lambda term: term.seq) if lines is not None else 0
        if lines is None or not begun:
            return None
        if node is None:
            return lines.counted[begun - 1]
        return next((lines.terms[at] for at in range(begun - 1, -1, -1) if lines.terms[at].node == node), None)

    def written(self, partition: Partition, offset: int, seq: int, node: str | None = None) -> Written | None:
        """Who wrote what stood at an offset then, in the log of `node`; None where nobody has ever led."""
        term = self.term_at(partition, seq, node) or self.term_at(partition, seq)
        return term.written(offset) if term is not None else None

    def stand(self, partition: Partition, offset: int, written: Written) -> Stand:
        """What is known now of a record that was written at an offset."""
        lines = self.partitions[partition]
        if written.life != lines.life:
            return Stand.REMOVED
        last = lines.last
        assert last is not None
        copy = lines.copies[last.node]
        if owner_of(copy.epochs, offset) != written.reign or (offset >= copy.end and not copy.leads):
            return Stand.CUT
        return Stand.REMOVED if offset < copy.start else Stand.THERE

    def is_led(self, partition: Partition) -> bool:
        """Whether there is a log that counts."""
        lines = self.partitions.get(partition)
        return lines is not None and lines.last is not None

    def edges(self, partition: Partition) -> list[int]:
        """Offsets at which what `stand` says of an epoch, or `is_cleaned`, may change."""
        lines = self.partitions[partition]
        if lines.last is None:
            return []
        copy = lines.copies[lines.last.node]
        return [*(first for _, first in copy.epochs), copy.end, copy.start, copy.cleaned]

    def is_cleaned(self, partition: Partition, offset: int) -> bool:
        """Whether compaction has been at this offset in the log that counts."""
        lines = self.partitions.get(partition)
        last = lines.last if lines is not None else None
        return lines is not None and last is not None and offset < lines.copies[last.node].cleaned


# -- rows -------------------------------------------------------------------------------------
def _place(row: Any) -> Partition:
    return row[5]["topic"], row[5]["partition"]


def _led(lineage: Lineage, row: Any) -> None:
    node, epoch, leo = row[2], row[5]["leader_epoch"], row[5]["leo"]
    lines = lineage.of(_place(row))
    copy = lines.settle(node, leo)
    if copy.leads and copy.epochs and epoch_of_reign(copy.epochs[-1][0]) == epoch:
        return  # told once more of what it does; one whose log was cut to where it begins leads anew
    reign = epoch << _REIGNS | len(lines.reigns(epoch))
    copy.epochs = (*(one for one in copy.epochs if one[1] < leo), (reign, leo))
    copy.leads, copy.follows = True, None
    lines.begin(Term(row[0], node, reign, copy.epochs, lines.life))


def _followed(lineage: Lineage, row: Any) -> None:
    follows, leo = row[5]["leader_epoch"], row[5]["leo"]
    copy = lineage.of(_place(row)).settle(row[2], leo)
    copy.leads, copy.follows = False, follows


def _truncated(lineage: Lineage, row: Any) -> None:
    before, after = row[5]["before"], row[5]["after"]
    lineage.of(_place(row)).settle(row[2], before).cut(after)


def _loaded(lineage: Lineage, row: Any) -> None:
    start, end = row[5]["start"], row[5]["end"]
    copy = lineage.of(_place(row)).settle(row[2], end)
    copy.start = start
    copy.leads, copy.follows = False, None


def _start_moved(lineage: Lineage, row: Any) -> None:
    lineage.of(_place(row)).copies.setdefault(row[2], _Copy()).start = row[5]["offset"]


def _cleaned(lineage: Lineage, row: Any) -> None:
    lineage.of(_place(row)).copies.setdefault(row[2], _Copy()).cleaned = row[5]["end"]


def _stopped(lineage: Lineage, row: Any) -> None:
    if row[5]["deleted"]:
        lineage.of(_place(row)).copies.get(row[2], _Copy()).cut(0)


def _deleted(lineage: Lineage, row: Any) -> None:
    for (topic, _), lines in lineage.partitions.items():
        if topic == row[5]["topic"]:
            lines.life += 1
            lines.leaders, lines.copies, lines.last = {}, {}, None


_READ = {
    "became_leader": _led, "became_follower": _followed, "truncated": _truncated, "log_loaded": _loaded,
    "log_start_moved": _start_moved, "log_cleaned": _cleaned, "replica_stopped": _stopped, "topic_deleted": _deleted,
}  # fmt: skip


# -- files ------------------------------------------------------------------------------------
def read_lineage(path: Path) -> Lineage:
    """That of a journal file, which may still grow; only the rows that matter are parsed."""
    lineage = Lineage()
    with open(path, "rb") as file:
        for row in telling(file):
            lineage.take(row)
    return lineage


def telling(lines: Iterable[bytes]) -> Iterator[Any]:
    """The rows among whole lines of a journal that tell of a lineage."""
    for line in lines:
        parts = line.split(b",", 4)
        if len(parts) == 5 and parts[3] in _CODES and line.endswith(b"\n"):
            yield orjson.loads(line)
