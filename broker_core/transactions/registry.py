"""The transactional ids that this broker coordinates: found, written, replayed.

`write` is the only way to change one:

    prepare ---> append to __transaction_state ---> committed: replay, done(NONE)
                                                 -> refused:   nothing has changed, done(error)

and whoever waits is told NOT_COORDINATOR when the partition has moved meanwhile, even if it has come back: what is in
memory by then was read from the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from broker_core.coordinators.runtime import CoordinatorRuntime
from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.transactions.transaction import Stored, Transaction, encode_key, encode_value
from broker_core.wire.errors import ErrorCode

Done = Callable[[Any, ErrorCode], None]
LARGEST_VALUE_VERSION = 1


class _Write:
    """A record of one id that is on its way. `keep`: stay prepared when the log is not available, to try again."""

    __slots__ = ("transaction", "target", "epoch", "reason", "keep", "done", "context")

    def __init__(
        self, transaction: Transaction, target: Stored, epoch: int, reason: str, keep: bool, done: Done, context: Any
    ) -> None:
        self.transaction = transaction
        self.target = target
        self.epoch = epoch
        self.reason = reason
        self.keep = keep
        self.done = done
        self.context = context


class TransactionRegistry:
    """The transactional ids in memory, by partition of `__transaction_state`. `runtime` is set when the coordinator is
    put together; `version` tells the transaction version of the cluster."""

    runtime: CoordinatorRuntime

    def __init__(self, node: Node, config: Mapping[str, Any], version: Callable[[], int]) -> None:
        self.node = node
        self.config = config
        self.version = version
        self.partitions: dict[int, dict[str, Transaction]] = {}

    def find(self, transactional_id: str) -> tuple[ErrorCode, Transaction | None]:
        """The id, None when nobody has used it; or why this broker does not answer for it."""
        error = self.runtime.status(transactional_id)
        if error is not ErrorCode.NONE:
            return error, None
        return error, self.partitions[self.runtime.partition_for(transactional_id)].get(transactional_id)

    def add(self, transaction: Transaction) -> None:
        """A new id; nothing of it is written yet."""
        name = transaction.transactional_id
        self.partitions[self.runtime.partition_for(name)][name] = transaction

    def forget(self, transaction: Transaction) -> None:
        """The id's tombstone is written."""
        name = transaction.transactional_id
        self.partitions[self.runtime.partition_for(name)].pop(name, None)

    def epoch(self, transactional_id: str) -> int:
        """The coordinator epoch of the id: the leader epoch of its partition."""
        return self.runtime.epochs[self.runtime.partition_for(transactional_id)]

    def is_current(self, transaction: Transaction, epoch: int) -> bool:
        """Whether the id has stayed here since it was found with this coordinator epoch."""
        _, found = self.find(transaction.transactional_id)
        return found is transaction and self.epoch(transaction.transactional_id) == epoch

    def all(self) -> Iterator[Transaction]:
        """Every id that is coordinated here."""
        for transactions in list(self.partitions.values()):
            yield from list(transactions.values())

    # --- writing ------------------------------------------------------------------------------------

    def write(
        self, transaction: Transaction, target: Stored, reason: str, done: Done, context: Any, keep: bool = False
    ) -> None:
        """Writes what follows; later, once: `done(context, error)`, NONE when it is committed and replayed."""
        if transaction.pending is not target.state:
            transaction.prepare(target)
        name = transaction.transactional_id
        write = _Write(transaction, target, self.epoch(name), reason, keep, done, context)
        version = min(self.version(), LARGEST_VALUE_VERSION)
        self.runtime.append(name, [(encode_key(name), encode_value(target, version))], self._written, write)

    def _written(self, write: _Write, code: int) -> None:
        transaction, current = write.transaction, self.is_current(write.transaction, write.epoch)
        error = write_error(code)
        if error is ErrorCode.NONE and not current:
            error = self.runtime.status(transaction.transactional_id)
            error = ErrorCode.NOT_COORDINATOR if error is ErrorCode.NONE else error
        elif error is ErrorCode.NONE:
            self._replay(write)
        elif current and not (write.keep and error is ErrorCode.COORDINATOR_NOT_AVAILABLE):
            transaction.give_up()
        write.done(write.context, error)

    def _replay(self, write: _Write) -> None:
        transaction, before = write.transaction, write.transaction.stored
        transaction.replay(write.target)
        after = transaction.stored
        self.node.emit(
            events.TRANSACTION_STATE, transactional_id=transaction.transactional_id, before=before.state.value,
            after=after.state.value, producer_id=after.producer_id, epoch=after.producer_epoch,
            partitions=[f"{topic}-{partition}" for topic, partition in after.partitions], reason=write.reason,
        )  # fmt: skip


def write_error(code: int) -> ErrorCode:
    """What a failed write means to whoever waits for it: come again, look for the coordinator, or an end."""
    return _WRITE_ERRORS.get(code, ErrorCode(code))


_WRITE_ERRORS: dict[int, ErrorCode] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
