"""One request at a time to each peer, and a pause after a failure.

    send -> answer                        the next one may go at once
    send -> nothing for 2 s, or refused   the next one after `controller.quorum.retry.backoff.ms` [20]

Source: RequestManager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.kernel.node import Node
from broker_core.raft.settings import QuorumSettings
from broker_core.wire.rpc import Response, RpcClient

Answered = Callable[[int, int, Any], None]
"""(replica, api key, response body); None: there was none."""
CONNECTION = "raft"


class Requests:
    """`answered` is called for every request, once. Requests of an epoch that is over are forgotten by `reset`."""

    def __init__(self, node: Node, replica_id: int, settings: QuorumSettings, answered: Answered) -> None:
        self.node = node
        self.settings = settings
        self.answered = answered
        self.rpc = RpcClient(node, CONNECTION, f"raft-client-{replica_id}")
        self._in_flight: dict[str, int] = {}
        self._ready_us: dict[str, int] = {}
        self._round = 0

    def is_ready(self, peer: str) -> bool:
        return peer not in self._in_flight and self._ready_us.get(peer, 0) <= self.node.now_us()

    def ready_at_us(self, peer: str) -> int | None:
        """When the pause after a failure is over; None: there is none, or a request is under way."""
        if peer in self._in_flight:
            return None
        at = self._ready_us.get(peer, 0)
        return at if at > self.node.now_us() else None

    @property
    def any_in_flight(self) -> bool:
        return bool(self._in_flight)

    def send(self, peer: str, api_key: int, version: int, body: Any, replica_id: int) -> bool:
        """Send unless one is under way or the pause is not over; whether it went."""
        if not self.is_ready(peer):
            return False
        self._round += 1
        self._in_flight[peer] = self._round
        timeout_us = self.settings.request_timeout_ms * 1000
        self.rpc.call(peer, api_key, version, body, timeout_us, self._done, (peer, replica_id, api_key, self._round))
        return True

    def _done(self, context: tuple[str, int, int, int], body: Any) -> None:
        peer, replica_id, api_key, number = context
        if self._in_flight.get(peer) != number:
            return
        del self._in_flight[peer]
        self.answered(replica_id, api_key, body)

    def failed(self, peer: str) -> None:
        """An answer that helps nobody, or none: pause."""
        self._ready_us[peer] = self.node.now_us() + self.settings.retry_backoff_ms * 1000

    def reset(self) -> None:
        """Another epoch or state: what is under way does not matter any more."""
        self._in_flight.clear()
        self._ready_us.clear()

    def receive(self, source: str, response: Response) -> bool:
        return self.rpc.receive(source, response)

    def peer_down(self, peer: str) -> None:
        self.rpc.peer_down(peer)
