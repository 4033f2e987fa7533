"""The processes that hold labs for a server of many: started when one is needed, found again when they die.

```
web: pages, sockets --+-- pipe --  python -m web.hosted      some worlds, each on a thread
                      +-- pipe --  python -m web.hosted      the next ones
```
One process executes worlds on one core at a time, so many labs need several. A new lab goes to the process with the
fewest; one that holds nothing is kept ready, as long as there are no more than `most`. What is asked about a lab
goes to its process as it would over Redis (`remote`, `hosting`, `pipes`), REST included (`forwarding`).

When all labs of a process sleep it starts itself anew, and has their memory no more (`anew`).

When a process dies its labs come back in another one as after a restart of the server: their disks are there, the run
that was open ended where it was written to. Whoever watches is cut to a snapshot of the next run.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from broker_core.kernel.problems import problem
from lab.open_runs import LabError
from lab.places import ROOT
from lab.snapshots.keeper import KEY, SECRET
from web.live import wire_names as names
from web.live.described import Described
from web.live.pipes import Pipe, PipeClosed
from web.live.remote import RemoteLab
from web.live.watch import received

CONTROL, TO_WEB = "control", "web"
ANEW = "anew"
BEGIN_S, END_S = 120.0, 30.0
_log = logging.getLogger("brokerlab.hosts")


class Host:
    """One process, as the web sees it. `labs`: those that it holds; `renewed`: how often it has started itself anew."""

    def __init__(self) -> None:
        self.labs: dict[str, RemoteLab] = {}
        self._calls = 0
        self._open: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._task: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None
        self.renewed = 0

    async def start(self, order: dict[str, Any]) -> None:
        """Start it; it answers when it has loaded what it needs. Raises LabError."""
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "web.hosted", str(theirs.fileno())], pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(ROOT), SECRET: KEY.hex()},
            )  # fmt: skip
        self.pipe = Pipe(ours)
        await self.pipe.start()
        self._task = asyncio.create_task(self._listen())
        await self.ask("open", **order)

    async def ask(self, do: str, **more: Any) -> dict[str, Any]:
        """What the process answers. Raises LabError, also when it ends meanwhile."""
        return await self._ask(self.pipe.send, do, more)

    async def _ask(self, send: Callable[..., Awaitable[None]], do: str, more: dict[str, Any]) -> dict[str, Any]:
        self._calls += 1
        number, answer = self._calls, asyncio.get_running_loop().create_future()
        self._open[number] = answer
        try:
            await send(CONTROL, {"do": do, "n": number, **more})
            said = await asyncio.wait_for(answer, BEGIN_S)
        except (PipeClosed, TimeoutError):
            raise LabError(problem("host_silent")) from None
        finally:
            self._open.pop(number, None)
        if "problem" in said:
            raise LabError(said["problem"])
        return dict(said["value"])

    async def _listen(self) -> None:
        async for said in received(self.pipe, TO_WEB):
            if said.get("wish") == ANEW:
                self._renewing = asyncio.create_task(self._renew())
                continue
            answer = self._open.get(said["n"])
            if answer is not None and not answer.done():
                answer.set_result(said)
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(LabError(problem("host_silent")))

    async def _renew(self) -> None:
        """It starts itself anew, if it still can (`anew`). One that does not come back has died."""
        try:
            self.renewed += bool((await self._ask(self.pipe.send_last, ANEW, {}))[ANEW])
        except LabError:
            self.process.kill()
        finally:
            self.pipe.go_on()

    async def end(self) -> None:
        """All its labs stop in order, then it ends."""
        self.pipe.close()
        try:
            await asyncio.to_thread(self.process.wait, END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            await asyncio.to_thread(self.process.wait)


class Hosts:
    """All of a server. `lost`: is told of each lab whose process has died."""

    def __init__(self, most: int, order: dict[str, Any], lost: Callable[[str], Awaitable[None]]) -> None:
        self.most = most
        self.order = order
        self.lost = lost
        self.running: list[Host] = []
        self._watching: set[asyncio.Task[None]] = set()
        self._ending = False
        self._turn = asyncio.Lock()

    def of(self, name: str) -> Host | None:
        """The process that holds a lab."""
        return next((host for host in self.running if name in host.labs), None)

    async def begin(self, described: Described) -> RemoteLab:
        """A lab, running in a process that has room. Raises LabError, SpecError."""
        host = await self._with_room()
        lab = RemoteLab(described.name, host.pipe, patience_s=names.HOSTED_PATIENCE_S)
        host.labs[described.name] = lab
        try:
            await host.ask("begin", described=asdict(described))
            lab.told(dict(await asyncio.wrap_future(lab.call("facts", None, patience_s=names.SLOW_PATIENCE_S))))
        except BaseException:
            host.labs.pop(described.name, None)
            lab.close()
            raise
        self._keep(asyncio.create_task(self.prepare()))
        return lab

    async def view(self, name: str) -> dict[str, Any]:
        """A lab in short, as its process tells it; to ask does not wake it. Raises LabError."""
        host = self.of(name)
        if host is None:
            raise LabError(problem("host_silent"))
        return await host.ask("view", name=name)

    async def remove(self, name: str) -> None:
        """The lab stops in order."""
        host = self.of(name)
        if host is not None:
            lab = host.labs.pop(name)
            lab.close()
            await host.ask("remove", name=name)

    async def prepare(self) -> None:
        """Have a process ready that holds nothing yet, if there may be one more: it takes a while to load."""
        async with self._turn:
            if len(self.running) < self.most and all(host.labs for host in self.running):
                await self._another()

    async def _with_room(self) -> Host:
        async with self._turn:
            found = min(self.running, key=lambda host: len(host.labs), default=None)
            if found is None or (found.labs and len(self.running) < self.most):
                found = await self._another()
        return found

    async def _another(self) -> Host:
        host = Host()
        await host.start(self.order)
        self.running.append(host)
        self._keep(asyncio.create_task(self._watch(host)))
        return host

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)

    async def _watch(self, host: Host) -> None:
        """Until it ends. Then its labs are somebody else's."""
        await host.pipe.closed.wait()
        self.running.remove(host)
        if self._ending:
            return
        _log.warning("a process that held %d labs has ended; they are started anew", len(host.labs))
        await asyncio.to_thread(host.process.wait)
        for name, lab in list(host.labs.items()):
            lab.close()
            await self.lost(name)

    async def end(self) -> None:
        """All of them."""
        self._ending = True
        for task in list(self._watching):
            task.cancel()
        await asyncio.gather(*(host.end() for host in list(self.running)))
