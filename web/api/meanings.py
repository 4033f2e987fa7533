"""What parameters and keys of bodies mean: in the description (OpenAPI) in English, on its page in both languages.

They stand in `web/messages/api_values.LANGUAGE.json`. A parameter has one meaning under its name; where an operation
means something of its own by it, it stands under `GET /api/settings name`. `?run` is a run that may be left out. Keys
stand under the schema of the body, or under one that it takes in (`SHARED`).
"""

from __future__ import annotations

from typing import Any

from web.messages import words_of

PART = "api_values"
SHARED = ("Document", "RunOptions")


def parameter_means(operation: str, parameter: dict[str, Any], language: str) -> str:
    """Of `GET /api/labs` and a parameter of its description."""
    words: dict[str, str] = words_of(PART, language)["parameters"]
    name = str(parameter["name"])
    open_run = f"?{name}" if parameter["in"] == "query" else name
    return next(words[key] for key in (f"{operation} {name}", open_run, name) if key in words)


def key_means(schema: str, name: str, language: str) -> str:
    """Of a key of a body."""
    words: dict[str, dict[str, str]] = words_of(PART, language)["bodies"]
    return next(words[one][name] for one in (schema, *SHARED) if name in words.get(one, ()))


def describe(schema: dict[str, Any]) -> None:
    """Add them to a description."""
    bodies: dict[str, dict[str, Any]] = {}
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            for parameter in operation.get("parameters", []):
                parameter["description"] = parameter_means(f"{method.upper()} {path}", parameter, "en")
            bodies |= bodies_of(schema, operation)
    for name, keys in bodies.items():
        for key, one in keys.items():
            one["description"] = key_means(name, key, "en")


def bodies_of(schema: dict[str, Any], operation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Name -> keys of each object that is taken as the body of an operation."""
    given = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    found = {}
    waiting = [given]
    while waiting:
        one = waiting.pop()
        waiting += [*one.get("anyOf", ()), *one.get("oneOf", ()), *([one["items"]] if "items" in one else ())]
        if "$ref" in one:
            name = one["$ref"].rpartition("/")[2]
            found[name] = schema["components"]["schemas"][name].get("properties", {})
    return found
