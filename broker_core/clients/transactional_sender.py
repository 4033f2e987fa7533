"""The sender of a transactional producer: `Sender` with a turn for transactional requests before each round.

1. what is of unknown fate and settled by now is resolved: a gap in the sequence numbers ends the transaction;
2. after an error, or in an abort, what has not been sent is dropped; after a fatal error everything is;
3. a transactional request that is due goes out (`Transactions.take_turn`), and records wait while one is on its way;
4. records go out, to partitions that are part of the transaction.

What the leaders said of the records is kept until the transaction is over, for that is when the application knows
(`history`). A batch that fails makes the whole transaction fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.clients import history
from broker_core.clients.accumulator import NO_SEQUENCE, Accumulator, Batch, PartitionQueue
from broker_core.clients.connections import Connections
from broker_core.clients.idempotence import Idempotence, add
from broker_core.clients.metadata import Metadata
from broker_core.clients.sender import PLAIN_VERSION, Sender
from broker_core.clients.settings import ProducerSettings
from broker_core.clients.transactions import ABORTABLE, ABORTED, ABORTING, COMMITTED, FATAL, UNKNOWN, Done, Transactions
from broker_core.kernel.node import Node
from broker_core.wire.errors import ErrorCode

KINDS = {COMMITTED: "ok", ABORTED: "fail"}  # else info
WORDS = {ABORTED: history.ABORTED, UNKNOWN: "COMMIT_UNKNOWN"}


class TransactionalSequences(Idempotence):
    """Sequence numbers inside transactions: after a gap they are aborted, and the coordinator gives a new epoch."""

    def __init__(self, accumulator: Accumulator) -> None:
        super().__init__(accumulator)
        self.broken: Callable[[str], None] = lambda error: None
        self.allowed: Callable[[PartitionQueue], bool] = lambda queue: True

    def may_send(self, queue: PartitionQueue) -> bool:
        return self.allowed(queue) and super().may_send(queue)

    def may_retry(self, batch: Batch, error: int, log_start_offset: int) -> bool | None:
        queue = batch.queue
        if error == ErrorCode.UNKNOWN_PRODUCER_ID:
            if log_start_offset == -1 or batch.sequence_reset:
                return True
            forgotten = queue.last_acked_offset < log_start_offset
            if forgotten:
                self._restart(queue)
            return forgotten
        if error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            is_next = batch.sequence == add(queue.last_acked_sequence, 1)
            return queue.unresolved is None and (batch.sequence_reset or not is_next)
        return None

    def failed(self, batch: Batch, unknown: bool) -> None:
        if unknown:
            super().failed(batch, unknown)

    def settle(self) -> bool:
        """A batch that may be in the log or not leaves a gap: nothing can follow on it with this epoch."""
        for queue in list(self.unresolved):
            if not queue.in_flight and not (queue.batches and queue.batches[0].sequence != NO_SEQUENCE):
                gap = queue.unresolved != add(queue.last_acked_sequence, 1)
                queue.unresolved = None
                del self.unresolved[queue]
                if gap:
                    self.broken("UNRESOLVED_SEQUENCE")
        return False


class TransactionalSender(Sender):
    """`owner` also has `transaction_failed()`, and `transaction_ended(outcome, acked, dropped)` in records."""

    def __init__(
        self, node: Node, settings: ProducerSettings, accumulator: Accumulator, connections: Connections,
        metadata: Metadata, owner: Any,
    ) -> None:  # fmt: skip
        super().__init__(node, settings, accumulator, connections, metadata, owner)
        self.sequences = TransactionalSequences(accumulator)
        self.idempotence = self.sequences
        self.transactions = Transactions(
            node, settings, connections, metadata, self.sequences, self.wake, self._ended, self._failed
        )
        self.sequences.broken = self._broken
        self.sequences.allowed = self._is_allowed
        self._kept: list[tuple[str, Batch, int, int, str, str]] = []

    @property
    def transaction(self) -> str:
        """The name of the transaction that goes on, or was the last one."""
        return f"{self.node.name}/{self.node.incarnation}-{self.transactions.count}"

    def begin(self) -> None:
        """A transaction begins."""
        self.transactions.begin()
        self.produce_version = None if self.transactions.version_2 else PLAIN_VERSION
        self._operation("invoke")

    def commit(self, done: Done) -> None:
        """commitTransaction(): what waits is sent first."""
        self.accumulator.flushing = True
        self.transactions.commit(done)
        self.wake()

    def abort(self, done: Done) -> None:
        """abortTransaction(): what waits is dropped."""
        self.transactions.abort(done)
        self.wake()

    # -- rounds -----------------------------------------------------------------------------
    def run(self) -> None:
        """One round."""
        self._awake = False
        now = self.node.world.now_us
        if now >= self._expiry_us:
            self._expire(now)
        self.sequences.settle()
        state = self.transactions.state
        if state == FATAL:
            self._drop(list(self.accumulator.waiting), sent=True)
        elif state in (ABORTABLE, ABORTING):
            self._drop(list(self.accumulator.waiting), sent=False)
        if self.transactions.take_turn(self.accumulator.used > 0) or state == FATAL:
            return
        if self.accumulator.waiting:
            for leader, queues in self._ready(now).items():
                self._send(leader, queues, now)

    def _is_allowed(self, queue: PartitionQueue) -> bool:
        return (queue.topic, queue.partition) in self.transactions.partitions

    def _drop(self, queues: list[PartitionQueue], sent: bool) -> None:
        """Batches that have not left (`sent`: nor wait to be sent again) will never be."""
        for queue in queues:
            for batch in [one for one in queue.batches if sent or one.sequence == NO_SEQUENCE]:
                self.accumulator.drop(batch)
                self._give_up(batch)

    def _give_up(self, batch: Batch) -> None:
        self.accumulator.release(batch)
        self._name(batch)
        self._tell("info" if batch.uncertain else "fail", batch, error=history.ABORTED)
        self.owner.batch_settled(batch, "fail", error=history.ABORTED)

    def _name(self, batch: Batch) -> None:
        batch.transaction = self.transaction
        if not batch.operation:
            self._operations += 1
            batch.operation = f"{self.node.incarnation}-{self._operations}"

    def _take(self, queue: PartitionQueue) -> Batch:
        queue.batches[0].transaction = self.transaction
        return super()._take(queue)

    def _answered(self, context: tuple[str, list[Batch]], response: Any) -> None:
        super()._answered(context, response)
        self.wake()  # EndTxn may have waited for these

    # -- the end of batches, and of transactions ---------------------------------------------
    def _fail(self, batch: Batch, error: str, unknown: bool) -> None:
        batch.transaction = self.transaction
        super()._fail(batch, error, unknown)
        self.transactions.fail(error, fatal=error == ErrorCode.PRODUCER_FENCED.name, new_epoch=True)

    def _broken(self, error: str) -> None:
        self.transactions.fail(error, new_epoch=True)

    def _failed(self) -> None:
        self.owner.transaction_failed()

    def _tell(self, kind: str, batch: Batch, offset: int = -1, error: str = "", broker: str = "") -> None:
        """Not yet: the transaction is not over. Its records are not needed any more."""
        self._kept.append((kind, batch, batch.count, offset, error, broker))
        if kind == "ok":
            batch.records = []

    def _ended(self, outcome: str) -> None:
        """Tell of the transaction, and of its records."""
        if outcome != COMMITTED:
            for queue in list(self.accumulator.queues.values()):
                self._drop([queue] if queue.batches else [], sent=True)
                for batch in [one for one in queue.in_flight if not one.done]:
                    batch.uncertain = True
                    self._give_up(batch)
        kept, self._kept = self._kept, []
        acked = dropped = 0
        for kind, batch, count, offset, error, broker in kept:
            if error == "split":
                continue
            fate, why = (kind, error) if kind == "fail" else (KINDS.get(outcome, "info"), WORDS.get(outcome, ""))
            history.settled(self.node, fate, batch, self.settings.acks, offset, why, broker)
            acked += count if fate == "ok" else 0
            dropped += count if fate != "ok" else 0
        self.accumulator.flushing = False
        self._operation(KINDS.get(outcome, "info"))
        self.owner.transaction_ended(outcome, acked, dropped)

    def _operation(self, kind: str) -> None:
        fields = {"id": self.transaction, "transactional_id": self.settings.transactional_id}
        self.node.unsettled = ("transaction", fields) if kind == "invoke" else None
        self.node.operation(kind, "transaction", **fields)
