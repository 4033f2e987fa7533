"""InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn: a producer takes its id, and says what it will write to.

What is decided stands in `decisions`; here it is found, written and answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.kernel import events
from broker_core.transactions import decisions
from broker_core.transactions.decisions import NextId, Producer
from broker_core.transactions.ending import EndHandler
from broker_core.transactions.registry import Done, TransactionRegistry
from broker_core.transactions.states import PREPARE_EPOCH_FENCE
from broker_core.transactions.transaction import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Stored, TopicPartition, Transaction
from broker_core.wire.errors import ErrorCode

Initialised = Callable[[Any, ErrorCode, int, int], None]
"""`done(context, error, producer id, epoch)`."""


class _Init:
    """An InitProducerId that is being written."""

    __slots__ = ("target", "done", "context")

    def __init__(self, target: Stored | None, done: Initialised, context: Any) -> None:
        self.target = target
        self.done = done
        self.context = context

    def refuse(self, error: ErrorCode) -> None:
        self.done(self.context, error, NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


class ProducingHandler:
    """Answers what comes before the end of a transaction. `next_id` takes a producer id of this broker."""

    def __init__(self, registry: TransactionRegistry, ending: EndHandler, next_id: NextId) -> None:
        self.registry = registry
        self.ending = ending
        self.next_id = next_id
        self.node = registry.node

    # --- InitProducerId -----------------------------------------------------------------------------

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: Producer | None, done: Initialised, context: Any
    ) -> None:
        """Gives the producer its id and epoch; from then on who had the one before is fenced."""
        init = _Init(None, done, context)
        if transactional_id == "":
            init.refuse(ErrorCode.INVALID_REQUEST)
            return
        if not 0 < timeout_ms <= int(self.registry.config["transaction.max.timeout.ms"]):
            init.refuse(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
            return
        error, transaction = self._found(transactional_id, timeout_ms)
        if transaction is None:
            init.refuse(error)
            return
        target = decisions.init_producer_id(transaction, expected, timeout_ms, self.next_id, self.node.wall_ms())
        if isinstance(target, ErrorCode):
            init.refuse(target)
        elif target.state is PREPARE_EPOCH_FENCE:
            self.ending.fence(transaction, target, "another producer", self._fenced, init)
        else:
            init.target = target
            self.registry.write(transaction, target, "InitProducerId", self._initialised, init)

    def _found(self, transactional_id: str, timeout_ms: int) -> tuple[ErrorCode, Transaction | None]:
        """The id; a new one gets a producer id at once."""
        error, transaction = self.registry.find(transactional_id)
        if error is not ErrorCode.NONE or transaction is not None:
            return error, transaction
        producer_id = self.next_id()
        if producer_id is None:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None
        stored = decisions.created(producer_id, timeout_ms, self.node.wall_ms())
        transaction = Transaction(transactional_id, stored)
        self.registry.add(transaction)
        return error, transaction

    def _fenced(self, init: _Init, error: ErrorCode) -> None:
        """The open transaction is being aborted: the producer comes again for an epoch of its own."""
        init.refuse(ErrorCode.CONCURRENT_TRANSACTIONS if error is ErrorCode.NONE else error)

    def _initialised(self, init: _Init, error: ErrorCode) -> None:
        if error is not ErrorCode.NONE or init.target is None:
            init.refuse(error)
            return
        init.done(init.context, error, init.target.producer_id, init.target.producer_epoch)

    # --- partitions -----------------------------------------------------------------------------------

    def add_partitions(
        self, transactional_id: str, producer: Producer, partitions: list[TopicPartition], version: int,
        done: Done, context: Any,
    ) -> None:  # fmt: skip
        """The transaction will write to these; later `done(context, error)`."""
        error, transaction = self._of_a_producer(transactional_id)
        if transaction is None:
            done(context, error)
            return
        target = decisions.add_partitions(transaction, producer, partitions, version, self.node.wall_ms())
        if isinstance(target, ErrorCode):
            done(context, target)
        else:
            self.registry.write(transaction, target, "partitions added", done, context)

    def verify_partitions(
        self, transactional_id: str, producer: Producer, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Whether the transaction has these."""
        error, transaction = self._of_a_producer(transactional_id)
        if transaction is None:
            return dict.fromkeys(partitions, error)
        found = decisions.verify_partitions(transaction, producer, partitions)
        if self.node.details:
            self.node.emit(
                events.TRANSACTION_VERIFIED, transactional_id=transactional_id,
                partitions={f"{topic}-{number}": int(code) for (topic, number), code in found.items()},
            )  # fmt: skip
        return found

    def _of_a_producer(self, transactional_id: str) -> tuple[ErrorCode, Transaction | None]:
        """The id of a producer that must have been initialised."""
        if transactional_id == "":
            return ErrorCode.INVALID_REQUEST, None
        error, transaction = self.registry.find(transactional_id)
        if error is ErrorCode.NONE and transaction is None:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING, None
        return error, transaction
