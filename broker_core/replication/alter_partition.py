"""The line to the controller for ISR changes (KIP-497).

All changes of an instant travel in one AlterPartition request, and one request is on its way at a
time; what comes up meanwhile goes with the next. When the answer is an error of the whole request,
or there is none, everything is sent again after 50 ms.

(Kafka: kafka.server.DefaultAlterPartitionManager.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from broker_core.kernel.node import Node
from broker_core.wire import messages as m

if TYPE_CHECKING:
    from broker_core.replication.partition import Partition

RETRY_US = 50_000


class AlterPartitionPort(Protocol):
    """Brings the request to the controller; later `done(context, AlterPartitionResponse or None)`."""

    def alter_partition(self, request: Any, done: Callable[[Any, Any], None], context: Any) -> None: ...


class IsrChange:
    """A proposal: what the ISR should become, and why."""

    __slots__ = ("partition", "leader_epoch", "partition_epoch", "isr", "added", "removed", "reason", "lag_ms", "sent")

    def __init__(
        self, partition: Partition, isr: list[int], added: list[int], removed: list[int], reason: str,
        lag_ms: dict[str, int],
    ) -> None:  # fmt: skip
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.partition_epoch = partition.partition_epoch
        self.isr = isr
        self.added = added
        self.removed = removed
        self.reason = reason
        self.lag_ms = lag_ms
        self.sent = False


class AlterPartitionQueue:
    """Changes that are not answered yet: at most one per partition."""

    def __init__(
        self, node: Node, broker_id: int, broker_epoch: Callable[[], int], port: AlterPartitionPort,
        answered: Callable[[IsrChange, Any], bool],
    ) -> None:  # fmt: skip
        self.node = node
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.port = port
        self.answered = answered
        self.changes: dict[Partition, IsrChange] = {}
        self._in_flight = False
        self._scheduled = False

    def submit(self, change: IsrChange) -> None:
        """Send a change soon; it takes the place of an older one of the same partition."""
        self.changes[change.partition] = change
        self._schedule(0)

    def _schedule(self, delay_us: int) -> None:
        if not self._scheduled and not self._in_flight:
            self._scheduled = True
            self.node.after(delay_us, self._send)

    def _send(self) -> None:
        self._scheduled = False
        if not self.changes or self._in_flight:
            return
        self._in_flight = True
        batch = list(self.changes.values())
        self.port.alter_partition(self._request(batch), self._received, batch)

    def _request(self, batch: list[IsrChange]) -> Any:
        topics: dict[str, Any] = {}
        for change in batch:
            partition = change.partition
            topic = topics.get(partition.topic)
            if topic is None:
                topic = topics[partition.topic] = m.AlterPartitionRequest.TopicData(
                    topic_name=partition.topic, topic_id=partition.topic_id, partitions=[]
                )
            topic.partitions.append(self._partition_data(change))
        return m.AlterPartitionRequest(
            broker_id=self.broker_id, broker_epoch=self.broker_epoch(), topics=list(topics.values())
        )

    def _partition_data(self, change: IsrChange) -> Any:
        partition = change.partition
        checked = partition.host.protections.isr_checks_broker_epoch
        known = partition.remote.items() if checked else ()
        epochs = {broker: replica.current_broker_epoch() for broker, replica in known}
        epochs[self.broker_id] = self.broker_epoch()
        return m.AlterPartitionRequest.PartitionData(
            partition_index=partition.index,
            leader_epoch=change.leader_epoch,
            partition_epoch=change.partition_epoch,
            new_isr=list(change.isr),
            new_isr_with_epochs=[
                m.AlterPartitionRequest.BrokerState(broker_id=broker, broker_epoch=epochs.get(broker, -1))
                for broker in change.isr
            ],
        )

    def _received(self, batch: list[IsrChange], response: Any) -> None:
        self._in_flight = False
        again = response is None or response.error_code != 0
        if not again:
            answers = {
                (topic.topic_id, data.partition_index): data for topic in response.topics for data in topic.partitions
            }
            for change in batch:
                again |= self._settle(change, answers)
        if self.changes:
            self._schedule(RETRY_US if again else 0)

    def _settle(self, change: IsrChange, answers: dict[Any, Any]) -> bool:
        """Tell the owner of a change; True when it has to be sent again."""
        partition = change.partition
        if self.changes.get(partition) is not change:
            return False
        data = answers.get((partition.topic_id, partition.index))
        if data is None or self.answered(change, data):
            return True
        if self.changes.get(partition) is change:
            del self.changes[partition]
        return False

    def drop(self, partition: Partition) -> None:
        """The partition is not led here any more."""
        self.changes.pop(partition, None)
