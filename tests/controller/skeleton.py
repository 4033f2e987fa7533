"""A broker reduced to its bones: registration, controller and metadata cache, and trivial answers.

It writes down the control requests that it gets, refuses older controller epochs as a real broker
does, and can be told to answer nothing."""

from __future__ import annotations

from functools import partial
from typing import Any

from broker_core.cluster.zk.admin import TopicAdmin
from broker_core.cluster.zk.control_requests import metadata_delta
from broker_core.cluster.zk.registration import ZkRegistration
from broker_core.controller.zk.controller import KafkaController
from broker_core.controller.zk.znodes import BrokerInfo
from broker_core.kernel.node import Node
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.metadata.cache import MetadataCache
from broker_core.metadata.configs import BrokerConfig
from broker_core.metadata.registration import Endpoint
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode
from broker_core.wire.rpc import Request, Response, RpcClient
from broker_core.zookeeper.client import ZkClient
from broker_core.zookeeper.server import ZooKeeperServer
from broker_core.zookeeper.serving import ZooKeeperConfig

SECOND = 1_000_000


class SkeletonBroker:
    """Registers, takes part in the controller election, obeys."""

    def __init__(self, node: Node, timeout_ms: int = 6000, settings: dict[str, str] | None = None) -> None:
        self.node = node
        config = BrokerConfig(settings or {})
        self.id = int(node.name.rpartition("-")[2])
        self.zk = ZkClient(node, ["zookeeper-1"], timeout_ms)
        info = BrokerInfo(self.id, [Endpoint("PLAINTEXT", "127.0.0.1", 9092 + self.id)])
        self.registration = ZkRegistration(node, self.zk, info, self, wait_for_predecessor=True)
        self.rpc = RpcClient(node, "controller", f"broker-{self.id}")
        self.controller = KafkaController(node, self.zk, self.id, config, self.rpc)
        self.cache = MetadataCache(self.id)
        self.admin = TopicAdmin(node, self.zk, self.cache, config, self.controller)
        self.controller_epoch = 0
        self.requests: list[tuple[str, int]] = []
        self.states: dict[tuple[str, int], Any] = {}
        self.stopped: list[tuple[str, int, bool]] = []
        self.stale: list[int] = []
        self.answers: list[Any] = []
        self.refusals: list[BrokerInfo] = []
        self.mute = False

    def start(self) -> None:
        self.registration.start()

    def registered(self) -> None:
        self.controller.start()

    def refused(self, holder: BrokerInfo) -> None:
        self.refusals.append(holder)

    def is_free(self) -> None:
        """Of a machine that wants an id; there is none here."""

    def drawn(self, broker: int) -> bool:
        return broker == self.id

    def peer_down(self, peer: str) -> None:
        self.zk.peer_down(peer)
        self.rpc.peer_down(peer)

    def shut_down(self) -> None:
        self.zk.close()
        self.node.exit()

    def answered(self, context: Any, response: Any) -> None:
        self.answers.append(response)

    def receive(self, source: str, message: Any) -> None:
        if self.zk.receive(source, message):
            return
        if isinstance(message, Response):
            self.rpc.receive(source, message)
        elif isinstance(message, Request) and not self.mute:
            body = self._answer(message)
            self.node.send(source, Response(message.connection, message.correlation_id, body))

    def _answer(self, request: Request) -> Any:
        body = request.body
        kind = ApiKey(request.api_key).name
        answers = {
            "LEADER_AND_ISR": m.LeaderAndIsrResponse,
            "STOP_REPLICA": m.StopReplicaResponse,
            "UPDATE_METADATA": m.UpdateMetadataResponse,
        }
        if body.controller_epoch < self.controller_epoch:
            self.stale.append(body.controller_epoch)
            return answers[kind](error_code=ErrorCode.STALE_CONTROLLER_EPOCH)
        self.controller_epoch = body.controller_epoch
        self.requests.append((kind, body.controller_epoch))
        if kind == "UPDATE_METADATA":
            self.cache.apply(metadata_delta(body))
            self.admin.metadata_updated()
        elif kind == "LEADER_AND_ISR":
            for topic in body.topic_states:
                for state in topic.partition_states:
                    self.states[topic.topic_name, state.partition_index] = state
        else:
            for topic in body.topic_states:
                for state in topic.partition_states:
                    self.stopped.append((topic.topic_name, state.partition_index, state.delete_partition))
        return answers[kind]()


class Cluster:
    """A world with one coordination server and skeleton brokers 1..count."""

    def __init__(self, count: int = 3, seed: int = 1, settings: dict[str, str] | None = None, cost_us: int = 0) -> None:
        self.world = World(seed=seed)
        tree = partial(ZooKeeperServer, config=ZooKeeperConfig(request_cost_us=cost_us))
        self.world.add_node("zookeeper-1", MemoryStorage(), tree)
        self.world.start_node("zookeeper-1")
        self.run(0.01)
        for broker in range(1, count + 1):
            factory = partial(SkeletonBroker, settings=settings)
            self.world.add_node(f"broker-{broker}", MemoryStorage(), factory)
            self.world.start_node(f"broker-{broker}")
            self.run(0.01)
        self.run(1)

    def run(self, seconds: float) -> None:
        self.world.run_until(self.world.now_us + int(seconds * SECOND))

    def broker(self, broker: int) -> SkeletonBroker:
        machine = self.world.nodes[f"broker-{broker}"].machine
        assert isinstance(machine, SkeletonBroker)
        return machine

    @property
    def tree(self) -> Any:
        machine: Any = self.world.nodes["zookeeper-1"].machine
        return machine.tree

    def alive(self) -> list[SkeletonBroker]:
        machines = [node.machine for node in self.world.nodes.values() if node.state == "running"]
        return [machine for machine in machines if isinstance(machine, SkeletonBroker)]

    @property
    def controller(self) -> SkeletonBroker:
        active = [each for each in self.alive() if each.controller.is_active]
        assert len(active) == 1, f"{len(active)} active controllers"
        return active[0]

    def create_topic(self, topic: str, assignment: list[list[int]], configs: dict[str, str] | None = None) -> Any:
        """Through the controller broker, as a client would; the answer."""
        request = m.CreateTopicsRequest(
            timeout=30_000,
            topics=[
                m.CreateTopicsRequest.CreatableTopic(
                    name=topic,
                    num_partitions=-1,
                    replication_factor=-1,
                    assignments=[
                        m.CreateTopicsRequest.CreatableReplicaAssignment(partition_index=number, broker_ids=replicas)
                        for number, replicas in enumerate(assignment)
                    ],
                    configs=[
                        m.CreateTopicsRequest.CreatableTopicConfig(name=key, value=value)
                        for key, value in (configs or {}).items()
                    ],
                )
            ],
        )
        return self.ask(self.controller.admin.create_topics, request)

    def ask(self, method: Any, request: Any, seconds: float = 0.5) -> Any:
        broker = self.controller
        broker.answers.clear()
        method(request, broker.answered, None)
        self.run(seconds)
        return broker.answers[0] if broker.answers else None

    def leader(self, topic: str, partition: int) -> Any:
        """What the controller believes."""
        return self.controller.controller.context.leadership[topic, partition]

    def leader_at(self, broker: int, topic: str, partition: int) -> Any:
        """What one controller believes, active or not."""
        return self.broker(broker).controller.context.leadership[topic, partition]

    def events(self, name: str) -> list[Any]:
        return [row[5] for row in self.world.journal.tail if row[3] == name]
