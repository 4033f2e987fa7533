"""What Spark says of a class, over REST: where records were lost, which prediction was wrong most often, how long the
first success took (`lab.analytics.classes`, `about_class`).
"""

from __future__ import annotations

import asyncio

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Router

from broker_core.kernel.problems import problem
from web.api import schemas, spark_schemas
from web.api.about_class import ClassReport, news_of, prepared
from web.api.answers_classes import Code
from web.api.asking import answer
from web.api.classes import room_of
from web.api.problems import Problem
from web.api.spark import check_installed, spark
from web.api.spark_answers import accepted, cancelled, report_of
from web.language import language_of
from web.people.changes import changes

router = Router(tags=["spark"])
Problems = schemas.Problem
REFUSALS = dict.fromkeys((400, 403, 404, 409, 413, 415, 422, 503), Problems)


async def one_of(code: str, number: str) -> ClassReport:
    """A report of a class; 404."""
    await room_of(code)
    row = spark.get(ClassReport, number)
    if row is None or row.code != code:
        raise Problem(404, problem("no_work", kind=ClassReport.KIND, name=number), ClassReport.KIND)
    return row


@router.post(
    "/classes/{code}/reports", response={202: spark_schemas.ClassReportView, **REFUSALS, 429: Problems, 501: Problems},
    summary="Ask Spark about a class",
)
async def start(request: HttpRequest, code: Code) -> HttpResponse:
    """Where records were lost and with which settings, which prediction was wrong most often, how long the first
    success took: for all hand-ins and answers of the class at this moment. The answer comes at once; ask
    `GET /api/classes/CODE/reports/ID` until its state is done. 501 says how to install Spark where it is missing."""
    room = await room_of(code)
    await asyncio.to_thread(check_installed)
    row = await sync_to_async(prepared)(room)
    await asyncio.to_thread(spark.start, row)
    changes.told(news_of(code))
    return accepted(row)


@router.get(
    "/classes/{code}/reports/{report}", response={200: spark_schemas.ClassReportView, **REFUSALS},
    summary="What Spark says of a class",
)
async def report(request: HttpRequest, code: Code, report: str) -> HttpResponse:
    """State, progress, and the tables that have been found so far, each with its title and its reading."""
    return answer((await one_of(code, report)).view())


@router.delete(
    "/classes/{code}/reports/{report}", response={202: spark_schemas.ClassReportView, **REFUSALS},
    summary="Cancel a report about a class",
)
async def cancel(request: HttpRequest, code: Code, report: str) -> HttpResponse:
    """Spark is told; the state becomes cancelled as soon as its tasks have ended."""
    return await cancelled(await one_of(code, report))


@router.get(
    "/classes/{code}/reports/{report}/report", response={200: schemas.Thing, **REFUSALS},
    summary="The report about a class, with plots",
)
async def page(request: HttpRequest, code: Code, report: str) -> HttpResponse:
    """One HTML page in English and Korean that needs no script and loads nothing."""
    return await report_of(await one_of(code, report), language_of(request))
