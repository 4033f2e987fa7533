"""Who may ask for what: the one place that pages, REST and sockets are checked by (`web.guard` asks before each).

| level | who | may |
|---|---|---|
| `act` | whoever is on this machine or brings the token (`web.access`) | everything |
| `act`, with an account | a teacher, by the session that his password has left | all but others' classes and accounts |
| `learn` | a student, by the session that joining a class has left | look, hand in, all in his or his group's lab |
| `look` | whoever brings the class's token | look at what belongs to nobody |
| none | anybody else | join a class whose code he knows |

What is asked for is told from method and address alone, and nothing has to be listed for it to be closed: a new address
is closed to students and lookers when it changes something (`CHANGES_NO_LAB` are those that do not), when it lies below
what is the teacher's (`TEACHERS`), or when it is about a lab that belongs to somebody else. To a teacher with an
account it is closed when it is about a class that is not his, or about a lab of such a class.

| address | act | learn | look | none |
|---|---|---|---|---|
| below `/join/`, `/teach/`: doors of classes and of teachers | yes | yes | yes | yes |
| below `/teachers/`, `/api/teachers`: teachers' accounts | without one | no | no | no |
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

DOORS = ("/join/", "/teach/")
OPERATORS = ("/teachers/", "/api/teachers")
TEACHERS = (*OPERATORS, "/classes/", "/api/classes", "/keys/")
STUDENTS = ("/class/", "/api/me")
CHANGES_NO_LAB = ("/language/", "/api/scenarios/validate", "/api/scenarios/link", "/api/scenarios/link/read",
                  "/api/quizzes/answers")
PEOPLE = (*TEACHERS, *STUDENTS, "/api/quizzes/answers")  # the server knows of them, and no lab
SAFE = ("GET", "HEAD", "OPTIONS")
OF_A_LAB = ("/api/labs/", "/api/runs", "/api/scenarios/")  # what changes a lab; all else is the server's
OF_A_CLASS = re.compile(r"^/(?:api/)?classes/([^/]+)")
OF_HINTS = re.compile(r"^/api/exercises/[^/]+/?$")


@dataclass(slots=True, frozen=True)
class Person:
    """Who asks. `student`: CLASS/NUMBER, also of somebody who may do everything and has joined a class to see it;
    `group`: CLASS/gNUMBER; `teacher`: the account of one whose rights come from it, `classes`: the codes of his."""

    level: str | None
    student: str = ""
    group: str = ""
    teacher: int = 0
    classes: frozenset[str] = frozenset()


async def who(scope: Scope, headers: Headers) -> Person:
    """By token, address and session. Raises what the database says."""
    level = access.level(scope, headers)
    known = await seats.known_by(headers.get(b"cookie", ""))
    if known.teacher:
        return Person(ACT) if level == ACT else Person(ACT, teacher=known.teacher, classes=known.classes)
    return Person(level if level == ACT or not known.student else LEARN, known.student, known.group)


def refusal(person: Person, scope: Scope) -> tuple[int, Problem] | None:
    """None, or the status and why. The path is the one behind a lab's own address (`web.addresses`)."""
    path, is_safe = scope["path"], scope["method"] in SAFE
    if path.startswith(DOORS):
        return None
    if person.level == ACT:
        return (403, problem("not_yours")) if _is_foreign(person, scope) else None
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
    if person.level is None or (person.level == ACT and not person.teacher):
        return person.level
    owners = {labs.owner(name) for name in labs_named(scope)}
    if person.teacher:
        return ACT if {_class_of(owner) for owner in owners - {""}} <= person.classes else None
    own = {person.student, person.group} - {""}
    if owners - own - {""}:
        return None
    return ACT if owners and owners <= own else LOOK


def _class_of(owner: str) -> str:
    return owner.partition("/")[0]


def _is_foreign(person: Person, scope: Scope) -> bool:
    """Whether an address is about what is not this teacher's; nothing is, of somebody without an account."""
    if not person.teacher:
        return False
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    named = OF_A_CLASS.match(scope["path"])
    codes = {*query.get("class", ()), *([named[1]] if named is not None else ())}
    return _is_below(scope["path"], OPERATORS) or not codes <= person.classes or in_lab(person, scope) is None


def scope_of(request: HttpRequest) -> Scope:
    """What the guard has left with a request: `level`; `student`; `may`, which in his own lab is ACT."""
    return dict(request.scope) if isinstance(request, ASGIRequest) else {}


def may_see(request: HttpRequest, owner: str) -> bool:
    """Whether whoever has sent a request may know of a lab of this owner's."""
    scope = scope_of(request)
    if scope.get("teacher"):
        return not owner or _class_of(owner) in scope["classes"]
    return not owner or scope.get("level", ACT) == ACT or owner in (scope.get("student"), scope.get("group"))


def is_about_people(path: str) -> bool:
    """Whether classes, or the one who asks, are asked about: not a lab."""
    return _is_below(path, PEOPLE)


def _is_below(path: str, places: tuple[str, ...]) -> bool:
    return any(path.rstrip("/") == place.rstrip("/") or path.startswith(place.rstrip("/") + "/") for place in places)
