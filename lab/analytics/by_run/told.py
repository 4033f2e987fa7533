"""What became of what was sent, of one run: the tests of `lab.analytics.history`, by loops instead of joins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from lab.analytics.by_run import anomalies
from lab.analytics.by_run.anomalies import Odd
from lab.analytics.by_run.recording import Recording
from lab.analytics.by_run.stretches import Stands, Stood
from lab.analytics.by_run.values import Number, Values, as_read, raw_of
from lab.analytics.history import COUNTS
from lab.analytics.standing import ENDLESS, Stretches
from lab.checkers.copies import Copies
from lab.checkers.lineage import CODES, Lineage

Value = tuple[str, Number]
Place = tuple[str, int, int]
"""(topic, partition, offset)."""
Row = dict[str, Any]
_RANK = {"there": 0, "removed": 1, "cut": 2, "unknown": 3}


class Reading(NamedTuple):
    """A value at an offset: when it was first seen there, and how many values had been."""

    topic: str
    partition: int
    offset: int
    label: str
    raw: Number
    number: Number
    seen: tuple[int, int]
    seq: int
    nth: int

    @property
    def place(self) -> Place:
        return self[:3]

    @property
    def value(self) -> Value:
        return self.label, self.number


class Acked(NamedTuple):
    """An acknowledgement: where, of what, by whom."""

    topic: str
    partition: int
    offset: int
    label: str
    raw: Number
    number: Number
    position: int
    seq: int
    node: str | None


class Fate(NamedTuple):
    """An acknowledged value: its fate, the place that decided it, the test; `copies`: it is at risk."""

    label: str
    number: Number
    topic: str
    partition: int
    offset: int | None
    fate: str
    test: str | None
    copies: int | None


class Judged:
    """Sends and reads of one run sorted out, each list made when first asked for."""

    def __init__(self, run: Recording) -> None:
        self.run = run
        self.values = Values(run)

    # -- places -----------------------------------------------------------------------------
    @cached_property
    def copies(self) -> Copies | None:
        """The disks, where run.json tells of them."""
        told = self.run.facts.get("copies")
        return None if told is None else Copies(told)

    @cached_property
    def stands(self) -> Stands:
        """Which places are in the log that counts."""
        lineage = Lineage()
        for event in self.run.of(*CODES):
            lineage.take(event)
        name = self.run.name
        return Stands(Stretches({name: lineage}, {} if self.copies is None else {name: self.copies}))

    # -- sends and reads --------------------------------------------------------------------
    @cached_property
    def sent(self) -> dict[str, dict[Value, None]]:
        """Kind -> values, copies of texts told apart."""
        found: dict[str, dict[Value, None]] = {}
        for send, number in self._named:
            found.setdefault(send.kind, {})[send.label, number] = None
        return found

    @cached_property
    def _named(self) -> list[tuple[Any, Number]]:
        """Each send with its number; copies of a text are counted in their partition, acked ones first."""
        copies: Counter[Any] = Counter()
        names: dict[int, Number] = {}
        texts = [(send.kind != "ok", at) for at, send in enumerate(self.values.sends) if not send.label]
        for _, at in sorted(texts):
            send = self.values.sends[at]
            names[at] = _named(as_read(send.number), copies, (send.topic, send.partition))
        return [(send, names.get(at, send.number)) for at, send in enumerate(self.values.sends)]

    @cached_property
    def acks(self) -> list[Acked]:
        """What was acked, those without an offset (acks=0) among them."""
        return [Acked(s.topic, s.partition, -1 if s.offset is None else s.offset, s.label,
                      s.number if s.label else as_read(s.number), number, s.position, s.seq, s.broker)
                for s, number in self._named if s.kind == "ok"]  # fmt: skip

    @cached_property
    def acked(self) -> dict[Value, Acked]:
        """Each value at the last offset at which it was acked."""
        found: dict[Value, Acked] = {}
        for one in self.acks:
            value = one[3], one[5]
            known = found.get(value)
            if known is None or (one.offset, one.position) >= (known.offset, known.position):
                found[value] = one
        return found

    @cached_property
    def read(self) -> list[Reading]:
        """One row a value at an offset, in the order of reading."""
        first: dict[Any, list[Any]] = {}
        for poll in self.values.polls:
            _, _, topic, partition, offset, label, _, seq, position, at = poll
            key = (topic, partition, offset, label, raw_of(poll))
            known = first.get(key)
            if known is None:
                first[key] = [(position, at), seq]
            elif seq < known[1]:
                known[1] = seq
        nths: dict[Place, int] = {}
        copies: Counter[Any] = Counter()
        found = []
        for (topic, partition, offset, label, raw), (seen, seq) in first.items():
            place = topic, partition, offset
            nth = nths[place] = nths.get(place, 0) + 1
            number = raw if label else _named(raw, copies, (topic, partition))
            found.append(Reading(*place, label, raw, number, seen, seq, nth))
        return found

    @cached_property
    def values_read(self) -> Counter[Value]:
        """Each value that was read, and at how many places."""
        return Counter([(label, number) for _, _, _, label, _, number, *_ in self.read])

    @cached_property
    def _texts(self) -> set[Value]:
        return {(send.label, number) for send, number in self._named if not send.label}

    def is_own(self, label: str, number: Number) -> bool:
        """Whether the run sent it: a log may hold what was written before, or by outside clients."""
        return label in self.values.labels if label else (label, number) in self._texts

    @cached_property
    def bounds(self) -> dict[tuple[str, int], int]:
        """Of each partition the largest first offset of a value that was read."""
        first: dict[Any, int] = {}
        for topic, partition, offset, label, _, number, *_ in self.read:
            key = topic, partition, label, number
            if first.setdefault(key, offset) > offset:
                first[key] = offset
        for topic, partition, offset, label, _, number, *_ in self.acks:
            key = topic, partition, label, number
            if label and 0 <= offset < first.get(key, 0):
                first[key] = offset
        found: dict[tuple[str, int], int] = {}
        for (topic, partition, _, _), offset in first.items():
            found[topic, partition] = max(found.get((topic, partition), offset), offset)
        return found

    # -- fates ------------------------------------------------------------------------------
    @cached_property
    def fates(self) -> list[Fate]:
        """One row an acknowledged value."""
        places: dict[Value, list[Reading]] = {}
        judged: dict[Value, tuple[Any, Stood]] = {}
        for value, one in self.acked.items():
            stood = self.stands((one.topic, one.partition), one.offset, one.seq, one.node)
            judged[value] = one, stood
            if stood.stand != "there" and value in self.values_read:
                places[value] = []
        for reading in self.read if places else ():
            if reading.value in places:
                places[reading.value].append(reading)
        for value, readings in places.items():
            own = judged[value]
            each = [(own, (-1, -1))] if own[0].offset >= 0 else []
            for reading in readings:
                if reading.place == (own[0].topic, own[0].partition, own[0].offset):
                    continue
                stood = self.stands((reading.topic, reading.partition), reading.offset, reading.seq, "")
                each.append(((reading, stood), reading.seen))
            judged[value] = min(each, key=lambda item: (_RANK[item[0][1].stand], item[1]))[0]
        return [self._fate(value, *found) for value, found in judged.items()]

    def _fate(self, value: Value, place: Any, stood: Stood) -> Fate:
        partition, offset, stand = (place.topic, place.partition), place.offset, stood.stand
        thin = self.stands.thin(partition, offset, stood.reign)
        if stand == "cut":
            fate, test = "lost", "cut"
        elif value in self.values_read:
            fate, test = "read", None
        elif stand == "removed":
            fate, test = "removed", None
        else:
            fate, test = self._unread(value, partition, offset, stood, thin)
        copies = thin if stand == "there" and fate in ("read", "unread") else None
        return Fate(*value, *partition, None if offset < 0 else offset, fate, test, copies)

    def _unread(
        self, value: Value, partition: tuple[str, int], offset: int, stood: Stood, thin: int | None
    ) -> tuple[str, str | None]:  # fmt: skip
        """Fate and test of what nobody has read, and nobody is known to have taken away."""
        label, number = value
        read_back = self.run.facts.get("read_back") is True
        passed = offset <= self.bounds.get(partition, -1)
        later = bool(label) and self._latest.get((*partition, label), -1) > _whole(number)
        fate, test = "", None
        if offset < 0:
            fate, test = ("lost", "missing" if read_back else "never-there") if read_back or later else ("unread", None)
        elif stood.stand == "unknown":
            fate, test = ("lost", "passed") if passed else ("unread", None)
        elif stood.cleaned is not None and offset < stood.cleaned and (passed or read_back):
            fate, test = "removed", None
        elif not read_back:
            fate, test = "unread", None
        else:
            is_damaged = self.stands.is_damaged(partition, offset)
            fate = "unread" if is_damaged and (thin is None or thin > 0) else "lost"
            test = None if fate == "unread" else "unreadable" if is_damaged else "missing"
        return fate, test

    @cached_property
    def _latest(self) -> dict[tuple[str, int, str], int]:
        """The largest number of a label that was read in a partition."""
        found: dict[tuple[str, int, str], int] = {}
        for one in self.read:
            if one.label and one.nth == 1 and isinstance(one.number, int):
                key = one.topic, one.partition, one.label
                found[key] = max(found.get(key, one.number), one.number)
        return found

    @cached_property
    def lost(self) -> list[Fate]:
        """Acked, and gone from the log that counts."""
        return [one for one in self.fates if one.fate == "lost"]

    # -- places that are odd ----------------------------------------------------------------
    @cached_property
    def duplicated(self) -> list[Odd]:
        """`anomalies.duplicated`."""
        return list(anomalies.duplicated(self))

    @cached_property
    def reordered(self) -> list[tuple[str, Number, str, int, int, int]]:
        """`anomalies.reordered`."""
        return list(anomalies.reordered(self))

    # -- figures ----------------------------------------------------------------------------
    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """The figures of the receipt by producer; `operator` wrote by hand."""
        found: dict[str, Counter[str]] = {}
        for name, labels in (
            ("acked", [label for label, _ in self.acked]),
            ("read", [one[0] for one in self.values_read if self.is_own(*one)]),
            ("duplicated", [one.label for one in self.duplicated]), ("reordered", [one[0] for one in self.reordered]),
            *((fate, [one.label for one in self.fates if one.fate == fate]) for fate in ("lost", "unread", "removed")),
            ("at_risk", [one.label for one in self.fates if one.copies is not None]),
        ):  # fmt: skip
            for label, count in Counter(labels).items():
                found.setdefault(producer_of(label), Counter())[name] += count
        return {producer: {name: counts[name] for name in COUNTS} for producer, counts in sorted(found.items())}

    def receipt(self) -> Iterator[Row]:
        """Rows of the question of that name."""
        first: dict[str, tuple[str, int, int]] = {}
        for one in self.lost:
            place = one.topic, one.partition, ENDLESS if one.offset is None else one.offset
            producer = producer_of(one.label)
            first[producer] = min(first.get(producer, place), place)
        for producer, counts in self.counts.items():
            topic, partition, offset = first.get(producer, (None, None, None))
            figures: Row = {**counts} if self.copies is not None else {**counts, "at_risk": None}
            yield {"run": self.run.name, "producer": producer, **figures, "lost_topic": topic,
                   "lost_partition": partition, "lost_offset": None if offset == ENDLESS else offset}


def producer_of(label: str) -> str:
    """Whose values have this label."""
    return label.split("~", 1)[0] if label else "operator"


def _named(raw: Number, copies: Counter[Any], partition: tuple[str, int]) -> Number:
    """A text, with the number of its copy behind it from the second one on."""
    copy = copies[partition, raw]
    copies[partition, raw] += 1
    return f"{raw}#{copy}" if copy else raw


def _whole(number: Number) -> int:
    try:
        return -1 if number is None else int(number)
    except ValueError:
        return -1
