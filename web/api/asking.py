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

from broker_core.kernel.problems import problem
from lab.branch import Branch, BranchError
from lab.experiments.directory import RUN
from lab.live import LiveLab
from web.api.problems import Problem
from web.live.hub import choose, chosen
from web.live.lab import Lab, OpenRun
from web.live.labs import labs

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


async def lab_named(name: str) -> Lab:
    """The lab of this name, which this request is about from now on; 404 when this process knows none, 409 when it
    rests: to ask for a lab does not start it, but wakes one that sleeps."""
    found = await labs.awake(name)
    if found is None and name in labs.known:
        raise Problem(409, problem("lab_rests", name=name), "lab")
    if found is None:
        raise Problem(404, problem("no_such_lab", name=name, known=", ".join([settings.LAB_NAME, *labs.known])), "lab")
    choose(found)
    return found.lab


def branch_of(lab: Lab, run: str | None) -> OpenRun:
    """An open run of the lab, the live one without a name; 404 when it is not open."""
    try:
        return lab.branch(run)
    except BranchError as error:
        raise Problem(404, error.problem, "run") from None


def hosted(lab: Lab) -> LiveLab:
    """The lab, when its world is in this process; 501 in a process that only serves viewers."""
    if not isinstance(lab, LiveLab):
        raise Problem(501, problem("only_viewers"), "lab")
    return lab


def hosted_run(lab: Lab, run: str | None) -> Branch:
    """An open run whose world is in this process; 404, 501."""
    try:
        return hosted(lab).branch(run)
    except BranchError as error:
        raise Problem(404, error.problem, "run") from None


def runs_directory() -> Path:
    """Where this lab keeps its runs."""
    return hosted(chosen().lab).data / "runs"


def run_directory(run: str) -> Path:
    """The directory of a run, open or finished; 404 when there is none."""
    path = runs_directory() / run
    if not _RUN_NAME.fullmatch(run) or ".." in run or not (path / RUN).is_file():
        raise Problem(404, problem("no_run", run=run), "run")
    return path


async def flushed(run: str, disks: bool = False) -> bool:
    """Bring an open run's files up to date; whether it is open. `disks`: what receipts need of them, too."""
    branch = chosen().lab.branches.get(run)
    if not isinstance(branch, Branch) or branch.ended:
        return False
    await asked(branch.ask(branch.tell_disks) if disks else branch.ask(branch.files.flush, branch.world))
    await asyncio.to_thread(branch.files.wait)
    return True


async def kept_receipt(run: str) -> dict[str, Any] | None:
    """That of an open run, as far as it is kept as the run goes on."""
    branch = chosen().lab.branches.get(run)
    return await asked(branch.ask(branch.receipt)) if isinstance(branch, Branch) and not branch.ended else None
