"""How a person on another machine comes in: a link with the token, or a page that asks for it.

    http://192.168.1.5:8000/?token=TOKEN   ->  303 to /, with a cookie that no script can read

The page needs no script. Whoever brings wrong tokens is not listened to for a while.
"""

from __future__ import annotations

import time
from collections import deque

from django.template.loader import render_to_string

from web import access
from web.access import Headers
from web.messages import words_of

ENTER = "/enter/"
WRONG_ONES = 10
WINDOW_S = 60.0
PEERS = 1000
COOKIE_S = 30 * 24 * 3600
POLICY = ("default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
          "frame-ancestors 'none'")

Answer = tuple[int, list[tuple[bytes, bytes]], bytes]


class Throttle:
    """Wrong tokens of each peer within the last minute; of the latest `PEERS` peers only."""

    def __init__(self) -> None:
        self._wrong: dict[str, deque[float]] = {}

    def count(self, peer: str) -> None:
        """One more."""
        times = self._wrong.pop(peer, deque(maxlen=WRONG_ONES))
        times.append(time.monotonic())
        self._wrong[peer] = times
        if len(self._wrong) > PEERS:
            del self._wrong[next(iter(self._wrong))]

    def too_many(self, peer: str) -> bool:
        """Whether this peer has to wait."""
        times = self._wrong.get(peer, deque())
        return len(times) == WRONG_ONES and time.monotonic() - times[0] < WINDOW_S


def entered(location: str, token: str, headers: Headers, is_secure: bool) -> Answer:
    """The cookie, and on to the page."""
    lasting = f"Path=/; Max-Age={COOKIE_S}; HttpOnly; SameSite=Lax{'; Secure' if is_secure else ''}"
    cookie = f"{access.cookie_name(headers)}={access.cookie_value(token)}; {lasting}"
    found = [(b"location", location.encode("latin-1")), (b"cache-control", b"no-store"),
             (b"referrer-policy", b"no-referrer"), (b"set-cookie", cookie.encode("latin-1"))]  # fmt: skip
    return 303, found, b""


def entrance(language: str, was_wrong: bool, status: int) -> Answer:
    """The page that asks for a token."""
    context = {"language": language, "words": words_of("access", language), "wrong": was_wrong, "wait": status == 429,
               "action": ENTER}  # fmt: skip
    content = render_to_string("entrance.html", context).encode()
    found = [(b"content-type", b"text/html; charset=utf-8"), (b"content-language", language.encode()),
             (b"cache-control", b"no-store"), (b"vary", b"accept-language, cookie"), (b"www-authenticate", b"Bearer"),
             (b"referrer-policy", b"no-referrer"), (b"content-security-policy", POLICY.encode())]  # fmt: skip
    return status, found, content
