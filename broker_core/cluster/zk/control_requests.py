"""What the controller tells a broker: LeaderAndIsr 4, StopReplica 5, UpdateMetadata 6, read as news of the cluster.

A request is checked as a whole before anything in it is looked at:

| compared         | older than here                                          | newer       |
|------------------|----------------------------------------------------------|-------------|
| controller epoch | STALE_CONTROLLER_EPOCH (a zombie)                        | remembered  |
| broker epoch     | STALE_BROKER_EPOCH (meant for an earlier start)          | taken       |

What is in it is then the same news as in any generation (`metadata.delta`): replicas and cache do not know
that it came as a request. UpdateMetadata carries the complete list of live brokers, and the partitions that
have changed; leader -2 (LEADER_DURING_DELETE) means that a partition is gone.

Outside clients may not send these: CLUSTER_AUTHORIZATION_FAILED would be Kafka's word with an
authorizer; without one Kafka lets anybody, and so does this broker.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from broker_core.cluster.port import Done, Member
from broker_core.cluster.zk.config_repository import ZkConfigRepository
from broker_core.controller.zk.batch import LEADER_DURING_DELETE
from broker_core.kernel import events
from broker_core.metadata.delta import MetadataDelta, ReplicaChange, ReplicaStop, TopicDelta
from broker_core.metadata.registration import (
    SECURITY_PROTOCOLS,
    BrokerRegistration,
    Endpoint,
    PartitionRegistration,
)
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

NO_ID = uuid.UUID(int=0)


class ControlRequests:
    """Answers the controller. `controller_epoch` is the newest that was heard of, and never goes down."""

    def __init__(self, member: Member, configs: ZkConfigRepository, broker_epoch: Callable[[], int]) -> None:
        self.member = member
        self.configs = configs
        self.broker_epoch = broker_epoch
        self.controller_epoch = 0

    def _check(self, request: Any, api: str) -> ErrorCode:
        """Fence a zombie controller, and requests for an earlier start of this broker."""
        if request.controller_epoch < self.controller_epoch:
            self.member.node.emit(
                events.CONTROLLER_FENCED, api=api, epoch=request.controller_epoch, current=self.controller_epoch,
                controller=request.controller_id,
            )  # fmt: skip
            return ErrorCode.STALE_CONTROLLER_EPOCH
        if 0 <= request.broker_epoch < self.broker_epoch():
            return ErrorCode.STALE_BROKER_EPOCH
        self.controller_epoch = request.controller_epoch
        return ErrorCode.NONE

    # -- LeaderAndIsr -----------------------------------------------------------------------
    def leader_and_isr(self, request: Any, done: Done, context: Any) -> None:
        """New replicas are made with their topic's settings, which may have to be read first."""
        hosted = self.member.replicas.partitions_by_name
        new = dict.fromkeys(
            name for name, _, states in _topics_of(request) for state in states
            if (name, state.partition_index) not in hosted
        )  # fmt: skip
        self.configs.read_topics(list(new), self._lead_or_follow, (request, done, context))

    def _lead_or_follow(self, state: tuple[Any, Done, Any]) -> None:
        self.member.replicas.in_turn(self._take_over, *state)

    def _take_over(self, request: Any, done: Done, context: Any) -> None:
        error = self._check(request, "LeaderAndIsr")
        if error:
            done(context, m.LeaderAndIsrResponse(error_code=error))
            return
        changes = replica_changes(request)
        self.member.replicas.apply(changes, self._taken_over, changes, done, context)

    def _taken_over(
        self, changes: list[ReplicaChange], done: Done, context: Any, errors: list[ErrorCode]
    ) -> None:  # fmt: skip
        done(context, _leader_and_isr_response(changes, errors))

    # -- StopReplica ------------------------------------------------------------------------
    def stop_replica(self, request: Any, done: Done, context: Any) -> None:
        """Replicas end, or are deleted."""
        self.member.replicas.in_turn(self._stop, request, done, context)

    def _stop(self, request: Any, done: Done, context: Any) -> None:
        error = self._check(request, "StopReplica")
        if error:
            done(context, m.StopReplicaResponse(error_code=error))
            return
        stops = replica_stops(request)
        errors = [
            m.StopReplicaResponse.StopReplicaPartitionError(
                topic_name=stop.topic, partition_index=stop.partition, error_code=code
            )
            for stop, code in zip(stops, self.member.replicas.stop_replicas(stops), strict=True)
        ]
        done(context, m.StopReplicaResponse(partition_errors=errors))

    # -- UpdateMetadata ---------------------------------------------------------------------
    def update_metadata(self, request: Any) -> ErrorCode:
        """Believe the controller, unless a newer one has spoken before."""
        error = self._check(request, "UpdateMetadata")
        if not error:
            self.member.changed(metadata_delta(request))
        return error


# -- requests read as news --------------------------------------------------------------------
def _topics_of(request: Any) -> list[tuple[str, uuid.UUID, Sequence[Any]]]:
    """(name, topic id, partition states) of old and new versions of LeaderAndIsr."""
    topics = [(topic.topic_name, topic.topic_id or NO_ID, topic.partition_states) for topic in request.topic_states]
    for state in request.ungrouped_partition_states:
        topics.append((state.topic_name, NO_ID, [state]))
    return topics


def replica_changes(request: m.LeaderAndIsrRequest) -> list[ReplicaChange]:
    """Each partition of a LeaderAndIsr request."""
    return [
        ReplicaChange(
            topic, topic_id, state.partition_index,
            PartitionRegistration(
                state.replicas, state.isr, state.leader, state.leader_epoch, state.partition_epoch,
                state.adding_replicas, state.removing_replicas, state.leader_recovery_state,
            ),
            state.is_new,
        )
        for topic, topic_id, states in _topics_of(request) for state in states
    ]  # fmt: skip


def _leader_and_isr_response(changes: list[ReplicaChange], errors: list[ErrorCode]) -> m.LeaderAndIsrResponse:
    topics: dict[tuple[str, uuid.UUID], Any] = {}
    response = m.LeaderAndIsrResponse(topics=[], partition_errors=[])
    for change, code in zip(changes, errors, strict=True):
        error = m.LeaderAndIsrResponse.LeaderAndIsrPartitionError(
            topic_name=change.topic, partition_index=change.partition, error_code=code
        )
        key = (change.topic, change.topic_id)
        if key not in topics:
            topics[key] = m.LeaderAndIsrResponse.LeaderAndIsrTopicError(topic_id=change.topic_id, partition_errors=[])
            response.topics.append(topics[key])
        topics[key].partition_errors.append(error)
        response.partition_errors.append(error)
    return response


def replica_stops(request: m.StopReplicaRequest) -> list[ReplicaStop]:
    """Each partition of a StopReplica request."""
    return [
        ReplicaStop(topic.topic_name, state.partition_index, state.leader_epoch, bool(state.delete_partition))
        for topic in request.topic_states
        for state in topic.partition_states
    ]


def metadata_delta(request: m.UpdateMetadataRequest) -> MetadataDelta:
    """An UpdateMetadata request."""
    controller = request.controller_id if request.controller_id >= 0 else None
    brokers = {each.id: _broker(each) for each in request.live_brokers}
    topics = [
        TopicDelta(topic.topic_name, topic.topic_id,
                   {state.partition_index: _partition(state) for state in topic.partition_states})
        for topic in request.topic_states
    ]  # fmt: skip
    return MetadataDelta(controller, brokers, topics)


def _broker(described: m.UpdateMetadataRequest.UpdateMetadataBroker) -> BrokerRegistration:
    listeners = {
        each.listener: Endpoint(
            each.listener, each.host, each.port, SECURITY_PROTOCOLS.get(each.security_protocol, "PLAINTEXT")
        )
        for each in described.endpoints
    }
    return BrokerRegistration(described.id, listeners, described.rack)


def _partition(state: m.UpdateMetadataRequest.UpdateMetadataPartitionState) -> PartitionRegistration | None:
    if state.leader == LEADER_DURING_DELETE:
        return None
    return PartitionRegistration(
        list(state.replicas), list(state.isr), state.leader, state.leader_epoch, state.zk_version,
        offline_replicas=list(state.offline_replicas),
    )  # fmt: skip
