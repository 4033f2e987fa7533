"""The states of a transactional id, and what its coordinator answers in each of them.

    Empty --partition or offsets added--> Ongoing --EndTxn--> PrepareCommit --all markers written--> CompleteCommit
                                             |                                                            |
                                             |          +-- EndTxn abort, time-out, a new producer        |
                                             v          v                                                 v
                                        PrepareEpochFence --> PrepareAbort --markers--> CompleteAbort --> Ongoing ...

The moment of truth is the record PrepareCommit (or PrepareAbort): from then on the transaction's fate is decided, and
whoever coordinates next goes on writing markers until every partition has one. `PrepareEpochFence` is never written: it
holds the place of the abort that is about to be. `Dead` is where an id ends that nobody has used for
`transactional.id.expiration.ms`.

The table below is the whole of it: `transaction.Transaction.prepare` looks nowhere else.
Source: Kafka's TransactionState (transaction-coordinator), KIP-98, KIP-890.
"""

from __future__ import annotations

from enum import Enum


class TransactionState(Enum):
    """State of a transactional id. The value is the name that DescribeTransactions shows.

    EMPTY: a producer has its id and epoch, nothing else.
        InitProducerId: the epoch rises. AddPartitionsToTxn, AddOffsetsToTxn => ONGOING.
        EndTxn: INVALID_TXN_STATE (abort with version 2: a new epoch all the same => PREPARE_ABORT).

    ONGOING: partitions are being written to.
        AddPartitionsToTxn, AddOffsetsToTxn: added. EndTxn => PREPARE_COMMIT or PREPARE_ABORT.
        InitProducerId, time-out => PREPARE_EPOCH_FENCE, and at once PREPARE_ABORT with a higher epoch.

    PREPARE_COMMIT, PREPARE_ABORT: decided; markers are on their way.
        InitProducerId, AddPartitionsToTxn, the same EndTxn again: CONCURRENT_TRANSACTIONS, come again.
        The other EndTxn: INVALID_TXN_STATE. All markers written => COMPLETE_COMMIT, COMPLETE_ABORT.

    COMPLETE_COMMIT, COMPLETE_ABORT: as EMPTY, with a memory.
        The same EndTxn again: NONE (its answer was lost); the other: INVALID_TXN_STATE.

    DEAD: being forgotten.
        A tombstone is being written; then nobody knows the id.
    """

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"


EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT = tuple(TransactionState)[:4]
COMPLETE_COMMIT, COMPLETE_ABORT, DEAD, PREPARE_EPOCH_FENCE = tuple(TransactionState)[4:]

BY_NUMBER: tuple[TransactionState, ...] = tuple(TransactionState)
"""By the number that stands in records: Empty is 0."""

VALID_PREVIOUS_STATES: dict[TransactionState, tuple[TransactionState, ...]] = {
    EMPTY: (EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT),
    ONGOING: (ONGOING, EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT),
    PREPARE_COMMIT: (ONGOING,),
    PREPARE_ABORT: (ONGOING, PREPARE_EPOCH_FENCE, EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT),
    COMPLETE_COMMIT: (PREPARE_COMMIT,),
    COMPLETE_ABORT: (PREPARE_ABORT,),
    DEAD: (EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT),
    PREPARE_EPOCH_FENCE: (ONGOING,),
}

PREPARED = (PREPARE_COMMIT, PREPARE_ABORT)
AT_REST = (EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT)
"""No transaction is open: the id may expire, a producer may begin."""


class IllegalTransition(AssertionError):
    """A transactional id was asked to do a step that the table does not have: always a bug of the coordinator."""


def check_transition(before: TransactionState, after: TransactionState) -> None:
    """Raises IllegalTransition unless the table allows `before` -> `after`."""
    if before not in VALID_PREVIOUS_STATES[after]:
        raise IllegalTransition(f"a transactional id cannot go from {before.value} to {after.value}")
