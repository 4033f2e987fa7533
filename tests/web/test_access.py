"""Who may come in: on this machine everybody, from elsewhere whoever has a token, and the class may look."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.conftest import PATIENCE_S
import pytest
from tests.web.conftest import Served
from tests.web.test_live import get, hello
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

ELSEWHERE = {"X-Forwarded-For": "198.51.100.7"}


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    text: str


def ask(served: Served, path: str, body: str | None = None, **headers: str) -> Answer:
    """One request that follows no redirection."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection(urlsplit(served.url).netloc, timeout=PATIENCE_S)
    connection.request("GET" if body is None else "POST", path, body, named)
    found = connection.getresponse()
    answer = Answer(found.status, found.headers, found.read().decode())
    connection.close()
    return answer


def dial(served: Served, headers: dict[str, str], **more: Any) -> ClientConnection:
    more.setdefault("origin", served.url.rstrip("/"))
    return connect(served.url.replace("http", "ws") + "live/", additional_headers=headers, **more)


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("BROKERLAB_TOKEN", "teacher")
    monkeypatch.setenv("BROKERLAB_CLASS_TOKEN", "student")
    yield


def cookie_of(served: Served, token: str) -> str:
    """What the link with a token leaves in a browser."""
    answer = ask(served, f"/?token={token}&x=1", **ELSEWHERE)
    assert (answer.status, answer.headers["Location"]) == (303, "/?x=1")
    given = answer.headers["Set-Cookie"]
    assert "HttpOnly" in given and "SameSite=Lax" in given and token not in given
    return str(given.partition(";")[0])


def test_somebody_from_elsewhere_is_asked_for_a_token_in_his_language(served: Served, tokens: None) -> None:
    answer = ask(served, "/", **ELSEWHERE, Accept_Language="ko")
    assert (answer.status, "이 실험실에는 토큰이 필요합니다" in answer.text) == (401, True)
    assert "snapshot" not in answer.text and "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert ask(served, "/messages/ko.json", **ELSEWHERE).status == 401
    assert ask(served, "/api/labs", **ELSEWHERE).status == 401


def test_a_link_with_the_token_opens_the_page_and_the_wire(served: Served, tokens: None) -> None:
    cookie = cookie_of(served, "teacher")
    page = ask(served, "/", **ELSEWHERE, Cookie=cookie)
    assert page.status == 200 and 'id="snapshot"' in page.text
    assert ask(served, "/api/labs", **ELSEWHERE, Cookie=cookie).status == 200
    with dial(served, {**ELSEWHERE, "Cookie": cookie}) as socket:
        hello(served, socket)
        get(socket, "snap")
        socket.send(json.dumps({"k": "cmd", "id": 1, "do": "kill", "broker": 1}))
        assert get(socket, "ack")["ok"]


def test_the_token_can_be_typed_in(served: Served, tokens: None) -> None:
    form = {"Content_Type": "application/x-www-form-urlencoded", **ELSEWHERE}
    right = ask(served, "/enter/", urlencode({"token": "teacher"}), **form)
    assert (right.status, right.headers["Location"]) == (303, "/")
    wrong = ask(served, "/enter/", urlencode({"token": "guess"}), **form)
    assert (wrong.status, "That is not the token" in wrong.text, wrong.headers["Set-Cookie"]) == (401, True, None)


def test_after_ten_wrong_tokens_even_the_right_one_has_to_wait(served: Served, tokens: None) -> None:
    from web.asgi import guard
    from web.entrance import Throttle

    guard.throttle = Throttle()
    assert [ask(served, f"/?token=guess{n}", **ELSEWHERE).status for n in range(11)] == [401] * 9 + [429] * 2
    assert ask(served, "/?token=teacher", **ELSEWHERE).status == 429
    assert ask(served, "/", Accept="text/html").status == 200  # on this machine nothing has changed
    guard.throttle = Throttle()


def test_a_link_leads_nowhere_else(served: Served, tokens: None) -> None:
    for path in ("//evil.example/?token=teacher", "/%5Cevil.example?token=teacher", "/\\evil.example/?token=teacher"):
        location = ask(served, path, **ELSEWHERE).headers["Location"]
        assert location.startswith("/") and not location.startswith(("//", "/\\")), location


def test_who_has_the_classs_token_may_look_and_not_touch(served: Served, tokens: None) -> None:
    cookie = cookie_of(served, "student")
    came = {**ELSEWHERE, "Cookie": cookie}
    assert ask(served, "/", **came).status == 200
    assert ask(served, "/api/labs/lab/snapshot", **came).status == 200
    command = json.dumps({"do": "kill", "broker": 1})
    refused = ask(served, "/api/labs/lab/commands", command, Content_Type="application/json", **came)
    assert (refused.status, json.loads(refused.text)["type"]) == (403, "/api/problems#not-allowed")
    with dial(served, came) as socket:
        hello(served, socket)
        get(socket, "snap")
        for message in ({"k": "cmd", "do": "kill", "broker": 1}, {"k": "cmd", "do": "time", "speed": "pause"},
                        {"k": "ask", "what": "fork", "seq": 0}):
            socket.send(json.dumps({"id": 1, **message}))
            ack = get(socket, "ack")
            assert (ack["ok"], ack["problem"]["code"]) == (False, "look_only")
    assert served.lab.commands == []


def test_a_cookie_of_another_token_lets_nobody_in(served: Served, tokens: None, monkeypatch: pytest.MonkeyPatch) -> None:
    cookie = cookie_of(served, "teacher")
    monkeypatch.setenv("BROKERLAB_TOKEN", "another")
    assert ask(served, "/api/labs", **ELSEWHERE, Cookie=cookie).status == 401
    assert ask(served, "/", **ELSEWHERE, Cookie="\x01bad; ===").status == 401


@pytest.mark.parametrize("headers", [ELSEWHERE, {**ELSEWHERE, "Cookie": "brokerlab-page=x"}, {"Host": "evil.example"}])
def test_without_a_token_nobody_from_elsewhere_gets_the_wire(served: Served, tokens: None, headers: dict[str, str]) -> None:
    with pytest.raises(InvalidStatus), dial(served, headers):
        pass


def test_a_page_on_another_port_of_this_machine_gets_no_wire(served: Served) -> None:
    with pytest.raises(InvalidStatus), dial(served, {}, origin="http://127.0.0.1:3000"):
        pass
    with dial(served, {}, origin=None) as script:  # no browser: no origin
        hello(served, script)
        get(script, "snap")


def test_a_program_from_elsewhere_brings_the_token_in_a_header(served: Served, tokens: None) -> None:
    with dial(served, {**ELSEWHERE, "Authorization": "Bearer teacher"}, origin=None) as socket:
        hello(served, socket)
        assert get(socket, "snap")["run"] == "recorded"


def test_a_problem_is_told_in_the_language_that_is_asked_for_and_its_type_stays(served: Served) -> None:
    english, korean = (json.loads(ask(served, "/api/labs/other", Accept_Language=one).text) for one in ("fr, en", "ko-KR"))
    assert english["type"] == korean["type"] == "/api/problems#no-such-lab"
    assert (english["title"], english["detail"]) == ("There is no such lab", "there is no lab other; this process knows lab")
    assert (korean["title"], korean["detail"]) == ("그런 실험실이 없습니다", "실험실 other는 없습니다. 이 프로세스가 아는 실험실: lab")
    chosen = ask(served, "/api/labs/other", Accept_Language="en", Cookie="django_language=ko")
    assert json.loads(chosen.text)["title"] == korean["title"] and chosen.headers["Content-Language"] == "ko"


def test_the_page_knows_who_only_looks(served: Served, tokens: None) -> None:
    """What can not be done does not look as if it could."""
    for token, may in (("student", "look"), ("teacher", "act")):
        page = ask(served, "/", Cookie=cookie_of(served, token), **ELSEWHERE)
        assert f'<body data-may="{may}" ' in page.text
    assert '<body data-may="act" ' in ask(served, "/").text
