"""What the cluster knows of a broker and of a partition: Kafka's BrokerRegistration and PartitionRegistration.

Both generations know the same; what differs is where it stands and how the news travels:

| registration | ZooKeeper | KRaft |
|---|---|---|
| BrokerRegistration | /brokers/ids/1, told by UpdateMetadata | RegisterBrokerRecord and its changes |
| PartitionRegistration | /brokers/topics/T, .../state, told by LeaderAndIsr | PartitionRecord and its changes |

The *broker epoch* tells the starts of a broker apart: the czxid of its znode, or the offset of its record. A broker
that is *fenced* is registered, but leads nothing and is named to no client; with ZooKeeper no registered broker is.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from broker_core.metadata.partition import NO_LEADER, RECOVERED

SECURITY_PROTOCOLS = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}
PROTOCOL_NUMBERS = {name: number for number, name in SECURITY_PROTOCOLS.items()}
"""What they are called, and the numbers that they have in requests and records."""


@dataclass(slots=True)
class Endpoint:
    """One listener of a broker."""

    listener: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"


@dataclass(slots=True)
class BrokerRegistration:
    """A registered broker. `epoch` is -1 where it is not told."""

    id: int
    listeners: dict[str, Endpoint]
    rack: str | None = None
    epoch: int = -1
    incarnation_id: uuid.UUID | None = None
    fenced: bool = False
    in_controlled_shutdown: bool = False
    directories: list[uuid.UUID] = field(default_factory=list)
    features: dict[str, tuple[int, int]] = field(default_factory=dict)
    cordoned: list[uuid.UUID] = field(default_factory=list)  # directories that get no new replica (KIP-1066)

    @property
    def is_active(self) -> bool:
        """Whether it may lead: neither fenced nor on its way out."""
        return not self.fenced and not self.in_controlled_shutdown


@dataclass(slots=True)
class PartitionRegistration:
    """One partition as the controller has decided it: who holds it, who leads it.

    * `elr`: the eligible leader replicas (KIP-966)
    * `offline_replicas`: those whose broker or directory is gone, as the controller says; None where it does not say,
      and whoever wants to know looks which brokers are alive

    Invariants
        * leader -1: there is none; else it is in the ISR
        * ISR and `elr` have no member in common
    """

    replicas: list[int]
    isr: list[int]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding_replicas: list[int] = field(default_factory=list)
    removing_replicas: list[int] = field(default_factory=list)
    leader_recovery_state: int = RECOVERED
    offline_replicas: list[int] | None = None
    directories: list[uuid.UUID] = field(default_factory=list)  # in the order of `replicas`; empty where nobody says
    elr: list[int] = field(default_factory=list)
    last_known_elr: list[int] = field(default_factory=list)

    @property
    def has_leader(self) -> bool:
        return self.leader != NO_LEADER
