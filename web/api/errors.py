"""What Django itself answers below `/api/` (no such address, no such method) is a problem detail, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import async_only_middleware
from django.views.decorators.csrf import csrf_exempt

from web.api.problems import MEDIA_TYPE, refused

PREFIX = "/api/"
Answer = Callable[[HttpRequest], Awaitable[HttpResponse]]


@async_only_middleware
def as_problems(get_response: Answer) -> Answer:
    """Django's middleware."""

    async def answer(request: HttpRequest) -> HttpResponse:
        response = await get_response(request)
        if response.status_code < 400 or not request.path.startswith(PREFIX):
            return response
        found = response if _is_problem(response) else _converted(request, response)
        # Django would write a line for each of them; the caller has been told.
        found._has_been_logged = True  # type: ignore[attr-defined]
        return found

    return answer


def _converted(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    found = refused(request, response.status_code)
    if "Allow" in response:
        found["Allow"] = response["Allow"]
    return found


@csrf_exempt
async def nowhere(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Any address below `/api/` that is none."""
    return refused(request, 404)


def _is_problem(response: HttpResponse) -> bool:
    return response.get("Content-Type", "").startswith(MEDIA_TYPE)
