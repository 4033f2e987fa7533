"""What all parts of the controller share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from broker_core.controller.zk.batch import RequestBatch
from broker_core.controller.zk.channels import ControllerChannels
from broker_core.controller.zk.context import ControllerContext
from broker_core.controller.zk.partitions import PartitionStateMachine
from broker_core.controller.zk.replicas import ReplicaStateMachine
from broker_core.controller.zk.store import ControllerStore
from broker_core.controller.zk.thread import ControllerThread
from broker_core.kernel.node import Node
from broker_core.metadata.partition import TopicPartition
from broker_core.zookeeper.client import ZkClient


class BrokerConfig(Protocol):
    """Typed values of broker settings by Kafka's names; a dict will do."""

    def get(self, name: str, /) -> Any: ...


@dataclass
class ControllerCore:
    """The controller's memory, its thread, its ways to the tree and to the brokers."""

    node: Node
    zk: ZkClient
    config: BrokerConfig
    context: ControllerContext
    thread: ControllerThread
    store: ControllerStore
    channels: ControllerChannels
    batch: RequestBatch
    partitions: PartitionStateMachine
    replicas: ReplicaStateMachine

    def setting(self, name: str, default: Any) -> Any:
        """A broker setting, or Kafka's default where the config does not know it."""
        value = self.config.get(name)
        return default if value is None else value

    def update_metadata(self, brokers: list[int], partitions: list[TopicPartition]) -> None:
        """Step: UpdateMetadata to these brokers at once."""
        self.batch.update_metadata(brokers, partitions)
        self.batch.send()
