"""The host's side of a lab that several web processes show: answers their calls, publishes its batches.

A process that has viewers says `watch` every two seconds. As long as somebody does, the run's batches go
into the run's group; when nobody has for `LEASE_S`, the world serialises nothing for others any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections import deque
from concurrent.futures import Future
from typing import Any

from broker_core.kernel.errors import what_of
from lab.live import LiveLab
from web.live.lab import Lab, OpenRun
from web.live import wire_names as names
from web.live.forwarding import answered
from lab.feed import Batch
from web.live.hub import LabHub, hub
from web.live.labs import labs
from web.live.watch import RETRY_S, received

BACKLOG = 200
AT_ONCE = 256
BRANCH_CALLS = ("snapshot", "submit", "events_since", "story", "history", "inspect")
LAB_CALLS = ("fork", "open_run", "close_branch")
THAT_MAY_OPEN = (*LAB_CALLS, "question", "http")
_log = logging.getLogger("brokerlab.hosting")


class Publication:
    """The batches of one run on their way into its group.

    Invariants
        * `n` grows by one with each message, and by one more whenever something was left out
    """

    def __init__(self, host: LabHost, run: str | None) -> None:
        self.host = host
        self.run = run
        self.n = 0
        self.token: Any = None
        self.until = 0.0
        self.waiting: deque[Batch] = deque()
        self.wake = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def renew(self) -> None:
        """Somebody watches."""
        self.until = time.monotonic() + names.LEASE_S
        if self.token is None:
            self.n += 1
            self.token = self.host.branch(self.run).subscribe(self._on_batch)
            self.task = asyncio.create_task(self._publish())

    def end(self) -> None:
        """Nobody watches any more, or the run is closed."""
        if self.token is not None and self.host.is_open(self.run):
            self.host.branch(self.run).unsubscribe(self.token)
        self.token = None
        if self.task is not None:
            self.task.cancel()

    def _on_batch(self, batch: Batch) -> None:
        """On the world's thread."""
        try:
            self.host.loop.call_soon_threadsafe(self._take, batch)
        except RuntimeError:  # the loop was closed: the process is ending
            pass

    def _take(self, batch: Batch) -> None:
        if len(self.waiting) >= BACKLOG:
            self.waiting.clear()
            self.n += 1
        self.waiting.append(batch)
        self.wake.set()

    async def _publish(self) -> None:
        while True:
            await self.wake.wait()
            self.wake.clear()
            while self.waiting:
                await self._send(self.waiting.popleft())

    async def _send(self, batch: Batch) -> None:
        self.n += 1
        message = {
            "type": "batch", "host": self.host.nonce, "n": self.n, "first": batch.first, "last": batch.last,
            "t0": batch.t0, "t1": batch.t1, "count": batch.count, "text": batch.text,
        }  # fmt: skip
        try:
            await self.host.layer.group_send(names.group(self.host.name, self.run), message)
        except Exception as error:
            _log.warning("a batch could not be published: %s", error)
            await asyncio.sleep(RETRY_S)


class LabHost:
    """Offers the lab of this process to others."""

    def __init__(self, lab: Lab, layer: Any, name: str, address: str = "", of: LabHub | None = None) -> None:
        """`of`: the lab's hub in this process; that of the process's own lab without one."""
        self.lab = lab
        self.hub = hub if of is None else of
        self.address = address
        self.layer = layer
        self.name = name
        self.nonce = secrets.token_hex(8)
        self.publications: dict[str | None, Publication] = {}
        self.loop: asyncio.AbstractEventLoop
        self._tasks: set[asyncio.Task[None]] = set()
        self._work: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """From inside the web's event loop; the work ends with the loop."""
        self.loop = asyncio.get_running_loop()
        self._work = [asyncio.create_task(work) for work in (self._serve(), self._expire())]

    def stop(self) -> None:
        """The lab is not offered any more."""
        for task in [*self._work, *self._tasks]:
            task.cancel()
        for publication in self.publications.values():
            publication.end()
        self.publications.clear()

    @property
    def busy(self) -> bool:
        """Whether a call is being answered."""
        return bool(self._tasks)

    def branch(self, run: str | None) -> OpenRun:
        """An open run, the live one without a name."""
        return self.lab.branch(run)

    def is_open(self, run: str | None) -> bool:
        """Whether there is such a branch (now)."""
        return run is None or run in self.lab.branches

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self) -> None:
        async for call in received(self.layer, names.calls(self.name)):
            stale_s = call.get("stale_s", names.STALE_S)
            if time.time() - call["at"] < stale_s and len(self._tasks) < AT_ONCE:
                self._keep(asyncio.create_task(self._answer(call)))

    async def _answer(self, call: dict[str, Any]) -> None:
        try:
            await labs.awake(self.hub.name)
            with self.hub.in_use():
                said: dict[str, Any] = {"value": await self._do(call)}
            if call["what"] in THAT_MAY_OPEN:
                said["facts"] = self._facts()
        except Exception as error:
            said = {"error": what_of(error)}
        await self._tell(call["to"], {"type": "answer", "n": call["n"], **said})

    async def _tell(self, channel: str, answer: dict[str, Any]) -> None:
        """Connections from before Redis was away fail once: an answer that is lost keeps its caller waiting."""
        until = time.monotonic() + names.PATIENCE_S
        while True:
            try:
                await self.layer.send(channel, answer)
                return
            except Exception as error:
                if time.monotonic() > until:
                    _log.warning("an answer could not be sent: %s", error)
                    return
                await asyncio.sleep(RETRY_S)

    async def _do(self, call: dict[str, Any]) -> Any:
        what, run, arguments = call["what"], call["run"], call["args"]
        if what == "facts":
            return self._facts()
        if what == "watch":
            return self._watch(run)
        if what in BRANCH_CALLS:
            return await _result(getattr(self.branch(run), what)(*arguments))
        if what == "question":
            return await self._question(call, *arguments)
        if what == "http":
            return await answered(arguments[0], self.address)
        if what in LAB_CALLS:
            return await _result(getattr(self.lab, what)(*arguments))
        raise ValueError(f"there is no call {what}")

    async def _question(self, call: dict[str, Any], run: str, message: dict[str, Any]) -> str:
        """A question of a viewer who is elsewhere; he is told how far the work has come."""
        from web.live import asking

        async def tell(share: float) -> None:
            with contextlib.suppress(Exception):  # the layer is full or away: the answer says that it matters
                await self.layer.send(call["to"], {"type": "answer", "n": call["n"], "share": share})

        return await asking.answer(self.hub, self.hub.of(run), message, tell)

    def _watch(self, run: str | None) -> dict[str, Any]:
        """Publish the run for a while longer, if it is open."""
        if self.is_open(run):
            if run not in self.publications:
                self.publications[run] = Publication(self, run)
            self.publications[run].renew()
        publication = self.publications.get(run)
        return {**self._facts(), "n": publication.n if publication is not None else 0}

    def _facts(self) -> dict[str, Any]:
        """Which run is live, which are open, where its clock stands."""
        views = [branch.view() for branch in list(self.lab.branches.values())]
        return {"host": self.nonce, "run": self.lab.run_id, "epoch": self.lab.epoch, "clock": self.lab.clock(),
                "branches": views}  # fmt: skip

    async def _expire(self) -> None:
        while True:
            await asyncio.sleep(names.RENEW_S)
            now = time.monotonic()
            for run, publication in list(self.publications.items()):
                if not self.is_open(run) or asleep(self.lab):
                    publication.end()
                    del self.publications[run]
                elif publication.token is not None and now > publication.until:
                    publication.end()


def asleep(lab: Lab) -> bool:
    """Whether the lab sleeps: nobody has watched it for longer than a lease."""
    return isinstance(lab, LiveLab) and lab.asleep is not None


async def _result(future: Future[Any]) -> Any:
    return await asyncio.wrap_future(future)
