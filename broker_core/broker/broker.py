"""One broker: a machine that composes logs, replicas, groups, controller and the request pipeline.

Start, in Kafka's order:

    connect to the coordination tree -> read topics' settings -> load the logs (recover where needed)
      -> register /brokers/ids/N -> take part in the controller election -> listen

What comes in is a request (to the pipeline), an answer to a request of ours (to the connection that
asked), or a message of the coordination tree. What comes in before the broker listens waits, as it
would in the backlog of its socket.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from broker_core.broker.cleaner_threads import CleanerThreads
from broker_core.broker.configs import ConfigStore
from broker_core.broker.connections import Connection, RequestContext
from broker_core.broker.handlers import HANDLERS, IMPLEMENTED
from broker_core.broker.addresses import advertised_address, listener_address
from broker_core.broker.identity import claim_disks
from broker_core.broker.idle import IdleConnections
from broker_core.broker.pipeline import RequestPipeline
from broker_core.broker.ports import ControllerLink, OffsetsTopic, node_name
from broker_core.broker.shutdown import ControlledShutdown
from broker_core.broker.stages import StageCosts
from broker_core.broker.topic_creation import TopicCreation
from broker_core.controller.zk.admin import TopicAdmin
from broker_core.controller.zk.config_admin import ConfigAdmin
from broker_core.controller.zk.controller import KafkaController
from broker_core.controller.zk.registration import BrokerRegistration
from broker_core.groups.coordinator import GroupCoordinator
from broker_core.kernel.node import Node
from broker_core.log.log_manager import LogManager
from broker_core.metadata.cache import MetadataCache
from broker_core.metadata.configs import BrokerConfig
from broker_core.metadata import znodes
from broker_core.metadata.topic_names import GROUP_METADATA_TOPIC
from broker_core.metadata.znodes import BrokerInfo, Endpoint
from broker_core.replication.partition import Partition
from broker_core.replication.protections import Protections
from broker_core.replication.replica_manager import ReplicaManager
from broker_core.replication.replica_selector import replica_selector
from broker_core.transactions.producer_ids import ProducerIds
from broker_core.wire.apis import Mode
from broker_core.wire.rpc import Request, Response, RpcClient
from broker_core.wire.errors import ErrorCode
from broker_core.zookeeper.client import ZkClient
from broker_core.zookeeper.protocol import Create

LISTENER = "PLAINTEXT"
DELETE_CHECK_US = 5_000_000


@dataclass(frozen=True, slots=True)
class BrokerFactory:
    """Makes the broker of a node at each start of its process; Kafka's settings as text."""

    broker_id: int
    settings: dict[str, str]
    protections: Protections = field(default_factory=Protections)
    costs: StageCosts = field(default_factory=StageCosts)
    through_codec: bool = False

    def __call__(self, node: Node) -> Broker:
        return Broker(node, self)


class Broker:
    """The machine of a broker's process."""

    mode: Mode = "zookeeper"
    transactions_enabled = False

    def __init__(self, node: Node, given: BrokerFactory) -> None:
        self.node = node
        self.broker_id = given.broker_id
        self.config = BrokerConfig(given.settings)
        self.listener = LISTENER
        self.implemented = IMPLEMENTED
        self.ready = False
        self.early: list[tuple[str, Request]] = []
        self.rpcs: dict[str, RpcClient] = {}
        self.cache = MetadataCache(self.broker_id)
        self.host, self.port = listener_address(self.config)
        self._compose(given)

    def _compose(self, given: BrokerFactory) -> None:
        node, config = self.node, self.config
        servers, chroot = tree_address(config["zookeeper.connect"])
        self.zk = ZkClient(node, servers, config["zookeeper.session.timeout.ms"], chroot)
        info = BrokerInfo(
            self.broker_id, [Endpoint(LISTENER, *advertised_address(config), "PLAINTEXT")], rack=config["broker.rack"]
        )
        self.registration = BrokerRegistration(node, self.zk, info, self, wait_for_predecessor=True)
        self.configs = ConfigStore(self)
        self.log_manager = LogManager(
            node.storage, log_dirs(config), self.configs.log_config("", {}), self.broker_id, node.emit,
            producer_expiration_ms=config["producer.id.expiration.ms"],
        )  # fmt: skip
        self.controller = KafkaController(node, self.zk, self.broker_id, config, self.rpc("controller"))
        self.link = ControllerLink(self, self.rpc("to-controller"))
        self.replicas = ReplicaManager(
            node, self.broker_id, config, self.log_manager, self.rpc, self.link, self.broker_epoch, node_name,
            given.protections,
        )  # fmt: skip
        self.replicas.on_leadership = self.leadership_changed
        self.replicas.topic_known = self.cache.contains
        self.replicas.isr_changes.broker_alive = self.cache.is_alive
        self.replicas.topic_name = self.cache.topic_names.get
        self.replicas.log_config_of = self.configs.log_config_of
        self.replicas.on_directory_failure = self.directory_failed
        self.replicas.reader.selector = replica_selector(config["replica.selector.class"], self.replica_racks)
        self.groups = GroupCoordinator(node, self.broker_id, config, OffsetsTopic(self))
        self.producer_ids = ProducerIds(node, self.link)
        self.topic_creation = TopicCreation(self)
        self.config_admin = ConfigAdmin(node, self.zk, self.cache, config, self.broker_id)
        self.topic_admin = TopicAdmin(node, self.zk, self.cache, config, self.controller)
        self.stopping = ControlledShutdown(self)
        self.cleaning = CleanerThreads(self)
        self.idle = IdleConnections(self)
        self.pipeline = RequestPipeline(
            node, config, self.handle, self.log_manager.storage_failed, given.costs, given.through_codec
        )

    def rpc(self, name: str) -> RpcClient:
        """The named connection of this broker to its peers."""
        found = self.rpcs.get(name)
        if found is None:
            found = self.rpcs[name] = RpcClient(self.node, name, f"broker-{self.broker_id}-{name}")
        return found

    # -- the machine ------------------------------------------------------------------------
    def start(self) -> None:
        """Connect; the rest follows from `configs.loaded`, then from `registered`."""
        self.configs.start()
        self.registration.start()

    def load_logs(self) -> None:
        """The topics' settings are known: open the logs."""
        self.log_manager.load(self.node.wall_ms())
        self.replicas.start()
        self._start_background()

    def _start_background(self) -> None:
        every, config = self.node.every, self.config
        every(config["log.retention.check.interval.ms"] * 1000, self._retention)
        every(config["log.flush.offset.checkpoint.interval.ms"] * 1000, self.log_manager.checkpoint)
        every(DELETE_CHECK_US, self._delete_expired)
        self.cleaning.start()
        flush_ms = config["log.flush.scheduler.interval.ms"]
        if flush_ms < 1 << 40:
            every(flush_ms * 1000, self._flush)

    def _retention(self) -> None:
        self.log_manager.run_retention(self.node.wall_ms())

    def _flush(self) -> None:
        self.log_manager.run_flush(self.node.wall_ms())

    def _delete_expired(self) -> None:
        self.log_manager.delete_expired_files(self.node.wall_ms())

    def registered(self) -> None:
        """The registration stands (again): take part, and listen."""
        self.configs.load(self._configs_loaded)

    def _configs_loaded(self) -> None:
        if not self.ready:
            if not claim_disks(self.node, self.log_manager, self.broker_id, self.cluster_id or ""):
                self.node.halt()
                return
            self.load_logs()
            self.ready = True
            self.node.listen(self.host, self.port)
        self.controller.start()
        early, self.early = self.early, []
        for source, request in early:
            self.pipeline.message(source, request)

    def refused(self, holder: BrokerInfo) -> None:
        """Another process holds this id; the registration waits for it to go."""

    def receive(self, source: str, message: Any) -> None:
        kind = message.__class__
        if kind is Request:
            if self.ready:
                self.pipeline.message(source, message)
            else:
                self.early.append((source, message))
        elif kind is Response:
            rpc = self.rpcs.get(message.connection)
            if rpc is not None:
                rpc.receive(source, message)
        else:
            self.zk.receive(source, message)

    def peer_down(self, peer: str) -> None:
        self.zk.peer_down(peer)
        for rpc in list(self.rpcs.values()):
            rpc.peer_down(peer)
        self.pipeline.peer_down(peer)

    def shut_down(self) -> None:
        self.stopping.begin()

    def connection_opened(self, connection: int, peer: str) -> None:
        self.pipeline.opened(connection, peer)
        self.idle.opened(connection)

    def frame_received(self, connection: int, frame: memoryview) -> None:
        self.pipeline.frame(connection, frame)

    def connection_closed(self, connection: int) -> None:
        self.pipeline.closed(connection)

    # -- requests ---------------------------------------------------------------------------
    def handle(self, context: RequestContext) -> None:
        """Give a request to its handler."""
        handler = HANDLERS.get(context.api_key)
        if handler is None:
            context.close(f"api key {context.api_key} is not implemented")
            return
        handler(self, context)

    # -- news -------------------------------------------------------------------------------
    def leadership_changed(self, elected: Any, resigned: Any) -> None:
        """Partitions that this broker leads from now on, or no longer."""
        for topic, partition, epoch in resigned:
            if topic == GROUP_METADATA_TOPIC:
                self.groups.on_resignation(partition, epoch)
        for topic, partition, epoch in elected:
            if topic == GROUP_METADATA_TOPIC:
                self.groups.on_election(partition, epoch)

    def metadata_changed(self) -> None:
        """The controller has told what the cluster looks like."""
        self.producer_ids.prefetch()
        self.topic_creation.metadata_changed()
        self.topic_admin.metadata_updated()

    def directory_failed(self) -> None:
        """A log directory is offline: the controller has to know; with the last one the broker ends."""
        if not self.log_manager.live_dirs():
            self.node.soon(self.node.halt)
            return
        slip = znodes.encode_log_dir_event(self.broker_id)
        self.zk.submit(Create(znodes.LOG_DIR_EVENT_PREFIX, slip, sequential=True), self._told)

    def _told(self, context: Any, result: Any) -> None:
        """The controller reads the slip, asks about every replica here, and elects others."""

    def broker_epoch(self) -> int:
        return self.registration.broker_epoch

    def replica_racks(self, topic: str, partition: int) -> dict[int, str | None]:
        """Where the replicas are that a client of this listener can reach."""
        return self.cache.replica_racks(topic, partition, self.listener)

    def is_stale(self, broker_epoch: int) -> bool:
        """Whether a control request was meant for an earlier registration of this broker."""
        return 0 <= broker_epoch < self.registration.broker_epoch

    def auto_create_topic(self, topic: str) -> ErrorCode:
        """Somebody asks for a topic that does not exist; what he is told."""
        return self.topic_creation.create(topic)

    @property
    def cluster_id(self) -> str | None:
        return self.registration.cluster_id

    # -- for observers ----------------------------------------------------------------------
    @property
    def partitions(self) -> dict[tuple[str, int], Partition]:
        return self.replicas.partitions_by_name

    @property
    def connections(self) -> dict[int, Connection]:
        return self.pipeline.outside

    def groups_view(self) -> dict[str, dict[str, Any]]:
        """Groups that this broker coordinates, as plain data."""
        return {name: {**view, "coordinator": self.broker_id} for name, view in self.groups.groups().items()}


def log_dirs(config: BrokerConfig) -> list[str]:
    """Directories of `log.dirs`, relative to the node's disks."""
    given = config["log.dirs"] or config["log.dir"]
    names = given if isinstance(given, list) else str(given).split(",")
    return [name.strip().strip("/") for name in names if name.strip()]


def tree_address(connect: str) -> tuple[list[str], str]:
    """`zookeeper-1:2181,zookeeper-2:2181/kafka` is (servers, "/kafka")."""
    hosts, slash, chroot = connect.partition("/")
    servers = [host.strip().rsplit(":", 1)[0] for host in hosts.split(",")]
    return servers, slash + chroot if chroot else ""
