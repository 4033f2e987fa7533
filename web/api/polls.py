"""Polls of a class, and following its teacher, over REST: the teacher below `classes`, a student below `me`."""

from __future__ import annotations

from typing import Annotated, Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from lab.quizzes.grading import Graded, NoAnswer, graded
from lab.quizzes.questions import Question
from lab.quizzes.recorded import answer_of
from web.api import answers_quizzes as answers
from web.api import schemas
from web.api.answers_classes import Code, Since
from web.api.asking import answer
from web.api.classes import room_of
from web.api.me import seat_of
from web.api.problems import Problem
from web.api.quizzes import asked, graded_view, question_of
from web.people import leading, polls
from web.people.changes import changes
from web.people.models import TOLD, Classroom, Poll, Seat

router = Router(tags=["classes"])
Problems = schemas.Problem
Wait = Annotated[float, Field(ge=0, le=30)]
REFUSALS = dict.fromkeys((400, 403, 404, 409, 415, 422, 503), Problems)


# -- the teacher ----------------------------------------------------------------------------
def poll_view(room: Classroom, version: int) -> dict[str, Any]:
    """The poll of a class with its histogram."""
    poll = polls.current(room)
    found: dict[str, Any] = {"version": version, "question": None, "state": None, "students": room.seats.count(),
                             "answers": 0, "bars": [], "told": None}  # fmt: skip
    if poll is None:
        return found
    question = polls.question_of(poll)
    told = _right(question) if poll.state == TOLD else None
    return {**found, "question": asked(question), "state": poll.state, "answers": poll.votes.count(),
            "bars": polls.bars(poll, question), "told": told}  # fmt: skip


def _right(question: Question) -> dict[str, Any] | None:
    """As somebody is told who has answered rightly."""
    found = answer_of(question)
    return None if found is None else graded_view(question, Graded("right", found.value, found))


async def _answered(room: Classroom) -> HttpResponse:
    version = changes.version(polls.votes_of(room.code))
    return answer(await sync_to_async(poll_view)(room, version))


@router.get("/classes/{code}/poll", response={200: answers.PollView, **REFUSALS}, summary="The poll of a class")
async def poll(request: HttpRequest, code: Code, since: Since = 0, wait: Wait = 0) -> HttpResponse:
    """With its histogram. `wait`: answer when somebody has answered since `version`, after so many seconds at the
    latest."""
    room = await room_of(code)
    await changes.after(polls.votes_of(code), since, wait)
    return await _answered(room)


@router.post("/classes/{code}/poll", response={200: answers.PollView, **REFUSALS}, summary="Ask a class")
async def ask(request: HttpRequest, code: Code, given: answers.NewPoll) -> HttpResponse:
    """The question stands on the students' pages at once, before anybody plays the run that decides it. A poll before
    this one has ended."""
    room, question = await room_of(code), question_of(given.question)
    await sync_to_async(polls.begin)(room, question)
    return await _answered(room)


@router.post("/classes/{code}/poll/state", response={200: answers.PollView, **REFUSALS}, summary="Go on with a poll")
async def go_on(request: HttpRequest, code: Code, given: answers.PollChange) -> HttpResponse:
    """`closed`: nobody answers any more. `told`: everybody sees the right answer. `ended`: it is gone from the
    students' pages."""
    room = await room_of(code)
    try:
        await sync_to_async(polls.become)(room, given.state)
    except polls.NoPoll as error:
        raise Problem(409, error.problem, error.where or None) from None
    return await _answered(room)


@router.post("/classes/{code}/lead", response={200: answers.LeadView, **REFUSALS}, summary="Let a class follow")
async def lead(request: HttpRequest, code: Code, given: answers.Lead) -> HttpResponse:
    """Pages of students that follow go to this lab, run and moment. Ends by itself when it is not renewed for twenty
    seconds."""
    room = await room_of(code)
    leading.lead(room.code, given.model_dump())
    return answer(lead_view(room.code))


@router.delete("/classes/{code}/lead", response={204: None, **REFUSALS}, summary="Let a class go its own ways")
async def unlead(request: HttpRequest, code: Code) -> HttpResponse:
    """Nobody is led any more."""
    leading.end((await room_of(code)).code)
    return HttpResponse(status=204)


def lead_view(code: str) -> dict[str, Any]:
    """What a class is to look at."""
    return {"version": changes.version(leading.key_of(code)), "look": leading.look_of(code)}


# -- a student ------------------------------------------------------------------------------
def own_view(seat: Seat, version: int) -> dict[str, Any]:
    """The poll of a student's class, as he sees it."""
    found = polls.own(seat)
    if found is None:
        return {"version": version, **dict.fromkeys(("question", "state", "given", "graded"))}
    current, vote = found
    question = polls.question_of(current)
    given = None if vote is None else vote.answer
    return {"version": version, "question": asked(question), "state": current.state, "given": given,
            "graded": _told(current, question, given)}  # fmt: skip


def _told(poll: Poll, question: Question, given: Any) -> dict[str, Any] | None:
    if poll.state != TOLD:
        return None
    return _right(question) if given is None else graded_view(question, graded(question, given))


@router.get("/me/poll", response={200: answers.OwnPoll, **REFUSALS}, summary="The poll of one's class")
async def own_poll(request: HttpRequest, since: Since = 0, wait: Wait = 0) -> HttpResponse:
    """`wait`: answer when it was opened, closed, told or ended since `version`, after so many seconds at the latest."""
    seat = await seat_of(request)
    key = polls.states_of(seat.classroom_id)
    await changes.after(key, since, wait)
    return answer(await sync_to_async(own_view)(seat, changes.version(key)))


@router.post("/me/poll", response={200: answers.OwnPoll, **REFUSALS}, summary="Answer the poll of one's class")
async def vote(request: HttpRequest, given: answers.Vote) -> HttpResponse:
    """As often as one likes until it is closed; the last answer counts. Its grade is told when the teacher tells
    all."""
    seat = await seat_of(request)
    try:
        await sync_to_async(polls.vote)(seat, given.answer)
    except polls.NoPoll as error:
        raise Problem(409, error.problem, error.where or None) from None
    except NoAnswer as error:
        raise Problem(422, error.problem, error.where or None) from None
    return answer(await sync_to_async(own_view)(seat, changes.version(polls.states_of(seat.classroom_id))))


@router.get("/me/lead", response={200: answers.LeadView, **REFUSALS}, summary="What one's teacher looks at")
async def own_lead(request: HttpRequest, since: Since = 0, wait: Wait = 0) -> HttpResponse:
    """`look` is null while nobody leads. `wait`: answer when it is another one than at `version`, after so many seconds
    at the latest."""
    code = (await seat_of(request)).classroom_id
    await changes.after(leading.key_of(code), since, wait)
    return answer(lead_view(code))
