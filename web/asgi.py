"""The ASGI application: the page's files, HTTP by Django, WebSockets by Channels."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "web.settings")

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.urls import path

pages = get_asgi_application()

from web.files import StaticFiles  # noqa: E402
from web.guard import Guard  # noqa: E402
from web.live.consumer import LabConsumer  # noqa: E402
from web.live.forwarding import forward, goes_to_the_host  # noqa: E402

_files = StaticFiles()


async def _http(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["path"].startswith(settings.STATIC_URL):
        await _files(scope, receive, send)
    elif goes_to_the_host(scope):
        await forward(scope, receive, send)
    else:
        await pages(scope, receive, send)


_sockets = URLRouter([path("live/", LabConsumer.as_asgi())])
application = Guard(ProtocolTypeRouter({"http": _http, "websocket": _sockets}))
