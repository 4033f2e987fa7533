"""What every process of a KRaft cluster has: the metadata log, the image it makes, and, in a voter, the controller.

| process.roles | metadata log | controller | broker |
|---|---|---|---|
| broker | observer: follows | | yes |
| controller | voter; an observer before it is added and once it is removed | yes | |
| broker,controller | voter | yes | yes: both in one process ("combined") |

Who was there at the start finds the quorum by `controller.quorum.voters`. A controller that comes later knows only
where to begin, `controller.quorum.bootstrap.servers`; who votes it reads in the log (KIP-853).

It is kept in `metadata.log.dir`, or in the first of `log.dirs`. A process whose metadata directory fails ends: without
the log it can neither promise nor know anything. Source: SharedServer, KafkaRaftManager, KafkaRaftServer.
"""

from __future__ import annotations

import re
import uuid
from typing import Any

from broker_core.cluster.disks import claim_disks, directory_id, kraft_properties
from broker_core.cluster.kraft.controller_registration import CONNECTION as REGISTRATION
from broker_core.cluster.kraft.controller_registration import ControllerRegistrationManager
from broker_core.cluster.kraft.controller_clients import ControllerClients
from broker_core.cluster.kraft.controller_listener import ControllerListener
from broker_core.cluster.kraft.loader import MetadataLoader
from broker_core.cluster.kraft.snapshotting import ObserverSnapshots
from broker_core.cluster.kraft.telling import MetadataTelling
from broker_core.controller.kraft import QuorumController
from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.names import controller_node, number_of
from broker_core.kernel.node import Node
from broker_core.metadata.configs import BrokerConfig
from broker_core.metadata.feature_levels import KRAFT_VERSION, Finalized
from broker_core.metadata.loggers import Loggers
from broker_core.metadata.registration import Endpoint
from broker_core.log.checkpoints import CorruptCheckpoint
from broker_core.raft import QuorumSettings, RaftClient, ReplicaKey, VoterNode, VoterSet
from broker_core.raft.formatting import format_initial
from broker_core.raft.requests import CONNECTION
from broker_core.raft.voters import Listener
from broker_core.records.errors import RecordsError
from broker_core.wire.rpc import Request, Response

CONTROLLER_LISTENER, CONTROLLER_PORT = "CONTROLLER", 9093
_CONTROLLER_ADDRESS = re.compile(r"CONTROLLER://(\[[^\]]+\]|[^,/]*):(\d{1,5})")
HEARTBEATS, FORWARDING, TO_CONTROLLER = "heartbeat", "forwarding", "to-controller"
CONNECTIONS = frozenset((CONNECTION, HEARTBEATS, FORWARDING, TO_CONTROLLER, REGISTRATION))
"""Connections to a controller listener, by the names that their openers give them."""
NO_DIRECTORY = -1
Voters = dict[int, tuple[str, int]]
"""Id -> host and port; in a world, the host is the name of the node."""


class MetadataProcess:
    """See the module. `open` first; nothing else may be called before."""

    raft: RaftClient
    listener: ControllerListener

    def __init__(
        self, node: Node, config: BrokerConfig, cluster_id: str, log_dirs: list[str], initial: VoterSet | None = None
    ) -> None:
        """`initial`: the voters that a quorum is dynamic with from its first start; None: static ones."""
        self.initial = initial
        self.node = node
        self.config = config
        self.cluster_id = cluster_id
        self.log_dirs = log_dirs
        self.id: int = config["node.id"]
        self.loggers = Loggers(self.id, config["process.roles"])
        self.voters = voters_of(config)
        self.known = {**bootstrap_of(config), **self.voters}
        self.is_open = False
        self.controller: QuorumController | None = None
        self.registration: ControllerRegistrationManager | None = None
        self.clients: ControllerClients | None = None
        self.loader = MetadataLoader()

    @property
    def unclean_elections(self) -> int:
        """Of leaders of partitions, that it has seen while it led the quorum."""
        return sum(one.unclean_elections for one in self.loader.publishers if isinstance(one, MetadataTelling))

    @property
    def metadata_dir(self) -> str:
        found: str | None = self.config["metadata.log.dir"]
        return self.log_dirs[0] if found is None else found.strip("/")

    def node_of(self, replica_id: int) -> str:
        """Where a controller runs: the port `raft.client.Addresses`. One that came later is found by its name."""
        return self.known[replica_id][0] if replica_id in self.known else controller_node(replica_id)

    def open(self) -> bool:
        """Claim the disks and open the log; False when that cannot be, which the journal says."""
        try:
            if self.initial is not None and self.id in self.initial and self.node.is_first_start:
                format_initial(self.node, self.metadata_dir, self.id, self.cluster_id, self.initial)
        except StorageError as error:
            self._failed(self.metadata_dir, str(error))
            return False
        directories = dict.fromkeys([self.metadata_dir, *self.log_dirs])
        if not claim_disks(self.node, directories, kraft_properties(self.id, self.cluster_id), self._failed):
            return False
        directory = directory_id(self.node.storage, self.metadata_dir)
        if directory is None:
            return False
        try:
            self.raft = self._raft(ReplicaKey(self.id, directory))
        except CorruptCheckpoint as error:
            self._failed(error.path, error.reason)
            return False
        except StorageError as error:
            self._failed(error.path, str(error))
            return False
        except (RecordsError, ValueError) as error:
            self._failed(self.metadata_dir, str(error))
            return False
        if "controller" in self.config["process.roles"]:
            self.controller = QuorumController(self.node, self.raft, self.config)
            self.raft.register(self.controller)
            timeout_ms = self.config["controller.socket.timeout.ms"]
            self.registration = ControllerRegistrationManager(self.node, self.raft, self.endpoint, timeout_ms)
        self.listener = ControllerListener(self)
        if self.controller is not None and self.outside_address is not None:
            self.clients = ControllerClients(self.node, self.listener)
        self.is_open = True
        return True

    def _raft(self, key: ReplicaKey) -> RaftClient:
        place = self.endpoint if "controller" in self.config["process.roles"] else None
        own = VoterNode(key, (Listener(CONTROLLER_LISTENER, place.host, place.port),) if place else ())
        static = VoterSet.of_ids(self.voters)
        return RaftClient(
            self.node, own, self.cluster_id, self.metadata_dir, static, self, quorum_settings(self.config),
            list(self.known),
        )  # fmt: skip

    def _failed(self, path: str, why: str) -> None:
        self.node.emit(events.DISK_FAULT, path=path, error=why, operation="start")

    def start(self) -> None:
        """Follow, or vote, from now on. `loader` has its publishers by now."""
        self.loader.publishers.append(MetadataTelling(self.node, self.raft, self.controller))
        self.raft.register(self.loader)
        if self.registration is not None:
            self.loader.publishers.append(self.registration)
        else:
            self.raft.register(ObserverSnapshots(self.node, self.raft, self.loader, self.config))
        self.raft.start()
        if self.clients is not None and self.outside_address is not None:
            self.node.listen(*self.outside_address, CONTROLLER_LISTENER)

    # -- messages -------------------------------------------------------------------------------
    def receive(self, source: str, message: Any) -> None:
        """A request on the controller listener, or an answer to a request of the quorum."""
        if not self.is_open:
            return
        if isinstance(message, Request):
            self.listener.receive(source, message)
        elif isinstance(message, Response) and not self.raft.receive(source, message):
            if self.registration is not None:
                self.registration.receive(source, message)

    def peer_down(self, peer: str) -> None:
        if self.is_open:
            self.raft.peer_down(peer)
            if self.registration is not None:
                self.registration.peer_down(peer)

    # -- facts ----------------------------------------------------------------------------------
    def directories(self) -> dict[str, uuid.UUID]:
        """Log directory -> its id; those that work."""
        found = {log_dir: directory_id(self.node.storage, log_dir) for log_dir in self.log_dirs}
        return {log_dir: number for log_dir, number in found.items() if number is not None}

    def features(self, epoch: int) -> Finalized:
        """Those of the image, and the quorum's own."""
        kraft = self.raft.history.last_version if self.is_open else 0
        own = {KRAFT_VERSION: kraft} if kraft else {}
        return Finalized({**self.loader.image.features, **own}, epoch)

    @property
    def endpoint(self) -> Endpoint:
        """Of its controller listener, as it is told to clients."""
        inside = self.voters.get(self.id, (self.node.name, CONTROLLER_PORT))
        return Endpoint(CONTROLLER_LISTENER, *(self.outside_address or inside))

    @property
    def outside_address(self) -> tuple[str, int] | None:
        """Where `listeners` puts the controller listener; None: processes of the cluster alone find it."""
        given = self.config["listeners"]
        found = _CONTROLLER_ADDRESS.search(",".join(given) if isinstance(given, list) else str(given))
        return (found[1].strip("[]"), int(found[2])) if found is not None else None


def voters_of(config: BrokerConfig) -> Voters:
    """`controller.quorum.voters`: `1@broker-1:9093` is {1: ("broker-1", 9093)}."""
    found: Voters = {}
    for one in config["controller.quorum.voters"]:
        number, _, address = one.partition("@")
        host, _, port = address.rpartition(":")
        found[int(number)] = (host, int(port))
    return found


def bootstrap_of(config: BrokerConfig) -> Voters:
    """`controller.quorum.bootstrap.servers`: `controller-101:9093` is {101: ("controller-101", 9093)}."""
    found: Voters = {}
    for one in config["controller.quorum.bootstrap.servers"]:
        host, _, port = one.rpartition(":")
        found[number_of(host)] = (host, int(port))
    return found


def quorum_settings(config: BrokerConfig) -> QuorumSettings:
    """As the process was given them."""
    return QuorumSettings(
        election_timeout_ms=config["controller.quorum.election.timeout.ms"],
        fetch_timeout_ms=config["controller.quorum.fetch.timeout.ms"],
        election_backoff_max_ms=config["controller.quorum.election.backoff.max.ms"],
        append_linger_ms=config["controller.quorum.append.linger.ms"],
        request_timeout_ms=config["controller.quorum.request.timeout.ms"],
        retry_backoff_ms=config["controller.quorum.retry.backoff.ms"],
        fetch_max_bytes=config["controller.quorum.fetch.max.bytes"],
        fetch_snapshot_max_bytes=config["controller.quorum.fetch.snapshot.max.bytes"],
        auto_join=config["controller.quorum.auto.join.enable"],
        segment_bytes=config["metadata.log.segment.bytes"],
        segment_ms=config["metadata.log.segment.ms"],
        max_retention_bytes=config["metadata.max.retention.bytes"],
        max_retention_ms=config["metadata.max.retention.ms"],
    )
