"""In which directory a broker holds a replica, and what happens when the directory fails (KIP-858).

| happens | follows |
|---|---|
| a partition is made, and the broker has one directory | the PartitionRecord names it |
| the broker has several | unassigned, until it says by AssignReplicasToDirs where it has put the replica |
| a heartbeat names a directory that has failed | its replicas leave their ISRs, others lead; the broker has one less |
| a replica is assigned to a directory that has failed | the same for this replica |

A broker goes on with what is left: only who holds nothing else must end.
Source: ReplicationControlManager.handleAssignReplicasToDirs, handleDirectoriesOffline.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from broker_core.controller.kraft.brokers import BrokerControl
from broker_core.controller.kraft.partitions import CHANGE_VERSION, PartitionControl
from broker_core.controller.kraft.result import Records, Result
from broker_core.metadata import records as r
from broker_core.metadata.image import MetadataImage
from broker_core.metadata.registration import BrokerRegistration, PartitionRegistration
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode


class DirectoryControl:
    """Decides about directories."""

    def __init__(self, image: MetadataImage, brokers: BrokerControl, partitions: PartitionControl) -> None:
        self.image = image
        self.brokers = brokers
        self.partitions = partitions

    def assign(self, body: Any) -> Result:
        """AssignReplicasToDirs. Raises RequestError for an older life of the broker."""
        broker = self.brokers.check(body.broker_id, body.broker_epoch)
        kind = m.AssignReplicasToDirsResponse
        records: Records = []
        lost: list[tuple[uuid.UUID, int]] = []
        directories = []
        for asked in body.directories:
            topics = []
            for topic in asked.topics:
                parts = []
                for one in topic.partitions:
                    number = one.partition_index
                    error = self._assigned(broker.id, asked.id_, topic.topic_id, number, records)
                    if error is ErrorCode.NONE and asked.id_ not in broker.directories:
                        lost.append((topic.topic_id, number))
                    parts.append(kind.PartitionData(partition_index=number, error_code=int(error)))
                topics.append(kind.TopicData(topic_id=topic.topic_id, partitions=parts))
            directories.append(kind.DirectoryData(id_=asked.id_, topics=topics))
        places = [(topic_id, number) for topic_id, number in lost if self._in_isr(topic_id, number, broker.id)]
        records += self.partitions.without_replicas(broker.id, places)
        return Result(records, kind(directories=directories))

    def _assigned(
        self, broker_id: int, directory: uuid.UUID, topic_id: uuid.UUID, number: int, records: Records
    ) -> ErrorCode:
        topic = self.image.topics.get(topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        partition = topic.partitions.get(number)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if broker_id not in partition.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        change = self.partitions.change(topic, number, partition)
        change.directories[broker_id] = directory
        record = change.build()
        if record is not None:
            records.append((record, CHANGE_VERSION))
        return ErrorCode.NONE

    def _in_isr(self, topic_id: uuid.UUID, number: int, broker_id: int) -> bool:
        return broker_id in self.image.topics[topic_id].partitions[number].isr

    def offline(self, broker: BrokerRegistration, failed: Sequence[uuid.UUID]) -> Records:
        """A broker says that these do not work any more."""
        fresh = [one for one in broker.directories if one in failed]
        if not fresh:
            return []
        records: Records = []
        for directory in fresh:
            records += self.partitions.without_replicas(broker.id, self._held(broker.id, directory))
        left = [one for one in broker.directories if one not in failed]
        change = r.BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, log_dirs=left)
        return [*records, (change, 2)]

    def _held(self, broker_id: int, directory: uuid.UUID) -> list[tuple[uuid.UUID, int]]:
        """Partitions that a broker holds there and is in sync with."""
        def here(partition: PartitionRegistration) -> bool:
            held = zip(partition.replicas, partition.directories, strict=False)
            return broker_id in partition.isr and (broker_id, directory) in held

        return [(topic.id, number) for topic, number, _ in self.partitions.places(here)]
