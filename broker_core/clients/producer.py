"""The producer: `send` chooses a partition and leaves the record with the accumulator.

```
send(topic, key, value) -> partitioner -> accumulator (a batch per partition) -> sender -> leader
```
A call that would block in the Java client (no metadata yet, `buffer.memory` used up) returns False here;
the application waits for `owner.unblocked()` and calls again, for at most `max.block.ms`.
"""

from __future__ import annotations

from typing import Any

from broker_core.clients.accumulator import RECORD_OVERHEAD, Accumulator, Batch, PartitionQueue
from broker_core.clients.connections import Connections
from broker_core.clients.metadata import Metadata, TopicInfo
from broker_core.clients.partitioner import ROUND_ROBIN, RoundRobin, Sticky, partition_of_key
from broker_core.clients.sender import Sender
from broker_core.clients.settings import ProducerSettings
from broker_core.clients.transactional_sender import TransactionalSender
from broker_core.kernel.node import Node
from broker_core.wire.rpc import Response

Headers = tuple[tuple[str, bytes | None], ...]


class Producer:
    """A producer inside a machine, which hands it responses and closed connections.

    With `transactional.id` its sender is `transactional`, and the owner says when transactions begin and end.

    owner: has `unblocked()`, `batch_settled(batch, kind, offset, error)`, kind = ok | fail | info; offset of
        the first record, -1 when it is not known; and `batch_split(batch, parts)`: these, in order, are settled
        in its place. Of a transactional producer also what `TransactionalSender` tells.
    """

    def __init__(self, node: Node, settings: ProducerSettings, bootstrap: list[str], owner: Any) -> None:
        self.node = node
        self.settings = settings
        self.owner = owner
        self.connections = Connections(node, settings, self._connection_changed, "/producer")
        self.metadata = Metadata(node, self.connections, bootstrap, self._metadata_updated)
        self.accumulator = Accumulator(settings.batch_size, settings.linger_ms * 1000, settings.buffer_memory)
        given = (node, settings, self.accumulator, self.connections, self.metadata, self)
        self.transactional = TransactionalSender(*given) if settings.transactional_id else None
        self.sender = self.transactional or Sender(*given)
        self.partitioners: dict[str, Sticky | RoundRobin] = {}

    def send(
        self, topic: str, key: bytes | None, value: bytes | None, number: int | str,
        partition: int | None = None, headers: Headers = (),
    ) -> Batch | None:  # fmt: skip
        """The batch that the record has joined; None: it would block now. `number`: the value's running number, or its
        text."""
        info = self.metadata.topics.get(topic)
        if info is None:
            self.metadata.add_topic(topic)
            return None
        partitioner = None
        if partition is None:
            if key is not None and not self.settings.partitioner_ignore_keys:
                partition = partition_of_key(key, len(info.leaders))
            else:
                partitioner = self.partitioners.get(topic) or self._partitioner(topic)
                partition = partitioner.partition(len(info.leaders), info.available)
        elif partition >= len(info.leaders):
            return None
        size = (len(key) if key is not None else 0) + (len(value) if value is not None else 0)
        if headers:
            size += sum(len(name) + len(content or b"") + 4 for name, content in headers)
        accumulator, node = self.accumulator, self.node
        queue = accumulator.queues.get((topic, partition)) or accumulator.queue(topic, partition)
        batch = accumulator.append(queue, (node.wall_ms(), key, value, headers), size, node.world.now_us)
        if batch is None:
            self.sender.wake()
            return None
        batch.note(number)
        if self.transactional is not None:
            self.transactional.transactions.add(topic, partition)
        if partitioner is not None:
            if partitioner.produced + size < partitioner.sticky_bytes:
                partitioner.produced += size
            else:
                self._maybe_switch(partitioner, queue, info, size)
        if len(batch.records) == 1 or batch.size + RECORD_OVERHEAD >= accumulator.batch_size:
            self.sender.wake()  # a batch has begun, or one has become full
        return batch

    def _maybe_switch(
        self, partitioner: Sticky | RoundRobin, queue: PartitionQueue, info: TopicInfo, size: int
    ) -> None:
        """The partition has got its bytes; where records go from now on depends on what waits elsewhere."""
        accumulator, settings = self.accumulator, self.settings
        if settings.partitioner_adaptive_partitioning_enable:
            partitioner.load(info.available, accumulator.load(queue.topic))
        may_switch = settings.linger_ms == 0 or not queue.batches or accumulator.is_full(queue)
        partitioner.appended(size, len(info.leaders), info.available, may_switch)

    def _partitioner(self, topic: str) -> Sticky | RoundRobin:
        made: Sticky | RoundRobin
        if self.settings.partitioner_class == ROUND_ROBIN:
            made = RoundRobin(self.node.random(f"partitioner/{topic}"))
        else:
            made = Sticky(self.node.random(f"partitioner/{topic}"), self.settings.batch_size)
        self.partitioners[topic] = made
        return made

    def flush(self) -> None:
        """Everything that waits may leave at once."""
        self.accumulator.flushing = True
        self.sender.wake()

    @property
    def idle(self) -> bool:
        """Nothing waits and nothing is on its way."""
        return not self.accumulator.used

    # -- what the machine passes on ---------------------------------------------------------
    def receive(self, source: str, response: Response) -> bool:
        return self.connections.receive(source, response)

    def peer_down(self, peer: str) -> None:
        self.connections.peer_down(peer)

    # -- what the parts report --------------------------------------------------------------
    def _connection_changed(self, peer: str, is_ready: bool) -> None:
        if not is_ready and self.metadata.wanted:
            self.metadata.request_update()
        self.sender.wake()

    def _metadata_updated(self) -> None:
        self.sender.wake()
        self.owner.unblocked()

    def batch_split(self, batch: Batch, parts: list[Batch]) -> None:
        """A batch was too large and travels on in parts."""
        self.owner.batch_split(batch, parts)

    def batch_settled(self, batch: Batch, kind: str, offset: int = -1, error: str = "") -> None:
        """A batch has left the accumulator: there may be room again."""
        self.owner.batch_settled(batch, kind, offset, error)
        self.owner.unblocked()

    def transaction_failed(self) -> None:
        """The transaction can only be aborted, or the producer is over."""
        self.owner.transaction_failed()

    def transaction_ended(self, outcome: str, acked: int, dropped: int) -> None:
        """A transaction is over: so many records were committed, so many not."""
        self.owner.transaction_ended(outcome, acked, dropped)
