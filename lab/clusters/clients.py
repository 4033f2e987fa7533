"""The built-in clients of a description as nodes of a world."""

from __future__ import annotations

from typing import Any

from broker_core.clients.consumer import ConsumerLoad, consumer_factory
from broker_core.clients.processor import ProcessorLoad
from broker_core.clients.share_consumer import WorkerLoad, worker_factory
from broker_core.clients.transactional_processor import processor_factory
from broker_core.clients.transactional_workload import producer_factory
from broker_core.clients.workload import ProducerLoad
from broker_core.kernel.names import broker_node
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from lab.clusters.client_spec import ClientSpec
from lab.clusters.spec import RunSpec


def bootstrap(spec: RunSpec) -> list[str]:
    """The nodes that clients ask first."""
    return [broker_node(broker.id) for broker in spec.cluster.brokers]


def add_client(world: World, spec: RunSpec, client: ClientSpec) -> None:
    """A node for a built-in client, started."""
    world.add_node(client.name, MemoryStorage(), client_factory(client, bootstrap(spec)))
    world.start_node(client.name)


def client_factory(client: ClientSpec, first: list[str]) -> Any:
    """What makes its machine; `first`: the nodes that it asks first."""
    if client.kind == "producer":
        sends = ProducerLoad(
            client.topic, client.rate, client.size, client.keys, client.count, client.partition,
            client.transaction_records, client.transaction_ms, client.abort_share,
        )  # fmt: skip
        return producer_factory(sends, client.settings, first)
    if client.kind == "processor":
        works = ProcessorLoad(
            client.topics, int(client.process_ms * 1000), client.commit, client.into,
            client.transaction_records, client.transaction_ms, client.abort_share,
        )  # fmt: skip
        return processor_factory(works, client.settings, first)
    if client.kind == "worker":
        takes = WorkerLoad(
            client.topics, int(client.process_ms * 1000), client.commit, client.fails, client.fail_share,
            client.on_failure, client.renews,
        )  # fmt: skip
        return worker_factory(takes, client.settings, first)
    reads = ConsumerLoad(client.topics, int(client.process_ms * 1000), client.commit)
    return consumer_factory(reads, client.settings, first)
