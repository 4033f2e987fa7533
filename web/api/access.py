"""Who may ask: a guard in front of everything below `/api/`.

| looked at | refused with | why |
|---|---|---|
| Host | 421 | a name that an attacker lets point to 127.0.0.1 (DNS rebinding) is not ours |
| Authorization | 401 | not from this machine: `Bearer` and the token are asked for |
| Origin, Sec-Fetch-Site | 403 | a page of another origin that wants to change something |
| Content-Type | 415 | only JSON: a form of another site cannot send that without being asked first |
| size of the body | 413 | more than `LARGEST` is not read |

*From this machine* means: the peer's address and the Host are this machine's, and no proxy has forwarded
the request. The token is BROKERLAB_TOKEN, or drawn once for each data directory and kept in its file
`web/token`. A GET changes nothing, and what it answers a page of another origin cannot read (no CORS).
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from web.api.problems import MEDIA_TYPE, body

PREFIX = "/api/"
LARGEST = 2 * 1024 * 1024
SAFE = ("GET", "HEAD", "OPTIONS")
FORWARDED = (b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip")

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Refusal = tuple[int, str, str | None]


def token() -> str:
    """What a caller from elsewhere must bring."""
    given = os.environ.get("BROKERLAB_TOKEN")
    return given or _kept_token(settings.DATA_DIR / "token")


def _kept_token(path: Path) -> str:
    """The token in a file that only its owner can read; drawn when it is not there."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(32))
    return path.read_text()


class ApiGuard:
    """An ASGI application that lets a request through to another one, or refuses it."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["path"].startswith(PREFIX):
            await self.application(scope, receive, send)
            return
        refusal = check(scope)
        if refusal is not None:
            await _refuse(send, *refusal)
            return
        bounded = _Bounded(receive, send)
        await self.application(scope, bounded.receive, bounded.send)
        if bounded.too_large and not bounded.answered:
            await _refuse(send, *_too_large())


class _Bounded:
    """Ends a request whose body, sent without a length, grows beyond the limit."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.size = 0
        self.too_large = self.answered = False

    async def receive(self) -> dict[str, Any]:
        if self.too_large:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self.size += len(message.get("body", b""))
        self.too_large = self.size > LARGEST
        return {"type": "http.disconnect"} if self.too_large else message

    async def send(self, message: dict[str, Any]) -> None:
        self.answered = True
        await self._send(message)


def check(scope: Scope) -> Refusal | None:
    """None, or why the request is refused."""
    headers: dict[bytes, str] = {name: value.decode("latin-1") for name, value in scope["headers"]}
    host = headers.get(b"host", "").lower()
    domain, _ = split_domain_port(host)
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        return 421, "this is not the host that was asked for", "Host"
    if not (from_this_machine(scope, headers, domain) or _has_token(headers)):
        return 401, "a token is needed: Authorization: Bearer TOKEN", "Authorization"
    if scope["method"] in SAFE:
        return None
    return _check_origin(headers, host) or _check_body(headers)


def from_this_machine(scope: Scope, headers: dict[bytes, str], domain: str) -> bool:
    """Peer and Host are loopback addresses, and nobody has forwarded the request."""
    peer = scope.get("client")
    if peer is None or any(name in headers for name in FORWARDED):
        return False
    return _is_loopback(peer[0]) and (domain == "localhost" or _is_loopback(domain.strip("[]")))


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _has_token(headers: dict[bytes, str]) -> bool:
    scheme, _, given = headers.get(b"authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token().encode())


def _check_origin(headers: dict[bytes, str], host: str) -> Refusal | None:
    origin = headers.get(b"origin")
    if origin is not None and urlsplit(origin).netloc.lower() != host:
        return 403, f"a page of {origin} may not change anything here", "Origin"
    if headers.get(b"sec-fetch-site", "none") not in ("none", "same-origin"):
        return 403, "a page of another site may not change anything here", "Sec-Fetch-Site"
    return None


def _check_body(headers: dict[bytes, str]) -> Refusal | None:
    length = headers.get(b"content-length", "0")
    if not length.isdigit():
        return 400, "Content-Length is not a number", "Content-Length"
    if int(length) > LARGEST:
        return _too_large()
    kind = headers.get(b"content-type", "").partition(";")[0].strip().lower()
    if (int(length) or b"transfer-encoding" in headers or kind) and kind != "application/json":
        return 415, f"the body must be application/json, found {kind or 'nothing that says what it is'}", "Content-Type"
    return None


def _too_large() -> Refusal:
    return 413, f"the body is larger than {LARGEST:,} bytes", "body"


async def _refuse(send: Send, status: int, title: str, place: str | None) -> None:
    content = body(status, title, place)
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(content)).encode()),
               (b"content-security-policy", b"default-src 'none'"), (b"x-content-type-options", b"nosniff")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 413:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
