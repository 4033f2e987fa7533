"""What Spark says of a class, as a page of its teacher: the newest report, told as it is found."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET

from broker_core.kernel.problems import LANGUAGES, told
from web.api.about_class import newest, news_of
from web.api.models import ENDED
from web.language import language_of
from web.messages import words_of
from web.pages.classes import PART, page, room_or_404, waited

MOST = 40
"""Rows of a table that the page shows; the report has more."""


def shown_answer(found: dict[str, Any], language: str) -> dict[str, Any]:
    """A table in one language; `heads` and the cells of `rows` are (text, whether it is a figure)."""
    from lab.analytics.charts import figure
    from lab.analytics.words import ENGLISH, KOREAN

    words = (ENGLISH, KOREAN)[LANGUAGES.index(language)]
    columns = found["columns"]
    rows = [[(figure(words.value(name, row[name])), isinstance(row[name], int | float)) for name in columns]
            for row in found["rows"][:MOST]]  # fmt: skip
    heads = [(words.heading(name), any(row[index][1] for row in rows)) for index, name in enumerate(columns)]
    return {"name": found["query"], "title": found["title"][language], "reading": found["reading"][language],
            "doc": found["doc"][language], "heads": heads, "rows": rows,
            "more": found["count"] - len(rows)}  # fmt: skip


@require_GET
@ensure_csrf_cookie
async def class_report(request: HttpRequest, code: str) -> HttpResponse:
    """The newest one, or a button that asks for the first."""
    room = await room_or_404(code)
    version = await waited(request, news_of(code))
    row = newest(code)
    language = language_of(request)
    words = words_of(PART, language)
    context: dict[str, Any] = {"room": room, "version": version, "report": None, "answers": []}
    if row is not None:
        view = row.view()
        context |= {
            "report": view, "answers": [shown_answer(one, language) for one in view["answers"]],
            "busy": row.state not in ENDED, "percent": round(100 * view["progress"]),
            "word": words[f"report.{row.state}"], "error": told(row.error, language) if row.error else "",
        }  # fmt: skip
    return page(request, "class_report.html", context)
