"""The receipt of a run that goes on, from what is kept of it: the figures of `make_receipt` in a moment at any age.

What is in order was counted when it happened. Only those stretches are looked at that are not there in the log that
counts, and those that are on too few disks. What was cut off becomes odd, and so is judged by the rules that judge
everything else.

Where a figure needs what is not kept (who has read a failed write), `TooMuch` says that the receipt is to be judged
from the files. Of more than `MAX_PLACES` places the kept receipt has the first by partition and offset, the other one
the first that happened.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from broker_core.clients.history import producer_of
from lab.checkers import receipt as judging
from lab.checkers.copies import Copies
from lab.checkers.fates import Stand
from lab.checkers.kept import NUMBERS, Kept
from lab.checkers.kept_log import BITS, KeptLog, Stretch, TooMuch, edges_in
from lab.checkers.lineage import Written, borders
from lab.checkers.receipt import Receipt
from lab.checkers.receipt_fates import Evidence, Judge
from lab.checkers.receipt_history import History, Partition

Parts = dict[Partition, list[tuple[int, int, Written, Stand]]]
"""Stretches of offsets that were acknowledged, by whom, and how they stand."""


def kept_receipt(kept: Kept, copies: list[dict[str, Any]] | None) -> Receipt:
    """What `make_receipt` says of the run so far, with these disks. Raises TooMuch."""
    return _Judging(kept, copies).judge()


class _OddJudge(Judge):
    """Judges odd values beside plain ones."""

    def __init__(self, kept: Kept, evidence: Evidence) -> None:
        super().__init__(kept.odd, evidence)
        self.kept = kept

    @cached_property
    def bounds(self) -> dict[Partition, int]:
        found = dict(Judge.bounds.func(self))  # type: ignore[attr-defined]
        for partition, log in self.kept.logs.items():
            found[partition] = max(found.get(partition, -1), log.passed)
        return found

    @cached_property
    def _latest(self) -> dict[tuple[Partition, str], int]:
        found = dict(Judge._latest.func(self))  # type: ignore[attr-defined]
        for partition, log in self.kept.logs.items():
            for index, number in log.largest.items():
                key = partition, self.kept.names[index]
                found[key] = max(number, found.get(key, -1))
        return found


class _Judging:
    def __init__(self, kept: Kept, copies: list[dict[str, Any]] | None) -> None:
        self.kept = kept
        self.evidence = Evidence(kept.lineage, Copies(copies) if copies is not None else None)
        self.receipt = Receipt()

    @property
    def _copies(self) -> Copies | None:
        return self.evidence.copies

    def judge(self) -> Receipt:
        """All figures."""
        kept, receipt = self.kept, self.receipt
        if kept.ended or any(value in kept.odd.places for value in kept.odd.failed):
            raise TooMuch
        parts = self._parts()
        for partition, log in kept.logs.items():
            if log.late:
                kept.walk_again(partition, log)
        self._count_plain(parts)
        history = self._finished()
        self._count_behind()
        self._count_steps()
        for count in (judging.count_acked, judging.count_duplicates, judging.count_inconsistent,
                      judging.count_aborted_reads, judging.count_falls):
            count(receipt, history)
        judging.count_dependencies(receipt, kept.dependencies.found())
        judging.count_fates(receipt, _OddJudge(kept, self.evidence))
        judging.sum_up(receipt, self.evidence)
        return receipt

    def _finished(self) -> History:
        """The odd ones with copies of texts told apart: by all that is known now, each time anew."""
        for fates in (self.kept.odd.acked, self.kept.odd.failed, self.kept.odd.unknown):
            for value in [value for value in fates if not value[0]]:
                del fates[value]
        self.kept.odd.finish()
        return self.kept.odd

    def _stretches(self) -> Iterator[tuple[Partition, KeptLog, int, int, Written, Stand]]:
        """Parts of acknowledged stretches, and how each stands."""
        lineage = self.kept.lineage
        for partition, log in self.kept.logs.items():
            if log.acks.rows and partition not in lineage.partitions:
                raise TooMuch
            edges = self._edges(partition, log) if log.acks.rows else []
            for one in list(log.acks.rows):
                for first, end in edges_in(self._marks(partition, one, edges), one.first, one.end):
                    written = lineage.written(partition, first, one.seq, one.node)
                    if written is None:
                        raise TooMuch
                    yield partition, log, first, end, written, lineage.stand(partition, first, written)

    def _edges(self, partition: Partition, log: KeptLog) -> list[int]:
        """Where something changes in the log that counts, or on the disks; going up."""
        found = {log.passed + 1, *self.kept.lineage.edges(partition)}
        if self._copies is not None and self._copies.knows(partition):
            found.update(self._copies.edges(partition))
        return sorted(found)

    def _marks(self, partition: Partition, one: Stretch, edges: list[int]) -> list[int]:
        """Those of a stretch: of the edges, and of the log in which it was acknowledged. (There are as many edges as
        elections, and so are stretches: each looks only at its own.)"""
        found = edges[bisect_right(edges, one.first) : bisect_left(edges, one.end)]
        term = self.kept.lineage.term_at(partition, one.seq, one.node) or self.kept.lineage.term_at(partition, one.seq)
        return found + borders(term.epochs, one.first, one.end) if term is not None else found

    def _parts(self) -> Parts:
        """By partition the parts that are there, or were removed; what was cut off becomes odd."""
        found: Parts = {}
        for partition, log, first, end, written, stand in self._stretches():
            if stand is Stand.CUT:
                for offset in log.plain(first, end):
                    self.kept.make_odd_at(partition, offset)
            else:
                found.setdefault(partition, []).append((first, end, written, stand))
        return found

    def _count_plain(self, parts: Parts) -> None:
        receipt = self.receipt
        for index, count in self.kept.acked.items():
            if count:
                counts = receipt.of(producer_of(self.kept.names[index]))
                counts.acked += count
                counts.read += self.kept.read.get(index, 0)
                counts.unread += count - self.kept.read.get(index, 0)
        for value in self.kept.pending:
            receipt.of(producer_of(self.kept.names[value >> BITS])).read += 1
        for partition in sorted(parts):
            log = self.kept.logs[partition]
            for first, end, written, stand in parts[partition]:
                cleaned = self.kept.lineage.is_cleaned(partition, first) and first <= log.passed
                if stand is Stand.REMOVED or cleaned:
                    self._take_away(partition, first, end)
                whole = self._too_few(partition, first, written) if stand is Stand.THERE else None
                if whole is not None:
                    self._at_risk(partition, (first, end), whole, cleaned)

    def _too_few(self, partition: Partition, offset: int, written: Written) -> int | None:
        copies = self._copies
        if copies is None or not copies.knows(partition):
            return None
        whole = copies.whole(partition, offset, written.epoch)
        return whole if whole < copies.promised(partition) else None

    def _take_away(self, partition: Partition, first: int, end: int) -> None:
        """Unread ones: removed."""
        log = self.kept.logs[partition]
        for index, letter in self.kept.letters.items():
            count = log.count(letter, first, end)
            if count:
                counts = self.receipt.of(producer_of(self.kept.names[index]))
                counts.removed += count
                counts.unread -= count
                self._places("removed", partition, (first, end), {letter})

    def _at_risk(self, partition: Partition, part: tuple[int, int], whole: int, read_only: bool) -> None:
        log = self.kept.logs[partition]
        letters: set[int] = set()
        for index, letter in self.kept.letters.items():
            cells = (letter + 1,) if read_only else (letter, letter + 1)
            count = sum(log.count(cell, *part) for cell in cells)
            if count:
                counts = self.receipt.of(producer_of(self.kept.names[index]))
                counts.at_risk = (counts.at_risk or 0) + count
                letters.update(cells)
        self._places("at_risk", partition, part, letters, copies=whole)

    def _places(
        self, kind: str, partition: Partition, part: tuple[int, int], cells: set[int], **more: Any
    ) -> None:  # fmt: skip
        log = self.kept.logs[partition]
        for offset in log.plain(*part) if cells else ():
            if len(self.receipt.places.get(kind, ())) >= judging.MAX_PLACES:
                return
            if log.cells[offset] in cells:
                value = log.values[offset]
                self.receipt.place(kind, (self.kept.names[value >> BITS], value & NUMBERS), partition, offset, **more)

    def _count_behind(self) -> None:
        for partition, log in sorted(self.kept.logs.items(), key=lambda one: one[0]):
            for offset, latest in sorted(log.behind.items()):
                value = self.kept.read_at(log, partition, offset)
                self.receipt.of(judging.owner(value)).reordered += 1
                self.receipt.place("reordered", value, partition, offset, behind=latest)

    def _count_steps(self) -> None:
        aborted = self.kept.odd.aborted_at()
        for whole, (partition, offset) in self.kept.pending.items():
            if (self.kept.names[whole >> BITS], whole & NUMBERS) in self.kept.odd.undecided:
                aborted.setdefault(partition, set()).add(offset)
        for step in self.kept.steps:
            log, gone = self.kept.logs[step.partition], aborted.get(step.partition, set())
            if step.before in gone or step.offset in gone:
                continue
            by = log.known_between(step.before, step.offset)
            over = sum(min(step.before, step.offset) < offset < max(step.before, step.offset) for offset in gone)
            by -= over if step.offset > step.before else -over
            if by != 1:
                judging.count_step(self.receipt, step, by, self.kept.read_at(log, step.partition, step.offset))
