"""What is wrong with a value that the description of the API does not allow, in words of our own.

Pydantic finds it; what would be accepted is read from the description itself, so that page, `openapi.json` and refusal
cannot say different things.

```
GET labs/lab/events?limit=0
{"place": "limit", "code": "out-of-range", "detail": "expected a whole number from 1 to 10000, found '0'",
 "expected": {"type": "integer", "minimum": 1, "maximum": 10000}}
```
| code | what |
|---|---|
| missing | it is needed and not there |
| unknown-key | nobody knows this key |
| wrong-type | another kind of value |
| out-of-range | of the right kind, but too small or too large |
| wrong-length | too short or too long: a text, a list |
| not-one-of | none of the few words |
| not-valid | anything else |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.http import HttpRequest
from ninja.errors import ValidationErrorContext

from broker_core.kernel.problems import told
from lab.clusters import checks
from web.messages import words_of

CODES = (
    (r"missing|missing_.*", "missing"),
    (r"extra_forbidden", "unknown-key"),
    (r"(greater|less)_than.*|finite_number|multiple_of|int_parsing_size", "out-of-range"),
    (r"too_(short|long)|string_too_.*", "wrong-length"),
    (r"literal_error|enum", "not-one-of"),
    (r".*_(type|parsing|from_float|attributes_type)|union_tag_.*|string_unicode", "wrong-type"),
)
BOUNDS = {"integer": ("minimum", "maximum"), "number": ("minimum", "maximum"), "string": ("minLength", "maxLength"),
          "array": ("minItems", "maxItems")}  # fmt: skip
SHOWN = ("type", "enum", "const", *(bound for pair in BOUNDS.values() for bound in pair))
LONGEST = 80
Schema = dict[str, Any]
Where = Sequence[str | int]


def errors_of(contexts: Iterable[ValidationErrorContext[Any]]) -> list[dict[str, Any]]:
    """All errors of a request with `loc` from source on (query, path, body), their type and the value."""
    found: list[dict[str, Any]] = []
    for context in contexts:
        model: Any = context.model
        for error in context.pydantic_validation_error.errors(include_url=False):
            loc = model.__ninja_flatten_map_reverse__.get(error["loc"], error["loc"])
            found.append({"loc": (model.__ninja_param_source__, *loc), "type": error["type"], "input": error["input"]})
    return found


def described(
    description: Schema, request: HttpRequest, error: Mapping[str, Any], language: str
) -> dict[str, Any]:  # fmt: skip
    """`place`, `code`, `detail` and, where it is known, `expected`."""
    source, where = _where(error["loc"])
    code = next((code for kinds, code in CODES if re.fullmatch(kinds, error["type"])), "not-valid")
    operation = _operation(description, request)
    schema = _Schemas(description).found(operation, source, where[:-1] if code == "unknown-key" else where)
    value = error["input"]
    if source != "body" and isinstance(value, str):
        value = _Plain(value)
    detail = _Told(language).sentence(code, str(where[-1]) if where else source, schema, value)
    found = {"place": checks.shown(tuple(where)) or source, "code": code, "detail": detail}
    expected = _expected(schema, code)
    return {**found, "expected": expected} if expected else found


def _where(loc: Sequence[str | int]) -> tuple[str, list[str | int]]:
    """`("body", "command", "<list>", 2, "do")` as body and `[2, "do"]`: names of arguments and alternatives say
    nothing."""
    source, *where = loc
    if source == "body":
        where = where[1:]
    return str(source), [part for part in where if isinstance(part, int) or not part.startswith("<")]


def _operation(description: Schema, request: HttpRequest) -> Schema:
    route = request.resolver_match.route if request.resolver_match is not None else ""
    path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)
    found: Schema = description["paths"].get(path, {}).get(str(request.method).lower(), {})
    return found


class _Plain(str):
    """A value of an address, where there are only texts."""


class _Schemas:
    """The schemas of a description; a reference is as good as what it leads to."""

    def __init__(self, description: Schema) -> None:
        self.known = description.get("components", {}).get("schemas", {})

    def found(self, operation: Schema, source: str, where: Where) -> list[Schema]:
        """What is accepted at a place: the alternatives; none when the description says nothing."""
        if source == "body":
            content = operation.get("requestBody", {}).get("content", {})
            start = [media["schema"] for media in content.values()]
        else:
            given = [one for one in operation.get("parameters", ()) if one["in"] == source]
            start = [one["schema"] for one in given if where and one["name"] == where[0]]
            where = where[1:]
        schemas = list(self._alternatives(start))
        for part in where:
            schemas = list(self._alternatives(_inside(schemas, part)))
        return schemas

    def _alternatives(self, schemas: Iterable[Schema]) -> Iterator[Schema]:
        for schema in schemas:
            if "$ref" in schema:
                yield from self._alternatives([self.known.get(schema["$ref"].rpartition("/")[2], {})])
            elif "anyOf" in schema or "oneOf" in schema:
                yield from self._alternatives(schema.get("anyOf") or schema["oneOf"])
            elif schema.get("type") != "null":
                yield schema


def _inside(schemas: Iterable[Schema], part: str | int) -> Iterator[Schema]:
    for schema in schemas:
        inner = schema.get("items") if isinstance(part, int) else schema.get("properties", {}).get(part)
        if inner is not None:
            yield inner


def _expected(schemas: list[Schema], code: str) -> Schema | None:
    """The same for programs: type and limits, or the keys that there are."""
    if code == "unknown-key":
        keys = [key for schema in schemas for key in schema.get("properties", ())]
        return {"keys": keys} if keys else None
    found = [{key: schema[key] for key in SHOWN if key in schema} for schema in schemas]
    return {"any_of": found} if len(found) > 1 else next(iter(found), None) or None


class _Told:
    """Sentences of one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.words: dict[str, str] = words_of("problems", language)["invalid"]

    def sentence(self, code: str, name: str, schemas: list[Schema], value: Any) -> str:
        """What was expected at a place, and what is there."""
        keys = [key for schema in schemas for key in schema.get("properties", ())]
        if code == "unknown-key" and keys:
            return self.words["unknown_key_of"].format(name=name, names=", ".join(keys))
        expected = self.words["or"].join(dict.fromkeys(self._kind(schema) for schema in schemas))
        if code in ("unknown-key", "missing") or not expected:
            part = {"missing": "missing" if expected else "missing_only", "unknown-key": "unknown_key"}
            return self.words[part.get(code, "not_valid")].format(name=name, expected=expected)
        return self.words["wrong"].format(expected=expected, found=self._found(code, value))

    def _kind(self, schema: Schema) -> str:
        """"a whole number from 1 to 500"."""
        words = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
        if words:
            return self.words["one_of"].format(names=", ".join(str(word) for word in words))
        kind = str(schema.get("type", "anything"))
        bounds = BOUNDS.get(kind, ())
        least, most = (schema.get(bound) for bound in bounds) if bounds else (None, None)
        limited = "between" if None not in (least, most) else "from" if least is not None else "up_to"
        if least is None and most is None:
            return self.words[kind]
        return self.words[f"{kind}_{limited}"].format(least=_number(least), most=_number(most))

    def _found(self, code: str, value: Any) -> str:
        if code == "wrong-length" and isinstance(value, (str, list)):
            return self.words["characters" if isinstance(value, str) else "items"].format(n=len(value))
        text = repr(value) if isinstance(value, _Plain) else told(checks.kind(value), self.language)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
