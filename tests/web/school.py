"""People who come from other machines: a teacher with the token, students who have joined, a looker, nobody."""

from __future__ import annotations

import http.client
import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.conftest import PATIENCE_S
from tests.web.rest import Caller
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

ELSEWHERE = {"X-Forwarded-For": "198.51.100.7"}
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@dataclass
class Told:
    status: int
    headers: http.client.HTTPMessage
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Visitor:
    """A browser somewhere else: it keeps its cookies and follows nothing by itself."""

    url: str
    bearer: str = ""
    cookies: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> Told:
        headers = self.headers()
        if body is not None:
            headers["Content-Type"] = kind
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE_S)
        connection.request(method, path, body, headers)
        found = connection.getresponse()
        told = Told(found.status, found.headers, found.read().decode(errors="replace"))
        connection.close()
        for given in found.headers.get_all("Set-Cookie") or ():
            name, _, value = given.partition(";")[0].partition("=")
            self.cookies[name] = value
        return told

    def headers(self) -> dict[str, str]:
        """Who he is."""
        found = dict(ELSEWHERE)
        if self.bearer:
            found["Authorization"] = f"Bearer {self.bearer}"
        if self.cookies:
            found["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return found

    def socket(self, path: str) -> ClientConnection:
        """As a page of this server opens it."""
        return connect(self.url.replace("http", "ws") + path, additional_headers=self.headers(), origin=Origin(self.url))

    def get(self, path: str) -> Told:
        return self.ask("GET", path)

    def post(self, path: str, content: Any = None) -> Told:
        return self.ask("POST", path, json.dumps(content if content is not None else {}).encode())

    def join(self, code: str, name: str) -> Told:
        """Through the door, as a browser does it."""
        token = TOKEN.search(self.get(f"/join/{code}/").text)
        assert token is not None
        form = urlencode({"csrfmiddlewaretoken": token[1], "code": code, "name": name}).encode()
        return self.ask("POST", "/join/", form, "application/x-www-form-urlencoded")


def student(url: str, code: str, name: str) -> Visitor:
    """Somebody who has joined."""
    made = Visitor(url)
    told = made.join(code, name)
    assert (told.status, told.headers["Location"]) == (303, "/class/") or told.status == 302, told.text
    return made


def enter(visitor: Visitor, name: str, password: str) -> Told:
    """Through the door of teachers."""
    token = TOKEN.search(visitor.get("/teach/").text)
    assert token is not None
    form = urlencode({"csrfmiddlewaretoken": token[1], "name": name, "password": password}).encode()
    return visitor.ask("POST", "/teach/", form, "application/x-www-form-urlencoded")


def teacher(rest: Caller, name: str) -> Visitor:
    """A teacher with an account, who has come in."""
    made = rest.post("teachers", {"name": name})
    assert (made.status, made.json["door"]) == (201, "/teach/")
    visitor = Visitor(rest.url.rstrip("/"))
    assert enter(visitor, name, made.json["password"]).headers["Location"] == "/classes/"
    return visitor
