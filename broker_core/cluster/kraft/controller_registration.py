"""A controller says where it is and what it knows, whether it leads or not (KIP-919).

    image: metadata.version 30, controller 103 unknown     ControllerRegistration to the active controller
    image: controller 103, this start of it                nothing to do

So the active one can look before it raises a feature level, and tools can be told of controllers that only stand by.
Until somebody has taken it, it is said again, as for every request to the active controller.
Source: ControllerRegistrationManager.
"""

from __future__ import annotations

from typing import Any

from broker_core.cluster.kraft.channel import ControllerChannel
from broker_core.kernel.names import controller_node
from broker_core.kernel.node import Node
from broker_core.metadata.feature_levels import METADATA_VERSION, SUPPORTED
from broker_core.metadata.image import Delta, MetadataImage
from broker_core.metadata.registration import PROTOCOL_NUMBERS, Endpoint
from broker_core.raft.client import RaftClient
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.rpc import Response, RpcClient

CONNECTION = "controller-registration"
FIRST_METADATA_VERSION = 15
"""3.7-IV0 brought the record."""


class ControllerRegistrationManager:
    """A publisher of the loader. `timeout_ms`: what one request may take."""

    def __init__(self, node: Node, raft: RaftClient, endpoint: Endpoint, timeout_ms: int) -> None:
        self.raft = raft
        self.endpoint = endpoint
        self.incarnation = node.uuid()
        self.rpc = RpcClient(node, CONNECTION, controller_node(raft.own.key.id))
        self._channel = ControllerChannel(node, self.rpc, raft, timeout_ms)
        self._under_way = False

    def publish(self, image: MetadataImage, delta: Delta, offset: int) -> None:
        """Say it while the log does not."""
        known = image.controllers.get(self.raft.own.key.id)
        if self._under_way or image.features.get(METADATA_VERSION, 0) < FIRST_METADATA_VERSION:
            return
        if known is None or known.incarnation_id != self.incarnation:
            self._under_way = True
            self._channel.call(ApiKey.CONTROLLER_REGISTRATION, 0, self._request(), self._answered, None)

    def _request(self) -> Any:
        kind, own = m.ControllerRegistrationRequest, self.endpoint
        protocol = PROTOCOL_NUMBERS[own.security_protocol]
        return kind(
            controller_id=self.raft.own.key.id, incarnation_id=self.incarnation, zk_migration_ready=False,
            listeners=[kind.Listener(name=own.listener, host=own.host, port=own.port, security_protocol=protocol)],
            features=[
                kind.Feature(name=name, min_supported_version=least, max_supported_version=most)
                for name, (least, most) in SUPPORTED.items()
            ],
        )  # fmt: skip

    def _answered(self, context: None, answer: Any) -> None:
        """The log will say it now; if not, the next news asks again."""
        self._under_way = False

    def receive(self, source: str, response: Response) -> bool:
        return self.rpc.receive(source, response)

    def peer_down(self, peer: str) -> None:
        self.rpc.peer_down(peer)
