"""How operations find the lab, ask a world and answer, without holding up the event loop.

A world runs on a thread of its own and answers between two events, with a future. Here it is awaited,
at most `PATIENCE_S`. What reads files goes to a worker thread.
"""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import orjson
from django.conf import settings
from django.http import HttpResponse

from lab.branch import BranchError
from lab.experiments.directory import RUN
from web.api.problems import Problem
from web.live.hub import hub

PATIENCE_S = 10.0
_RUN_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}")
T = TypeVar("T")


async def asked(future: Future[T], seconds: float = PATIENCE_S) -> T:
    """What the world answers; TimeoutError (504) when it takes too long. The question itself is not withdrawn."""
    return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), seconds)


def answer(content: Any, status: int = 200) -> HttpResponse:
    """A JSON answer."""
    text = orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS, default=str)
    return HttpResponse(text, status=status, content_type="application/json")


def raw(text: str | bytes, media_type: str = "application/json") -> HttpResponse:
    """What is JSON already."""
    return HttpResponse(text, content_type=media_type)


def lab_named(name: str) -> Any:
    """The lab of this process; 404 when it has another name."""
    if name != settings.LAB_NAME:
        raise Problem(404, f"there is no lab {name}; this process knows {settings.LAB_NAME}", "lab")
    return hub.lab


def branch_of(lab: Any, run: str | None) -> Any:
    """An open run of the lab, the live one without a name; 404 when it is not open."""
    if not hasattr(lab, "branch"):
        if run in (None, lab.run_id):
            return lab
        raise Problem(404, f"there is no open run {run}", "run")
    try:
        return lab.branch(run)
    except BranchError as error:
        raise Problem(404, str(error), "run") from None


def hosted(lab: Any) -> Any:
    """The lab, when its world is in this process; 501 in a process that only serves viewers."""
    if not hasattr(lab, "data"):
        raise Problem(501, "this process only serves viewers; ask the one that hosts the lab", "lab")
    return lab


def runs_directory() -> Path:
    """Where this lab keeps its runs."""
    found: Path = hosted(hub.lab).data / "runs"
    return found


def run_directory(run: str) -> Path:
    """The directory of a run, open or finished; 404 when there is none."""
    path = runs_directory() / run
    if not _RUN_NAME.fullmatch(run) or ".." in run or not (path / RUN).is_file():
        raise Problem(404, f"there is no run {run}", "run")
    return path


async def flushed(run: str) -> bool:
    """Bring an open run's files up to date; whether it is open."""
    branch = getattr(hub.lab, "branches", {}).get(run)
    if branch is None or branch.ended:
        return False
    await asked(branch.ask(branch.files.flush, branch.world))
    return True
