"""Hand-ins in a queue: each is executed again by a process of its own, in the order in which they came.

They wait for the same two places as the jobs of REST (`web.api.work`), behind those that came before, and none is
refused because many wait. What is unfinished when a server ends is begun anew by the next one: an attempt stands in the
database, a packed run in `web/packs` of the lab's directory until it was judged.

| found | state |
|---|---|
| the goals are reached under all seeds, or not | `passed`, `missed` |
| a packed run that does not come out again byte for byte | `forged`, with the first place that differs |
| a run of something else, a file that is no pack or is not whole | `refused` |
| the process broke down | `failed`: no try of the student's |
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from web.api.work import WorkFailed, jobs, told_of
from web.people.changes import changes
from web.people.models import FAILED, FORGED, MISSED, PASSED, REFUSED, RUNNING, WAITING, HandIn

BROKE_DOWN = "no_result"


def pack_of(hand_in: str) -> Path:
    """Where a packed run waits."""
    return Path(settings.DATA_DIR) / "packs" / f"{hand_in}.tar.gz"


class Judge:
    """The hand-ins that this process is at."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def awake(self) -> None:
        """First use in this process: go on with what the one before has left."""
        loop = asyncio.get_running_loop()
        if self._loop is loop or not settings.HOSTS_LAB:
            return
        self._loop, self._tasks = loop, {}
        async for one in HandIn.objects.filter(state__in=WAITING).order_by("created", "id"):
            self.begin(one)

    def begin(self, one: HandIn) -> None:
        """It waits for its turn from now on."""
        if one.id not in self._tasks:
            self._tasks[one.id] = asyncio.create_task(self._judged(one.id))

    async def give_up(self, ids: list[str]) -> None:
        """Those who handed these in are to be forgotten."""
        for number in ids:
            task = self._tasks.get(number)
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
            await asyncio.to_thread(pack_of(number).unlink, True)

    async def _judged(self, number: str) -> None:
        try:
            one = await HandIn.objects.select_related("task").aget(id=number)
            await self._judge(one)
        finally:
            self._tasks.pop(number, None)

    async def _judge(self, one: HandIn) -> None:
        code = one.task.classroom_id

        async def begun() -> None:
            await _store(one, code, state=RUNNING)

        def tell(said: dict[str, Any]) -> None:
            _progress[one.id] = said.get("progress", 0.0)
            changes.told(code)

        try:
            grade = await jobs.in_turn(_request(one), begun, tell)
        except WorkFailed as error:
            state = FAILED if error.problem["code"] == BROKE_DOWN else REFUSED
            await _opened(one)
            await _store(one, code, state=state, error=told_of(error), ended=timezone.now())
        else:
            await _opened(one)
            await _store(one, code, state=_state(grade), progress=1.0, points=grade["points"], grade=grade,
                         attempt=grade["attempt"] if one.packed else one.attempt, ended=timezone.now())  # fmt: skip
        finally:
            _progress.pop(one.id, None)


_progress: dict[str, float] = {}
"""Of hand-ins that are being judged: newer than what the database knows."""


def progress_of(view: dict[str, Any]) -> dict[str, Any]:
    """The view of a hand-in, with how far it has come by now."""
    return {**view, "progress": _progress.get(view["id"], view["progress"])}


def _request(one: HandIn) -> dict[str, Any]:
    request = {"do": "hand-in", "document": one.task.document, "name": one.task.name, "hints": one.hints}
    return {**request, "pack": str(pack_of(one.id))} if one.packed else {**request, "attempt": one.attempt}


def _state(grade: dict[str, Any]) -> str:
    if not grade["refused"]:
        return PASSED if grade["passed"] else MISSED
    return REFUSED if grade["refused"][0]["code"] == "not_this_exercise" else FORGED


async def _opened(one: HandIn) -> None:
    """A pack that was judged is not kept: gone before anybody hears of its grade."""
    if one.packed:
        await asyncio.to_thread(pack_of(one.id).unlink, True)


async def _store(one: HandIn, code: str, **facts: Any) -> None:
    await HandIn.objects.filter(id=one.id).aupdate(**facts)  # nothing comes back of one that was deleted
    changes.told(code)


judge = Judge()
