"""REST in a process that only serves viewers: each request goes to the host of the lab and comes back answered.

```
caller -> guard -> Forwarder  == Redis ==>  answered() -> Django of the host
caller <-          Forwarder  <== Redis ==  status, headers, body
```
So the whole of REST is there, with the same answers, whichever process is asked. Who may ask is decided where the
caller is. An answer of more than `MOST` bytes does not fit: then the problem says which address to ask instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings

from broker_core.kernel.problems import problem
from lab.branch import BranchError
from lab.open_runs import LabError
from web import rights
from web.access import headers_of
from web.addresses import is_in_short, lab_of
from web.api.errors import PREFIX
from web.api.problems import MEDIA_TYPE, body
from web.language import spoken
from web.live import wire_names
from web.live.hub import hub
from web.live.labs import labs
from web.live.remote import RemoteLab

MOST = 8 * 1024 * 1024
HERE = (f"{PREFIX}docs", f"{PREFIX}docs.css", f"{PREFIX}openapi.json", f"{PREFIX}problems")
CARRIED = (b"accept", b"accept-language", b"content-type", b"cookie")
SLOW = ("/verify", "/receipt")
TEMPORARY = (b"connection", b"transfer-encoding", b"content-length")

Application = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


class TooLarge(Exception):
    """An answer that does not fit into a message."""


# -- where the caller is --------------------------------------------------------------------
def host_of(scope: dict[str, Any]) -> RemoteLab | None:
    """The lab whose process has to answer this request, when that is another one."""
    if not scope["path"].startswith(PREFIX) or scope["path"] in HERE or is_in_short(scope):
        return None
    name, people = lab_of(scope), rights.is_about_people(scope["path"])
    if settings.HOSTS_LAB and (not name or people or scope["path"] == f"{PREFIX}labs/{name}/start"):
        return None
    found = labs.hub(name) if settings.HOSTS_LAB else hub
    return found.lab if found is not None and isinstance(found.lab, RemoteLab) else None


async def forward(lab: RemoteLab, scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer as the lab's process does."""
    content = await _whole_body(receive)
    if content is None:
        return
    headers = headers_of(scope)
    request = {
        "method": scope["method"], "path": scope["path"], "query": scope["query_string"].decode("latin-1"),
        "headers": [[name.decode(), headers[name]] for name in CARRIED if name in headers], "body": content,
        "lab": scope.get("lab", ""), "base": scope.get("base", ""),
        "may": scope.get("may"),
    }  # fmt: skip
    try:
        found = await asyncio.wrap_future(lab.call("http", None, request, patience_s=patience(request, lab.patience_s)))
    except (LabError, BranchError) as error:
        language = spoken(headers.get(b"accept-language", ""), headers.get(b"cookie", ""))
        found = {"status": 503, "body": body(503, error.problem, "lab", language, "host-away"),
                 "headers": [["content-type", MEDIA_TYPE], ["retry-after", "1"]]}  # fmt: skip
    raw = [(name.encode(), value.encode("latin-1")) for name, value in found["headers"]]
    raw.append((b"content-length", str(len(found["body"])).encode()))
    await send({"type": "http.response.start", "status": found["status"], "headers": raw})
    await send({"type": "http.response.body", "body": found["body"]})


def patience(request: dict[str, Any], usual_s: float = wire_names.PATIENCE_S) -> float:
    """How long the host may take: some questions take their time, and some callers want to wait."""
    if request["path"].endswith(SLOW):
        return wire_names.SLOW_PATIENCE_S
    wanted = parse_qs(request["query"]).get("wait", ["0"])[0]
    return usual_s + (min(30.0, float(wanted)) if wanted.replace(".", "", 1).isdigit() else 0.0)


async def _whole_body(receive: Any) -> bytes | None:
    """None when the caller has hung up (or was refused by the guard)."""
    content: bytes = b""
    while True:
        message: dict[str, Any] = await receive()
        if message["type"] == "http.disconnect":
            return None
        content += message.get("body", b"")
        if not message.get("more_body", False):
            return content


# -- where the lab is -----------------------------------------------------------------------
async def answered(request: dict[str, Any], address: str) -> dict[str, Any]:
    """What this process's own application says: {"status", "headers", "body"}."""
    from web.asgi import of_its_lab

    person = rights.Person(request.get("may"))
    asked = {"lab": "", **request, "query_string": request["query"].encode("latin-1")}
    refused = rights.refusal(person, asked)
    if refused is not None:  # only the host knows whose a lab is
        given = dict(request["headers"])
        language = spoken(given.get("accept-language", ""), given.get("cookie", ""))
        content = body(*refused, "Authorization", language)
        return {"status": refused[0], "headers": [["content-type", MEDIA_TYPE]], "body": content}
    try:
        return await _Exchange(request).run(of_its_lab)
    except TooLarge:
        given = dict(request["headers"])
        language = spoken(given.get("accept-language", ""), given.get("cookie", ""))
        what = problem("answer_too_large", most=MOST >> 20, address=address)
        content = body(501, what, "lab", language, "ask-the-host", host=address)
        return {"status": 501, "headers": [["content-type", MEDIA_TYPE]], "body": content}


class _Exchange:
    """One request and the answer as it comes, piece by piece."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.status = 500
        self.headers: list[list[str]] = []
        self.pieces: list[bytes] = []
        self.size = 0
        self.asked = False

    async def run(self, application: Application) -> dict[str, Any]:
        request = self.request
        headers = [(name.encode(), value.encode("latin-1")) for name, value in request["headers"]]
        headers += [(b"host", b"localhost"), (b"content-length", str(len(request["body"])).encode())]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": request["method"],
            "path": request["path"], "raw_path": request["path"].encode(), "root_path": "", "scheme": "http",
            "query_string": request["query"].encode("latin-1"), "headers": headers, "client": None, "server": None,
            "lab": request.get("lab", ""), "base": request.get("base", ""),
            "may": request.get("may"), "level": request.get("may"),
        }  # fmt: skip
        await application(scope, self.receive, self.send)
        return {"status": self.status, "headers": self.headers, "body": b"".join(self.pieces)}

    async def receive(self) -> dict[str, Any]:
        if self.asked:
            await asyncio.Event().wait()  # nobody hangs up here; Django ends this when it has answered
        self.asked = True
        return {"type": "http.request", "body": self.request["body"], "more_body": False}

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = [[name.decode(), value.decode("latin-1")] for name, value in message["headers"]
                            if name.lower() not in TEMPORARY]  # fmt: skip
            return
        self.pieces.append(message.get("body", b""))
        self.size += len(self.pieces[-1])
        if self.size > MOST:
            raise TooLarge
