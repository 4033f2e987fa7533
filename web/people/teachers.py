"""Teachers with an account: a name and a password, made by whoever may do everything.

    /teachers/, POST /api/teachers  a password is drawn, and told once
    /teach/                         a name and a password -> a session, as students have one

A teacher is a user of Django's with `is_staff`; his classes are those that he has made. What he may stands in
`web.rights`. Passwords are kept as Django keeps them: salted and hashed, never as they are.
"""

from __future__ import annotations

import secrets
from typing import Any

from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import problem
from web.people import seats
from web.people.classes import LONGEST_NAME, named

PASSWORD_BYTES = 12
SHORTEST = 8
PREFIX = "teacher:"
"""In front of the names of users, of whom students are some, too."""


class NoTeacher(Refusal):
    """Why there is no such account, or none can be made."""


def all_of_them() -> list[dict[str, Any]]:
    """Names, and how many classes each has."""
    found = User.objects.filter(is_staff=True).order_by("username")
    return [{"name": shown(one), "classes": one.classes.count(), "made": one.date_joined.isoformat()} for one in found]


def shown(user: User) -> str:
    """The name as its teacher writes it."""
    return user.username.removeprefix(PREFIX)


def make(name: str, password: str = "") -> str:
    """A new account, or another password of one that is there; the password, which is drawn when none is given.
    Sessions with the old one end. Raises NoTeacher."""
    name = named(name)
    if not name or len(name) > LONGEST_NAME:
        raise NoTeacher(problem("name_of_letters", most=LONGEST_NAME), "name")
    if password and len(password) < SHORTEST:
        raise NoTeacher(problem("password_short", least=SHORTEST), "password")
    password = password or secrets.token_urlsafe(PASSWORD_BYTES)
    try:
        with transaction.atomic():
            user, _ = User.objects.get_or_create(username=PREFIX + name, defaults={"is_staff": True})
            user.set_password(password)
            user.save()
    except IntegrityError:  # two who make the same one at once
        raise NoTeacher(problem("name_taken", name=name), "name") from None
    seats.end_sessions({user.pk})
    return password


def remove(name: str) -> None:
    """The account is gone; its classes stay, and are of whoever may do everything. Raises NoTeacher."""
    user = User.objects.filter(username=PREFIX + name, is_staff=True).first() if name.isprintable() else None
    if user is None:
        raise NoTeacher(problem("no_teacher", name=name), "name")
    seats.end_sessions({user.pk})
    user.delete()


def entered(name: str, password: str) -> User | None:
    """The teacher of this name and password."""
    user = authenticate(username=PREFIX + named(name), password=password)
    return user if isinstance(user, User) and user.is_staff else None
