"""What a student has made of the lessons, kept with his seat: in another browser it is there, too.

    right > near > wrong > seen (there was nothing to predict)         the best one stays

What is here asks the database and nothing else, in a thread (`asgiref`'s `sync_to_async` at the callers).
"""

from __future__ import annotations

from django.db import transaction

from web.people.models import LessonResult, Seat

GRADES = ("right", "near", "wrong", "seen")
"""The best first."""


def results_of(seat: Seat) -> dict[str, str]:
    """Lesson -> grade."""
    return dict(seat.lessons.values_list("name", "grade"))


def take(seat: Seat, name: str, grade: str) -> dict[str, str]:
    """A lesson was seen to its end; a worse result than before changes nothing. All results."""
    with transaction.atomic():
        found, is_new = LessonResult.objects.get_or_create(seat=seat, name=name, defaults={"grade": grade})
        if not is_new and GRADES.index(grade) < GRADES.index(found.grade):
            found.grade = grade
            found.save()
    return results_of(seat)


def forget(seat: Seat) -> None:
    """He begins again."""
    seat.lessons.all().delete()
