"""What each run comes to, in one row: the figures that a reader of many runs looks at first.

| column | of the answer | by run |
|---|---|---|
| acked ... reordered | receipt | sums of its producers |
| seconds | write_gaps | the longest of its partitions |
| elections, unclean | elections | all, and those that took a leader that was not in sync |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lab.analytics.history import COUNTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lab.analytics.report import Answer

Figures = dict[str, dict[str, Any]]
"""Run -> column -> value."""
SUMMED = {
    "receipt": {name: f"sum({name})" for name in COUNTS},
    "write_gaps": {"seconds": "max(seconds)"},
    "elections": {"elections": "sum(elections)", "unclean": "sum(if(reason = 'unclean', elections, 0))"},
}
"""Answer -> column -> how the rows of a run make it."""
COLUMNS = ("run", *(name for columns in SUMMED.values() for name in columns))


def add(figures: Figures, answer: Answer, frame: DataFrame) -> None:
    """Enter what an answer gives, if it gives any."""
    wanted = SUMMED.get(answer.name)
    if wanted is None or not answer.count:
        return
    from pyspark.sql import functions as f

    if answer.count == len(answer.rows):
        by_run: dict[str, list[Mapping[str, Any]]] = {}
        for row in answer.rows:
            by_run.setdefault(row["run"], []).append(row)
        for run, rows in by_run.items():
            figures.setdefault(run, {}).update(figures_of(answer.name, rows))
        return
    for found in frame.groupBy("run").agg(*(f.expr(how).alias(name) for name, how in wanted.items())).collect():
        figures.setdefault(found["run"], {}).update({name: found[name] for name in wanted})


def figures_of(question: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the rows of one run give."""
    return {name: _of(name, how, rows) for name, how in SUMMED.get(question, {}).items()} if rows else {}


def _of(name: str, how: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """The same without Spark; nothing of nothing is unknown."""
    if name == "unclean":
        return sum(row["elections"] for row in rows if row["reason"] == "unclean")
    values = [row[name] for row in rows if row[name] is not None]
    return None if not values else max(values) if how.startswith("max") else sum(values)


def total(figures: Figures) -> dict[str, Any]:
    """All runs in one row: sums, and the longest time."""
    found: dict[str, Any] = {}
    for columns in SUMMED.values():
        for name, how in columns.items():
            values = [row[name] for row in figures.values() if row.get(name) is not None]
            found[name] = None if not values else max(values) if how.startswith("max") else sum(values)
    return found
