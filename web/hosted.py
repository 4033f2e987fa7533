"""A process that holds labs for a server: `python -P -m web.hosted FD [KEPT]`, started by `web.live.hosts`.

It says nothing on ports of its own but those of the brokers. What it is asked comes over the pair of sockets whose end
it was given: to begin and end labs (`CONTROL`), and all that a lab is asked (`hosting`). It has the same database,
secrets and catalogues as the server, so REST's answers are the same. When the server is gone the labs stop in order.
KEPT is the open file of what this process has left to itself when it started itself anew (`web.live.anew`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker_core.kernel.errors import what_of
from lab import heap

if TYPE_CHECKING:  # Django has to be set up before they are loaded
    from web.live.hosting import LabHost
    from web.live.hub import LabHub
    from web.live.pipes import Pipe

_log = logging.getLogger("brokerlab.hosts")
FIRST = {"method": "GET", "path": "/api/labs", "query": "", "headers": [], "body": b""}


async def serve(end: socket.socket, kept: int | None = None) -> None:
    """Until the other end is gone. `kept`: the file of what this process has left to itself."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "web.settings")
    django.setup()
    from web.live.hosts import CONTROL
    from web.live.labs import labs
    from web.live.pipes import Pipe
    from web.live.watch import received

    pipe = Pipe(end)
    await pipe.start()
    held = Held(pipe)
    if kept is not None:
        await held.go_on(kept)
    heap.settle()
    tending = [asyncio.create_task(work) for work in (labs.tend(), held.watch())]
    async for call in received(pipe, CONTROL):
        held.keep(asyncio.create_task(held.answer(call)))
    for task in tending:
        task.cancel()
    await asyncio.to_thread(labs.end)
    await held.end()


class Held:
    """What is asked about labs as such, one thing after another for each."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe = pipe
        self.hosts: dict[str, LabHost] = {}
        self.order: dict[str, Any] = {}
        self.grown = False
        self._tasks: set[asyncio.Task[None]] = set()

    def keep(self, task: asyncio.Task[None]) -> None:
        """A task that is not forgotten."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def answer(self, call: dict[str, Any]) -> None:
        """Do it, and say what came of it."""
        from web.live.hosts import ANEW, TO_WEB
        from web.live.pipes import PipeClosed

        kinds: dict[str, Callable[..., Awaitable[dict[str, Any]]]] = {
            "open": self.open, "begin": self.begin, "view": self.view, "remove": self.remove, ANEW: self.anew,
        }  # fmt: skip
        more = {name: value for name, value in call.items() if name not in ("do", "n")}
        if call["do"] == ANEW:
            more["number"] = call["n"]
        try:
            said: dict[str, Any] = {"value": await kinds[call["do"]](**more)}
        except Exception as error:
            said = {"problem": what_of(error)}
        try:
            await self.pipe.send(TO_WEB, {"n": call["n"], **said})
        except PipeClosed:
            return

    async def open(self, most: int, home: str, host: str, first_port: int, idle_s: float) -> dict[str, Any]:
        from web.live.forwarding import answered
        from web.live.labs import labs

        self.order = {"most": most, "home": home, "host": host, "first_port": first_port, "idle_s": idle_s}
        labs.open(most, Path(home), host, first_port, [], idle_s)
        await answered(FIRST, "")  # all that answers REST is loaded before somebody waits for it
        return {}

    async def begin(self, described: dict[str, Any]) -> dict[str, Any]:
        from web.live.described import Described
        from web.live.labs import labs

        one = Described(**described)
        labs.known[one.name] = one
        try:
            found = await labs.begin(one)
        except BaseException:
            labs.known.pop(one.name, None)
            raise
        self._offer(found)
        return {}

    def _offer(self, found: LabHub) -> None:
        from web.live.hosting import LabHost

        host = self.hosts[found.name] = LabHost(found.lab, self.pipe, found.name, of=found)
        host.start()

    async def view(self, name: str) -> dict[str, Any]:
        from web.api.keeping import view_of
        from web.live.labs import labs

        return view_of(name, labs.running[name].lab)

    async def remove(self, name: str) -> dict[str, Any]:
        from web.live.labs import labs

        host = self.hosts.pop(name, None)
        if host is not None:
            host.stop()
        await labs.remove(name)
        return {}

    # -- starting anew ----------------------------------------------------------------------
    async def watch(self) -> None:
        """Wish to start anew whenever labs that were awake all sleep."""
        from web.live.hosts import ANEW, TO_WEB
        from web.live.labs import LOOK_S, labs
        from web.live.pipes import PipeClosed

        with suppress(PipeClosed):
            while True:
                await asyncio.sleep(LOOK_S)
                awake = labs.awake_here
                self.grown = self.grown or awake > 0
                if self.grown and labs.running and not awake:
                    await self.pipe.send(TO_WEB, {"wish": ANEW})

    async def anew(self, number: int) -> dict[str, Any]:
        """Start anew if nothing is under way and all sleep; an answer says that it is not to be. Where that fails (no
        room for the file) it is not tried again before a lab has been awake."""
        from web.live.anew import Kept, start_anew
        from web.live.hosts import ANEW
        from web.live.labs import labs

        try:
            beds = await labs.beds()
            busy = len(self._tasks) > 1 or not self.pipe.quiet or any(host.busy for host in self.hosts.values())
            if not labs.awake_here and not busy:
                await self.pipe.written()
                start_anew(self.pipe.fileno(), Kept(number, self.order, beds))
        except OSError as error:
            self.grown = False
            _log.warning("a process of labs cannot start itself anew: %s", error)
        await labs.stay()
        return {ANEW: False}

    async def go_on(self, file: int) -> None:
        """As the process that left this file."""
        from web.live.anew import kept_in
        from web.live.hosts import ANEW, TO_WEB
        from web.live.labs import labs
        from web.live.pipes import PipeClosed

        kept = kept_in(file)
        await self.open(**kept.order)
        for described, bed in kept.labs:
            self._offer(await labs.take_over(described, bed))
        with suppress(PipeClosed):  # the server has gone meanwhile: the labs stop in order
            await self.pipe.send(TO_WEB, {"n": kept.number, "value": {ANEW: True}})

    async def end(self) -> None:
        """What is under way is given up."""
        for task in list(self._tasks):
            task.cancel()


def main() -> None:
    """Signals are the server's: it ends this process by going."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sys.setswitchinterval(0.0005)
    with socket.socket(fileno=int(sys.argv[1])) as end:
        asyncio.run(serve(end, *map(int, sys.argv[2:])))


if __name__ == "__main__":
    main()
