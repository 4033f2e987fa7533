"""Replay with Spark over REST: start one, look how far it is, cancel it, read its report."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from ninja import Router

from broker_core.kernel.problems import problem
from web.api import schemas, spark_schemas
from web.api.asking import answer, flushed, run_directory
from web.api.problems import Problem
from web.api.spark import check_installed, new_id, spark
from web.api.spark_answers import Answering, accepted, cancelled, one_of, report_of
from web.language import language_of

router = Router(tags=["spark"])
Problems = schemas.Problem


@dataclass(slots=True)
class Replay(Answering):
    """One run that Spark is asked about."""

    KIND: ClassVar[str] = "replay"
    REPORT: ClassVar[str] = "report.html"
    run: str = ""

    @classmethod
    def of(cls, path: Path, home: Path, queries: Sequence[str]) -> Replay:
        """A replay of the run at `path`, which writes below `home`."""
        name = new_id()
        request = {"do": "replay", "paths": [str(path)], "queries": list(queries), "out": str(home / name)}
        return cls(name, request, run=path.name, out=home / name)

    def view(self) -> dict[str, Any]:
        return {
            **Answering.view(self), "run": self.run, "progress": self.progress,
            "step": self.steps.get("what", ""), "answers": [told(one) for one in self.answers],
        }  # fmt: skip


def told(found: dict[str, Any]) -> dict[str, Any]:
    """An answer with the words and the plot of its question."""
    from lab.analytics.queries import QUERIES

    query = QUERIES.get(found["query"])
    if query is None:
        return found
    chart = query.chart
    return {
        **found, "title": dict(zip(("en", "ko"), query.title)), "reading": dict(zip(("en", "ko"), query.reading)),
        "doc": dict(zip(("en", "ko"), query.explained)),
        "chart": chart and {"kind": chart[0], "labels": chart[1], "values": chart[2]},
    }  # fmt: skip


def questions() -> list[dict[str, Any]]:
    """What a replay answers, in both languages."""
    from lab.analytics.queries import QUERIES

    return [{"query": name, "title": dict(zip(("en", "ko"), query.title))} for name, query in QUERIES.items()]


def check_queries(names: Sequence[str]) -> None:
    """422 for a question that nobody knows."""
    from lab.analytics.queries import QUERIES

    for index, name in enumerate(names):
        if name not in QUERIES:
            raise Problem(422, problem("no_query", name=name, known=list(QUERIES)), f"query[{index}]")


@router.post(
    "/runs/{run}/replay",
    response={202: spark_schemas.ReplayView,
              **dict.fromkeys((400, 403, 404, 413, 415, 422, 429, 501, 503, 504), Problems)},
    summary="Ask Spark about a run",
)  # fmt: skip
async def start(request: HttpRequest, run: str, asked_for: spark_schemas.ReplayRequest) -> HttpResponse:
    """What was lost, how long nothing could be written, and why: all queries, or those that `query` names. The
    answer comes at once; ask `GET /api/replays/{id}` until its state is done. Spark starts with the first one.
    501 says how to install it where it is missing."""
    path = run_directory(run)
    await asyncio.to_thread(check_queries, asked_for.query)
    await asyncio.to_thread(check_installed)
    await flushed(run, disks=True)
    row = Replay.of(path, path.parent.parent / "replays", asked_for.query)
    await asyncio.to_thread(spark.start, row)
    return accepted(row)


@router.get("/replays", response={200: spark_schemas.Replays, 422: Problems}, summary="Replays, newest first")
async def replays(request: HttpRequest, limit: schemas.PageLimit = 50, offset: schemas.Offset = 0) -> HttpResponse:
    """Of this process, without their answers."""
    rows = spark.all(Replay)
    views = [{name: value for name, value in row.view().items() if name != "answers"}
             for row in rows[offset : offset + limit]]  # fmt: skip
    return answer({"items": views, "total": len(rows)})


@router.get("/replays/{replay}", response={200: spark_schemas.ReplayView, 404: Problems}, summary="A replay")
async def replay(request: HttpRequest, replay: str) -> HttpResponse:
    """State, progress by step and by Spark's stages, and the tables that have been found so far. When the worker
    has died, `restarts` and `died` say so, and it begins anew."""
    return answer(one_of(Replay, replay).view())


@router.delete(
    "/replays/{replay}",
    response={202: spark_schemas.ReplayView, **dict.fromkeys((403, 404, 409), Problems)},
    summary="Cancel a replay",
)
async def cancel(request: HttpRequest, replay: str) -> HttpResponse:
    """Spark is told; the state becomes cancelled as soon as its tasks have ended."""
    return await cancelled(one_of(Replay, replay))


@router.get(
    "/replays/{replay}/report",
    response={200: schemas.Thing, **dict.fromkeys((404, 409), Problems)},
    summary="The report of a replay, with plots",
)
async def report(request: HttpRequest, replay: str) -> HttpResponse:
    """One HTML page in English and Korean that needs no script and loads nothing."""
    return await report_of(one_of(Replay, replay), language_of(request))
