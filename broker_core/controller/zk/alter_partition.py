"""A leader wants another ISR: AlterPartition (KIP-497), the only way an ISR changes between elections.

The leader names the state that it knows by leader epoch and partition epoch. The controller checks,
in this order:

| case | answer |
|---|---|
| the broker's registration is another one by now | STALE_BROKER_EPOCH, for the whole request |
| the partition is not known | UNKNOWN_TOPIC_OR_PARTITION |
| A  an epoch of the request is *newer* than what is known here | NOT_CONTROLLER: this controller must be a zombie |
| B  its leader epoch is older | FENCED_LEADER_EPOCH: it leads no more |
| C  the state is already the wished one | success: a repetition of a request whose answer was lost |
| D  its partition epoch is older | INVALID_UPDATE_VERSION: look at the new state first |
| E  a member of the new ISR is not alive, or has restarted since it was counted | INELIGIBLE_REPLICA |

What passes is written with the partition epoch as condition; only then is it answered, and only then
does the leader count on it. Afterwards every broker's cache is updated.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from broker_core.controller.zk.core import ControllerCore
from broker_core.controller.zk.reassignment import Reassignment
from broker_core.metadata.partition import RECOVERED, RECOVERING, LeaderAndIsr, TopicPartition
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

Answers = dict[TopicPartition, "ErrorCode | LeaderAndIsr"]


@dataclass(slots=True)
class _Alteration:
    """One request on its way: answers found so far, in the order of the request."""

    request: Any
    topics: list[tuple[Any, str | None]]
    answers: Answers = field(default_factory=dict)


class AlterPartition:
    """Handles AlterPartition requests on the controller's thread."""

    def __init__(self, core: ControllerCore, reassignment: Reassignment) -> None:
        self.core = core
        self.reassignment = reassignment

    def handle(self, request: Any, done: Any, context: Any) -> None:
        """Event: a leader's request; `done(context, response)`."""
        info = self.core.context.brokers.get(request.broker_id)
        if info is None or info.epoch != request.broker_epoch:
            done(context, m.AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
            return
        names = {topic_id: topic for topic, topic_id in self.core.context.topic_ids.items()}
        alteration = _Alteration(
            request, [(topic, topic.topic_name or names.get(topic.topic_id)) for topic in request.topics]
        )
        wanted: dict[TopicPartition, LeaderAndIsr] = {}
        for topic, name in alteration.topics:
            for data in topic.partitions if name is not None else []:
                partition = (str(name), data.partition_index)
                verdict = self._judge(partition, request.broker_id, data)
                alteration.answers[partition] = verdict
                if isinstance(verdict, LeaderAndIsr) and verdict is not self.core.context.leadership.get(partition):
                    wanted[partition] = verdict
        self.core.store.write_states(wanted, self._written, alteration, done, context)

    def _judge(self, partition: TopicPartition, leader: int, data: Any) -> ErrorCode | LeaderAndIsr:
        """An error, the current state (C), or the new state that is to be written."""
        current = self.core.context.leadership.get(partition)
        if current is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        members = [(each.broker_id, each.broker_epoch) for each in data.new_isr_with_epochs]
        isr = [broker for broker, _ in members] if members else list(data.new_isr)
        if data.partition_epoch > current.partition_epoch or data.leader_epoch > current.leader_epoch:
            return ErrorCode.NOT_CONTROLLER  # A
        if data.leader_epoch < current.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH  # B
        recovery = data.leader_recovery_state
        if leader == current.leader and isr == current.isr and recovery == current.recovery_state:
            return current  # C
        if data.partition_epoch < current.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION  # D
        if recovery == RECOVERING and (len(isr) > 1 or current.recovery_state == RECOVERED):
            return ErrorCode.INVALID_REQUEST
        if not isr or any(
            not self._eligible(broker, epoch) for broker, epoch in members or [(each, -1) for each in isr]
        ):
            return ErrorCode.INELIGIBLE_REPLICA if isr else ErrorCode.INVALID_REQUEST  # E
        return replace(current, isr=isr, recovery_state=recovery)

    def _eligible(self, broker: int, epoch: int) -> bool:
        """Alive, and in the same life in which the leader saw it catch up (KIP-841, KIP-903)."""
        info = self.core.context.brokers.get(broker)
        alive = info is not None and broker not in self.core.context.shutting_down
        return alive and (epoch == -1 or (info is not None and info.epoch == epoch))

    def _written(
        self,
        alteration: _Alteration,
        done: Any,
        context: Any,
        updated: dict[TopicPartition, LeaderAndIsr],
        refused: list[TopicPartition],
    ) -> None:
        for partition in refused:
            alteration.answers[partition] = ErrorCode.INVALID_UPDATE_VERSION
        for partition, state in updated.items():
            self.core.context.leadership[partition] = state
            alteration.answers[partition] = state
        done(context, _response(alteration))
        if updated:
            self.core.update_metadata(self.core.context.live_or_stopping, list(updated))
            self.core.thread.call(self.reassignment.isr_grew, list(updated))
        if refused:
            self.core.store.read_states(refused, self._refresh)

    def _refresh(self, states: dict[TopicPartition, LeaderAndIsr]) -> None:
        """Somebody else has changed these: take over what stands there."""
        self.core.context.leadership.update(states)


def _response(alteration: _Alteration) -> m.AlterPartitionResponse:
    topics = []
    for topic, name in alteration.topics:
        partitions = [
            _partition(data, alteration.answers[name, data.partition_index] if name else ErrorCode.UNKNOWN_TOPIC_ID)
            for data in topic.partitions
        ]
        topics.append(
            m.AlterPartitionResponse.TopicData(topic_id=topic.topic_id, topic_name=name or "", partitions=partitions)
        )
    return m.AlterPartitionResponse(topics=topics)


def _partition(data: Any, answer: ErrorCode | LeaderAndIsr) -> m.AlterPartitionResponse.PartitionData:
    if isinstance(answer, LeaderAndIsr):
        return m.AlterPartitionResponse.PartitionData(
            partition_index=data.partition_index,
            leader_id=answer.leader,
            leader_epoch=answer.leader_epoch,
            isr=list(answer.isr),
            leader_recovery_state=answer.recovery_state,
            partition_epoch=answer.partition_epoch,
        )
    return m.AlterPartitionResponse.PartitionData(partition_index=data.partition_index, error_code=answer)
