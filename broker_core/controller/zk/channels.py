"""From the controller to the brokers: one queue per broker, one request in flight.

The next request to a broker is sent only after the answer to the one before, so that a broker sees
the controller's decisions in their order; a request that finds no answer is sent again after 100 ms,
for as long as the broker is registered. A slow broker delays nobody but itself.
Source: `ControllerChannelManager`, `RequestSendThread`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import Node
from broker_core.wire.apis import ApiKey
from broker_core.wire.rpc import RpcClient

RETRY_BACKOFF_US = 100_000
VERSIONS = {ApiKey.LEADER_AND_ISR: 7, ApiKey.STOP_REPLICA: 4, ApiKey.UPDATE_METADATA: 8}
NAMES = {
    ApiKey.LEADER_AND_ISR: "LeaderAndIsr",
    ApiKey.STOP_REPLICA: "StopReplica",
    ApiKey.UPDATE_METADATA: "UpdateMetadata",
}

Answered = Callable[[int, Any, Any], None]  # broker, request, response


@dataclass(slots=True)
class ControlRequest:
    """One request and who is told of its answer."""

    api: ApiKey
    body: Any
    partitions: int
    answered: Answered | None = None


@dataclass(slots=True)
class Channel:
    """The queue of one broker; `queue[0]` is in flight while `busy`."""

    broker: int
    queue: deque[ControlRequest] = field(default_factory=deque)
    busy: bool = False
    closed: bool = False


class ControllerChannels:
    """A channel for every registered broker, the controller's own included."""

    def __init__(self, node: Node, rpc: RpcClient, timeout_us: int) -> None:
        self.node = node
        self.rpc = rpc
        self.timeout_us = timeout_us
        self.channels: dict[int, Channel] = {}

    def add(self, broker: int) -> None:
        self.channels.setdefault(broker, Channel(broker))

    def remove(self, broker: int) -> None:
        """Forget a broker and what was still to be said to it."""
        channel = self.channels.pop(broker, None)
        if channel is not None:
            channel.closed = True
            channel.queue.clear()

    def close(self) -> None:
        for broker in list(self.channels):
            self.remove(broker)

    def send(self, broker: int, request: ControlRequest) -> None:
        """Put a request in the broker's queue; nothing happens when it is not registered."""
        channel = self.channels.get(broker)
        if channel is not None:
            channel.queue.append(request)
            self._next(channel)

    def _next(self, channel: Channel) -> None:
        if channel.busy or channel.closed or not channel.queue:
            return
        channel.busy = True
        request = channel.queue[0]
        self.node.emit(
            events.CONTROL_REQUEST,
            api=NAMES[request.api],
            to=channel.broker,
            partitions=request.partitions,
            epoch=request.body.controller_epoch,
        )
        self.rpc.call(
            broker_node(channel.broker),
            request.api,
            VERSIONS[request.api],
            request.body,
            self.timeout_us,
            self._done,
            channel,
        )

    def _done(self, channel: Channel, response: Any) -> None:
        channel.busy = False
        if channel.closed:
            return
        if response is None:
            self.node.after(RETRY_BACKOFF_US, self._next, channel)
            return
        request = channel.queue.popleft()
        self._next(channel)
        if request.answered is not None:
            request.answered(channel.broker, request.body, response)
