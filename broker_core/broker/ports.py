"""How the parts of a broker reach each other: small objects with one task each.

| port | asked by | brings it to |
|---|---|---|
| ControllerLink.alter_partition | leaders whose ISR changes | the controller's broker |
| ControllerLink.allocate_producer_ids | producer ids | the controller's broker |
| ControllerLink.create_topics | auto-creation of topics | the controller's broker |
| OffsetsTopic | group coordinator | the replicas of `__consumer_offsets` |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from broker_core.kernel.errors import StorageError
from broker_core.log.partition_log import PartitionLog
from broker_core.metadata.topic_names import GROUP_METADATA_TOPIC
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.rpc import RpcClient

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

Done = Callable[[Any, Any], None]
RETRY_US = 100_000


class ControllerLink:
    """Requests to whoever is controller now; `done(context, None)` when nobody answered."""

    def __init__(self, broker: Broker, rpc: RpcClient) -> None:
        self.broker = broker
        self.rpc = rpc

    def _call(self, api: ApiKey, version: int, body: Any, done: Done, context: Any) -> None:
        controller = self.broker.controller.controller_id
        if controller is None:
            self.broker.node.after(RETRY_US, done, context, None)
            return
        timeout_us = self.broker.config["controller.socket.timeout.ms"] * 1000
        self.rpc.call(node_name(controller), api, version, body, timeout_us, done, context)

    def alter_partition(self, request: Any, done: Done, context: Any) -> None:
        self._call(ApiKey.ALTER_PARTITION, 3, request, done, context)

    def allocate_producer_ids(self, done: Done, context: Any) -> None:
        request = m.AllocateProducerIdsRequest(
            broker_id=self.broker.broker_id, broker_epoch=self.broker.registration.broker_epoch
        )
        self._call(ApiKey.ALLOCATE_PRODUCER_IDS, 0, request, done, context)

    def create_topics(self, request: Any, done: Done, context: Any) -> None:
        self._call(ApiKey.CREATE_TOPICS, 7, request, done, context)

    def controlled_shutdown(self, done: Done, context: Any) -> None:
        request = m.ControlledShutdownRequest(
            broker_id=self.broker.broker_id, broker_epoch=self.broker.registration.broker_epoch
        )
        self._call(ApiKey.CONTROLLED_SHUTDOWN, 3, request, done, context)


class OffsetsTopic:
    """`__consumer_offsets` as the group coordinator uses it."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    def append(self, partition: int, records: bytearray, done: Callable[[Any, int], None], context: Any) -> None:
        timeout_ms = self.broker.config["offsets.commit.timeout.ms"]
        entries = [(GROUP_METADATA_TOPIC, partition, records)]
        self.broker.replicas.append(timeout_ms, -1, entries, _appended, (done, context), origin="coordinator")

    def read(self, partition: int) -> PartitionLog | None:
        return self.broker.log_manager.get(GROUP_METADATA_TOPIC, partition)

    def failed(self, error: StorageError) -> None:
        self.broker.log_manager.storage_failed(error)

    def partition_count(self) -> int | None:
        return self.broker.cache.partition_count(GROUP_METADATA_TOPIC)


def _appended(state: tuple[Callable[[Any, int], None], Any], results: list[Any]) -> None:
    done, context = state
    done(context, int(results[0].error_code))


def node_name(broker_id: int) -> str:
    """The process of a broker."""
    return f"broker-{broker_id}"
