"""One end of the connection between a follower and its leader."""

from __future__ import annotations

from typing import Any

from broker_core.kernel.node import Node
from broker_core.zookeeper import zab


class BrokenLink(Exception):
    """Something of this connection is missing: it is over."""


class PeerLink:
    """Counts what goes over a connection in both directions.

    - sent, heard: how many packets; the next one to hear has number heard + 1

    Invariants
        - a packet that was heard before is dropped, a gap ends the connection
    """

    def __init__(self, node: Node, peer: str, number: int) -> None:
        self.node = node
        self.peer = peer
        self.number = number
        self.sent = 0
        self.heard = 0

    def send(self, body: zab.Body) -> None:
        self.sent += 1
        self.node.send(self.peer, zab.Packet(self.number, self.sent, body), _size(body))

    def take(self, packet: zab.Packet) -> Any:
        """What it carries, None for a repetition. Raises BrokenLink."""
        if packet.sequence <= self.heard:
            return None
        if packet.sequence != self.heard + 1:
            raise BrokenLink
        self.heard = packet.sequence
        return packet.body

    def refuse(self) -> None:
        """Tell the other end that this one is gone."""
        self.node.send(self.peer, zab.Refused(self.number))


def _size(body: Any) -> int:
    """Bytes on the wire, roughly; what a snapshot takes counts."""
    if isinstance(body, zab.Snapshot):
        return len(body.text)
    if isinstance(body, zab.Diff):
        return 64 * len(body.entries)
    return 64
