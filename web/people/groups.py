"""Groups of a class: students who share a lab, which is theirs as a lab of his own is a student's.

A student is in one group at most, and chooses none himself. Who leaves a group reaches its lab no more.
"""

from __future__ import annotations

from functools import partial

from django.db import transaction

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import problem
from web.people import seats
from web.people.changes import changes
from web.people.models import Classroom, Group, Seat


class NoGroup(Refusal):
    """Why there is no such group, or no such student in the class."""


def make(room: Classroom, numbers: list[int]) -> Group:
    """A new group of these students, who leave those in which they were. Raises NoGroup."""
    with transaction.atomic():
        Classroom.objects.select_for_update().get(pk=room.pk)
        last = room.groups.order_by("-number").first()
        made = Group.objects.create(classroom=room, number=last.number + 1 if last is not None else 1)
        _put(room, made, numbers)
    _told(room)
    return made


def put(room: Classroom, number: int, numbers: list[int]) -> Group:
    """These students and no others are in a group from now on. Raises NoGroup."""
    with transaction.atomic():
        found = one_of(room, number)
        found.seats.update(group=None)
        _put(room, found, numbers)
    _told(room)
    return found


def split(room: Classroom, size: int) -> None:
    """Everybody who is in no group, in groups of so many, in the order in which they have joined; the last group may be
    smaller."""
    with transaction.atomic():
        Classroom.objects.select_for_update().get(pk=room.pk)
        alone = list(room.seats.filter(group=None).values_list("number", flat=True))
        for first in range(0, len(alone), size):
            make(room, alone[first : first + size])


def one_of(room: Classroom, number: int) -> Group:
    """Raises NoGroup."""
    found = room.groups.filter(number=number).first()
    if found is None:
        raise NoGroup(problem("no_group_of_class", n=number), "group")
    return found


def dissolve(room: Classroom, number: int) -> None:
    """Its students are in none; its lab is the caller's. Raises NoGroup."""
    one_of(room, number).delete()
    _told(room)


def _put(room: Classroom, group: Group, numbers: list[int]) -> None:
    found = Seat.objects.filter(classroom=room, number__in=numbers)
    missing = set(numbers) - set(found.values_list("number", flat=True))
    if missing:
        raise NoGroup(problem("no_student", n=min(missing)), "students")
    found.update(group=group)


def _told(room: Classroom) -> None:
    """Once it is so: whoever looked before that would see the old state and take it for the new one."""
    transaction.on_commit(partial(_tell, room.code))


def _tell(code: str) -> None:
    seats.forget()
    changes.told(code)
