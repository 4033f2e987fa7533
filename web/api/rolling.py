"""Rolling figures of an open run: Structured Streaming follows its journal, the page asks how it stands.

The run's files are flushed twice a second while somebody wants figures; Spark's micro-batches take in what has come.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from broker_core.kernel.problems import problem
from lab.branch import BranchError
from web.api import schemas, spark_schemas
from web.api.asking import answer, flushed, run_directory
from web.api.models import ENDED
from web.api.problems import Problem
from web.api.spark import Work, check_installed, new_id, spark
from web.live.hub import chosen

router = Router(tags=["spark"])
Problems = schemas.Problem
POINTS = 240
FLUSH_S = 0.5
AT_ONCE = 3
KEPT = ("t_us", "acked", "acked_per_s", "lost", "unread", "duplicated", "lag", "unavailable_s")


@dataclass(slots=True)
class Rolling(Work):
    """Figures of one run, the last ones and a point for each micro-batch before."""

    run: str = ""
    figures: dict[str, Any] | None = None
    history: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=POINTS))
    came: float | None = None
    behind_s: float | None = None

    @classmethod
    def of(cls, path: Path, home: Path) -> Rolling:
        """The figures of the run at `path`; what Spark keeps of them stands below `home`."""
        name = new_id()
        return cls(name, {"do": "rolling", "run": str(path), "out": str(home / name)}, run=path.name)

    def view(self) -> dict[str, Any]:
        age = None if self.came is None else round(time.monotonic() - self.came, 1)
        return {**Work.view(self), "run": self.run, "figures": self.figures, "history": list(self.history),
                "behind_s": self.behind_s, "age_s": age}  # fmt: skip

    def found(self, event: dict[str, Any]) -> None:
        if event["event"] != "figures":
            return
        self.figures = {name: value for name, value in event.items() if name not in ("event", "id")}
        self.history.append({name: self.figures.get(name) for name in KEPT})
        self.came = time.monotonic()
        branch = chosen().lab.branches.get(self.run)
        if branch is not None:
            self.behind_s = round(max(0, branch.clock()["t"] - self.figures["t_us"]) / 1e6, 2)


_following: dict[asyncio.Task[None], None] = {}


def _open(run: str) -> Rolling | None:
    """The figures that are wanted of a run now."""
    return next((row for row in spark.all(Rolling) if row.run == run and row.state not in ENDED), None)


async def _follow(row: Rolling) -> None:
    """Bring the run's files up to date for Spark until nobody wants figures, or the run is closed."""
    while row.state not in ENDED:
        try:
            is_open = await flushed(row.run)
        except (BranchError, TimeoutError):
            is_open = False
        if not is_open:
            await asyncio.to_thread(spark.cancel, row)
            return
        await asyncio.sleep(FLUSH_S)


@router.post(
    "/runs/{run}/rolling",
    response={202: spark_schemas.RollingView, **dict.fromkeys((403, 404, 409, 415, 429, 501, 503, 504), Problems)},
    summary="Follow an open run with Spark",
)
async def start(request: HttpRequest, run: str) -> HttpResponse:
    """Acknowledged, lost so far, lag, unavailability: a streaming query over the run's journal, a micro-batch about
    every second. Asking again for the same run gives the same figures."""
    path = run_directory(run)
    if not await flushed(run):
        raise Problem(409, problem("run_not_open", run=run), "run")
    await asyncio.to_thread(check_installed)
    row = _open(run)
    if row is None:
        if sum(one.state not in ENDED for one in spark.all(Rolling)) >= AT_ONCE:
            raise Problem(429, problem("too_many_followed", n=AT_ONCE))
        row = Rolling.of(path, path.parent.parent / "rolling")
        await asyncio.to_thread(spark.start, row)
        task = asyncio.create_task(_follow(row))
        _following[task] = None
        task.add_done_callback(lambda done: _following.pop(done, None))
    return answer(row.view(), 202)


@router.get(
    "/runs/{run}/rolling",
    response={200: spark_schemas.RollingView, **dict.fromkeys((404, 501, 503), Problems)},
    summary="Rolling figures of a run",
)
async def rolling(request: HttpRequest, run: str) -> HttpResponse:
    """The last ones, and a point for each micro-batch before."""
    run_directory(run)
    row = next((row for row in spark.all(Rolling) if row.run == run), None)
    if row is None:
        raise Problem(404, problem("nobody_follows", run=run), "rolling")
    return answer(row.view())


@router.delete(
    "/runs/{run}/rolling",
    response={202: spark_schemas.RollingView, **dict.fromkeys((403, 404, 409, 501, 503), Problems)},
    summary="Follow a run no longer",
)
async def cancel(request: HttpRequest, run: str) -> HttpResponse:
    """The query ends; what it has counted stays in `rolling/ID` of the lab's directory."""
    run_directory(run)
    row = _open(run)
    if row is None:
        raise Problem(409, problem("nobody_follows", run=run), "rolling")
    await asyncio.to_thread(spark.cancel, row)
    return answer(row.view(), 202)
