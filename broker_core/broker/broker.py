"""One broker: a machine that composes logs, replicas, groups, its place in a cluster and the request pipeline.

Start, in Kafka's order:

    register with the cluster -> be told all settings -> load the logs (recover where needed)
      -> listen -> take part (with KRaft: lead, follow, and be unfenced)

How a broker registers, who tells it what, and who decides for all is behind the port `cluster.port`, which the
factory is given an implementation of. What comes in is a request (to the pipeline), an answer to a request of ours
(to the connection that asked), or a message that the cluster understands. What comes in before the broker listens
waits, as it would in the backlog of its socket.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from broker_core.broker.cleaner_threads import CleanerThreads
from broker_core.broker.configs import ConfigStore
from broker_core.broker.connections import Connection, RequestContext, respond
from broker_core.broker.handlers import HANDLERS
from broker_core.broker.handlers.sharing import connection_closed
from broker_core.broker.addresses import advertised_address, listener_address, log_dirs
from broker_core.broker.file_deletion import FileDeletion
from broker_core.broker.idle import IdleConnections
from broker_core.broker.pipeline import RequestPipeline
from broker_core.broker.share_fetching import ShareFetching
from broker_core.broker.share_persister import SharePersister
from broker_core.broker.shutdown import ControlledShutdown
from broker_core.broker.stages import StageCosts
from broker_core.broker.state_topics import KnownTopics, StateTopic
from broker_core.broker.topic_creation import TopicCreation
from broker_core.broker.transaction_channels import TransactionLeaders, TransactionVerifier
from broker_core.cluster.port import Join
from broker_core.groups.coordinator import GroupCoordinator
from broker_core.kernel.names import broker_node
from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.log.futures import TwoLogs
from broker_core.log.loading import LogLoading
from broker_core.log.log_manager import LogManager
from broker_core.metadata.cache import MetadataCache
from broker_core.metadata.configs import BrokerConfig, era_of
from broker_core.metadata.config_entities import Entity
from broker_core.metadata.delta import MetadataDelta
from broker_core.metadata.feature_levels import TRANSACTIONS, Finalized
from broker_core.metadata.registration import BrokerRegistration, Endpoint
from broker_core.metadata.topic_names import GROUP_METADATA_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC
from broker_core.replication.partition import Partition
from broker_core.replication.protections import Protections
from broker_core.replication.replica_manager import ReplicaManager
from broker_core.replication.replica_selector import replica_selector
from broker_core.sharing.coordinator import ShareCoordinator
from broker_core.sharing.sessions import ShareSessions
from broker_core.transactions.coordinator import TransactionCoordinator
from broker_core.transactions.producer_ids import ProducerIds
from broker_core.wire.apis import ApiKey, Mode
from broker_core.wire.rpc import Request, Response, RpcClient
from broker_core.wire.errors import ErrorCode

LISTENER = "PLAINTEXT"
LOADING_BYTES, LOADING_US = 16 * 1024 * 1024, 50_000
"""What a slice of opening logs checks, and how long it takes of the world's time when it is not the last one."""


@dataclass(slots=True)
class BrokerFactory:
    """Makes the broker of a node at each start of its process: Kafka's settings as text, and how it joins a cluster."""

    join: Join
    broker_id: int
    settings: dict[str, str]
    protections: Protections = field(default_factory=Protections)
    costs: StageCosts = field(default_factory=StageCosts)
    through_codec: bool = False
    applies: bool = False  # a machine that wants an id which another one has, or had

    def __call__(self, node: Node) -> Broker:
        return Broker(node, self)


class Broker:
    """The machine of a broker's process."""

    def __init__(self, node: Node, given: BrokerFactory) -> None:
        self.node = node
        self.broker_id = given.broker_id
        self.applies = given.applies
        self.config = BrokerConfig(given.settings, era_of(given.settings))
        self.log_dirs = log_dirs(self.config)
        self.listener = LISTENER
        self.ready = False
        self.loading: LogLoading | None = None
        self.early: list[tuple[str, Request]] = []
        self.elsewhere: set[int] = set()
        self.rpcs: dict[str, RpcClient] = {}
        self.cache = MetadataCache(self.broker_id)
        self.host, self.port = listener_address(self.config)
        self._compose(given)

    def _compose(self, given: BrokerFactory) -> None:
        node, config = self.node, self.config
        self.cluster = given.join(self)
        self.configs = ConfigStore(self)
        self.log_manager: LogManager = LogManager(
            node.storage, self.log_dirs, self.configs.log_config("", {}), self.broker_id, node.emit,
            producer_expiration_ms=config["producer.id.expiration.ms"],
        )  # fmt: skip
        self.replicas = ReplicaManager(
            node, self.broker_id, config, self.log_manager, self.rpc, self.cluster, self.broker_epoch, broker_node,
            given.protections,
        )  # fmt: skip
        self.replicas.on_leadership = self.leadership_changed
        self.replicas.topic_known = self.cache.contains
        self.replicas.isr_changes.broker_eligible = self.cache.may_join_isr
        self.replicas.isr_changes.hashed = self.mode == "kraft"
        self.replicas.topic_name = self.cache.topic_names.get
        self.replicas.log_config_of = self.configs.log_config_of
        self.replicas.on_directory_failure = self.directory_failed
        self.replicas.moves.assign = self.cluster.assign_directory
        self.replicas.reader.selector = replica_selector(config["replica.selector.class"], self.replica_racks)
        offsets_topic = StateTopic(self, GROUP_METADATA_TOPIC, config["offsets.commit.timeout.ms"])
        self.share_persister = SharePersister(self)
        self.groups = GroupCoordinator(
            node, self.broker_id, config, offsets_topic, KnownTopics(self.cache),
            self.share_persister if self.mode == "kraft" else None,
        )  # fmt: skip
        self.producer_ids = ProducerIds(node, self.cluster)
        transactions_topic = StateTopic(self, TRANSACTION_STATE_TOPIC, config["request.timeout.ms"])
        self.transactions = TransactionCoordinator(
            node, config, transactions_topic, TransactionLeaders(self), self.producer_ids.next_id,
            self.transaction_version,
        )  # fmt: skip
        self.transaction_verifier = TransactionVerifier(self)
        self.coordinators: dict[str, GroupCoordinator | TransactionCoordinator | ShareCoordinator] = {
            GROUP_METADATA_TOPIC: self.groups, TRANSACTION_STATE_TOPIC: self.transactions,
        }  # fmt: skip
        self.share_states: ShareCoordinator | None = None
        if self.mode == "kraft":
            share_topic = StateTopic(self, SHARE_GROUP_STATE_TOPIC, config["share.coordinator.write.timeout.ms"])
            self.share_states = ShareCoordinator(node, config, share_topic, self.cache.partition_count_by_id)
            self.coordinators[SHARE_GROUP_STATE_TOPIC] = self.share_states
        self.share_sessions = ShareSessions(config["group.share.max.share.sessions"] if self.mode == "kraft" else 0)
        self.share_fetching = ShareFetching(self)
        self.topic_creation = TopicCreation(self)
        self.stopping = ControlledShutdown(self)
        self.cleaning = CleanerThreads(self)
        self.file_deletion = FileDeletion(self)
        self.idle = IdleConnections(self)
        self.pipeline = RequestPipeline(
            node, config, self.handle, self.log_manager.storage_failed, given.costs, given.through_codec, self.mode,
        )  # fmt: skip

    def rpc(self, name: str) -> RpcClient:
        """The named connection of this broker to its peers."""
        if name not in self.rpcs:
            self.rpcs[name] = RpcClient(self.node, name, f"{broker_node(self.broker_id)}-{name}")
        return self.rpcs[name]

    # -- the machine ------------------------------------------------------------------------
    def start(self) -> None:
        """Register; the rest follows from `admitted`."""
        self.cluster.start()

    def load_logs(self) -> None:
        """The topics' settings are known: open the logs, in slices; others have their turn in between."""
        if self.loading is None:
            self.loading = self.log_manager.begin_loading(self.node.wall_ms())
        try:
            done = self.loading.advance(LOADING_BYTES)
        except TwoLogs as error:
            self.node.emit(events.DISK_FAULT, path=error.second, error=str(error), operation="start")
            self.node.halt()
            return
        if done:
            self._loaded()
            return
        self.node.emit(
            events.LOGS_LOADING, opened=self.loading.opened, total=self.loading.total, checked=self.loading.checked
        )  # fmt: skip
        self.node.after(LOADING_US, self.load_logs)

    def _loaded(self) -> None:
        self.replicas.start()
        self._start_background()
        self.ready = True
        self.node.listen(self.host, self.port)
        self._take_part()

    def _start_background(self) -> None:
        every, config = self.node.every, self.config
        every(config["log.retention.check.interval.ms"] * 1000, self._retention)
        every(config["log.flush.offset.checkpoint.interval.ms"] * 1000, self.log_manager.checkpointing.everything)
        every(config["producer.id.expiration.check.interval.ms"] * 1000, self._forget_producers)
        self.file_deletion.start()
        self.cleaning.start()
        if (flush_ms := config["log.flush.scheduler.interval.ms"]) < 1 << 40:
            every(flush_ms * 1000, self._flush)

    def _retention(self) -> None:
        self.log_manager.run_retention(self.node.wall_ms())

    def _forget_producers(self) -> None:
        self.log_manager.forget_producers(self.node.wall_ms())

    def _flush(self) -> None:
        self.log_manager.run_flush(self.node.wall_ms())

    # -- a member of its cluster --------------------------------------------------------------
    def registration(self) -> BrokerRegistration:
        """What this broker says of itself."""
        endpoint = Endpoint(LISTENER, *advertised_address(self.config), "PLAINTEXT")
        return BrokerRegistration(self.broker_id, {LISTENER: endpoint}, rack=self.config["broker.rack"])

    def admitted(self) -> None:
        """The registration stands (again), and all settings are known: take part, and listen."""
        if self.ready:
            self._take_part()
        elif self.loading is None:
            if self.cluster.claim_disks():
                self.load_logs()
            else:
                self.node.halt()

    def take_over(self, heirloom: Any) -> None:
        """This machine's process begins anew as the broker whose id it has got."""
        self.node.take_over(broker_node(self.broker_id), heirloom)

    def _take_part(self) -> None:
        self.cluster.take_part()
        early, self.early = self.early, []
        for source, request in early:
            self.pipeline.message(source, request)

    def take_settings(self, entity: Entity, values: dict[str, str], *, running: bool) -> None:
        self.configs.take(entity, values, running=running)

    def topic_overrides(self, topic: str) -> dict[str, str]:
        return self.configs.overrides.get(topic, {})

    def changed(self, delta: MetadataDelta) -> None:
        """News of the cluster."""
        deleted = self.cache.apply(delta)
        if deleted:
            self.groups.on_partitions_deleted(deleted)
            if self.share_states is not None and self.groups.share is not None:
                gone = [one.topic_id for one in delta.topics if one.topic_id not in self.cache.topic_names]
                self.share_states.topics_deleted(gone)
                self.groups.share.topics_deleted(gone)
        if self.mode == "zookeeper":
            self.producer_ids.prefetch()
        self.topic_creation.metadata_changed()

    # -- messages -----------------------------------------------------------------------------
    def receive(self, source: str, message: Any) -> None:
        kind = message.__class__
        if (kind is Request or kind is Response) and message.connection in self.cluster.connections:
            self._of_the_cluster(source, message)
        elif kind is Request:
            if self.ready:
                self.pipeline.message(source, message)
            else:
                self.early.append((source, message))
        elif kind is Response:
            rpc = self.rpcs.get(message.connection)
            if rpc is not None:
                rpc.receive(source, message)
        else:
            self.cluster.receive(source, message)

    def _of_the_cluster(self, source: str, message: Any) -> None:
        """Requests to the cluster's part of this process; answers to who has asked."""
        rpc = self.rpcs.get(message.connection) if message.__class__ is Response else None
        if rpc is not None:
            rpc.receive(source, message)
        else:
            self.cluster.receive(source, message)

    def peer_down(self, peer: str) -> None:
        self.cluster.peer_down(peer)
        for rpc in list(self.rpcs.values()):
            rpc.peer_down(peer)
        self.pipeline.peer_down(peer)

    def shut_down(self) -> None:
        (self.node.exit if self.applies else self.stopping.begin)()

    def connection_opened(self, connection: int, peer: str, listener: str = "") -> None:
        """On the listener of a broker's clients, or on one that belongs to its cluster."""
        if listener and self.cluster.outside is not None:
            self.elsewhere.add(connection)
            self.cluster.outside.opened(connection)
            return
        self.pipeline.opened(connection, peer)
        self.idle.opened(connection)

    def frame_received(self, connection: int, frame: memoryview) -> None:
        if connection in self.elsewhere and self.cluster.outside is not None:
            self.cluster.outside.frame(connection, frame)
        else:
            self.pipeline.frame(connection, frame)

    def connection_closed(self, connection: int) -> None:
        if connection in self.elsewhere and self.cluster.outside is not None:
            self.elsewhere.discard(connection)
            self.cluster.outside.closed(connection)
        else:
            self.pipeline.closed(connection)
            connection_closed(self, connection)

    # -- requests ---------------------------------------------------------------------------
    def handle(self, context: RequestContext) -> None:
        """Give a request to its handler."""
        handler = HANDLERS.get(context.api_key)
        if handler is not None:
            handler(self, context)
        elif context.api_key in self.cluster.apis:
            self.cluster.answer(context, respond)
        else:
            context.close(f"api key {context.api_key} is not implemented")

    @property
    def mode(self) -> Mode:
        """The generation, which decides what versions are offered."""
        return self.cluster.mode

    @property
    def implemented(self) -> frozenset[ApiKey]:
        """What this broker answers."""
        return self.cluster.apis.union(map(ApiKey, HANDLERS))

    def features(self) -> Finalized | None:
        """The levels that hold in the cluster, as clients are told them; None where there are none."""
        found = self.cluster.features()
        if found is None or self.replicas.protections.transactions_v2 or found.levels.get(TRANSACTIONS, 0) < 2:
            return found
        return Finalized({**found.levels, TRANSACTIONS: 1}, found.epoch)

    def transaction_version(self) -> int:
        return self._level(TRANSACTIONS)

    def group_version(self) -> int:
        return self._level("group.version")

    def share_version(self) -> int:
        return self._level("share.version")

    def _level(self, feature: str) -> int:
        """A feature's level; 0 where there are no levels."""
        features = self.features()
        return 0 if features is None else features.levels.get(feature, 0)

    # -- news -------------------------------------------------------------------------------
    def leadership_changed(self, elected: Any, resigned: Any) -> None:
        """Partitions that this broker leads from now on, or no longer."""
        for topic, partition, _ in (*resigned, *elected):
            self.share_fetching.partitions.resigned(topic, partition)
        for topic, partition, epoch in resigned:
            if topic in self.coordinators:
                self.coordinators[topic].on_resignation(partition, epoch)
        for topic, partition, epoch in elected:
            if topic in self.coordinators:
                self.coordinators[topic].on_election(partition, epoch)

    def directory_failed(self, log_dir: str) -> None:
        """This log directory is offline: the controller has to know; with the last one the broker ends."""
        if not self.log_manager.live_dirs():
            self.node.soon(self.node.halt)
            return
        self.cluster.directory_failed(log_dir)

    def broker_epoch(self) -> int:
        return self.cluster.broker_epoch()

    def replica_racks(self, topic: str, partition: int) -> dict[int, str | None]:
        """Where the replicas are that a client of this listener can reach."""
        return self.cache.replica_racks(topic, partition, self.listener)

    def auto_create_topic(self, topic: str) -> ErrorCode:
        """Somebody asks for a topic that does not exist; what he is told."""
        return self.topic_creation.create(topic)

    @property
    def cluster_id(self) -> str | None:
        return self.cluster.cluster_id

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
