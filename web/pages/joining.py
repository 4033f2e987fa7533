"""The door of a class and the student's own page. The door is open to everybody; it needs no script."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from broker_core.kernel.problems import told
from lab.clusters import eras
from web.api.me import standing
from web.language import language_of
from web.messages import words_of
from web.pages.classes import PART, page, shown_cell, shown_task, waited
from web.people import classes as rooms
from web.people import doors, leading, seats
from web.people.changes import changes
from web.people.judging import judge
from web.people.models import Classroom
from web.rights import scope_of


@require_http_methods(["GET", "POST"])
@ensure_csrf_cookie
async def join(request: HttpRequest, code: str = "") -> HttpResponse:
    """A form with the code (where the address does not say it) and a name; a seat for whoever sends it."""
    if request.method != "POST":
        return await _form(request, code, "", "")
    code, name = request.POST.get("code", code)[:40], request.POST.get("name", "")[:200]
    try:
        seat = await sync_to_async(rooms.join)(code, name)
    except rooms.NotJoined as error:
        return await _form(request, code, name, told(error.problem, language_of(request)))
    response = HttpResponseRedirect(reverse("seat"))
    await seats.sit_down(request, seat.user, response)
    changes.told(seat.classroom_id)
    return response


async def _form(request: HttpRequest, code: str, name: str, wrong: str) -> HttpResponse:
    room = await Classroom.objects.filter(code=rooms.written(code)).afirst() if code else None
    before = await seats.seat_of(scope_of(request).get("student", ""))
    context: dict[str, Any] = {"code": code, "name": name, "wrong": wrong, "room": room, "before": before}
    return page(request, "join.html", context, status=422 if wrong else 200)


@require_GET
async def back(request: HttpRequest, code: str, text: str) -> HttpResponse:
    """Somebody who has joined before, in another browser."""
    seat = await seats.coming_back(text)
    if seat is None or seat.classroom_id != code:
        return HttpResponseRedirect(reverse("join"))
    response = HttpResponseRedirect(reverse("seat"))
    await seats.sit_down(request, seat.user, response)
    return response


@require_POST
async def leave(request: HttpRequest) -> HttpResponse:
    """This browser is nobody's any more; the seat stays, and the way back leads to it."""
    response = HttpResponseRedirect(reverse("join"))
    await seats.stand_up(request, response)
    return response


@require_GET
@ensure_csrf_cookie
async def seat(request: HttpRequest) -> HttpResponse:
    """Where a student stands: what was handed out, points, tries, his lab, the way back."""
    found = await seats.seat_of(scope_of(request).get("student", ""))
    if found is None:
        return HttpResponseRedirect(reverse("join"))
    await judge.awake()
    version = await waited(request, found.classroom_id)
    found = await seats.seat_of(found.owner)
    if found is None:
        return HttpResponseRedirect(reverse("join"))
    language = language_of(request)
    words = words_of(PART, language)
    me = await sync_to_async(standing)(found)
    tasks = [{**shown_cell(one, language, words), **shown_task(one, language)} for one in me["tasks"]]
    address = reverse("back", args=[found.classroom_id, seats.way_back(found)])
    context = {"me": me, "tasks": tasks, "version": version, "back": f"{doors.origin(request)}{address}",
               "most": sum(one["most"] for one in tasks), "eras": eras.NAMES,
               "leads": leading.look_of(found.classroom_id) is not None}  # fmt: skip
    return page(request, "seat.html", context)
