"""Quizzes as pages: all of them, and one with its questions. An answer is graded by REST (`web.api.quizzes`)."""

from __future__ import annotations

import json
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET

from lab.quizzes import reading
from lab.quizzes.questions import Question, scenario_of
from lab.scenarios import subjects
from web.access import ACT
from web.api.classes import lab_of
from web.api.problems import Problem
from web.api.quizzes import asked, listed, quiz_of
from web.language import language_of
from web.messages import said, words_of
from web.people import learning
from web.rights import scope_of

PART = "quizzes"


def shown(question: Question, language: str) -> dict[str, Any]:
    """A question in one language, as the forms have it: its numbers with their texts."""
    view = asked(question)
    texts = list(enumerate(text[language] for text in view["texts"]))
    return {**view, "ask": view["ask"][language], "texts": texts, "id": question.name.replace(".", "-")}


def base_of(request: HttpRequest) -> str | None:
    """The lab in which whoever asks can look at a run: "" is the server's own; None: there is none."""
    scope = scope_of(request)
    if scope.get("level", ACT) == ACT:
        return ""
    own = lab_of(scope["student"]) if scope.get("student") else None
    return f"/labs/{own}" if own else None


@require_GET
def quizzes(request: HttpRequest) -> HttpResponse:
    """All of them: the texts for beginners, the parts of the glossary, the lessons by their tracks."""
    language = language_of(request)
    words = words_of(PART, language)
    right = learning.right_ones(scope_of(request).get("student", ""))
    rows = {one["name"]: {**one, "title": one["title"][language], "count": _count(one, words, right)}
            for one in listed()}  # fmt: skip
    lessons = [row for row in rows.values() if not row["heading"]]
    grouped = subjects.grouped((one["name"], _subject(one["name"])) for one in lessons)
    groups = [{"title": one["title"][language], "quizzes": [rows[name] for name in one["scenarios"]],
               "whole": rows.get(one["subject"])} for one in grouped]  # fmt: skip
    others = [row for row in rows.values() if row["heading"] and row["name"] not in subjects.SUBJECTS]
    texts = [row for row in others if reading.text_of(row["name"])]
    parts = [row for row in others if row not in texts]
    return _page(request, "quizzes.html", {"groups": groups, "parts": parts, "texts": texts})


def _count(one: dict[str, Any], words: dict[str, str], right: set[str]) -> str:
    """How many questions; of a student also how many he has answered rightly."""
    number = one["questions"]
    known = sum(question.name in right for question in quiz_of(one["name"]).questions) if right else 0
    if known:
        return said(words, "questions.right", most=number, n=known)
    return said(words, "questions", n=number)


def _subject(lesson: str) -> str:
    return scenario_of(lesson).subject


@require_GET
@ensure_csrf_cookie
def quiz(request: HttpRequest, name: str) -> HttpResponse:
    """The questions of a lesson, or of a heading."""
    language = language_of(request)
    try:
        found = quiz_of(name)
    except Problem:
        raise Http404 from None
    facts = {"language": language, "words": words_of(PART, language), "base": base_of(request)}
    return _page(request, "quiz.html", {
        "name": name, "title": found.title[language], "is_lesson": name not in reading.headings(),
        "text": reading.text_of(name),
        "is_teacher": scope_of(request).get("level", ACT) == ACT,
        "questions": [shown(one, language) for one in found.questions], "facts": json.dumps(facts),
    })  # fmt: skip


def _page(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    language = language_of(request)
    return render(request, template, {**context, "language": language, "words": words_of(PART, language)})
