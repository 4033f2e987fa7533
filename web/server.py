"""Runs the web of one lab in this process: uvicorn on the main thread, the world on its own.

`sansio` is uvicorn's WebSocket protocol that waits when a client does not read; without that a
sleeping browser would cost unbounded memory.
"""

from __future__ import annotations

import asyncio
import importlib.util
import ipaddress
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from broker_core.drivers.tcp import stream_socket
from lab.limits import UNLIMITED, Limits
from web.live.lab import Lab


class PortTaken(OSError):
    """Something else listens on the page's port."""


class CannotServe(Exception):
    """What stands around the lab is not as it must be: database, Redis, disk. One line."""


class LabServer(uvicorn.Server):
    """uvicorn that comes back from `run` after SIGINT or SIGTERM, so that the caller can tidy up."""

    def __init__(self, config: uvicorn.Config, started: Callable[[str], None] | None, url: str) -> None:
        super().__init__(config)
        self._when_started = started
        self.url = url
        self.lab_host: Any = None
        self._tending: asyncio.Task[None] | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, but the signals are not raised a second time at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, offer the lab to other web processes if there is a Redis, then tell the caller the page's address."""
        await super().startup(sockets)
        if self.started:
            self.lab_host = offer(self.url)
            self._tending = asyncio.create_task(_tend_labs())
        if self.started and self._when_started is not None:
            self._when_started(self.url)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Hang up, then end what this process has started for its viewers."""
        await super().shutdown(sockets)
        if self._tending is not None:
            self._tending.cancel()
        await asyncio.to_thread(_end_spark)
        await asyncio.to_thread(_end_labs)
        await _end_hosts()


def _end_spark() -> None:
    """Spark's worker process, if there was one, ends with the server."""
    from web.api.spark import spark

    spark.stop()


async def _tend_labs() -> None:
    """Those that nobody needs sleep."""
    from web.live.labs import labs

    if labs.hosts is not None:
        await labs.hosts.prepare()
    await labs.tend()


def _end_labs() -> None:
    """Those that were begun over REST; the caller ends his own."""
    from web.live.labs import labs

    labs.end()


async def _end_hosts() -> None:
    """The processes that held labs for this one."""
    from web.live.labs import labs

    await labs.end_hosts()


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; raises PortTaken with one clear line."""
    found = stream_socket(host)
    try:
        found.bind((host, port))
    except (OSError, OverflowError) as error:
        found.close()
        reason = getattr(error, "strerror", None) or error
        raise PortTaken(getattr(error, "errno", 0), f"page: cannot listen on {host}:{port}: {reason}") from error
    return found


def prepare() -> None:
    """Set Django up and bring database and hashed files up to date; quick when nothing has changed. CannotServe."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "web.settings")
    import django
    from django.core.exceptions import ImproperlyConfigured

    try:
        django.setup()
        _check_redis()
        _bring_up_to_date()
    except ImproperlyConfigured as error:
        reason = str(error).partition(chr(10))[0]
        hint = "; pip install -r requirements/scale.txt" if "psycopg" in reason else ""
        raise CannotServe(f"the database cannot be used: {reason}{hint}") from None
    except ValueError as error:  # of DATABASE_URL
        raise CannotServe(str(error)) from None
    except OSError as error:
        raise CannotServe(f"the page's files cannot be written: {error.strerror or error}") from None


def _check_redis() -> None:
    from django.conf import settings

    if settings.REDIS_URL and urlsplit(settings.REDIS_URL).scheme not in ("redis", "rediss", "unix"):
        raise CannotServe(f"REDIS_URL: expected redis://HOST:PORT, found {settings.REDIS_URL}")
    if settings.REDIS_URL and importlib.util.find_spec("channels_redis") is None:
        raise CannotServe("REDIS_URL is set, but channels-redis is not there; pip install -r requirements/scale.txt")


def _bring_up_to_date() -> None:
    from django.db import Error as DatabaseError

    from web.database import migrate, shown
    from web.files import collect

    collect()
    try:
        migrate()
    except DatabaseError as error:
        reason = str(error).strip().partition(chr(10))[0]
        raise CannotServe(f"{shown()} cannot be used: {reason}") from None


def invitations(listener: socket.socket) -> list[str]:
    """Links for people on other machines; none when only this machine can reach the page."""
    host, port = listener.getsockname()[:2]
    if ipaddress.ip_address(host).is_loopback:
        return []
    from web.access import class_token, token
    from web.people.doors import outer_address

    name = outer_address() if ipaddress.ip_address(host).is_unspecified else host
    page = f"http://{f'[{name}]' if ':' in name else name}:{port}/?token="
    return [f"From elsewhere: {page}{token()}", f"For a class, to look only: {page}{class_token()}"]


def remote_lab() -> Lab:
    """The lab that another process hosts, by REDIS_URL and BROKERLAB_LAB."""
    prepare()
    from django.conf import settings

    from web.live.remote import RemoteLab

    return RemoteLab(settings.LAB_NAME)


def offer(address: str) -> Any:
    """Let other web processes show this process's lab."""
    from channels.layers import get_channel_layer
    from django.conf import settings

    from web.live.hosting import LabHost
    from web.live.hub import hub

    if settings.REDIS_URL and urlsplit(settings.REDIS_URL).scheme not in ("redis", "rediss", "unix"):
        raise CannotServe(f"REDIS_URL: expected redis://HOST:PORT, found {settings.REDIS_URL}")
    if settings.REDIS_URL and settings.HOSTS_LAB:
        host = LabHost(hub.lab, get_channel_layer("processes"), settings.LAB_NAME, settings.ADDRESS or address)
        host.start()
        return host
    return None


def is_news(record: logging.LogRecord) -> bool:
    """Whether a line of uvicorn's tells anything to whoever stopped the lab: that a page was still open does not."""
    return not str(record.msg).startswith("Cancel %s running task(s)")


def build(lab: Lab, listener: socket.socket, started: Callable[[str], None] | None = None) -> LabServer:
    """The server of `lab` on a bound socket, not yet running."""
    prepare()
    from web.asgi import application
    from web.live.hub import hub
    from web.people import doors

    hub.serve(lab)
    host, port = listener.getsockname()[:2]
    doors.listen(host)
    shown = f"[{host}]" if ":" in host else host
    options: dict[str, Any] = {
        "ws": "websockets-sansio",
        "ws_max_size": 1 << 20,
        "ws_per_message_deflate": False,
        "lifespan": "off",
        "access_log": False,
        "log_level": "warning",
        "server_header": False,
        "timeout_graceful_shutdown": 1,
    }
    config = uvicorn.Config(application, **options)
    logging.getLogger("uvicorn.error").addFilter(is_news)
    return LabServer(config, started, f"http://{shown}:{port}/")


def hold(most: int, home: Path, host: str, first_port: int, idle_s: float = 0.0, hosts: int = 0,
         limits: Limits = UNLIMITED) -> None:  # fmt: skip
    """Let callers of REST begin up to `most` labs beside the one that is served; each in a directory below `home`. One
    that nobody needs for `idle_s` seconds sleeps; 0: none ever does. `hosts`: how many processes may hold them; 0: this
    one does. `limits`: what each of them may take at most."""
    from web.api.keeping import described_before
    from web.live.labs import labs

    labs.open(most, home, host, first_port, described_before(), idle_s, hosts, limits)


def serve(lab: Lab, host: str, port: int, started: Callable[[str], None] | None = None) -> None:
    """Serve `lab` until SIGINT or SIGTERM, then return.

    `started(url)` is called once the page answers. Raises PortTaken before anything else happens.
    """
    listener = listen(host, port)
    try:
        build(lab, listener, started).run(sockets=[listener])
    finally:
        listener.close()
