"""Oneself over REST: what a student sees of his class, what he hands in, his hints, his lab.

No address here names a student: each is about the one whose session the request brings, so nobody can ask for another.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import Annotated, Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from broker_core.kernel.problems import problem
from lab.clusters.checks import SpecError
from lab.exercises.grading import price_of
from lab.scenarios import grammar
from web.access import ACT
from web.api import answers_classes as answers
from web.api import keeping, schemas
from web.api.asking import answer
from web.api.classes import lab_of, whole
from web.api.packs import BODY
from web.api.problems import Problem
from web.people import classes as rooms
from web.people import handing, learning, seats
from web.people.changes import changes
from web.people.judging import judge, pack_of, progress_of
from web.people.models import WAITING, HandIn, Seat
from web.rights import scope_of

router = Router(tags=["classes"])
Problems = schemas.Problem
Wait = Annotated[float, Field(ge=0, le=30)]
REFUSALS = dict.fromkeys((400, 403, 404, 409, 413, 415, 422, 429, 503), Problems)


class HandedIn(schemas.Attempt):
    """An attempt, and at which exercise. Hints were counted when they were taken."""

    exercise: answers.ExerciseName


async def seat_of(request: HttpRequest) -> Seat:
    """The student who asks; 403 for somebody who has joined no class."""
    found = await seats.seat_of(scope_of(request).get("student", ""))
    if found is None:
        raise Problem(403, problem("no_seat"))
    await judge.awake()
    return found


@router.get("/me", response={200: answers.Me, 403: Problems, 422: Problems, 503: Problems}, summary="Who asks")
async def me(request: HttpRequest, since: answers.Since = 0, wait: Wait = 0) -> HttpResponse:
    """What he may, and where he stands in his class. `wait`: answer when `version` is another than `since`, after so
    many seconds at the latest."""
    scope = scope_of(request)
    seat = await seats.seat_of(scope.get("student", ""))
    if seat is not None:
        await judge.awake()
        await changes.after(seat.classroom_id, since, wait)
        seat = await seats.seat_of(seat.owner)
    level = scope.get("level", ACT)
    if seat is None:
        nobody = dict.fromkeys(("code", "title", "number", "name", "lab", "group"))
        return answer({"level": level, "version": 0, "points": 0, "tasks": [], **nobody})
    version = changes.version(seat.classroom_id)
    return answer({"level": level, "version": version, **await sync_to_async(standing)(seat)})


def standing(seat: Seat) -> dict[str, Any]:
    """What a student sees of his class: himself."""
    room, tasks = seat.classroom, []
    works = {work.task_id: work for work in seat.works.all()}
    for task in room.tasks.all():
        handed = list(seat.hand_ins.filter(task=task).order_by("number"))
        found = rooms.cell(task, works.get(task.pk), handed)
        found["last"] = progress_of(found["last"]) if found["last"] is not None else None
        tasks.append({**rooms.task_view(task), **found})
    return {
        "code": room.code, "title": room.title, "number": seat.number, "name": seat.name, "tasks": tasks,
        "points": sum(one["points"] for one in tasks), "lab": lab_of(seat.owner), "group": group_of(seat),
    }  # fmt: skip


def group_of(seat: Seat) -> dict[str, Any] | None:
    """With whom a student shares a lab, and which."""
    if seat.group is None:
        return None
    names = [one.name for one in seat.group.seats.all()]
    return {"number": seat.group.number, "names": names, "lab": lab_of(seat.group.owner)}


# -- handing in -----------------------------------------------------------------------------
@router.post("/me/hand-ins", response={202: answers.WholeHandIn, **REFUSALS}, summary="Hand in an attempt")
async def hand_in(request: HttpRequest, given: HandedIn) -> HttpResponse:
    """The server runs it under each seed of the exercise and judges that. 409 when the deadline is over, no try is
    left, or the last one is still judged; 422 names the place of what an attempt may not do."""
    return await _take(await seat_of(request), given.exercise, given.plain())


async def _take(seat: Seat, exercise: str, attempt: dict[str, Any] | None) -> HttpResponse:
    try:
        one: HandIn = await sync_to_async(handing.take)(seat, exercise, attempt)
    except handing.NotTaken as error:
        missing = error.problem["code"] == "not_handed_out"
        raise Problem(404 if missing else 409, error.problem, error.where or None) from None
    except SpecError as error:
        raise Problem(422, error.problem, error.where) from None
    if attempt is not None:
        judge.begin(one)
    changes.told(seat.classroom_id)
    response = answer(await sync_to_async(whole)(one), 202)
    response["Location"] = f"/api/me/hand-ins/{one.id}"
    return response


@router.post(
    "/me/packs/{exercise}", response={202: answers.WholeHandIn, **REFUSALS}, summary="Hand in a packed run",
    openapi_extra=BODY,
)
async def hand_in_pack(request: HttpRequest, exercise: str) -> HttpResponse:
    """The body is a file of `./brokerlab pack`: a run of the exercise from another machine. It counts when it comes out
    again byte for byte, and when the attempt in it reaches the goals under all seeds; a forged one is a try, too."""
    seat = await seat_of(request)
    waiting = pack_of(f"coming-{secrets.token_hex(8)}")
    try:
        await asyncio.to_thread(_keep, request, waiting)
        response = await _take(seat, exercise, None)
        one = await HandIn.objects.aget(id=response["Location"].rpartition("/")[2])
        await asyncio.to_thread(waiting.rename, pack_of(one.id))
    finally:
        await asyncio.to_thread(waiting.unlink, True)
    judge.begin(one)
    return response


def _keep(request: HttpRequest, path: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        while piece := request.read(1 << 20):
            file.write(piece)


@router.get("/me/hand-ins/{number}", response={200: answers.WholeHandIn, **REFUSALS}, summary="A hand-in of one's own")
async def own(request: HttpRequest, number: str, wait: Wait = 0) -> HttpResponse:
    """`wait`: answer when something about it has changed, or it was judged; after so many seconds at the latest."""
    seat = await seat_of(request)
    version = changes.version(seat.classroom_id)
    one = await _own(seat, number)
    if one.state in WAITING and wait:
        await changes.after(seat.classroom_id, version, wait)
        one = await _own(seat, number)
    return answer(whole(one))


async def _own(seat: Seat, number: str) -> HandIn:
    found = HandIn.objects.select_related("task").filter(id=number, seat=seat)
    one = await found.afirst() if number.isprintable() else None  # PostgreSQL takes no NUL
    if one is None:
        raise Problem(404, problem("no_hand_in", name=number), "number")
    return one


@router.post("/me/hints", response={200: answers.HintsTold, **REFUSALS}, summary="Take a hint")
async def hint(request: HttpRequest, given: answers.TakeHint) -> HttpResponse:
    """The next one; its price is off the points of whatever is handed in from now on."""
    seat = await seat_of(request)
    try:
        work, exercise = await sync_to_async(handing.take_hint)(seat, given.exercise)
    except handing.NotTaken as error:
        missing = error.problem["code"] == "not_handed_out"
        raise Problem(404 if missing else 409, error.problem, error.where or None) from None
    changes.told(seat.classroom_id)
    told = [one.text for one in exercise.hints[: work.hints]]
    return answer({"hints": told, "price": price_of(exercise, work.hints)})


# -- lessons --------------------------------------------------------------------------------
@router.get("/me/lessons", response={200: answers.Learned, **REFUSALS}, summary="What one has made of the lessons")
async def learned(request: HttpRequest) -> HttpResponse:
    """The best result of each that was seen to its end."""
    return answer({"results": await sync_to_async(learning.results_of)(await seat_of(request))})


@router.post("/me/lessons", response={200: answers.Learned, **REFUSALS}, summary="A lesson was seen to its end")
async def learn(request: HttpRequest, given: answers.LessonSeen) -> HttpResponse:
    """`grade` is what came of the prediction, `seen` where there was none to make; a worse one than before changes
    nothing. Nothing depends on it: nobody judges predictions but the page."""
    seat = await seat_of(request)
    if given.name not in grammar.names():
        raise Problem(404, problem("no_scenario", name=given.name), "name")
    return answer({"results": await sync_to_async(learning.take)(seat, given.name, given.grade)})


@router.get("/me/questions", response={200: answers.Answered, **REFUSALS}, summary="What one has answered")
async def answered(request: HttpRequest) -> HttpResponse:
    """Of each question of a quiz: the best grade, the first one, how often it was answered."""
    return answer({"results": await sync_to_async(learning.questions_of)(await seat_of(request))})


@router.delete("/me/lessons", response={204: None, **REFUSALS}, summary="Begin the lessons again")
async def unlearn(request: HttpRequest) -> HttpResponse:
    """All results of lessons and questions are forgotten."""
    await sync_to_async(learning.forget)(await seat_of(request))
    return HttpResponse(status=204)


# -- a lab of one's own ---------------------------------------------------------------------
@router.post("/me/lab", response={201: schemas.LabView, **REFUSALS, 504: Problems}, summary="Begin a lab of one's own")
async def begin_lab(request: HttpRequest, given: answers.OwnLab) -> HttpResponse:
    """One for each student, or with `shared` one for his group, as far as the server has room
    (`./brokerlab up --labs`). Its name is in the answer, and in `GET me`; nobody but he (his group) and the teacher can
    reach it, and `DELETE labs/NAME` ends it."""
    seat = await seat_of(request)
    if given.shared and seat.group is None:
        raise Problem(409, problem("in_no_group"), "shared")
    owner = seat.group.owner if given.shared and seat.group is not None else seat.owner
    if (name := lab_of(owner)) is not None:
        raise Problem(409, problem("lab_exists", name=name))
    name = f"{settings.LAB_NAME}-{secrets.token_hex(4)}"[-40:].lstrip("-")
    new = keeping.NewLab(name=name, cluster=given.cluster, seed=given.seed, owner=owner)
    response = await keeping.begin(request, new)
    changes.told(seat.classroom_id)
    return response
