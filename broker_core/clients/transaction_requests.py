"""What a transactional producer asks its coordinators, and what their errors mean to it.

| request | goes to | version 1 | version 2 (KIP-890 part 2) |
|---|---|---|---|
| InitProducerId | transaction coordinator | id and epoch | the same |
| AddPartitionsToTxn | transaction coordinator | before the first record to a partition | never: the leader adds it |
| AddOffsetsToTxn | transaction coordinator | before offsets of a group | never: the group coordinator does |
| TxnOffsetCommit | group coordinator | 4: the offsets | 5: and adds itself |
| EndTxn | transaction coordinator | 4 | 5: the answer holds the epoch of the next transaction |

Requests wait in a queue and go one at a time, in the order of their priority: EndTxn behind everything else, a new
epoch behind EndTxn. (Java client: the handlers of `TransactionManager`.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from broker_core.clients.connections import error_of
from broker_core.clients.metadata import TopicPartition
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode as E

FIRST, INITIALIZE, ADD, END, BUMP = range(5)
"""Priorities."""
ABORTED_BY_IT = (E.UNKNOWN_PRODUCER_ID, E.INVALID_PRODUCER_ID_MAPPING)
MOVED = (E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR)
OF_A_GROUP = (E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION, E.FENCED_INSTANCE_ID, E.GROUP_AUTHORIZATION_FAILED)


class Verdict(Enum):
    """What follows on an answer."""

    DONE = "done"
    AGAIN = "again"
    LOOK_UP = "look up"  # the coordinator first, then again
    ABORT = "abort"  # this transaction is over, the producer goes on
    FATAL = "fatal"  # the producer is over


@dataclass(slots=True)
class Question:
    """One request on its way, or waiting for its turn. `group`: whose coordinator it goes to, else the transaction's.

    body: made anew for every try. answered: called once it is through. failed: called with the error when it is given
    up. version: the highest that may be spoken.
    """

    api: int
    priority: int
    body: Callable[[], Any]
    answered: Callable[[Any], None]
    failed: Callable[[str], None]
    group: str = ""
    version: int | None = None
    tries: int = 0


def verdict(api: int, error: E) -> Verdict:
    """What an error in the answer to `api` means."""
    if error == E.NONE:
        return Verdict.DONE
    if error in MOVED or (api == ApiKey.TXN_OFFSET_COMMIT and error == E.REQUEST_TIMED_OUT):
        return Verdict.LOOK_UP
    if error.retriable and not (api == ApiKey.ADD_PARTITIONS_TO_TXN and error == E.OPERATION_NOT_ATTEMPTED):
        return Verdict.AGAIN
    if error == E.TRANSACTION_ABORTABLE:
        return Verdict.ABORT
    if api in (ApiKey.INIT_PRODUCER_ID, ApiKey.TXN_OFFSET_COMMIT) and error in ABORTED_BY_IT:
        return Verdict.FATAL
    if error in ABORTED_BY_IT or (api == ApiKey.TXN_OFFSET_COMMIT and error in OF_A_GROUP):
        return Verdict.ABORT
    fences = error in (E.INVALID_PRODUCER_EPOCH, E.PRODUCER_FENCED, E.INVALID_TXN_STATE)
    if api == ApiKey.ADD_PARTITIONS_TO_TXN and not fences and error != E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return Verdict.ABORT
    return Verdict.FATAL


def error_in(api: int, response: Any) -> E:
    """The error that decides: of several partitions the first that is not OPERATION_NOT_ATTEMPTED."""
    if api == ApiKey.ADD_PARTITIONS_TO_TXN:
        topics = response.results_by_topic_v3_and_below
        found = [error_of(one.partition_error_code) for topic in topics for one in topic.results_by_partition]
    elif api == ApiKey.TXN_OFFSET_COMMIT:
        found = [error_of(one.error_code) for topic in response.topics for one in topic.partitions]
    else:
        return error_of(response.error_code)
    wrong = [*(error for error in found if error not in (E.NONE, E.OPERATION_NOT_ATTEMPTED)), *found, E.NONE]
    return next((error for error in wrong if error != E.NONE), E.NONE)


class Sequences(Protocol):
    """The sequence numbers: `begin` takes an id and epoch and starts them all at 0."""

    producer_id: int
    epoch: int

    def begin(self, producer_id: int, epoch: int) -> None: ...


def initialize(name: str, sequences: Sequences, timeout_ms: int, bump: bool) -> Any:
    """InitProducerId; `bump`: for the next epoch of the id that there is."""
    return m.InitProducerIdRequest(
        transactional_id=name, transaction_timeout=timeout_ms,
        producer_id=sequences.producer_id if bump else -1, producer_epoch=sequences.epoch if bump else -1,
    )  # fmt: skip


def end(name: str, sequences: Sequences, committed: bool) -> Any:
    """EndTxn."""
    return m.EndTxnRequest(
        transactional_id=name, producer_id=sequences.producer_id, producer_epoch=sequences.epoch, committed=committed
    )


def add_group(name: str, sequences: Sequences, group: str) -> Any:
    """AddOffsetsToTxn."""
    return m.AddOffsetsToTxnRequest(
        transactional_id=name, producer_id=sequences.producer_id, producer_epoch=sequences.epoch, group_id=group
    )


def add_partitions(name: str, sequences: Sequences, partitions: list[TopicPartition]) -> Any:
    """AddPartitionsToTxn as clients speak it."""
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    kind = m.AddPartitionsToTxnRequest
    return kind(
        v3_and_below_transactional_id=name, v3_and_below_producer_id=sequences.producer_id,
        v3_and_below_producer_epoch=sequences.epoch,
        v3_and_below_topics=[kind.AddPartitionsToTxnTopic(name=one, partitions=n) for one, n in topics.items()],
    )  # fmt: skip


@dataclass(slots=True)
class GroupOffsets:
    """Offsets that are to count if the transaction does, and the member of the group that has read so far."""

    group: str
    offsets: dict[TopicPartition, int]
    generation: int = -1
    member_id: str = ""
    instance_id: str | None = None


def commit_offsets(name: str, sequences: Sequences, what: GroupOffsets) -> Any:
    """TxnOffsetCommit."""
    kind = m.TxnOffsetCommitRequest
    topics: dict[str, list[Any]] = {}
    for (topic, number), offset in what.offsets.items():
        one = kind.TxnOffsetCommitRequestPartition(
            partition_index=number, committed_offset=offset, committed_leader_epoch=-1, committed_metadata=""
        )
        topics.setdefault(topic, []).append(one)
    return kind(
        transactional_id=name, group_id=what.group, producer_id=sequences.producer_id,
        producer_epoch=sequences.epoch,
        generation_id=what.generation, member_id=what.member_id, group_instance_id=what.instance_id,
        topics=[kind.TxnOffsetCommitRequestTopic(name=one, partitions=found) for one, found in topics.items()],
    )  # fmt: skip
