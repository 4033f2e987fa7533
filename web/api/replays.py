"""Replay with Spark over REST: start one, look how far it is, cancel it, read its report."""

from __future__ import annotations

import asyncio

from django.http import HttpRequest, HttpResponse
from ninja import Router

from web.api import schemas
from web.api.asking import answer, flushed, run_directory
from web.api.models import ENDED
from web.api.problems import Problem
from web.api.spark import Replay, check_installed, check_queries
from web.api.spark import replays as table

router = Router(tags=["replays"])
Problems = schemas.Problem
HTML = "text/html; charset=utf-8"
REPORT_RULES = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "sandbox"
)
"""The report's plots and styles stand in it; it has no script, and may load nothing."""


@router.post(
    "/runs/{run}/replay",
    response={202: schemas.ReplayView, **dict.fromkeys((400, 403, 404, 413, 415, 422, 429, 501, 503, 504), Problems)},
    summary="Ask Spark about a run",
)
async def start(request: HttpRequest, run: str, asked_for: schemas.ReplayRequest) -> HttpResponse:
    """What was lost, how long nothing could be written, and why: all queries, or those that `query` names. The
    answer comes at once; ask `GET /api/replays/{id}` until its state is done. Spark starts with the first one.
    501 says how to install it where it is missing."""
    path = run_directory(run)
    await asyncio.to_thread(check_queries, asked_for.query)
    await asyncio.to_thread(check_installed)
    await flushed(run)
    row = await asyncio.to_thread(table.start, path, path.parent.parent / "replays", asked_for.query)
    response = answer(row.view(), 202)
    response["Location"] = f"/api/replays/{row.id}"
    return response


@router.get("/replays/{replay}", response={200: schemas.ReplayView, 404: Problems}, summary="A replay")
async def replay(request: HttpRequest, replay: str) -> HttpResponse:
    """State, progress by step and by Spark's stages, and the tables that have been found so far."""
    return answer(_found(replay).view())


@router.delete(
    "/replays/{replay}",
    response={202: schemas.ReplayView, **dict.fromkeys((403, 404, 409), Problems)},
    summary="Cancel a replay",
)
async def cancel(request: HttpRequest, replay: str) -> HttpResponse:
    """Spark is told; the state becomes cancelled as soon as its tasks have ended."""
    row = _found(replay)
    if row.state in ENDED:
        raise Problem(409, f"replay {replay} has ended: {row.state}", "replay")
    await asyncio.to_thread(table.cancel, row)
    return answer(row.view(), 202)


@router.get(
    "/replays/{replay}/report",
    response={200: schemas.Thing, **dict.fromkeys((404, 409), Problems)},
    summary="The report of a replay, with plots",
)
async def report(request: HttpRequest, replay: str) -> HttpResponse:
    """One HTML page in English and Korean that needs no script and loads nothing."""
    row = _found(replay)
    if row.state not in ENDED:
        raise Problem(409, f"replay {replay} is not done yet: {row.state}", "replay")
    try:
        page = await asyncio.to_thread(row.report.read_bytes)
    except OSError:
        raise Problem(404, f"replay {replay} has left no report: {row.state}", "replay") from None
    return HttpResponse(page, content_type=HTML, headers={"Content-Security-Policy": REPORT_RULES})


def _found(number: str) -> Replay:
    row = table.get(number)
    if row is None:
        raise Problem(404, f"there is no replay {number}", "replay")
    return row
