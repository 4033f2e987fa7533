"""Background work over REST: its state and progress, and its end."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from broker_core.kernel.problems import problem
from web.api import answers_runs, schemas
from web.api.asking import answer
from web.api.models import ENDED, Job
from web.api.problems import Problem
from web.api.work import jobs as work

router = Router(tags=["jobs"])
Problems = schemas.Problem


@router.get("/jobs", response={200: answers_runs.JobsPage, 422: Problems}, summary="Background work, newest first")
async def jobs(
    request: HttpRequest, limit: schemas.PageLimit = 50, offset: Annotated[int, Field(ge=0, le=1 << 31)] = 0
) -> HttpResponse:
    """Of all processes that share the database."""
    rows, total = await work.page(limit, offset)
    return answer({"items": [job.view() for job in rows], "total": total})


@router.get("/jobs/{job}", response={200: answers_runs.JobView, 404: Problems, 422: Problems}, summary="A job")
async def job(request: HttpRequest, job: str, wait: Annotated[float, Field(ge=0, le=30)] = 0) -> HttpResponse:
    """`wait`: answer when it has ended, after so many seconds at the latest. Of a scenario that is done, `run`
    names its directory, and `result` has the five figures of the receipt and whether expectations were met."""
    found = await work.wait(await _found(job), wait)
    return answer(found.view())


@router.delete(
    "/jobs/{job}", response={200: answers_runs.JobView, **dict.fromkeys((403, 404, 409), Problems)},
    summary="Cancel a job",
)
async def cancel(request: HttpRequest, job: str) -> HttpResponse:
    """Its process is ended; what it has written stays."""
    found = await _found(job)
    if found.state in ENDED:
        raise Problem(409, problem("job_ended", job=job, state=found.state), "job")
    if not await work.cancel(found):
        raise Problem(409, problem("job_elsewhere", job=job), "job")
    return answer(found.view())


async def _found(number: str) -> Job:
    found = await work.get(number)
    if found is None:
        raise Problem(404, problem("no_job", job=number), "job")
    return found
