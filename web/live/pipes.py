"""How two processes of one server talk: a channel layer over a pair of sockets, as `RemoteLab` and `LabHost` need it.

```
web    send("brokerlab.mina.calls", call)   ------->   receive("brokerlab.mina.calls")    host
       receive(own channel)                 <-------   send(call["to"], answer)
       group_add(group, own channel)        <-------   group_send(group, batch)
```
It is Redis's layer (`wire_names`) with one difference: whatever is sent goes to the other end. So one pair of classes
serves both: a host of this machine that was started by the web, and one anywhere that shares a Redis.

What a channel holds is bounded as there: more than `CAPACITY` messages are dropped, and batches are numbered. The other
end is a process that this one has started, or the one that has started this: what it sends is trusted.
"""

from __future__ import annotations

import asyncio
import pickle
import secrets
import socket
from collections import defaultdict
from typing import Any

CAPACITY = 400
_LENGTH = 4
_END: dict[str, Any] = {}


class PipeClosed(ConnectionError):
    """The process at the other end has ended."""


class Pipe:
    """One end. `closed` is set when the other one is gone."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._queues: dict[str, asyncio.Queue[dict[str, Any]]] = {}
        self._groups: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._writer: asyncio.StreamWriter | None = None
        self._task: asyncio.Task[None] | None = None
        self.closed = asyncio.Event()
        self._free = asyncio.Event()
        self._free.set()

    async def start(self) -> None:
        """From inside the loop that it is used in."""
        reader, self._writer = await asyncio.open_unix_connection(sock=self._end)
        self._task = asyncio.create_task(self._read(reader))

    def close(self) -> None:
        """Nothing more is sent; the other end notices."""
        if self._writer is not None:
            self._writer.close()
        self._gone()

    # -- the layer --------------------------------------------------------------------------
    async def send(self, channel: str, message: dict[str, Any]) -> None:
        """To a channel of the other end. Raises PipeClosed."""
        await self._write(("channel", channel, message))

    async def send_last(self, channel: str, message: dict[str, Any]) -> None:
        """As `send`; whoever sends anything more waits until `go_on`."""
        await self._free.wait()
        self._free.clear()
        await self._write_now(("channel", channel, message))

    def go_on(self) -> None:
        """Send what has waited."""
        self._free.set()

    @property
    def quiet(self) -> bool:
        """Whether all that has come was taken."""
        return all(queue.empty() for queue in self._queues.values())

    async def written(self) -> None:
        """Until all that was sent has left this process."""
        if self._writer is not None:
            self._writer.transport.set_write_buffer_limits(high=0)
            await self._writer.drain()

    def fileno(self) -> int:
        """Of the socket."""
        return self._end.fileno()

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        """To all channels of the other end that have joined a group. Raises PipeClosed."""
        await self._write(("group", group, message))

    async def receive(self, channel: str) -> dict[str, Any]:
        """The next message of a channel of this end. Raises PipeClosed."""
        if self.closed.is_set():
            raise PipeClosed("the other process has ended")
        message = await self._queue(channel).get()
        if message is _END:
            raise PipeClosed("the other process has ended")
        return message

    async def new_channel(self, prefix: str = "") -> str:
        """A channel of this end that nobody else has."""
        return f"{prefix}.{secrets.token_hex(8)}"

    async def group_add(self, group: str, channel: str) -> None:
        self._groups[group][channel] = None

    async def group_discard(self, group: str, channel: str) -> None:
        self._groups[group].pop(channel, None)
        self._queues.pop(channel, None)

    # -- the sockets ------------------------------------------------------------------------
    async def _write(self, what: tuple[str, str, dict[str, Any]]) -> None:
        await self._free.wait()
        await self._write_now(what)

    async def _write_now(self, what: tuple[str, str, dict[str, Any]]) -> None:
        if self._writer is None or self.closed.is_set():
            raise PipeClosed("the other process has ended")
        data = pickle.dumps(what, pickle.HIGHEST_PROTOCOL)
        self._writer.write(len(data).to_bytes(_LENGTH, "big") + data)
        await self._writer.drain()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(_LENGTH), "big")
                kind, name, message = pickle.loads(await reader.readexactly(size))
                for channel in list(self._groups[name]) if kind == "group" else [name]:
                    self._put(channel, message)
        except (asyncio.IncompleteReadError, OSError):
            self._gone()

    def _put(self, channel: str, message: dict[str, Any]) -> None:
        queue = self._queue(channel)
        if not queue.full() or message is _END:
            queue.put_nowait(message)

    def _queue(self, channel: str) -> asyncio.Queue[dict[str, Any]]:
        found = self._queues.get(channel)
        if found is None:
            found = self._queues[channel] = asyncio.Queue(CAPACITY)
        return found

    def _gone(self) -> None:
        if self.closed.is_set():
            return
        self.closed.set()
        self._free.set()
        for queue in self._queues.values():
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(_END)
