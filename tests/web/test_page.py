"""The page and its files over HTTP: first snapshot, languages, policy, hashed modules."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import CHECKOUT, PATIENCE_S
from tests.web.conftest import Served

from broker_core.kernel.problems import problem


def fetch(served: Served, path: str, **headers: str) -> tuple[int, Any, str]:
    request = urllib.request.Request(served.url + path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def post(served: Served, path: str, body: str, kind: str = "application/json") -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(served.url + path, body.encode(), {"Content-Type": kind})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_the_first_answer_holds_the_partitions_and_the_snapshot(served: Served) -> None:
    status, _, text = fetch(served, "")
    assert status == 200
    assert '<th scope="row">orders-5</th>' in text
    block = re.search(r'<script type="application/json" id="snapshot">(.*?)</script>', text)
    assert block is not None
    assert json.loads(block[1])["state"]["cluster"]["controller"] == 2


def test_text_of_a_lab_cannot_end_the_data_block(served: Served) -> None:
    served.lab.state["topics"]["orders"]["configs"]["x"] = "</script><script>alert(1)</script>"
    text = fetch(served, "")[2]
    assert "<script>alert" not in text


def test_korean_comes_to_those_who_ask_for_it(served: Served) -> None:
    text = fetch(served, "", Accept_Language="ko-KR,ko;q=0.9")[2]
    assert '<html lang="ko">' in text
    assert "Kafka 클러스터 실험실" in text


def test_the_texts_for_a_newcomer_are_a_page_in_each_language(served: Served) -> None:
    for language, sentence in (("en", "What is the ISR?"), ("ko", "ISR이란 무엇인가")):
        text = fetch(served, "basics/", Accept_Language=language)[2]
        assert f'<h2 id="isr-title">{sentence}</h2>' in text and text.count("<article") == 8
        assert 'href="/glossary/#isr"' in text and "#lesson=isr-shrink-and-catch-up" in text
        assert re.findall(r'href="/quizzes/basics-([^"]+)/"', text) == re.findall(r'<article id="([^"]+)"', text)


def test_nothing_inline_may_run_and_nothing_foreign_is_named(served: Served) -> None:
    _, headers, text = fetch(served, "")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]*(src=|application/json))", text)
    assert not re.search(r"\sstyle=|\son\w+=", text)
    assert not re.search(r"""(src|href)=["']https?://""", text)


def test_modules_have_hashed_names_down_to_their_imports(served: Served) -> None:
    text = fetch(served, "")[2]
    main = re.search(r'src="/(static/main\.[0-9a-f]{12}\.js)"', text)
    assert main is not None
    status, headers, module = fetch(served, main[1])
    assert (status, headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    assert "immutable" in headers["Cache-Control"]
    imports = re.findall(r'from "(\./[^"]+)"', module)
    assert imports
    assert all(re.search(r"\.[0-9a-f]{12}\.js$", name) for name in imports)


@pytest.mark.parametrize("path", ["static/../settings.py", "static/%2e%2e/secret_key", "static/nothing.js", "nowhere"])
def test_what_is_not_there_is_not_found(served: Served, path: str) -> None:
    assert fetch(served, path)[0] == 404


def test_a_host_that_is_not_this_machine_is_refused(served: Served) -> None:
    assert fetch(served, "", Host="evil.example")[0] == 421


def test_a_language_can_be_fetched_alone(served: Served) -> None:
    assert json.loads(fetch(served, "messages/ko.json")[2])["language"] == "ko"
    assert fetch(served, "messages/xx.json")[0] == 404


def test_rest_gives_the_snapshot_and_takes_the_same_commands(served: Served) -> None:
    assert json.loads(fetch(served, "api/labs/lab/snapshot")[2])["state"]["cluster"]["seed"] == 42
    assert post(served, "api/labs/lab/commands", '{"do": "kill", "broker": 2}')[1]["ok"] is True
    assert served.lab.commands == [{"do": "kill", "broker": 2}]
    codes = [row[2] for row in json.loads(fetch(served, "api/labs/lab/events?since=0")[2])["items"]]
    assert codes[:2] == ["command", "process_ended"]


def test_rest_says_what_is_wrong_with_a_command(served: Served) -> None:
    assert post(served, "api/labs/lab/commands", "{")[0] == 400
    assert post(served, "api/labs/lab/commands", "{}")[1]["place"] == "do"
    assert post(served, "api/labs/lab/commands", "do=kill", "application/x-www-form-urlencoded")[0] == 415
    served.lab.refuse = problem("no_broker", broker=9)
    status, answer = post(served, "api/labs/lab/commands", '{"do": "kill", "broker": 9}')
    assert (status, answer["detail"], answer["place"]) == (422, "there is no broker 9", "do")


def test_events_that_are_gone_say_so(served: Served) -> None:
    served.lab.forgotten = True
    assert fetch(served, "api/labs/lab/events?since=0")[0] == 410


def test_modules_never_import_each_other_in_a_circle() -> None:
    """A hashed name holds the names of what it imports: a circle would have no end."""
    home = CHECKOUT / "static"
    imports = {path: [(path.parent / name).resolve() for name in re.findall(r'from "(\.[^"]+)"', path.read_text())]
               for path in home.rglob("*.js")}
    done: dict[Path, None] = {}

    def walk(path: Path, above: tuple[Path, ...]) -> None:
        assert path not in above, " -> ".join(one.name for one in (*above, path))
        if path not in done:
            for one in imports[path]:
                walk(one, (*above, path))
            done[path] = None

    for path in sorted(imports):
        walk(path, ())


@pytest.mark.parametrize("path", ["", "not-modelled/", "api/openapi.json", "static/icon.svg"])
def test_head_is_answered_as_get_without_the_body(served: Served, path: str) -> None:
    request = urllib.request.Request(served.url + path, method="HEAD")
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        status, headers, _ = fetch(served, path)
        assert (answer.status, status) == (200, 200)
        assert answer.headers["Content-Type"] == headers["Content-Type"]
        assert answer.read() == b""


@pytest.mark.parametrize(("language", "title"), [("en", "There is no such page"), ("ko", "그런 페이지가 없습니다")])
def test_an_address_that_is_none_is_told_in_the_readers_language(served: Served, language: str, title: str) -> None:
    status, headers, text = fetch(served, "runs/%3Cb%3E", accept_language=language)
    assert status == 404 and headers["Content-Security-Policy"]
    assert f'<html lang="{language}">' in text and f"<h1>{title}</h1>" in text and 'href="/"' in text
    assert "<code>/runs/&lt;b&gt;</code>" in text and "<b>" not in text
