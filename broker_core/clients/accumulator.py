"""Where records wait for their request: one queue of batches for each partition (`RecordAccumulator`).

A record goes to the last batch of its partition; when that has no room for `batch.size` bytes, a new
one begins. A batch may be sent when one of these holds:

A. it is full, or another one stands behind it;
B. it has waited for `linger.ms` (a batch that is retried: for its backoff);
C. no memory is left, and records wait for some;
D. the producer is closing or flushing.

Each batch takes `batch.size` of `buffer.memory` (or its own size, if larger) until it is settled.
"""

from __future__ import annotations

from collections import deque
from typing import Any

BATCH_OVERHEAD = 61  # header of a record batch v2
RECORD_OVERHEAD = 8  # lengths, attributes, deltas and header count of a small record
NO_SEQUENCE = -1

RecordTuple = tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


class Batch:
    """Records of one partition that travel together.

    - `numbers` names the values for the history: runs [first, count] of the producer's own numbers
    - `transaction` names the transaction that it belongs to, "" for none
    - `uncertain`: a request with it got no answer that says whether it was written

    Invariants
        - once it has a sequence number, its records and their order never change
    """

    __slots__ = (
        "queue", "records", "size", "numbers", "texts", "created_us", "attempts", "retry_at_us", "closed",
        "producer_id", "producer_epoch", "sequence", "sequence_reset", "uncertain", "done", "operation", "memory",
        "transaction",
    )  # fmt: skip

    def __init__(self, queue: PartitionQueue, created_us: int, memory: int) -> None:
        self.queue = queue
        self.records: list[RecordTuple] = []
        self.size = BATCH_OVERHEAD
        self.numbers: list[list[int]] = []
        self.texts: list[str] = []
        self.created_us = created_us
        self.attempts = 0
        self.retry_at_us = 0
        self.closed = False
        self.producer_id = -1
        self.producer_epoch = -1
        self.sequence = NO_SEQUENCE
        self.sequence_reset = False
        self.uncertain = False
        self.done = False
        self.operation = ""
        self.transaction = ""
        self.memory = memory

    @property
    def count(self) -> int:
        return len(self.records)

    def note(self, number: int | str) -> None:
        """Which value has joined the batch, in the shortest form."""
        if isinstance(number, str):
            self.texts.append(number)
            return
        runs = self.numbers
        if runs and runs[-1][0] + runs[-1][1] == number:
            runs[-1][1] += 1
        else:
            runs.append([number, 1])


class PartitionQueue:
    """What waits for one partition, and what is on its way there.

    - `batches` wait, in order
    - `in_flight` have been sent and are not settled, in order of sending
    - `numbered_for`: the (producer id, epoch) that the sequences belong to; None before the first one

    Invariants
        - in `batches` those that have a sequence number come first, ascending
    """

    __slots__ = (
        "topic", "partition", "batches", "in_flight", "muted",
        "numbered_for", "next_sequence", "last_acked_sequence", "last_acked_offset", "unresolved",
    )  # fmt: skip

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.batches: deque[Batch] = deque()
        self.in_flight: list[Batch] = []
        self.muted = False
        self.numbered_for: tuple[int, int] | None = None
        self.next_sequence = 0
        self.last_acked_sequence = -1
        self.last_acked_offset = -1
        self.unresolved: int | None = None


class Accumulator:
    """All queues of a producer, and its memory."""

    def __init__(self, batch_size: int, linger_us: int, buffer_memory: int) -> None:
        self.batch_size = max(1, batch_size)
        self.linger_us = linger_us
        self.buffer_memory = buffer_memory
        self.used = 0
        self.exhausted = False
        self.flushing = False
        self.queues: dict[tuple[str, int], PartitionQueue] = {}
        self.waiting: dict[PartitionQueue, None] = {}

    def queue(self, topic: str, partition: int) -> PartitionQueue:
        """The queue of a partition, made when first asked for."""
        found = self.queues.get((topic, partition))
        if found is None:
            found = self.queues[(topic, partition)] = PartitionQueue(topic, partition)
        return found

    def append(self, queue: PartitionQueue, record: RecordTuple, size: int, now_us: int) -> Batch | None:
        """The batch that the record has joined; None when there is no memory for a new one.

        size: bytes of key, value and headers.
        """
        size += RECORD_OVERHEAD
        if queue.batches:
            batch = queue.batches[-1]
            if not batch.closed:
                if batch.size + size <= self.batch_size:
                    batch.records.append(record)
                    batch.size += size
                    return batch
                batch.closed = True
        memory = self.batch_size
        if memory < BATCH_OVERHEAD + size:
            memory = BATCH_OVERHEAD + size
        if self.used + memory > self.buffer_memory:
            self.exhausted = True
            return None
        self.used += memory
        batch = Batch(queue, now_us, memory)
        batch.records.append(record)
        batch.size += size
        queue.batches.append(batch)
        self.waiting[queue] = None
        return batch

    def is_full(self, queue: PartitionQueue) -> bool:
        """Case A."""
        head = queue.batches[0]
        return len(queue.batches) > 1 or head.closed or head.size + RECORD_OVERHEAD >= self.batch_size

    def sendable_at(self, queue: PartitionQueue, now_us: int) -> int:
        """When the first batch of the queue may leave: `now_us` or earlier means at once."""
        head = queue.batches[0]
        if head.attempts:
            return head.retry_at_us
        if not self.linger_us or self.exhausted or self.flushing or self.is_full(queue):
            return now_us
        return head.created_us + self.linger_us

    def take(self, queue: PartitionQueue) -> Batch:
        """The first batch leaves its queue to be sent."""
        batch = queue.batches.popleft()
        batch.closed = True
        if not queue.batches:
            del self.waiting[queue]
        queue.in_flight.append(batch)
        return batch

    def put_back(self, batch: Batch, retry_at_us: int) -> None:
        """A batch is to be sent again."""
        batch.attempts += 1
        batch.retry_at_us = retry_at_us
        self.insert(batch)

    def insert(self, batch: Batch) -> None:
        """In front, but behind earlier sequences that wait as well."""
        queue, at = batch.queue, 0
        if batch.sequence != NO_SEQUENCE:
            while at < len(queue.batches) and NO_SEQUENCE != queue.batches[at].sequence < batch.sequence:
                at += 1
        queue.batches.insert(at, batch)
        self.waiting[queue] = None

    def release(self, batch: Batch) -> None:
        """A batch is settled: its memory is free."""
        batch.done = True
        self.used -= batch.memory
        self.exhausted = False

    def drop(self, batch: Batch) -> None:
        """A batch that waits is given up."""
        queue = batch.queue
        queue.batches.remove(batch)
        if not queue.batches:
            self.waiting.pop(queue, None)

    def load(self, topic: str) -> list[tuple[int, int]]:
        """(partition, batches) of the queues in which some wait, for the sticky partitioner."""
        return sorted([(queue.partition, len(queue.batches)) for queue in self.waiting if queue.topic == topic])

    def pending(self) -> list[dict[str, Any]]:
        """What waits, for viewers: partition, batches, records and bytes."""
        return [
            {
                "topic": queue.topic, "partition": queue.partition, "batches": len(queue.batches),
                "records": sum(batch.count for batch in queue.batches), "bytes": sum(b.size for b in queue.batches),
            }
            for queue in self.waiting
        ]  # fmt: skip
