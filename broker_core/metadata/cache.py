"""The metadata cache: what this broker believes about the cluster.

Clients may ask any broker for metadata; it answers from this cache and asks nobody. The cache is
changed by one thing only, the UpdateMetadata requests of the controller. So a broker that missed
one believes in the past: it names a dead leader, and the client that follows its advice learns the
truth from the error NOT_LEADER_OR_FOLLOWER.

An UpdateMetadata request carries the complete list of live brokers, and the partitions that have
changed. Leader -2 (LEADER_DURING_DELETE) means: forget this partition.

| asked for | endpoint of the leader known | answer |
|---|---|---|
| partition with leader 2, broker 2 alive | yes | NONE |
| leader -1, or the leader is not alive | no | LEADER_NOT_AVAILABLE, leader -1 |
| leader alive, but without this listener | no | LISTENER_NOT_FOUND (version 6 on), else LEADER_NOT_AVAILABLE |
| version 0, and a replica is not alive | yes | REPLICA_NOT_AVAILABLE, without the dead ones |

Source: `ZkMetadataCache`.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from broker_core.metadata.partition import LEADER_DURING_DELETE, NO_LEADER, TopicPartition
from broker_core.metadata.topic_names import is_internal
from broker_core.metadata.znodes import Endpoint
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

NO_ID = uuid.UUID(int=0)
SECURITY_PROTOCOLS = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}


@dataclass(slots=True)
class CachedBroker:
    """A live broker and its endpoints by listener name."""

    id: int
    endpoints: dict[str, Endpoint]
    rack: str | None


@dataclass(slots=True)
class CachedPartition:
    """One partition as the controller last described it."""

    leader: int
    leader_epoch: int
    isr: list[int]
    replicas: list[int]
    offline_replicas: list[int]
    partition_epoch: int
    controller_epoch: int


class MetadataCache:
    """Changed by `apply_update` alone. `version` grows with every change (for cached answers)."""

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.version = 0
        self.controller_id: int | None = None
        self.brokers: dict[int, CachedBroker] = {}
        self.topics: dict[str, dict[int, CachedPartition]] = {}
        self.topic_ids: dict[str, uuid.UUID] = {}
        self.topic_names: dict[uuid.UUID, str] = {}

    # --- the only change -------------------------------------------------------------------------

    def apply_update(self, request: m.UpdateMetadataRequest) -> list[TopicPartition]:
        """Take over an UpdateMetadata request; the partitions that it deleted."""
        self.version += 1
        self.controller_id = request.controller_id if request.controller_id >= 0 else None
        self.brokers = {each.id: _broker(each) for each in request.live_brokers}
        deleted: list[TopicPartition] = []
        for topic_state in request.topic_states:
            topic = topic_state.topic_name
            self._note_id(topic, topic_state.topic_id)
            for state in topic_state.partition_states:
                if state.leader == LEADER_DURING_DELETE:
                    self._forget(topic, state.partition_index)
                    deleted.append((topic, state.partition_index))
                else:
                    self.topics.setdefault(topic, {})[state.partition_index] = _partition(state)
        return deleted

    def _note_id(self, topic: str, topic_id: uuid.UUID) -> None:
        old = self.topic_ids.get(topic)
        if topic_id in (NO_ID, old):
            return
        if old is not None:
            self.topic_names.pop(old, None)
        self.topic_ids[topic] = topic_id
        self.topic_names[topic_id] = topic

    def _forget(self, topic: str, partition: int) -> None:
        partitions = self.topics.get(topic, {})
        partitions.pop(partition, None)
        if not partitions:
            self.topics.pop(topic, None)
            topic_id = self.topic_ids.pop(topic, None)
            if topic_id is not None:
                self.topic_names.pop(topic_id, None)

    # --- questions -------------------------------------------------------------------------------

    def contains(self, topic: str, partition: int | None = None) -> bool:
        partitions = self.topics.get(topic)
        return partitions is not None and (partition is None or partition in partitions)

    def partition(self, topic: str, partition: int) -> CachedPartition | None:
        return self.topics.get(topic, {}).get(partition)

    def partition_count(self, topic: str) -> int | None:
        partitions = self.topics.get(topic)
        return None if partitions is None else len(partitions)

    def is_alive(self, broker: int) -> bool:
        return broker in self.brokers

    def endpoint(self, broker: int, listener: str) -> Endpoint | None:
        """Where a live broker listens; None when it is dead or has no such listener."""
        cached = self.brokers.get(broker)
        return None if cached is None else cached.endpoints.get(listener)

    def racks(self) -> dict[int, str | None]:
        """Live brokers and their racks: what an assignment of replicas needs."""
        return {broker: self.brokers[broker].rack for broker in sorted(self.brokers)}

    def replica_racks(self, topic: str, partition: int, listener: str) -> dict[int, str | None]:
        """Racks of the brokers that have a replica, are alive and have this listener."""
        cached = self.partition(topic, partition)
        return {
            broker: self.brokers[broker].rack
            for broker in (cached.replicas if cached is not None else ())
            if self.endpoint(broker, listener) is not None
        }

    def leader(self, topic: str, partition: int) -> int | None:
        """The live leader of a partition, or None."""
        cached = self.partition(topic, partition)
        return cached.leader if cached is not None and cached.leader in self.brokers else None

    def live_nodes(self, listener: str) -> list[m.MetadataResponse.MetadataResponseBroker]:
        """The brokers part of a Metadata response."""
        return [
            m.MetadataResponse.MetadataResponseBroker(
                node_id=broker.id, host=found.host, port=found.port, rack=broker.rack
            )
            for broker in self.brokers.values()
            if (found := broker.endpoints.get(listener)) is not None
        ]

    def describe_topic(
        self, topic: str, listener: str, drop_dead_replicas: bool = False, name_missing_listeners: bool = True
    ) -> m.MetadataResponse.MetadataResponseTopic | None:
        """The topic's part of a Metadata response; None when it is not known here.

        `drop_dead_replicas` is version 0's habit, `name_missing_listeners` that of version 6 on.
        """
        partitions = self.topics.get(topic)
        if partitions is None:
            return None
        described = [
            self._describe(number, partitions[number], listener, drop_dead_replicas, name_missing_listeners)
            for number in sorted(partitions)
        ]
        return m.MetadataResponse.MetadataResponseTopic(
            error_code=ErrorCode.NONE,
            name=topic,
            topic_id=self.topic_ids.get(topic, NO_ID),
            is_internal=is_internal(topic),
            partitions=described,
        )

    def _describe(
        self, number: int, cached: CachedPartition, listener: str, drop_dead: bool, name_missing: bool
    ) -> m.MetadataResponse.MetadataResponsePartition:
        replicas = self._reachable(cached.replicas, listener) if drop_dead else list(cached.replicas)
        isr = self._reachable(cached.isr, listener) if drop_dead else list(cached.isr)
        error, leader = ErrorCode.NONE, cached.leader
        if self.endpoint(cached.leader, listener) is None:
            hidden = self.is_alive(cached.leader) and name_missing
            error, leader = ErrorCode.LISTENER_NOT_FOUND if hidden else ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER
        elif len(replicas) < len(cached.replicas) or len(isr) < len(cached.isr):
            error = ErrorCode.REPLICA_NOT_AVAILABLE
        return m.MetadataResponse.MetadataResponsePartition(
            error_code=error,
            partition_index=number,
            leader_id=leader,
            leader_epoch=cached.leader_epoch,
            replica_nodes=replicas,
            isr_nodes=isr,
            offline_replicas=list(cached.offline_replicas),
        )

    def _reachable(self, brokers: list[int], listener: str) -> list[int]:
        return [broker for broker in brokers if self.endpoint(broker, listener) is not None]


def _broker(described: m.UpdateMetadataRequest.UpdateMetadataBroker) -> CachedBroker:
    endpoints = {
        each.listener: Endpoint(
            each.listener, each.host, each.port, SECURITY_PROTOCOLS.get(each.security_protocol, "PLAINTEXT")
        )
        for each in described.endpoints
    }
    return CachedBroker(described.id, endpoints, described.rack)


def _partition(state: m.UpdateMetadataRequest.UpdateMetadataPartitionState) -> CachedPartition:
    return CachedPartition(
        state.leader,
        state.leader_epoch,
        list(state.isr),
        list(state.replicas),
        list(state.offline_replicas),
        state.zk_version,
        state.controller_epoch,
    )
