"""A class: made by a teacher, joined by a code and a name, looked at as a grid, exported, deleted.

What is here asks the database and nothing else, in a thread (`asgiref`'s `sync_to_async` at the callers).

A code has eight of 31 letters and digits that cannot be taken for each other (no 0 and O, 1 and I and L): about 40
bits, which nobody finds by trying while a class is open.
"""

from __future__ import annotations

import csv
import io
import secrets
import unicodedata
from collections import defaultdict
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import problem
from web.api.models import LabRecord
from web.people import learning, polls, seats
from web.people.models import FAILED, PASSED, Classroom, HandIn, LessonResult, Seat, Task, Work

LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
CODE_LENGTH = 8
MOST_SEATS = 300
LONGEST_NAME = 60
DEFAULT_POINTS = 10
FORMULA = ("=", "+", "-", "@", "\t", "\r")
COLUMNS = ("class", "number", "name", "exercise", "state", "points", "most", "tries", "hints", "opened", "first_passed",
           "took_s", "last",
           "moment_s")  # fmt: skip

Plain = dict[str, Any]


class NotJoined(Refusal):
    """Why somebody gets no seat."""


def make(title: str, teacher: int | None = None) -> Classroom:
    """A new class, open to those who know its code; of a teacher with this account, or of nobody's."""
    while True:
        code = "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))
        if not Classroom.objects.filter(code=code).exists():
            return Classroom.objects.create(code=code, title=title, teacher_id=teacher)


def written(code: str) -> str:
    """As people type it: `abcd-2345` is ABCD2345."""
    return "".join(letter for letter in code.upper() if letter.isalnum())[: CODE_LENGTH + 1]


def named(name: str) -> str:
    """A name as it is kept: one line of letters that can be seen, in one form of Unicode."""
    plain = unicodedata.normalize("NFC", name)
    shown = "".join(letter if unicodedata.category(letter)[0] != "C" else " " for letter in plain)
    return " ".join(shown.split())


def join(code: str, name: str) -> Seat:
    """A seat for somebody new. Raises NotJoined."""
    name = named(name)
    if not name or len(name) > LONGEST_NAME:
        raise NotJoined(problem("name_of_letters", most=LONGEST_NAME), "name")
    with transaction.atomic():
        room = Classroom.objects.select_for_update().filter(code=written(code)).first()
        if room is None:
            raise NotJoined(problem("no_class"), "code")
        if not room.is_open:
            raise NotJoined(problem("class_closed"), "code")
        taken = list(room.seats.values_list("number", "name"))
        if name.casefold() in {other.casefold() for _, other in taken}:
            raise NotJoined(problem("name_taken", name=name), "name")
        if len(taken) >= MOST_SEATS:
            raise NotJoined(problem("class_full", most=MOST_SEATS), "code")
        number = max((one for one, _ in taken), default=0) + 1
        user = User(username=f"{room.code}-{number}-{secrets.token_hex(4)}")
        user.set_unusable_password()
        user.save()
        return Seat.objects.create(user=user, classroom=room, number=number, name=name)


def leave(found: list[Seat]) -> None:
    """These students are forgotten with all that they have done."""
    users = {seat.user_id for seat in found}
    with transaction.atomic():
        User.objects.filter(id__in=users).delete()
        seats.end_sessions(users)


def delete(room: Classroom) -> None:
    """The class and everything about it; labs and files are the caller's."""
    with transaction.atomic():
        leave(list(room.seats.all()))
        room.delete()


# -- the grid -------------------------------------------------------------------------------
def grid(room: Classroom) -> Plain:
    """Students by exercises, as the teacher sees them."""
    tasks, rows = list(room.tasks.all()), list(room.seats.select_related("group"))
    works = {(work.seat_id, work.task_id): work for work in Work.objects.filter(seat__classroom=room)}
    handed: dict[tuple[int, int], list[HandIn]] = defaultdict(list)
    for one in HandIn.objects.filter(seat__classroom=room).order_by("number"):
        handed[one.seat_id, one.task_id].append(one)
    learned: dict[int, dict[str, str]] = defaultdict(dict)
    for lesson in LessonResult.objects.filter(seat__classroom=room):
        learned[lesson.seat_id][lesson.name] = lesson.grade
    students = []
    for seat in rows:
        cells = {task.name: cell(task, works.get((seat.pk, task.pk)), handed[seat.pk, task.pk]) for task in tasks}
        students.append({
            "number": seat.number, "name": seat.name, "joined": seat.joined.isoformat(),
            "points": sum(one["points"] for one in cells.values()), "cells": cells, "lessons": learned[seat.pk],
            "group": seat.group.number if seat.group is not None else None,
        })  # fmt: skip
    return {"class": room.code, "title": room.title, "open": room.is_open, "created": room.created.isoformat(),
            "tasks": [task_view(task) for task in tasks], "students": students}  # fmt: skip


def most_of(task: Task) -> int:
    """Points of whoever takes no hint."""
    found: int = task.document.get("points", DEFAULT_POINTS)
    return found


def task_view(task: Task) -> Plain:
    """An exercise as it was handed out."""
    document = task.document
    return {"name": task.name, "title": document["title"], "most": most_of(task), "most_tries": task.tries,
            "due": task.due.isoformat() if task.due else None, "given": task.given.isoformat()}  # fmt: skip


def cell(task: Task, work: Work | None, handed: list[HandIn]) -> Plain:
    """Where a student stands with an exercise. The best try counts; `state` is `passed` once one has passed, else that
    of the last try."""
    passed = [one for one in handed if one.state == PASSED]
    last, first = (handed[-1] if handed else None), (passed[0] if passed else None)
    state = PASSED if passed else last.state if last is not None else "opened" if work is not None else "none"
    began = work.opened if work is not None else handed[0].created if handed else None
    return {
        "state": state, "points": max((one.points for one in handed), default=0),
        "tries": sum(one.state != FAILED for one in handed), "hints": work.hints if work is not None else 0,
        "opened": began.isoformat() if began else None, "passed": first.created.isoformat() if first else None,
        "took_s": round((first.created - began).total_seconds()) if first and began else None,
        "last": hand_in_view(last) if last is not None else None,
    }  # fmt: skip


def hand_in_view(one: HandIn) -> Plain:
    """A try in short; of one that was judged, what it missed under the first seed that it missed."""
    grade = one.grade or {}
    missed = next((seed for seed in grade.get("seeds", ()) if not seed["passed"]), None)
    why = grade.get("refused") or (missed["unmet"] if missed is not None else [])
    return {
        "id": one.id, "number": one.number, "state": one.state, "progress": one.progress, "points": one.points,
        "packed": one.packed, "hints": one.hints, "created": one.created.isoformat(),
        "ended": one.ended.isoformat() if one.ended else None, "seed": missed["seed"] if missed is not None else None,
        "why": [{"code": each["code"], "params": each["params"]} for each in why], "moment": grade.get("moment"),
        "error": one.error,
    }  # fmt: skip


# -- taken away -----------------------------------------------------------------------------
def everything(room: Classroom) -> Plain:
    """All that is known of a class, as plain data."""
    found = grid(room)
    every = HandIn.objects.filter(seat__classroom=room).select_related("seat", "task")
    for student, seat in zip(found["students"], room.seats.all()):
        student["questions"] = learning.questions_of(seat)
        student["first_lessons"] = {one.name: one.first or one.grade for one in seat.lessons.all()}
    found["hand_ins"] = [
        {**hand_in_view(one), "student": one.seat.number, "exercise": one.task.name, "attempt": one.attempt,
         "grade": one.grade}
        for one in every
    ]  # fmt: skip
    found["exercises"] = {task.name: task.document for task in room.tasks.all()}
    found["polls"] = polls.exported(room)
    found["groups"] = [{"number": one.number, "students": [seat.number for seat in one.seats.all()]}
                       for one in room.groups.prefetch_related("seats")]  # fmt: skip
    begun = LabRecord.objects.filter(owner__startswith=f"{room.code}/")
    found["labs"] = [_lab(one) for one in begun.order_by("created")]
    return found


def _lab(one: LabRecord) -> Plain:
    """A lab of a student or of a group, as it was begun."""
    whose = one.owner.partition("/")[2]
    is_group, digits = whose.startswith("g"), whose.removeprefix("g")
    number = int(digits) if digits.isdigit() else None  # whoever may do everything names owners as he likes
    return {"name": one.name, "student": None if is_group else number, "group": number if is_group else None,
            "cluster": one.cluster, "seed": one.seed, "limits": one.limits,
            "created": one.created.isoformat()}  # fmt: skip


def grades(room: Classroom) -> str:
    """One line for each student and exercise, as CSV. A name that a spreadsheet would take for a formula is text."""
    found = grid(room)
    text = io.StringIO()
    lines = csv.writer(text)
    lines.writerow(COLUMNS)
    for student in found["students"]:
        for task in found["tasks"]:
            one = student["cells"][task["name"]]
            last = one["last"] or {}
            lines.writerow([_text(value) for value in (
                room.code, student["number"], student["name"], task["name"], one["state"], one["points"],
                task["most"], one["tries"], one["hints"], one["opened"], one["passed"], one["took_s"],
                last.get("created"), (last.get("moment") or {}).get("t_us", 0) / 1e6 or None,
            )])  # fmt: skip
    return text.getvalue()


def _text(value: Any) -> Any:
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
