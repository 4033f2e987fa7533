"""Errors as problem details (RFC 9457): `application/problem+json`.

```
{"type": "/api/problems#invalid", "title": "A value is not valid", "status": 422,
 "detail": "there is no broker 9", "place": "[1].broker"}
```
`type` stays the same for ever and is what a program looks at; `title` says the same in the language of
Accept-Language, `detail` what it is this time, `place` which part of what was sent (or which parameter) is wrong.
Details come in English, as from the command line, and in Korean where their pattern is known (`problems.ko.json`);
one that is not is quoted as known in English only.
"""

from __future__ import annotations

import logging
import re
from functools import cache, partial
from typing import Any

import orjson
from django.db import Error as DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from broker_core.kernel.errors import CommandError
from lab.branch import BranchError
from lab.clusters.checks import SpecError, shown
from lab.experiments.directory import DirectoryError
from lab.live import LabError
from lab.scenarios.grammar import ScenarioError
from web.api import invalid
from web.language import language_of
from web.live.hub import NoLab
from web.messages import words_of

MEDIA_TYPE = "application/problem+json"
TYPES = "/api/problems"
MOST_ERRORS = 20
MISSING_KEY = re.compile(r"key '(.+)' is missing")
_log = logging.getLogger("brokerlab.api")


class Problem(Exception):
    """What a request is refused with. `kind`: the end of its type; by status and place when not given."""

    def __init__(
        self, status: int, detail: str, place: str | None = None, kind: str | None = None, **more: Any
    ) -> None:  # fmt: skip
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.place = place
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


@cache
def _patterns(part: str, key: str, language: str) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), text) for pattern, text in words_of(part, language)[key].items()]


def told(detail: str, language: str) -> str:
    """A detail in a language, as far as its pattern is known there. What a hole holds may be a known phrase, too."""
    for part, key in (("grammar", "sentences"), ("problems", "details")):
        for pattern, text in _patterns(part, key, language):
            found = pattern.fullmatch(detail)
            if found is not None:
                return text.format(*[_phrase(one, language) for one in found.groups("")])
    return detail


def told_or_quoted(detail: str, language: str) -> str:
    """The same; one that no pattern fits is quoted, and said to be known in English only."""
    found = told(detail, language)
    is_foreign = found == detail and language != "en" and _has_words(detail, language)
    return words_of("problems", language)["other"].format(detail) if is_foreign else found


def _has_words(detail: str, language: str) -> bool:
    """Whether a detail is still in English: nothing of the reader's script, and more than a name."""
    return not (language == "ko" and re.search("[가-힣]", detail)) and " " in detail


def _phrase(text: str, language: str) -> str:
    for pattern, words in _patterns("grammar", "parts", language):
        found = pattern.fullmatch(text)
        if found is not None:
            return words.format(*found.groups(""))
    return text


def told_of_grammar(detail: str, language: str) -> str:
    """The same of what the grammar refuses; a reason that is not known is said in general."""
    found = told(detail, language)
    return found if found != detail else words_of("grammar", language)["other"] or detail


def body(
    status: int, detail: str = "", place: str | None = None, language: str = "en", kind: str | None = None, **more: Any
) -> bytes:
    """The document."""
    return told_body(status, detail and told_or_quoted(detail, language), place, language, kind, **more)


def told_body(
    status: int, detail: str, place: str | None, language: str, kind: str | None = None, **more: Any
) -> bytes:  # fmt: skip
    """The same with a detail that is in the reader's language already."""
    kind = kind or kind_of(status, place)
    title = words_of("problems", language)["titles"].get(kind, detail)
    found: dict[str, Any] = {"type": f"{TYPES}#{kind}", "title": title, "status": status}
    if detail:
        found["detail"] = detail
    if place is not None:
        found["place"] = place
    return orjson.dumps({**found, **more}, default=str)


def problem(
    request: HttpRequest, status: int, detail: str = "", place: str | None = None, kind: str | None = None, **more: Any
) -> HttpResponse:
    """The answer, in the language of the request."""
    language = language_of(request)
    return _answered(body(status, detail, place, language, kind, **more), status, language)


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


def _refused(request: HttpRequest, error: Exception) -> HttpResponse:
    return problem(request, _status(error), str(error))


def _spec(request: HttpRequest, error: SpecError) -> HttpResponse:
    place = shown(error.place) or _missing(error)
    return problem(request, 422, told_of_grammar(error.reason, language_of(request)), place)


def _missing(error: SpecError) -> str | None:
    """The key that misses from the body itself, which as a mapping has no name."""
    found = MISSING_KEY.fullmatch(error.reason)
    return found[1] if found else None


def _command(request: HttpRequest, error: CommandError) -> HttpResponse:
    return problem(request, 422, error.reason, error.place or None)


def _scenario(request: HttpRequest, error: ScenarioError) -> HttpResponse:
    reason = told_of_grammar(error.reason, language_of(request))
    return problem(request, 422, reason, error.place or None, file=error.file, line=error.line)


def _own(request: HttpRequest, error: Problem) -> HttpResponse:
    return problem(request, error.status, error.detail, error.place, error.kind, **error.more)


def _timeout(request: HttpRequest, _error: Exception) -> HttpResponse:
    return problem(request, 504, "the world did not answer in time")


def _not_found(request: HttpRequest, _error: Exception) -> HttpResponse:
    return problem(request, 404)


def _http(request: HttpRequest, error: HttpError) -> HttpResponse:
    reason = error.__cause__ if isinstance(error.__cause__, HttpError) else error  # Ninja hides what the parser says
    return problem(request, error.status_code, str(reason), "body" if error.status_code == 400 else None)


def _invalid(api: NinjaAPI, request: HttpRequest, error: ValidationError) -> HttpResponse:
    """The first thing that is wrong as detail, place and code, all of them in `errors` (at most `MOST_ERRORS`)."""
    language, description = language_of(request), api.get_openapi_schema()
    errors = [invalid.described(description, request, one, language) for one in error.errors[:MOST_ERRORS]]
    content = told_body(422, errors[0]["detail"], errors[0]["place"], language, code=errors[0]["code"], errors=errors)
    return _answered(content, 422, language)


def _failed(request: HttpRequest, error: Exception) -> HttpResponse:
    """A defect of ours: the reason goes to the log, not to the caller."""
    _log.error("%s %s failed", request.method, request.path, exc_info=error)
    return problem(request, 500, "this is a defect of the lab; its log says more")


def _no_database(request: HttpRequest, error: Exception) -> HttpResponse:
    """PostgreSQL is away; the live lab goes on without it."""
    _log.error("%s %s: the database does not answer: %s", request.method, request.path, str(error).strip())
    return problem(request, 503, "the database that remembers jobs does not answer", kind="no-database")


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
