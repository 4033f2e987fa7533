"""What a table is declared with: its columns, and those that many tables have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Column(NamedTuple):
    """Name, Spark type, meaning."""

    name: str
    type: str
    doc: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table: `row` says what a row stands for."""

    name: str
    row: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def ddl(self, names: Iterable[str] | None = None) -> str:
        """The schema as Spark's DDL; of some columns only when `names` is given, in that order."""
        types = {column.name: column.type for column in self.columns}
        return ", ".join(f"`{name}` {types[name]}" for name in (self.names if names is None else names))


def columns(text: str) -> tuple[Column, ...]:
    """Lines of `name  type  meaning`, set apart by two blanks."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    rows = [[part.strip() for part in line.split("  ") if part.strip()] for line in lines]
    return tuple(Column(*row) for row in rows)


PLACE = """
    run  string  name of the run
    broker  int  broker whose disk this is, -1 when the path does not say
    topic  string  topic name
    partition  int  partition number
    segment  string  file name of the segment
"""
TP = """
    topic  string  topic name
    partition  int  partition number
"""
MOMENT = """
    run  string  name of the run
    seq  bigint  number of the journal's row: the moment in the run
    t_us  bigint  virtual time, microseconds
    node  string  node that tells
"""
