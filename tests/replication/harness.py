"""Brokers that consist of logs and replicas only; the test is the controller and the clients."""

from __future__ import annotations

import pickle
import uuid
from functools import partial
from typing import Any

from broker_core.kernel.node import Node
from broker_core.kernel.storage import read_all
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.log.config import LogConfig
from broker_core.log.log_manager import LogManager
from broker_core.metadata.delta import ReplicaChange
from broker_core.metadata.registration import PartitionRegistration
from broker_core.records.batch import decode_records, encode_batch
from broker_core.records.header import iterate_batches
from broker_core.replication.protections import Protections
from broker_core.replication.replica_manager import ReplicaManager
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.codec import (
    decode_request,
    decode_request_header,
    decode_response,
    decode_response_header,
    encode_request,
    encode_response,
)
from broker_core.wire.errors import ErrorCode
from broker_core.wire.rpc import Request, Response, RpcClient

EPOCH_MS = 1_700_000_000_000
CONFIG = {
    "replica.lag.time.max.ms": 30_000, "replica.fetch.backoff.ms": 1000, "replica.socket.timeout.ms": 30_000,
    "replica.fetch.wait.max.ms": 500, "replica.fetch.min.bytes": 1, "replica.fetch.max.bytes": 1048576,
    "replica.fetch.response.max.bytes": 10485760, "replica.high.watermark.checkpoint.interval.ms": 5000,
    "replication.quota.window.num": 11, "replication.quota.window.size.seconds": 1,
    "alter.log.dirs.replication.quota.window.num": 11, "alter.log.dirs.replication.quota.window.size.seconds": 1,
    "num.replica.fetchers": 1, "num.replica.alter.log.dirs.threads": None, "max.incremental.fetch.session.cache.slots": 1000, "fetch.max.bytes": 57671680,
}  # fmt: skip


class Broker:
    """A machine with replicas and nothing else."""

    def __init__(self, broker_id: int, cluster: Cluster, node: Node) -> None:
        self.id, self.cluster, self.node = broker_id, cluster, node
        self.logs = LogManager(node.storage, ["data"], LogConfig(), broker_id, node.emit)
        self.rpcs: dict[str, RpcClient] = {}
        self.lost: dict[str, int] = {}
        self.registrations = 0
        self.replicas = ReplicaManager(
            node, broker_id, cluster.config, self.logs, self.connect, self, self.broker_epoch, self.name_of,
            cluster.protections,
        )  # fmt: skip
        self.replicas.log_config_of = cluster.config_of

    def connect(self, name: str) -> RpcClient:
        self.rpcs[name] = RpcClient(self.node, name, f"broker-{self.id}")
        return self.rpcs[name]

    def broker_epoch(self) -> int:
        return self.node.incarnation + self.registrations

    def name_of(self, broker_id: int) -> str:
        return f"broker-{broker_id}"

    def start(self) -> None:
        self.logs.load(self.node.wall_ms())
        self.replicas.start()

    def shut_down(self) -> None:
        self.replicas.stop()
        self.logs.shut_down(self.node.wall_ms())
        self.node.exit()

    def peer_down(self, peer: str) -> None:
        self.lost[peer] = self.lost.get(peer, 0) + 1
        for rpc in self.rpcs.values():
            rpc.peer_down(peer)

    def receive(self, source: str, message: Any) -> None:
        if isinstance(message, Response):
            if message.connection in self.rpcs:
                self.rpcs[message.connection].receive(source, message)
            return
        context, body = (source, message, self.lost.get(source, 0)), message.body
        if self.cluster.through_codec:
            frame = read_all(encode_request(message.api_key, message.api_version, 1, "", body))
            body = decode_request(message.api_key, message.api_version, decode_request_header(frame[4:]).body)
        if message.api_key == ApiKey.FETCH:
            self.replicas.fetch(body, message.api_version, self.respond, context)
        elif message.api_key == ApiKey.LIST_OFFSETS:
            self.respond(context, self.replicas.list_offsets(body, message.api_version))
        else:
            self.respond(context, self.replicas.offsets_for_leader_epoch(body))

    def respond(self, context: tuple[str, Request, int], response: Any) -> None:
        """Answer, unless the connection that the request came by was closed since."""
        source, request, lost = context
        if lost != self.lost.get(source, 0):
            return
        if self.cluster.through_codec:
            frame = read_all(encode_response(request.api_key, request.api_version, 1, response))
            header = decode_response_header(request.api_key, request.api_version, frame[4:])
            response = decode_response(request.api_key, request.api_version, header.body)
        self.node.send(source, Response(request.connection, request.correlation_id, response))

    def alter_partition(self, request: Any, done: Any, context: Any) -> None:
        """The port to the controller: the test's own rules, answered in the same instant."""
        if self.cluster.controller_answers:
            self.node.soon(done, context, self.cluster.alter_partition(request))
        else:
            self.cluster.unanswered.append((self.node, request, done, context))


class Cluster:
    """A world of brokers 1..n; `assign` plays the controller."""

    def __init__(
        self, brokers: int = 3, protections: Protections | None = None, link_delay_us: int = 0, **config: Any
    ) -> None:
        self.config = {**CONFIG, **{name.replace("_", "."): value for name, value in config.items()}}
        self.protections = protections or Protections()
        self.topic_configs: dict[str, LogConfig] = {}
        self.truth: dict[tuple[str, int], dict[str, Any]] = {}
        self.controller_answers = True
        self.unanswered: list[tuple[Node, Any, Any, Any]] = []
        self.through_codec = False
        self.refuse: ErrorCode | None = None
        self.asked: list[Any] = []
        self.world = World(seed=1, epoch_ms=EPOCH_MS, record_level="details", link_delay_us=link_delay_us)
        for broker_id in range(1, brokers + 1):
            name = f"broker-{broker_id}"
            self.world.add_node(name, MemoryStorage(), partial(Broker, broker_id, self))
            self.world.start_node(name)
        self.run(0)

    def run(self, ms: float = 0) -> None:
        self.world.run_until(self.world.now_us + int(ms * 1000))

    def broker(self, broker_id: int) -> Any:
        return self.world.nodes[f"broker-{broker_id}"].machine

    def partition(self, broker_id: int, topic: str = "orders", index: int = 0) -> Any:
        return self.broker(broker_id).replicas.partition(topic, index)

    def log(self, broker_id: int, topic: str = "orders", index: int = 0) -> Any:
        return self.partition(broker_id, topic, index).log

    def config_of(self, topic: str) -> LogConfig:
        return self.topic_configs.get(topic, LogConfig())

    def restart(self, broker_id: int) -> None:
        self.world.start_node(f"broker-{broker_id}")
        self.run(0)

    # -- controller -------------------------------------------------------------------------
    def assign(
        self, leader: int, epoch: int, isr: list[int] | None = None, to: list[int] | None = None,
        topic: str = "orders", replicas: list[int] | None = None, partitions: int = 1,
    ) -> dict[int, list[ErrorCode]]:  # fmt: skip
        """The controller's decision, told to `to` (default: all running replicas); what became of each partition."""
        replicas = replicas or [1, 2, 3]
        isr = replicas if isr is None else isr
        changes = []
        for index in range(partitions):
            truth = self.truth.setdefault((topic, index), {"partition_epoch": -1, "replicas": replicas})
            version = truth["partition_epoch"] + 1
            truth.update(leader=leader, epoch=epoch, isr=isr, partition_epoch=version)
            decided = PartitionRegistration(replicas, isr, leader, epoch, version)
            changes.append(ReplicaChange(topic, topic_id(topic), index, decided))
        answers = {}
        for broker_id in replicas if to is None else to:
            broker = self.broker(broker_id)
            if broker is not None:
                answers[broker_id] = broker.replicas.leadership.apply(changes)
        self.run(0)
        return answers

    def answer_late(self) -> None:
        """Now the controller answers what it left unanswered."""
        for node, request, done, context in self.unanswered:
            node.soon(done, context, self.alter_partition(request))
        self.unanswered.clear()
        self.controller_answers = True
        self.run(0)

    def alter_partition(self, request: Any) -> Any:
        self.asked.append(request)
        topics = []
        for topic in request.topics:
            parts = [self._alter_one(topic.topic_name, request.broker_id, data) for data in topic.partitions]
            topics.append(m.AlterPartitionResponse.TopicData(topic_id=topic.topic_id, partitions=parts))
        return m.AlterPartitionResponse(topics=topics)

    def _alter_one(self, topic: str, broker_id: int, data: Any) -> Any:
        truth = self.truth[topic, data.partition_index]
        error = self.refuse or ErrorCode.NONE
        if data.leader_epoch != truth["epoch"] or truth["leader"] != broker_id:
            error = ErrorCode.FENCED_LEADER_EPOCH
        elif data.partition_epoch != truth["partition_epoch"]:
            error = ErrorCode.INVALID_UPDATE_VERSION
        if not error:
            truth["isr"] = list(data.new_isr)
            truth["partition_epoch"] += 1
        return m.AlterPartitionResponse.PartitionData(
            partition_index=data.partition_index, error_code=error, leader_id=truth["leader"],
            leader_epoch=truth["epoch"], isr=list(truth["isr"]), partition_epoch=truth["partition_epoch"],
        )  # fmt: skip

    # -- clients ----------------------------------------------------------------------------
    def produce(
        self, leader: int, *values: str, acks: int = -1, topic: str = "orders", index: int = 0,
        timeout_ms: int = 30_000, origin: str = "client",
    ) -> Answers:  # fmt: skip
        """One batch of `values`."""
        answers = Answers()
        records = encode_batch([(EPOCH_MS, None, value.encode(), []) for value in values])
        self.broker(leader).replicas.append(timeout_ms, acks, [(topic, index, records)], answers.take, None, origin)
        self.run(0)
        return answers

    def fetch(
        self, broker_id: int, offset: int, version: int = 12, *, max_wait: int = 0, min_bytes: int = 1,
        max_bytes: int = 1 << 20, partition_max_bytes: int = 1 << 20, isolation: int = 0, leader_epoch: int = -1,
        last_fetched_epoch: int = -1, topic: str = "orders", index: int = 0, rack: str = "",
    ) -> Answers:  # fmt: skip
        """A consumer's fetch without a session."""
        asked = m.FetchRequest.FetchPartition(
            partition=index, fetch_offset=offset, partition_max_bytes=partition_max_bytes,
            current_leader_epoch=leader_epoch, last_fetched_epoch=last_fetched_epoch,
        )  # fmt: skip
        request = m.FetchRequest(
            replica_id=-1, max_wait=max_wait, min_bytes=min_bytes, max_bytes=max_bytes, isolation_level=isolation,
            rack_id=rack, topics=[m.FetchRequest.FetchTopic(topic=topic, partitions=[asked])],
        )  # fmt: skip
        answers = Answers()
        self.broker(broker_id).replicas.fetch(request, version, answers.take, None)
        self.run(0)
        return answers

    def values(self, broker_id: int, topic: str = "orders", index: int = 0) -> list[str]:
        """Values of all records in a replica's log."""
        log = self.log(broker_id, topic, index)
        return [record.value.decode() for record in log.records(log.log_start_offset, log.log_end_offset)]

    def events(self, code: str) -> list[dict[str, Any]]:
        return [row[5] for row in self.world.journal.tail if row[3] == code]

    def copy(self) -> Cluster:
        """The whole world, pickled and unpickled."""
        copied: Cluster = pickle.loads(pickle.dumps(self))
        return copied


class Answers:
    """What `done` was called with."""

    def __init__(self) -> None:
        self.all: list[Any] = []

    def take(self, context: Any, answer: Any) -> None:
        self.all.append(answer)

    @property
    def waiting(self) -> bool:
        return not self.all

    @property
    def result(self) -> Any:
        """The one result of a produce."""
        (answer,) = self.all
        return answer[0]

    @property
    def data(self) -> Any:
        """The one partition of a fetch."""
        (answer,) = self.all
        return answer.responses[0].partitions[0]

    @property
    def values(self) -> list[str]:
        """Values in the batches of the fetch's one partition."""
        found = []
        for part in self.data.records:
            for batch in iterate_batches(part.read() if hasattr(part, "read") else part):
                found += [record.value.decode() for record in decode_records(batch)]
        return found


def topic_id(topic: str) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, topic)
