"""Who sits behind a cookie: a session of Django's, whose user has a seat in a class.

The guard asks for each request that brings such a cookie, so what the database says is remembered for a few seconds;
who leaves, is removed, or whose class is deleted is forgotten at once (in this process, which is the only one that has
people: those that serve viewers only know tokens).

The cookie's name is one for each data directory (`web.settings`): two labs on one machine have classes of their own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from django.conf import settings
from django.contrib.auth import aget_user, alogin
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core import signing
from django.db import transaction
from django.http import HttpRequest, HttpResponse

from web.people.models import Classroom, Seat

REMEMBERED_S = 5.0
MOST = 2000
WAY_BACK = "way back into a class"



@dataclass(slots=True, frozen=True)
class Known:
    """Whose session it is. `student`: CLASS/NUMBER; `group`: CLASS/gNUMBER of the group in which he is; `teacher`: the
    number of a teacher's account, with the codes of his classes."""

    student: str = ""
    group: str = ""
    teacher: int = 0
    classes: frozenset[str] = frozenset()


NOBODY = Known()
_remembered: dict[str, tuple[float, Known]] = {}


async def known_by(cookies: str) -> Known:
    """Whose session a Cookie header names."""
    try:
        found = SimpleCookie(cookies).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return NOBODY
    if found is None or not found.value or not settings.HOSTS_LAB:
        return NOBODY
    known = _remembered.get(found.value)
    if known is not None and time.monotonic() - known[0] < REMEMBERED_S:
        return known[1]
    into = _remembered  # not what is remembered by then: it may have been forgotten while this was asked
    who = await _asked(found.value)
    if len(into) >= MOST:
        into.clear()
    into[found.value] = time.monotonic(), who
    return who


async def _asked(key: str) -> Known:
    request = HttpRequest()
    request.session = SessionStore(key)
    user = await aget_user(request)
    if not user.is_authenticated:
        return NOBODY
    if getattr(user, "is_staff", False):
        rooms = Classroom.objects.filter(teacher_id=user.pk).values_list("code", flat=True)
        return Known(teacher=user.pk or 0, classes=frozenset([code async for code in rooms]))
    seat = await Seat.objects.select_related("group").filter(user_id=user.pk).afirst()
    if seat is None:
        return NOBODY
    return Known(seat.owner, seat.group.owner if seat.group is not None else "")


def forget() -> None:
    """What was remembered may not hold any more."""
    global _remembered
    _remembered = {}


async def seat_of(owner: str) -> Seat | None:
    """The seat of CLASS/NUMBER, with its class."""
    code, _, number = owner.partition("/")
    if not number.isdigit():
        return None
    found = Seat.objects.select_related("classroom", "user", "group")
    return await found.filter(classroom_id=code, number=int(number)).afirst()


# -- coming and going -----------------------------------------------------------------------
async def sit_down(request: HttpRequest, user: User, response: HttpResponse) -> None:
    """A new session of this student's or teacher's, in a cookie that no script can read."""
    request.session = SessionStore()
    await alogin(request, user, settings.AUTHENTICATION_BACKENDS[0])
    await request.session.asave()
    response.set_cookie(
        settings.SESSION_COOKIE_NAME, request.session.session_key or "", max_age=settings.SESSION_COOKIE_AGE,
        httponly=True, samesite="Lax", secure=request.is_secure(),
    )  # fmt: skip


async def stand_up(request: HttpRequest, response: HttpResponse) -> None:
    """The session of this browser ends."""
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    if key:
        await Session.objects.filter(session_key=key).adelete()
    forget()
    response.delete_cookie(settings.SESSION_COOKIE_NAME, samesite="Lax")


def way_back(seat: Seat) -> str:
    """What a link carries that brings this student back from another browser; nobody else can make it."""
    return signing.dumps(seat.user_id, salt=WAY_BACK, compress=False)


async def coming_back(text: str) -> Seat | None:
    """The student whose link it is."""
    try:
        user = signing.loads(text, salt=WAY_BACK)
    except signing.BadSignature:
        return None
    return await Seat.objects.select_related("classroom", "user").filter(user_id=user).afirst()


def end_sessions(users: set[int]) -> None:
    """All sessions of these users, from whichever browser."""
    names = {str(user) for user in users}
    for session in Session.objects.all().iterator():
        if session.get_decoded().get("_auth_user_id") in names:
            session.delete()
    transaction.on_commit(forget)
