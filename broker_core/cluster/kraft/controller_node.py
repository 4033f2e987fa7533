"""A process that is a controller and nothing else (`process.roles=controller`), with a disk for the metadata log.

It votes, and while it leads it is the active controller; the others hold the same image and wait. Brokers are
elsewhere, so a busy broker does not slow an election down, and a broker can be lost without a vote.
Source: ControllerServer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from broker_core.cluster.kraft.process import MetadataProcess
from broker_core.kernel.node import Node
from broker_core.metadata.configs import BrokerConfig
from broker_core.metadata.configs_types import KRAFT
from broker_core.raft import VoterSet


@dataclass(frozen=True, slots=True)
class ControllerFactory:
    """Makes the controller of a node at each start of its process. `log_dirs` are relative to the node's disks."""

    settings: dict[str, str]
    cluster_id: str
    log_dirs: tuple[str, ...]
    initial: VoterSet | None = None

    def __call__(self, node: Node) -> ControllerNode:
        return ControllerNode(node, self)


class ControllerNode:
    """The machine of a dedicated controller's process."""

    def __init__(self, node: Node, given: ControllerFactory) -> None:
        self.node = node
        self.config = BrokerConfig(given.settings, KRAFT)
        self.process = MetadataProcess(node, self.config, given.cluster_id, list(given.log_dirs), given.initial)

    def start(self) -> None:
        if self.process.open():
            self.process.start()
        else:
            self.node.halt()

    def receive(self, source: str, message: Any) -> None:
        self.process.receive(source, message)

    def peer_down(self, peer: str) -> None:
        self.process.peer_down(peer)

    def connection_opened(self, connection: int, peer: str, listener: str = "") -> None:
        if self.process.clients is not None:
            self.process.clients.opened(connection)

    def frame_received(self, connection: int, frame: memoryview) -> None:
        if self.process.clients is not None:
            self.process.clients.frame(connection, frame)

    def connection_closed(self, connection: int) -> None:
        if self.process.clients is not None:
            self.process.clients.closed(connection)

    def shut_down(self) -> None:
        self.process.raft.shut_down(self.node.exit)
