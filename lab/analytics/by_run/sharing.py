"""The driver's side: runs are shared out among tasks, and what comes back is put together.

Runs go out in shares of about one size, a few at a time, so that progress can be told and cancelled between them. Of a
run too large for one task (`LARGEST`) nothing is asked here: then the questions are asked in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from lab.analytics import places
from lab.analytics.by_run.questions import COLUMNS, Row
from lab.analytics.by_run.task import DDL, FILE, MOST_RANGES, UNUSUAL, Job, Work, in_order, largest
from lab.analytics.charts import natural
from lab.analytics.facts import facts_of
from lab.analytics.places import RunPlace
from lab.analytics.queries import QUERIES
from lab.analytics.recorded import SHOWN
from lab.analytics.report import ROWS, Answer
from lab.analytics.schemas import TABLES
from lab.analytics.summary import Figures
from lab.analytics.written import adopt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LARGEST = 32 * 1024 * 1024
"""Bytes of a run that one task takes; its journal takes ten times as much memory."""
AT_ONCE = 64 * 1024 * 1024
"""Bytes of the runs that all tasks have at once, before something is heard of them."""
TASKS = 8
"""Where Spark does not say how many it has room for."""
Told = Callable[[str], None]
T = TypeVar("T")


class ByRun:
    """Answers to questions about some runs. `told` hears the name of a run of each round as it ends."""

    def __init__(
        self, spark: SparkSession, runs: Sequence[RunPlace], questions: Sequence[str], out: Path | None
    ) -> None:  # fmt: skip
        self.spark = spark
        facts, hurt = facts_of(runs)
        jobs = [Job(run, facts[run.name], [one for one in hurt if one[0] == run.name]) for run in runs]
        self.rounds = list(_rounds(jobs, _room(spark)))
        self.runs = sorted((run.name for run in runs), key=natural)
        self.questions = questions
        self.figures: Figures = {}
        self._out = out
        self._found: dict[tuple[str, str], dict[str, Any]] = {}

    def work(self, told: Told) -> bool:
        """Do all of it; the rows of tables stand in `out` afterwards. False when a journal is not as journals are: its
        events lack what the registry gives them, or have something else. SQL reads that as null."""
        files: list[tuple[str, Path]] = []
        for shares in self.rounds:
            work = Work(shares, self.questions, None if self._out is None else str(self._out))
            numbers = self.spark.range(0, len(shares), 1, len(shares))
            for row in numbers.mapInArrow(work, DDL).collect():
                if row["name"] == UNUSUAL:
                    return False
                if row["run"] == FILE:
                    files.append((row["name"], Path(row["content"].decode())))
                else:
                    self._found[row["run"], row["name"]] = orjson.loads(row["content"])
            told(shares[-1][-1].place.name)
        for (run, _), found in self._found.items():
            if found["figures"]:
                self.figures.setdefault(run, {}).update(found["figures"])
        if self._out is not None:
            for name in TABLES:
                adopt(self._out / name, [path for table, path in files if table == name], self.runs)
        return True

    def answers(self) -> Iterator[Answer]:
        """In the order of the questions."""
        for question in self.questions:
            yield self._answer(question)

    def _answer(self, question: str) -> Answer:
        parts = [(run, self._found[run, question]) for run in self.runs]
        count = sum(part["count"] for _, part in parts)
        rows: list[Row] = [row for _, part in parts for row in part["rows"]]
        chart, drawn = QUERIES[question].chart, None
        if count > ROWS and chart is not None:
            drawn = largest([row for _, part in parts for row in part.get("drawn", ())], chart)
        ranges = [row for _, part in parts for row in part.get("ranges", ())]
        missing = [{"run": run, "what": part["missing"]} for run, part in parts if "missing" in part][:SHOWN]
        return Answer(question, list(COLUMNS[question]), rows[:ROWS], count, drawn, missing,
                      in_order(ranges)[:MOST_RANGES] if ranges else None)


def fits(runs: Sequence[RunPlace]) -> bool:
    """Whether each of them is small enough for one task."""
    return all(places.size_of([run]) <= LARGEST for run in runs)


def _room(spark: SparkSession) -> int:
    """How many tasks can work at once."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect
        return TASKS


def _rounds(jobs: Sequence[Job], room: int) -> Iterator[list[list[Job]]]:
    """Rounds of at most `room` shares each, none of them much larger than the others."""
    waiting: list[tuple[int, Job]] = []
    for job in jobs:
        waiting.append((places.size_of([job.place]), job))
        if sum(size for size, _ in waiting) >= AT_ONCE:
            yield even(waiting, room)
            waiting = []
    if waiting:
        yield even(waiting, room)


def even(sized: Sequence[tuple[int, T]], room: int) -> list[list[T]]:
    """Things with their sizes in at most `room` shares: the larger ones first, each to the share that has least."""
    shares: list[list[T]] = [[] for _ in range(min(room, len(sized)))]
    sums = [0] * len(shares)
    for size, one in sorted(sized, key=lambda pair: -pair[0]):
        least = sums.index(min(sums))
        sums[least] += size
        shares[least].append(one)
    return shares
