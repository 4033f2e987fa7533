"""The page may load, run and reach nothing but what this server gives it.

`default-src 'none'` and a list of exceptions: modules, styles and pictures from here, a WebSocket
to here, forms that post to here. No inline script or style is allowed; the JSON blocks in the
page are data and do not run. Everything works without a network.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import async_only_middleware

Answer = Callable[[HttpRequest], Awaitable[HttpResponse]]

RULES = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self' ws://{host} wss://{host}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


@async_only_middleware
def content_security_policy(get_response: Answer) -> Answer:
    """Adds the policy to every answer of Django's that does not bring its own."""

    async def answer(request: HttpRequest) -> HttpResponse:
        response = await get_response(request)
        # The host has passed ALLOWED_HOSTS when the answer is a page; a refused one gets no socket.
        host = request.META.get("HTTP_HOST", "") if response.status_code < 400 else "localhost"
        response.headers.setdefault("Content-Security-Policy", RULES.format(host=host))
        return response

    return answer
