"""The gate in front of everything: pages, REST and WebSockets.

| looked at | refused with | why |
|---|---|---|
| Host | 421 | a name that an attacker lets point to 127.0.0.1 is not ours (`access`) |
| who asks | 401 | from elsewhere a token is needed; a person gets a page that asks for it |
| what for | 403 | a student's and a looker's are not all addresses (`rights`) |
| Origin, Sec-Fetch-Site | 403 | a page of another origin that wants to change something, or a WebSocket |
| Content-Type | 415 | REST takes only JSON: a form of another site cannot send that without being asked first |
| size of the body | 413 | more than `LARGEST` is not read; of a run that was packed more than `LARGEST_PACK` |
| bodies of all at once | 429 | more than `LARGEST_TOGETHER` are not held; of packs, on disk, `PACKS_TOGETHER` |
| time for a body | 408 | one that does not come within `BODY_S` is not waited for |

A link `/?token=TOKEN` leaves a cookie and leads to the same address without the token. A GET changes nothing, and what
it answers a page of another origin cannot read (no CORS). Files below `/static/` are everybody's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, parse_qsl, urlencode

from django.conf import settings
from django.db import Error as DatabaseError

from broker_core.kernel.problems import Problem, problem
from web import access, rights
from web.access import Headers, Scope
from web.api.errors import PREFIX
from web.api.problems import MEDIA_TYPE, body
from web.entrance import ENTER, Throttle, entered, entrance
from web.language import spoken
from web.rights import SAFE, Person

OPEN_TO_ALL = ("/api/docs.css",)
PACKS, HANDED_IN, PACK = f"{PREFIX}runs", f"{PREFIX}me/packs/", "application/gzip"
LARGEST = 2 * 1024 * 1024
LARGEST_PACK = 512 * 1024 * 1024
PACKS_TOGETHER = 2 * LARGEST_PACK
DIGITS = 18  # of a length, zeros in front included
LARGEST_TOGETHER = 32 * 1024 * 1024
BODY_S = 20.0

Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Refusal = tuple[int, Problem, str | None]


class Guard:
    """An ASGI application that lets requests and WebSockets through to another one, or refuses them."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.throttle = Throttle()
        self.held = Held(LARGEST, LARGEST_TOGETHER)
        self.packs = Held(LARGEST_PACK, PACKS_TOGETHER)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        elif scope["path"].startswith(settings.STATIC_URL) or scope["path"] in OPEN_TO_ALL:
            await self.application(scope, receive, send)
        else:
            await self._request(scope, receive, send)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A page of another origin may open a WebSocket to localhost: the browser does not stop it, this does."""
        headers = access.headers_of(scope)
        person = await _who(scope, headers)
        may = rights.in_lab(person, scope) if person is not None else None
        if not access.host_is_ours(headers) or may is None or not access.same_origin(headers):
            await receive()
            await send({"type": "websocket.close", "code": 4403})
            return
        await self.application({**scope, "may": may}, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = access.headers_of(scope)
        person = await _who(scope, headers)
        if person is None:
            await refuse(send, headers, 503, problem("no_database"), None)
            return
        may = person.level
        is_page = not scope["path"].startswith(PREFIX)
        refusal = check(scope, headers, person)
        if refusal is None or (is_page and refusal[0] == 401):
            if is_page and (refusal is not None or _token_of(scope)):
                await self._enter(scope, headers, may, receive, send)
                return
            bounded = Bounded(receive, send, self.packs if is_pack(scope) else self.held)
            try:
                asked = {**scope, "may": rights.in_lab(person, scope), "level": may, "student": person.student,
                         "group": person.group, "teacher": person.teacher, "classes": person.classes}  # fmt: skip
                await self.application(asked, bounded.receive, bounded.send)
            finally:
                bounded.end()
            refusal = bounded.refusal if not bounded.answered else None
        if refusal is not None:
            await refuse(send, headers, *refusal)

    async def _enter(self, scope: Scope, headers: Headers, may: str | None, receive: Receive, send: Send) -> None:
        """Somebody with a link, or somebody who may not come in yet."""
        peer = (scope.get("client") or ("",))[0]
        given = _token_of(scope)
        if scope["path"] == ENTER and scope["method"] == "POST":
            given = await _posted(receive)
        right = given if access.level_of_token(given) and not self.throttle.too_many(peer) else ""
        if right:
            await send_answer(send, *entered(_without_token(scope), right, headers, scope.get("scheme") == "https"))
            return
        if may is not None:  # a wrong or old token in the link of somebody who may come in anyway
            await send_answer(send, 303, [(b"location", _without_token(scope).encode("latin-1"))], b"")
            return
        if given:
            self.throttle.count(peer)
        status = 429 if self.throttle.too_many(peer) else 401
        language = spoken(headers.get(b"accept-language", ""), headers.get(b"cookie", ""))
        await send_answer(send, *entrance(language, bool(given), status))


async def _who(scope: Scope, headers: Headers) -> Person | None:
    """None when only the database could say, and it is away."""
    try:
        return await rights.who(scope, headers)
    except DatabaseError:
        return None


def check(scope: Scope, headers: Headers, person: Person) -> Refusal | None:
    """None, or why the request is refused."""
    if not access.host_is_ours(headers):
        name = headers.get(b"host", "")
        return 421, problem("not_this_host", name=name) if name else problem("not_named_host"), "Host"
    refused = rights.refusal(person, scope)
    if refused is not None:
        return *refused, "Authorization"
    if scope["method"] in SAFE:
        return None
    return _check_origin(headers) or _check_body(scope, headers)


def is_pack(scope: Scope) -> bool:
    """Whether the body is a run that was packed, which the lab's own process opens."""
    return bool(_takes_packs(scope["path"]) and scope["method"] == "POST" and settings.HOSTS_LAB)


def _takes_packs(path: str) -> bool:
    return path == PACKS or path.startswith(HANDED_IN)


def _check_origin(headers: Headers) -> Refusal | None:
    if not access.same_origin(headers):
        return 403, problem("other_page", origin=headers[b"origin"]), "Origin"
    if headers.get(b"sec-fetch-site", "none") not in ("none", "same-origin"):
        return 403, problem("other_site"), "Sec-Fetch-Site"
    return None


def _check_body(scope: Scope, headers: Headers) -> Refusal | None:
    most = LARGEST_PACK if is_pack(scope) else LARGEST
    length = headers.get(b"content-length", "0")
    if not length.isascii() or not length.isdigit():
        return 400, problem("length_no_number"), "Content-Length"
    if len(length) > DIGITS or int(length) > most:
        return _too_large(most)
    kind = headers.get(b"content-type", "").partition(";")[0].strip().lower()
    has_body = int(length) or b"transfer-encoding" in headers or kind
    wanted = PACK if _takes_packs(scope["path"]) else "application/json"
    if scope["path"].startswith(PREFIX) and has_body and kind != wanted:
        if wanted == PACK:
            return 415, problem("body_no_pack"), "Content-Type"
        return 415, problem("body_not_json", kind=kind) if kind else problem("body_of_no_kind"), "Content-Type"
    return None


def _too_large(most: int) -> Refusal:
    return 413, problem("body_too_large", most=most), "body"


class Held:
    """How much of all bodies of a kind this process holds at the moment, and how much it may: of one, of all."""

    def __init__(self, most: int = LARGEST, together: int = LARGEST_TOGETHER) -> None:
        self.size = 0
        self.most = most
        self.together = together


class Bounded:
    """Ends a request whose body is too large, comes too slowly, or is one too many."""

    def __init__(self, receive: Receive, send: Send, held: Held) -> None:
        self._receive, self._send, self._held = receive, send, held
        self.size = 0
        self.complete = self.answered = False
        self.refusal: Refusal | None = None

    async def receive(self) -> Scope:
        """The next piece; a refused request looks like one whose sender has hung up."""
        if self.refusal is not None:
            return {"type": "http.disconnect"}
        if self.complete:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), BODY_S)
        except TimeoutError:
            self.refusal = 408, problem("body_too_slow", most=BODY_S), "body"
            return {"type": "http.disconnect"}
        piece = len(message.get("body", b""))
        self.size += piece
        self._held.size += piece
        self.complete = not message.get("more_body", False)
        if self.size > self._held.most:
            self.refusal = _too_large(self._held.most)
        elif self._held.size > self._held.together:
            self.refusal = 429, problem("bodies_too_many"), "body"
        return message if self.refusal is None else {"type": "http.disconnect"}

    async def send(self, message: Scope) -> None:
        self.answered = True
        await self._send(message)

    def end(self) -> None:
        """The request is over."""
        self._held.size -= self.size
        self.size = 0


def _token_of(scope: Scope) -> str:
    """Of a link."""
    query: bytes = scope.get("query_string", b"")
    return parse_qs(query.decode("latin-1")).get("token", [""])[0]


def _without_token(scope: Scope) -> str:
    """The same address without the token; an address of this server, whatever the path looks like."""
    path = "/" if scope["path"] == ENTER else "/" + scope["path"].lstrip("/\\")
    query = parse_qsl(scope.get("query_string", b"").decode("latin-1"))
    rest = urlencode([pair for pair in query if pair[0] != "token"])
    return str(scope.get("base", "")) + path.encode("ascii", "ignore").decode() + (f"?{rest}" if rest else "")


async def _posted(receive: Receive) -> str:
    """The token of the form, if it is one of a sensible size."""
    bounded = Bounded(receive, receive, Held())  # type: ignore[arg-type]
    content = b""
    while not bounded.complete and bounded.refusal is None and len(content) <= 4096:
        content += (await bounded.receive()).get("body", b"")
    return parse_qs(content[:4096].decode("latin-1")).get("token", [""])[0].strip()


async def refuse(send: Send, headers: Headers, status: int, what: Problem, place: str | None) -> None:
    """A problem detail, for pages as well as for REST."""
    language = spoken(headers.get(b"accept-language", ""), headers.get(b"cookie", ""))
    content = body(status, what, place, language=language)
    found = [(b"content-type", MEDIA_TYPE.encode()), (b"content-language", language.encode()),
             (b"vary", b"accept-language, cookie")]  # fmt: skip
    if status == 401:
        found.append((b"www-authenticate", b"Bearer"))
    if status in (408, 413):
        found.append((b"connection", b"close"))
    await send_answer(send, status, found, content)


async def send_answer(send: Send, status: int, headers: list[tuple[bytes, bytes]], content: bytes) -> None:
    """A whole answer; one that brings no policy of its own gets the strictest."""
    given = {b"content-length": str(len(content)).encode(), b"content-security-policy": b"default-src 'none'",
             b"x-content-type-options": b"nosniff", **dict(headers)}  # fmt: skip
    await send({"type": "http.response.start", "status": status, "headers": list(given.items())})
    await send({"type": "http.response.body", "body": content})
