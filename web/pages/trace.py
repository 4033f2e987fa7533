"""The trace as a page: what leads from each row of the table of features to lessons, settings, metrics, and back.

`/trace/#B3` is a row, `/trace/#settings-acks` the way back from a setting: also from one that no row or lesson
names, since the lab shows that one, too. It needs no script and no running cluster.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS
from lab.clusters.meanings import of_clients
from lab.trace.rows import KINDS, PARTS
from web.api.quizzes import quiz_of
from web.api.reference import traced
from web.language import language_of
from web.messages import catalogue

WAYS = ("scenarios", "exercises", "questions", *KINDS)
FRAGMENTS = {"settings": "setting", "metrics": "metric"}
"""Kind -> the part of the lab's address that opens one (`static/desk/address.js`)."""


@require_GET
async def trace(request: HttpRequest) -> HttpResponse:
    """The page."""
    language = language_of(request)
    parts, back = await sync_to_async(_told, thread_sensitive=False)(language)
    words = catalogue(language)["page"]
    context = {"language": language, "words": words, "about": "trace", "parts": parts, "back": back}
    return render(request, "trace.html", context)


@cache
def _told(language: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows by parts, and the ways back by kinds."""
    table = traced()
    rows = {name: _row(name, row, table, language) for name, row in table["rows"].items()}
    parts = [{"name": part, "key": f"trace.part.{part}", "rows": [row for name, row in rows.items() if name[0] == part]}
             for part in PARTS]  # fmt: skip
    table = {**table, "questions": _quizzes(table["questions"])}
    back = [{"kind": kind, "key": f"trace.{kind}", "is_used": kind in KINDS,
             "items": [_back(kind, name, one, language)
                       for name, one in (table[kind] | _untraced(kind, table[kind])).items()]}
            for kind in WAYS]  # fmt: skip
    return parts, back


def _quizzes(questions: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Quiz -> its title, and the rows that its questions are about."""
    found: dict[str, dict[str, Any]] = {}
    for one in questions.values():
        quiz = found.setdefault(one["quiz"], {"title": quiz_of(one["quiz"]).title, "rows": []})
        quiz["rows"] += [row for row in one["rows"] if row not in quiz["rows"]]
    return found


def _untraced(kind: str, traced_names: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Settings that the lab shows and nothing leads to."""
    shown = {*BROKER_SETTINGS, *TOPIC_SETTINGS, *of_clients()} if kind == "settings" else set()
    return {name: {"rows": []} for name in sorted(shown - set(traced_names))}


def _row(name: str, row: dict[str, Any], table: dict[str, Any], language: str) -> dict[str, Any]:
    counts = Counter(table["questions"][question]["quiz"] for question in row["questions"])
    asked = [(quiz_of(quiz), count) for quiz, count in counts.items()]
    titles = {lesson: table["scenarios"][lesson]["title"][language] for lesson in row["scenarios"]}
    return {
        "id": name, "title": row["title"][language], "in_core": row["in_core"],
        "lessons": [{"name": lesson, "title": title} for lesson, title in titles.items()],
        "exercises": [{"name": one, "title": table["exercises"][one]["title"][language]} for one in row["exercises"]],
        "questions": [{"quiz": quiz.name, "title": quiz.title[language], "n": count} for quiz, count in asked],
        "names": [{"key": f"trace.{kind}", "items": [_named(kind, one) for one in row[kind]]}
                  for kind in KINDS if row[kind]],
    }  # fmt: skip


def _named(kind: str, name: str) -> dict[str, str]:
    """A name, where it stands on this page, and what opens it in the lab, if anything does."""
    opens = kind == "metrics" or (kind == "settings" and (name in BROKER_SETTINGS or name in TOPIC_SETTINGS))
    return {"name": name, "id": f"{kind}-{name}", "opens": f"{FRAGMENTS[kind]}={name}" if opens else ""}


def _back(kind: str, name: str, one: dict[str, Any], language: str) -> dict[str, Any]:
    opens = {"scenarios": f"lesson={name}"}.get(kind) or (_named(kind, name)["opens"] if kind in KINDS else "")
    found = {"id": f"{kind}-{name}", "name": name, "title": "", "rows": one["rows"], "opens": opens}
    if "title" in one:
        found["title"] = one["title"][language]
    return {**found, "lessons": one.get("scenarios", []), "exercises": one.get("exercises", []),
            "exercise": name if kind == "exercises" else "", "quiz": name if kind == "questions" else ""}  # fmt: skip
