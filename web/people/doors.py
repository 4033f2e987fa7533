"""Where a class is joined from other machines: the address that the projector shows.

The teacher's own browser is mostly on the server's machine, and 127.0.0.1 leads a student's phone nowhere.
"""

from __future__ import annotations

import ipaddress
import socket

from django.http import HttpRequest
from django.http.request import split_domain_port

_listens: list[str] = []


def listen(host: str) -> None:
    """The page is served on this address."""
    _listens[:] = [host]


def outer_address() -> str:
    """This machine's address as its network sees it. Nothing is sent for that."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def origin(request: HttpRequest) -> str:
    """`http://192.168.1.5:8000`: what others reach this page under."""
    domain, port = split_domain_port(request.get_host())
    if only_here() or not _is_loopback(domain):
        return f"{request.scheme}://{request.get_host()}"
    host = _listens[0] if _listens and not ipaddress.ip_address(_listens[0]).is_unspecified else outer_address()
    shown = f"[{host}]" if ":" in host else host
    return f"{request.scheme}://{shown}{f':{port}' if port else ''}"


def only_here() -> bool:
    """Whether nobody but this machine can reach the page."""
    return bool(_listens) and ipaddress.ip_address(_listens[0]).is_loopback


def _is_loopback(domain: str) -> bool:
    try:
        return domain == "localhost" or ipaddress.ip_address(domain.strip("[]")).is_loopback
    except ValueError:
        return False
