"""The ASGI application: the page's files, HTTP by Django, WebSockets by Channels."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "web.settings")

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.urls import path

pages = get_asgi_application()
NO_LAB = 4404

from web.addresses import Addressed, is_in_short, lab_of, whole  # noqa: E402
from web.files import StaticFiles  # noqa: E402
from web.access import ACT  # noqa: E402
from web.api.errors import PREFIX  # noqa: E402
from web.guard import Guard  # noqa: E402
from web.live.consumer import LabConsumer  # noqa: E402
from web.live.forwarding import forward, host_of  # noqa: E402
from web.live.hub import choose  # noqa: E402
from web.live.labs import labs  # noqa: E402

_files = StaticFiles()


async def _http(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["path"].startswith(settings.STATIC_URL):
        await _files(scope, receive, send)
    elif (lab := host_of(scope)) is not None:
        await forward(lab, scope, receive, send)
    else:
        await of_its_lab(scope, receive, send)


async def of_its_lab(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Pages and REST of the lab that the address names; of one that is not there REST says why."""
    found = await labs.awake(scope.get("lab", ""))
    if found is None and scope["path"] == "/" and scope.get("may", ACT) == ACT:
        found = await labs.start(scope["lab"])
    if found is not None:
        choose(found)
        about = labs.hub(lab_of(scope)) or found
        with nullcontext() if is_in_short(scope) else about.in_use():
            await pages(whole(scope), receive, send)
    elif scope["path"].startswith(PREFIX):
        await pages({**scope, "method": "GET", "path": f"{PREFIX}labs/{scope['lab']}"}, receive, send)
    else:
        await pages({**scope, "path": scope["base"] + scope["path"]}, receive, send)


async def _socket(scope: dict[str, Any], receive: Any, send: Any) -> None:
    found = await labs.awake(scope.get("lab", ""))
    if found is None:
        await receive()
        await send({"type": "websocket.close", "code": NO_LAB})
        return
    choose(found)
    await _by_path(scope, receive, send)


class HeadAsGet:
    """HEAD is answered as GET is, with the same headers and without the body (RFC 9110, 9.3.2)."""

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["method"] != "HEAD":
            await self.application(scope, receive, send)
            return

        async def without_body(message: dict[str, Any]) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self.application({**scope, "method": "GET"}, receive, without_body)


_live: Any = LabConsumer.as_asgi()  # Django's `path` takes what Channels routes to
_routes: list[Any] = [path("live/", _live)]
_by_path: Any = URLRouter(_routes)
_by_protocol: Any = ProtocolTypeRouter({"http": HeadAsGet(_http), "websocket": _socket})
guard = Guard(_by_protocol)
application = Addressed(guard)
