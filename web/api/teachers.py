"""Accounts of teachers over REST: for whoever may do everything (`web.rights`), not for teachers themselves."""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Router

from web.api import answers_classes as answers
from web.api.asking import answer
from web.api.classes import REFUSALS
from web.api.problems import Problem
from web.people import classes as rooms
from web.people import teachers

router = Router(tags=["classes"])


@router.get("/teachers", response={200: answers.Teachers, **REFUSALS}, summary="Teachers with an account")
async def listed(request: HttpRequest) -> HttpResponse:
    """By name, with how many classes each has. Passwords are told when they are made, and never again."""
    found = await sync_to_async(teachers.all_of_them)()
    return answer({"items": found, "total": len(found)})


@router.post("/teachers", response={201: answers.MadeTeacher, **REFUSALS}, summary="Make a teacher's account")
async def make(request: HttpRequest, given: answers.NewTeacher) -> HttpResponse:
    """The teacher comes in at `door` with the name and the password, which is drawn when none is given. Of an account
    that is there it becomes the password, and sessions with the old one end."""
    try:
        password = await sync_to_async(teachers.make)(given.name, given.password or "")
    except teachers.NoTeacher as error:
        raise Problem(422, error.problem, error.where or None) from None
    return answer({"name": rooms.named(given.name), "password": password, "door": "/teach/"}, 201)


@router.delete("/teachers/{name}", response={204: None, **REFUSALS}, summary="Remove a teacher's account")
async def remove(request: HttpRequest, name: str) -> HttpResponse:
    """Its sessions end. Its classes stay, and are of whoever may do everything."""
    try:
        await sync_to_async(teachers.remove)(name)
    except teachers.NoTeacher as error:
        raise Problem(404, error.problem, error.where or None) from None
    return HttpResponse(status=204)
