"""What producers sent and consumers read, value by value: rows of the tables `sends`, `polls` and `commits`.

A value is (label, number): a running number behind a label is a number here, and a text in the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from broker_core.clients.history import ABORTED
from lab.analytics.by_run.recording import Recording
from lab.analytics.history import TEXT

Number = int | str | None


class Send(NamedTuple):
    """The fate of one value that a producer sent."""

    t_us: int
    kind: str
    topic: str
    partition: int
    label: str
    number: Number
    offset: int | None
    broker: str | None
    seq: int
    position: int


class Poll(NamedTuple):
    """One value that a consumer read; `at`: its place inside the operation."""

    t_us: int
    process: str
    topic: str
    partition: int
    offset: int
    label: str
    number: Number
    seq: int
    position: int
    at: int


def as_read(number: Number) -> Number:
    """A text as reads tell it."""
    return "null" if number is None else number[:TEXT] if isinstance(number, str) else number


def raw_of(poll: Poll) -> Number:
    """A value as it was written."""
    return poll.number if poll.label else as_read(poll.number)


class Values:
    """Those of one run, made when first asked for."""

    def __init__(self, run: Recording) -> None:
        self.run = run

    @cached_property
    def sends(self) -> list[Send]:
        """Values in the order in which the operation names them: numbers first, then texts."""
        return [one for row in self.run.operations if row[4] == "send" and row[3] != "invoke" for one in _sent(row)]

    @cached_property
    def polls(self) -> list[Poll]:
        """In the order of reading."""
        return [one for row in self.run.operations if row[4] == "poll" and row[3] == "ok" for one in _read(row)]

    @cached_property
    def labels(self) -> set[str]:
        """The labels of the run's own sends."""
        return {_label(row) for row in self.run.operations if row[4] == "send"}

    @cached_property
    def begun(self) -> set[tuple[str, Number]]:
        """Values that were sent in transactions, whatever came of it."""
        return {
            (_label(row), number) for row in self.run.operations
            if row[4] == "send" and row[3] == "invoke" and row[5].get("transaction") is not None
            for number in _numbers(row)
        }  # fmt: skip

    @cached_property
    def taken_back(self) -> dict[tuple[str, Number], str]:
        """Values of writes that failed or were aborted, with the transaction that they were of."""
        return {
            (_label(row), number): row[5]["transaction"] for row in self.run.operations
            if row[4] == "send" and row[3] == "fail" and row[5].get("transaction") is not None
            for number in _numbers(row)
        }  # fmt: skip

    @cached_property
    def sent(self) -> list[tuple[int, str, str, str | None, int | None]]:
        """(t_us, process, kind, topic, partition) of each send."""
        return [(row[1], row[2], row[3], row[5].get("topic"), row[5].get("partition"))
                for row in self.run.operations if row[4] == "send"]

    def commits(self) -> Iterator[tuple[Any, ...]]:
        """Rows of the table `commits`, without the run."""
        for seq, t_us, process, kind, op, fields, _ in self.run.operations:
            for topic, partition, offset in fields.get("offsets") or () if op == "commit" else ():
                yield seq, t_us, process, kind, fields.get("group"), topic, int(partition), int(offset)


def _label(row: Any) -> str:
    label: str | None = row[5].get("label")
    return row[2] if label is None else label


def _numbers(row: Any) -> Iterator[int]:
    for first, count in row[5].get("values") or ():
        yield from range(first, first + count)


def _sent(row: Any) -> Iterator[Send]:
    seq, t_us, _, kind, _, fields, position = row
    if kind == "fail" and fields.get("transaction") is not None and fields.get("error") == ABORTED:
        kind = "abort"
    topic, partition, broker, first = (fields.get(name) for name in ("topic", "partition", "broker", "offset"))
    offset = None if kind != "ok" else -1 if first is None or first < 0 else first
    step = 1 if offset is not None and offset >= 0 else 0
    label = _label(row)
    for number in _numbers(row):
        yield Send(t_us, kind, topic, partition, label, number, offset, broker, seq, position)
        offset = offset + step if offset is not None else None
    for text in fields.get("texts") or ():
        yield Send(t_us, kind, topic, partition, "", text, offset, broker, seq, position)
        offset = offset + step if offset is not None else None


def _read(row: Any) -> Iterator[Poll]:
    seq, t_us, process, _, _, fields, position = row
    topic, partition = fields.get("topic"), fields.get("partition")
    for at, (offset, label, number, count) in enumerate(fields.get("runs") or ()):
        for step in range(count):
            value = number if label is None else int(number) + step
            yield Poll(t_us, process, topic, partition, offset + step, label or "", value, seq, position,
                       at * 1_000_000 + step)  # fmt: skip
