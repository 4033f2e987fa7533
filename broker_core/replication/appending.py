"""Produce: append to the leader's log, then wait for as many replicas as the producer asked for.

| acks | answered when                                  | what a crash of the leader can take |
|------|------------------------------------------------|-------------------------------------|
| 0    | never (the caller drops the result)            | everything not replicated yet       |
| 1    | the leader has appended                        | everything not replicated yet       |
| -1   | every replica of the ISR has it (`all`)        | nothing, while one of them lives    |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from broker_core.kernel.errors import StorageError
from broker_core.kernel.storage import Buffer
from broker_core.log.errors import LogError
from broker_core.purgatory.operations import DelayedOperationPurgatory
from broker_core.records.errors import RecordsError
from broker_core.replication.delayed_produce import DelayedProduce
from broker_core.replication.errors import ReplicaError, error_code
from broker_core.replication.partition import Partition
from broker_core.wire.errors import NONE, ErrorCode

ALL, LEADER_ONLY, NO_ANSWER = -1, 1, 0
VALID_ACKS = (NO_ANSWER, LEADER_ONLY, ALL)

WHOLLY_UNFIT = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.CORRUPT_MESSAGE, ErrorCode.KAFKA_STORAGE_ERROR,
)  # fmt: skip

Done = Callable[[Any, Any], None]


class PartitionProduceResult:
    """What one partition answers. `base_offset` -1 and `log_append_time` -1 when there is none."""

    __slots__ = (
        "topic", "partition", "error_code", "base_offset", "log_append_time", "log_start_offset", "error_message",
        "record_errors", "last_offset", "leader_id", "leader_epoch",
    )  # fmt: skip

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.error_code = NONE
        self.base_offset = -1
        self.last_offset = -1
        self.log_append_time = -1
        self.log_start_offset = -1
        self.error_message: str | None = None
        self.record_errors: list[tuple[int, str | None]] = []
        self.leader_id = -1
        self.leader_epoch = -1

    def fail(self, code: ErrorCode, message: str | None = None) -> None:
        """Turn it into an error; the offset of what was appended stays, as in Kafka."""
        self.error_code = code
        self.error_message = message


class Appending:
    """Serves appends of one broker."""

    def __init__(
        self,
        partitions: dict[tuple[str, int], Partition],
        purgatory: DelayedOperationPurgatory,
        missing: Callable[[str, int], ErrorCode],
        storage_failed: Callable[[Partition | None, StorageError], None],
    ) -> None:
        self.partitions = partitions
        self.purgatory = purgatory
        self.missing = missing
        self.storage_failed = storage_failed

    def append(
        self, timeout_ms: int, acks: int, entries: Sequence[tuple[str, int, Any]], done: Done, context: Any,
        origin: str = "client",
    ) -> None:  # fmt: skip
        """Append; later, or before this returns, `done(context, list of PartitionProduceResult)`."""
        results: list[PartitionProduceResult] = []
        if acks not in VALID_ACKS:
            done(context, [self._refused(topic, index) for topic, index, _ in entries])
            return
        pending: dict[Partition, tuple[int, PartitionProduceResult]] = {}
        for topic, index, records in entries:
            result = PartitionProduceResult(topic, index)
            results.append(result)
            partition = self._append_one(result, records, acks, origin)
            if partition is not None and acks == ALL:
                pending[partition] = (result.last_offset + 1, result)
        if not pending:
            done(context, results)
            return
        operation = DelayedProduce(pending, results, done, context)
        if not operation.try_complete():
            self.purgatory.watch(operation, [*pending], timeout_ms)

    def _refused(self, topic: str, index: int) -> PartitionProduceResult:
        result = PartitionProduceResult(topic, index)
        result.fail(ErrorCode.INVALID_REQUIRED_ACKS)
        return result

    def _append_one(
        self, result: PartitionProduceResult, records: Buffer, acks: int, origin: str
    ) -> Partition | None:
        """Append to one partition; None when it was refused, with the error in the result."""
        partition = self.partitions.get((result.topic, result.partition))
        if partition is None:
            result.fail(self.missing(result.topic, result.partition))
            return None
        try:
            info = partition.append_as_leader(records, acks, origin)
        except (ReplicaError, LogError, RecordsError) as error:
            self._fail(result, partition, error)
            return None
        except StorageError as error:
            result.fail(ErrorCode.KAFKA_STORAGE_ERROR)
            self.storage_failed(partition, error)
            return None
        result.base_offset = info.first_offset
        result.last_offset = info.last_offset
        result.log_append_time = info.log_append_time
        result.log_start_offset = info.log_start_offset
        return partition

    def _fail(self, result: PartitionProduceResult, partition: Partition, error: Exception) -> None:
        """Kafka explains only the records that it refuses, and tells the log start unless the whole batch is unfit."""
        code = error_code(error)
        faults = getattr(error, "faults", ())
        result.fail(code, error.reason if faults and isinstance(error, RecordsError) else None)
        result.record_errors = list(faults)
        if code not in WHOLLY_UNFIT:
            result.log_start_offset = partition.log.log_start_offset
        if code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            result.leader_id, result.leader_epoch = partition.leader_id, partition.leader_epoch
