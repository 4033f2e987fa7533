"""The ASGI application: the page's files, HTTP by Django, WebSockets by Channels."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "web.settings")

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.urls import path

_pages = get_asgi_application()

from web.api.access import ApiGuard  # noqa: E402
from web.files import StaticFiles  # noqa: E402
from web.live.consumer import LabConsumer  # noqa: E402

_files = StaticFiles()
_guarded = ApiGuard(_pages)


async def _http(scope: dict[str, Any], receive: Any, send: Any) -> None:
    chosen = _files if scope["path"].startswith(settings.STATIC_URL) else _guarded
    await chosen(scope, receive, send)


application = ProtocolTypeRouter(
    {
        "http": _http,
        # A page of another origin may open a WebSocket to localhost: the browser does not stop it, this does.
        "websocket": AllowedHostsOriginValidator(URLRouter([path("live/", LabConsumer.as_asgi())])),
    }
)
