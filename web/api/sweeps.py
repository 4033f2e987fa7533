"""Sweeps over REST: a grid of settings times seeds, whole worlds inside Spark's tasks; and each run of it again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Annotated, Any, ClassVar

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from broker_core.kernel.problems import problem
from lab.analytics.errors import read
from lab.scenarios.grammar import Scenario
from web.api import answers_runs, schemas, spark_schemas
from web.api.asking import answer, runs_directory
from web.api.models import DONE, ENDED
from web.api.problems import Problem
from web.api.scenarios import checked, shipped
from web.api.spark import check_installed, new_id, spark
from web.api.spark_answers import Reported, accepted, cancelled, one_of, report_of
from web.api.work import jobs
from web.language import language_of

router = Router(tags=["spark"])
Problems = schemas.Problem
MOST_SEEDS, MOST_RUNS = 1000, 10_000
OWN = "scenario.yaml"
FIGURES = ("acked", "read", "lost", "duplicated", "reordered", "runs_with_loss")
NO_RUN = {**dict.fromkeys(("runs", "failed", *FIGURES), 0), "mean_gap_s": None, "max_gap_s": None, "worst_seed": None,
          **dict.fromkeys(("loss_low", "loss_high", "lost_q1", "lost_median", "lost_q3", "median_gap_s"))}


@dataclass(slots=True)
class Sweep(Reported):
    """One sweep. `documents`: the scenario of each cell, with its values in it; `text`: the scenario that came with
    the request, None for one of the lab's."""

    KIND: ClassVar[str] = "sweep"
    REPORT: ClassVar[str] = "sweep.html"
    scenario: str = ""
    text: str | None = None
    keys: dict[str, list[str]] = field(default_factory=dict)
    values: dict[str, dict[str, str]] = field(default_factory=dict)
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    seeds: list[int] = field(default_factory=list)
    counts: dict[str, Any] = field(default_factory=dict)
    runs: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    cells: dict[str, dict[str, Any]] = field(default_factory=dict)
    opened: dict[tuple[str, int], str] = field(default_factory=dict)

    def view(self) -> dict[str, Any]:
        done, seconds = self.counts.get("done", 0), self.counts.get("seconds", 0.0)
        return {
            **Reported.view(self), "scenario": self.scenario, "own": self.text is not None,
            "keys": self.keys, "seeds": len(self.seeds),
            "seeds_written": self.request["seeds"], "done": done,
            "bad": self.counts.get("failed", 0), "total": len(self.values) * len(self.seeds),
            "runs_a_minute": round(60 * done / seconds, 1) if seconds else 0.0,
            "cells": [{"cell": name, "values": values, **NO_RUN, **self.cells.get(name, {})}
                      for name, values in self.values.items()],
        }  # fmt: skip

    def keep_text(self) -> None:
        """Write the scenario of the request to where the worker reads it, as it would one of the lab's."""
        if self.text is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            (self.out / OWN).write_text(self.text, encoding="utf-8")

    def anew(self) -> None:
        self.counts = {}
        self.runs.clear()
        self.cells.clear()

    def found(self, event: dict[str, Any]) -> None:
        if event["event"] != "runs":
            return
        self.counts = {name: event[name] for name in ("done", "failed", "total", "seconds")}
        self.cells = {one["cell"]: one for one in event["cells"]}
        for row in event["rows"]:
            self.runs[row["cell"], row["seed"]] = row


def planned(asked_for: spark_schemas.SweepRequest, home: Path) -> Sweep:
    """The sweep of a request, everything in it checked; Problem says what is wrong and where, ScenarioError with the
    line of a text."""
    from lab.analytics import grid
    from lab.analytics.errors import AnalyticsError

    scenario = _scenario(asked_for)
    seeds = _seeds(asked_for.seeds)
    keys = {key: list(dict.fromkeys(_written(value) for value in values)) for key, values in asked_for.grid.items()}
    count = prod(map(len, keys.values()))
    if count > grid.MOST_CELLS or count * len(seeds) > MOST_RUNS:
        most = {"most": grid.MOST_CELLS, "runs": MOST_RUNS}
        raise Problem(422, problem("sweep_too_large", n=count, seeds=len(seeds), **most), "grid")
    try:
        cells = grid.cells_of(scenario.document, keys)
    except AnalyticsError as error:
        raise Problem(422, error.problem, "grid") from None
    name = new_id()
    source = scenario.name if asked_for.yaml is None else str(home / name / OWN)
    request = {"do": "sweep", "scenario": source, "seeds": asked_for.seeds, "out": str(home / name),
               "grid": [f"{key}={','.join(values)}" for key, values in keys.items()]}  # fmt: skip
    return Sweep(
        name, request, scenario=scenario.name, text=asked_for.yaml, out=home / name, keys=keys, seeds=seeds,
        values={cell.name: cell.values for cell in cells}, documents={cell.name: cell.document for cell in cells},
    )  # fmt: skip


def _scenario(asked_for: spark_schemas.SweepRequest) -> Scenario:
    """What is swept: of the lab, or the text of the request. Raises Problem, ScenarioError."""
    if (asked_for.scenario is None) == (asked_for.yaml is None):
        raise Problem(422, problem("exactly_one", known=["scenario", "yaml"]), "scenario")
    if asked_for.yaml is not None:
        return checked(schemas.Document(yaml=asked_for.yaml))
    return shipped(str(asked_for.scenario))


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _seeds(text: str) -> list[int]:
    from lab.analytics import grid
    from lab.analytics.errors import AnalyticsError

    try:
        return grid.parse_seeds(text, MOST_SEEDS)
    except AnalyticsError as error:
        raise Problem(422, error.problem, "seeds") from None


@router.post(
    "/sweeps",
    response={202: spark_schemas.SweepView, **dict.fromkeys((400, 403, 404, 413, 415, 422, 429, 501, 503), Problems)},
    summary="Run a scenario over a grid of settings and seeds",
)
async def start(request: HttpRequest, asked_for: spark_schemas.SweepRequest) -> HttpResponse:
    """Each combination of values (a cell) with each seed is a whole simulated cluster, inside Spark's tasks. The
    answer comes at once; ask `GET /api/sweeps/{id}` for progress and table. A key of the grid goes where its
    setting belongs: producers (`acks`), brokers and topics (`min_insync_replicas`), or a place of the scenario. `yaml`
    sweeps a scenario of one's own: 422 names line and place of what is wrong in it."""
    home = runs_directory().parent / "sweeps"
    row = await asyncio.to_thread(planned, asked_for, home)
    await asyncio.to_thread(check_installed)
    await asyncio.to_thread(row.keep_text)
    await asyncio.to_thread(spark.start, row)
    return accepted(row)


@router.get("/sweeps", response={200: spark_schemas.Sweeps, 422: Problems}, summary="Sweeps, newest first")
async def sweeps(request: HttpRequest, limit: schemas.PageLimit = 50, offset: schemas.Offset = 0) -> HttpResponse:
    """Of this process."""
    rows = spark.all(Sweep)
    return answer({"items": [row.view() for row in rows[offset : offset + limit]], "total": len(rows)})


@router.get("/sweeps/{sweep}", response={200: spark_schemas.SweepView, 404: Problems}, summary="A sweep")
async def sweep(request: HttpRequest, sweep: str) -> HttpResponse:
    """Runs done and failed (`bad`), runs a minute, and for each cell the sums of the runs that have ended."""
    return answer(one_of(Sweep, sweep).view())


@router.delete(
    "/sweeps/{sweep}",
    response={202: spark_schemas.SweepView, **dict.fromkeys((403, 404, 409), Problems)},
    summary="Cancel a sweep",
)
async def cancel(request: HttpRequest, sweep: str) -> HttpResponse:
    """Spark is told; runs that have ended stay in the table."""
    return await cancelled(one_of(Sweep, sweep))


@router.get(
    "/sweeps/{sweep}/runs",
    response={200: spark_schemas.SweepRuns, **dict.fromkeys((404, 422), Problems)},
    summary="Runs of a sweep with their receipts",
)
async def runs(
    request: HttpRequest, sweep: str, cell: str = "", limit: Annotated[int, Field(ge=1, le=1000)] = 100,
    offset: Annotated[int, Field(ge=0, le=1 << 31)] = 0,
) -> HttpResponse:  # fmt: skip
    """Those that lost most first. `command` repeats a run from the shell; `error` says why a run
    failed."""
    row = one_of(Sweep, sweep)
    found = sorted((one for one in list(row.runs.values()) if cell in ("", one["cell"])), key=_worst_first)
    shown = [{**one, "error": read(one["error"])} for one in found[offset : offset + limit]]
    return answer({"items": shown, "total": len(found)})


def _worst_first(row: dict[str, Any]) -> tuple[bool, int, int, int, float, int]:
    gap = -(row["write_gap_s"] or 0.0)
    if row["error"] is not None:
        return True, 0, 0, 0, gap, row["seed"]
    return False, -row["lost"], -row["duplicated"], -row["reordered"], gap, row["seed"]


@router.post(
    "/sweeps/{sweep}/runs",
    response={202: answers_runs.JobView, **dict.fromkeys((400, 403, 404, 413, 415, 422, 429, 501, 503), Problems)},
    summary="Execute one run of a sweep again, to look at it",
)
async def again(request: HttpRequest, sweep: str, wanted: spark_schemas.SweepRun) -> HttpResponse:
    """From the cell's scenario and the seed, so it comes out the same. A job; when it is done, `run` names its
    directory, which `POST /api/labs/{lab}/runs/{run}/open` opens. Asking again for the same gives the same job."""
    row = one_of(Sweep, sweep)
    document = row.documents.get(wanted.cell)
    if document is None:
        raise Problem(404, problem("no_cell", name=wanted.cell), "cell")
    if wanted.seed not in row.seeds:
        raise Problem(404, problem("no_seed", seed=wanted.seed, sweep=sweep), "seed")
    known = await jobs.get(row.opened.get((wanted.cell, wanted.seed), ""))
    if known is None or (known.state in ENDED and known.state != DONE):
        name = f"{row.scenario} {wanted.cell}"[:200]
        asked_for = {"do": "scenario", "name": row.scenario, "document": document, "seed": wanted.seed}
        known = await jobs.start(asked_for, runs_directory(), name=name, seed=wanted.seed, live=False)
        row.opened[wanted.cell, wanted.seed] = known.id
    response = answer(known.view(), 202)
    response["Location"] = f"/api/jobs/{known.id}"
    return response


@router.get(
    "/sweeps/{sweep}/report",
    response={200: schemas.Thing, **dict.fromkeys((404, 409), Problems)},
    summary="The report of a sweep, with heat maps",
)
async def report(request: HttpRequest, sweep: str) -> HttpResponse:
    """One HTML page in English and Korean that needs no script and loads nothing."""
    return await report_of(one_of(Sweep, sweep), language_of(request))
