"""Controlled shutdown: a broker that wants to stop has its leaderships moved first.

It asks with ControlledShutdown, is answered with the partitions that it still leads, and asks again
until there are none (or its patience ends). For each of its partitions, if there is another replica:

    it leads      election among the in-sync replicas that are not stopping; it leaves the ISR at once
    it follows    StopReplica to it, and it leaves the ISR, so that acks=all does not wait for it

Compared with a crash nobody waits for a session to expire: the partitions are without a leader for
milliseconds. Source: `KafkaController.doControlledShutdown`.
"""

from __future__ import annotations

from typing import Any

from broker_core.controller.elections import Strategy
from broker_core.controller.state_machines import PartitionState, ReplicaState
from broker_core.controller.zk.core import ControllerCore
from broker_core.metadata.partition import TopicPartition
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode


class ControlledShutdown:
    """Handles ControlledShutdown requests on the controller's thread."""

    def __init__(self, core: ControllerCore) -> None:
        self.core = core

    def handle(self, request: Any, done: Any, context: Any) -> None:
        """Event: a broker wants to stop; `done(context, response)` with the partitions it still leads."""
        broker, state = request.broker_id, self.core.context
        info = state.brokers.get(broker)
        if info is None:
            done(context, m.ControlledShutdownResponse(error_code=ErrorCode.BROKER_NOT_AVAILABLE))
            return
        if request.broker_epoch != -1 and request.broker_epoch < info.epoch:
            done(context, m.ControlledShutdownResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
            return
        state.shutting_down[broker] = None
        partitions = [each for each in state.partitions_on(broker) if self._has_others(each)]
        led = [each for each in partitions if state.leadership[each].leader == broker]
        self.core.partitions.change(led, PartitionState.ONLINE, Strategy.CONTROLLED_SHUTDOWN)
        self.core.thread.call(self._stop_followers, broker, [each for each in partitions if each not in led])
        self.core.thread.call(self._answer, broker, done, context)

    def _has_others(self, partition: TopicPartition) -> bool:
        state = self.core.context
        return (
            len(state.replicas(partition)) > 1 and partition in state.leadership and partition[0] not in state.deleting
        )

    def _stop_followers(self, broker: int, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            self.core.batch.stop([broker], partition, delete=False)
        self.core.batch.send()
        self.core.replicas.change([(*each, broker) for each in partitions], ReplicaState.OFFLINE)

    def _answer(self, broker: int, done: Any, context: Any) -> None:
        remaining = [
            m.ControlledShutdownResponse.RemainingPartition(topic_name=partition[0], partition_index=partition[1])
            for partition, state in self.core.context.leadership.items()
            if state.leader == broker and self._has_others(partition)
        ]
        done(context, m.ControlledShutdownResponse(remaining_partitions=remaining))
