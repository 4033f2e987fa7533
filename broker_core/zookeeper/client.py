"""The coordination client inside a broker: one session, requests in order, watches, reconnection.

    CONNECTING  a Connect is under way        ConnectReply => CONNECTED; session 0 => EXPIRED
    CONNECTED   requests flow                 connection lost => CONNECTING (after a back-off)
    EXPIRED     the session is gone           handlers are told, then a new session is asked for
    CLOSED      asked for by `close`

The times are those of ZooKeeper's `ClientCnxn`: a quiet client pings every third of the session
timeout (18 s: after 6 s), and gives a server up that has been silent for two thirds. *Lost
connection* is not *lost session*: only a server may say that a session has expired, so a client that
is cut off cannot know it (Programmer's Guide, "ZooKeeper Sessions").

Requests that were under way when the connection broke are sent again on the next one, as Kafka's
`retryRequestsUntilConnected` does; one of them may have been carried out already, and its repetition
then meets NODEEXISTS or BADVERSION: callers that care look at what is there.

At most `max_in_flight` requests are unanswered at a time (`zookeeper.max.in.flight.requests`, 10), as the semaphore of
Kafka's `ZooKeeperClient.handleRequests` sees to it. So reading 1,000 znodes takes a hundred round trips: that is what
makes a new controller slow where there are many partitions.

Watches follow Kafka's `ZooKeeperClient`: `on_change(path, method)` and `on_children(path, method)`
name a handler, and every later Exists, GetData or GetChildren of that path leaves a watch. A handler
gets (kind, path), reads again, and so leaves the next watch. After a reconnection the watches are
set again; what changed meanwhile rings at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from broker_core.kernel.node import Node, Timer
from broker_core.kernel.transitions import Transitions
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.errors import Code
from broker_core.zookeeper.paths import ClientPaths

CONNECTING, CONNECTED, EXPIRED, CLOSED = "connecting", "connected", "expired", "closed"
STATES = Transitions("session", {
    CLOSED: (CONNECTING, CLOSED),
    CONNECTING: (CONNECTING, CONNECTED, EXPIRED, CLOSED),
    CONNECTED: (CONNECTING, CLOSED),
    EXPIRED: (CONNECTING, CLOSED),
})  # fmt: skip
BACKOFF_US = 1_000_000
MAX_IN_FLIGHT = 10

ResultDone = Callable[[Any, p.Result], None]
BatchDone = Callable[[Any, list[p.Result]], None]
WatchHandler = Callable[[str, str], None]


@dataclass(slots=True)
class SessionHandler:
    """Who wants to know: `connected` after each new session, `expired` when one has ended,
    `reconnected` when a session goes on over a new connection."""

    connected: Callable[[], None] | None = None
    expired: Callable[[], None] | None = None
    reconnected: Callable[[], None] | None = None


@dataclass(slots=True)
class _Waiting:
    op: p.Operation
    done: ResultDone
    context: Any


@dataclass(slots=True)
class _Batch:
    """Operations sent together; `done` gets all results, in order."""

    results: list[p.Result | None]
    missing: int
    done: BatchDone
    context: Any


@dataclass(slots=True)
class _Watched:
    """Watches that the server holds for us, to be set again after a reconnection."""

    data: dict[str, None] = field(default_factory=dict)
    exist: dict[str, None] = field(default_factory=dict)
    child: dict[str, None] = field(default_factory=dict)

    def clear(self) -> None:
        self.data.clear()
        self.exist.clear()
        self.child.clear()


class ZkClient:
    """One session with the ensemble. `chroot` ("/kafka-main" or "") is put before every path.

    Invariants
        - replies arrive in the order of `_in_flight`, which holds at most `max_in_flight`
        - every operation's `done` is called exactly once
    """

    def __init__(
        self, node: Node, servers: list[str], session_timeout_ms: int = 18_000, chroot: str = "",
        max_in_flight: int = MAX_IN_FLIGHT,
    ) -> None:
        self.node = node
        self.servers = list(servers)
        if len(servers) > 1:  # so that not all clients come to the first one (StaticHostProvider)
            node.random("zookeeper-servers").shuffle(self.servers)
        self.session_timeout_ms = session_timeout_ms
        self.max_in_flight = max_in_flight
        self.paths = ClientPaths(chroot)
        self.state = CLOSED
        self.session = 0
        self.handlers: list[SessionHandler] = []
        self.change_handlers: dict[str, WatchHandler] = {}
        self.children_handlers: dict[str, WatchHandler] = {}
        self._password = 0
        self._timeout_ms = session_timeout_ms
        self._connection = 0
        self._server = 0
        self._next_xid = 1
        self._last_sequence = 0
        self._last_zxid = 0
        self._queued: deque[_Waiting] = deque()
        self._in_flight: deque[_Waiting] = deque()
        self._watched = _Watched()
        self._last_sent_us = 0
        self._last_heard_us = 0
        self._timer: Timer | None = None

    # --- for the owner ---------------------------------------------------------------------------

    def connect(self) -> None:
        """Ask for a session; `connected` handlers are called when there is one."""
        self.state = STATES.step(self.state, CONNECTING)
        self._open_connection()

    def close(self) -> None:
        """End the session: its ephemeral znodes go at once."""
        if self.state == CONNECTED:
            self._send(p.CloseSession(self._connection))
        self.state = STATES.step(self.state, CLOSED)
        self._cancel_timer()

    def submit(self, op: p.Operation, done: ResultDone, context: Any = None) -> None:
        """Carry out one operation; later `done(context, result)`."""
        self._queued.append(_Waiting(op, done, context))
        self._pump()

    def batch(self, ops: list[p.Operation], done: BatchDone, context: Any = None) -> None:
        """Send operations behind one another, not one by one; `done(context, results)` after the last."""
        if not ops:
            self.node.soon(done, context, [])
            return
        batch = _Batch([None] * len(ops), len(ops), done, context)
        for position, op in enumerate(ops):
            self._queued.append(_Waiting(op, self._part_done, (batch, position)))
        self._pump()

    def on_change(self, path: str, handler: WatchHandler) -> None:
        """`handler(kind, path)` when the znode is created, changed or deleted, once per read of it."""
        self.change_handlers[path] = handler

    def on_children(self, path: str, handler: WatchHandler) -> None:
        """`handler(kind, path)` when the list of children changes, once per read of it."""
        self.children_handlers[path] = handler

    def forget(self, path: str) -> None:
        """No handler for this path any more; a watch that is still set rings unheard."""
        self.change_handlers.pop(path, None)
        self.children_handlers.pop(path, None)

    # --- for the owner's machine -----------------------------------------------------------------

    def receive(self, source: str, message: Any) -> bool:
        """Take a message of a coordination server; False when it is none."""
        if not isinstance(message, p.ConnectReply | p.Pong | p.Reply | p.Event | p.Closed):
            return False
        if message.connection != self._connection or self.state in (CLOSED, EXPIRED):
            return True
        self._last_heard_us = self.node.now_us()
        if isinstance(message, p.Closed):
            self._connection_lost()
        elif message.sequence == self._last_sequence + 1:
            self._last_sequence = message.sequence
            self._take(message)
        elif message.sequence > self._last_sequence:
            self._connection_lost()
        return True

    def peer_down(self, peer: str) -> None:
        if peer == self.servers[self._server] and self.state in (CONNECTED, CONNECTING):
            self._connection_lost()

    # --- connection ------------------------------------------------------------------------------

    def _open_connection(self) -> None:
        self._timer = None
        if self.state == CLOSED:
            return
        self.state = STATES.step(self.state, CONNECTING)
        self._connection = self.node.random("zookeeper-connections").getrandbits(32)
        self._next_xid, self._last_sequence = 1, 0
        self._last_heard_us = self.node.now_us()
        self._send(p.Connect(self._connection, self.session, self._password, self.session_timeout_ms, self._last_zxid))
        self._arm(self._timeout_ms * 1000 // len(self.servers), self._connect_timed_out)

    def _connect_timed_out(self) -> None:
        self._timer = None
        self._connection_lost()

    def _connection_lost(self) -> None:
        """Try the next server, after a back-off."""
        self.state = STATES.step(self.state, CONNECTING)
        if len(self.servers) > 1:
            self._send(p.Hangup(self._connection))
        self._connection = -1
        self._queued.extendleft(reversed(self._in_flight))
        self._in_flight.clear()
        self._server = (self._server + 1) % len(self.servers)
        self._cancel_timer()
        delay_us = int(self.node.random("zookeeper-backoff").random() * BACKOFF_US)
        self._arm(delay_us, self._open_connection)

    def _take(self, message: p.ConnectReply | p.Pong | p.Reply | p.Event) -> None:
        match message:
            case p.ConnectReply():
                self._connected(message)
            case p.Reply():
                self._reply(message)
            case p.Event():
                self._event(message)

    def _connected(self, reply: p.ConnectReply) -> None:
        self._cancel_timer()
        if reply.session == 0:
            self._session_expired()
            return
        known = reply.session == self.session
        self.state = STATES.step(self.state, CONNECTED)
        self.session, self._password, self._timeout_ms = reply.session, reply.password, reply.timeout_ms
        self._arm_liveness()
        if known:
            self._set_watches_again()
        else:
            self._make_chroot()
            self._tell("connected")
        self._pump()
        if known:
            self._tell("reconnected")

    def _session_expired(self) -> None:
        """Everything that the session stood for is gone; what is under way fails."""
        self.state = STATES.step(self.state, EXPIRED)
        self.session, self._password, self._last_zxid = 0, 0, 0
        self._timeout_ms = self.session_timeout_ms
        self._watched.clear()
        failed = [*self._in_flight, *self._queued]
        self._in_flight.clear()
        self._queued.clear()
        for waiting in failed:
            waiting.done(waiting.context, p.Result(Code.SESSIONEXPIRED))
        self._tell("expired")
        if self.state == EXPIRED:
            self._open_connection()

    def _make_chroot(self) -> None:
        self._queued.extendleft(_Waiting(op, self._ignore, None) for op in reversed(self.paths.chroot_parts()))

    def _set_watches_again(self) -> None:
        watched = self._watched
        if watched.data or watched.exist or watched.child:
            op = p.SetWatches(self._last_zxid, list(watched.data), list(watched.exist), list(watched.child))
            self._queued.appendleft(_Waiting(op, self._ignore, None))

    def _tell(self, what: str) -> None:
        for handler in list(self.handlers):
            method = getattr(handler, what)
            if method is not None:
                method()

    # --- signs of life ---------------------------------------------------------------------------

    def _ping_after_us(self) -> int:
        """A third of the session timeout, at most ten seconds (`ClientCnxn.MAX_SEND_PING_INTERVAL`)."""
        return min(self._timeout_ms * 1000 // 3, 10_000_000)

    def _arm_liveness(self) -> None:
        now = self.node.now_us()
        ping_us = self._last_sent_us + self._ping_after_us()
        silence_us = self._last_heard_us + self._timeout_ms * 1000 * 2 // 3
        self._arm(max(0, min(ping_us, silence_us) - now), self._check_liveness)

    def _check_liveness(self) -> None:
        self._timer = None
        if self.state != CONNECTED:
            return
        now = self.node.now_us()
        if now - self._last_heard_us >= self._timeout_ms * 1000 * 2 // 3:
            self._connection_lost()
            return
        if now - self._last_sent_us >= self._ping_after_us():
            self._send(p.Ping(self._connection))
        self._arm_liveness()

    def _arm(self, delay_us: int, method: Callable[[], None]) -> None:
        self._timer = self.node.after(delay_us, method)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # --- requests --------------------------------------------------------------------------------

    def _pump(self) -> None:
        """Send what is queued, if there is a connection and few enough are unanswered."""
        while self.state == CONNECTED and self._queued and len(self._in_flight) < self.max_in_flight:
            waiting = self._queued.popleft()
            op = self._watching(waiting.op)
            self._in_flight.append(waiting)
            xid, self._next_xid = self._next_xid, self._next_xid + 1
            self._send(p.Request(self._connection, xid, self.paths.to_server(op)), p.message_size(op))

    def _watching(self, op: p.Operation) -> p.Operation:
        """A read of a path that has a handler leaves a watch."""
        if isinstance(op, p.GetChildren):
            op.watch = op.path in self.children_handlers
        elif isinstance(op, p.Exists | p.GetData):
            op.watch = op.path in self.change_handlers
        return op

    def _reply(self, reply: p.Reply) -> None:
        self._last_zxid = max(self._last_zxid, reply.zxid)
        expected = self._next_xid - len(self._in_flight)
        if not self._in_flight or reply.xid != expected:
            self._connection_lost()
            return
        waiting = self._in_flight.popleft()
        self._pump()
        self._note_watch(waiting.op, reply.result)
        waiting.done(waiting.context, self.paths.from_server(reply.result))

    def _note_watch(self, op: p.Operation, result: p.Result) -> None:
        if not isinstance(op, p.Exists | p.GetData | p.GetChildren) or not op.watch:
            return
        path = self.paths.absolute(op.path)
        if isinstance(op, p.GetChildren):
            if result.ok:
                self._watched.child[path] = None
        elif result.ok:
            self._watched.data[path] = None
        elif isinstance(op, p.Exists):
            self._watched.exist[path] = None

    def _event(self, event: p.Event) -> None:
        self._last_zxid = max(self._last_zxid, event.zxid)
        path = self.paths.relative(event.path)
        handlers: dict[WatchHandler, None] = {}
        if event.kind in (p.NODE_CHILDREN_CHANGED, p.NODE_DELETED) and self._watched.child.pop(event.path, "") is None:
            self._note_handler(handlers, self.children_handlers.get(path))
        if event.kind != p.NODE_CHILDREN_CHANGED:
            set_data = self._watched.data.pop(event.path, "") is None
            if self._watched.exist.pop(event.path, "") is None or set_data:
                self._note_handler(handlers, self.change_handlers.get(path))
        for handler in handlers:
            handler(event.kind, path)

    def _note_handler(self, handlers: dict[WatchHandler, None], handler: WatchHandler | None) -> None:
        if handler is not None:
            handlers[handler] = None

    def _part_done(self, context: tuple[_Batch, int], result: p.Result) -> None:
        batch, position = context
        batch.results[position] = result
        batch.missing -= 1
        if not batch.missing:
            batch.done(batch.context, [each for each in batch.results if each is not None])

    def _ignore(self, context: Any, result: p.Result) -> None:
        """An operation whose outcome changes nothing."""

    def _send(self, message: p.ClientMessage, size: int = 0) -> None:
        self._last_sent_us = self.node.now_us()
        self.node.send(self.servers[self._server], message, 16 + size)
