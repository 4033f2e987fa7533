"""What the screen can do, REST can do, with the same words: commands, questions, speeds."""

from __future__ import annotations

import re

from tests.conftest import CHECKOUT

from lab.clusters.vocabulary import KINDS
from web.api import meanings
from web.api.api import api
from web.live import asking
from web.live.consumer import LOOKING
from web.messages import words_of

QUESTIONS = {
    "history": "GET /api/labs/{lab}/history", "story": "GET /api/labs/{lab}/story", "fork": "POST /api/labs/{lab}/forks",
    "open": "POST /api/labs/{lab}/runs/{run}/open", "close": "DELETE /api/labs/{lab}/runs/{run}",
    "outline": "GET /api/labs/{lab}/compare", "inspect": "GET /api/labs/{lab}/inspect",
    "export": "GET /api/runs/{run}/scenario", "message": "GET /api/labs/{lab}/message",
}  # fmt: skip


LISTS = [f"/api/{name}" for name in (
    "labs", "labs/{lab}/runs", "labs/{lab}/events", "runs", "replays", "sweeps", "sweeps/{sweep}/runs", "scenarios", "exercises", "jobs",
    "exercises", "jobs", "settings", "eras", "events-registry", "commands",
)]  # fmt: skip


def modules() -> dict[str, str]:
    return {str(path.relative_to(CHECKOUT)): path.read_text() for path in (CHECKOUT / "static").rglob("*.js")}


def operations() -> set[str]:
    return {f"{method.upper()} {path}" for path, methods in api.get_openapi_schema()["paths"].items() for method in methods}


def test_every_command_of_the_screen_is_one_of_the_vocabulary() -> None:
    used = {(name, do) for name, text in modules().items() for do in re.findall(r'\bdo: "(\w+)"', text)}
    assert len(used) > 15
    assert sorted(one for one in used if one[1] not in (*KINDS, "time")) == []




def test_every_question_of_the_wire_has_an_operation() -> None:
    assert asking.KINDS.keys() == QUESTIONS.keys()
    assert set(QUESTIONS.values()) <= operations()
    assert set(LOOKING) <= QUESTIONS.keys()


def test_the_screen_asks_nothing_that_the_wire_does_not_know() -> None:
    for name, text in modules().items():
        asked = re.findall(r'\bask\(\{ what: "(\w+)"', text) + re.findall(r'question\(\{ what: "(\w+)"', text)
        assert set(asked) <= asking.KINDS.keys(), name


def test_every_address_that_the_screen_calls_is_an_operation() -> None:
    known = [re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(one.partition(" ")[2])) for one in operations()]
    for name, text in modules().items():
        for address in re.findall(r"\bapi\([`\"](/[^`\"?]*)", text):
            shape = "/api" + re.sub(r"\$\{[^}]*\}", "X", address)
            assert any(re.fullmatch(one, shape) for one in known), (name, address)


def test_the_page_of_operations_is_complete_in_korean() -> None:
    told = words_of("api", "ko")["operations"]
    assert {one: "" for one in sorted(operations() ^ told.keys())} == {}
    assert all(re.search("[가-힣]", text) for one in told.values() for text in one.values())
    tags = {one["tags"][0] for methods in api.get_openapi_schema()["paths"].values() for one in methods.values()}
    assert tags == words_of("api", "ko")["tags"].keys() == words_of("api", "en")["tags"].keys()


def test_every_parameter_and_every_key_of_a_body_is_described_in_both_languages() -> None:
    described, korean = api.get_openapi_schema(), words_of("api_values", "ko")
    english = words_of("api_values", "en")
    used: set[str] = set()
    keys: dict[str, set[str]] = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            for one in operation.get("parameters", []):
                assert len(one["description"]) > 5, (path, one["name"])
                assert re.search("[가-힣]", meanings.parameter_means(f"{method.upper()} {path}", one, "ko")), (path, one["name"])
                used |= {key for key, text in english["parameters"].items() if text == one["description"]}
            for name, own in meanings.bodies_of(described, operation).items():
                keys[name] = set(own)
                assert all(len(one["description"]) > 5 for one in own.values()), name
                assert all(re.search("[가-힣]", meanings.key_means(name, key, "ko")) for key in own), name
    assert english["parameters"].keys() == korean["parameters"].keys() == used, "and nothing that there is not"
    assert {name: texts.keys() for name, texts in english["bodies"].items()} == {name: texts.keys() for name, texts in korean["bodies"].items()}
    assert all(texts.keys() <= keys[name] for name, texts in english["bodies"].items() if name in keys)


def test_every_list_has_one_shape() -> None:
    """`items` and `total` where pages begin at an `offset`; `items`, `next` and `more` where they begin behind an event."""
    described = api.get_openapi_schema()
    for path, methods in described["paths"].items():
        operation = methods.get("get", {})
        taken = {one["name"] for one in operation.get("parameters", [])}
        content = operation.get("responses", {}).get(200, {}).get("content", {}).get("application/json")
        if content is None or path.endswith("/records") or not ("limit" in taken or path in LISTS):
            continue
        keys = described["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]["properties"].keys()
        assert keys >= ({"items", "next", "more"} if "since" in taken else {"items", "total"}), path


def test_every_type_of_problem_has_a_title_in_both_languages() -> None:
    english, korean = words_of("problems", "en"), words_of("problems", "ko")
    assert english["titles"].keys() == korean["titles"].keys()
    assert set(english["by_status"].values()) <= english["titles"].keys()
    assert all(re.search("[가-힣]", title) for title in korean["titles"].values())
