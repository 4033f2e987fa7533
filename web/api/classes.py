"""Classes over REST, as a teacher has them: made, watched as a grid, exported, deleted (`web.people`).

Everything below `/api/classes` is for those who may do everything (`web.rights`).
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from asgiref.sync import sync_to_async
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from broker_core.kernel.problems import problem
from lab.exercises.reading import Exercise
from web.api import about_class
from web.api import answers_classes as answers
from web.api import answers_runs, exercises, keeping, schemas
from web.api.asking import answer, runs_directory
from web.api.problems import Problem
from web.api.work import jobs
from web.live.labs import labs
from web.people import classes as rooms
from web.people import seats
from web.people.changes import changes
from web.people.judging import judge, progress_of
from web.people.models import Classroom, HandIn, Seat, Task
from web.rights import scope_of

router = Router(tags=["classes"])
Problems = schemas.Problem
Wait = Annotated[float, Field(ge=0, le=30)]
REFUSALS = dict.fromkeys((400, 403, 404, 409, 413, 415, 422, 503), Problems)
CSV = "text/csv; charset=utf-8"


async def room_of(code: str) -> Classroom:
    """The class; 404."""
    found = await Classroom.objects.filter(code=code).afirst() if code == rooms.written(code) else None
    if found is None:
        raise Problem(404, problem("no_class"), "code")
    await judge.awake()
    return found


def lab_of(owner: str) -> str | None:
    """The name of a student's lab."""
    return next((name for name, one in labs.known.items() if one.owner == owner), None)


def grid_of(room: Classroom, version: int) -> dict[str, Any]:
    """As it is answered: with labs, ways back, and how far tries have come."""
    found = rooms.grid(room)
    code = found.pop("class")
    found["groups"] = [
        {"number": one.number, "students": [seat.number for seat in one.seats.all()], "lab": lab_of(one.owner)}
        for one in room.groups.prefetch_related("seats")
    ]  # fmt: skip
    for student, seat in zip(found["students"], room.seats.all()):
        student |= {"lab": lab_of(seat.owner), "back": f"/join/{code}/back/{seats.way_back(seat)}/"}
        for cell in student["cells"].values():
            cell["last"] = progress_of(cell["last"]) if cell["last"] is not None else None
    return {"version": version, "door": f"/join/{code}/", "code": code, **found}


def rooms_of(request: HttpRequest) -> QuerySet[Classroom]:
    """The classes of a teacher with an account; of whoever may do everything all."""
    teacher = scope_of(request).get("teacher")
    return Classroom.objects.filter(teacher_id=teacher) if teacher else Classroom.objects.all()


@router.get("/classes", response={200: answers.Classes, **REFUSALS}, summary="All classes")
async def listed(request: HttpRequest) -> HttpResponse:
    """The oldest first. A teacher with an account sees his own."""
    items = [
        {"code": room.code, "title": room.title, "open": room.is_open, "created": room.created.isoformat(),
         "students": await room.seats.acount(), "tasks": await room.tasks.acount()}
        async for room in rooms_of(request)
    ]  # fmt: skip
    return answer({"items": items, "total": len(items)})


@router.post("/classes", response={201: answers.Grid, **REFUSALS}, summary="Make a class")
async def make(request: HttpRequest, given: answers.NewClass) -> HttpResponse:
    """Students join it at `door` while it is open, with its `code` and a name."""
    title = rooms.named(given.title)
    if not title:
        raise Problem(422, problem("name_of_letters", most=100), "title")
    room = await sync_to_async(rooms.make)(title, scope_of(request).get("teacher") or None)
    seats.forget()
    return answer(await grid_view(room), 201)


async def grid_view(room: Classroom) -> dict[str, Any]:
    version = changes.version(room.code)  # before it is asked for: what happens meanwhile is news
    return await sync_to_async(grid_of)(room, version)


@router.get("/classes/{code}", response={200: answers.Grid, **REFUSALS}, summary="A class as a grid")
async def grid(request: HttpRequest, code: answers.Code, since: answers.Since = 0, wait: Wait = 0) -> HttpResponse:
    """Students by exercises: state, points, tries, time, the last try. `wait`: answer when the class has another
    `version` than `since`, after so many seconds at the latest."""
    room = await room_of(code)
    await changes.after(code, since, wait)
    return answer(await grid_view(await room_of(room.code)))


@router.post("/classes/{code}", response={200: answers.Grid, **REFUSALS}, summary="Change a class")
async def change(request: HttpRequest, code: answers.Code, given: answers.ClassChange) -> HttpResponse:
    """Its title; whether somebody can join it (`open`). What is left out stays."""
    room = await room_of(code)
    room.title = rooms.named(given.title or "") or room.title
    room.is_open = room.is_open if given.open is None else given.open
    await room.asave()
    changes.told(code)
    return answer(await grid_view(room))


@router.delete("/classes/{code}", response={204: None, **REFUSALS}, summary="Delete a class and everything about it")
async def delete(request: HttpRequest, code: answers.Code) -> HttpResponse:
    """Its students with their names and sessions, what they have handed in, their labs with all that is on their disks.
    Nothing of it can be brought back; `GET classes/CODE/export` beforehand keeps it."""
    room = await room_of(code)
    found = [seat async for seat in room.seats.all()]
    async for group in room.groups.all():
        while (lab := lab_of(group.owner)) is not None:
            await keeping.end(request, lab)
    await _forget(request, found)
    await sync_to_async(rooms.delete)(room)
    await asyncio.to_thread(about_class.forget, code)
    changes.told(code)
    return HttpResponse(status=204)


async def _forget(request: HttpRequest, found: list[Seat]) -> None:
    """Labs, waiting hand-ins and packs of these students."""
    for seat in found:
        while (lab := lab_of(seat.owner)) is not None:
            await keeping.end(request, lab)
    waiting = HandIn.objects.filter(seat__in=found)
    await judge.give_up([number async for number in waiting.values_list("id", flat=True)])


@router.delete(
    "/classes/{code}/students/{number}", response={204: None, **REFUSALS}, summary="Remove a student"
)
async def remove(request: HttpRequest, code: answers.Code, number: Annotated[int, Field(ge=1)]) -> HttpResponse:
    """With all that is known of him."""
    room = await room_of(code)
    found = [seat async for seat in room.seats.filter(number=number)]
    if not found:
        raise Problem(404, problem("no_student", n=number), "number")
    await _forget(request, found)
    await sync_to_async(rooms.leave)(found)
    changes.told(code)
    return HttpResponse(status=204)


# -- what is handed out ---------------------------------------------------------------------
@router.post("/classes/{code}/tasks", response={200: answers.Grid, **REFUSALS}, summary="Hand out an exercise")
async def hand_out(request: HttpRequest, code: answers.Code, given: answers.HandOut) -> HttpResponse:
    """Without `tries` as many as the exercise says; without `due` there is no deadline. Handed out again it has the new
    tries and the new deadline, and what was handed in stays; its text is the one of the first time."""
    room = await room_of(code)
    found = await asyncio.to_thread(_exercise, given)
    tries = given.tries if given.tries is not None else found.tries
    document = {**found.document, "exercise": found.name}
    await Task.objects.aupdate_or_create(
        classroom=room, name=found.name, defaults={"tries": tries, "due": given.due},
        create_defaults={"tries": tries, "due": given.due, "document": document},
    )  # fmt: skip
    changes.told(code)
    return answer(await grid_view(room))


def _exercise(given: answers.HandOut) -> Exercise:
    if given.exercise is None:
        return exercises.checked(given)
    if given.yaml is not None or given.document is not None:
        raise Problem(422, problem("exactly_one", known=["exercise", "yaml", "document"]), "exercise")
    return exercises.shipped(given.exercise)


@router.delete(
    "/classes/{code}/tasks/{exercise}", response={204: None, **REFUSALS}, summary="Take an exercise back"
)
async def take_back(request: HttpRequest, code: answers.Code, exercise: str) -> HttpResponse:
    """With all that was handed in for it."""
    room = await room_of(code)
    task = await room.tasks.filter(name=exercise).afirst() if exercise.isprintable() else None
    if task is None:
        raise Problem(404, problem("not_handed_out", name=exercise), "exercise")
    handed = HandIn.objects.filter(task=task)
    await judge.give_up([number async for number in handed.values_list("id", flat=True)])
    await task.adelete()
    changes.told(code)
    return HttpResponse(status=204)


# -- what is handed in ----------------------------------------------------------------------
async def hand_in_of(code: str, number: str) -> HandIn:
    """A hand-in of a class; 404."""
    found = HandIn.objects.select_related("task", "seat").filter(id=number, seat__classroom_id=code)
    one = await found.afirst() if f"{code}{number}".isprintable() else None  # PostgreSQL takes no NUL
    if one is None:
        raise Problem(404, problem("no_hand_in", name=number), "number")
    return one


def whole(one: HandIn) -> dict[str, Any]:
    """A hand-in with all that is known of it."""
    view = progress_of(rooms.hand_in_view(one))
    return {**view, "exercise": one.task.name, "attempt": one.attempt, "grade": one.grade}


@router.get(
    "/classes/{code}/hand-ins/{number}", response={200: answers.WholeHandIn, **REFUSALS}, summary="A hand-in"
)
async def hand_in(request: HttpRequest, code: answers.Code, number: str) -> HttpResponse:
    """What was tried, and what came of it under each seed."""
    return answer(whole(await hand_in_of(code, number)))


@router.post(
    "/classes/{code}/hand-ins/{number}/run", response={202: answers_runs.JobView, **REFUSALS, 429: Problems},
    summary="Run a hand-in once more, to look at it",
)
async def run(request: HttpRequest, code: answers.Code, number: str) -> HttpResponse:
    """As a job; the run of the first seed that it missed, else of its first one, stays among the runs of the server's
    own lab and can be opened there: the one that `moment` is of. It is the run that was judged: the same attempt gives
    the same bytes."""
    one = await hand_in_of(code, number)
    if not one.attempt:
        raise Problem(409, problem("nothing_to_run"), "number")
    asked_for = {"do": "attempt", "document": one.task.document, "name": one.task.name, "attempt": one.attempt,
                 "hints": one.hints, "seed": rooms.hand_in_view(one)["seed"]}  # fmt: skip
    job = await jobs.start(asked_for, runs_directory(), name=one.task.name)
    response = answer(job.view(), 202)
    response["Location"] = f"/api/jobs/{job.id}"
    return response


# -- taken away -----------------------------------------------------------------------------
@router.get(
    "/classes/{code}/export", response={200: answers.Everything, **REFUSALS}, summary="Everything about a class",
    by_alias=True,
)
async def export(request: HttpRequest, code: answers.Code) -> HttpResponse:
    """The grid, each hand-in with its attempt and its grade, the exercises as they were handed out, what was answered,
    groups, and what labs were built from. A lab's runs are packed from its own page (`GET runs/RUN/pack`)."""
    response = answer(await sync_to_async(rooms.everything)(await room_of(code)))
    response["Content-Disposition"] = f'attachment; filename="class-{code}.json"'
    return response


@router.get("/classes/{code}/grades.csv", response={200: schemas.Thing, **REFUSALS}, summary="The grades of a class")
async def grades(request: HttpRequest, code: answers.Code) -> HttpResponse:
    """One line for each student and exercise, as CSV (UTF-8 with a byte order mark, which spreadsheets want)."""
    text = await sync_to_async(rooms.grades)(await room_of(code))
    response = HttpResponse("\ufeff" + text, content_type=CSV)
    response["Content-Disposition"] = f'attachment; filename="grades-{code}.csv"'
    return response
