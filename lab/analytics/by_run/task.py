"""What a task does with its runs: an answer a run and question, and rows of tables that go into files at once.

    driver: runs in shares of about one size  --->  task: one run after the other  --->  answers (JSON), names of files

A file is written below a name of its own and counts when the driver has heard of it: a task that is repeated leaves
another one behind, which nobody takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import pyarrow as pa
import pyarrow.parquet as parquet

from lab import heap
from lab.analytics import recorded, summary
from lab.analytics.by_run.questions import Row, Run
from lab.analytics.by_run.recording import Facts
from lab.analytics.by_run.tables import schema_of, table_of
from lab.analytics.charts import MOST, STRETCHES
from lab.analytics.facts import Hurt
from lab.analytics.places import RunPlace
from lab.analytics.queries import QUERIES
from lab.analytics.report import ROWS
from lab.analytics.schemas import TABLES

DDL = "run string, name string, content binary"
SCHEMA = pa.schema([("run", pa.string()), ("name", pa.string()), ("content", pa.binary())])
MOST_RANGES = 20_000
FILE = ""
"""The `run` of a row that tells of a file: its table, its path."""
UNUSUAL = ""
"""The `name` of a row that tells of a run which cannot be judged here."""
ODD = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What a journal leads to whose events have not the parameters of the registry."""
_ENDLESS = (1 << 63) - 1
_MANY = ("params", "fields", "number")
"""Columns of texts that are all different: a dictionary of them is made for nothing."""


@dataclass(frozen=True, slots=True)
class Job:
    """A run, with what its run.json says."""

    place: RunPlace
    facts: Facts
    hurt: list[Hurt]


@dataclass(frozen=True, slots=True)
class Work:
    """Shares of runs, one a task; `out`: where files of tables go, None: none are wanted."""

    shares: Sequence[Sequence[Job]]
    questions: Sequence[str]
    out: str | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Numbers of shares go in."""
        heap.settle()
        try:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from self._share(self.shares[number])
        finally:
            heap.settle_executor()

    def _share(self, jobs: Sequence[Job]) -> Iterator[pa.RecordBatch]:
        files = None if self.out is None else Files(Path(self.out))
        rows: list[tuple[str, str, bytes]]
        for job in jobs:
            try:
                with heap.unsearched():
                    rows = self._judged(job, files)
            except ODD:
                rows = [(job.place.name, UNUSUAL, b"")]
            yield pa.RecordBatch.from_arrays([pa.array(column) for column in zip(*rows)], schema=SCHEMA)
        if files is not None:
            rows = [(FILE, table, path.encode()) for table, path in files.close()]
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, kind) for column, kind in zip(zip(*rows), SCHEMA.types)], schema=SCHEMA)

    def _judged(self, job: Job, files: Files | None) -> list[tuple[str, str, bytes]]:
        """An answer to each question; the rows of tables are in files."""
        run = Run(job.place, job.facts, job.hurt, whole=files is not None)
        rows = [(run.name, question, orjson.dumps(_answer(run, question, files is not None)))
                for question in self.questions]
        if files is not None:
            files.write(run)
        return rows


class Files:
    """A file of each table for all runs of a share."""

    def __init__(self, out: Path) -> None:
        self._paths = {name: out / name / f".{uuid4().hex}" for name in TABLES}
        self._writers: dict[str, Any] = {}

    def write(self, run: Run) -> None:
        """Add a run's rows."""
        for name, path in self._paths.items():
            if name not in self._writers:
                path.parent.mkdir(parents=True, exist_ok=True)
                schema = schema_of(name)
                few = [field.name for field in schema if field.type == pa.string() and field.name not in _MANY]
                self._writers[name] = parquet.ParquetWriter(path, schema, use_dictionary=few)
            table = table_of(run, name)
            if table.num_rows:
                self._writers[name].write_table(table)

    def close(self) -> list[tuple[str, str]]:
        """(table, path) of each file, which is whole now."""
        for writer in self._writers.values():
            writer.close()
        return [(name, str(self._paths[name])) for name in self._writers]


# -- answers ----------------------------------------------------------------------------------
def _answer(run: Run, question: str, with_ranges: bool) -> dict[str, Any]:
    """What the driver needs of an answer: the first rows and the largest, how many there are, what they sum up to."""
    rows = run.ask(question)
    found: dict[str, Any] = {"count": len(rows), "rows": rows[:ROWS], "figures": summary.figures_of(question, rows)}
    chart = QUERIES[question].chart
    if chart is not None and rows:
        found["drawn"] = largest(rows, chart)
    if question == "lost" and with_ranges and rows:
        found["ranges"] = ranges_of(rows)
    level = _Level(run)
    what = recorded.missing_of(level, run.recording.place, question)
    return found if what is None else {**found, "missing": what}


class _Level:
    """What `recorded` asks of tables, of one run."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @property
    def facts(self) -> dict[str, Facts]:
        return {self._run.name: self._run.recording.facts}

    @property
    def summed_up(self) -> dict[str, set[str]]:
        return {self._run.name: self._run.recording.summed_up}


def largest(rows: Sequence[Row], chart: Any) -> list[Row]:
    """The rows with the largest bars, the longest stretches; in the order of their labels."""
    kind, labels, values = chart
    if kind == "bars":
        some = sorted(rows, key=lambda row: max(row[name] or 0 for name in values), reverse=True)[:MOST]
    else:
        begin, end = values
        some = sorted(rows, key=lambda row: (_ENDLESS if row[end] is None else row[end]) - row[begin],
                      reverse=True)[:STRETCHES]
        labels = (*labels, begin)
    return sorted(some, key=lambda row: tuple((row[name] is not None, row[name]) for name in labels))


def ranges_of(rows: Iterable[Row]) -> list[Row]:
    """Neighbouring offsets that were lost as one row each, the longest first; those without an offset are one."""
    lines: dict[Any, list[int | None]] = {}
    for row in rows:
        line = row["run"], row["label"], row["topic"], row["partition"], row["test"]
        lines.setdefault(line, []).append(row["offset"])
    found: list[Row] = []
    for (run, label, topic, partition, test), offsets in lines.items():
        islands: dict[int | None, list[int | None]] = {}
        known = sorted(offset for offset in offsets if offset is not None)
        for at, offset in enumerate([*(offset for offset in offsets if offset is None), *known]):
            islands.setdefault(None if offset is None else offset - at, []).append(offset)
        found += [{"run": run, "label": label, "topic": topic, "partition": partition, "first_offset": some[0],
                   "last_offset": some[-1], "records": len(some), "test": test} for some in islands.values()]
    return in_order(found)[:MOST_RANGES]


def in_order(ranges: list[Row]) -> list[Row]:
    """The longest first."""
    return sorted(ranges, key=lambda row: (-row["records"], row["run"], row["label"], row["topic"], row["partition"],
                                           -1 if row["first_offset"] is None else row["first_offset"]))
