"""A broker that answers as a test says: for the errors that a real one gives only in rare moments.

`Scripted` keeps a log per partition, numbers records as a broker does, and consults `answers`: a list of
what the next Produce requests get. None = as a broker does, an ErrorCode = this error and nothing is
appended, "lost" = appended, but the answer never comes, "silent" = nothing happens at all.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from broker_core.clients.settings import ProducerSettings, parse
from broker_core.clients.workload import ProducerLoad, ProducerMachine
from broker_core.kernel.node import Node
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.records.batch import decode_records
from broker_core.records.header import iterate_batches
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode
from broker_core.wire.rpc import Request, Response

S = 1_000_000


class Cluster:
    """What all scripted brokers share: who leads, what is in the logs, what comes next."""

    def __init__(self, brokers: int = 1, partitions: int = 1) -> None:
        self.brokers = list(range(1, brokers + 1))
        self.leaders = dict.fromkeys(range(partitions), (1, 0))
        self.logs: dict[int, list[bytes]] = {number: [] for number in range(partitions)}
        self.sequences: list[tuple[int, int, int]] = []  # producer epoch, base sequence, count
        self.answers: list[Any] = []
        self.produced: list[tuple[int, int, int]] = []  # time, broker, partition
        self.delay_us = 1000
        self.known_topics = True


class Scripted:
    """One broker of such a cluster."""

    def __init__(self, node: Node, cluster: Cluster) -> None:
        self.node = node
        self.cluster = cluster
        self.broker = int(node.name[7:])

    def start(self) -> None: ...
    def peer_down(self, peer: str) -> None: ...
    def shut_down(self) -> None: ...

    def receive(self, source: str, request: Request) -> None:
        body = getattr(self, f"_{ApiKey(request.api_key).name.lower()}")(request.body)
        if body is not None:
            response = Response(request.connection, request.correlation_id, body)
            self.node.after(self.cluster.delay_us, self.node.send, source, response)

    def _api_versions(self, body: Any) -> Any:
        kind = m.ApiVersionsResponse
        keys = [kind.ApiVersion(api_key=key, min_version=0, max_version=20) for key in range(62)]
        return kind(error_code=0, api_keys=keys)

    def _init_producer_id(self, body: Any) -> Any:
        return m.InitProducerIdResponse(error_code=0, producer_id=77, producer_epoch=0)

    def _metadata(self, body: Any) -> Any:
        kind, cluster = m.MetadataResponse, self.cluster
        topics = []
        for asked in body.topics:
            partitions = [
                kind.MetadataResponsePartition(
                    error_code=0, partition_index=number, leader_id=leader, leader_epoch=epoch,
                    replica_nodes=cluster.brokers, isr_nodes=cluster.brokers, offline_replicas=[],
                )
                for number, (leader, epoch) in cluster.leaders.items()
            ]
            error = ErrorCode.NONE if cluster.known_topics else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            partitions = partitions if cluster.known_topics else []
            topics.append(kind.MetadataResponseTopic(error_code=error, name=asked.name, partitions=partitions))
        brokers = [kind.MetadataResponseBroker(node_id=b, host="h", port=9092) for b in cluster.brokers]
        return kind(brokers=brokers, controller_id=1, topics=topics)

    def _produce(self, body: Any) -> Any:
        cluster = self.cluster
        data = body.topic_data[0].partition_data[0]
        cluster.produced.append((self.node.now_us(), self.broker, data.index))
        answer = cluster.answers.pop(0) if cluster.answers else None
        error, offset = ErrorCode.NONE, len(cluster.logs[data.index])
        if cluster.leaders[data.index][0] != self.broker:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif isinstance(answer, ErrorCode):
            error = answer
        elif answer != "silent":
            self._append(data)
        if answer in ("lost", "silent") or body.acks == 0:
            return None
        kind = m.ProduceResponse
        one = kind.PartitionProduceResponse(
            index=data.index, error_code=error, base_offset=-1 if error else offset, log_start_offset=0
        )
        return kind(responses=[kind.TopicProduceResponse(name="t", partition_responses=[one])])

    def _append(self, data: Any) -> None:
        for batch in iterate_batches(data.records):
            header = batch.header
            known = (header.producer_epoch, header.base_sequence, header.record_count)
            if header.producer_id >= 0 and known in self.cluster.sequences:
                return
            self.cluster.sequences.append(known)
            self.cluster.logs[data.index] += [bytes(record.value or b"") for record in decode_records(batch)]


class Lab:
    """A world of scripted brokers and one producer."""

    def __init__(self, load: dict[str, Any], settings: dict[str, Any], brokers: int = 1, partitions: int = 1) -> None:
        self.world = World(1)
        self.cluster = Cluster(brokers, partitions)
        for broker in self.cluster.brokers:
            name = f"broker-{broker}"
            self.world.add_node(name, MemoryStorage(), partial(_broker, self.cluster))
            self.world.start_node(name)
        given = {name: str(value) for name, value in settings.items()}
        parse(ProducerSettings, given)
        bootstrap = [f"broker-{broker}" for broker in self.cluster.brokers]
        factory = partial(_producer, ProducerLoad("t", **load), given, bootstrap)
        self.world.add_node("producer", MemoryStorage(), factory)
        self.world.start_node("producer")

    def run(self, seconds: float) -> None:
        self.world.run_until(self.world.now_us + int(seconds * S))

    @property
    def producer(self) -> ProducerMachine:
        machine = self.world.nodes["producer"].machine
        assert isinstance(machine, ProducerMachine)
        return machine

    def numbers(self, partition: int = 0) -> list[int]:
        """The running numbers in the log, in its order."""
        return [int(value.rstrip(b".").rpartition(b":")[2]) for value in self.cluster.logs[partition]]

    def ended(self) -> list[tuple[str, list[list[int]]]]:
        """Kind and values of every send that has ended."""
        rows = self.world.operations.rows
        return [(row["kind"], row["values"]) for row in rows if row["op"] == "send" and row["kind"] != "invoke"]


def _broker(cluster: Cluster, node: Node) -> Scripted:
    return Scripted(node, cluster)


def _producer(load: ProducerLoad, given: dict[str, str], bootstrap: list[str], node: Node) -> ProducerMachine:
    return ProducerMachine(node, load, given, bootstrap)
