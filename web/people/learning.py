"""What a student has made of lessons and questions, kept with his seat: in another browser it is there, too.

    right > near > wrong > seen (there was nothing to predict)         the best one stays, and which was the first

What is here asks the database and nothing else, in a thread (`asgiref`'s `sync_to_async` at the callers).
"""

from __future__ import annotations

from django.db import transaction

from web.people.models import LessonResult, QuestionResult, Seat

GRADES = ("right", "near", "wrong", "seen")
"""The best first."""


def results_of(seat: Seat) -> dict[str, str]:
    """Lesson -> grade."""
    return dict(seat.lessons.values_list("name", "grade"))


def take(seat: Seat, name: str, grade: str) -> dict[str, str]:
    """A lesson was seen to its end; a worse result than before changes nothing. All results."""
    with transaction.atomic():
        begun = {"grade": grade, "first": grade}
        found, is_new = LessonResult.objects.get_or_create(seat=seat, name=name, defaults=begun)
        if not is_new:
            found.first = grade if found.first == "seen" else found.first
            found.grade = min(found.grade, grade, key=GRADES.index)
            found.save()
    return results_of(seat)


def answered(seat: Seat, name: str, grade: str) -> None:
    """A question was answered once more."""
    with transaction.atomic():
        Seat.objects.select_for_update().get(pk=seat.pk)
        found = QuestionResult.objects.filter(seat=seat, name=name).first()
        if found is None:
            QuestionResult.objects.create(seat=seat, name=name, first=grade, grade=grade)
            return
        found.tries += 1
        found.grade = min(found.grade, grade, key=GRADES.index)
        found.save()


def questions_of(seat: Seat) -> dict[str, dict[str, str | int]]:
    """Question -> its best and its first grade, and how often it was answered."""
    return {one.name: {"grade": one.grade, "first": one.first, "tries": one.tries} for one in seat.questions.all()}


def right_ones(owner: str) -> set[str]:
    """Questions that the student of CLASS/NUMBER has answered rightly."""
    code, _, number = owner.partition("/")
    if not number.isdigit():
        return set()
    found = QuestionResult.objects.filter(seat__classroom_id=code, seat__number=int(number), grade="right")
    return set(found.values_list("name", flat=True))


def forget(seat: Seat) -> None:
    """He begins again."""
    seat.lessons.all().delete()
    seat.questions.all().delete()
