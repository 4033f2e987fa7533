"""The WebSocket of one viewer.

    S->C {v, run, epoch, k:"snap", seq, t, state}
    S->C {v, run, epoch, k:"d", from, to, t0, t1, ev:[[seq, dt, code, node, cause, {params}], ...]}
         or a JSON list of such deltas when several waited
    S->C {k:"hb", seq, t, speed, paused, over}              after a second without anything else, or at another pace
    C->S {k:"hello", run, epoch, last} | {k:"resync", last}
    C->S {k:"cmd", id, do, ...}  ->  {k:"ack", id, ok, seq | error, place}
    C->S {k:"ask", id, what, ...} -> {k:"progress", id, share} ... {k:"ack", id, ok, ...}   (questions: `asking`)

`run` in a hello chooses one of the lab's open runs; a run that is not open (any more) is the live one.
A viewer who came with the class's token may look, and is refused what changes something (`web.access`).
A viewer that says `last` of the same run and epoch gets the events it has missed when they are
still in memory, else a snapshot. Two tasks: the receiver answers what the viewer says, the writer
empties its queue (`viewer`) and never lets a slow socket hold anything but that queue.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer

from broker_core.kernel.problems import problem
from lab.branch import BranchError
from web import strict
from web.access import ACT
from web.live import asking
from web.live.hub import Hub, chosen
from web.live.viewer import Viewer

HEARTBEAT_SECONDS = 1.0
COMMANDS_AT_ONCE = 32
LOOKING = ("history", "story", "inspect", "outline", "export", "message")
TEXTS, NUMBERS, LARGEST = ("run", "what"), ("last", "t"), 1 << 53
LOOK_ONLY = {"ok": False, "problem": problem("look_only"), "place": "do"}


class LabConsumer(AsyncWebsocketConsumer):
    """One viewer of the lab that its address names."""

    async def connect(self) -> None:
        """Accept; nothing is sent before the viewer says hello."""
        self.viewer = Viewer()
        self.home = chosen()  # of the lab
        self.hub: Hub = self.home  # of the run that is looked at
        self.known: int | None = None  # `last` of a viewer that may be given the missed events only
        self.greeted = False
        self.pace: tuple[Hub, float, bool, tuple[str, ...]] | None = None  # how the run goes, as it was told last
        self.tasks: set[asyncio.Task[None]] = set()
        self.writer: asyncio.Task[None] | None = None
        await self.accept()

    async def send(self, *args: Any, **more: Any) -> None:
        """To a viewer who has left nothing is sent: the server says so before `disconnect` is called."""
        with suppress(OSError):
            await super().send(*args, **more)

    async def disconnect(self, code: int) -> None:
        """Stop writing and forget the viewer."""
        self.hub.remove(self.viewer)
        self.home.close_others()
        for task in [*self.tasks, *([self.writer] if self.writer else [])]:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """One message of the viewer's; one that makes no sense ends the connection (1007)."""
        try:
            message = strict.loads(text_data or "")
            kind = _kind(message)
        except ValueError:
            await self.close(1007)
            return
        if kind in ("hello", "resync"):
            self._greet(message)
        elif not self._may(kind, message):
            self._work(message.get("id"), self._ack(message.get("id"), LOOK_ONLY))
        elif kind == "cmd":
            command = {key: value for key, value in message.items() if key not in ("k", "id")}
            self._work(message.get("id"), self._obey(message.get("id"), command))
        elif kind == "ask":
            self._work(message.get("id"), self._answer(message))

    def _may(self, kind: str, message: dict[str, Any]) -> bool:
        """Whether this viewer may do more than look, or only wants to look."""
        return self.scope.get("may", ACT) == ACT or (kind == "ask" and message.get("what") in LOOKING)

    def _greet(self, message: dict[str, Any]) -> None:
        if message["k"] == "hello":
            self._look_at(self.home.of(message.get("run")))
        run, last = self.hub.run, message.get("last")
        same = message["k"] == "resync" or (message.get("run"), message.get("epoch")) == (run.run_id, run.epoch)
        self.known = last if same and isinstance(last, int) and last > 0 else None
        self.viewer.cut()
        if not self.greeted:
            self.greeted = True
            self.hub.add(self.viewer)
            self.writer = asyncio.create_task(self._write())

    def _look_at(self, wanted: Hub) -> None:
        """Another run from now on."""
        if wanted is self.hub:
            return
        before, self.hub = self.hub, wanted
        self.viewer.cut()
        if self.greeted:
            before.remove(self.viewer)
            wanted.add(self.viewer)
            self.home.close_others()

    def _work(self, number: Any, work: Coroutine[Any, Any, None]) -> None:
        if len(self.tasks) >= COMMANDS_AT_ONCE:
            work.close()
            work = self._ack(number, {"ok": False, "problem": problem("too_many_commands"), "place": "do"})
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _obey(self, number: Any, command: dict[str, Any]) -> None:
        try:
            answer = await asyncio.wrap_future(self.hub.run.submit(command))
        except BranchError as error:
            answer = {"ok": False, "problem": error.problem, "place": "run"}
        await self._ack(number, answer)

    async def _answer(self, message: dict[str, Any]) -> None:
        async def tell(share: float) -> None:
            await self.send(json.dumps({"k": "progress", "id": message.get("id"), "share": round(share, 3)}))

        await self.send(await asking.answer(self.home, self.hub, message, tell))

    async def _ack(self, number: Any, answer: dict[str, Any]) -> None:
        await self.send(json.dumps({**answer, "k": "ack", "id": number}))

    async def _write(self) -> None:
        """Snapshot when behind, else what waits, else a heartbeat; ends with the connection."""
        while True:
            if self.hub.run.ended:
                self._look_at(self.home)
            if self.viewer.behind:
                text: str | None = await self._catch_up()
            else:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self.viewer.wake.wait(), HEARTBEAT_SECONDS)
                text = self.viewer.take()
                if text is None and not self.viewer.behind:
                    text = self._heartbeat()
            if text:
                await self.send(text)
                await self._tell_pace()

    async def _tell_pace(self) -> None:
        """Another viewer may have changed how fast the run goes: that is told at once, however much happens."""
        facts = self.hub.run.clock()
        pace = (self.hub, facts["speed"], facts["paused"], tuple(facts.get("over", ())))
        known, self.pace = self.pace, pace
        if known is not None and known != pace:
            await self.send(self._heartbeat())

    async def _catch_up(self) -> str:
        """What a viewer that is behind gets; nothing when the run has just ended."""
        try:
            return await self._missed()
        except BranchError:
            self.viewer.cut()
            return ""

    async def _missed(self) -> str:
        """The missed events when they are still there, else a snapshot; deltas queue up meanwhile."""
        run, known = self.hub.run, self.known
        self.known = None
        self.viewer.caught_up()
        head = f'{{"v":1,"run":"{run.run_id}","epoch":{run.epoch},"k":'
        if known is not None:
            rows = await asyncio.wrap_future(run.events_since(known))
            if rows is not None:
                found = json.loads(rows)
                last, t = (found[-1][0], found[-1][1]) if found else (known, self.hub.t)
                return f'{head}"d","from":{known},"to":{last},"t0":0,"t1":{t},"ev":{rows}}}'
        seq, text = await asyncio.wrap_future(run.snapshot())
        return f'{{"v":1,"k":"snap","seq":{seq},{text[1:]}'

    def _heartbeat(self) -> str:
        return json.dumps({"k": "hb", **self.hub.run.clock()})


def _kind(message: Any) -> str:
    """What a message is; raises ValueError for one that no page sends."""
    if not isinstance(message, dict) or not isinstance(message.get("k"), str):
        raise ValueError("a message is an object with a kind")
    for key in TEXTS:
        if not isinstance(message.get(key, ""), str | None):
            raise ValueError(f"{key}: expected a text")
    for key in NUMBERS:
        value = message.get(key, 0)
        if value is not None and (not isinstance(value, (int, float)) or abs(value) > LARGEST):
            raise ValueError(f"{key}: expected a number")
    kind: str = message["k"]
    return kind
