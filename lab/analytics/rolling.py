"""Figures of a run that still goes on: a streaming query over its journal and its operations.

```python
rolling = start(session, "DATA/runs/0001", "OUT", on_figures)      returns at once
rolling.figures                                                    the last ones, {} before the first
rolling.stop()
```
Every micro-batch (about one a second) takes in what the run has written since the last one, Spark picks the rows
that matter and puts them in order, and `rolling_state.State` folds them. Three things stand in OUT:

| file | holds |
|---|---|
| figures.ndjson | the figures, a line a micro-batch |
| state.json | the state behind the last micro-batch, with its number |
| checkpoint/ | Spark's own: how far each file has been read |

A query that is started again with the same OUT goes on where it was. Spark repeats the micro-batch that it was at;
one whose number stands in state.json has been counted already and is passed over: nothing counts twice.

What a line holds (times are virtual microseconds of the run, `_s` are seconds):

```
{"batch": 12, "t_us": 31000000, "acked": 3100, "read": 3050, "lost": 3, "unread": 47, "duplicated": 0,
 "failed": 0, "unknown": 2, "damaged": 0, "acked_per_s": 99.8, "lag": 47,
 "unavailable": ["orders-0"], "unavailable_s": 2.4,
 "producers": {"producer-orders": {"acked": 3100, "read": 3050, "lost": 3, "unread": 47, "duplicated": 0}},
 "consumers": {"billing": {"lag": 47, "partitions": {"orders-0": 47}}},
 "partitions": {"orders-0": {"acked": 3100, "lost": 3, "leader": null, "how": "crash", "since_us": 29000000,
                             "unavailable_s": 2.4}}}
```
`lost` and `unread` are the words of the receipt (`lab/checkers/fates.py`). `damaged`: lines of
the files that could not be read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from broker_core.kernel.problems import Problem, problem
from lab.analytics.rolling_state import CODES, OPERATIONS, State

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Figures = dict[str, Any]
OnFigures = Callable[[Figures], None]
FIGURES, STATE, CHECKPOINT = "figures.ndjson", "state.json", "checkpoint"
BATCH_BYTES = 32 * 1024 * 1024
"""What one micro-batch takes of a file at most: a long run that is there already comes in pieces."""


class Rolling:
    """A query at work. `on_figures` is called on a thread of Spark's, once a micro-batch."""

    def __init__(self, out: Path, on_figures: OnFigures) -> None:
        self.out = out
        self.on_figures = on_figures
        self.figures: Figures = {}
        self.query: Any = None
        self._lock = threading.Lock()
        self._state = _read_state(out / STATE)

    @property
    def alive(self) -> bool:
        """Whether the query works."""
        return self.query is not None and bool(self.query.isActive)

    @property
    def error(self) -> Problem | None:
        """Why the query has ended by itself; None while it works and when it was stopped."""
        trouble = None if self.query is None else self.query.exception()
        return None if trouble is None else problem("foreign", words=str(trouble).strip().splitlines()[0])

    def catch_up(self) -> None:
        """Return once everything that the files hold now has been taken in."""
        self.query.processAllAvailable()

    def stop(self) -> None:
        """End the query; what was counted stays in the files. Calling it again does nothing."""
        if self.query is not None:
            self.query.stop()

    def take(self, frame: DataFrame, batch: int) -> None:
        """One micro-batch; Spark calls it."""
        with self._lock:
            if batch <= self._state.batch:
                return
            self._state.take(frame.sort("kind", "position").drop("position").toArrow().to_pylist())
            self._state.batch = batch
            self.figures = {"batch": batch, **self._state.figures()}
            _replace(self.out / STATE, orjson.dumps(self._state.to_dict()))
            with open(self.out / FIGURES, "ab") as file:
                file.write(orjson.dumps(self.figures) + b"\n")
        self.on_figures(self.figures)


def start(
    session: SparkSession, run_directory: str | Path, out: str | Path, on_figures: OnFigures, *, seconds: float = 1.0,
) -> Rolling:  # fmt: skip
    """Begin to follow one run; returns at once, `on_figures(figures)` is called after each micro-batch.

    `run_directory` holds run.json and journal.jsonl, which may still grow. `out` is made when it is missing; the
    one of an earlier query of the same run continues that one. `seconds` is the least time between micro-batches.
    Raises AnalyticsError when `run_directory` is not the directory of a run.
    """
    from lab.analytics.places import find_runs, joined_paths

    find_runs([run_directory])
    home = Path(out)
    home.mkdir(parents=True, exist_ok=True)
    rolling = Rolling(home, on_figures)
    writer = follow(session, joined_paths([run_directory])).writeStream.foreachBatch(rolling.take)
    rolling.query = writer.option("checkpointLocation", str((home / CHECKPOINT).resolve())).trigger(
        processingTime=f"{seconds} seconds").start()
    return rolling


def follow(session: SparkSession, path: str) -> DataFrame:
    """The rows that the state wants, of both files; kind: 0 operation, 1 event, 2 a line that cannot be read."""
    def stream(what: str) -> DataFrame:
        source = session.readStream.format("brokerlab.journal").option("what", what)
        return source.option("maxBytesPerTrigger", BATCH_BYTES).load(path)

    wanted = ", ".join(f"'{code}'" for code in CODES)
    operations = stream("operations").where(f"error is not null or op in {OPERATIONS} and kind <> 'invoke'")
    events = stream("events").where(f"error is not null or code in ({wanted})")
    operations = operations.selectExpr("if(error is null, 0, 2) as kind", "position", "seq", "t_us", "process as node",
                                       "concat(op, ' ', kind) as code", "fields as content")
    events = events.selectExpr("if(error is null, 1, 2) as kind", "position", "seq", "t_us", "node", "code",
                               "params as content")
    return operations.unionByName(events)


def _read_state(path: Path) -> State:
    try:
        return State.from_dict(orjson.loads(path.read_bytes()))
    except FileNotFoundError:
        return State()


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(content)
    temporary.replace(path)
