"""Produce: append to the leader's log, then wait for as many replicas as the producer asked for.

| acks | answered when                                  | what a crash of the leader can take |
|------|------------------------------------------------|-------------------------------------|
| 0    | never (the caller drops the result)            | everything not replicated yet       |
| 1    | the leader has appended                        | everything not replicated yet       |
| -1   | every replica of the ISR has it (`all`)        | nothing, while one of them lives    |

A few kilobytes that decompress to much keep a broker busy for long. After `SLICE_WORK` of it the rest of a request
waits for a moment in which others have their turn, as they have in Kafka on the other handler threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import Node
from broker_core.kernel.storage import Buffer
from broker_core.log.errors import LogError
from broker_core.log.facts import AppendInfo
from broker_core.purgatory.operations import DelayedOperationPurgatory
from broker_core.records.errors import RecordsError
from broker_core.records.header import MAGIC_AT
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

NO_GUARD = 0
SLICE_WORK = 8 * 1024 * 1024
_WORK_PER_US = 1024
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


class _Request(NamedTuple):
    """One request on its way: what is left of it, and what came of the rest."""

    timeout_ms: int
    acks: int
    left: list[tuple[str, int, Any]]
    done: Done
    context: Any
    origin: str
    results: list[PartitionProduceResult]
    pending: dict[Partition, tuple[int, PartitionProduceResult]]
    guards: Mapping[tuple[str, int], int] | None
    transaction_version: int

    def guard(self, place: tuple[str, int]) -> int | None:
        """For the batch of one partition; None: nothing has to be verified."""
        return None if self.guards is None else self.guards.get(place, NO_GUARD)


class Appending:
    """Serves appends of one broker."""

    def __init__(
        self,
        node: Node,
        partitions: dict[tuple[str, int], Partition],
        purgatory: DelayedOperationPurgatory,
        missing: Callable[[str, int], ErrorCode],
        storage_failed: Callable[[Partition | None, StorageError], None],
    ) -> None:
        self.node = node
        self.partitions = partitions
        self.purgatory = purgatory
        self.missing = missing
        self.storage_failed = storage_failed

    def append(
        self, timeout_ms: int, acks: int, entries: Sequence[tuple[str, int, Any]], done: Done, context: Any,
        origin: str = "client", guards: Mapping[tuple[str, int], int] | None = None, transaction_version: int = 0,
    ) -> None:  # fmt: skip
        """Append; later, or before this returns, `done(context, list of PartitionProduceResult)`.

        `guards`: of the batches that may begin a transaction (see `log.transactions`); None: nothing is verified.
        """
        if acks not in VALID_ACKS:
            done(context, [self._refused(topic, index) for topic, index, _ in entries])
            return
        left = [*reversed(entries)]
        self._go_on(
            _Request(timeout_ms, acks, left, done, context, origin, [], {}, guards, transaction_version)
        )

    def _go_on(self, request: _Request) -> None:
        left, results, pending, acks = request.left, request.results, request.pending, request.acks
        work = 0
        while left:
            topic, index, records = left.pop()
            result = PartitionProduceResult(topic, index)
            results.append(result)
            partition = self.partitions.get((topic, index))
            if partition is None:
                result.fail(self.missing(topic, index))
                continue
            rules = partition.log.rules
            before = rules.work
            if self._append_one(partition, result, records, request) and acks == ALL:
                pending[partition] = (result.last_offset + 1, result)
            work += rules.work - before
            if work > SLICE_WORK and left:
                self.node.after(work // _WORK_PER_US, self._go_on, request)
                return
        self._appended(request)

    def _appended(self, request: _Request) -> None:
        done, context, results, pending = request.done, request.context, request.results, request.pending
        if not pending:
            done(context, results)
            return
        operation = DelayedProduce(pending, results, done, context)
        if not operation.try_complete():
            self.purgatory.watch(operation, [*pending], request.timeout_ms)

    def _refused(self, topic: str, index: int) -> PartitionProduceResult:
        result = PartitionProduceResult(topic, index)
        result.fail(ErrorCode.INVALID_REQUIRED_ACKS)
        return result

    def _append_one(
        self, partition: Partition, result: PartitionProduceResult, records: Buffer, request: _Request
    ) -> bool:
        """Append to one partition; False when it was refused, with the error in the result."""
        rules = partition.log.rules
        converted = rules.converted
        try:
            guard = request.guard((result.topic, result.partition))
            info = partition.append_as_leader(
                records, request.acks, request.origin, guard, request.transaction_version
            )
        except (ReplicaError, LogError, RecordsError) as error:
            self._fail(result, partition, error)
            return False
        except StorageError as error:
            result.fail(ErrorCode.KAFKA_STORAGE_ERROR)
            self.storage_failed(partition, error)
            return False
        if rules.converted != converted:
            _tell_of_conversion(partition, records, info)
        result.base_offset = info.first_offset
        result.last_offset = info.last_offset
        result.log_append_time = info.log_append_time
        result.log_start_offset = info.log_start_offset
        return True

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


def _tell_of_conversion(partition: Partition, records: Buffer, info: AppendInfo) -> None:
    """Client and log are of different formats, or a wrapper had to be packed anew: what stands in the log is not what
    was sent."""
    host, count = partition.host, info.last_offset - info.first_offset + 1
    host.meters.produce_conversions += count
    host.node.note(events.RECORDS_CONVERTED, {
        "topic": partition.topic, "partition": partition.index, "api": "Produce", "records": count,
        "magic_from": records[MAGIC_AT], "magic_to": partition.log.rules.magic, "bytes_before": len(records),
        "bytes_after": info.bytes,
    })  # fmt: skip
