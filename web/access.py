"""Who may do what: by the peer's address, the Host, and the token that somebody from elsewhere brings.

| who | may |
|---|---|
| somebody on this machine: peer and Host are loopback, no proxy has forwarded the request | everything |
| whoever brings the token (`Authorization: Bearer`, or the cookie that a link with it has left) | everything |
| whoever brings the class's token | look: snapshots, events, receipts, the past; nothing that changes the lab |
| a student, by the session that joining a class has left (`web.people`) | look, hand in, act in a lab of his own |
| anybody else | nothing |

What each of the four levels may ask for stands in `web.rights`.

Both tokens are drawn once for each data directory and kept in its files `web/token` and `web/token-class`, unless
BROKERLAB_TOKEN and BROKERLAB_CLASS_TOKEN say them. The cookie holds no token but a digest of it, under a name with
the page's port: two labs on one machine do not overwrite each other's.

A Host is accepted when it is an address (nobody can let an address point elsewhere), this machine's name or one of
BROKERLAB_HOSTS_ALLOWED; any other name may be an attacker's that points here (DNS rebinding).
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import secrets
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host

ACT, LEARN, LOOK = "act", "learn", "look"
FORWARDED = (b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip")
LOCAL_NAMES = ("localhost",)

Headers = dict[bytes, str]
Scope = dict[str, Any]


def headers_of(scope: Scope) -> Headers:
    """By lower-case name, as ASGI has them."""
    return {name: value.decode("latin-1") for name, value in scope["headers"]}


# -- tokens ---------------------------------------------------------------------------------
def token() -> str:
    """Whoever brings it may do everything."""
    return os.environ.get("BROKERLAB_TOKEN") or _kept_token(settings.DATA_DIR / "token")


def class_token() -> str:
    """Whoever brings it may look."""
    return os.environ.get("BROKERLAB_CLASS_TOKEN") or _kept_token(settings.DATA_DIR / "token-class")


def _kept_token(path: Path) -> str:
    """The token in a file that only its owner can read; drawn when it is not there."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(32))
    return path.read_text().strip()


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def level_of_token(given: str) -> str | None:
    """What the bearer of a token may do."""
    if not given:
        return None
    if _same(given, token()):
        return ACT
    return LOOK if _same(given, class_token()) else None


# -- the cookie -----------------------------------------------------------------------------
def cookie_name(headers: Headers) -> str:
    """One for each port: browsers send a cookie to all ports of a host."""
    _, port = split_domain_port(headers.get(b"host", "").lower())
    return f"brokerlab-{port or 'page'}"


def cookie_value(given: str) -> str:
    """What stands in the cookie of somebody who has brought this token."""
    return hmac.new(given.encode(), b"brokerlab page", hashlib.sha256).hexdigest()


def _level_of_cookie(headers: Headers) -> str | None:
    try:
        found = SimpleCookie(headers.get(b"cookie", "")).get(cookie_name(headers))
    except CookieError:
        return None
    if found is None:
        return None
    if _same(found.value, cookie_value(token())):
        return ACT
    return LOOK if _same(found.value, cookie_value(class_token())) else None


# -- the request ----------------------------------------------------------------------------
def host_is_ours(headers: Headers) -> bool:
    """Whether the Host may be asked for here."""
    domain, _ = split_domain_port(headers.get(b"host", "").lower())
    if not domain:
        return False
    return _address(domain) is not None or validate_host(domain, settings.OWN_HOSTS)


def from_this_machine(scope: Scope, headers: Headers) -> bool:
    """Peer and Host are loopback addresses, and nobody has forwarded the request."""
    peer = scope.get("client")
    if peer is None or any(name in headers for name in FORWARDED):
        return False
    domain, _ = split_domain_port(headers.get(b"host", "").lower())
    return _is_loopback(peer[0]) and (domain in LOCAL_NAMES or _is_loopback(domain))


def level(scope: Scope, headers: Headers) -> str | None:
    """ACT, LOOK or None. A token in the header counts before a cookie, also for callers on this machine."""
    scheme, _, given = headers.get(b"authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        found = level_of_token(given.strip())
        if found is not None:
            return found
    if from_this_machine(scope, headers):
        return ACT
    return _level_of_cookie(headers)


def same_origin(headers: Headers) -> bool:
    """Whether the page that asks (if it is one) came from this very address, port included."""
    origin = headers.get(b"origin")
    return origin is None or origin.partition("://")[2].lower() == headers.get(b"host", "").lower()


def _address(domain: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(domain.strip("[]"))
    except ValueError:
        return None


def _is_loopback(domain: str) -> bool:
    found = _address(domain)
    return found is not None and found.is_loopback
