"""`replay`: from directories of runs to answers, Parquet and a report.

    OUT/TABLE/*.parquet      every table of `schemas`
    OUT/answers.json         the answers as data
    OUT/report.html          the answers to look at
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from lab.analytics import queries, report, summary
from lab.analytics.agreement import disagreements
from lab.analytics.errors import read
from lab.analytics.history import History
from lab.analytics.charts import MOST, STRETCHES, natural
from lab.analytics.by_run.sharing import ByRun, fits
from lab.analytics.by_run.task import MOST_RANGES
from lab.analytics.places import RunPlace, find_runs
from lab.analytics.recorded import missing
from lab.analytics.report import RANGES, ROWS, Answer
from lab.analytics.schemas import TABLES
from lab.analytics.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NATURAL = ("transform(regexp_extract_all(run, '([0-9]+|[^0-9]+)', 1),"
            " part -> if(part rlike '^[0-9]', lpad(part, 30, '0'), part))")
_RANGES = """
select run, label, topic, partition, min(offset) as first_offset, max(offset) as last_offset, count(*) as records, test
from (select *, offset - row_number() over (partition by run, label, topic, partition, test order by offset) as island
      from {lost})
group by run, label, topic, partition, test, island order by records desc, run, label, topic, partition, first_offset"""
Progress = Callable[[str, int, int], None]
"""(what was done, how many steps are done, how many there are)."""


def replay(
    spark: SparkSession, paths: Sequence[str | Path], names: Sequence[str] = (), out: Path | None = None,
    progress: Progress | None = None,
) -> Iterator[Answer]:  # fmt: skip
    """Each answer as it is found; with `out`, tables and the report are written behind the last one.

    Raises AnalyticsError for a directory without a run and for an unknown query.
    """
    chosen = [queries.find(name).name for name in names] or list(queries.QUERIES)
    runs = find_runs(paths)
    steps = _by_run if fits(runs) else _in_sql
    yield from steps(spark, paths, runs, chosen, out, progress or _nobody)


def _nobody(what: str, done: int, total: int) -> None:
    """Hears nothing."""


def _by_run(
    spark: SparkSession, paths: Sequence[str | Path], runs: Sequence[RunPlace], names: Sequence[str], out: Path | None,
    progress: Progress,
) -> Iterator[Answer]:  # fmt: skip
    """A task takes whole runs."""
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    asked = ByRun(spark, runs, names, out)
    rounds = len(asked.rounds)
    total = rounds + len(names) + (out is not None)
    done = iter(range(1, total + 1))
    if not asked.work(lambda run: progress(run, next(done), total)):
        yield from _in_sql(spark, paths, runs, names, out, progress)
        return
    found = []
    for answer in asked.answers():
        found.append(answer)
        progress(answer.name, next(done), total)
        yield answer
    if out is not None:
        _report(out, found, asked.runs, asked.figures)
        progress("report", total, total)


def _in_sql(
    spark: SparkSession, paths: Sequence[str | Path], runs: Sequence[RunPlace], names: Sequence[str], out: Path | None,
    progress: Progress,
) -> Iterator[Answer]:  # fmt: skip
    """All tasks work on each run: some are large."""
    total = len(names) + (len(TABLES) + 1 if out is not None else 0)
    done, found = iter(range(1, total + 1)), []
    figures: dict[str, dict[str, Any]] = {}

    def step(what: str) -> None:
        progress(what, next(done), total)

    with Tables(spark, paths) as tables:
        history = History(tables)
        for name in names:
            frame = queries.QUERIES[name].function(tables, history)
            answer = replace(collect(name, frame), missing=missing(tables, name))
            if out is not None:
                summary.add(figures, answer, frame)
                if name == "lost" and answer.count:
                    answer = replace(answer, ranges=_ranges(spark, frame))
            found.append(answer)
            step(name)
            yield answer
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            tables.write(out, done=step)
            _report(out, found, sorted((run.name for run in runs), key=natural), figures)
            step("report")


def _report(out: Path, found: Sequence[Answer], runs: Sequence[str], figures: summary.Figures) -> None:
    (out / "answers.json").write_bytes(orjson.dumps([plain(one) for one in found], option=orjson.OPT_INDENT_2))
    report.write(out / "report.html", found, runs, figures)


def collect(name: str, frame: Any) -> Answer:
    """The first rows of a frame, runs in natural order, and how many there are; when not all are among them, those
    that a plot shows too."""
    rows = [row.asDict() for row in frame.limit(ROWS + 1).collect()]
    if len(rows) <= ROWS:
        return Answer(name, list(frame.columns), sorted(rows, key=_run_of), len(rows))
    rows = [row.asDict() for row in _naturally(frame).limit(ROWS).collect()]
    chart = queries.QUERIES[name].chart
    drawn = None if chart is None else [row.asDict() for row in _largest(frame, chart).collect()]
    return Answer(name, list(frame.columns), rows, frame.count(), drawn)


def _run_of(row: dict[str, Any]) -> Any:
    return natural(row["run"])


def _naturally(frame: Any) -> Any:
    """The rows of each run as they come, the runs in natural order."""
    from pyspark.sql import functions as f

    return frame.withColumn("nth", f.monotonically_increasing_id()).orderBy(f.expr(_NATURAL), "nth").drop("nth")


def _ranges(spark: SparkSession, frame: Any) -> list[dict[str, Any]]:
    """Neighbouring offsets that were lost as one row each, the longest first."""
    return [row.asDict() for row in spark.sql(_RANGES, lost=frame).limit(MOST_RANGES).collect()]


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
    """An answer as data, what is wrong as problems; `drawn` is there when a plot needs other rows than the first, the
    longest `ranges` of what was lost with how many there are."""
    drawn: dict[str, Any] = {} if answer.drawn is None else {"drawn": answer.drawn}
    if answer.ranges is not None:
        drawn |= {"ranges": answer.ranges[:RANGES], "ranges_count": len(answer.ranges)}
    rows = [{**row, "error": read(row["error"]) or row["error"]} if "error" in row else row for row in answer.rows]
    return {"query": answer.name, "columns": answer.columns, "count": answer.count, "rows": rows,
            "missing": answer.missing, **drawn}


def check(spark: SparkSession, paths: Sequence[str | Path]) -> list[str]:
    """Where the receipts that the runs wrote and Spark disagree, as lines; none when they agree."""
    with Tables(spark, paths) as tables:
        return disagreements(History(tables))
