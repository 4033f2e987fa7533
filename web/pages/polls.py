"""A poll as pages: the teacher's with its histogram; the student's, which stands in his own page.

Both renew themselves as all pages about people do (`web.pages.classes`): the teacher's with each answer, the
student's when the poll goes on.
"""

from __future__ import annotations

import json
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET

from lab.quizzes import reading
from lab.quizzes.questions import scenario_of
from lab.quizzes.reading import all_questions
from lab.scenarios import path
from web.api.polls import own_view, poll_view
from web.language import language_of
from web.messages import words_of
from web.pages.classes import page, room_or_404, waited
from web.pages.quizzes import PART, base_of, shown
from web.people import leading, polls, seats
from web.rights import scope_of

WIDE = 200  # units of a bar


def words(language: str) -> dict[str, Any]:
    """Of people and of questions."""
    return {**words_of("people", language), **words_of(PART, language)}


def answer_text(question: dict[str, Any], answer: Any, language: str) -> str:
    """An answer as a reader sees it."""
    texts, told = question["texts"], words(language)
    if question["way"] == "choices":
        return str(texts[answer][language])
    if question["way"] == "order":
        return " → ".join(str(texts[index][language]) for index in answer)
    if question["way"] == "broker":
        return str(told["nobody"]) if answer < 0 else f"{told['broker']} {answer}"
    return str(answer)


@require_GET
@ensure_csrf_cookie
async def poll(request: HttpRequest, code: str) -> HttpResponse:
    """The teacher's: what is asked, how often which answer was given, and what comes next."""
    room = await room_or_404(code)
    version = await waited(request, polls.votes_of(code))
    found = await sync_to_async(poll_view)(room, version)
    language = language_of(request)
    question = found["question"]
    most = max([1, *(bar["count"] for bar in found["bars"])])
    rows = [{**bar, "text": answer_text(question, bar["answer"], language), "width": round(WIDE * bar["count"] / most)}
            for bar in found["bars"]]  # fmt: skip
    context = {
        "room": room, "version": version, "poll": found, "bars": rows, "words": words(language), "wide": WIDE,
        "ask": question["ask"][language] if question else "", "groups": await sync_to_async(_choices)(language),
        "seconds": f"{found['told']['proof']['t_us'] / 1e6:.3f}" if found["told"] else "",
        "why": found["told"]["why"][language] if found["told"] else "",
        "answer": answer_text(question, found["told"]["answer"], language) if found["told"] else "",
    }  # fmt: skip
    return page(request, "poll.html", context)


def _choices(language: str) -> list[dict[str, Any]]:
    """All questions, by lessons in the order of the way, then those of headings."""
    lessons = [(scenario_of(name).title[language], reading.of_lesson(name).questions) for name in path.legs()]
    tracks = {leg.track for leg in path.legs().values()}
    headings = [reading.of_heading(name) for name in reading.headings() if name not in tracks]
    parts = [(quiz.title[language], quiz.questions) for quiz in headings]
    return [{"title": title, "questions": [(one.name, one.ask[language].strip()) for one in questions]}
            for title, questions in [*lessons, *parts] if questions]  # fmt: skip


@require_GET
@ensure_csrf_cookie
async def own(request: HttpRequest) -> HttpResponse:
    """The student's: the question, his answer, and once all are told the right one; whether the teacher leads."""
    seat = await seats.seat_of(scope_of(request).get("student", ""))
    if seat is None:
        return HttpResponseRedirect(reverse("join"))
    version = await waited(request, polls.states_of(seat.classroom_id))
    found = await sync_to_async(own_view)(seat, version)
    language = language_of(request)
    question = all_questions().get(found["question"]["name"]) if found["question"] else None
    facts = {"language": language, "words": words(language), "base": base_of(request), "graded": found["graded"],
             "given": found["given"]}  # fmt: skip
    given = ""
    if question is not None and found["given"] is not None:
        given = answer_text(found["question"], found["given"], language)
    context = {
        "version": version, "poll": found, "question": shown(question, language) if question else None, "given": given,
        "words": words(language), "facts": json.dumps(facts), "leads": leading.look_of(seat.classroom_id) is not None,
    }  # fmt: skip
    return page(request, "own_poll.html", context)
