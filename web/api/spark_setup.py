"""Whether Spark is there, and its installation from the page.

What installs is what the start script uses before the first `replay` (`lab.bootstrap`): the pinned packages of
requirements/spark.txt, into the start script's own environment and no other. Its progress is a line a package.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import sys
from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from broker_core.kernel.problems import problem, told
from lab.bootstrap import MARK
from lab.places import ROOT
from web.api import schemas, spark_schemas
from web.api.asking import answer
from web.api.models import DONE, FAILED, RUNNING
from web.api.problems import Problem
from web.api.replays import questions
from web.api.spark import missing, spark
from web.language import language_of

router = Router(tags=["spark"])
Problems = schemas.Problem
PROGRAM = """
import sys
from pathlib import Path
from lab.bootstrap import BootstrapError, prepare
try:
    prepare(Path(sys.argv[1]), Path(sys.argv[2]), ["run", "spark"])
except (BootstrapError, OSError) as error:
    sys.exit(f"brokerlab: {error}")
"""
_LINE = re.compile(r"Installing (\d+)/(\d+) (\S+)")
_LAST = re.compile(r"Installing (\d+) packages")


class Setup:
    """At most one installation at a time."""

    def __init__(self, checkout: Path = ROOT, environment: Path | None = None) -> None:
        self.checkout = checkout
        self.environment = environment or Path(sys.prefix)
        self.facts: dict[str, Any] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def can_install(self) -> bool:
        """Only into the environment that the start script has made."""
        return (self.environment / MARK).is_file()

    @property
    def running(self) -> bool:
        return self.facts is not None and self.facts["state"] == RUNNING

    def start(self) -> None:
        """Install in a process of its own; returns at once."""
        self.facts = {"state": RUNNING, "done": 0, "total": 0, "step": "", "error": None}
        self._task = asyncio.create_task(self._install(self.facts))

    async def _install(self, facts: dict[str, Any]) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-c", PROGRAM, str(self.checkout), str(self.environment),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert process.stdout is not None
        last = ""
        try:
            while line := (await process.stdout.readline()).decode(errors="replace").strip():
                last = line
                if found := _LINE.match(line):
                    facts |= {"done": int(found[1]) - 1, "total": int(found[2]), "step": found[3]}
                elif found := _LAST.match(line):
                    facts |= {"done": int(found[1]), "total": int(found[1]), "step": ""}
            code = await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
        importlib.invalidate_caches()
        if code:
            said = last.removeprefix("brokerlab: ")
            why = problem("foreign", words=said) if said else problem("exit_code", n=code)
            facts |= {"state": FAILED, "error": why}
        else:
            facts |= {"state": DONE, "done": facts["total"], "step": ""}


setup = Setup()


async def _view(request: HttpRequest) -> dict[str, Any]:
    why = await asyncio.to_thread(missing)
    return {"installed": why is None, "missing": why and told(why, language_of(request)), "pid": spark.pid,
            "can_install": why is not None and setup.can_install, "install": setup.facts,
            "questions": await asyncio.to_thread(questions)}  # fmt: skip


@router.get("/spark", response={200: spark_schemas.SparkView}, summary="Whether Spark can work here")
async def state(request: HttpRequest) -> HttpResponse:
    """`missing` says in one line what is not there and what to do; `pid` is the worker's process, which starts with
    the first piece of work; `questions` are what a replay answers."""
    return answer(await _view(request))


@router.post(
    "/spark/install",
    response={202: spark_schemas.SparkView, **dict.fromkeys((403, 409, 415), Problems)},
    summary="Install what Spark needs",
)
async def install(request: HttpRequest) -> HttpResponse:
    """The pinned packages of requirements/spark.txt, from the package index, as the start script does it before the
    first replay. Ask `GET /api/spark` how far it is."""
    if setup.running:
        raise Problem(409, problem("installing"))
    if await asyncio.to_thread(missing) is None:
        raise Problem(409, problem("installed"))
    if not setup.can_install:
        raise Problem(409, problem("not_our_python"))
    setup.start()
    return answer(await _view(request), 202)
