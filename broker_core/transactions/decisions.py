"""What a transaction coordinator decides: pure functions from what is known of an id, and what is asked, to what is to
be written (`Stored`), or to the error that is answered instead. ErrorCode.NONE as such means: it is so already.

Who may speak for a transactional id is decided by two numbers in each request, producer id and epoch:

| request                    | producer id differs         | epoch differs                                   |
|----------------------------|-----------------------------|-------------------------------------------------|
| AddPartitionsToTxn, EndTxn | INVALID_PRODUCER_ID_MAPPING | PRODUCER_FENCED: another process has taken over |
| InitProducerId without     | -                           | the epoch rises: who had the last one is fenced |
| InitProducerId with them   | PRODUCER_FENCED             | the last one, repeated: the same answer         |
| (KIP-360)                  |                             | else PRODUCER_FENCED                            |

Source: TransactionCoordinator, TransactionMetadata (3.9, 4.x); KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from broker_core.transactions.states import (
    AT_REST,
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    DEAD,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    PREPARE_EPOCH_FENCE,
    PREPARED,
)
from broker_core.transactions.transaction import (
    LARGEST_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIME,
    VERSION_2,
    Stored,
    TopicPartition,
    Transaction,
    epoch_exhausted,
)
from broker_core.wire.errors import ErrorCode

NextId = Callable[[], int | None]
"""Takes a producer id; None while there is none (the answer is then COORDINATOR_LOAD_IN_PROGRESS)."""


class Producer(NamedTuple):
    """Who asks: producer id and epoch."""

    producer_id: int
    epoch: int


def created(producer_id: int, timeout_ms: int, now_ms: int) -> Stored:
    """An id that nobody has used: it has no epoch yet."""
    return Stored(
        producer_id, NO_PRODUCER_ID, NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_PRODUCER_EPOCH, timeout_ms, EMPTY, (),
        NO_TIME, now_ms,
    )  # fmt: skip


# --- InitProducerId -----------------------------------------------------------------------------


def init_producer_id(
    transaction: Transaction, expected: Producer | None, timeout_ms: int, next_id: NextId, now_ms: int
) -> Stored | ErrorCode:
    """The next epoch for the producer that asks; `expected`: what it says that it has (KIP-360).

    A. something is being written, or markers are: CONCURRENT_TRANSACTIONS, whoever asks
    B. it had an id that is not, and was not, this one's: PRODUCER_FENCED
    C. a transaction is open: it is aborted first (the state PrepareEpochFence), the producer comes again
    D. all epochs are used: another producer id
    E. the next epoch; where there is none (who asks has not heard that all are used), Kafka says UNKNOWN_SERVER_ERROR
    """
    stored = transaction.stored
    if transaction.pending is not None or stored.state in PREPARED:
        return ErrorCode.CONCURRENT_TRANSACTIONS  # A
    if expected is not None and not _may_continue(stored, expected):
        return ErrorCode.PRODUCER_FENCED  # B
    if stored.state is ONGOING:
        return fence(transaction)  # C
    if stored.epoch_exhausted and (expected is None or expected.epoch == stored.producer_epoch):
        replacement = next_id()
        if replacement is None:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        last = NO_PRODUCER_EPOCH if expected is None else stored.producer_epoch
        return _empty(stored, replacement, 0, last, timeout_ms, now_ms)  # D
    if stored.epoch_exhausted:
        return ErrorCode.UNKNOWN_SERVER_ERROR  # E
    return _raised(stored, expected, timeout_ms, now_ms)  # E


def _may_continue(stored: Stored, expected: Producer) -> bool:
    """New here; or the same producer id; or the one before, when its epochs were used up (the answer was lost)."""
    if stored.producer_epoch == NO_PRODUCER_EPOCH or expected.producer_id == stored.producer_id:
        return True
    return expected.producer_id == stored.previous_producer_id and epoch_exhausted(expected.epoch)


def _raised(stored: Stored, expected: Producer | None, timeout_ms: int, now_ms: int) -> Stored | ErrorCode:
    """Without `expected`, whoever had the last epoch is fenced. With it, only who has the epoch goes on."""
    epoch, before = stored.producer_epoch, stored.producer_epoch
    if expected is None:
        epoch, before = epoch + 1, NO_PRODUCER_EPOCH
    elif epoch == NO_PRODUCER_EPOCH or expected.epoch == epoch:
        epoch += 1
    elif expected.epoch == stored.last_epoch:
        before = stored.last_epoch  # repeated: the same answer
    else:
        return ErrorCode.PRODUCER_FENCED
    return _empty(stored, stored.producer_id, epoch, before, timeout_ms, now_ms)


def _empty(stored: Stored, producer_id: int, epoch: int, last: int, timeout_ms: int, now_ms: int) -> Stored:
    return Stored(
        producer_id, stored.producer_id, NO_PRODUCER_ID, epoch, last, timeout_ms, EMPTY, (), NO_TIME, now_ms
    )


def fence(transaction: Transaction) -> Stored:
    """A higher epoch for the abort of an open transaction: its producer cannot write any more."""
    stored = transaction.stored
    assert transaction.failed_fence or stored.producer_epoch < LARGEST_EPOCH
    epoch = stored.producer_epoch if transaction.failed_fence else stored.producer_epoch + 1
    return stored._replace(state=PREPARE_EPOCH_FENCE, producer_epoch=epoch, last_epoch=NO_PRODUCER_EPOCH)


# --- AddPartitionsToTxn, AddOffsetsToTxn ----------------------------------------------------------


def add_partitions(
    transaction: Transaction, producer: Producer, partitions: Iterable[TopicPartition], version: int, now_ms: int
) -> Stored | ErrorCode:
    """The transaction with these partitions, too; the first ones begin it.

    With version 2 the producer may have an id already that takes over when the one before is done: it comes again.
    """
    stored = transaction.stored
    busy = transaction.pending is not None or stored.state in PREPARED
    error = _refused(stored, producer)
    if busy and (version >= VERSION_2 or error is ErrorCode.NONE):
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if error is not ErrorCode.NONE:
        return error
    known = dict.fromkeys(stored.partitions)
    together = tuple({**known, **dict.fromkeys(partitions)})
    if stored.state is ONGOING and len(together) == len(known):
        return ErrorCode.NONE
    return stored._replace(
        state=ONGOING, previous_producer_id=stored.producer_id, partitions=together, updated_ms=now_ms,
        started_ms=now_ms if stored.state in AT_REST else stored.started_ms, client_version=version,
    )  # fmt: skip


def verify_partitions(
    transaction: Transaction, producer: Producer, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """Whether each of these belongs to the producer's transaction: asked by their leaders (KIP-890, part 1)."""
    error = _refused(transaction.stored, producer)
    if error is ErrorCode.NONE and transaction.state in PREPARED:
        error = ErrorCode.CONCURRENT_TRANSACTIONS
    if error is not ErrorCode.NONE:
        return dict.fromkeys(partitions, error)
    mine = dict.fromkeys(transaction.stored.partitions)
    return {one: ErrorCode.NONE if one in mine else ErrorCode.TRANSACTION_ABORTABLE for one in partitions}


def _refused(stored: Stored, producer: Producer) -> ErrorCode:
    if stored.producer_id != producer.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    return ErrorCode.NONE if stored.producer_epoch == producer.epoch else ErrorCode.PRODUCER_FENCED


# --- EndTxn ---------------------------------------------------------------------------------------


def end(
    transaction: Transaction, producer: Producer, commit: bool, client: bool, version: int, next_id: NextId, now_ms: int
) -> Stored | ErrorCode:
    """Commit or abort. `client`: asked by one; else by this coordinator, to fence. `version`: the transaction version.

    A. another producer id, or an epoch that is not valid here
    B. something else is being written: CONCURRENT_TRANSACTIONS
    C. open: decided now; with version 2 the epoch rises (and the producer id changes when the epochs are used up)
    D. decided already, the same way: CONCURRENT_TRANSACTIONS while markers are written, then NONE
    E. version 2 aborts what has not begun: a new epoch, so that a batch which is still on its way is refused
    F. anything else: INVALID_TXN_STATE
    """
    stored = transaction.stored
    repeated = _repeated(transaction, producer, version)
    if stored.producer_id != producer.producer_id and not repeated:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING  # A
    if not _valid_epoch(transaction, producer, repeated, client, version):
        return ErrorCode.PRODUCER_FENCED  # A
    if transaction.pending is not None and not transaction.fencing:
        return ErrorCode.CONCURRENT_TRANSACTIONS  # B
    if stored.state is ONGOING:
        return _decided(transaction, producer, commit, version, next_id, now_ms)  # C
    bumps = version >= VERSION_2
    if stored.state in (PREPARE_COMMIT, COMPLETE_COMMIT, PREPARE_ABORT, COMPLETE_ABORT):
        same = commit == (stored.state in (PREPARE_COMMIT, COMPLETE_COMMIT))
        if same and (repeated or not bumps):
            return ErrorCode.CONCURRENT_TRANSACTIONS if stored.state in PREPARED else ErrorCode.NONE  # D
    if bumps and not commit and not repeated and stored.state in AT_REST:
        return _decided(transaction, producer, commit, version, next_id, now_ms)  # E
    return ErrorCode.INVALID_TXN_STATE  # F


def _repeated(transaction: Transaction, producer: Producer, version: int) -> bool:
    """Whether this EndTxn of version 2 was answered before: the epoch has risen by one, or a new id has taken over.

    Which version ended the transaction is not asked: as in Kafka.
    """
    stored = transaction.stored
    if transaction.fencing or version < VERSION_2:
        return False
    if stored.producer_id == producer.producer_id:
        return stored.producer_epoch == producer.epoch + 1
    replaced = stored.previous_producer_id == producer.producer_id and stored.producer_epoch == 0
    return replaced and producer.epoch == LARGEST_EPOCH - 1


def _valid_epoch(transaction: Transaction, producer: Producer, repeated: bool, client: bool, version: int) -> bool:
    stored = transaction.stored
    if version >= VERSION_2 and not transaction.fencing:
        if stored.state in PREPARED:
            return repeated
        return producer.epoch == stored.producer_epoch or (repeated and stored.state not in (EMPTY, ONGOING))
    return producer.epoch == stored.producer_epoch if client else producer.epoch >= stored.producer_epoch


def _decided(
    transaction: Transaction, producer: Producer, commit: bool, version: int, next_id: NextId, now_ms: int
) -> Stored | ErrorCode:
    stored, epoch, last, following = transaction.stored, producer.epoch, transaction.stored.last_epoch, NO_PRODUCER_ID
    if version >= VERSION_2 and stored.epoch_exhausted:
        taken = next_id()
        if taken is None:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        following = taken
    if transaction.fencing:
        # The epoch has been raised already. With version 2 who had the one before may ask for the new one (KIP-588).
        last = epoch - 1 if version >= VERSION_2 else NO_PRODUCER_EPOCH
    elif version >= VERSION_2:
        epoch, last = epoch + 1, epoch
    return stored._replace(
        state=PREPARE_COMMIT if commit else PREPARE_ABORT, previous_producer_id=stored.producer_id,
        next_producer_id=following, producer_epoch=epoch, last_epoch=last, updated_ms=now_ms, client_version=version,
        started_ms=now_ms if stored.state in AT_REST else stored.started_ms,
    )  # fmt: skip


def completed(stored: Stored, now_ms: int) -> Stored:
    """All markers are written. Where the epochs were used up, the next producer id takes over."""
    replaced = stored.bumps_epoch and stored.next_producer_id != NO_PRODUCER_ID
    return stored._replace(
        state=COMPLETE_COMMIT if stored.state is PREPARE_COMMIT else COMPLETE_ABORT,
        producer_id=stored.next_producer_id if replaced else stored.producer_id,
        previous_producer_id=stored.producer_id, next_producer_id=NO_PRODUCER_ID,
        producer_epoch=0 if replaced else stored.producer_epoch,
        partitions=(), updated_ms=now_ms,
    )  # fmt: skip


# --- time -----------------------------------------------------------------------------------------


def timed_out(transaction: Transaction, now_ms: int) -> bool:
    """Whether an open transaction has taken longer than its producer allowed."""
    stored = transaction.stored
    if transaction.pending is not None or stored.state is not ONGOING:
        return False
    return stored.started_ms + stored.timeout_ms < now_ms


def expired(transaction: Transaction, expiration_ms: int, now_ms: int) -> bool:
    """Whether nobody has used the id for so long that it is forgotten."""
    stored = transaction.stored
    return transaction.pending is None and stored.state in AT_REST and stored.updated_ms <= now_ms - expiration_ms


def dead(stored: Stored) -> Stored:
    """The id is being forgotten."""
    return stored._replace(state=DEAD, partitions=())
