"""Classes as a teacher has them: all of them, the grid of one, a hand-in, and the door that a projector shows.

A page that changes as it is looked at is asked for again with `?since=VERSION&wait=25`: it answers when the class has
another version, and the script (`static/people/live.js`) puts the new part in the place of the old one. So what is
shown is written once, here, in both languages.
"""

from __future__ import annotations

import io
from typing import Any

import segno
import yaml
from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET

from broker_core.kernel.problems import told
from lab.exercises import reading
from web.api.classes import grid_of, hand_in_of, room_of, rooms_of, whole
from web.api.exercises import shipped
from web.api.problems import Problem
from web.language import language_of
from web.messages import said, words_of
from web.people import doors
from web.people.changes import changes
from web.people.models import WAITING, Classroom
from web.rights import scope_of

PART = "people"
WAIT_S = 25.0
GLYPHS = {
    "none": "·", "opened": "○", "queued": "…", "running": "▷", "passed": "✓", "missed": "✗", "refused": "✗",
    "forged": "⚠", "failed": "!",
}  # fmt: skip


DUBIOUS = ("forged", "refused", "failed")  # told of the last try, however well an earlier one went


def page(request: HttpRequest, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """In the reader's language; never kept by a browser, since it is about people."""
    language = language_of(request)
    common = {"language": language, "words": words_of(PART, language)}
    response = render(request, template, {**common, **context}, status=status)
    response["Cache-Control"] = "no-store"
    return response


async def waited(request: HttpRequest, code: str) -> int:
    """The version of a class, or of whatever has one under a key, once it is another than the page knows; at once for a
    page that knows none."""
    since, wait = request.GET.get("since", ""), request.GET.get("wait", "")
    if since.isdigit() and wait.isdigit():
        await changes.after(code, int(since[:18]), min(float(wait[:3]), WAIT_S))
    return changes.version(code)


async def room_or_404(code: str) -> Classroom:
    """The class, for a page."""
    try:
        return await room_of(code)
    except Problem:
        raise Http404 from None


def shown_cell(cell: dict[str, Any], language: str, words: dict[str, str]) -> dict[str, Any]:
    """A cell with what a reader sees of it: sign, word, minutes, what was missed."""
    last, took = cell["last"], cell["took_s"]
    missed = [*last["why"], *([last["error"]["problem"]] if last["error"] else [])] if last else []
    why = [told(one, language) for one in missed]
    return {
        **cell, "glyph": GLYPHS[cell["state"]], "word": words[f"state.{cell['state']}"], "why": why,
        "tries_text": tries_text(cell, words), "minutes": None if took is None else max(1, round(took / 60)),
        "when": parse_datetime(last["created"]) if last else None,
        "moment_s": seconds(last["moment"]) if last else "",
        "last_word": words[f"state.{last['state']}"] if last else "",
        "dubious": GLYPHS[last["state"]] if last and last["state"] in DUBIOUS else "",
        "busy": bool(last) and last["state"] in WAITING, "percent": round(100 * last["progress"]) if last else 0,
    }  # fmt: skip


def tries_text(cell: dict[str, Any], words: dict[str, str]) -> str:
    """How many tries, of how many where they are counted."""
    if cell.get("most_tries"):
        return said(words, "tries.of", most=cell["most_tries"], n=cell["tries"])
    return said(words, "tries", n=cell["tries"])


def seconds(moment: dict[str, int] | None) -> str:
    """When it is in its run; nothing where there is none."""
    return f"{moment['t_us'] / 1e6:.3f}" if moment else ""


def shown_task(task: dict[str, Any], language: str) -> dict[str, Any]:
    """With its title in one language, and its deadline as a moment."""
    due = parse_datetime(task["due"]) if task["due"] else None
    return {**task, "title": task["title"][language], "due": due, "over": due is not None and due < timezone.now()}


@require_GET
@ensure_csrf_cookie
async def all_of_them(request: HttpRequest) -> HttpResponse:
    """The list, and a form for a new one."""
    rows = [
        {"code": room.code, "title": room.title, "open": room.is_open, "students": await room.seats.acount(),
         "tasks": await room.tasks.acount()}
        async for room in rooms_of(request)
    ]  # fmt: skip
    has_account = bool(scope_of(request).get("teacher"))
    return page(request, "classes.html", {"rows": rows, "has_account": has_account})


@require_GET
@ensure_csrf_cookie
async def one(request: HttpRequest, code: str) -> HttpResponse:
    """The grid."""
    room = await room_or_404(code)
    version = await waited(request, code)
    found = await sync_to_async(grid_of)(await room_or_404(code), version)
    language = language_of(request)
    words = words_of(PART, language)
    tasks = [shown_task(task, language) for task in found["tasks"]]
    students = [
        {**student, "cells": [shown_cell(student["cells"][task["name"]], language, words) for task in tasks]}
        for student in found["students"]
    ]  # fmt: skip
    passed = [sum(student["cells"][n]["state"] == "passed" for student in students) for n, _ in enumerate(tasks)]
    names = {student["number"]: student["name"] for student in found["students"]}
    groups = [{**one, "names": [names[number] for number in one["students"]]} for one in found["groups"]]
    context = {"groups": groups, "grid": found, "room": room, "tasks": tasks, "students": students, "passed": passed}
    context["choices"] = await sync_to_async(_choices)({task["name"] for task in tasks}, language)
    return page(request, "class.html", context)


def _choices(given: set[str], language: str) -> list[dict[str, Any]]:
    """Exercises that come with the lab, by title."""
    found = [{"name": name, "title": shipped(name).title[language], "given": name in given} for name in reading.names()]
    return sorted(found, key=lambda choice: str(choice["title"]))


@require_GET
@ensure_csrf_cookie
async def hand_in(request: HttpRequest, code: str, number: str) -> HttpResponse:
    """What was tried, what came of it, and a button that runs it once more to be looked at."""
    try:
        found = await hand_in_of(code, number)
    except Problem:
        raise Http404 from None
    language = language_of(request)
    view, grade = whole(found), found.grade or {}
    seeds = [{**seed, "unmet": [told(one, language) for one in seed["unmet"]]} for seed in grade.get("seeds", ())]
    context = {
        "code": code, "view": view, "student": found.seat, "title": found.task.document["title"][language],
        "moment_s": seconds(view["moment"]), "glyph": GLYPHS[found.state],
        "word": words_of(PART, language)[f"state.{found.state}"],
        "attempt": yaml.safe_dump(found.attempt, allow_unicode=True, sort_keys=False) if found.attempt else "",
        "seeds": seeds, "refused": [told(one, language) for one in grade.get("refused", ())],
        "error": told(found.error["problem"], language) if found.error else "", "when": found.created,
    }  # fmt: skip
    return page(request, "hand_in.html", context)


@require_GET
@ensure_csrf_cookie
async def door(request: HttpRequest, code: str) -> HttpResponse:
    """For the projector: code, address, QR code, and who is there already."""
    room = await room_or_404(code)
    version = await waited(request, code)
    names = [seat.name async for seat in room.seats.all()]
    context = {"room": room, "names": names, "version": version, "address": f"{doors.origin(request)}/join/",
               "written": f"{code[:4]}-{code[4:]}", "only_here": doors.only_here()}  # fmt: skip
    return page(request, "class_door.html", context)


@require_GET
async def door_picture(request: HttpRequest, code: str) -> HttpResponse:
    """The QR code: black on white, whatever the page's colours are, so that every phone reads it."""
    await room_or_404(code)
    text = io.BytesIO()
    segno.make(f"{doors.origin(request)}/join/{code}/", error="m", micro=False).save(
        text, kind="svg", scale=8, border=4, dark="#000", light="#fff", omitsize=True
    )
    return HttpResponse(text.getvalue(), content_type="image/svg+xml")
