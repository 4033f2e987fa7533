"""What one decision means for each broker, gathered into one request of a kind per broker.

    LeaderAndIsr    to the replicas of a partition: lead it, or follow its leader
    UpdateMetadata  to every broker: the new truth for its metadata cache
    StopReplica     to a replica that is to stop, and perhaps to delete its log

A failover of a thousand partitions therefore costs each broker one LeaderAndIsr and one UpdateMetadata.
Every request carries the controller epoch (a broker refuses older ones) and the broker epoch (a broker
that has restarted since refuses what was meant for its former life, KIP-380).
Source: `ControllerBrokerRequestBatch`.
"""

from __future__ import annotations

import uuid
from typing import Any

from broker_core.controller.zk.channels import Answered, ControllerChannels, ControlRequest
from broker_core.controller.zk.context import ControllerContext
from broker_core.metadata.partition import LeaderAndIsr, TopicPartition
from broker_core.metadata.registration import PROTOCOL_NUMBERS
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey

LEADER_DURING_DELETE = EPOCH_DURING_DELETE = -2
NO_EPOCH = -1
INCREMENTAL = 1


class RequestBatch:
    """Gather with `lead_or_follow`, `stop` and `update_metadata`; `send` hands everything to the channels."""

    def __init__(
        self,
        controller_id: int,
        context: ControllerContext,
        channels: ControllerChannels,
        leader_and_isr_answered: Answered,
        stop_replica_answered: Answered,
    ) -> None:
        self.controller_id = controller_id
        self.context = context
        self.channels = channels
        self.leader_and_isr_answered = leader_and_isr_answered
        self.stop_replica_answered = stop_replica_answered
        self.clear()

    def clear(self) -> None:
        self._leader_and_isr: dict[int, dict[TopicPartition, Any]] = {}
        self._stop: dict[int, dict[TopicPartition, Any]] = {}
        self._update_brokers: dict[int, None] = {}
        self._update: dict[TopicPartition, Any] = {}

    # --- gathering -------------------------------------------------------------------------------

    def lead_or_follow(
        self, brokers: list[int], partition: TopicPartition, state: LeaderAndIsr, is_new: bool = False
    ) -> None:
        """These brokers hear who leads the partition; every broker's cache will, too."""
        assignment = self.context.assignment(partition)
        for broker in brokers:
            partitions = self._leader_and_isr.setdefault(broker, {})
            was_new = partition in partitions and partitions[partition].is_new
            partitions[partition] = m.LeaderAndIsrRequest.LeaderAndIsrPartitionState(
                topic_name=partition[0],
                partition_index=partition[1],
                controller_epoch=state.controller_epoch,
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                isr=list(state.isr),
                partition_epoch=state.partition_epoch,
                replicas=list(assignment.replicas),
                adding_replicas=list(assignment.adding),
                removing_replicas=list(assignment.removing),
                is_new=is_new or was_new,
                leader_recovery_state=state.recovery_state,
            )
        self.update_metadata(self.context.live_or_stopping, [partition])

    def stop(self, brokers: list[int], partition: TopicPartition, delete: bool) -> None:
        """These brokers stop their replica."""
        state = self.context.leadership.get(partition)
        epoch = NO_EPOCH if state is None else state.leader_epoch
        if partition[0] in self.context.deleting:
            epoch = EPOCH_DURING_DELETE
        for broker in brokers:
            partitions = self._stop.setdefault(broker, {})
            delete_before = partition in partitions and partitions[partition].delete_partition
            partitions[partition] = m.StopReplicaRequest.StopReplicaPartitionState(
                partition_index=partition[1],
                leader_epoch=epoch,
                delete_partition=delete or delete_before,
            )

    def update_metadata(self, brokers: list[int], partitions: list[TopicPartition]) -> None:
        """These brokers get the live brokers and the state of these partitions."""
        for broker in brokers:
            self._update_brokers[broker] = None
        for partition in partitions:
            state = self.context.leadership.get(partition)
            if state is not None:
                self._update[partition] = self._metadata_of(partition, state)

    def _metadata_of(self, partition: TopicPartition, state: LeaderAndIsr) -> Any:
        replicas = self.context.replicas(partition)
        deleting = partition[0] in self.context.deleting
        return m.UpdateMetadataRequest.UpdateMetadataPartitionState(
            topic_name=partition[0],
            partition_index=partition[1],
            controller_epoch=state.controller_epoch,
            leader=LEADER_DURING_DELETE if deleting else state.leader,
            leader_epoch=EPOCH_DURING_DELETE if deleting else state.leader_epoch,
            isr=list(state.isr),
            zk_version=state.partition_epoch,
            replicas=list(replicas),
            offline_replicas=[
                each for each in replicas if not self.context.is_online(each, partition, with_stopping=True)
            ],
        )

    # --- sending ---------------------------------------------------------------------------------

    def send(self) -> None:
        """One request of each kind to each broker concerned; the batch is empty afterwards."""
        for broker, states in self._leader_and_isr.items():
            if broker in self.context.brokers:
                self._send_leader_and_isr(broker, states)
        self._send_update_metadata()
        for broker, stops in self._stop.items():
            if broker in self.context.brokers:
                self._send_stop_replica(broker, stops)
        self.clear()

    def _send_leader_and_isr(self, broker: int, states: dict[TopicPartition, Any]) -> None:
        leaders = dict.fromkeys(state.leader for state in states.values())
        live = [
            m.LeaderAndIsrRequest.LeaderAndIsrLiveLeader(
                broker_id=info.id, host_name=info.endpoints[0].host, port=info.endpoints[0].port
            )
            for info in self.context.brokers.values()
            if info.id in leaders
        ]
        topics = [
            m.LeaderAndIsrRequest.LeaderAndIsrTopicState(
                topic_name=topic, topic_id=self._topic_id(topic), partition_states=parts
            )
            for topic, parts in _by_topic(states).items()
        ]
        body = m.LeaderAndIsrRequest(type=INCREMENTAL, topic_states=topics, live_leaders=live)
        self._hand_over(broker, ApiKey.LEADER_AND_ISR, body, len(states), self.leader_and_isr_answered)

    def _send_update_metadata(self) -> None:
        topics = [
            m.UpdateMetadataRequest.UpdateMetadataTopicState(
                topic_name=topic, topic_id=self._topic_id(topic), partition_states=parts
            )
            for topic, parts in _by_topic(self._update).items()
        ]
        live = [self._live_broker(broker) for broker in self.context.brokers]
        for broker in self._update_brokers:
            if broker in self.context.brokers:
                body = m.UpdateMetadataRequest(topic_states=topics, live_brokers=live)
                self._hand_over(broker, ApiKey.UPDATE_METADATA, body, len(self._update), None)

    def _live_broker(self, broker: int) -> m.UpdateMetadataRequest.UpdateMetadataBroker:
        info = self.context.brokers[broker]
        endpoints = [
            m.UpdateMetadataRequest.UpdateMetadataEndpoint(
                port=each.port,
                host=each.host,
                listener=each.listener,
                security_protocol=PROTOCOL_NUMBERS.get(each.security_protocol, 0),
            )
            for each in info.endpoints
        ]
        return m.UpdateMetadataRequest.UpdateMetadataBroker(id=broker, endpoints=endpoints, rack=info.rack)

    def _send_stop_replica(self, broker: int, stops: dict[TopicPartition, Any]) -> None:
        topics = [
            m.StopReplicaRequest.StopReplicaTopicState(topic_name=topic, partition_states=parts)
            for topic, parts in _by_topic(stops).items()
        ]
        self._hand_over(
            broker,
            ApiKey.STOP_REPLICA,
            m.StopReplicaRequest(topic_states=topics),
            len(stops),
            self.stop_replica_answered,
        )

    def _hand_over(self, broker: int, api: ApiKey, body: Any, partitions: int, answered: Answered | None) -> None:
        body.controller_id = self.controller_id
        body.controller_epoch = self.context.epoch
        body.broker_epoch = self.context.brokers[broker].epoch
        self.channels.send(broker, ControlRequest(api, body, partitions, answered))

    def _topic_id(self, topic: str) -> uuid.UUID:
        return self.context.topic_ids.get(topic, uuid.UUID(int=0))


def _by_topic(states: dict[TopicPartition, Any]) -> dict[str, list[Any]]:
    topics: dict[str, list[Any]] = {}
    for (topic, _), state in states.items():
        topics.setdefault(topic, []).append(state)
    return topics
