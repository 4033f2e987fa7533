"""Groups of a class over REST: students who share a lab, put together by their teacher."""

from __future__ import annotations

from typing import Annotated

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from broker_core.kernel.problems import problem
from web.api import answers_classes as answers
from web.api import keeping
from web.api.asking import answer
from web.api.classes import REFUSALS, grid_view, lab_of, room_of
from web.api.problems import Problem
from web.people import groups

router = Router(tags=["classes"])
Number = Annotated[int, Field(ge=1, le=10_000)]


@router.post("/classes/{code}/groups", response={200: answers.Grid, **REFUSALS}, summary="Make groups")
async def make(request: HttpRequest, code: answers.Code, given: answers.NewGroups) -> HttpResponse:
    """One of the `students` with these numbers; or with `size` of all who are in none, so many in each. Who was in
    another group leaves it. A group shares a lab, which one of its students begins."""
    room = await room_of(code)
    if (given.students is None) == (given.size is None):
        raise Problem(422, problem("exactly_one", known=["students", "size"]), "students")
    try:
        if given.size is not None:
            await sync_to_async(groups.split)(room, given.size)
        else:
            await sync_to_async(groups.make)(room, given.students or [])
    except groups.NoGroup as error:
        raise Problem(404, error.problem, error.where or None) from None
    return answer(await grid_view(room))


@router.post("/classes/{code}/groups/{group}", response={200: answers.Grid, **REFUSALS}, summary="Change a group")
async def put(request: HttpRequest, code: answers.Code, group: Number, given: answers.GroupOf) -> HttpResponse:
    """These students and no others are in it from now on."""
    room = await room_of(code)
    try:
        await sync_to_async(groups.put)(room, group, given.students)
    except groups.NoGroup as error:
        raise Problem(404, error.problem, error.where or None) from None
    return answer(await grid_view(room))


@router.delete("/classes/{code}/groups/{group}", response={204: None, **REFUSALS}, summary="Dissolve a group")
async def dissolve(request: HttpRequest, code: answers.Code, group: Number) -> HttpResponse:
    """Its lab ends with all that is on its disks; its students are in no group."""
    room = await room_of(code)
    try:
        found = await sync_to_async(groups.one_of)(room, group)
        while (lab := lab_of(found.owner)) is not None:
            await keeping.end(request, lab)
        await sync_to_async(groups.dissolve)(room, group)
    except groups.NoGroup as error:
        raise Problem(404, error.problem, error.where or None) from None
    return HttpResponse(status=204)
