"""Quizzes over REST: questions about lessons, and answers that are graded at once.

The right answers are those that runs have shown (`lab.quizzes.recorded`); none of them is told before somebody has
answered. To answer changes no lab, so whoever may look may answer, too.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Router

from broker_core.kernel.problems import problem
from lab.quizzes import grading, reading
from lab.quizzes.grading import Graded
from lab.quizzes.questions import Question, scenario_of
from lab.quizzes.reading import Quiz
from lab.scenarios import path
from web.api import answers_quizzes as answers
from web.api import schemas
from web.api.asking import answer
from web.api.problems import Problem
from web.people import learning, seats
from web.rights import scope_of

router = Router(tags=["quizzes"])
Problems = schemas.Problem


@cache
def asked(question: Question) -> dict[str, Any]:
    """A question as whoever is to answer it sees it."""
    scenario = scenario_of(question.lesson, question.course)
    texts = [one.text for one in question.options] or [one.text for one in question.items]
    brokers = sorted(one.id for one in scenario.spec.cluster.brokers) if question.way == "broker" else []
    return {
        "name": question.name, "lesson": question.lesson, "course": question.course, "ask": question.ask,
        "way": question.way, "texts": texts, "brokers": brokers, "prediction": question.is_prediction,
    }  # fmt: skip


def proof_of(question: Question, graded: Graded) -> dict[str, Any]:
    """Where the answer is seen."""
    event = question.proof.event if question.proof is not None else ""
    course = (question.course or "").replace("/", "+")
    place = f"{question.lesson}/{course}/{graded.answer.t_us}"
    return {"lesson": question.lesson, "course": question.course, "t_us": graded.answer.t_us,
            "node": graded.answer.node, "event": event, "open": f"#proof={place}"}  # fmt: skip


def graded_view(question: Question, graded: Graded) -> dict[str, Any]:
    """With what is told once somebody has answered."""
    return {"question": question.name, "grade": graded.grade, "given": graded.given, "answer": graded.answer.value,
            "why": question.why, "proof": proof_of(question, graded)}  # fmt: skip


def quiz_of(name: str) -> Quiz:
    """404 where there is none."""
    found = reading.find(name)
    if found is None:
        raise Problem(404, problem("no_quiz", name=name), "name")
    return found


def question_of(name: str) -> Question:
    """404 where there is none."""
    found = reading.all_questions().get(name)
    if found is None:
        raise Problem(404, problem("no_question", name=name), "question")
    return found


def listed() -> list[dict[str, Any]]:
    """All quizzes in short."""
    names = [*reading.headings(), *path.legs()]
    found = [(name, quiz_of(name)) for name in names]
    return [{"name": name, "title": quiz.title, "heading": name in reading.headings(), "questions": len(quiz.questions)}
            for name, quiz in found if quiz.questions]  # fmt: skip


@router.get("/quizzes", response=answers.Quizzes, summary="All quizzes")
async def quizzes(request: HttpRequest) -> HttpResponse:
    """Headings first, then lessons in the order of the way; how many questions each has."""
    items = await asyncio.to_thread(listed)
    return answer({"items": items, "total": len(items)})


@router.post(
    "/quizzes/answers", response={200: answers.AnswerGraded, **dict.fromkeys((400, 404, 415, 422), Problems)},
    summary="Answer a question",
)
async def grade(request: HttpRequest, given: answers.AnswerGiven) -> HttpResponse:
    """Graded at once by what a run of the lesson has shown: `right`, `near` (a number that is close enough) or `wrong`,
    with the right answer, why it is so, and the moment of the run that proves it. Of a student it is remembered."""
    question = await asyncio.to_thread(question_of, given.question)
    graded = grade_or_422(question, given.answer)
    seat = await seats.seat_of(scope_of(request).get("student", ""))
    if seat is not None:
        await sync_to_async(learning.answered)(seat, question.name, graded.grade)
    return answer(graded_view(question, graded))


@router.get("/quizzes/{name}", response={200: answers.QuizView, 404: Problems}, summary="The questions of a quiz")
async def quiz(request: HttpRequest, name: str) -> HttpResponse:
    """Of a lesson its prediction comes first. No answer is told here."""
    found = await asyncio.to_thread(quiz_of, name)
    questions = [asked(one) for one in found.questions]
    return answer({"name": name, "title": found.title, "heading": name in reading.headings(), "questions": questions})


def grade_or_422(question: Question, given: Any) -> Graded:
    """What is no answer to this question is refused."""
    try:
        return grading.graded(question, given)
    except grading.NoAnswer as error:
        raise Problem(422, error.problem, error.where or None) from None
