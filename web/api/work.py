"""Background work: at most `AT_ONCE` processes, at most `WAITING` jobs that wait for one.

A job's process (`worker`) tells its progress line by line; the newest stands in memory for those who
ask this process, and at most once a second in the database for those who ask another one.

Labs go before jobs: a job's process is nicer than theirs, and beside busy ones it has a quarter of a core. Whoever has
waited `PATIENT_S` for a place is as nice as a lab, so that what a whole class hands in at once comes to its end.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import problem
from lab.branch import BranchError
from lab.experiments.directory import next_run
from lab.open_runs import LabError
from lab.snapshots.keeper import KEY
from web.api.models import CANCELLED, DONE, ENDED, FAILED, INTERRUPTED, QUEUED, RUNNING, Job
from web.api.problems import Problem
from web.api.ready import Begun, ready
from web.live.hub import chosen, hub
from web.live.labs import labs

AT_ONCE = 2
WAITING = 64
PATIENT_S = 30.0
LEAVE_A_RUN = ("scenario", "attempt")
REMEMBERED = 500
LOOK_S = 0.2


class WorkFailed(Refusal):
    """The process could not do it."""


async def in_process(request: dict[str, Any], tell: Callable[[dict[str, Any]], None] | None = None) -> Any:
    """The result of `worker` for one request. Cancelling this ends the process. Raises WorkFailed."""
    async with ready.worker() as begun:
        return await _talk(begun, request, tell)


async def _talk(begun: Begun, request: dict[str, Any], tell: Callable[[dict[str, Any]], None] | None) -> Any:
    begun.orders.write(orjson.dumps(request) + b"\n")
    complaints = asyncio.create_task(begun.complaints.read())
    while line := await begun.answers.readline():
        said = orjson.loads(line)
        if "result" in said:
            return said["result"]
        if "problem" in said:
            raise WorkFailed(said["problem"], said.get("place"))
        if tell is not None:
            tell(said)
    lines = (await complaints).decode(errors="replace").strip().splitlines()
    raise WorkFailed(problem("no_result", why=lines[-1] if lines else "-"), None)


def told_of(error: Refusal) -> dict[str, Any]:
    """Why a job has failed, as it is stored."""
    return {"title": error.reason, "place": error.where or None, "problem": error.problem}


class Way:
    """How far something has come that works on another thread."""

    def __init__(self) -> None:
        self.share = 0.0

    def come(self, share: float) -> None:
        self.share = share


class Jobs:
    """The jobs of this process; those of others and of before are in the database."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changed: dict[str, asyncio.Event] = {}
        self._places: asyncio.Semaphore | None = None
        self._desk: asyncio.Semaphore | None = None  # for answers that somebody waits for
        self._door: asyncio.Lock | None = None  # one job after another: listed as they are worked on
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stored: dict[str, float] = {}
        self._asking = 0

    # -- asking -----------------------------------------------------------------------------
    async def get(self, number: str) -> Job | None:
        """A job of any process that shares the database."""
        await self._take_over()
        return self._jobs.get(number) or await Job.objects.filter(id=number).afirst()

    async def of(self, run: str, kind: str) -> Job | None:
        """The newest job of a kind on a run of this lab."""
        await self._take_over()
        found = await Job.objects.filter(run=run, kind=kind, lab=chosen().name).afirst()
        return None if found is None else self._jobs.get(found.id, found)

    async def page(self, limit: int, offset: int) -> tuple[list[Job], int]:
        """The newest first, and how many there are."""
        await self._take_over()
        rows = [self._jobs.get(row.id, row) async for row in Job.objects.all()[offset : offset + limit]]
        return rows, await Job.objects.acount()

    async def wait(self, job: Job, seconds: float) -> Job:
        """The job when it has ended, or as it is after so long."""
        deadline = time.monotonic() + seconds
        while job.state not in ENDED and (left := deadline - time.monotonic()) > 0:
            changed = self._changed.get(job.id)
            try:
                await asyncio.wait_for(changed.wait() if changed else asyncio.sleep(30), min(left, 0.5))
            except TimeoutError:
                job = await self.get(job.id) or job
        return job

    # -- working ----------------------------------------------------------------------------
    async def start(self, request: dict[str, Any], runs: Path, **facts: Any) -> Job:
        """Queue a piece of work; 429 when too many wait."""
        await self._take_over()
        assert self._door is not None
        async with self._door:
            if len(self._tasks) >= WAITING + AT_ONCE:
                raise Problem(429, problem("jobs_wait", n=WAITING))
            if request["do"] in LEAVE_A_RUN:
                path = await asyncio.to_thread(claim_run, runs)
                request, facts = {**request, "out": str(path), "key": KEY.hex()}, {**facts, "run": path.name}
            job = Job(id=secrets.token_hex(8), kind=request["do"], lab=chosen().name, **facts)
            await job.asave(force_insert=True)
            self._jobs[job.id] = job
            self._changed[job.id] = asyncio.Event()
            self._tasks[job.id] = asyncio.create_task(self._work(job, request))
        self._forget()
        return job

    async def result(self, request: dict[str, Any], seconds: float) -> Any:
        """What a process says to somebody who waits for it: places of its own, so no long job is in the way.

        429 when too many wait; TimeoutError when place and answer took longer. Raises WorkFailed."""
        await self._take_over()
        if self._asking >= WAITING:
            raise Problem(429, problem("jobs_wait", n=WAITING))
        self._asking += 1
        try:
            return await asyncio.wait_for(self._in_place(request), seconds)
        finally:
            self._asking -= 1

    async def _in_place(self, request: dict[str, Any]) -> Any:
        assert self._desk is not None
        async with self._desk:
            return await in_process(request)

    async def in_turn(
        self, request: dict[str, Any], begun: Callable[[], Awaitable[None]], tell: Callable[[dict[str, Any]], None]
    ) -> Any:
        """What a process says that works when a job's place is free, behind those who came before; `begun` is awaited
        then. However many wait: whoever asks keeps count of his own. Raises WorkFailed."""
        await self._take_over()
        assert self._places is not None
        asked = time.monotonic()
        async with self._places:
            await begun()
            return await in_process(in_its_turn(request, asked), tell)

    async def follow(self, work: Coroutine[Any, Any, dict[str, Any]], way: Way, **facts: Any) -> Job:
        """A job for what is under way in this process already; cancelling the job cancels it."""
        await self._take_over()
        job = Job(id=secrets.token_hex(8), lab=chosen().name, state=RUNNING, **facts)
        await job.asave(force_insert=True)
        self._jobs[job.id] = job
        self._changed[job.id] = asyncio.Event()
        self._tasks[job.id] = asyncio.create_task(self._until_done(job, work, way))
        self._forget()
        return job

    async def _until_done(self, job: Job, work: Coroutine[Any, Any, dict[str, Any]], way: Way) -> None:
        under_way = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait([under_way], timeout=LOOK_S))[0]:
                self._progress(job, {"progress": round(way.share, 3)})
            result = under_way.result()
            await self._store(job, state=DONE, progress=1.0, run=result["run"], result=result)
        except (BranchError, LabError, Problem) as error:
            await self._store(job, state=FAILED, error=told_of(error))
        except TimeoutError:
            await self._store(job, state=FAILED, error=told_of(Problem(504, problem("world_silent"))))
        except asyncio.CancelledError:
            under_way.cancel()
            await self._store(job, state=CANCELLED)
        finally:
            self._tasks.pop(job.id, None)
            self._changed.pop(job.id).set()

    async def cancel(self, job: Job) -> bool:
        """End a job that this process works on; False when it has ended or is another's."""
        task = self._tasks.get(job.id)
        if task is None:
            return False
        task.cancel()
        await asyncio.wait([task])
        return True

    async def _work(self, job: Job, request: dict[str, Any]) -> None:
        assert self._places is not None
        asked = time.monotonic()
        try:
            async with self._places:
                await self._store(job, state=RUNNING)
                request = in_its_turn(request, asked)
                result = await in_process(request, lambda said: self._progress(job, said))
                await self._store(job, state=DONE, progress=1.0, phase="", result=_portable(result))
        except WorkFailed as error:
            await self._store(job, state=FAILED, error=told_of(error))
        except asyncio.CancelledError:
            await self._store(job, state=CANCELLED)
        finally:
            self._tasks.pop(job.id, None)
            self._changed.pop(job.id).set()

    def _progress(self, job: Job, said: dict[str, Any]) -> None:
        job.progress, job.phase = said.get("progress", job.progress), said.get("phase", job.phase)
        if time.monotonic() - self._stored.get(job.id, 0.0) > 1.0:
            self._stored[job.id] = time.monotonic()
            task = asyncio.create_task(self._store(job))
            self._tasks[job.id].add_done_callback(lambda _: task.cancel())

    async def _store(self, job: Job, **facts: Any) -> None:
        for name, value in facts.items():
            setattr(job, name, value)
        await job.asave()

    def _forget(self) -> None:
        """Ended jobs leave the memory; the database keeps them."""
        for number in [one for one in self._jobs if one not in self._tasks][:-REMEMBERED]:
            del self._jobs[number]
            self._stored.pop(number, None)

    async def _take_over(self) -> None:
        """First use in this process: what its predecessor has left unfinished will never be finished."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        self._loop = loop
        self._jobs, self._tasks, self._changed = {}, {}, {}
        self._places, self._desk, self._asking = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(AT_ONCE), 0
        self._door = asyncio.Lock()
        if settings.HOSTS_LAB:
            own = [settings.LAB_NAME] if hub.serves else []  # a process that holds others' labs has none
            unfinished = Job.objects.filter(lab__in=[*own, *labs.known], state__in=(QUEUED, RUNNING))
            await unfinished.aupdate(state=INTERRUPTED)


def _portable(result: dict[str, Any]) -> dict[str, Any]:
    """A path of this machine says nothing elsewhere: the run's name does."""
    return {**result, "dir": Path(result["dir"]).name} if "dir" in result else result


def in_its_turn(request: dict[str, Any], asked: float) -> dict[str, Any]:
    """A request that has got a place, and whether it waited so long for it that labs go no longer before it."""
    return {**request, "waited": time.monotonic() - asked >= PATIENT_S}


def claim_run(runs: Path) -> Path:
    """A new numbered directory that nobody else gets."""
    while True:
        path = next_run(runs)
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path


jobs = Jobs()
