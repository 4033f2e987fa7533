"""Brokers' listeners: asyncio TCP on the world's own thread.

Bytes are received into fresh buffers (asyncio.BufferedProtocol), split into frames without copying,
and handed to the pump; answers are collected and leave in one write a connection and pass, long
ranges of files by sendfile (`drivers.sending`). A client that does not read what it asked for is not
read from either, so its memory is bounded by what it had asked before.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from broker_core.drivers.pump import LivePump
from broker_core.drivers.sending import FileRange, Sending, zero_copied
from broker_core.kernel.errors import Refusal
from broker_core.kernel.inputs import ConnectionClosed, ConnectionOpened, FrameReceived, Input
from broker_core.kernel.problems import problem
from broker_core.kernel.storage import Buffer, FileSlice
from broker_core.wire.errors import WireError
from broker_core.wire.framing import FrameReader

HIGH_WATER = 4 * 1024 * 1024
_log = logging.getLogger("brokerlab.tcp")


def stream_socket(host: str) -> socket.socket:
    """A socket to listen on.

    It names its protocol, and the connections that it accepts inherit the number: asyncio turns TCP_NODELAY on for
    those only. Without it the last piece of an answer waits for the acknowledgement of the one before, which the
    reader delays by 40 ms (Nagle's algorithm, RFC 896, against delayed acknowledgements, RFC 1122 4.2.3.2).
    """
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return found


class ClientConnection(asyncio.BufferedProtocol):
    """One outside client on one listener; `node` is its place (`names.place_of`)."""

    def __init__(self, server: TcpServer, node: str) -> None:
        self.server = server
        self.node = node
        self.number = server.next_number()
        self.transport: asyncio.Transport | None = None
        self.frames = FrameReader(server.max_frame)
        self.out: list[Buffer | FileRange] = []
        self.sending: Sending | None = None
        self.closing = False
        self.full = False
        self.held = False
        self.reading = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=HIGH_WATER)
        peer = transport.get_extra_info("peername") or ("?", 0)
        self.server.connections[self.number] = self
        self.read_or_wait()
        node, _, listener = self.node.partition(":")
        self.server.take([ConnectionOpened(node, self.number, f"{peer[0]}:{peer[1]}", listener)])

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.frames.get_buffer(sizehint)

    def buffer_updated(self, nbytes: int) -> None:
        try:
            frames = self.frames.buffer_updated(nbytes)
        except WireError as error:
            self.server.gone(self, f"refused frame: {error}")
            self.abort()
            return
        if frames:
            number = self.number
            self.server.take([FrameReceived(number, frame) for frame in frames])
        self.server.received(nbytes)
        if self.frames.broken:
            self.server.gone(self, f"refused frame: {self.frames.broken}")
            self.abort()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.gone(self, "client" if exc is None else f"client: {type(exc).__name__}")

    def pause_writing(self) -> None:
        self.full = True
        self.read_or_wait()

    def resume_writing(self) -> None:
        self.full = False
        self.read_or_wait()

    def read_or_wait(self) -> None:
        """Read from the client only while it reads and its requests are being served."""
        transport = self.transport
        wanted = not (self.full or self.held or self.sending or self.server.stalled)
        if transport is None or transport.is_closing() or wanted == self.reading:
            return
        self.reading = wanted
        if wanted:
            transport.resume_reading()
        else:
            transport.pause_reading()

    def flush(self) -> None:
        """Everything collected in this pass, in one write, or one after the other when files are among it."""
        out, self.out = self.out, []
        transport = self.transport
        if not out or transport is None:
            return
        if self.sending is None and not any(isinstance(part, FileRange) for part in out):
            if not transport.is_closing():
                transport.write(out[0]) if len(out) == 1 else transport.writelines(out)  # type: ignore[arg-type]
            return
        if self.sending is None:
            self.sending = Sending(transport, asyncio.get_running_loop(), self.zero_copied, self.sent)
            self.read_or_wait()
        self.sending.add(out)

    def zero_copied(self, size: int) -> None:
        self.server.zero_copied[self.node] += size

    def sent(self, whole: bool) -> None:
        """No range of a file is on its way any more."""
        self.sending = None
        if self.transport is not None and (self.closing or not whole):
            self.transport.close()
        self.read_or_wait()

    def abort(self) -> None:
        """Close; what was answered before is still delivered."""
        if self.transport is None:
            return
        self.flush()
        self.closing = True
        if self.sending is None:
            self.transport.close()


@dataclass(slots=True, frozen=True)
class Listeners:
    """What is left of a server that rests. `bound`, `doors`: sockets by place; at the doors somebody may wait."""

    host: str
    ports: dict[str, int]
    max_frame: int
    last_number: int
    bytes_out: Counter[str]
    zero_copied: Counter[str]
    bound: dict[str, socket.socket]
    doors: dict[str, socket.socket]


class NotBound(Refusal, OSError):
    """A port that is taken, or that this process may not have."""


def nobody() -> None:
    """Nobody gives room."""


class TcpServer:
    """The listeners of all brokers of a world, and the world's output to outside clients.

    `bytes_out`, `zero_copied`: bytes for outside clients per node, and those of them that went from a file to a
    socket without entering this process. Both depend on what happens to be in memory, so the world knows of neither.
    """

    def __init__(self, host: str, ports: dict[str, int], max_frame: int, spare: dict[str, int] | None = None) -> None:
        """`spare`: ports that are used if nobody else has them."""
        self.host = host
        self.ports = ports
        self.spare = spare or {}
        self.max_frame = max_frame
        self.pump: LivePump | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.connections: dict[int, ClientConnection] = {}
        self.stalled = False
        self.room = math.inf
        """Bytes that may still come; when they have come, whoever gives room is told (`full`)."""
        self.full: Callable[[], None] = nobody
        self.bytes_out: Counter[str] = Counter()
        self.zero_copied: Counter[str] = Counter()
        self._sockets: dict[str, socket.socket] = {}
        self._servers: dict[str, tuple[socket.socket, asyncio.Task[asyncio.Server]]] = {}
        self._doors: dict[str, socket.socket] = {}
        self._early: dict[str, int] | None = None
        self._dirty: dict[int, ClientConnection] = {}
        self._last_number = 0

    @classmethod
    def of(cls, left: Listeners) -> TcpServer:
        """The server that `left` is left of: it rests."""
        found = cls(left.host, left.ports, left.max_frame)
        found._sockets, found._doors, found._last_number = left.bound, left.doors, left.last_number
        found.bytes_out, found.zero_copied = left.bytes_out, left.zero_copied
        return found

    @property
    def left(self) -> Listeners:
        """While it rests: all that the server which comes after it needs (`of`)."""
        return Listeners(self.host, self.ports, self.max_frame, self._last_number, self.bytes_out, self.zero_copied,
                         self._sockets, self._doors)  # fmt: skip

    def bind(self) -> None:
        """Take all ports; raises OSError with the port in its text."""
        for node, port in self.ports.items():
            self._sockets[node] = self._bound(node, port)
        for place, port in self.spare.items():
            try:
                self._sockets[place] = self._bound(place, port)
            except NotBound:
                _log.warning("port %d is taken: nobody can connect to %s", port, place)

    def add(self, node: str, port: int, max_frame: int) -> None:
        """Take the port of a node that joins; raises OSError with the port in its text."""
        listener = self._bound(node, port)
        self._sockets[node] = listener
        self.max_frame = max(self.max_frame, max_frame)

    def remove(self, node: str) -> None:
        """Give the port of a node up that has not joined after all."""
        self._sockets.pop(node).close()
        del self.ports[node]

    def _bound(self, node: str, port: int) -> socket.socket:
        listener = stream_socket(self.host)
        try:
            listener.bind((self.host, port))
        except OSError as error:
            listener.close()
            raise NotBound(problem("not_bound", port=port, why=error.strerror)) from error
        self.ports[node] = listener.getsockname()[1]
        return listener

    def attach(self, pump: LivePump, loop: asyncio.AbstractEventLoop) -> None:
        self.pump = pump
        self.loop = loop

    @property
    def listening(self) -> list[str]:
        """Nodes that accept connections."""
        return [node for node, (_, starting) in self._servers.items() if starting.done()]

    @property
    def willing(self) -> list[str]:
        """Those, and nodes that will once the server opens."""
        return [*self.listening, *(self._early or {})]

    def keep_shut(self) -> None:
        """Until `open` nobody can connect: who finds a port open takes the whole cluster to be there, and a librdkafka
        that is told of no broker may not ask again for minutes."""
        self._early = {}

    async def open(self) -> None:
        """Listen for all nodes that want it, and from now on at once."""
        early, self._early = self._early or {}, None
        for node, port in early.items():
            self.listen(node, port)
        await asyncio.gather(*(starting for _, starting in self._servers.values()))

    def next_number(self) -> int:
        self._last_number += 1
        return self._last_number

    def take(self, items: list[Input]) -> None:
        if self.pump is not None:
            self.pump.take(items)

    def gone(self, connection: ClientConnection, reason: str) -> None:
        """The client has closed, or sent what is no frame."""
        if self.connections.pop(connection.number, None) is not None:
            self.take([ConnectionClosed(connection.number, reason)])

    def flush(self) -> None:
        """Send what this pass has answered."""
        dirty, self._dirty = self._dirty, {}
        for connection in dirty.values():
            connection.flush()

    # -- the world's output -----------------------------------------------------------------
    def write(self, connection: int, buffers: Sequence[Buffer | FileSlice]) -> None:
        client = self.connections.get(connection)
        if client is None:
            return
        self._dirty[connection] = client
        out = client.out
        for part in buffers:
            self.bytes_out[client.node] += len(part)
            out.append((zero_copied(part) or part.read()) if isinstance(part, FileSlice) else part)

    def close(self, connection: int, reason: str) -> None:
        client = self.connections.pop(connection, None)
        if client is not None:
            client.abort()

    def hold(self, connection: int, hold: bool) -> None:
        client = self.connections.get(connection)
        if client is not None:
            client.held = hold
            client.read_or_wait()

    def stall(self, stalled: bool) -> None:
        """Read from no client, or again from all: they wait."""
        if stalled != self.stalled:
            self.stalled = stalled
            for client in self.connections.values():
                client.read_or_wait()

    def received(self, size: int) -> None:
        """So many bytes have come, from whichever client."""
        self.room -= size
        if self.room < 0 and not self.stalled:
            self.full()

    def sent(self, node: str) -> tuple[int, int]:
        return self.bytes_out[node], self.zero_copied[node]

    def listen(self, node: str, port: int) -> None:
        if self.loop is None or node in self._servers or node not in self.ports:
            return
        if self._early is not None:
            self._early[node] = port
            return
        listener = self._sockets.pop(node, None) or self._bound(node, self.ports[node])
        listener.listen(512)
        starting = self.loop.create_server(lambda: ClientConnection(self, node), sock=listener, backlog=512)
        self._servers[node] = (listener, self.loop.create_task(starting))

    # -- while nobody is there to answer ----------------------------------------------------
    def rest(self, knocked: Callable[[], None]) -> None:
        """Accept nobody; who connects waits in the machine's queue, and `knocked` is called. Nobody is connected."""
        assert self.loop is not None
        self.pump = None
        for place in self.listening:
            self._doors[place] = self._servers[place][0].dup()
            self._close(place)
        self.attend(self.loop, knocked)

    def attend(self, loop: asyncio.AbstractEventLoop, knocked: Callable[[], None]) -> None:
        """Notice who connects to a server that rests."""
        self.loop = loop
        for door in self._doors.values():
            loop.add_reader(door, knocked)

    def ignore(self) -> None:
        """Do not notice who connects until `attend`: he waits."""
        for door in self._doors.values():
            if self.loop is not None:
                self.loop.remove_reader(door)

    def go_on(self) -> None:
        """Accept those who wait, and all that come."""
        self.ignore()
        doors, self._doors = self._doors, {}
        for place, door in doors.items():
            self._sockets[place] = door
            self.listen(place, self.ports[place])

    def stop_listening(self, node: str) -> None:
        """No listener of the node any more."""
        for place in [one for one in (*self._servers, *(self._early or {})) if one.partition(":")[0] == node]:
            self._close(place)

    def _close(self, place: str) -> None:
        if self._early is not None:
            self._early.pop(place, None)
        listener, starting = self._servers.pop(place, (None, None))
        if starting is None or listener is None:
            return
        if starting.done() and not starting.cancelled():
            starting.result().close()
        else:
            starting.cancel()
        listener.close()

    def shut_down(self) -> None:
        """Close every listener and every connection."""
        for place in list(self._servers):
            self._close(place)
        self.ignore()
        for listener in (*self._doors.values(), *self._sockets.values()):
            listener.close()
        for client in list(self.connections.values()):
            self.connections.pop(client.number, None)
            if client.sending is not None:
                client.sending.cancel()
            client.abort()

