"""Quorums of controllers that a test drives, with brokers that only register and send heartbeats."""

from __future__ import annotations

import uuid
from typing import Any

from broker_core.controller.kraft import QuorumController
from broker_core.kernel.node import Node
from broker_core.metadata.configs import BrokerConfig
from broker_core.metadata.configs_types import KRAFT
from broker_core.metadata.feature_levels import SUPPORTED
from broker_core.metadata.image import MetadataImage
from broker_core.metadata.registration import PartitionRegistration
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.rpc import Request
from tests.raft.quorums import CLUSTER, Quorum, Server

VERSIONS = {
    ApiKey.BROKER_REGISTRATION: 4, ApiKey.BROKER_HEARTBEAT: 1, ApiKey.ALTER_PARTITION: 3, ApiKey.CREATE_TOPICS: 7,
    ApiKey.DELETE_TOPICS: 6, ApiKey.CREATE_PARTITIONS: 3, ApiKey.ELECT_LEADERS: 2, ApiKey.UNREGISTER_BROKER: 0,
    ApiKey.ALLOCATE_PRODUCER_IDS: 0, ApiKey.ALTER_CONFIGS: 2, ApiKey.INCREMENTAL_ALTER_CONFIGS: 1,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: 1, ApiKey.LIST_PARTITION_REASSIGNMENTS: 0, ApiKey.UPDATE_FEATURES: 2,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: 0, ApiKey.CONTROLLER_REGISTRATION: 0,
}


class ControllerServer(Server):
    """A voter with a controller on it."""

    def __init__(self, node: Node, replica: int, quorum: ControllerQuorum) -> None:
        super().__init__(node, replica, quorum)
        self.controller = QuorumController(node, self.raft, BrokerConfig(quorum.config, KRAFT))

    def start(self) -> None:
        self.raft.register(self.controller)
        self.raft.start()

    def receive(self, source: str, message: Any) -> None:
        if isinstance(message, Request) and message.api_key in VERSIONS:
            self.controller.handle(message.api_key, message.body, self._answered, (source, message))
        else:
            super().receive(source, message)

    def _answered(self, context: Any, body: Any) -> None:
        if body is not None:
            self._reply(context, body)


class ControllerQuorum(Quorum):
    """Voters 1 to 3 with controllers; `epochs` holds the brokers that keep sending heartbeats."""

    def __init__(self, seed: int = 1, **config: Any) -> None:
        self.config = {name.replace("_", "."): str(value) for name, value in config.items()}
        self.epochs: dict[int, int] = {}
        super().__init__([1, 2, 3], seed=seed)
        self.wait_for_leader()
        for one in self.ids:
            self.register_controller(one)

    def _factory(self, replica: int) -> Any:
        return lambda node: ControllerServer(node, replica, self)

    @property
    def active(self) -> QuorumController:
        found = [self.controller(one) for one in self.alive if self.controller(one).is_active]
        assert len(found) == 1
        return found[0]

    def controller(self, replica: int) -> QuorumController:
        server = self[replica]
        assert isinstance(server, ControllerServer)
        return server.controller

    @property
    def image(self) -> MetadataImage:
        return self.active.image

    def call(self, api: ApiKey, body: Any, seconds: float = 0.2) -> Any:
        """Ask the active controller."""
        leader = self.leader
        assert leader is not None
        return self.ask(leader, api, VERSIONS[api], body, seconds)

    def register_controller(self, replica: int) -> Any:
        kind = m.ControllerRegistrationRequest
        features = [kind.Feature(name=name, min_supported_version=least, max_supported_version=most)
                    for name, (least, most) in SUPPORTED.items()]
        body = kind(controller_id=replica, incarnation_id=uuid.UUID(int=9000 + replica), features=features)
        return self.call(ApiKey.CONTROLLER_REGISTRATION, body, 0.06)

    def register(self, broker: int, incarnation: int = 1, previous: int = -1, **values: Any) -> Any:
        kind = m.BrokerRegistrationRequest
        body = kind(
            broker_id=broker, cluster_id=CLUSTER, incarnation_id=uuid.UUID(int=1000 * broker + incarnation),
            listeners=[kind.Listener(name="PLAINTEXT", host="127.0.0.1", port=9000 + broker, security_protocol=0)],
            features=[kind.Feature(name=name, min_supported_version=0, max_supported_version=40)
                      for name in self.image.features],
            log_dirs=[uuid.UUID(int=5000 + broker)], previous_broker_epoch=previous, **values,
        )
        return self.call(ApiKey.BROKER_REGISTRATION, body)

    def heartbeat(self, broker: int, **values: Any) -> Any:
        body = m.BrokerHeartbeatRequest(
            broker_id=broker, broker_epoch=self.epochs[broker], current_metadata_offset=self.active.committed, want_fence=False,
            **values,
        )
        return self.call(ApiKey.BROKER_HEARTBEAT, body)

    def start_brokers(self, *brokers: int, **values: Any) -> None:
        for broker in brokers:
            self.epochs[broker] = self.register(broker, **values).broker_epoch
            assert not self.heartbeat(broker).is_fenced

    def pass_time(self, seconds: float, *brokers: int) -> None:
        """These brokers go on sending heartbeats."""
        for _ in range(max(1, int(seconds / 2))):
            for broker in brokers:
                self.heartbeat(broker)
            self.run(2 - 0.2 * len(brokers))

    def create(self, name: str, assignment: list[list[int]] | None = None, partitions: int = 1, factor: int = 3, **settings: str) -> Any:
        kind = m.CreateTopicsRequest
        topic = kind.CreatableTopic(
            name=name, num_partitions=-1 if assignment else partitions, replication_factor=-1 if assignment else factor,
            assignments=[kind.CreatableReplicaAssignment(partition_index=number, broker_ids=replicas)
                         for number, replicas in enumerate(assignment or [])],
            configs=[kind.CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in settings.items()],
        )
        return self.call(ApiKey.CREATE_TOPICS, kind(topics=[topic], timeout=1000)).topics[0]

    def partition(self, name: str, number: int = 0) -> PartitionRegistration:
        return self.image.topics[self.image.topic_ids[name]].partitions[number]
