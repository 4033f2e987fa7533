"""The gate in front of everything: pages, REST and WebSockets.

| looked at | refused with | why |
|---|---|---|
| Host | 421 | a name that an attacker lets point to 127.0.0.1 is not ours (`access`) |
| who asks | 401 | from elsewhere a token is needed; a person gets a page that asks for it |
| what for | 403 | the class's token is for looking only |
| Origin, Sec-Fetch-Site | 403 | a page of another origin that wants to change something, or a WebSocket |
| Content-Type | 415 | REST takes only JSON: a form of another site cannot send that without being asked first |
| size of the body | 413 | more than `LARGEST` is not read |
| bodies of all at once | 429 | more than `LARGEST_TOGETHER` are not held |
| time for a body | 408 | one that does not come within `BODY_S` is not waited for |

A link `/?token=TOKEN` leaves a cookie and leads to the same address without the token. A GET changes nothing, and what
it answers a page of another origin cannot read (no CORS). Files below `/static/` are everybody's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, parse_qsl, urlencode

from django.conf import settings

from web import access
from web.access import LOOK, Headers, Scope
from web.api.errors import PREFIX
from web.api.problems import MEDIA_TYPE, body
from web.entrance import ENTER, Throttle, entered, entrance
from web.language import spoken

OPEN_TO_ALL = ("/api/docs.css",)
CHANGES_NO_LAB = ("/language/", "/api/scenarios/validate", "/api/scenarios/link", "/api/scenarios/link/read")
LARGEST = 2 * 1024 * 1024
LARGEST_TOGETHER = 32 * 1024 * 1024
BODY_S = 20.0
SAFE = ("GET", "HEAD", "OPTIONS")

Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Refusal = tuple[int, str, str | None]


class Guard:
    """An ASGI application that lets requests and WebSockets through to another one, or refuses them."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.throttle = Throttle()
        self.held = Held()

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
        may = access.level(scope, headers)
        if not access.host_is_ours(headers) or may is None or not access.same_origin(headers):
            await receive()
            await send({"type": "websocket.close", "code": 4403})
            return
        await self.application({**scope, "may": may}, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = access.headers_of(scope)
        may = access.level(scope, headers)
        is_page = not scope["path"].startswith(PREFIX)
        refusal = check(scope, headers, may)
        if refusal is None or (is_page and refusal[0] == 401):
            if is_page and (may is None or _token_of(scope)):
                await self._enter(scope, headers, may, receive, send)
                return
            bounded = Bounded(receive, send, self.held)
            try:
                await self.application({**scope, "may": may}, bounded.receive, bounded.send)
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


def check(scope: Scope, headers: Headers, may: str | None) -> Refusal | None:
    """None, or why the request is refused."""
    if not access.host_is_ours(headers):
        return 421, f"this is not {headers.get(b'host', '') or 'a host that was named'}", "Host"
    if may is None:
        return 401, "a token is needed: Authorization: Bearer TOKEN", "Authorization"
    if scope["method"] in SAFE:
        return None
    if may == LOOK and scope["path"] not in CHANGES_NO_LAB:
        return 403, "the class's token is for looking only", "Authorization"
    return _check_origin(headers) or _check_body(headers, scope["path"].startswith(PREFIX))


def _check_origin(headers: Headers) -> Refusal | None:
    if not access.same_origin(headers):
        return 403, f"a page of {headers[b'origin']} may not change anything here", "Origin"
    if headers.get(b"sec-fetch-site", "none") not in ("none", "same-origin"):
        return 403, "a page of another site may not change anything here", "Sec-Fetch-Site"
    return None


def _check_body(headers: Headers, is_rest: bool) -> Refusal | None:
    length = headers.get(b"content-length", "0")
    if not length.isdigit():
        return 400, "Content-Length is not a number", "Content-Length"
    if int(length) > LARGEST:
        return _too_large()
    kind = headers.get(b"content-type", "").partition(";")[0].strip().lower()
    has_body = int(length) or b"transfer-encoding" in headers or kind
    if is_rest and has_body and kind != "application/json":
        return 415, f"the body must be application/json, found {kind or 'nothing that says what it is'}", "Content-Type"
    return None


def _too_large() -> Refusal:
    return 413, f"the body is larger than {LARGEST:,} bytes", "body"


class Held:
    """How much of all bodies this process holds at the moment."""

    def __init__(self) -> None:
        self.size = 0


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
            self.refusal = 408, f"the body has not come within {BODY_S:.0f} seconds", "body"
            return {"type": "http.disconnect"}
        piece = len(message.get("body", b""))
        self.size += piece
        self._held.size += piece
        self.complete = not message.get("more_body", False)
        if self.size > LARGEST:
            self.refusal = _too_large()
        elif self._held.size > LARGEST_TOGETHER:
            self.refusal = 429, "too many large bodies at once", "body"
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
    return parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]


def _without_token(scope: Scope) -> str:
    """The same address without the token; an address of this server, whatever the path looks like."""
    path = "/" if scope["path"] == ENTER else "/" + scope["path"].lstrip("/\\")
    query = parse_qsl(scope.get("query_string", b"").decode("latin-1"))
    rest = urlencode([pair for pair in query if pair[0] != "token"])
    return path.encode("ascii", "ignore").decode() + (f"?{rest}" if rest else "")


async def _posted(receive: Receive) -> str:
    """The token of the form, if it is one of a sensible size."""
    bounded = Bounded(receive, receive, Held())  # type: ignore[arg-type]
    content = b""
    while not bounded.complete and bounded.refusal is None and len(content) <= 4096:
        content += (await bounded.receive()).get("body", b"")
    return parse_qs(content[:4096].decode("latin-1")).get("token", [""])[0].strip()


async def refuse(send: Send, headers: Headers, status: int, detail: str, place: str | None) -> None:
    """A problem detail, for pages as well as for REST."""
    language = spoken(headers.get(b"accept-language", ""), headers.get(b"cookie", ""))
    content = body(status, detail, place, language=language)
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
