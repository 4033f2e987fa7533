"""News of the cluster, in a form that says nothing of how they have come.

| news | what it changes | ZooKeeper: in | KRaft: in |
|---|---|---|---|
| MetadataDelta | the metadata cache of every broker | UpdateMetadata | metadata records, up to an offset |
| ReplicaChange | a replica here: lead, or follow whom | LeaderAndIsr | the records of partitions held here |
| ReplicaStop | a replica here ends, or is deleted | StopReplica | the same |

A delta names what has changed and nothing else. Source: `MetadataDelta`, `TopicsDelta`, `LocalReplicaChanges`.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from broker_core.metadata.registration import BrokerRegistration, PartitionRegistration

NO_OFFSET = -1


@dataclass(slots=True)
class TopicDelta:
    """Partitions of one topic by number; None: the partition is gone, with the last one the topic."""

    name: str
    topic_id: uuid.UUID
    partitions: dict[int, PartitionRegistration | None]


@dataclass(slots=True)
class MetadataDelta:
    """What has changed. `brokers` are all that are registered now; None: the same as before."""

    controller_id: int | None
    brokers: dict[int, BrokerRegistration] | None
    topics: list[TopicDelta] = field(default_factory=list)
    offset: int = NO_OFFSET  # of the last metadata record in it; there are none with ZooKeeper


@dataclass(slots=True)
class ReplicaChange:
    """This broker holds a replica of the partition, and its leader or its epochs are others now."""

    topic: str
    topic_id: uuid.UUID
    partition: int
    registration: PartitionRegistration
    is_new: bool = False  # the partition has just been made: its replicas are empty everywhere


@dataclass(slots=True)
class ReplicaStop:
    """This broker's replica of the partition ends. A leader epoch below 0 ends it in whatever epoch it is (KIP-570)."""

    topic: str
    partition: int
    leader_epoch: int
    delete: bool
