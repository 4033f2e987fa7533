"""The port between a broker and its cluster: what a broker asks, and what it is told.

| a broker                              | ZooKeeper                                     | KRaft                     |
|---------------------------------------|-----------------------------------------------|---------------------------|
| registers (`start`)                   | creates /brokers/ids/1                        | registers, heartbeats     |
| says that it listens (`take_part`)    | takes part in the controller election         | asks to be unfenced       |
| is told settings                      | reads /config; slips tell of changes          | reads the metadata log    |
| is told who leads what                | UpdateMetadata, LeaderAndIsr, StopReplica     | reads the metadata log    |
| serves admin requests (`answer`)      | writes to the tree, if its controller is active | forwards them (KIP-590) |
| proposes an ISR (`alter_partition`)   | to the broker that is controller              | to the active controller  |
| needs producer ids                    | asks that broker for a block                  | asks the controller       |
| moves a replica to another directory (`assign_directory`) | tells nobody | asks the controller to write it down |
| loses a directory (`directory_failed`) | a slip in /log_dir_event_notification        | tells with its heartbeats |
| stops (`controlled_shutdown`, `leave`) | ControlledShutdown; closes its session       | tells with its heartbeats |

Every answer comes later: `done(context, response)`, with None where nobody answered. A broker below this port
knows neither znodes nor metadata records; a generation knows of the broker what `Member` says.

Kafka: `MetadataSupport` with `ZkSupport` and `RaftSupport`, `NodeToControllerChannelManager`, `ConfigRepository`,
`BrokerLifecycleManager`, `AlterPartitionManager`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from broker_core.metadata.config_entities import Entity
from broker_core.kernel.node import Node
from broker_core.metadata.cache import MetadataCache
from broker_core.metadata.configs import BrokerConfig
from broker_core.metadata.delta import MetadataDelta
from broker_core.metadata.feature_levels import Finalized
from broker_core.metadata.loggers import Loggers
from broker_core.metadata.registration import BrokerRegistration
from broker_core.replication.replica_manager import ReplicaManager
from broker_core.wire.apis import ApiKey, Mode
from broker_core.wire.rpc import RpcClient

Done = Callable[[Any, Any], None]


class Asked(Protocol):
    """A request as the broker's pipeline has it; it is the context of its own answer."""

    api_key: int
    api_version: int
    client_id: str | None
    body: Any


class Member(Protocol):
    """A broker, as its cluster sees it."""

    node: Node
    broker_id: int
    config: BrokerConfig
    cache: MetadataCache
    replicas: ReplicaManager
    log_dirs: list[str]
    applies: bool
    """Whether it is a machine that wants an id which is a broker's already: it asks, and does nothing else."""

    def take_over(self, heirloom: Any) -> None:
        """The id is free, or given to this machine: it is that broker from now on."""
        ...

    def registration(self) -> BrokerRegistration:
        """What the broker says of itself."""
        ...

    def rpc(self, name: str) -> RpcClient:
        """A named connection to its peers; what comes in on it the broker hands on by itself."""
        ...

    def admitted(self) -> None:
        """The registration stands (again), and all settings have been told: open the logs, listen, `take_part`.

        With KRaft only at the start, when all that was decided before has been read: who is fenced meanwhile needs to
        do nothing.
        """
        ...

    def take_settings(self, entity: Entity, values: dict[str, str], *, running: bool) -> None:
        """Everything that is set of an entity; `running`: it has changed since the start."""
        ...

    def topic_overrides(self, topic: str) -> dict[str, str]:
        """A topic's settings as last told."""
        ...

    def changed(self, delta: MetadataDelta) -> None:
        """News of the cluster."""
        ...


class Outside(Protocol):
    """Clients from outside on a listener that belongs to the cluster, not to the broker: a controller's."""

    def opened(self, number: int) -> None: ...

    def frame(self, number: int, frame: memoryview) -> None: ...

    def closed(self, number: int) -> None: ...


class Cluster(Protocol):
    """One generation, for one broker. `apis`: the requests that it answers, beside those that the broker does;
    `connections`: names of those on which others speak to the cluster's part of this process, and not to the broker;
    `loggers`: of this process, with KRaft."""

    mode: Mode
    apis: frozenset[ApiKey]
    connections: frozenset[str]
    loggers: Loggers | None

    @property
    def outside(self) -> Outside | None:
        """None where this process has no such listener."""
        ...

    @property
    def cluster_id(self) -> str | None:
        """None until it is known."""
        ...

    # -- life ---------------------------------------------------------------------------------
    def start(self) -> None:
        """Register, and keep registered; `Member.admitted` follows each time."""
        ...

    def claim_disks(self) -> bool:
        """Whether the disks are those of this broker in this cluster; blank ones are from now on."""
        ...

    def take_part(self) -> None:
        """The broker listens."""
        ...

    def leave(self, done: Callable[[], None]) -> None:
        """The broker is about to end; `done()` when it may."""
        ...

    def epoch_of_clean_end(self) -> int:
        """The broker epoch that a clean end leaves on the disks for the next registration; -1 where nobody asks."""
        ...

    def broker_epoch(self) -> int:
        """Of the registration; -1 while there is none."""
        ...

    def features(self) -> Finalized | None:
        """The feature levels that hold; None where there are none (KIP-584)."""
        ...

    # -- messages -----------------------------------------------------------------------------
    def receive(self, source: str, message: Any) -> None:
        """A message that is neither request nor response, or one on one of `connections`."""
        ...

    def peer_down(self, peer: str) -> None: ...

    def answer(self, request: Asked, done: Done) -> None:
        """One of `apis`, or a version of another that the cluster has to answer; `done(request, response)`."""
        ...

    # -- what the broker asks -----------------------------------------------------------------
    def read_topic_settings(self, topics: Sequence[str], done: Callable[[Any], None], context: Any) -> None:
        """Have the settings of these topics told as they stand now; then `done(context)`."""
        ...

    def alter_partition(self, request: Any, done: Done, context: Any) -> None: ...

    def allocate_producer_ids(self, done: Done, context: Any) -> None: ...

    def create_topics(self, request: Any, done: Done, context: Any) -> None:
        """Topics that come to be because somebody asked for them."""
        ...

    def controlled_shutdown(self, done: Done, context: Any) -> None:
        """Have the leaderships of this broker moved; a ControlledShutdownResponse says which remain."""
        ...

    def directory_failed(self, log_dir: str) -> None:
        """This log directory has gone offline, and it was not the last one."""
        ...

    def assign_directory(
        self, topic_id: uuid.UUID, partition: int, log_dir: str, done: Callable[[Any], None] | None, context: Any
    ) -> bool:
        """A replica is about to lie there: `done(context)` when the cluster knows; False when nobody wants to know."""
        ...


Join = Callable[[Member], Cluster]
