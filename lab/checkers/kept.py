"""What a receipt needs of a run that goes on, kept as it goes, so that it is there in a moment at any age.

    world ---- operations ----------> plain values: a cell an offset (`kept_log`), running totals
          ---- state transitions ---> lineage      odd ones: value by value (`receipt_history`)

| a value is odd when | as in |
|---|---|
| it has two places, or its offset two values | a retry that was not idempotent, an unclean election |
| it is a text, was sent with acks=0, has failed, or nobody knows | written by hand |
| it was cut off | a leader died before its followers had it |

Of odd values there may be `MOST`: what has more of them is judged from its files (`TooMuch`).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

from broker_core.kernel.journal import Row
from broker_core.kernel.names import CHECKER
from broker_core.kernel.world import World
from lab.checkers.dependencies import Dependencies
from lab.checkers.kept_log import BITS, EMPTY, FIRST, FOREIGN, LABELS, ODD, PENDING, KeptLog, TooMuch
from lab.checkers.lineage import Lineage
from lab.checkers.receipt_history import Ack, History, Partition, Step, Value

MOST = 60_000
SEARCHED = 1 << 31
"""Bytes of values that are looked through, in all, for a second place of one that was acknowledged already."""
NUMBERS = (1 << BITS) - 1


class _Numbers:
    """Numbers of one label that were acknowledged, as stretches that mostly follow each other."""

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.ends: list[int] = []

    def has(self, first: int, end: int) -> bool:
        """Whether one of them is in it."""
        at = bisect_left(self.ends, first + 1)
        return at < len(self.firsts) and self.firsts[at] < end

    def add(self, first: int, end: int) -> None:
        """None of them is in it yet."""
        at = bisect_left(self.ends, first)
        joins_left = at < len(self.ends) and self.ends[at] == first
        right = at + 1 if joins_left else at
        joins_right = right < len(self.firsts) and self.firsts[right] == end
        if joins_left and joins_right:
            self.ends[at] = self.ends[right]
            del self.firsts[right], self.ends[right]
        elif joins_left:
            self.ends[at] = end
        elif joins_right:
            self.firsts[right] = first
        else:
            self.firsts.insert(at, first)
            self.ends.insert(at, end)


class Kept:
    """Rows go in by `row` and `operation`, in order; `receipt` may be asked for at any time. Raises TooMuch."""

    def __init__(self) -> None:
        self.lineage = Lineage()
        self.odd = History()
        self.dependencies = Dependencies()
        self.logs: dict[Partition, KeptLog] = {}
        self.names: list[str] = []
        self.ended = False
        self.labels: dict[str, int] = {}
        self.letters: dict[int, int] = {}  # label -> its cell when acknowledged; when read, too, the next one
        self._numbers: dict[int, _Numbers] = {}
        self._strange: set[int] = set()  # odd values
        self.pending: dict[int, tuple[Partition, int]] = {}
        self.acked: dict[int, int] = {}
        self.read: dict[int, int] = {}
        self.steps: list[Step] = []
        self._positions: dict[str, dict[Partition, int]] = {}
        self._searched = 0

    def watch(self, world: World) -> None:
        """From now on; the world has done nothing yet."""
        world.journal.transition_watchers.append(self.row)
        world.operations.watchers.append(self.operation)

    # -- from the world ---------------------------------------------------------------------
    def row(self, row: Row) -> None:
        """One of the journal's state transitions."""
        self.lineage.take(row)

    def operation(self, row: Mapping[str, Any]) -> None:
        """One of the history's."""
        if self.ended:
            return
        try:
            self._take(row)
            self.dependencies.take(row)
            many = len(self._strange) + len(self.steps) + len(self.pending) + len(self.odd.undecided)
            if many + self.dependencies.size > MOST:
                raise TooMuch
        except TooMuch:
            self.ended = True
            self.odd, self.logs, self._numbers, self._strange = History(), {}, {}, set()
            self.dependencies = Dependencies()

    def _take(self, row: Mapping[str, Any]) -> None:
        op, kind = row["op"], row["kind"]
        if op == "send":
            label = row.get("label", row["process"])
            if label not in self.odd.labels:
                if label in self.labels:  # read before it was sent: somebody else's, it seemed
                    raise TooMuch
                self.odd.labels[label] = None
            self.odd.decide(row, kind)
            if kind != "invoke":
                self._send(row, kind, label)
        elif op == "poll" and kind == "ok":
            self._poll(row)
        elif op == "assign":
            self._positions.pop(row["process"], None)

    def _index(self, label: str) -> int:
        found = self.labels.get(label)
        if found is None:
            found = self.labels[label] = len(self.names)
            self.names.append(label)
            self._numbers[found] = _Numbers()
        return found

    def _letter(self, index: int) -> int:
        found = self.letters.get(index)
        if found is None:
            if len(self.letters) >= LABELS:
                raise TooMuch
            found = self.letters[index] = FIRST + 2 * len(self.letters)
        return found

    def _log(self, partition: Partition) -> KeptLog:
        found = self.logs.get(partition)
        if found is None:
            found = self.logs[partition] = KeptLog()
        return found

    def _term(self, partition: Partition) -> int:
        """How many terms have begun by now."""
        lines = self.lineage.partitions.get(partition)
        return len(lines.terms) if lines is not None else 0

    # -- sends ------------------------------------------------------------------------------
    def _send(self, row: Mapping[str, Any], kind: str, label: str) -> None:
        offset = row.get("offset", -1) if kind == "ok" else -1
        if offset < 0 or row.get("texts"):
            self._oddly_sent(row, kind, label)
            return
        partition, index = (row["topic"], row["partition"]), self._index(label)
        first = offset
        for number, count in row["values"]:
            if not self._acked_plainly(partition, offset, index, number, count):
                for step in range(count):
                    self._acked_slowly(row, partition, offset + step, index, number + step)
            offset += count
        if offset > first:
            self._log(partition).acks.add(first, offset, row.get("seq", 0), row.get("broker"), self._term(partition))
            self.odd.acknowledged(row, partition, first, offset - 1)

    def _acked_plainly(self, partition: Partition, offset: int, index: int, number: int, count: int) -> bool:
        """Where nothing stands yet, of numbers that nobody knows; False when it has to be looked at one by one."""
        log = self._log(partition)
        values = array("q", range(index << BITS | number, (index << BITS | number) + count))
        if not log.has_only(EMPTY, offset, count) or self._numbers[index].has(number, number + count):
            return False
        if not (self._strange.isdisjoint(values) and self.pending.keys().isdisjoint(values)):
            return False
        log.put(offset, self._letter(index), values)
        self._numbers[index].add(number, number + count)
        self.acked[index] = self.acked.get(index, 0) + count
        return True

    def _acked_slowly(self, row: Mapping[str, Any], partition: Partition, offset: int, index: int, number: int) -> None:
        log, value = self._logs_at(partition, offset)
        whole = index << BITS | number
        if value == whole and log.cells[offset] == PENDING and self.pending.get(whole) == (partition, offset):
            del self.pending[whole]
            log.cells[offset] = self._letter(index) + 1
            self._numbers[index].add(number, number + 1)
            self.acked[index] = self.acked.get(index, 0) + 1
            self.read[index] = self.read.get(index, 0) + 1
            return
        if log.cells[offset] == EMPTY and not self._is_known(whole):
            self._acked_plainly(partition, offset, index, number, 1)
            return
        self._make_odd(whole)
        self.make_odd_at(partition, offset)
        self._strange.add(whole)
        ack = Ack(partition, offset, row.get("seq", 0), row.get("broker"))
        self._odd_ack((self.names[index], number), ack)

    def _logs_at(self, partition: Partition, offset: int) -> tuple[KeptLog, int]:
        log = self._log(partition)
        return log, log.values[offset]

    def _odd_ack(self, value: Value, ack: Ack) -> None:
        self.odd.settle("ok", value, ack)
        self.odd.log(ack.partition).acks.append((value, ack.offset))

    def _oddly_sent(self, row: Mapping[str, Any], kind: str, label: str) -> None:
        """Texts, fates without an offset: nothing of it is plain."""
        index, partition = self._index(label), (row["topic"], row["partition"])
        for number, count in row["values"]:
            for value in range(index << BITS | number, (index << BITS | number) + count):
                self._make_odd(value)
                self._strange.add(value)
        at = row.get("offset", -1) if kind == "ok" else -1
        total = sum(count for _, count in row["values"]) + len(row.get("texts", ()))
        for offset in range(at, at + total) if at >= 0 else ():
            self.make_odd_at(partition, offset)
        self._strange.update(-1 - len(self._strange) - one for one in range(len(row.get("texts", ()))))
        self.odd.sent(row, kind)

    # -- polls ------------------------------------------------------------------------------
    def _poll(self, row: Mapping[str, Any]) -> None:
        partition, process, seq = (row["topic"], row["partition"]), row["process"], row.get("seq", 0)
        positions, inside, log = self._positions.setdefault(process, {}), False, self._log(partition)
        self.odd.log(partition)
        for first, label, number, count in row["runs"]:
            before = None if "delivery" in row else positions.get(partition)
            if before is not None and first != before + 1:
                self.steps.append(Step(row.get("t", 0), process, partition, before, first, inside))
            positions[partition], inside = first + count - 1, True
            if label is None:
                self._read_text(log, partition, first, number, seq)
                continue
            index = self._index(label)
            self._note_reader(process, index, number, count)
            if not self._read_plainly(log, partition, first, index, number, count, seq):
                for step in range(count):
                    self._read_slowly(log, partition, first + step, index, number + step, seq)

    def _note_reader(self, process: str, index: int, number: int, count: int) -> None:
        """Who reads values that are, or may yet be, aborted with their transaction: of others nobody asks."""
        odd, label = self.odd, self.names[index]
        if not (odd.undecided or odd.aborted if process == CHECKER else odd.only_checked):
            return
        for each in range(number, number + count):
            value = label, each
            if process != CHECKER or value in odd.undecided or value in odd.aborted:
                odd.note_reader(process, value, index << BITS | each in self.pending or value in odd.places)

    def _read_plainly(
        self, log: KeptLog, partition: Partition, first: int, index: int, number: int, count: int, seq: int
    ) -> bool:  # fmt: skip
        """All of it was acknowledged there, and nobody has read it yet: or everything was read before."""
        letter = self.letters.get(index)
        if letter is None:
            return False
        whole = index << BITS | number
        if log.values.read(first, first + count) != array("q", range(whole, whole + count)):
            return False
        if log.has_only(letter + 1, first, count):
            return True
        if not log.has_only(letter, first, count) or first <= log.top:
            return False
        log.paint(first, count, letter + 1)
        log.reads.add(first, first + count, seq, None, self._term(partition))
        self.read[index] = self.read.get(index, 0) + count
        log.largest[index] = max(log.largest.get(index, -1), number + count - 1)
        log.passed = max(log.passed, first + count - 1)
        known = log.latest.get(index, -1)
        if number < known:
            for step in range(count):
                self.walk(partition, first + step, index, number + step)
        else:
            log.latest[index], log.top = number + count - 1, first + count - 1
        return True

    def _read_slowly(self, log: KeptLog, partition: Partition, offset: int, index: int, number: int, seq: int) -> None:
        cell, whole = log.cells[offset], index << BITS | number
        plain = cell not in (EMPTY, ODD)
        if plain and log.values[offset] == whole and (cell in (FOREIGN, PENDING) or (cell - FIRST) % 2):
            return  # read before
        own = self.names[index] in self.odd.labels
        if plain and log.values[offset] == whole:
            log.cells[offset] = cell + 1
            self.read[index] = self.read.get(index, 0) + 1
        elif cell == EMPTY and not self._is_known(whole):
            log.cells[offset] = PENDING if own else FOREIGN
            log.values[offset] = whole
            if own:
                self.pending[whole] = partition, offset
        else:
            self._make_odd(whole)
            self.make_odd_at(partition, offset)
            self._strange.add(whole)
            first = self.odd.log(partition).written(offset) is None
            self.odd.note_read(self.odd.log(partition), partition, offset, (self.names[index], number), seq)
            if first:
                self.walk(partition, offset, index, number)
            return
        log.reads.add(offset, offset + 1, seq, None, self._term(partition))
        log.largest[index] = max(log.largest.get(index, -1), number)
        log.passed = max(log.passed, offset)
        self.walk(partition, offset, index, number)

    def _read_text(self, log: KeptLog, partition: Partition, offset: int, text: Any, seq: int) -> None:
        self.make_odd_at(partition, offset)
        self._strange.add(-1 - len(self._strange))
        value = "", "null" if text is None else text[:200]
        self.odd.note_read(self.odd.log(partition), partition, offset, value, seq)
        log.late = log.late or offset < log.top
        log.top = max(log.top, offset)

    def walk(self, partition: Partition, offset: int, index: int, number: int) -> None:
        """A value was read first at an offset: is it behind a later one of its producer?"""
        log, value = self.logs[partition], (self.names[index], number)
        if offset <= log.top:
            log.late = True
            return
        log.top = offset
        read = self.odd.log(partition).read
        again = any(at == partition and place < offset and read.get(place) == value
                    for at, place in self.odd.places.get(value, ()))  # fmt: skip
        if again or value[0] not in self.odd.labels:
            return
        if number < log.latest.get(index, -1):
            log.behind[offset] = log.latest[index]
        else:
            log.latest[index] = number

    # -- odd values -------------------------------------------------------------------------
    def _is_known(self, value: int) -> bool:
        index, number = value >> BITS, value & NUMBERS
        known = self._numbers[index].has(number, number + 1)
        return known or value in self._strange or value in self.pending

    def _make_odd(self, value: int) -> None:
        """If it is plain somewhere, its place becomes odd."""
        if value in self._strange:
            return
        index, number = value >> BITS, value & NUMBERS
        if value in self.pending:
            self.make_odd_at(*self.pending[value])
        elif self._numbers[index].has(number, number + 1):
            for partition, log in self.logs.items():
                self._searched += log.values.size
                if self._searched > SEARCHED:
                    raise TooMuch
                offset = log.find(value)
                if offset is not None:
                    self.make_odd_at(partition, offset)
                    return

    def make_odd_at(self, partition: Partition, offset: int) -> None:
        """What is plain at an offset is judged value by value from now on."""
        log, value = self._logs_at(partition, offset)
        cell = log.cells[offset]
        log.cells[offset] = ODD
        if cell in (EMPTY, ODD):
            return
        self._strange.add(value)
        self.pending.pop(value, None)
        index, named = value >> BITS, (self.names[value >> BITS], value & NUMBERS)
        if cell >= FIRST:
            told = log.acks.at(offset)
            self.acked[index] -= 1
            self._odd_ack(named, Ack(partition, offset, told.seq, told.node))
        if cell in (FOREIGN, PENDING) or (cell - FIRST) % 2:
            if cell >= FIRST:
                self.read[index] -= 1
            self.odd.note_read(self.odd.log(partition), partition, offset, named, log.reads.at(offset).seq)

    def read_at(self, log: KeptLog, partition: Partition, offset: int) -> Value:
        """The value that was read first at an offset."""
        if log.cells[offset] == ODD:
            return self.odd.logs[partition].read[offset]
        value = log.values[offset]
        return self.names[value >> BITS], value & NUMBERS

    def walk_again(self, partition: Partition, log: KeptLog) -> None:
        """Something was read late: the order of all that was read, once more from the beginning."""
        log.late, log.top, log.latest, log.behind = False, -1, {}, {}
        read = self.odd.log(partition).read
        for begin, piece in log.cells.pieces():
            for offset, cell in enumerate(piece, begin):
                if cell == ODD and offset in read:
                    label, number = read[offset]
                    if label:
                        self.walk(partition, offset, self.labels[label], number)
                    log.top = offset
                elif cell in (FOREIGN, PENDING) or (cell >= FIRST and (cell - FIRST) % 2):
                    value = log.values[offset]
                    self.walk(partition, offset, value >> BITS, value & NUMBERS)
