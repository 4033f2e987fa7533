"""Runs the web of one lab in this process: uvicorn on the main thread, the world on its own.

`sansio` is uvicorn's WebSocket protocol that waits when a client does not read; without that a
sleeping browser would cost unbounded memory.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from web.live.lab import Lab


class PortTaken(OSError):
    """Something else listens on the page's port."""


class LabServer(uvicorn.Server):
    """uvicorn that comes back from `run` after SIGINT or SIGTERM, so that the caller can tidy up."""

    def __init__(self, config: uvicorn.Config, started: Callable[[str], None] | None, url: str) -> None:
        super().__init__(config)
        self._when_started = started
        self.url = url
        self.lab_host: Any = None

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
            self.lab_host = offer()
        if self.started and self._when_started is not None:
            self._when_started(self.url)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Hang up, then end what this process has started for its viewers."""
        await super().shutdown(sockets)
        await asyncio.to_thread(_end_spark)


def _end_spark() -> None:
    """The worker process of replays, if there was one, ends with the server."""
    from web.api.spark import replays

    replays.stop()


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; raises PortTaken with one clear line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise PortTaken(error.errno, f"page: cannot listen on {host}:{port}: {error.strerror}") from error
    return found


def prepare() -> None:
    """Set Django up and bring database and hashed files up to date; quick when nothing has changed."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "web.settings")
    import django

    django.setup()
    from web.database import migrate
    from web.files import collect

    collect()
    migrate()


def remote_lab() -> Lab:
    """The lab that another process hosts, by REDIS_URL and BROKERLAB_LAB."""
    prepare()
    from django.conf import settings

    from web.live.remote import RemoteLab

    return RemoteLab(settings.LAB_NAME)


def offer() -> Any:
    """Let other web processes show this process's lab."""
    from channels.layers import get_channel_layer
    from django.conf import settings

    from web.live.hosting import LabHost
    from web.live.hub import hub

    if settings.REDIS_URL and settings.HOSTS_LAB:
        host = LabHost(hub.lab, get_channel_layer("processes"), settings.LAB_NAME)
        host.start()
        return host
    return None


def build(lab: Lab, listener: socket.socket, started: Callable[[str], None] | None = None) -> LabServer:
    """The server of `lab` on a bound socket, not yet running."""
    prepare()
    from web.asgi import application
    from web.live.hub import hub

    hub.attach(lab)
    host, port = listener.getsockname()[:2]
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
    return LabServer(config, started, f"http://{shown}:{port}/")


def serve(lab: Lab, host: str, port: int, started: Callable[[str], None] | None = None) -> None:
    """Serve `lab` until SIGINT or SIGTERM, then return.

    `started(url)` is called once the page answers. Raises PortTaken before anything else happens.
    """
    listener = listen(host, port)
    try:
        build(lab, listener, started).run(sockets=[listener])
    finally:
        listener.close()
