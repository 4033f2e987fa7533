"""The description of the API, its page, and how a body is read.

`/api/openapi.json` is OpenAPI 3.1; `/api/docs` shows the same as a page that needs no script and nothing
from elsewhere.
"""

from __future__ import annotations

from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from ninja import NinjaAPI
from ninja.errors import ValidationError, ValidationErrorContext
from ninja.openapi.docs import DocsBase
from ninja.parser import Parser

from broker_core.kernel.problems import problem
from web import strict
from web.api import (
    class_reports, classes, exercises, groups, invalid, jobs, keeping, labs, looking, me, meanings, packs, polls,
    problems, quizzes, reference, replays, rolling, runs, scenarios, spark_answers, spark_setup, sweeps, teachers,
    waits,
)  # fmt: skip
from web.api.description import Description
from web.api.docs import operations
from web.api.problems import Problem
from web.language import language_of
from web.messages import words_of

TEXTS = {
    "/journal": runs.NDJSON, "/operations": runs.NDJSON, "/runs/{run}/scenario": runs.YAML,
    "/report": spark_answers.HTML, "/pack": packs.GZIP, "/grades.csv": classes.CSV.partition(";")[0],
}  # fmt: skip


class StrictParser(Parser):
    """JSON by the book: no NaN, no lone surrogates, not too deep (`web.strict`)."""

    def parse_body(self, request: HttpRequest) -> Any:
        """The body as plain data; Problem says what is wrong with it."""
        try:
            return strict.loads(request.body or b"{}")
        except strict.TooDeepError:
            raise Problem(400, problem("too_deep", most=strict.DEEPEST), "body") from None
        except ValueError as error:
            raise Problem(400, problem("not_json", why=str(error)), "body") from None


class OwnPage(DocsBase):
    """All operations on one page, rendered here."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        """The page, in the reader's language."""
        language = language_of(request)
        words, schema = words_of("api", language), api.get_openapi_schema()
        root = request.build_absolute_uri("/").rstrip("/")
        found = operations(schema, list(words["tags"]), words["operations"], root, language)
        groups = [{"id": tag, "name": words["tags"][tag], "operations": rows} for tag, rows in found.items()]
        before, _, after = words["intro"].partition("{openapi}")
        context = {"groups": groups, "title": schema["info"]["title"], "words": words, "language": language,
                   "before_openapi": before, "after_openapi": after,
                   "before_problems": words["errors"].partition("{problems}")[0]}  # fmt: skip
        return render(request, "api/docs.html", context)


class LabApi(NinjaAPI):
    """Ninja's description, made exact: errors are problems, journals are lines of JSON."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._described: dict[bytes, Any] = {}

    def validation_error_from_error_contexts(
        self, error_contexts: list[ValidationErrorContext[Any]]
    ) -> ValidationError:
        """With the values, which the refusal quotes."""
        return ValidationError(invalid.errors_of(error_contexts))

    def get_openapi_schema(self, **kwargs: Any) -> Any:
        """OpenAPI 3.1; made once."""
        key = orjson.dumps(kwargs, default=str, option=orjson.OPT_SORT_KEYS)
        if key not in self._described:
            self._described[key] = self._describe(**kwargs)
        return self._described[key]

    def _describe(self, path_prefix: str | None = None, path_params: dict[str, Any] | None = None) -> Any:
        prefix = self.get_root_path(path_params or {}) if path_prefix is None else path_prefix
        schema: Any = Description(self, prefix)
        for path, methods in schema["paths"].items():
            for operation in methods.values():
                for status, response in operation["responses"].items():
                    _exact(path, int(status), response)
        meanings.describe(schema)
        return schema


def _exact(path: str, status: int, response: dict[str, Any]) -> None:
    content = response.get("content", {})
    if status >= 400 and "application/json" in content:
        content[problems.MEDIA_TYPE] = content.pop("application/json")
    media = next((media for end, media in TEXTS.items() if path.endswith(end)), None)
    if media is not None and status == 200:
        content.pop("application/json", None)
        content[media] = {"schema": {"type": "string"} if media in (runs.NDJSON, packs.GZIP) else {}}


api = LabApi(
    title="Brokerlab",
    version="1",
    description="A Kafka cluster that can be scripted: labs, commands, events, runs, scenarios, records.",
    docs=OwnPage(),
    parser=StrictParser(),
    urls_namespace="api",
)
problems.install(api)
ROOMS = (
    keeping, labs, waits, looking, runs, replays, sweeps, rolling, spark_setup, scenarios, exercises, quizzes,
    classes, class_reports, groups, teachers, me, polls, jobs, reference,
)  # fmt: skip
for room in ROOMS:
    api.add_router("", room.router)
