"""Requests and responses between machines of the world.

In the world a request travels as a typed message by reference; only outside clients send bytes.
An `RpcClient` is one named connection from a process to any number of peers, as Kafka's
NetworkClient is: requests to one peer are answered in the order in which they were sent, a
disconnect or a timeout fails all that are in flight to it.

What travels by reference takes no bytes. Where a link is short of bandwidth, a message says how many it would take on
the wire (`wire_size`): fields as wide as they mostly are, texts and records by their length.

Timeouts cost no timer per request: each peer keeps its requests in order of sending and arms one
timer, for the oldest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.node import Node, Timer
from broker_core.wire.apis import API_NAMES

Done = Callable[[Any, Any], None]
NEVER_US = 1 << 62
HEADER_BYTES, NUMBER_BYTES = 24, 4


class Request:
    """A request on its way. `connection` is the sender's name for the connection."""

    __slots__ = ("connection", "api_key", "api_version", "correlation_id", "client_id", "body")

    def __init__(
        self, connection: str, api_key: int, api_version: int, correlation_id: int, client_id: str | None, body: Any
    ) -> None:
        self.connection = connection
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.body = body

    def wire_size(self) -> int:
        """Bytes, roughly."""
        return HEADER_BYTES + _size(self.body)

    def copy(self) -> Request:
        """The same request as bytes of its own, for a link that delivers it twice."""
        known = self.connection, self.api_key, self.api_version, self.correlation_id, self.client_id
        return Request(*known, deepcopy(self.body))


class Response:
    """The answer to the request with this correlation id on this connection."""

    __slots__ = ("connection", "correlation_id", "body")

    def __init__(self, connection: str, correlation_id: int, body: Any) -> None:
        self.connection = connection
        self.correlation_id = correlation_id
        self.body = body

    def wire_size(self) -> int:
        """Bytes, roughly."""
        return HEADER_BYTES + _size(self.body)


def _size(value: Any) -> int:
    """Bytes that a value of a message takes on the wire, roughly."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return len(value)
    if isinstance(value, str):
        return 2 + len(value)
    if isinstance(value, (list, tuple)):
        return 4 + sum(map(_size, value))
    fields = getattr(value, "FIELDS", None)
    if fields is not None:
        return sum(_size(getattr(value, name)) for name in fields)
    return int(getattr(value, "size", NUMBER_BYTES))  # a slice of a file, or a number


_Call = tuple[int, int, Done, Any]
"""Correlation id, deadline in microseconds, done, context."""


class _Peer:
    """What is in flight to one peer, oldest first. `timer_us`: when its timer fires; never while it has none."""

    __slots__ = ("name", "calls", "timer", "timer_us")

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls: deque[_Call] = deque()
        self.timer: Timer | None = None
        self.timer_us = NEVER_US


class RpcClient:
    """One named connection of a process. `done(context, None)` means disconnected or timed out."""

    def __init__(self, node: Node, connection: str, client_id: str) -> None:
        self.node = node
        self.connection = connection
        self.client_id = client_id
        # Answers to an earlier start of this process must not be taken for ours: each start counts elsewhere.
        self._next_correlation = (node.incarnation - 1) % 2048 << 20
        self._peers: dict[str, _Peer] = {}

    def call(
        self, dest: str, api_key: int, api_version: int, body: Any, timeout_us: int, done: Done | None,
        context: Any = None,
    ) -> None:  # fmt: skip
        """Send a request; later, exactly once, `done(context, response body or None)` is called.

        `done` None: it is never answered.
        """
        self._next_correlation = correlation_id = (self._next_correlation + 1) & 0x7FFFFFFF
        node, connection = self.node, self.connection
        if node.messages:
            node.note(events.REQUEST_SENT, {
                "api": API_NAMES[api_key], "version": api_version, "correlation": correlation_id, "to": dest,
                "connection": connection,
            })  # fmt: skip
        node.send(dest, Request(connection, api_key, api_version, correlation_id, self.client_id, body))
        if done is None:
            return
        deadline_us = node.world.now_us + timeout_us
        peer = self._peers.get(dest)
        if peer is None:
            peer = self._peers[dest] = _Peer(dest)
        peer.calls.append((correlation_id, deadline_us, done, context))
        if deadline_us < peer.timer_us:
            self._arm(peer, deadline_us)

    def _arm(self, peer: _Peer, deadline_us: int) -> None:
        if peer.timer is not None:
            peer.timer.cancel()
        peer.timer_us = deadline_us
        peer.timer = self.node.after(deadline_us - self.node.now_us(), self._check_timeout, peer)

    def send_only(self, dest: str, api_key: int, api_version: int, body: Any) -> None:
        """Send a request that is never answered (Produce with acks=0)."""
        self.call(dest, api_key, api_version, body, 0, None)

    def in_flight(self, dest: str) -> int:
        """Requests to `dest` that are not answered yet."""
        peer = self._peers.get(dest)
        return len(peer.calls) if peer is not None else 0

    def receive(self, source: str, response: Response) -> bool:
        """Take a response; False when nothing waits for it (it came after a timeout)."""
        peer = self._peers.get(source)
        if peer is None:
            return False
        calls, correlation_id = peer.calls, response.correlation_id
        if calls and calls[0][0] == correlation_id:
            call = calls.popleft()
        else:
            found = [place for place, call in enumerate(calls) if call[0] == correlation_id]
            if not found:
                return False
            call = calls[found[0]]
            del calls[found[0]]
        call[2](call[3], response.body)
        return True

    def peer_down(self, peer_name: str) -> None:
        """The connection to this peer is closed: everything in flight on it has failed."""
        peer = self._peers.pop(peer_name, None)
        if peer is None:
            return
        if peer.timer is not None:
            peer.timer.cancel()
        for _, _, done, context in list(peer.calls):
            done(context, None)

    def _check_timeout(self, peer: _Peer) -> None:
        """A request is overdue: the connection is given up. Otherwise wait for the oldest one."""
        peer.timer, peer.timer_us = None, NEVER_US
        if not peer.calls:
            return
        oldest = min(deadline_us for _, deadline_us, _, _ in peer.calls)
        now = self.node.now_us()
        if oldest <= now:
            self.peer_down(peer.name)
        else:
            self._arm(peer, oldest)
