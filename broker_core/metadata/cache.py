"""The metadata cache: what this broker believes about the cluster.

Clients may ask any broker for metadata; it answers from this cache and asks nobody. The cache is
changed by one thing only, the news of the cluster (`delta`): what the controller tells it with ZooKeeper,
what it has read of the metadata log with KRaft. So a broker that is behind believes in the past: it names
a dead leader, and the client that follows its advice learns the truth from the error
NOT_LEADER_OR_FOLLOWER.

| asked for | endpoint of the leader known | answer |
|---|---|---|
| partition with leader 2, broker 2 alive | yes | NONE |
| leader -1, or the leader is not alive | no | LEADER_NOT_AVAILABLE, leader -1 |
| leader alive, but without this listener | no | LISTENER_NOT_FOUND (version 6 on), else LEADER_NOT_AVAILABLE |
| version 0, and a replica is not alive | yes | REPLICA_NOT_AVAILABLE, without the dead ones |

Source: `ZkMetadataCache`, `KRaftMetadataCache`.
"""

from __future__ import annotations

import uuid
from typing import Any

from broker_core.metadata.delta import NO_OFFSET, MetadataDelta
from broker_core.metadata.partition import NO_LEADER, TopicPartition
from broker_core.metadata.registration import BrokerRegistration, Endpoint, PartitionRegistration
from broker_core.metadata.topic_names import is_internal
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

NO_ID = uuid.UUID(int=0)


class MetadataCache:
    """Changed by `apply` alone, but for `offset`. `version` grows with every change (for cached answers); `offset` is
    how far in the metadata log this broker believes, -1 with ZooKeeper. `brokers` are those that are alive; `fenced`
    are registered and not alive."""

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.version = 0
        self.offset = NO_OFFSET
        self.controller_id: int | None = None
        self.brokers: dict[int, BrokerRegistration] = {}
        self.fenced: dict[int, BrokerRegistration] = {}
        self.topics: dict[str, dict[int, PartitionRegistration]] = {}
        self.topic_ids: dict[str, uuid.UUID] = {}
        self.topic_names: dict[uuid.UUID, str] = {}

    # --- the only change -------------------------------------------------------------------------

    def apply(self, delta: MetadataDelta) -> list[TopicPartition]:
        """Take over what has changed; the partitions that are gone."""
        self.version += 1
        self.offset = delta.offset
        self.controller_id = delta.controller_id
        if delta.brokers is not None:
            self.brokers = {number: broker for number, broker in delta.brokers.items() if not broker.fenced}
            self.fenced = {number: broker for number, broker in delta.brokers.items() if broker.fenced}
        deleted: list[TopicPartition] = []
        for topic in delta.topics:
            self._note_id(topic.name, topic.topic_id)
            for number, partition in topic.partitions.items():
                if partition is None:
                    self._forget(topic.name, number)
                    deleted.append((topic.name, number))
                else:
                    self.topics.setdefault(topic.name, {})[number] = partition
        return deleted

    def advance(self, offset: int) -> None:
        """The metadata log has gone on, and nothing in it has changed what this broker believes."""
        self.offset = offset

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

    def partition(self, topic: str, partition: int) -> PartitionRegistration | None:
        return self.topics.get(topic, {}).get(partition)

    def partition_count(self, topic: str) -> int | None:
        partitions = self.topics.get(topic)
        return None if partitions is None else len(partitions)

    def partition_count_by_id(self, topic_id: uuid.UUID) -> int | None:
        topic = self.topic_names.get(topic_id)
        return None if topic is None else self.partition_count(topic)

    def is_alive(self, broker: int) -> bool:
        return broker in self.brokers

    def may_join_isr(self, broker: int) -> bool:
        """A broker that is not alive, or on its way out, may not (KIP-841): the controller would refuse it, and until
        then the high watermark would wait for it."""
        found = self.brokers.get(broker)
        return found is not None and not found.in_controlled_shutdown

    def endpoint(self, broker: int, listener: str) -> Endpoint | None:
        """Where a live broker listens; None when it is dead or has no such listener."""
        cached = self.brokers.get(broker)
        return None if cached is None else cached.listeners.get(listener)

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
            if (found := broker.listeners.get(listener)) is not None
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
        self, number: int, cached: PartitionRegistration, listener: str, drop_dead: bool, name_missing: bool
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
            offline_replicas=self._offline(cached),
        )

    def describe_partition(self, topic: str, number: int, listener: str) -> Any:
        """A partition's part of a DescribeTopicPartitions response; it must be known."""
        cached = self.topics[topic][number]
        told = self._describe(number, cached, listener, drop_dead=False, name_missing=True)
        return m.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition(
            error_code=told.error_code, partition_index=number, leader_id=told.leader_id,
            leader_epoch=told.leader_epoch, replica_nodes=told.replica_nodes, isr_nodes=told.isr_nodes,
            eligible_leader_replicas=list(cached.elr), last_known_elr=list(cached.last_known_elr),
            offline_replicas=told.offline_replicas,
        )  # fmt: skip

    def _offline(self, cached: PartitionRegistration) -> list[int]:
        if cached.offline_replicas is not None:
            return list(cached.offline_replicas)
        return [broker for broker in cached.replicas if not self.is_alive(broker)]

    def _reachable(self, brokers: list[int], listener: str) -> list[int]:
        return [broker for broker in brokers if self.endpoint(broker, listener) is not None]
