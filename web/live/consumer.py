"""The WebSocket of one viewer.

    S->C {v, run, epoch, k:"snap", seq, t, state}
    S->C {v, run, epoch, k:"d", from, to, t0, t1, ev:[[seq, dt, code, node, cause, {params}], ...]}
         or a JSON list of such deltas when several waited
    S->C {k:"hb", seq, t, speed, paused}                    when a second passed without anything else
    C->S {k:"hello", run, epoch, last} | {k:"resync", last}
    C->S {k:"cmd", id, do, ...}  ->  {k:"ack", id, ok, seq | error, place}

A viewer that says `last` of the same run and epoch gets the events it has missed when they are
still in memory, else a snapshot. Two tasks: the receiver answers what the viewer says, the writer
empties its queue (`viewer`) and never lets a slow socket hold anything but that queue.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer

from web.live.hub import hub
from web.live.viewer import Viewer

HEARTBEAT_SECONDS = 1.0
COMMANDS_AT_ONCE = 32


class LabConsumer(AsyncWebsocketConsumer):
    """One viewer of the lab of this process."""

    async def connect(self) -> None:
        """Accept; nothing is sent before the viewer says hello."""
        self.viewer = Viewer()
        self.known: int | None = None  # `last` of a viewer that may be given the missed events only
        self.greeted = False
        self.tasks: set[asyncio.Task[None]] = set()
        self.writer: asyncio.Task[None] | None = None
        await self.accept()

    async def disconnect(self, code: int) -> None:
        """Stop writing and forget the viewer."""
        hub.remove(self.viewer)
        for task in [*self.tasks, *([self.writer] if self.writer else [])]:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """One message of the viewer's; one that makes no sense ends the connection (1007)."""
        try:
            message = json.loads(text_data or "")
            kind = message["k"]
        except (ValueError, KeyError, TypeError):
            await self.close(1007)
            return
        if kind in ("hello", "resync"):
            self._greet(message)
        elif kind == "cmd":
            self._command(message)

    def _greet(self, message: dict[str, Any]) -> None:
        lab, last = hub.lab, message.get("last")
        same = message["k"] == "resync" or (message.get("run"), message.get("epoch")) == (lab.run_id, lab.epoch)
        self.known = last if same and isinstance(last, int) and last > 0 else None
        self.viewer.cut()
        if not self.greeted:
            self.greeted = True
            hub.add(self.viewer)
            self.writer = asyncio.create_task(self._write())

    def _command(self, message: dict[str, Any]) -> None:
        command = {key: value for key, value in message.items() if key not in ("k", "id")}
        if len(self.tasks) >= COMMANDS_AT_ONCE:
            answer = self._ack(message.get("id"), {"ok": False, "error": "too many commands at once", "place": "do"})
            task = asyncio.create_task(answer)
        else:
            task = asyncio.create_task(self._obey(message.get("id"), command))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _obey(self, number: Any, command: dict[str, Any]) -> None:
        await self._ack(number, await asyncio.wrap_future(hub.lab.submit(command)))

    async def _ack(self, number: Any, answer: dict[str, Any]) -> None:
        await self.send(json.dumps({"k": "ack", "id": number, **answer}))

    async def _write(self) -> None:
        """Snapshot when behind, else what waits, else a heartbeat; ends with the connection."""
        while True:
            if self.viewer.behind:
                text: str | None = await self._catch_up()
            else:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self.viewer.wake.wait(), HEARTBEAT_SECONDS)
                text = self.viewer.take()
                if text is None and not self.viewer.behind:
                    text = self._heartbeat()
            if text is not None:
                await self.send(text)

    async def _catch_up(self) -> str:
        """The missed events when they are still there, else a snapshot; deltas queue up meanwhile."""
        lab, known = hub.lab, self.known
        self.known = None
        self.viewer.caught_up()
        head = f'{{"v":1,"run":"{lab.run_id}","epoch":{lab.epoch},"k":'
        if known is not None:
            rows = await asyncio.wrap_future(lab.events_since(known))
            if rows is not None:
                found = json.loads(rows)
                last, t = (found[-1][0], found[-1][1]) if found else (known, hub.t)
                return f'{head}"d","from":{known},"to":{last},"t0":0,"t1":{t},"ev":{rows}}}'
        seq, text = await asyncio.wrap_future(lab.snapshot())
        return f'{{"v":1,"k":"snap","seq":{seq},{text[1:]}'

    def _heartbeat(self) -> str:
        clock = getattr(hub.lab, "clock", None)
        facts = clock() if clock is not None else {"seq": hub.seq, "t": hub.t}
        return json.dumps({"k": "hb", **facts})
