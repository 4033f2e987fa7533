"""Snapshot, events and commands of the lab.

    GET  /api/lab                 {"seq", "run", "epoch", "t", "state"}
    GET  /api/lab/events?since=N  {"events": [[seq, t, code, node, cause, {params}], ...]}   410 when too old
    POST /api/lab/commands        {"do": "kill", "broker": 1} -> {"ok": true, "seq": N}      422 when refused

Errors are problem details (RFC 9457). A command must come as application/json: a form of another
site cannot send that without being asked first, so no token is needed from this machine.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from web.live.hub import hub


def problem(status: int, title: str, **more: Any) -> HttpResponse:
    """A problem detail."""
    return JsonResponse(
        {"title": title, "status": status, **more}, status=status, content_type="application/problem+json"
    )


def _json(text: str) -> HttpResponse:
    return HttpResponse(text, content_type="application/json")


@require_GET
async def snapshot(request: HttpRequest) -> HttpResponse:
    """The whole state, taken between two events."""
    seq, text = await asyncio.wrap_future(hub.lab.snapshot())
    return _json(f'{{"seq":{seq},{text[1:]}')


@require_GET
async def events(request: HttpRequest) -> HttpResponse:
    """The events after `since` that are still in memory."""
    try:
        since = int(request.GET.get("since", "0"))
    except ValueError:
        return problem(400, "since must be a number", place="since")
    rows = await asyncio.wrap_future(hub.lab.events_since(since))
    if rows is None:
        return problem(410, "these events are no longer in memory: take a snapshot", since=since)
    return _json(f'{{"events":{rows}}}')


@csrf_exempt
@require_POST
async def command(request: HttpRequest) -> HttpResponse:
    """Do one command; the answer comes when the world has taken it."""
    if request.content_type != "application/json":
        return problem(415, "a command is application/json")
    try:
        found = json.loads(request.body)
    except ValueError as error:
        return problem(400, f"not JSON: {error}")
    if not isinstance(found, dict) or not isinstance(found.get("do"), str):
        return problem(422, "a command is an object with the key do", place="do")
    answer = await asyncio.wrap_future(hub.lab.submit(found))
    if not answer.get("ok"):
        return problem(422, str(answer.get("error", "refused")), place=answer.get("place"))
    return JsonResponse(answer)
