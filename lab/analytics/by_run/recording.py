"""The files of one run, each read once and parsed when somebody first asks.

| kept | a row |
|---|---|
| events, by code | as in the journal: (seq, t_us, node, code, cause, params), with the byte at which its line begins |
| operations | (seq, t_us, process, kind, op, fields), with the same |
| raw | the parameters or fields of each as they stand there, for the tables `events` and `operations` |
| bad | lines that are damaged |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from io import BytesIO
from itertools import accumulate
from operator import itemgetter
from typing import Any

import orjson
import pyarrow as pa

from lab.analytics import journal, places, schemas
from lab.analytics.by_run.shapes import SHAPED
from lab.analytics.columns import ARROW
from lab.analytics.declaring import Table
from lab.analytics.journal import Lines
from lab.analytics.places import RunPlace
from lab.experiments.findings import load_end_us

Event = tuple[int, int, str, str, int, Any, int]
"""(seq, t_us, node, code, cause, params, position); params: a dictionary, or one of the tuples of `shapes`."""
Operation = tuple[int, int, str, str, str, dict[str, Any], int]
"""(seq, t_us, process, kind, op, fields, position)."""
Parsed = tuple[list[Any], list[Sequence[Any]], list[bytes]]
"""Rows, the same column by column, the last field of each as it stands there."""
Facts = dict[str, Any]
_BOUND = 1 << 63
_UNUSUAL = (ValueError, TypeError, KeyError, AttributeError)
_POSITION = itemgetter(6)


class Told:
    """The lines of one file: sound rows with their last field as it stands there, and those that are damaged."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.sound: list[Any] = []
        self.raw: list[bytes] = []
        self.bad: list[tuple[Any, ...]] = []
        """(six columns, position, error), as `journal` makes them."""

    @cached_property
    def columns(self) -> list[Sequence[Any]]:
        """The sound rows, column by column."""
        return _columns(self.sound)

    def arrow(self, run: str) -> pa.Table:
        """The rows as the columns of the table."""
        columns = [*self.columns[:5], self.raw, self.columns[6], [None] * len(self.sound)]
        for at, column in enumerate(columns if self.bad else ()):
            columns[at] = [*column, *(row[at] for row in self.bad)]
        made = [pa.repeat(pa.scalar(run, pa.string()), len(columns[6]))]
        names = [name for name in self.table.names if name != "run"]
        types = {column.name: ARROW[column.type] for column in self.table.columns}
        for name, values in zip(names, columns):
            is_text = name in ("params", "fields")
            made.append(pa.array(values, pa.binary()).cast(pa.string()) if is_text else pa.array(values, types[name]))
        return pa.Table.from_arrays(made, ["run", *names]).select(self.table.names)


class Recording:
    """One run."""

    def __init__(self, place: RunPlace, facts: Facts) -> None:
        self.place = place
        self.name = place.name
        self.facts = facts

    # -- lines ------------------------------------------------------------------------------
    @cached_property
    def journal(self) -> Told:
        """The journal; empty where there is none."""
        return _read(self.place, places.JOURNAL, schemas.EVENTS)

    @cached_property
    def history(self) -> Told:
        """The operations of clients."""
        return _read(self.place, places.OPERATIONS, schemas.OPERATIONS)

    @property
    def events(self) -> list[Event]:
        return self.journal.sound

    @property
    def operations(self) -> list[Operation]:
        return self.history.sound

    @cached_property
    def _by_code(self) -> dict[str, list[Event]]:
        found: dict[str, list[Event]] = {}
        for event in self.events:
            known = found.get(event[3])
            if known is None:
                known = found[event[3]] = []
            known.append(event)
        return found

    def of(self, *codes: str) -> list[Event]:
        """The events of these codes, in the order of the journal."""
        parts = [part for code in dict.fromkeys(codes) if (part := self._by_code.get(code))]
        return parts[0] if len(parts) == 1 else sorted((one for part in parts for one in part), key=_POSITION)

    # -- moments ----------------------------------------------------------------------------
    @cached_property
    def last_us(self) -> int | None:
        """The latest time that any row tells."""
        return max((row[1] for rows in (self.events, self.operations) for row in rows), default=None)

    @cached_property
    def end_us(self) -> int | None:
        """When the run ended; one that told no end (live, killed) ends with its last row."""
        end: int | None = self.facts.get("end_us")
        return self.last_us if end is None else end

    @cached_property
    def load_end_us(self) -> int | None:
        """When its load ended, where the scenario says so."""
        load = None if self.place.journal is None else load_end_us(self.facts)
        known = [one for one in (load, self.facts.get("end_us"), self.last_us) if one is not None]
        return None if load is None else min(known)

    @cached_property
    def summed_up(self) -> set[str]:
        """Events that the journal does not tell one by one."""
        return {code for event in self.of("summed_up") for code in event[5].get("counts", ())}


def _events(lines: list[bytes], positions: Iterable[int]) -> Parsed:
    """Lines of the journal with the bytes at which they begin; raises an error when one is not as usual."""
    rows = [(seq, t_us, node, code, cause, SHAPED[code](params), position)
            for (seq, t_us, node, code, cause, params), position in zip(map(orjson.loads, lines), positions)]
    columns = _columns(rows)
    is_usual = not any("{" in name for name in {*columns[2], *columns[3]})
    if not is_usual or not all(line.endswith(b"]\n") for line in lines):
        raise ValueError
    return rows, columns, [line[line.index(b"{"):-2] for line in lines]


def _operations(lines: list[bytes], positions: Iterable[int]) -> Parsed:
    """Lines of the history, as `_events` those of the journal."""
    told = [*map(orjson.loads, lines)]
    rows = [(pop("seq"), pop("t"), pop("process"), pop("kind"), pop("op"), row, position) for row, pop, position
            in zip(told, [row.pop for row in told], positions)]  # fmt: skip
    if lines and not lines[-1].endswith(b"\n"):
        raise ValueError
    return rows, _columns(rows), [*map(orjson.dumps, told)]


def _columns(rows: list[Any]) -> list[Sequence[Any]]:
    return [*zip(*rows)] or [()] * 7


_PARSERS = {places.JOURNAL: (_events, journal.event_of), places.OPERATIONS: (_operations, journal.operation_of)}
"""File -> how its lines are parsed together, and how one that is not as usual."""


def _read(place: RunPlace, file: str, table: Table) -> Told:
    told = Told(table)
    path = place.journal / file if place.journal is not None else None
    if path is None or not path.is_file():
        return told
    lines = BytesIO(path.read_bytes()).readlines()
    positions = [*accumulate(map(len, lines), initial=0)][:-1]
    together, carefully = _PARSERS[file]
    try:
        told.sound, told.columns, told.raw = together(lines, positions)
    except _UNUSUAL:
        for position, line in zip(positions, lines):
            try:
                (row,), _, (rest,) = together([line], [position])
            except _UNUSUAL:
                found = journal.row_of(position, line, carefully, 6)
                if found[7] is not None:
                    told.bad.append(found)
                    continue
                params, code = orjson.loads(found[5]), found[3]
                if isinstance(code, str):  # another one is weeded out
                    params = SHAPED[code](params)
                row, rest = (*found[:5], params, position), found[5]
            told.sound.append(row)
            told.raw.append(rest)
    _weed(told, Lines(place.name, str(path), 0, sum(map(len, lines))))
    return told


def _weed(told: Told, part: Lines) -> None:
    """Rows whose values are not of their column's type are damaged, too."""
    wanted = [ARROW[column.type] for column in told.table.columns if column.name != "run"][:5]
    usual: list[type] = [int if kind == pa.int64() else str for kind in wanted]
    columns = told.columns[:5]
    is_plain = all(set(map(type, column)) == {kind} for column, kind in zip(columns, usual))
    if is_plain and all(max(column) < _BOUND for column, kind in zip(columns, usual) if kind is int):
        return
    names = [name for name in told.table.names if name != "run"]
    schema = pa.schema([pa.field(column.name, ARROW[column.type]) for column in told.table.columns])
    rows, texts = told.sound, told.raw
    told.sound, told.raw = [], []
    del told.columns  # they are made anew when asked for
    for row, text in zip(rows, texts):
        if all(map(_fits, row, usual)):
            told.sound.append(row)
            told.raw.append(text)
        else:
            told.bad.append(journal.fitting((*row[:5], text, row[6], None), part, names, schema))


def _fits(value: Any, kind: type) -> bool:
    of = type(value)
    return of is kind and (kind is str or value < _BOUND)


def grouped(rows: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    """Rows by key, keys in the order in which they first came."""
    found: dict[Any, list[Any]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found

