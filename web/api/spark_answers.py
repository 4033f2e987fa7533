"""What replays and sweeps answer alike: one of them by its id, its end, its report."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from django.http import HttpResponse

from broker_core.kernel.problems import problem
from web.api.asking import answer
from web.api.models import DONE, ENDED
from web.api.problems import Problem
from web.api.spark import Work, spark

HTML = "text/html; charset=utf-8"
REPORT_RULES = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "sandbox"
)
"""The report's plots and styles stand in it; it has no script, and may load nothing."""


@dataclass(slots=True)
class Reported(Work):
    """Work with an address of its own that writes a report below `out`."""

    KIND: ClassVar[str] = ""
    REPORT: ClassVar[str] = ""
    out: Path = Path()

    @property
    def address(self) -> str:
        return f"/api/{self.KIND}s/{self.id}"

    def view(self) -> dict[str, Any]:
        return {**Work.view(self), "report": f"{self.address}/report" if self.state == DONE else None}


@dataclass(slots=True)
class Answering(Reported):
    """Such work that answers questions one after the other: how far it is, and what it has found by now."""

    steps: dict[str, Any] = field(default_factory=dict)
    answers: list[dict[str, Any]] = field(default_factory=list)

    @property
    def progress(self) -> float:
        """From 0 to 1."""
        total = self.steps.get("total", 0)
        return 1.0 if self.state == DONE else round(self.steps["done"] / total, 3) if total else 0.0

    def anew(self) -> None:
        self.steps = {}
        self.answers = []

    def found(self, event: dict[str, Any]) -> None:
        facts = {name: value for name, value in event.items() if name not in ("event", "id")}
        if event["event"] == "progress":
            self.steps = facts
        elif event["event"] == "answer":
            self.answers.append(facts)


W = TypeVar("W", bound=Reported)


def accepted(row: Reported) -> HttpResponse:
    """202 for work that has begun, with the address at which it can be looked at."""
    response = answer(row.view(), 202)
    response["Location"] = row.address
    return response


def one_of(kind: type[W], number: str) -> W:
    """A piece of work; 404 when there is none of that kind."""
    row = spark.get(kind, number)
    if row is None:
        raise Problem(404, problem("no_work", kind=kind.KIND, name=number), kind.KIND)
    return row


async def cancelled(row: Reported) -> HttpResponse:
    """202 once Spark is told; 409 when it has ended already."""
    if row.state in ENDED:
        raise Problem(409, problem("work_ended", kind=row.KIND, name=row.id, state=row.state), row.KIND)
    await asyncio.to_thread(spark.cancel, row)
    return answer(row.view(), 202)


async def report_of(row: Reported, language: str) -> HttpResponse:
    """The page that Spark's worker has written, with the reader's language chosen; 409 before the end, 404 when there
    is none."""
    from lab.analytics.report import in_language

    if row.state not in ENDED:
        raise Problem(409, problem("work_not_done", kind=row.KIND, name=row.id, state=row.state), row.KIND)
    try:
        content = await asyncio.to_thread((row.out / row.REPORT).read_bytes)
    except OSError:
        raise Problem(404, problem("no_report", kind=row.KIND, name=row.id, state=row.state), row.KIND) from None
    headers = {"Content-Security-Policy": REPORT_RULES, "Content-Language": language, "Vary": "Accept-Language, Cookie"}
    return HttpResponse(in_language(content, language), content_type=HTML, headers=headers)
