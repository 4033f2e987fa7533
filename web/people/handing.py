"""A hand-in is taken, or refused with its reason: what cannot be one, too late, one too many.

Asks the database in a thread, like `classes`. Tries are counted under a lock of the student's row, and their numbers
are unique: two that come at once do not both become the last one.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import problem
from lab.exercises import reading
from lab.exercises.reading import Exercise
from web.people.changes import changes
from web.people.models import FAILED, WAITING, HandIn, Seat, Task, Work


class NotTaken(Refusal):
    """Why a hand-in is not taken."""


def exercise_of(task: Task) -> Exercise:
    """The exercise as it was handed out."""
    return reading.from_dict(task.document, task.name)


def task_of(seat: Seat, name: str) -> Task:
    """What was handed out to a student under this name. Raises NotTaken."""
    found = Task.objects.filter(classroom=seat.classroom, name=name).first() if name.isprintable() else None
    if found is None:
        raise NotTaken(problem("not_handed_out", name=name), "exercise")
    return found


def look_at(seat: Seat, name: str) -> Work | None:
    """Remember when a student has opened an exercise for the first time; None when it was not handed out to him."""
    task = Task.objects.filter(classroom=seat.classroom, name=name).first()
    if task is None:
        return None
    work, is_new = Work.objects.get_or_create(seat=seat, task=task)
    if is_new:
        changes.told(seat.classroom_id)
    return work


@dataclass(slots=True)
class Given:
    """An exercise as a student meets it: handed out to him, or not."""

    task: Task | None
    exercise: Exercise | None = None
    hints: list[dict[str, str]] = field(default_factory=list)
    used: int = 0

    @property
    def left(self) -> int | None:
        """Tries that are left; None when there are as many as somebody wants."""
        return None if self.task is None or self.task.tries is None else max(0, self.task.tries - self.used)

    @property
    def is_over(self) -> bool:
        return self.task is not None and self.task.due is not None and timezone.now() > self.task.due


def given_to(owner: str, name: str) -> Given | None:
    """What the student of CLASS/NUMBER sees of an exercise, who has opened it by that; None for nobody's."""
    code, _, number = owner.partition("/")
    seat = Seat.objects.filter(classroom_id=code, number=int(number)).first() if number.isdigit() else None
    if seat is None:
        return None
    work = look_at(seat, name)
    if work is None:
        return Given(None)
    exercise = exercise_of(work.task)
    used = HandIn.objects.filter(seat=seat, task=work.task).exclude(state=FAILED).count()
    return Given(work.task, exercise, [one.text for one in exercise.hints[: work.hints]], used)


def take_hint(seat: Seat, name: str) -> tuple[Work, Exercise]:
    """One more hint, whose price is off from now on. Raises NotTaken when there is none."""
    task = task_of(seat, name)
    exercise = exercise_of(task)
    with transaction.atomic():
        Work.objects.get_or_create(seat=seat, task=task)
        work = Work.objects.select_for_update().get(seat=seat, task=task)
        if work.hints >= len(exercise.hints):
            raise NotTaken(problem("no_more_hints", n=len(exercise.hints)), "exercise")
        work.hints += 1
        work.save()
    return work, exercise


def take(seat: Seat, name: str, attempt: dict[str, Any] | None) -> HandIn:
    """A hand-in that waits to be judged; without an attempt it is a packed run. Raises NotTaken, SpecError."""
    task = task_of(seat, name)
    if attempt is not None:
        exercise = exercise_of(task)
        exercise.scenario(attempt, exercise.seeds[0])
    with transaction.atomic():
        Seat.objects.select_for_update().get(pk=seat.pk)
        before = list(HandIn.objects.filter(seat=seat, task=task))
        if task.due is not None and timezone.now() > task.due:
            raise NotTaken(problem("deadline_over", due=task.due.isoformat(timespec="minutes")), "exercise")
        if any(one.state in WAITING for one in before):
            raise NotTaken(problem("one_at_a_time"), "exercise")
        if task.tries is not None and sum(one.state != FAILED for one in before) >= task.tries:
            raise NotTaken(problem("no_more_tries", most=task.tries), "exercise")
        work, _ = Work.objects.get_or_create(seat=seat, task=task)
        return HandIn.objects.create(
            id=secrets.token_hex(8), seat=seat, task=task, number=max((one.number for one in before), default=0) + 1,
            attempt=attempt or {}, packed=attempt is None, hints=work.hints,
        )  # fmt: skip
