"""What can be looked up over REST, the page of operations, and who may ask what."""

from __future__ import annotations

import html
import importlib
import json
import pkgutil
import re
from collections import Counter
from http.client import HTTPConnection
from urllib.request import Request, urlopen

from tests.conftest import PATIENCE_S
import pytest
from pydantic import BaseModel
from tests.web.live_rest import Rest, refused, rest

import web.api
from broker_core.kernel.events import REGISTRY
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS
from lab.clusters.meanings import of_clients
from lab.clusters.vocabulary import KINDS
from lab.exercises import reading as exercises
from lab.quizzes.reading import standing_in
from lab.scenarios import grammar
from lab.trace.rows import rows
from web.api.docs import marked
from web.messages import LANGUAGES

__all__ = ["rest"]


def test_settings_events_and_commands_are_all_listed(rest: Rest) -> None:
    settings = rest.get("settings").json
    assert settings["total"] == len(settings["items"]) == len(BROKER_SETTINGS) + len(TOPIC_SETTINGS)
    (one,) = rest.get("settings?name=min.insync.replicas&of=topic").json["items"]
    assert (one["default"], one["broker_settings"]) == ("1", ["min.insync.replicas"])
    assert rest.get("settings?limit=2&offset=1").json["items"] == settings["items"][1:3]
    events = rest.get("events-registry").json["items"]
    assert {row["code"]: row["params"] for row in events} == {code.name: code.params for code in REGISTRY.values()}
    assert [row["do"] for row in rest.get("commands").json["items"]] == [*KINDS, "time"]


def test_no_two_shapes_have_one_name() -> None:
    """The description knows them by their names: of two it has the later one, wherever the other is meant."""
    modules = [importlib.import_module(f"web.api.{one.name}") for one in pkgutil.iter_modules(web.api.__path__)]
    shapes = {one for module in modules for one in vars(module).values() if isinstance(one, type) and issubclass(one, BaseModel)}
    names = Counter(one.__name__ for one in shapes if one.__module__.startswith("web."))
    assert len(names) > 200 and [name for name, count in names.items() if count > 1] == []


def test_the_page_of_operations_needs_nothing_from_elsewhere(rest: Rest) -> None:
    page = rest.get("docs")
    text = page.body.decode()
    for path, methods in rest.get("openapi.json").json["paths"].items():
        assert path in text and len(methods) > 0
    assert "<script" not in text and " style=" not in text
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert rest.get("docs.css").media == "text/css"


def test_the_page_of_operations_shows_calls_of_this_server(rest: Rest) -> None:
    text = html.unescape(rest.get("docs").body.decode())
    shown = re.findall(r"<pre><code>(curl .*?)</code></pre>", text)
    assert len(shown) > 20
    assert [one for one in shown if rest.url not in one] == []
    assert f"curl {rest.url}api/labs" in shown
    assert f"curl '{rest.url}api/scenarios/{{name}}'" in shown  # quoted: braces are curl's own


def test_the_page_of_operations_shows_names_as_code_and_no_backticks(rest: Rest) -> None:
    for language in ("en", "ko"):
        text = rest.get("docs", Accept_Language=language).body.decode()
        assert "`" not in text
        assert re.search(r"<p>[^<]*<code>", text)


def test_what_stands_in_backticks_is_code_and_all_else_is_shown_as_written() -> None:
    assert marked("`a<b` is <i>`") == "<code>a&lt;b</code> is &lt;i&gt;`"


# -- who may ask ----------------------------------------------------------------------------
def test_a_page_of_another_origin_changes_nothing(rest: Rest) -> None:
    command = {"do": "stop_all_faults"}
    refused(rest.post("labs/lab/commands", command, Origin="http://evil.example"), 403, "Origin")
    refused(rest.post("labs/lab/commands", command, Origin="null"), 403, "Origin")
    refused(rest.post("labs/lab/commands", command, Sec_Fetch_Site="same-site"), 403, "Sec-Fetch-Site")
    assert rest.post("labs/lab/commands", command, Origin=rest.url.rstrip("/"), Sec_Fetch_Site="same-origin").status == 200
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        refused(rest.post("labs/lab/commands", command, Content_Type=kind), 415, "Content-Type")


def test_another_host_name_is_refused_and_a_forwarded_request_needs_the_token(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(rest.get("labs", Host="evil.example"), 421, "Host")
    refused(rest.get("labs", X_Forwarded_For="198.51.100.7"), 401, "Authorization")
    monkeypatch.setenv("BROKERLAB_TOKEN", "s3cret")
    refused(rest.get("labs", X_Forwarded_For="198.51.100.7", Authorization="Bearer other"), 401, "Authorization")
    assert rest.get("labs", X_Forwarded_For="198.51.100.7", Authorization="Bearer s3cret").status == 200


def test_what_is_too_large_is_not_read(rest: Rest) -> None:
    host, port = rest.url.removeprefix("http://").rstrip("/").split(":")
    for headers, pieces in (({"Content-Length": "2097153"}, 0), ({"Transfer-Encoding": "chunked"}, 33)):
        socket = HTTPConnection(host, int(port), timeout=PATIENCE_S)
        socket.putrequest("POST", "/api/labs/lab/commands")
        for name, value in {"Content-Type": "application/json", **headers}.items():
            socket.putheader(name, value)
        socket.endheaders()
        for _ in range(pieces):
            socket.send(b"10000\r\n" + b" " * 65536 + b"\r\n")
        answer = socket.getresponse()
        assert (answer.status, json.loads(answer.read())["place"]) == (413, "body")
        socket.close()


def test_addresses_and_methods_that_are_none_are_problems_too(rest: Rest) -> None:
    refused(rest.get("nowhere"), 404, None)
    assert refused(rest.call("PUT", "labs"), 405, None)["type"] == "/api/problems#wrong-method"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_trace_leads_from_every_row_to_what_is_there(rest: Rest, language: str) -> None:
    with urlopen(Request(f"{rest.url}trace/", headers={"accept-language": language}), timeout=PATIENCE_S) as answer:
        page = answer.read().decode()
    ids = set(re.findall(r' id="([^"]+)"', page))
    assert {html.escape(row.title[language]) for row in rows().values()} == set(re.findall(r'-name">\w+ (.*?)</h3>', page))
    assert [name for name in re.findall(r'href="#([^"]+)"', page) if name not in ids] == []
    assert set(re.findall(r'href="/#lesson=([^"]+)"', page)) == set(grammar.names())
    assert set(re.findall(r'href="/quizzes/([^"]+)/"', page)) == set(standing_in().values())
    assert set(re.findall(r'href="/exercises/([^"]+)/"', page)) == set(exercises.names())
    assert {f"settings-{name}" for name in (*BROKER_SETTINGS, *TOPIC_SETTINGS, *of_clients())} <= ids, "the lab's settings lead here"
    assert {"settings-acks", "metrics-IsrShrinksPerSec", "tables-isr_changes", "events-leader_elected"} <= ids
    assert {f"questions-{quiz}" for quiz in standing_in().values()} <= ids, "each quiz leads back to its rows"
    assert set(re.findall(r'href="#exercises-([^"]+)"', page)) == set(exercises.names()), "settings lead to exercises"
    assert "<script" not in page and " style=" not in page
