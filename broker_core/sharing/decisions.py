"""What a request to the share coordinator does: state -> records and an answer. Nothing is changed here.

| request     | of whom                                 | written                                                  |
|-------------|-----------------------------------------|----------------------------------------------------------|
| Initialize  | the group coordinator: a topic is new   | a snapshot with a start offset (-1: the leader's choice) |
| Read        | a partition's leader that begins        | an update with its leader epoch, when that is new        |
| Write       | that leader: records changed their state | an update, or a snapshot after enough updates           |
| Delete      | the group coordinator                   | a tombstone                                              |
| ReadSummary | the group coordinator, for tools        | nothing                                                  |

A leader says its leader epoch: one that does not know yet that it leads no longer is fenced. So it is with the state
epoch, which the group gives each time it initializes a share-partition.
Source: ShareCoordinatorShard of 4.3, in whose words requests are refused.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from broker_core.sharing.batches import UNINITIALIZED_START, UNKNOWN_COUNT, batches_of, combined
from broker_core.sharing.records import Record, ShareKey, listed
from broker_core.sharing.state import NO_CHANGE, ShareState, ShareStates, snapshot_record, tombstone, update_record
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

PartitionCount = Callable[[uuid.UUID], int | None]
"""How many partitions the topic of this id has; None: there is no such topic."""


class ShareStateRefused(Exception):
    """A request that is answered with an error; nothing has changed."""

    def __init__(self, error: ErrorCode, message: str | None = None) -> None:
        super().__init__(message)
        self.error = error
        self.message = error.message if message is None else message


class Decision(NamedTuple):
    """Records, and the answer about one share-partition."""

    records: list[Record]
    result: Any


class Decisions:
    """Decides for all share-partitions of a coordinator."""

    def __init__(self, partition_count: PartitionCount, limit: int) -> None:
        self.partition_count = partition_count
        self.limit = limit

    def initialize(self, states: ShareStates, key: ShareKey, said: Any, now_ms: int) -> Decision:
        """InitializeShareGroupState of one partition. Raises ShareStateRefused."""
        _check_partition(key)
        before = states.states.get(key)
        _check_state_epoch(before, said.state_epoch)
        self._check_topic(key)
        after = ShareState(
            0 if before is None else before.snapshot_epoch + 1, said.state_epoch, 0, said.start_offset,
            UNKNOWN_COUNT if said.start_offset == UNINITIALIZED_START else 0, (), now_ms, now_ms,
        )  # fmt: skip
        result = m.InitializeShareGroupStateResponse.PartitionResult(partition=key.partition)
        return Decision([snapshot_record(key, after)], result)

    def write(self, states: ShareStates, key: ShareKey, said: Any, now_ms: int) -> Decision:
        """WriteShareGroupState of one partition. Raises ShareStateRefused."""
        _check_partition(key)
        before = states.states.get(key)
        if before is None:
            words = "Write operation on uninitialized share partition not allowed."
            raise ShareStateRefused(ErrorCode.INVALID_REQUEST, words)
        if said.leader_epoch != NO_CHANGE and before.newest_leader > said.leader_epoch:
            raise ShareStateRefused(ErrorCode.FENCED_LEADER_EPOCH)
        _check_state_epoch(before, said.state_epoch)
        self._check_topic(key)
        start, completed = said.start_offset, said.delivery_complete_count
        record = self._changed(key, before, before.leader_epoch, start, completed, said.state_batches, now_ms)
        return Decision([record], m.WriteShareGroupStateResponse.PartitionResult(partition=key.partition))

    def read(self, states: ShareStates, key: ShareKey, said: Any, now_ms: int) -> Decision:
        """ReadShareGroupState of one partition: a leader begins, and fences those before it. Raises
        ShareStateRefused."""
        _check_partition(key)
        before = states.states.get(key)
        if before is None:
            words = "Read operation on uninitialized share partition not allowed."
            raise ShareStateRefused(ErrorCode.INVALID_REQUEST, words)
        if before.newest_leader > said.leader_epoch:
            raise ShareStateRefused(ErrorCode.FENCED_LEADER_EPOCH)
        self._check_topic(key)
        kind = m.ReadShareGroupStateResponse
        result = kind.PartitionResult(
            partition=key.partition, state_epoch=before.state_epoch, start_offset=before.start,
            state_batches=listed(kind.StateBatch, before.batches),
        )  # fmt: skip
        if said.leader_epoch in (NO_CHANGE, before.newest_leader):
            return Decision([], result)
        record = self._changed(key, before, said.leader_epoch, before.start, before.completed, (), now_ms)
        return Decision([record], result)

    def summarize(self, states: ShareStates, key: ShareKey, said: Any, now_ms: int) -> Decision:
        """ReadShareGroupStateSummary of one partition. Raises ShareStateRefused."""
        _check_partition(key)
        self._check_topic(key)
        found = states.states.get(key) or ShareState()
        result = m.ReadShareGroupStateSummaryResponse.PartitionResult(
            partition=key.partition, state_epoch=found.state_epoch, leader_epoch=found.leader_epoch,
            start_offset=found.start, delivery_complete_count=found.completed,
        )  # fmt: skip
        return Decision([], result)

    def delete(self, states: ShareStates, key: ShareKey, said: Any, now_ms: int) -> Decision:
        """DeleteShareGroupState of one partition; what is not there needs none. Raises ShareStateRefused."""
        _check_partition(key)
        self._check_topic(key)
        result = m.DeleteShareGroupStateResponse.PartitionResult(partition=key.partition)
        return Decision([tombstone(key)] if key in states.states else [], result)

    def _changed(
        self, key: ShareKey, before: ShareState, leader_epoch: int, start: int, completed: int, told: Any, now_ms: int
    ) -> Record:
        """An update; a snapshot instead, when there have been enough of them. The start of a share-partition never goes
        back: a write that was sent again may come behind a younger one (Kafka since `Honor higher start offset value in
        share write state`, pull request 23074)."""
        new = batches_of(told)
        start = start if start == NO_CHANGE else max(before.start, start)
        if before.updates < self.limit:
            return update_record(key, before, leader_epoch, start, completed, combined((), new, start))
        start = before.start if start == NO_CHANGE else start
        after = replace(
            before, snapshot_epoch=before.snapshot_epoch + 1, leader_epoch=leader_epoch, start=start,
            completed=completed, batches=combined(before.batches, new, start), created_ms=now_ms, written_ms=now_ms,
        )  # fmt: skip
        return snapshot_record(key, after)

    def _check_topic(self, key: ShareKey) -> None:
        count = self.partition_count(key.topic_id)
        if count is None or count <= key.partition:
            raise ShareStateRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _check_partition(key: ShareKey) -> None:
    if key.partition < 0:
        raise ShareStateRefused(ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")


def _check_state_epoch(before: ShareState | None, epoch: int) -> None:
    if epoch != NO_CHANGE and before is not None and before.newest_state > epoch:
        raise ShareStateRefused(ErrorCode.FENCED_STATE_EPOCH)
