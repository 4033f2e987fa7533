"""A broker's place in a cluster with ZooKeeper (Kafka 3.9): the port of `cluster.port`, composed.

    connect -> register /brokers/ids/N -> read settings -> `admitted` -> `take_part`: the controller election

The controller is in every broker and active in one, so admin requests are carried out here if that is this
broker, and refused with NOT_CONTROLLER if not; settings may be changed at any broker.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from broker_core.cluster.disks import claim_disks, owner_of, zookeeper_properties
from broker_core.cluster.port import Asked, Done, Member
from broker_core.cluster.zk.admin import TopicAdmin
from broker_core.cluster.zk.config_admin import ConfigAdmin
from broker_core.cluster.zk.config_repository import ZkConfigRepository
from broker_core.cluster.zk.control_requests import ControlRequests
from broker_core.cluster.zk.controller_channel import ControllerChannel
from broker_core.cluster.zk.registration import ZkRegistration
from broker_core.cluster.zk.tree_offsets import TreeOffsets
from broker_core.controller.zk import znodes
from broker_core.controller.zk.controller import KafkaController
from broker_core.controller.zk.znodes import BrokerInfo
from broker_core.kernel.node import Node
from broker_core.log.checkpoints import NO_BROKER_EPOCH
from broker_core.metadata.configs import BrokerConfig
from broker_core.metadata.loggers import Loggers
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey, Mode
from broker_core.zookeeper.client import ZkClient
from broker_core.zookeeper.protocol import Create

Handler = Callable[[Any, Done, Any], None]


class ZooKeeperCluster:
    """See `cluster.port.Cluster`."""

    mode: Mode = "zookeeper"
    apis = frozenset((
        ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA, ApiKey.CONTROLLED_SHUTDOWN,
        ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS, ApiKey.ELECT_LEADERS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_PARTITION, ApiKey.ALLOCATE_PRODUCER_IDS,
    ))  # fmt: skip
    connections: frozenset[str] = frozenset()
    loggers: Loggers | None = None

    def __init__(self, member: Member) -> None:
        self.member = member
        node, config, broker_id = member.node, member.config, member.broker_id
        servers, chroot = tree_address(config["zookeeper.connect"])
        limit = config["zookeeper.max.in.flight.requests"]
        self.zk = ZkClient(node, servers, config["zookeeper.session.timeout.ms"], chroot, limit)
        own = member.registration()
        info = BrokerInfo(broker_id, list(own.listeners.values()), rack=own.rack)
        self._registration = ZkRegistration(
            node, self.zk, info, self, wait_for_predecessor=not member.applies, wanted=member.applies,
            above=config["reserved.broker.max.id"] if must_draw(node, config, member.log_dirs) else None,
        )  # fmt: skip
        self.controller = KafkaController(node, self.zk, broker_id, config, member.rpc("controller"))
        self.configs = ZkConfigRepository(member, self.zk, self.controller)
        self.channel = ControllerChannel(member, member.rpc("to-controller"), self.controller)
        self.control = ControlRequests(member, self.configs, self.broker_epoch)
        self.topic_admin = TopicAdmin(node, self.zk, member.cache, config, self.controller)
        self.config_admin = ConfigAdmin(node, self.zk, member.cache, config, broker_id)
        self.offsets = TreeOffsets(self.zk, member.cache, config)
        self._handlers = self._table()

    def _table(self) -> dict[int, Handler]:
        control, controller = self.control, self.controller
        topics, configs = self.topic_admin, self.config_admin
        return {
            ApiKey.LEADER_AND_ISR: control.leader_and_isr,
            ApiKey.STOP_REPLICA: control.stop_replica,
            ApiKey.UPDATE_METADATA: self._update_metadata,
            ApiKey.CONTROLLED_SHUTDOWN: controller.handle_controlled_shutdown,
            ApiKey.CREATE_TOPICS: topics.create_topics,
            ApiKey.DELETE_TOPICS: topics.delete_topics,
            ApiKey.CREATE_PARTITIONS: topics.create_partitions,
            ApiKey.ELECT_LEADERS: controller.elect_leaders,
            ApiKey.ALTER_PARTITION_REASSIGNMENTS: controller.alter_partition_reassignments,
            ApiKey.LIST_PARTITION_REASSIGNMENTS: controller.list_partition_reassignments,
            ApiKey.ALTER_CONFIGS: configs.alter_configs,
            ApiKey.INCREMENTAL_ALTER_CONFIGS: configs.incremental_alter_configs,
            ApiKey.ALTER_PARTITION: controller.handle_alter_partition,
            ApiKey.ALLOCATE_PRODUCER_IDS: controller.allocate_producer_ids,
            ApiKey.OFFSET_COMMIT: self.offsets.commit,
            ApiKey.OFFSET_FETCH: self.offsets.fetch,
        }

    # -- life ---------------------------------------------------------------------------------
    def start(self) -> None:
        self.configs.start()
        self._registration.start()

    def registered(self) -> None:
        """The registration stands (again)."""
        self.configs.load(self.member.admitted)

    def refused(self, holder: BrokerInfo) -> None:
        """Another process holds this id. A broker that is there again waits for its own predecessor to go; a machine
        that is none of the cluster's ends, as Kafka does."""
        if self.member.applies:
            self.zk.close()
            self.member.node.end("refused")

    def is_free(self) -> None:
        self.zk.close()
        self.member.take_over(None)

    def drawn(self, broker: int) -> bool:
        """A process has its id in its name: one whose blank disks draw another id ends."""
        if broker != self.member.broker_id:
            self.zk.close()
            self.member.node.end("refused")
        return broker == self.member.broker_id

    def take_part(self) -> None:
        self.controller.start()

    def claim_disks(self) -> bool:
        logs = self.member.replicas.log_manager
        mine = zookeeper_properties(self.member.broker_id, self.cluster_id or "")
        return claim_disks(self.member.node, logs.live_dirs(), mine, logs.fail_directory)

    def leave(self, done: Callable[[], None]) -> None:
        self.zk.close()
        done()

    def epoch_of_clean_end(self) -> int:
        return NO_BROKER_EPOCH

    def broker_epoch(self) -> int:
        return self._registration.broker_epoch

    @property
    def outside(self) -> None:
        """Whoever wants the controller asks a broker."""

    @property
    def cluster_id(self) -> str | None:
        return self._registration.cluster_id

    def features(self) -> None:
        """Levels are of KRaft."""

    # -- messages -----------------------------------------------------------------------------
    def receive(self, source: str, message: Any) -> None:
        self.zk.receive(source, message)

    def peer_down(self, peer: str) -> None:
        self.zk.peer_down(peer)

    def answer(self, request: Asked, done: Done) -> None:
        self._handlers[request.api_key](request.body, done, request)

    def _update_metadata(self, request: m.UpdateMetadataRequest, done: Done, context: Any) -> None:
        error = self.control.update_metadata(request)
        if not error:
            self.topic_admin.metadata_updated()
        done(context, m.UpdateMetadataResponse(error_code=error))

    # -- what the broker asks -----------------------------------------------------------------
    def read_topic_settings(self, topics: Sequence[str], done: Callable[[Any], None], context: Any) -> None:
        self.configs.read_topics(topics, done, context)

    def alter_partition(self, request: Any, done: Done, context: Any) -> None:
        self.channel.call(ApiKey.ALTER_PARTITION, 3, request, done, context)

    def allocate_producer_ids(self, done: Done, context: Any) -> None:
        request = m.AllocateProducerIdsRequest(broker_id=self.member.broker_id, broker_epoch=self.broker_epoch())
        self.channel.call(ApiKey.ALLOCATE_PRODUCER_IDS, 0, request, done, context)

    def create_topics(self, request: Any, done: Done, context: Any) -> None:
        self.channel.call(ApiKey.CREATE_TOPICS, 7, request, done, context)

    def controlled_shutdown(self, done: Done, context: Any) -> None:
        request = m.ControlledShutdownRequest(broker_id=self.member.broker_id, broker_epoch=self.broker_epoch())
        self.channel.call(ApiKey.CONTROLLED_SHUTDOWN, 3, request, done, context)

    def directory_failed(self, log_dir: str) -> None:
        slip = znodes.encode_log_dir_event(self.member.broker_id)
        self.zk.submit(Create(znodes.LOG_DIR_EVENT_PREFIX, slip, sequential=True), self._told)

    def _told(self, context: Any, result: Any) -> None:
        """The controller reads the slip, asks about every replica here, and elects others."""

    def assign_directory(
        self, topic_id: uuid.UUID, partition: int, log_dir: str, done: Callable[[Any], None] | None, context: Any
    ) -> bool:
        """Nobody else knows of directories."""
        return False


def must_draw(node: Node, config: BrokerConfig, log_dirs: list[str]) -> bool:
    """Whether nobody has chosen an id, and none stands on the disks."""
    return config["broker.id"] < 0 and not any(owner_of(node.storage, log_dir) for log_dir in log_dirs)


def tree_address(connect: str) -> tuple[list[str], str]:
    """`zookeeper-1:2181,zookeeper-2:2181/kafka` is (servers, "/kafka")."""
    hosts, slash, chroot = connect.partition("/")
    servers = [host.strip().rsplit(":", 1)[0] for host in hosts.split(",")]
    return servers, slash + chroot if chroot else ""
