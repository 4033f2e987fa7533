"""A process that holds labs for a server: `python -P -m web.hosted FD`, started by `web.live.hosts`.

It says nothing on ports of its own but those of the brokers. What it is asked comes over the pair of sockets whose end
it was given: to begin and end labs (`CONTROL`), and all that a lab is asked (`hosting`). It has the same database,
secrets and catalogues as the server, so REST's answers are the same. When the server is gone the labs stop in order.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from broker_core.kernel.errors import what_of
from lab import heap

FIRST = {"method": "GET", "path": "/api/labs", "query": "", "headers": [], "body": b""}


async def serve(end: socket.socket) -> None:
    """Until the other end is gone."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "web.settings")
    django.setup()
    from web.live.hosts import CONTROL
    from web.live.labs import labs
    from web.live.pipes import Pipe
    from web.live.watch import received

    pipe = Pipe(end)
    await pipe.start()
    heap.settle()
    held = Held(pipe)
    tending = asyncio.create_task(labs.tend())
    async for call in received(pipe, CONTROL):
        held.keep(asyncio.create_task(held.answer(call)))
    tending.cancel()
    await asyncio.to_thread(labs.end)
    await held.end()


class Held:
    """What is asked about labs as such, one thing after another for each."""

    def __init__(self, pipe: Any) -> None:
        self.pipe = pipe
        self.hosts: dict[str, Any] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def keep(self, task: asyncio.Task[None]) -> None:
        """A task that is not forgotten."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def answer(self, call: dict[str, Any]) -> None:
        """Do it, and say what came of it."""
        from web.live.hosts import TO_WEB
        from web.live.pipes import PipeClosed

        kinds: dict[str, Callable[..., Awaitable[dict[str, Any]]]] = {
            "open": self.open, "begin": self.begin, "view": self.view, "remove": self.remove,
        }  # fmt: skip
        more = {name: value for name, value in call.items() if name not in ("do", "n")}
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

        labs.open(most, Path(home), host, first_port, [], idle_s)
        await answered(FIRST, "")  # all that answers REST is loaded before somebody waits for it
        return {}

    async def begin(self, described: dict[str, Any]) -> dict[str, Any]:
        from web.live.described import Described
        from web.live.hosting import LabHost
        from web.live.labs import labs

        one = Described(**described)
        labs.known[one.name] = one
        try:
            found = await labs.begin(one)
        except BaseException:
            labs.known.pop(one.name, None)
            raise
        host = self.hosts[one.name] = LabHost(found.lab, self.pipe, one.name, of=found)
        host.start()
        return {}

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
        asyncio.run(serve(end))


if __name__ == "__main__":
    main()
