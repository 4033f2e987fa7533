"""Errors as problem details (RFC 9457): `application/problem+json`.

```
{"type": "about:blank", "title": "there is no broker 9", "status": 422, "place": "[1].broker"}
```
`title` says what is wrong, `place` names the part of what was sent (or the parameter) that is wrong.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import orjson
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from broker_core.kernel.errors import CommandError
from lab.branch import BranchError
from lab.clusters.checks import SpecError, shown
from lab.experiments.directory import DirectoryError
from lab.live import LabError
from lab.scenarios.grammar import ScenarioError
from web.live.hub import NoLab

MEDIA_TYPE = "application/problem+json"
_log = logging.getLogger("brokerlab.api")


class Problem(Exception):
    """What a request is refused with."""

    def __init__(self, status: int, title: str, place: str | None = None, **more: Any) -> None:
        super().__init__(title)
        self.status = status
        self.title = title
        self.place = place
        self.more = more


def body(status: int, title: str, place: str | None = None, **more: Any) -> bytes:
    """The document."""
    found: dict[str, Any] = {"type": "about:blank", "title": title, "status": status}
    if place is not None:
        found["place"] = place
    return orjson.dumps({**found, **more}, default=str)


def problem(status: int, title: str, place: str | None = None, **more: Any) -> HttpResponse:
    """The answer."""
    response = HttpResponse(body(status, title, place, **more), status=status, content_type=MEDIA_TYPE)
    if status == 503:
        response["Retry-After"] = "1"
    return response


def _status(error: Exception) -> int:
    """Which status a refusal of the lab's has."""
    if isinstance(error, (NoLab, LabError)):
        return 503
    return 409 if isinstance(error, (BranchError, DirectoryError)) else 422


def _refused(_request: HttpRequest, error: Exception) -> HttpResponse:
    return problem(_status(error), str(error))


def _spec(_request: HttpRequest, error: SpecError) -> HttpResponse:
    return problem(422, error.reason, shown(error.place) or None)


def _command(_request: HttpRequest, error: CommandError) -> HttpResponse:
    return problem(422, error.reason, error.place or None)


def _scenario(_request: HttpRequest, error: ScenarioError) -> HttpResponse:
    return problem(422, error.reason, error.place or None, file=error.file, line=error.line)


def _own(_request: HttpRequest, error: Problem) -> HttpResponse:
    return problem(error.status, error.title, error.place, **error.more)


def _timeout(_request: HttpRequest, _error: Exception) -> HttpResponse:
    return problem(504, "the world did not answer in time")


def _not_found(_request: HttpRequest, _error: Exception) -> HttpResponse:
    return problem(404, "there is no such address")


def _http(_request: HttpRequest, error: HttpError) -> HttpResponse:
    return problem(error.status_code, str(error))


def _invalid(_request: HttpRequest, error: ValidationError) -> HttpResponse:
    """The first thing that is wrong as title and place, all of them in `errors`."""
    errors = [_shaped(one) for one in error.errors]
    return problem(422, errors[0]["title"], errors[0]["place"], errors=errors[:20])


def _shaped(error: Mapping[str, Any]) -> dict[str, str]:
    """`("body", "command", "<list>", 2, "do")` as `[2].do`: names of arguments and alternatives say nothing."""
    source, *where = error.get("loc", ("",))
    if source == "body":
        where = where[1:]
    place = shown(tuple(part for part in where if isinstance(part, int) or not part.startswith("<"))) or str(source)
    return {"title": str(error.get("msg", "is not valid")), "place": place}


def _failed(request: HttpRequest, error: Exception) -> HttpResponse:
    """A defect of ours: the reason goes to the log, not to the caller."""
    _log.error("%s %s failed", request.method, request.path, exc_info=error)
    return problem(500, "this is a defect of the lab; its log says more")


HANDLERS: tuple[tuple[type[Exception], Any], ...] = (
    (Exception, _failed), (Http404, _not_found), (HttpError, _http), (ValidationError, _invalid), (Problem, _own),
    (SpecError, _spec), (ScenarioError, _scenario), (BranchError, _refused), (DirectoryError, _refused),
    (CommandError, _command), (LabError, _refused), (NoLab, _refused), (TimeoutError, _timeout),
)  # fmt: skip


def install(api: NinjaAPI) -> None:
    """Every error of an operation becomes a problem."""
    for kind, handler in HANDLERS:
        api.add_exception_handler(kind, handler)
