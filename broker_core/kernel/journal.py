"""The one record of what happened.

A row is `[seq, t, node, code, cause, params]`: the number of the call that was being executed (calls
are numbered as they run, so it never goes down), virtual time in microseconds, the node, a code of
`events.REGISTRY`, the number of the call that led to this one (0 = an input from outside), and the
parameters. One row is one line of JSON.

What is recorded depends on the spec alone: state transitions always; messages and details by the
record level and by a budget of rows in each virtual second. Above the budget they are counted, and
the counts are written as one `summed_up` row when the next second's first row arrives. So the
journal of a spec and its inputs is always the same bytes, whoever looks on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from broker_core.kernel.events import LEVEL_NAMES, SUMMED_UP, TRANSITION, EventCode

Row = tuple[int, int, str, str, int, dict[str, Any]]
BUDGET = 4000
TAIL = 40_000
_BATCH = 512
_OPTIONS = orjson.OPT_NON_STR_KEYS
_BETWEEN = b"}],["


def encode_row(row: Row) -> bytes:
    """One row as a line of JSON, without the newline."""
    return orjson.dumps(row, option=_OPTIONS)


def encode_rows(rows: Sequence[Row]) -> bytes:
    """Rows as lines of JSON. One call for all of them costs an eighth of a call for each.

    The commas between rows then become newlines, unless parameters happen to contain what stands there.
    """
    whole = orjson.dumps(rows, option=_OPTIONS)
    if whole.count(_BETWEEN) == len(rows) - 1:
        return whole[1:-1].replace(_BETWEEN, b"}]\n[") + b"\n"
    return b"".join([encode_row(row) + b"\n" for row in rows])


def held_by(thing: Any) -> dict[str, Any]:
    """Attributes of an object by name, for its `__getstate__`; a compiled one has no `__dict__`."""
    names = getattr(type(thing), "__mypyc_attrs__", None)
    return dict(thing.__dict__) if names is None else {name: getattr(thing, name) for name in names}


def hold(thing: Any, state: dict[str, Any]) -> None:
    """For its `__setstate__`: let an object have these attributes."""
    for name, value in state.items():
        setattr(thing, name, value)


class Journal:
    """Rows in order; the last ones are kept in memory, all of them go to `sink` as lines.

    Rows of one scheduler event share its number. Pending rows are encoded when a batch is full or `flush` is called.

    Nearly all rows are messages that nobody watches. So that they cost next to nothing, `Node.emit`
    itself puts up to `room` of them into `fresh`; all others go through `record`. There is no room while
    somebody watches, nor in a new second (`World` asks `settle` when the clock passes `second_ends_us`).
    `transition_watchers` see state transitions only, and so do not stand in the way of messages.

    Invariants
        * rows are ordered by seq
        * never a byte differs by when rows are encoded
    """

    def __init__(self, record_level: str, budget: int = BUDGET) -> None:
        self.level = LEVEL_NAMES.index(record_level)
        self.budget = budget
        self.sink: Callable[[bytes], None] | None = None
        self._watchers: list[Callable[[Row], None]] = []
        self.transition_watchers: list[Callable[[Row], None]] = []
        self.fresh: list[Row] = []
        self.room = 0
        self.second_ends_us = 0
        self._count = 0
        self._tail: deque[Row] = deque(maxlen=TAIL)
        self._pending: list[Row] = []
        self._second = -1
        self._spent = 0
        self._summed: dict[str, int] = {}

    def __getstate__(self) -> dict[str, Any]:
        self.settle()
        return {**held_by(self), "sink": None, "_watchers": [], "transition_watchers": [], "_pending": [],
                "_tail": deque(maxlen=TAIL)}  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        hold(self, state)

    @property
    def count(self) -> int:
        """Rows so far."""
        return self._count + len(self.fresh)

    @property
    def tail(self) -> deque[Row]:
        """The last rows, oldest first."""
        self.settle()
        return self._tail

    @property
    def watchers(self) -> list[Callable[[Row], None]]:
        """Whoever is told of each row at once; to be changed in place."""
        self.settle()
        return self._watchers

    def record(self, seq: int, t_us: int, node: str, code: EventCode, cause: int, params: dict[str, Any]) -> None:
        """Add a row, or count it when the second's budget is spent."""
        self.settle()
        if t_us >= self.second_ends_us:
            self._begin_second(seq, t_us)
        if code.level != TRANSITION:
            if self._spent >= self.budget:
                self._summed[code.name] = self._summed.get(code.name, 0) + 1
                return
            self._spent += 1
        row = (seq, t_us, node, code.name, cause, params)
        self._keep([row])
        if code.level == TRANSITION:
            for watcher in self.transition_watchers:
                watcher(row)
        for watcher in self._watchers:
            watcher(row)
        if not self._watchers:
            self.room = min(_BATCH, self.budget - self._spent)

    def settle(self) -> None:
        """Take in what stands in `fresh`; the next row goes through `record`."""
        rows, self.room = self.fresh, 0
        if rows:
            self._spent += len(rows)
            self._keep(rows)
            self.fresh = []

    def _keep(self, rows: list[Row]) -> None:
        self._count += len(rows)
        self._tail.extend(rows)
        if self.sink is not None:
            self._pending += rows
            if len(self._pending) >= _BATCH:
                self._write()

    def _begin_second(self, seq: int, t_us: int) -> None:
        second = t_us // 1_000_000
        if self._summed:
            counts, self._summed = self._summed, {}
            ended, self.second_ends_us = self._second, t_us + 1
            self.record(seq, t_us, "world", SUMMED_UP, 0, {"counts": counts, "second": ended})
        self._second = second
        self.second_ends_us = (second + 1) * 1_000_000
        self._spent = 0

    @property
    def summing(self) -> bool:
        """Whether rows of the current second are being summed up."""
        return bool(self._summed)

    def flush(self) -> None:
        """Hand the encoded pending rows to the sink."""
        self.settle()
        self._write()

    def _write(self) -> None:
        if self._pending and self.sink is not None:
            self.sink(encode_rows(self._pending))
            self._pending.clear()


class OperationLog:
    """The history of operations (invoke / ok / fail / info) that checkers judge; one JSON line each."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.keep = True
        self.sink: Callable[[bytes], None] | None = None
        self.watchers: list[Callable[[dict[str, Any]], None]] = []
        self.count = 0

    def __getstate__(self) -> dict[str, Any]:
        return {**held_by(self), "sink": None, "watchers": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        hold(self, state)

    def record(self, row: dict[str, Any]) -> None:
        self.count += 1
        if self.keep:
            self.rows.append(row)
        if self.sink is not None:
            self.sink(orjson.dumps(row, option=_OPTIONS) + b"\n")
        for watcher in self.watchers:
            watcher(row)
