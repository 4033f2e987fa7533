"""`replay`: from directories of runs to answers, Parquet and a report.

    OUT/TABLE/run=NAME/*.parquet      every table of `schemas`
    OUT/answers.json                  the answers as data
    OUT/report.html                   the answers to look at
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from lab.analytics import queries, report
from lab.analytics.agreement import disagreements
from lab.analytics.history import History
from lab.analytics.charts import MOST
from lab.analytics.report import ROWS, Answer
from lab.analytics.schemas import TABLES
from lab.analytics.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRETCHES = 10 * MOST
Progress = Callable[[str, int, int], None]
"""(what was done, how many steps are done, how many there are)."""


def replay(
    spark: SparkSession, paths: Sequence[str | Path], names: Sequence[str] = (), out: Path | None = None,
    progress: Progress | None = None,
) -> Iterator[Answer]:  # fmt: skip
    """Each answer as it is found; with `out`, tables and the report are written behind the last one.

    Raises AnalyticsError for a directory without a run and for an unknown query.
    """
    chosen = [queries.find(name) for name in names] or list(queries.QUERIES.values())
    total = len(chosen) + (len(TABLES) + 1 if out is not None else 0)
    done, found = 0, []

    def step(what: str) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(what, done, total)

    with Tables(spark, paths) as tables:
        history = History(tables)
        for query in chosen:
            answer = collect(query.name, query.function(tables, history))
            found.append(answer)
            step(query.name)
            yield answer
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            tables.write(out, done=step)
            (out / "answers.json").write_bytes(orjson.dumps([plain(one) for one in found], option=orjson.OPT_INDENT_2))
            report.write(out / "report.html", found, [run.name for run in tables.places])
            step("report")


def collect(name: str, frame: Any) -> Answer:
    """The first rows of a frame, and how many there are; when not all are among them, those that a plot shows too."""
    rows = [row.asDict() for row in frame.limit(ROWS + 1).collect()]
    if len(rows) <= ROWS:
        return Answer(name, list(frame.columns), rows, len(rows))
    chart = queries.QUERIES[name].chart
    drawn = None if chart is None else [row.asDict() for row in _largest(frame, chart).collect()]
    return Answer(name, list(frame.columns), rows[:ROWS], frame.count(), drawn)


def _largest(frame: Any, chart: tuple[str, tuple[str, ...], tuple[str, ...]]) -> Any:
    """The rows with the largest bars, the longest stretches; in the order of their labels."""
    kind, labels, values = chart
    if kind == "bars":
        sizes = [f"cast(coalesce({name}, 0) as double)" for name in values]
        size, most = f"greatest({', '.join(sizes)})" if len(sizes) > 1 else sizes[0], MOST
    else:
        size, most = f"coalesce({values[1]}, 9223372036854775807) - {values[0]}", STRETCHES
    largest = frame.selectExpr("*", f"{size} as size_of_it").orderBy("size_of_it", ascending=False).limit(most)
    return largest.orderBy(*labels, *(values[:1] if kind != "bars" else ())).drop("size_of_it")


def plain(answer: Answer) -> dict[str, Any]:
    """An answer as data; `drawn` is there when a plot needs other rows than the first."""
    drawn = {} if answer.drawn is None else {"drawn": answer.drawn}
    return {"query": answer.name, "columns": answer.columns, "count": answer.count, "rows": answer.rows, **drawn}


def check(spark: SparkSession, paths: Sequence[str | Path]) -> list[str]:
    """Where the receipts that the runs wrote and Spark disagree, as lines; none when they agree."""
    with Tables(spark, paths) as tables:
        return disagreements(History(tables))
