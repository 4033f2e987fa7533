"""One transactional id: what its record says, and what is being written about it.

`Stored` is the record, immutable; a decision makes the next one, `Transaction.prepare` marks it as under way, and
only `Transaction.replay` puts it in the place of the last. While one is under way (`pending`) everything else about the
id is told CONCURRENT_TRANSACTIONS, so the records of an id are decided one after the other.

| epochs of one producer id                             | `producer_epoch` |
|-------------------------------------------------------|------------------|
| first InitProducerId                                  | 0                |
| each InitProducerId of another process (a zombie ends) | + 1             |
| a transaction is aborted for a time-out               | + 1              |
| with version 2: each EndTxn (KIP-890)                 | + 1              |
| 32766 is used up                                      | 0 of a new producer id |
"""

from __future__ import annotations

from typing import NamedTuple

from broker_core.coordinators import stored as records
from broker_core.coordinators.stored import Buffer, MalformedRecord, decode, encode, version_of
from broker_core.transactions.states import (
    AT_REST,
    BY_NUMBER,
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    DEAD,
    EMPTY,
    ONGOING,
    PREPARE_EPOCH_FENCE,
    PREPARED,
    IllegalTransition,
    TransactionState,
    check_transition,
)

TopicPartition = tuple[str, int]
NO_PRODUCER_ID = NO_PRODUCER_EPOCH = NO_TIME = -1
LARGEST_EPOCH = 0x7FFF
KEY_VERSION = 0
VERSION_2 = 2
"""The transaction version that has an epoch for each transaction (feature `transaction.version`)."""


class Stored(NamedTuple):
    """What is known of a transactional id. Times in ms since 1970.

    `previous_producer_id`, `last_epoch`: of the producer before the last rise, so that a request which is repeated
    because its answer was lost is recognised. `next_producer_id`: the one to go on with when a transaction of version 2
    has used up the epochs. `client_version`: of the client that wrote the state.
    """

    producer_id: int
    previous_producer_id: int
    next_producer_id: int
    producer_epoch: int
    last_epoch: int
    timeout_ms: int
    state: TransactionState
    partitions: tuple[TopicPartition, ...]
    started_ms: int
    updated_ms: int
    client_version: int = 0

    @property
    def epoch_exhausted(self) -> bool:
        """The largest epoch is kept for fencing: a producer never gets it."""
        return epoch_exhausted(self.producer_epoch)

    @property
    def bumps_epoch(self) -> bool:
        """Whether its client gets a new epoch with each transaction."""
        return self.client_version >= VERSION_2


def epoch_exhausted(epoch: int) -> bool:
    """Whether a producer with this epoch needs another producer id to go on."""
    return epoch >= LARGEST_EPOCH - 1


class Transaction:
    """A transactional id at its coordinator.

    - `pending` is the state that is being written, or None.
    - `failed_fence`: the epoch has been raised here for a fence that could not be written: its producer is fenced all
      the same, and the next fence does not raise it again.
    - `unmarked`: partitions whose marker is still to come, while in PrepareCommit or PrepareAbort.
    """

    __slots__ = ("transactional_id", "stored", "pending", "failed_fence", "unmarked")

    def __init__(self, transactional_id: str, stored: Stored) -> None:
        self.transactional_id = transactional_id
        self.stored = stored
        self.pending: TransactionState | None = None
        self.failed_fence = False
        self.unmarked: dict[TopicPartition, None] = dict.fromkeys(stored.partitions)

    @property
    def state(self) -> TransactionState:
        return self.stored.state

    @property
    def fencing(self) -> bool:
        """Whether an abort with a raised epoch is about to be decided."""
        return self.pending is PREPARE_EPOCH_FENCE

    def prepare(self, target: Stored) -> None:
        """This is going to be written."""
        assert self.pending is None, f"{self.transactional_id}: {self.pending} is being written"
        assert target.producer_id >= 0 and (target.producer_epoch >= 0 or target.state is DEAD)
        check_transition(self.state, target.state)
        self.pending = target.state

    def give_up(self) -> None:
        """What was being written is not in the log, or not yet: nothing has changed."""
        self.pending = None

    def fence_failed(self, epoch: int) -> None:
        """The abort with this raised epoch may or may not get into the log: nobody may write with the one before."""
        self.failed_fence = True
        self.stored = self.stored._replace(producer_epoch=epoch, last_epoch=NO_PRODUCER_EPOCH)

    def replay(self, target: Stored) -> None:
        """What was prepared is committed. Raises IllegalTransition for what cannot follow."""
        if self.pending is not target.state or not _follows(self.stored, target):
            raise IllegalTransition(f"{self.transactional_id}: {self.stored} cannot become {target}")
        if target.state in (COMPLETE_COMMIT, COMPLETE_ABORT):
            self.failed_fence = False
        self.stored = target
        self.pending = None
        self.unmarked = dict.fromkeys(target.partitions)


def _follows(before: Stored, after: Stored) -> bool:
    """Whether numbers and partitions may change so; the states have been compared before."""
    same_producer = (after.producer_id, after.producer_epoch) == (before.producer_id, before.producer_epoch)
    raised = after.producer_id == before.producer_id and after.producer_epoch == before.producer_epoch + 1
    replaced = after.producer_id != before.producer_id and after.producer_epoch == 0
    if after.state is EMPTY:
        return (same_producer or raised or replaced) and not after.partitions and after.started_ms == NO_TIME
    if after.timeout_ms != before.timeout_ms:
        return False
    if after.state is ONGOING:
        return same_producer and all(one in after.partitions for one in before.partitions)
    if after.state in PREPARED:
        at_rest = before.state in AT_REST
        started = after.started_ms == before.started_ms or at_rest
        return (same_producer or raised) and started and (at_rest or after.partitions == before.partitions)
    return (same_producer or (after.bumps_epoch and replaced)) and not after.partitions and after.started_ms != NO_TIME


# --- records ----------------------------------------------------------------------------------


def encode_key(transactional_id: str) -> bytes:
    """Key of an id's record."""
    return encode(records.TransactionLogKey(transactional_id=transactional_id), KEY_VERSION)


def encode_value(one: Stored, version: int) -> bytes:
    """Value of an id's record, version 0, or 1 from transaction version 1 on. An id at Empty has no list at all."""
    topics: dict[str, list[int]] = {}
    for topic, partition in one.partitions:
        topics.setdefault(topic, []).append(partition)
    schema = records.TransactionLogValue.PartitionsSchema
    listed = [schema(topic=topic, partition_ids=numbers) for topic, numbers in topics.items()]
    value = records.TransactionLogValue(
        producer_id=one.producer_id, previous_producer_id=one.previous_producer_id,
        next_producer_id=one.next_producer_id, producer_epoch=one.producer_epoch,
        transaction_timeout_ms=one.timeout_ms, transaction_status=BY_NUMBER.index(one.state),
        transaction_partitions=None if one.state is EMPTY else listed,
        transaction_last_update_timestamp_ms=one.updated_ms, transaction_start_timestamp_ms=one.started_ms,
        client_transaction_version=one.client_version,
    )  # fmt: skip
    return encode(value, version)


def decode_key(data: Buffer | None) -> str | None:
    """The transactional id; None for a kind of record that is not known."""
    if version_of(data) != KEY_VERSION or data is None:
        return None
    found: str = decode(records.TransactionLogKey, data)[0].transactional_id
    return found


def decode_value(data: Buffer) -> Stored:
    """What a record of any version says. Raises MalformedRecord."""
    value, _ = decode(records.TransactionLogValue, data)
    if not 0 <= value.transaction_status < len(BY_NUMBER):
        raise MalformedRecord(f"transaction status {value.transaction_status} is not known")
    listed = value.transaction_partitions or ()
    return Stored(
        value.producer_id, value.previous_producer_id, value.next_producer_id, value.producer_epoch, NO_PRODUCER_EPOCH,
        value.transaction_timeout_ms, BY_NUMBER[value.transaction_status],
        tuple((topic.topic, number) for topic in listed for number in topic.partition_ids),
        value.transaction_start_timestamp_ms, value.transaction_last_update_timestamp_ms,
        value.client_transaction_version,
    )  # fmt: skip
