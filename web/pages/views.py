"""The page, with the lab's state at this moment already in it.

The first snapshot is rendered twice: as a table that can be read before (or without) any script,
and as JSON that the modules start from, so the WebSocket only brings what came after.
"""

from __future__ import annotations

import asyncio
import json
import time
from functools import cache
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET

from broker_core.kernel.events import LEVEL_NAMES, REGISTRY
from lab.branch import BranchError
from lab.live import LiveLab
from lab.open_runs import LabError
from web.access import ACT, LOOK
from web.language import language_of
from web.live.hub import NoLab, chosen
from web.live.lab import Lab
from web.messages import LANGUAGES, catalogue, catalogue_text, words_of
from web.rights import scope_of


JUST_NOW_S = 10.0
SHOWN = 200  # characters of an address


@cache
def levels() -> str:
    """JSON of {event code: level name}: what the browser tells apart as transition or traffic."""
    return json.dumps({name: LEVEL_NAMES[code.level] for name, code in sorted(REGISTRY.items())})


def first_rows(state: dict[str, Any], limit: int = 40) -> list[dict[str, Any]]:
    """The partitions as the table shows them before the modules run."""
    rows = []
    for topic in sorted(state["topics"]):
        if state["topics"][topic].get("internal"):
            continue
        for number, partition in sorted(state["topics"][topic]["partitions"].items(), key=lambda item: int(item[0])):
            log = partition["logs"].get(str(partition["leader"]), {})
            rows.append(
                {
                    "name": f"{topic}-{number}",
                    "leader": partition["leader"],
                    "isr": partition["isr"],
                    "hw": log.get("hw", ""),
                    "leo": log.get("leo", ""),
                }
            )
    return rows[:limit]


async def earlier(seq: int) -> str:
    """JSON rows of the newest state changes of each kind: what the story tells a viewer who has just come."""
    return await asyncio.wrap_future(chosen().lab.story(seq))


@require_GET
@ensure_csrf_cookie
async def lab(request: HttpRequest) -> HttpResponse:
    """The screen; a page that tries again by itself while the lab cannot be reached."""
    return await _or_away(request)


async def _or_away(request: HttpRequest, view: str = "") -> HttpResponse:
    language = (get_language() or "en")[:2]
    try:
        return await _screen(request, language, view)
    except (LabError, BranchError, NoLab):
        context = {"language": language, "words": words_of("access", language)}
        return render(request, "away.html", context, status=503)


@require_GET
@ensure_csrf_cookie
async def projector(request: HttpRequest) -> HttpResponse:
    """The screen as a room sees it: the picture, the story and the time, large; of any lab."""
    return await _or_away(request, "projector")


def nowhere(request: HttpRequest, exception: Exception) -> HttpResponse:
    """An address that is none: said in the reader's language, with the way back to the lab."""
    language = language_of(request)
    context = {"language": language, "words": words_of("access", language), "address": request.path[:SHOWN]}
    return render(request, "nowhere.html", context, status=404)


async def _screen(request: HttpRequest, language: str, view: str) -> HttpResponse:
    seq, text = await asyncio.wrap_future(chosen().lab.snapshot())
    state = json.loads(text)["state"]
    context = {
        "view": view,
        "may": ACT if scope_of(request).get("may", ACT) == ACT else LOOK,
        "student": scope_of(request).get("student", ""),
        "slept": _slept_s(chosen().lab),
        "language": language if language in LANGUAGES else "en",
        "words": catalogue(language)["page"],
        "messages": catalogue_text(language),
        "snapshot": f'{{"v":1,"k":"snap","seq":{seq},{text[1:]}',
        "levels": levels(),
        "earlier": await earlier(seq),
        "state": state,
        "rows": first_rows(state),
    }
    return render(request, "lab.html", context)


def _slept_s(lab: Lab) -> int:
    """How long a lab has slept that this page, or somebody right before it, has woken; 0 when it was awake."""
    return round(lab.slept_s) if isinstance(lab, LiveLab) and time.monotonic() - lab.woken < JUST_NOW_S else 0


@require_GET
async def messages(request: HttpRequest, language: str) -> HttpResponse:
    """One language's catalogue, for a switch without loading the page again."""
    if language not in LANGUAGES:
        raise Http404
    return HttpResponse(catalogue_text(language), content_type="application/json")
