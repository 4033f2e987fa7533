"""Who may ask for what: the one place that pages, REST and sockets are checked by (`web.guard` asks before each).

| level | who | may |
|---|---|---|
| `act` | whoever is on this machine or brings the token (`web.access`): the teacher | everything |
| `learn` | a student, by the session that joining a class has left | look, hand in, everything in his own lab |
| `look` | whoever brings the class's token | look at what belongs to nobody |
| none | anybody else | join a class whose code he knows |

What is asked for is told from method and address alone, and nothing has to be listed for it to be closed: a new address
is closed to students and lookers when it changes something (`CHANGES_NO_LAB` are those that do not), when it lies below
what is the teacher's (`TEACHERS`), or when it is about a lab that belongs to somebody else.

| address | act | learn | look | none |
|---|---|---|---|---|
| below `/join/`: the door of a class | yes | yes | yes | yes |
| below `/classes/`, `/api/classes`, `/keys/`: classes as a teacher has them, answers | yes | no | no | no |
| below `/class/`, `/api/me`: oneself | yes | yes | GET | no |
| about a lab that belongs to a student | yes | his own | no | no |
| anything else, GET | yes | yes | yes | no |
| anything else | yes | no | no | no |

A hint has its price: only `POST /api/me/hints` tells students one, so that it is counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qs

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest

from broker_core.kernel.problems import Problem, problem
from web import access
from web.access import ACT, LEARN, LOOK, Headers, Scope
from web.addresses import labs_named
from web.live.labs import labs
from web.people import seats

DOOR = "/join/"
TEACHERS = ("/classes/", "/api/classes", "/keys/")
STUDENTS = ("/class/", "/api/me")
CHANGES_NO_LAB = ("/language/", "/api/scenarios/validate", "/api/scenarios/link", "/api/scenarios/link/read",
                  "/api/quizzes/answers")
SAFE = ("GET", "HEAD", "OPTIONS")
OF_A_LAB = ("/api/labs/", "/api/runs", "/api/scenarios/")  # what changes a lab; all else is the server's
OF_HINTS = re.compile(r"^/api/exercises/[^/]+/?$")


@dataclass(slots=True, frozen=True)
class Person:
    """Who asks. `student`: CLASS/NUMBER, also of somebody who may do everything and has joined a class to see it."""

    level: str | None
    student: str = ""


async def who(scope: Scope, headers: Headers) -> Person:
    """By token, address and session. Raises what the database says."""
    level = access.level(scope, headers)
    student = await seats.owner_of(headers.get(b"cookie", ""))
    return Person(level if level == ACT or not student else LEARN, student)


def refusal(person: Person, scope: Scope) -> tuple[int, Problem] | None:
    """None, or the status and why. The path is the one behind a lab's own address (`web.addresses`)."""
    path, is_safe = scope["path"], scope["method"] in SAFE
    if path.startswith(DOOR) or person.level == ACT:
        return None
    if person.level is None:
        return 401, problem("token_needed")
    may = in_lab(person, scope)
    if may is None or _is_below(path, TEACHERS):
        return 403, problem("not_yours")
    if _is_below(path, STUDENTS) and person.level == LEARN:
        return None
    if not is_safe and path not in CHANGES_NO_LAB and not (may == ACT and path.startswith(OF_A_LAB)):
        return 403, problem("look_only") if person.level == LOOK else problem("not_yours")
    query = scope.get("query_string", b"").decode("latin-1")
    if OF_HINTS.match(path) and "hints" in parse_qs(query, keep_blank_values=True):
        return 403, problem("hint_has_its_price")
    return None


def in_lab(person: Person, scope: Scope) -> str | None:
    """What somebody may do in the lab that an address is about: ACT, LOOK, or nothing.

    An address may name two, `/labs/mine/api/labs/another/commands`: then what he may in both."""
    if person.level in (ACT, None):
        return person.level
    owners = {labs.owner(name) for name in labs_named(scope)}
    if owners - {"", person.student}:
        return None
    return ACT if person.student and owners == {person.student} else LOOK


def scope_of(request: HttpRequest) -> Scope:
    """What the guard has left with a request: `level`; `student`; `may`, which in his own lab is ACT."""
    return dict(request.scope) if isinstance(request, ASGIRequest) else {}


def may_see(request: HttpRequest, owner: str) -> bool:
    """Whether whoever has sent a request may know of a lab of this owner's."""
    scope = scope_of(request)
    return not owner or scope.get("level", ACT) == ACT or scope.get("student") == owner


def _is_below(path: str, places: tuple[str, ...]) -> bool:
    return any(path.rstrip("/") == place.rstrip("/") or path.startswith(place.rstrip("/") + "/") for place in places)
