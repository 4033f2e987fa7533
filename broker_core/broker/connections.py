"""Connections of a broker, and requests on their way through it.

A connection's requests are served one after the other: while one is being served the connection is
*muted* (Kafka's SocketServer does not read on), so answers leave in the order of the requests. One
slow request (a Fetch that waits, a Produce with acks=all) makes everything behind it on the same
connection wait; that is why clients open several.

A client that closes its connection has sent what it has sent: that is served in order, until an answer would have to
be written to nobody (`Selector.close` with GRACEFUL, made for producers with acks=0 that send and leave).

| it has left, and waiting is | served | why                                                    |
|-----------------------------|--------|--------------------------------------------------------|
| the first request, any      | yes    | it was read before                                     |
| behind one without answer   | yes    | acks=0: nothing to write has failed                    |
| behind one with an answer   | no     | writing that answer fails, and the connection is gone  |

Outside clients send frames; machines of the world send typed messages. Both become a
`RequestContext`, and everything behind is the same.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from broker_core.wire.rpc import Request

if TYPE_CHECKING:
    from broker_core.broker.pipeline import RequestPipeline


class Connection:
    """One connection. `number` is that of an outside client, or -1 for a machine of the world."""

    __slots__ = (
        "number", "source", "name", "peer", "muted", "waiting", "waiting_bytes", "held", "left", "closed",
        "client_id", "software", "negotiated", "processor", "used_us",
    )  # fmt: skip

    def __init__(self, number: int, source: str, name: str, peer: str, processor: int) -> None:
        self.number = number
        self.source = source
        self.name = name
        self.peer = peer
        self.processor = processor
        self.used_us = 0
        self.muted = False
        self.waiting: deque[Request | memoryview] = deque()
        self.waiting_bytes = 0
        self.held = False
        self.left = False
        self.closed = False
        self.client_id: str | None = None
        self.software = ""
        self.negotiated: dict[str, int] = {}

    def close(self) -> None:
        """Nothing more is served, and what waits is given up."""
        self.closed = True
        self.waiting.clear()

    @property
    def host(self) -> str:
        """Address of the client as Kafka shows it in group descriptions."""
        return "/" + self.peer.rsplit(":", 1)[0] if self.number >= 0 else f"/{self.source}"


class RequestContext:
    """One request on its way. Times are virtual microseconds; -1 = not there yet.

    Exactly one of `respond`, `finish` (no answer: acks=0) and `close` ends it.
    """

    __slots__ = (
        "pipeline", "connection", "api_key", "api_version", "correlation_id", "client_id", "body",
        "received_us", "taken_us", "handled_us", "disk_until_us", "answered", "size",
    )  # fmt: skip

    def __init__(
        self, pipeline: RequestPipeline, connection: Connection, api_key: int, api_version: int,
        correlation_id: int, client_id: str | None, body: Any, received_us: int, size: int,
    ) -> None:  # fmt: skip
        self.pipeline = pipeline
        self.connection = connection
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.body = body
        self.received_us = received_us
        self.taken_us = received_us
        self.handled_us = -1
        self.disk_until_us = 0
        self.answered = False
        self.size = size

    def respond(self, response: Any) -> None:
        """Answer, once."""
        self.pipeline.respond(self, response)

    def finish(self) -> None:
        """End without an answer."""
        self.pipeline.finish(self)

    def close(self, reason: str) -> None:
        """Close the connection instead of an answer."""
        self.pipeline.refuse(self.connection, reason)


def respond(context: RequestContext, response: Any) -> None:
    """`done` of handlers whose answer comes later: picklable, unlike a closure. None: nobody has answered."""
    if response is None:
        context.close("the controller has not answered")
    else:
        context.pipeline.respond(context, response)
