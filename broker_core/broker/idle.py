"""Connections that nobody uses are closed after `connections.max.idle.ms` (Kafka's IdleExpiryManager).

    t=0     opened            looks again at t=10 min
    t=9:59  a request         looks at 10:00: used a second ago, again at 19:59
    t=19:59 nothing since     closed; clients connect again when they need to

A connection with a request under way is in use, however long the answer takes. There is one timer for all
connections, and none without outside clients: machines of the world keep theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.broker.connections import Connection

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


class IdleConnections:
    """Looks after the outside connections of one broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._watching = False

    def opened(self, number: int) -> None:
        """A client has connected, which counts as use."""
        node = self.broker.node
        self.broker.connections[number].used_us = node.now_us()
        self._look_again(self._limit_us())

    def _limit_us(self) -> int:
        return int(self.broker.config["connections.max.idle.ms"]) * 1000

    def _look_again(self, delay_us: int) -> None:
        if not self._watching and delay_us > 0:
            self._watching = True
            self.broker.node.after(delay_us, self._look)

    def _look(self) -> None:
        self._watching = False
        now, limit = self.broker.node.now_us(), self._limit_us()
        kept = [one for one in list(self.broker.connections.values()) if not self._expired(one, now - limit)]
        if kept:
            oldest = min(now if one.muted else one.used_us for one in kept)
            self._look_again(oldest + limit - now)

    def _expired(self, connection: Connection, since_us: int) -> bool:
        if connection.muted or connection.used_us > since_us:
            return False
        self.broker.pipeline.closed(connection.number)
        self.broker.node.close_connection(connection.number, "idle")
        return True
