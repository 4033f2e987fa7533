"""What the controller tells a ZooKeeper-mode broker about its replicas: LeaderAndIsr and StopReplica.

A request is checked from the outside in:

| compared            | older than here                             | newer       |
|---------------------|---------------------------------------------|-------------|
| controller epoch    | STALE_CONTROLLER_EPOCH, for all (a zombie)  | remembered  |
| broker epoch        | STALE_BROKER_EPOCH, for all (meant for an earlier start of this broker) | taken |
| leader epoch        | STALE_CONTROLLER_EPOCH, this partition; the same for an equal one | taken |
| topic id            | INCONSISTENT_TOPIC_ID when another one      |             |

A partition for which this broker is named as leader begins to serve; the others follow: their
fetcher is stopped first, and started again at the right offset behind the new leader.

(Kafka: ReplicaManager.becomeLeaderOrFollower, stopReplicas.)
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Protocol

from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import Node
from broker_core.log.log_manager import LogManager
from broker_core.replication.fetch_session import NIL
from broker_core.replication.fetcher_manager import FetcherManager
from broker_core.replication.isr_changes import IsrChanges
from broker_core.replication.partition import FAILED, Partition, PartitionHost
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

DELETED_EPOCH = -2  # KIP-472: the topic is being deleted, whatever the epoch
UNKNOWN_EPOCH = -1
Led = list[tuple[str, int, int]]


class LeadershipHost(PartitionHost, Protocol):
    """The broker's replica manager, as leadership changes need it."""

    node: Node
    partitions_by_name: dict[tuple[str, int], Partition]
    log_manager: LogManager
    log_config_of: Callable[[str], Any]
    on_leadership: Callable[[Led, Led], None] | None

    def first_assignment(self) -> None: ...

    def storage_failed(self, partition: Partition | None, error: StorageError) -> None: ...


class Leadership:
    """Applies the controller's decisions. `controller_epoch` never goes down."""

    def __init__(
        self, host: LeadershipHost, fetchers: FetcherManager, isr_changes: IsrChanges, broker_epoch: Callable[[], int]
    ) -> None:
        self.host = host
        self.fetchers = fetchers
        self.isr_changes = isr_changes
        self.broker_epoch = broker_epoch
        self.controller_epoch = 0

    # -- LeaderAndIsr -----------------------------------------------------------------------
    def become_leader_or_follower(self, request: Any) -> Any:
        """LeaderAndIsrRequest -> LeaderAndIsrResponse."""
        error = self._check(request, "LeaderAndIsr")
        if error:
            return m.LeaderAndIsrResponse(error_code=error)
        response = m.LeaderAndIsrResponse(topics=[], partition_errors=[])
        elected: Led = []
        resigned: Led = []
        for name, topic_id, states in _topics_of(request):
            errors = [self._apply_one(name, topic_id, state, elected, resigned) for state in states]
            response.topics.append(
                m.LeaderAndIsrResponse.LeaderAndIsrTopicError(topic_id=topic_id, partition_errors=errors)
            )
            response.partition_errors.extend(errors)
        self.fetchers.start_changed()
        self.host.first_assignment()
        if self.host.on_leadership is not None and (elected or resigned):
            self.host.on_leadership(elected, resigned)
        return response

    def _check(self, request: Any, api: str) -> ErrorCode:
        """Fence a zombie controller, and requests for an earlier start of this broker."""
        if request.controller_epoch < self.controller_epoch:
            self.host.node.emit(
                events.CONTROLLER_FENCED, api=api, epoch=request.controller_epoch, current=self.controller_epoch,
                controller=request.controller_id,
            )  # fmt: skip
            return ErrorCode.STALE_CONTROLLER_EPOCH
        if 0 <= request.broker_epoch < self.broker_epoch():
            return ErrorCode.STALE_BROKER_EPOCH
        self.controller_epoch = request.controller_epoch
        return ErrorCode.NONE

    def _apply_one(self, topic: str, topic_id: uuid.UUID, state: Any, elected: Led, resigned: Led) -> Any:
        error = ErrorCode.NONE
        try:
            self._change(topic, topic_id, state, elected, resigned)
        except _Refused as refused:
            error = refused.code
        except StorageError as failure:
            error = ErrorCode.KAFKA_STORAGE_ERROR
            self.host.storage_failed(self.host.partitions_by_name.get((topic, state.partition_index)), failure)
        return m.LeaderAndIsrResponse.LeaderAndIsrPartitionError(
            topic_name=topic, partition_index=state.partition_index, error_code=error
        )

    def _change(self, topic: str, topic_id: uuid.UUID, state: Any, elected: Led, resigned: Led) -> None:
        host = self.host
        partition = host.partitions_by_name.get((topic, state.partition_index))
        if partition is not None:
            if partition.role == FAILED:
                raise _Refused(ErrorCode.KAFKA_STORAGE_ERROR)
            if NIL not in (partition.topic_id, topic_id) and partition.topic_id != topic_id:
                raise _Refused(ErrorCode.INCONSISTENT_TOPIC_ID)
            if state.leader_epoch <= partition.leader_epoch:
                raise _Refused(ErrorCode.STALE_CONTROLLER_EPOCH)
        if host.broker_id not in state.replicas:
            raise _Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if partition is None:
            partition = self._create(topic, state.partition_index, topic_id, state.is_new)
        if partition.topic_id == NIL:
            partition.topic_id = topic_id
        self._become(partition, state, elected, resigned)

    def _become(self, partition: Partition, state: Any, elected: Led, resigned: Led) -> None:
        was_leader = partition.is_leader
        if self.isr_changes.queue is not None:
            self.isr_changes.queue.drop(partition)
        place = (partition.topic, partition.index, state.leader_epoch)
        if state.leader == self.host.broker_id:
            self.fetchers.remove(partition)
            partition.become_leader(state)
            elected.append(place)
            return
        new_leader = partition.become_follower(state)
        if was_leader:
            resigned.append(place)
        if state.leader < 0:
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
        return partition

    # -- StopReplica ------------------------------------------------------------------------
    def stop_replicas(self, request: Any) -> Any:
        """StopReplicaRequest -> StopReplicaResponse."""
        error = self._check(request, "StopReplica")
        if error:
            return m.StopReplicaResponse(error_code=error)
        errors: list[Any] = []
        resigned: Led = []
        for topic in request.topic_states:
            for state in topic.partition_states:
                code = self._stop_safely(topic.topic_name, state, resigned)
                errors.append(
                    m.StopReplicaResponse.StopReplicaPartitionError(
                        topic_name=topic.topic_name, partition_index=state.partition_index, error_code=code
                    )
                )
        if self.host.on_leadership is not None and resigned:
            self.host.on_leadership([], resigned)
        return m.StopReplicaResponse(partition_errors=errors)

    def _stop_safely(self, topic: str, state: Any, resigned: Led) -> ErrorCode:
        try:
            return self._stop_one(topic, state, resigned)
        except StorageError as failure:
            self.host.storage_failed(None, failure)
            return ErrorCode.KAFKA_STORAGE_ERROR

    def _stop_one(self, topic: str, state: Any, resigned: Led) -> ErrorCode:
        host, index = self.host, state.partition_index
        partition = host.partitions_by_name.get((topic, index))
        if partition is not None and partition.role == FAILED:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if partition is not None:
            special = state.leader_epoch in (DELETED_EPOCH, UNKNOWN_EPOCH)
            if not special and state.leader_epoch < partition.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            if partition.is_leader:
                resigned.append((topic, index, partition.leader_epoch))
            if self.isr_changes.queue is not None:
                self.isr_changes.queue.drop(partition)
            self.fetchers.remove(partition)
            if state.delete_partition:
                del host.partitions_by_name[topic, index]
            partition.go_offline()
            host.node.emit(
                events.REPLICA_STOPPED, topic=topic, partition=index, deleted=bool(state.delete_partition)
            )
        if state.delete_partition and host.log_manager.get(topic, index) is not None:
            host.log_manager.delete(topic, index, host.node.wall_ms())
        return ErrorCode.NONE


class _Refused(Exception):
    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


def _topics_of(request: Any) -> list[tuple[str, uuid.UUID, list[Any]]]:
    """(name, topic id, partition states) of old and new versions of the request."""
    topics = [(topic.topic_name, topic.topic_id or NIL, topic.partition_states) for topic in request.topic_states]
    for state in request.ungrouped_partition_states:
        topics.append((state.topic_name, NIL, [state]))
    return topics
