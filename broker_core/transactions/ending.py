"""EndTxn; transactions that take too long; ids that nobody uses.

    EndTxn -> PrepareCommit written -> answer NONE -> markers (`markers`) -> CompleteCommit written

The producer is answered as soon as the decision is committed: its fate cannot change any more, and markers go on
without it. So a producer may hear CONCURRENT_TRANSACTIONS when it begins the next one quickly.

| every                                                              | what                                          |
|--------------------------------------------------------------------|-----------------------------------------------|
| transaction.abort.timed.out.transaction.cleanup.interval.ms [10 s] | open for too long: aborted, epoch + 1         |
| transaction.remove.expired.transaction.cleanup.interval.ms [1 h]   | unused for transactional.id.expiration.ms     |
|                                                                    | [7 days]: tombstone                           |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.kernel import events
from broker_core.transactions import decisions
from broker_core.transactions.decisions import NextId, Producer
from broker_core.transactions.markers import MarkerChannel
from broker_core.transactions.registry import Done, TransactionRegistry, write_error
from broker_core.transactions.states import PREPARED
from broker_core.transactions.transaction import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Stored, Transaction, encode_key
from broker_core.wire.errors import ErrorCode

Ended = Callable[[Any, ErrorCode, int, int], None]
"""`done(context, error, producer id, epoch)`: with version 2 the producer goes on with these. Where the epochs are used
up it is another id, which takes over when the markers are written (KIP-890)."""


class _End:
    """A decision that is being written. `fence`: told of it when it is this coordinator's own, with a raised epoch."""

    __slots__ = ("transaction", "target", "fence", "done", "context")

    def __init__(
        self, transaction: Transaction, target: Stored, fence: Done | None, done: Ended | None, context: Any
    ) -> None:
        self.transaction = transaction
        self.target = target
        self.fence = fence
        self.done = done
        self.context = context

    def answer(self, error: ErrorCode) -> None:
        if self.fence is not None:
            self.fence(self.context, error)
        elif self.done is not None:
            stored, good = self.transaction.stored, error is ErrorCode.NONE
            if stored.state in PREPARED:
                stored = decisions.completed(stored, stored.updated_ms)
            self.done(
                self.context, error, stored.producer_id if good else NO_PRODUCER_ID,
                stored.producer_epoch if good else NO_PRODUCER_EPOCH,
            )  # fmt: skip


class EndHandler:
    """Ends transactions: because a producer says so, because another one came, because time is over."""

    def __init__(self, registry: TransactionRegistry, markers: MarkerChannel, next_id: NextId) -> None:
        self.registry = registry
        self.markers = markers
        self.next_id = next_id
        self.node = registry.node

    def end(
        self, transactional_id: str, producer: Producer, commit: bool, version: int, done: Ended, context: Any
    ) -> None:
        """EndTxn of a client whose transaction version is `version`."""
        error, transaction = self.registry.find(transactional_id)
        if transactional_id == "":
            error = ErrorCode.INVALID_REQUEST
        elif error is ErrorCode.NONE and transaction is None:
            error = ErrorCode.INVALID_PRODUCER_ID_MAPPING
        if error is not ErrorCode.NONE or transaction is None:
            done(context, error, NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
            return
        target = decisions.end(transaction, producer, commit, True, version, self.next_id, self.node.wall_ms())
        if isinstance(target, ErrorCode):
            _End(transaction, transaction.stored, None, done, context).answer(target)
            return
        ending = _End(transaction, target, None, done, context)
        self.registry.write(transaction, target, "EndTxn", self._decided, ending)

    def fence(self, transaction: Transaction, fence: Stored, reason: str, done: Done, context: Any) -> None:
        """Aborts an open transaction with a raised epoch; `done(context, error)` when that is decided."""
        transaction.prepare(fence)
        producer = Producer(fence.producer_id, fence.producer_epoch)
        version = self.registry.version()
        target = decisions.end(transaction, producer, False, False, version, self.next_id, self.node.wall_ms())
        transaction.give_up()
        if isinstance(target, ErrorCode):
            done(context, target)
            return
        ending = _End(transaction, target, done, None, context)
        self.registry.write(transaction, target, reason, self._decided, ending)

    def _decided(self, ending: _End, error: ErrorCode) -> None:
        """The decision is committed: answer, then write the markers. Or it is not, and nothing has been decided."""
        transaction = ending.transaction
        if error is not ErrorCode.NONE:
            if ending.fence is not None and transaction.pending is None:
                transaction.fence_failed(ending.target.producer_epoch)
            ending.answer(error)
            return
        ending.answer(error)
        if transaction.state in PREPARED and transaction.pending is None:
            self.markers.complete(transaction)

    # --- time -----------------------------------------------------------------------------------------

    def abort_timed_out(self) -> None:
        """Transactions that are open for too long hold up every read_committed reader: they end."""
        now_ms = self.node.wall_ms()
        for transaction in self.registry.all():
            if decisions.timed_out(transaction, now_ms):
                self.node.emit(
                    events.TRANSACTION_TIMED_OUT, transactional_id=transaction.transactional_id,
                    producer_id=transaction.stored.producer_id, timeout_ms=transaction.stored.timeout_ms,
                )  # fmt: skip
                self.fence(transaction, decisions.fence(transaction), "timed out", self._aborted, None)

    def _aborted(self, context: None, error: ErrorCode) -> None:
        """Nobody waits; what could not be decided is tried again the next time."""

    def remove_expired(self) -> None:
        """Ids that nobody has used for long are forgotten: a tombstone each."""
        now_ms = self.node.wall_ms()
        expiration_ms = int(self.registry.config["transactional.id.expiration.ms"])
        for transaction in self.registry.all():
            if decisions.expired(transaction, expiration_ms, now_ms):
                transaction.prepare(decisions.dead(transaction.stored))
                name = transaction.transactional_id
                context = (transaction, self.registry.epoch(name))
                self.registry.runtime.append(name, [(encode_key(name), None)], self._removed, context)

    def _removed(self, context: tuple[Transaction, int], code: int) -> None:
        transaction, epoch = context
        if not self.registry.is_current(transaction, epoch):
            return
        if write_error(code) is ErrorCode.NONE:
            self.registry.forget(transaction)
            self.node.emit(events.TRANSACTIONAL_ID_EXPIRED, transactional_id=transaction.transactional_id)
        else:
            transaction.give_up()
