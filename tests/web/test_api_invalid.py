"""Values that the description does not allow are refused in words of our own, in both languages, with what is taken."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from django.test import RequestFactory
from pydantic_core.core_schema import ErrorType
from tests.web.live_rest import Rest, refused, rest

from web.api.invalid import CODES, described
from web.messages import LANGUAGES, words_of

__all__ = ["rest"]

RANGE = {"type": "integer", "minimum": 1, "maximum": 10_000}
ONE_OR_MANY = {"any_of": [{"type": "object"}, {"type": "array", "minItems": 1, "maxItems": 100}]}
SEQ = {"type": "integer", "minimum": 0, "maximum": 1 << 62}
GIVEN: list[tuple[str, Any, str, str, str, dict[str, Any]]] = [
    ("labs/lab/events?limit=0", None, "limit", "out-of-range", "expected a whole number from 1 to 10000, found '0'", RANGE),
    ("labs/lab/events?limit=x", None, "limit", "wrong-type", "expected a whole number from 1 to 10000, found 'x'", RANGE),
    ("labs/lab/events?limit=1.5", None, "limit", "wrong-type", "expected a whole number from 1 to 10000, found '1.5'", RANGE),
    ("labs/lab/events?wait=nan", None, "wait", "out-of-range", "expected a number from 0 to 30, found 'nan'",
     {"type": "number", "minimum": 0, "maximum": 30}),
    ("labs/lab/inspect", None, "of", "missing", "of is missing, expected a text", {"type": "string"}),
    ("settings?of=moon", None, "of", "not-one-of", "expected one of broker, topic, found 'moon'",
     {"type": "string", "enum": ["broker", "topic"]}),
    ("labs/lab/compare?runs=" + "x" * 101, None, "runs[0]", "wrong-length",
     "expected a text of 1 to 100 characters, found 101 characters", {"type": "string", "minLength": 1, "maxLength": 100}),
    ("labs/lab/commands", 7, "body", "wrong-type", "expected keys and values or a list of 1 to 100 items, found the number 7",
     ONE_OR_MANY),
    ("labs/lab/commands", [{"do": "kill"}, {}], "[1].do", "missing", "do is missing, expected a text", {"type": "string"}),
    ("labs/lab/commands", [{"do": "kill"}, {"do": 5}], "[1].do", "wrong-type", "expected a text, found the number 5",
     {"type": "string"}),
    ("labs/lab/forks", {"commands": [{"do": "kill"}, 3]}, "commands[1]", "wrong-type",
     "expected keys and values, found the number 3", {"type": "object"}),
    ("labs/lab/forks", {"seq": -1}, "seq", "out-of-range",
     f"expected a whole number from 0 to {1 << 62}, found the number -1", SEQ),
    ("scenarios/acks-1/run", {"sed": 3}, "sed", "unknown-key",
     "unknown key sed, expected one of seed, variant, live, controller, era, controllers, combined, ensemble, quorum",
     {"keys": ["seed", "variant", "live", "controller", "era", "controllers", "combined", "ensemble", "quorum"]}),
    ("scenarios/validate", {"yaml": []}, "yaml", "wrong-type", "expected a text of at most 1000000 characters, found a list",
     {"type": "string", "maxLength": 1_000_000}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "content", "place", "code", "detail", "expected"), GIVEN)
def test_place_code_words_and_what_is_taken(
    rest: Rest, path: str, content: Any, place: str, code: str, detail: str, expected: dict[str, Any]
) -> None:
    method = "GET" if content is None else "POST"
    found = rest.call(method, path, content).json
    assert (found["status"], found["place"], found["code"], found["detail"]) == (422, place, code, detail)
    assert found["errors"][0] == {"place": place, "code": code, "detail": detail, "expected": expected}
    korean = rest.call(method, path, content, Accept_Language="ko").json
    assert (korean["place"], korean["code"], korean["errors"][0]["expected"]) == (place, code, expected)
    assert re.search("[가-힣]", korean["detail"]) and not re.search(r"\b(expected|found|missing|unknown|number)\b", korean["detail"])


MISSING: list[tuple[str, Any, str | None, str]] = [
    ("labs/lab/commands", {"do": "create_topic"}, "topic", "key 'topic' is missing"),
    ("labs/lab/commands", [{"do": "set_client", "name": "x"}], "[0]", "key 'set' is missing"),
    ("labs/lab/commands", [{"do": "kill"}], "[0]", "exactly one of broker, node, leader_of, follower_of, controller, found 0"),
    ("labs/lab/forks", {"commands": [{"do": "produce", "topic": "x"}]}, "commands[0]", "key 'value' is missing"),
    ("scenarios/validate", {"document": {"topics": [{}]}}, "topics[0]", "key 'name' is missing"),
    ("scenarios/validate", {"yaml": "steps:\n  - {at: 5s}\n"}, "steps[0]", "key 'do' is missing"),
]


@pytest.mark.parametrize(("path", "content", "place", "words"), MISSING)
def test_a_key_that_is_missing_is_named_at_what_it_misses_from(
    rest: Rest, path: str, content: Any, place: str | None, words: str
) -> None:
    found = refused(rest.post(path, content), 422, place, words)
    korean = rest.call("POST", path, content, Accept_Language="ko").json
    assert (korean.get("place"), korean.get("line")) == (place, found.get("line"))
    assert all(key in korean["detail"] for key in re.findall(r"'(\w+)'", words)) and re.search("[가-힣]", korean["detail"])


def test_all_that_is_wrong_is_listed(rest: Rest) -> None:
    found = rest.get("labs/lab/events?limit=0&wait=99&since=x").json
    assert {one["place"]: one["code"] for one in found["errors"]} == {
        "limit": "out-of-range", "wait": "out-of-range", "since": "wrong-type"}
    assert len(rest.post("labs/lab/commands", [{}] * 100).json["errors"]) == 20


def test_a_value_that_is_quoted_is_cut() -> None:
    error = {"loc": ("query", "since"), "type": "int_parsing", "input": "9" * 5000}
    description = {"paths": {"/": {"get": {"parameters": [{"in": "query", "name": "since", "schema": {"type": "integer"}}]}}}}
    request = RequestFactory().get("/")
    request.resolver_match = type("Match", (), {"route": ""})()
    assert len(described(description, request, error, "en")["detail"]) < 130


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", get_args(ErrorType))
def test_no_sentence_of_the_library_leaks_whatever_is_wrong(kind: str, language: str) -> None:
    found = described({"paths": {}}, RequestFactory().get("/"), {"loc": ("query", "since"), "type": kind, "input": 1}, language)
    assert "since" in found["detail"] and "Input" not in found["detail"]
    assert found["code"] in {code for _, code in CODES} | {"not-valid"}
    assert bool(re.search("[가-힣]", found["detail"])) == (language == "ko")


def test_both_languages_have_the_same_words() -> None:
    english, korean = (words_of("problems", language)["invalid"] for language in LANGUAGES)
    holes = [{name: set(re.findall(r"\{(\w+)\}", text)) for name, text in words.items()} for words in (english, korean)]
    assert holes[0] == holes[1]
