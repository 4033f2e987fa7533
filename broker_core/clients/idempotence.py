"""Sequence numbers of an idempotent producer (KIP-98, KIP-360; `TransactionManager` without transactions).

Each partition has a sequence that grows by one a record. A broker takes a batch only when it continues
the last one, and knows the last five, so that a batch that comes twice is answered and not appended.

| answer | what it means | reaction |
|---|---|---|
| DUPLICATE_SEQUENCE_NUMBER | written before, longer ago than five batches | success, offset unknown |
| OUT_OF_ORDER_SEQUENCE_NUMBER, not the next batch | an earlier one failed on its way | try again, behind it |
| OUT_OF_ORDER_SEQUENCE_NUMBER, the next batch | a gap that nothing will fill | new epoch, sequences from 0 |
| UNKNOWN_PRODUCER_ID | the broker has forgotten the producer | new epoch, sequences from 0 |

A batch whose fate is unknown when its time is up (`unresolved`) blocks the partition until everything
in flight is settled: if it was not written after all, a new epoch begins.

A new epoch holds for all partitions. The one that asked for it starts at 0 with what is on its way; every other
one when nothing of the old epoch is on its way any more, for a broker that sees a new epoch wants sequence 0.
"""

from __future__ import annotations

from broker_core.clients.accumulator import NO_SEQUENCE, Accumulator, Batch, PartitionQueue
from broker_core.wire.errors import ErrorCode

MAX_EPOCH = 32767
MAX_SEQUENCE = 0x7FFFFFFF


class Idempotence:
    """Producer id and epoch, and what to do about answers that speak of sequences."""

    def __init__(self, accumulator: Accumulator) -> None:
        self.accumulator = accumulator
        self.producer_id = -1
        self.epoch = -1
        self.bump_requested: dict[PartitionQueue, None] = {}
        self.unresolved: dict[PartitionQueue, None] = {}
        """The queues with a batch of unknown fate."""

    @property
    def has_id(self) -> bool:
        return self.producer_id >= 0

    def begin(self, producer_id: int, epoch: int) -> None:
        """InitProducerId has answered: all sequences start at 0."""
        self.producer_id, self.epoch = producer_id, epoch
        for queue in self.accumulator.queues.values():
            self._restart(queue)

    def may_send(self, queue: PartitionQueue) -> bool:
        """Whether the first waiting batch may leave now."""
        if self.producer_id < 0 or self.bump_requested:
            return False
        head, in_flight = queue.batches[0], queue.in_flight
        if not in_flight:
            return head.sequence != NO_SEQUENCE or queue.unresolved is None
        if head.sequence == NO_SEQUENCE:
            stale = any((b.producer_id, b.producer_epoch) != (self.producer_id, self.epoch) for b in in_flight)
            return queue.unresolved is None and not stale
        sequences = [b.sequence for b in in_flight if b.sequence != NO_SEQUENCE]
        return not sequences or min(sequences) == head.sequence

    def number(self, batch: Batch) -> None:
        """Give the batch its place; a retried one keeps the one it has."""
        if batch.sequence == NO_SEQUENCE:
            queue = batch.queue
            if queue.numbered_for != (self.producer_id, self.epoch) and not self._under_way(queue, batch):
                self._restart(queue)
            batch.producer_id, batch.producer_epoch = self.producer_id, self.epoch
            batch.sequence = queue.next_sequence
            queue.next_sequence = (queue.next_sequence + len(batch.records)) & MAX_SEQUENCE

    def _under_way(self, queue: PartitionQueue, but: Batch) -> bool:
        """Whether numbered batches other than this one are in flight or wait to be sent again."""
        return any(one is not but for one in queue.in_flight) or _has_numbered(queue)

    def acked(self, batch: Batch, offset: int) -> None:
        """The batch is in the log."""
        if batch.producer_id == self.producer_id and batch.producer_epoch == self.epoch:
            queue, more = batch.queue, len(batch.records) - 1
            last = (batch.sequence + more) & MAX_SEQUENCE
            if last > queue.last_acked_sequence:
                queue.last_acked_sequence = last
            if offset >= 0 and offset + more > queue.last_acked_offset:
                queue.last_acked_offset = offset + more

    def may_retry(self, batch: Batch, error: int, log_start_offset: int) -> bool | None:
        """Whether to send again after this error; None: the error does not speak of sequences."""
        queue = batch.queue
        if error == ErrorCode.UNKNOWN_PRODUCER_ID:
            if log_start_offset != -1 and not batch.sequence_reset:
                self.bump_requested[queue] = None
            return True
        if error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            is_next = batch.sequence == add(queue.last_acked_sequence, 1)
            after_unresolved = queue.unresolved is not None and batch.sequence == queue.unresolved
            if (queue.unresolved is None and is_next and not batch.sequence_reset) or after_unresolved:
                self.bump_requested[queue] = None
            return True
        return None

    def failed(self, batch: Batch, unknown: bool) -> None:
        """The batch is given up; `unknown`: it may have been written all the same."""
        queue = batch.queue
        if batch.sequence == NO_SEQUENCE or (batch.producer_id, batch.producer_epoch) != (self.producer_id, self.epoch):
            return
        if unknown:
            behind = add(batch.sequence, batch.count)
            queue.unresolved = behind if queue.unresolved is None else max(queue.unresolved, behind)
            self.unresolved[queue] = None
            return
        queue.next_sequence -= batch.count
        for later in [*queue.in_flight, *queue.batches]:
            if later.sequence > batch.sequence:
                later.sequence -= batch.count
                later.sequence_reset = True

    def settle(self) -> bool:
        """Resolve what is settled and take the new epoch that was asked for; True: a new id is needed."""
        for queue in list(self.unresolved):
            if not queue.in_flight and not _has_numbered(queue):
                if queue.unresolved != add(queue.last_acked_sequence, 1):
                    self.bump_requested[queue] = None
                queue.unresolved = None
                del self.unresolved[queue]
        if not self.bump_requested:
            return False
        bumped = list(self.bump_requested)
        self.bump_requested.clear()
        if self.epoch >= MAX_EPOCH:
            self.producer_id = self.epoch = -1
            return True
        self.epoch += 1
        for queue in bumped:
            self._restart(queue)
        return False

    def _restart(self, queue: PartitionQueue) -> None:
        """Sequences of this partition from 0 again, those of batches on their way first."""
        sequence = 0
        for batch in sorted([*queue.in_flight, *queue.batches], key=_by_sequence):
            if batch.sequence != NO_SEQUENCE:
                batch.producer_id, batch.producer_epoch = self.producer_id, self.epoch
                batch.sequence = sequence
                batch.sequence_reset = True
                sequence = add(sequence, batch.count)
        queue.numbered_for = (self.producer_id, self.epoch)
        queue.next_sequence = sequence
        queue.last_acked_sequence = -1
        queue.unresolved = None
        self.unresolved.pop(queue, None)


def _has_numbered(queue: PartitionQueue) -> bool:
    """Whether a batch that was sent before waits to be sent again."""
    return bool(queue.batches) and queue.batches[0].sequence != NO_SEQUENCE


def _by_sequence(batch: Batch) -> int:
    return batch.sequence


def add(sequence: int, count: int) -> int:
    """Sequences wrap from 2^31 - 1 to 0."""
    return (sequence + count) & MAX_SEQUENCE
