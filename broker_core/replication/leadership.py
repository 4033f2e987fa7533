"""What the controller has decided about the replicas of this broker: lead, follow, stop.

The news has come as a LeaderAndIsr or StopReplica request, or out of the metadata log (`metadata.delta`);
who sent it, and whether it is out of date as a whole, was asked before. Each change is checked alone:

| compared            | older than here                                     | newer       |
|---------------------|-----------------------------------------------------|-------------|
| leader epoch        | STALE_CONTROLLER_EPOCH; the same for an equal one   | taken       |
| topic id            | INCONSISTENT_TOPIC_ID when another one              |             |

Out of the metadata log news come in order and in one piece, so nothing there is a repetition: an equal leader epoch is
then news of the same reign (another ISR, other replicas), which is taken if its partition epoch is newer.

A partition for which this broker is named as leader begins to serve; the others follow: their
fetcher is stopped first, and started again at the right offset behind the new leader.

(Kafka: ReplicaManager.becomeLeaderOrFollower, stopReplicas, applyDelta.)
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import Node
from broker_core.log.log_manager import LogManager
from broker_core.metadata.delta import ReplicaChange, ReplicaStop
from broker_core.metadata.registration import PartitionRegistration
from broker_core.replication.fetch_session import NIL
from broker_core.replication.fetcher_manager import FetcherManager
from broker_core.replication.isr_changes import IsrChanges
from broker_core.replication.moves import REPLICA_STOPPED, ReplicaMoves
from broker_core.replication.partition import FAILED, Partition, PartitionHost
from broker_core.wire.errors import ErrorCode

DELETED_EPOCH = -2  # KIP-472: the topic is being deleted, whatever the epoch
UNKNOWN_EPOCH = -1
Led = list[tuple[str, int, int]]


class LeadershipHost(PartitionHost, Protocol):
    """The broker's replica manager, as leadership changes need it."""

    node: Node
    partitions_by_name: dict[tuple[str, int], Partition]
    log_manager: LogManager
    moves: ReplicaMoves
    log_config_of: Callable[[str], Any]
    on_leadership: Callable[[Led, Led], None] | None

    def first_assignment(self) -> None: ...

    def storage_failed(self, partition: Partition | None, error: StorageError) -> None: ...


class Leadership:
    """Applies the controller's decisions to the replicas of this broker."""

    def __init__(self, host: LeadershipHost, fetchers: FetcherManager, isr_changes: IsrChanges) -> None:
        self.host = host
        self.fetchers = fetchers
        self.isr_changes = isr_changes
        self.unmade: set[tuple[str, int]] = set()
        """Replicas whose log could not be made, or may lie in a directory that is offline. With ZooKeeper they stay
        offline until the broker starts again, whatever the controller says, as in 3.9 (markPartitionOffline): a second
        log elsewhere would meet the first one at that start."""

    # -- lead or follow ---------------------------------------------------------------------
    def apply(self, changes: Sequence[ReplicaChange], fence: bool = True) -> list[ErrorCode]:
        """Take over what the controller has decided; what became of each. `fence`: an equal leader epoch is no news,
        and a newer one of a partition that is led here already does not elect it again: coordinators keep the epoch
        with which they came to lead (LeaderAndIsr: ReplicaManager.makeLeaders of 3.9)."""
        elected: Led = []
        resigned: Led = []
        errors = [self._apply_one(change, fence, elected, resigned) for change in changes]
        self.fetchers.start_changed()
        self.host.first_assignment()
        if self.host.on_leadership is not None and (elected or resigned):
            self.host.on_leadership(elected, resigned)
        return errors

    def _apply_one(self, change: ReplicaChange, fence: bool, elected: Led, resigned: Led) -> ErrorCode:
        try:
            self._change(change, fence, elected, resigned)
        except _Refused as refused:
            return refused.code
        except StorageError as failure:
            place = (change.topic, change.partition)
            partition = self.host.partitions_by_name.get(place)
            if partition is None and fence:
                self.unmade.add(place)
            self.host.storage_failed(partition, failure)
            return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NONE

    def _change(self, change: ReplicaChange, fence: bool, elected: Led, resigned: Led) -> None:
        host, topic_id, wanted = self.host, change.topic_id, change.registration
        partition = host.partitions_by_name.get((change.topic, change.partition))
        if partition is not None:
            if partition.role == FAILED:
                raise _Refused(ErrorCode.KAFKA_STORAGE_ERROR)
            if NIL not in (partition.topic_id, topic_id) and partition.topic_id != topic_id:
                raise _Refused(ErrorCode.INCONSISTENT_TOPIC_ID)
            if wanted.leader_epoch == partition.leader_epoch and not fence:
                partition.refresh(wanted)
                return
            if wanted.leader_epoch <= partition.leader_epoch:
                raise _Refused(ErrorCode.STALE_CONTROLLER_EPOCH)
        elif (change.topic, change.partition) in self.unmade:
            raise _Refused(ErrorCode.KAFKA_STORAGE_ERROR)
        if host.broker_id not in wanted.replicas:
            raise _Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if partition is None:
            partition = self._create(change.topic, change.partition, topic_id, change.is_new)
        if partition.topic_id == NIL:
            partition.topic_id = topic_id
        told = [] if fence and partition.is_leader else elected
        self._become(partition, wanted, told, resigned)

    def _become(self, partition: Partition, wanted: PartitionRegistration, elected: Led, resigned: Led) -> None:
        was_leader = partition.is_leader
        if self.isr_changes.queue is not None:
            self.isr_changes.queue.drop(partition)
        place = (partition.topic, partition.index, wanted.leader_epoch)
        if wanted.leader == self.host.broker_id:
            self.fetchers.remove(partition)
            partition.become_leader(wanted)
            elected.append(place)
            return
        new_leader = partition.become_follower(wanted)
        if was_leader:
            resigned.append(place)
        if wanted.leader < 0:
            self.fetchers.remove(partition)
        else:
            self.fetchers.follow(partition, new_leader or self.host.protections.truncate_on_every_new_epoch)

    def _create(self, topic: str, index: int, topic_id: uuid.UUID, is_new: bool) -> Partition:
        """The replica's log, and its high watermark as of the last checkpoint."""
        host = self.host
        config = host.log_config_of(topic)
        log = host.log_manager.get_or_create(topic, index, config, topic_id, host.node.wall_ms(), is_new)
        log.update_high_watermark(host.log_manager.high_watermark_checkpoint(topic, index))
        partition = host.partitions_by_name[topic, index] = Partition(host, topic, index, topic_id, log)
        host.moves.resume(partition)
        return partition

    # -- stop -------------------------------------------------------------------------------
    def stop(self, stops: Sequence[ReplicaStop]) -> list[ErrorCode]:
        """End replicas; what became of each."""
        resigned: Led = []
        errors = [self._stop_safely(stop, resigned) for stop in stops]
        if self.host.on_leadership is not None and resigned:
            self.host.on_leadership([], resigned)
        return errors

    def _stop_safely(self, stop: ReplicaStop, resigned: Led) -> ErrorCode:
        try:
            return self._stop_one(stop, resigned)
        except StorageError as failure:
            self.host.storage_failed(None, failure)
            return ErrorCode.KAFKA_STORAGE_ERROR

    def _stop_one(self, stop: ReplicaStop, resigned: Led) -> ErrorCode:
        host, topic, index = self.host, stop.topic, stop.partition
        partition = host.partitions_by_name.get((topic, index))
        if (topic, index) in self.unmade or (partition is not None and partition.role == FAILED):
            return ErrorCode.KAFKA_STORAGE_ERROR
        if partition is not None:
            special = stop.leader_epoch in (DELETED_EPOCH, UNKNOWN_EPOCH)
            if not special and stop.leader_epoch < partition.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            if partition.is_leader:
                resigned.append((topic, index, partition.leader_epoch))
            if self.isr_changes.queue is not None:
                self.isr_changes.queue.drop(partition)
            self.fetchers.remove(partition)
            host.moves.end((topic, index), REPLICA_STOPPED)
            if stop.delete:
                del host.partitions_by_name[topic, index]
            partition.go_offline()
            host.node.emit(
                events.REPLICA_STOPPED, topic=topic, partition=index, deleted=stop.delete
            )
        if stop.delete:
            host.log_manager.delete(topic, index, host.node.wall_ms())
        return ErrorCode.NONE


class _Refused(Exception):
    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code
