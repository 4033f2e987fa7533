"""Errors as problem details (RFC 9457): `application/problem+json`.

```
{"type": "/api/problems#invalid", "title": "A value is not valid", "status": 422,
 "detail": "there is no broker 9", "place": "[1].broker",
 "problem": {"code": "no_broker", "params": {"broker": 9}}}
```
`type` stays the same for ever and is what a program looks at; `title` says the same in the language of
Accept-Language, `detail` what it is this time, `place` which part of what was sent (or which parameter) is wrong, and
`problem` is the detail as a code with parameters (`broker_core.kernel.problems`).
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import orjson
from django.db import Error as DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from broker_core.kernel.errors import CommandError, Refusal
from broker_core.kernel.problems import Problem as Refused
from broker_core.kernel.problems import problem, told
from lab.branch import BranchError
from lab.clusters.checks import SpecError
from lab.experiments.directory import DirectoryError
from lab.open_runs import LabError
from lab.scenarios.grammar import ScenarioError
from web.api import invalid
from web.language import language_of
from web.live.hub import NoLab
from web.messages import words_of

MEDIA_TYPE = "application/problem+json"
TYPES = "/api/problems"
MOST_ERRORS = 20
_log = logging.getLogger("brokerlab.api")


class Problem(Refusal):
    """What a request is refused with. `kind`: the end of its type; by status and place when not given."""

    def __init__(
        self, status: int, what: Refused, place: str | None = None, kind: str | None = None, **more: Any
    ) -> None:  # fmt: skip
        super().__init__(what, place)
        self.status = status
        self.kind = kind
        self.more = more


def kind_of(status: int, place: str | None) -> str:
    """`no-such-run` for 404 at `run`, else what the status says."""
    kinds: dict[str, Any] = words_of("problems", "en")["titles"]
    named = f"no-such-{place}"
    if status == 404 and named in kinds:
        return named
    by_status: dict[str, str] = words_of("problems", "en")["by_status"]
    return by_status.get(str(status), "refused")


def body(
    status: int, what: Refused | None, place: str | None = None, language: str = "en", kind: str | None = None,
    **more: Any,
) -> bytes:  # fmt: skip
    """The document: the problem as a sentence of this language (`detail`) and as it is (`problem`)."""
    if what is None:
        return told_body(status, "", place, language, kind, **more)
    return told_body(status, told(what, language), place, language, kind, problem=what, **more)


def told_body(
    status: int, detail: str, place: str | None, language: str, kind: str | None = None, **more: Any
) -> bytes:  # fmt: skip
    """The same with a detail that is told already."""
    kind = kind or kind_of(status, place)
    title = words_of("problems", language)["titles"].get(kind, detail)
    found: dict[str, Any] = {"type": f"{TYPES}#{kind}", "title": title, "status": status}
    if detail:
        found["detail"] = detail
    if place is not None:
        found["place"] = place
    return orjson.dumps({**found, **more}, default=str)


def refused(
    request: HttpRequest, status: int, what: Refused | None = None, place: str | None = None, kind: str | None = None,
    **more: Any,
) -> HttpResponse:  # fmt: skip
    """The answer, in the language of the request."""
    language = language_of(request)
    return _answered(body(status, what, place, language, kind, **more), status, language)


def _answered(content: bytes, status: int, language: str) -> HttpResponse:
    response = HttpResponse(content, status=status, content_type=MEDIA_TYPE)
    response["Content-Language"] = language
    response["Vary"] = "Accept-Language, Cookie"
    if status in (429, 503):
        response["Retry-After"] = "1"
    return response


def _status(error: Exception) -> int:
    """Which status a refusal of the lab's has."""
    if isinstance(error, (NoLab, LabError)):
        return 503
    return 409 if isinstance(error, (BranchError, DirectoryError)) else 422


def _refused(request: HttpRequest, error: Refusal) -> HttpResponse:
    return refused(request, _status(error), error.problem)


def _spec(request: HttpRequest, error: SpecError) -> HttpResponse:
    return refused(request, 422, error.problem, error.where or _missing(error))


def _missing(error: SpecError) -> str | None:
    """The key that misses from the body itself, which as a mapping has no name."""
    return str(error.problem["params"]["key"]) if error.problem["code"] == "missing_key" else None


def _command(request: HttpRequest, error: CommandError) -> HttpResponse:
    return refused(request, 422, error.problem, error.where or None)


def _scenario(request: HttpRequest, error: ScenarioError) -> HttpResponse:
    return refused(request, 422, error.problem, error.place or None, file=error.file, line=error.line)


def _own(request: HttpRequest, error: Problem) -> HttpResponse:
    return refused(request, error.status, error.problem, error.place, error.kind, **error.more)


def _timeout(request: HttpRequest, _error: Exception) -> HttpResponse:
    return refused(request, 504, problem("world_silent"))


def _not_found(request: HttpRequest, _error: Exception) -> HttpResponse:
    return refused(request, 404)


def _http(request: HttpRequest, error: HttpError) -> HttpResponse:
    if isinstance(error.__cause__, Problem):  # Ninja hides what the parser says
        return _own(request, error.__cause__)
    return refused(request, error.status_code, problem("failed_with", why=str(error)))


def _invalid(api: NinjaAPI, request: HttpRequest, error: ValidationError) -> HttpResponse:
    """The first thing that is wrong as detail, place and code, all of them in `errors` (at most `MOST_ERRORS`)."""
    language, description = language_of(request), api.get_openapi_schema()
    errors = [invalid.described(description, request, one, language) for one in error.errors[:MOST_ERRORS]]
    content = told_body(422, errors[0]["detail"], errors[0]["place"], language, code=errors[0]["code"], errors=errors)
    return _answered(content, 422, language)


def _failed(request: HttpRequest, error: Exception) -> HttpResponse:
    """A defect of ours: the reason goes to the log, not to the caller."""
    _log.error("%s %s failed", request.method, request.path, exc_info=error)
    return refused(request, 500, problem("defect"))


def _no_database(request: HttpRequest, error: Exception) -> HttpResponse:
    """PostgreSQL is away; the live lab goes on without it."""
    _log.error("%s %s: the database does not answer: %s", request.method, request.path, str(error).strip())
    return refused(request, 503, problem("no_database"), kind="no-database")


HANDLERS: tuple[tuple[type[Exception], Any], ...] = (
    (Exception, _failed), (Http404, _not_found), (HttpError, _http), (Problem, _own),
    (SpecError, _spec), (ScenarioError, _scenario), (BranchError, _refused), (DirectoryError, _refused),
    (CommandError, _command), (LabError, _refused), (NoLab, _refused), (DatabaseError, _no_database),
    (TimeoutError, _timeout),
)  # fmt: skip


def install(api: NinjaAPI) -> None:
    """Every error of an operation becomes a problem."""
    for kind, handler in HANDLERS:
        api.add_exception_handler(kind, handler)
    api.add_exception_handler(ValidationError, partial(_invalid, api))
