"""The page of all operations: made from the description, so that the two cannot differ."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from web.api.meanings import key_means, parameter_means
from web.language import language_of
from web.messages import words_of

STYLE = Path(__file__).with_name("docs.css")


def style(request: HttpRequest) -> HttpResponse:
    """The page's style, from here: the policy allows no inline one."""
    return HttpResponse(STYLE.read_bytes(), content_type="text/css; charset=utf-8")


def problem_types(request: HttpRequest) -> HttpResponse:
    """What the type of a problem leads to: all of them with their titles."""
    language = language_of(request)
    titles = words_of("problems", language)["titles"]
    context = {"language": language, "words": words_of("api", language), "titles": titles}
    return render(request, "api/problems.html", context)


CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)


def marked(text: str) -> SafeString:
    """A description's text as HTML: what stands in backticks, as in Markdown, is code; all else is shown as written."""
    return mark_safe(CODE.sub(r"<code>\2</code>", escape(text)))


Told = dict[str, dict[str, str]]


def operations(
    schema: dict[str, Any], tags: list[str], told: Told, root: str, language: str
) -> dict[str, list[dict[str, Any]]]:
    """Tag -> operations in the order of the code; `told`: their texts in another language; `root`: where they are."""
    found: dict[str, list[dict[str, Any]]] = {tag: [] for tag in tags}
    for path, methods in schema["paths"].items():
        for method, one in methods.items():
            shown = _shown(schema, path, method.upper(), one, root, language) | told.get(f"{method.upper()} {path}", {})
            found[one["tags"][0]].append(shown | {key: marked(shown[key]) for key in ("summary", "text")})
    return found


def _shown(
    schema: dict[str, Any], path: str, method: str, one: dict[str, Any], root: str, language: str
) -> dict[str, Any]:
    parameters = [
        {**_parameter(parameter), "means": marked(parameter_means(f"{method} {path}", parameter, language))}
        for parameter in one.get("parameters", [])
    ]
    body = one.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    fields = _fields(schema, body, language) if body else []
    answers = [{"status": status, "media": ", ".join(response.get("content", {})), "means": response["description"]}
               for status, response in one["responses"].items()]  # fmt: skip
    needs_path = any(parameter["where"] == "path" for parameter in parameters)
    return {
        "method": method, "path": path, "summary": one["summary"], "text": one.get("description", ""),
        "parameters": parameters, "fields": fields, "answers": answers, "id": one["operationId"],
        "link": path if method == "GET" and not needs_path else "", "curl": _curl(method, root + path, bool(body)),
    }  # fmt: skip


def _parameter(parameter: dict[str, Any]) -> dict[str, Any]:
    kind = parameter["schema"]
    return {"name": parameter["name"], "where": parameter["in"], "kind": _kind(kind), "default": kind.get("default"),
            "required": parameter.get("required", False)}  # fmt: skip


def _kind(schema: dict[str, Any]) -> str:
    """`integer, 1 to 500`."""
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"] if one.get("type") != "null")
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return ", ".join(str(one) for one in schema["enum"])
    name = str(schema.get("type", "anything"))
    if name == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    low, high = schema.get("minimum"), schema.get("maximum")
    return f"{name}, {low:g} to {high:g}" if low is not None and high is not None and high < 1 << 31 else name


def _fields(schema: dict[str, Any], body: dict[str, Any], language: str) -> list[dict[str, Any]]:
    """The keys of the body; of alternatives, those of the first."""
    own = ""
    while "$ref" in body or "anyOf" in body:
        own = body.get("$ref", own).rpartition("/")[2]
        body = body["anyOf"][0] if "anyOf" in body else schema["components"]["schemas"][own]
    required = body.get("required", [])
    return [{"name": name, "kind": _kind(one), "required": name in required,
             "means": marked(key_means(own, name, language))}
            for name, one in body.get("properties", {}).items()]  # fmt: skip


def _curl(method: str, address: str, has_body: bool) -> str:
    parts = ["curl"] + ([] if method == "GET" else [f"-X {method}"])
    if has_body:
        example = {"do": "kill", "leader_of": "orders-0"} if address.endswith("/commands") else {}
        parts.append(f"-H 'Content-Type: application/json' -d '{orjson.dumps(example).decode()}'")
    return " ".join([*parts, f"'{address}'" if "{" in address else address])
