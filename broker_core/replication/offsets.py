"""Questions about offsets: ListOffsets, OffsetsForLeaderEpoch, DeleteRecords.

ListOffsets timestamps below zero are names:

| timestamp | asks for                                                                     |
|-----------|------------------------------------------------------------------------------|
| -1        | the end: high watermark for a consumer (last stable offset with read_committed), log end for a follower |
| -2        | the log start                                                                |
| -3        | the record with the largest timestamp (KIP-734)                              |
| -4        | the local log start (KIP-405; the log start without tiered storage)          |
| -5        | the last offset in remote storage (KIP-1005): none                            |
| -6        | the first that is still to be copied there (KIP-1023): none                   |
| t >= 0    | the first record with a timestamp >= t; -1 when there is none below the end  |

A log that is written in magic 0 cannot be asked for times: UNSUPPORTED_FOR_MESSAGE_FORMAT (KIP-79).

Right after an election the new leader's high watermark may lie before the start of its epoch. A
consumer that asked then would see the end go backwards, so it gets OFFSET_NOT_AVAILABLE (KIP-207).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.log.errors import LogError
from broker_core.metadata.topic_names import is_internal
from broker_core.purgatory.operations import DelayedOperation
from broker_core.replication.errors import ReplicaError, error_code
from broker_core.replication.partition import Partition, PartitionHost
from broker_core.replication.reading import READ_COMMITTED
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6
FIRST_VERSIONS = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING: 11}
CONSUMER, DEBUGGING = -1, -2
HIGH_WATERMARK = -1  # DeleteRecords: "everything below the high watermark"
FIRST_ERROR_VERSION_OF_OFFSET_NOT_AVAILABLE = 5
Done = Callable[[Any, Any], None]
Found = tuple[int, int, int]  # offset, timestamp, leader epoch


class Offsets:
    """Serves questions about offsets of one broker."""

    def __init__(
        self,
        host: PartitionHost,
        partitions: dict[tuple[str, int], Partition],
        missing: Callable[[str, int], ErrorCode],
    ) -> None:
        self.host = host
        self.partitions = partitions
        self.missing = missing

    def _partition(self, topic: str, index: int, leader_epoch: int, leader_only: bool = True) -> Partition:
        partition = self.partitions.get((topic, index))
        if partition is None:
            raise ReplicaError(self.missing(topic, index))
        error = partition.check(leader_epoch, leader_only)
        if error:
            raise ReplicaError(error)
        return partition

    # -- ListOffsets ------------------------------------------------------------------------
    def list_offsets(self, request: Any, version: int) -> Any:
        """ListOffsetsRequest -> ListOffsetsResponse."""
        topics = []
        times: dict[tuple[str, int], int] = {}
        for topic in request.topics:
            for asked in topic.partitions:
                times[topic.name, asked.partition_index] = times.get((topic.name, asked.partition_index), 0) + 1
        for topic in request.topics:
            answers = [
                self._list_one(topic.name, asked, request, version, times[topic.name, asked.partition_index] > 1)
                for asked in topic.partitions
            ]
            topics.append(m.ListOffsetsResponse.ListOffsetsTopicResponse(name=topic.name, partitions=answers))
        return m.ListOffsetsResponse(topics=topics)

    def _list_one(self, topic: str, asked: Any, request: Any, version: int, twice: bool) -> Any:
        answer = m.ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=asked.partition_index)
        answer.timestamp = answer.offset = answer.leader_epoch = -1
        try:
            if twice:
                raise ReplicaError(ErrorCode.INVALID_REQUEST)
            debugging = request.replica_id == DEBUGGING
            partition = self._partition(topic, asked.partition_index, asked.current_leader_epoch, not debugging)
            if asked.timestamp < EARLIEST and version < FIRST_VERSIONS.get(asked.timestamp, version + 1):
                raise ReplicaError(ErrorCode.UNSUPPORTED_VERSION)
            if version == 0:
                answer.old_style_offsets = self._segments_before(partition, asked, request.replica_id)
                return answer
            found = self.find(partition, asked.timestamp, request.replica_id, request.isolation_level)
        except (ReplicaError, LogError) as error:
            answer.error_code = error_code(error)
            old = version < FIRST_ERROR_VERSION_OF_OFFSET_NOT_AVAILABLE
            if old and answer.error_code == ErrorCode.OFFSET_NOT_AVAILABLE:
                answer.error_code = ErrorCode.LEADER_NOT_AVAILABLE
            return answer
        if found is not None:
            answer.offset, answer.timestamp, answer.leader_epoch = found
        return answer

    def _segments_before(self, partition: Partition, asked: Any, replica_id: int) -> list[int]:
        """Version 0: where segments begin, newest first, led by the end when that is asked for.

        For a moment it went by the times of the files, which are not kept here: no file is older.
        """
        log = partition.log
        if asked.timestamp == EARLIEST:
            return [log.log_start_offset][: asked.max_num_offsets]
        if asked.timestamp != LATEST:
            return []
        end = self._visible_end(partition, replica_id, 0)
        bases = [segment.base_offset for segment in reversed(log.segments) if segment.base_offset < end]
        return [end, *bases][: asked.max_num_offsets]

    def find(self, partition: Partition, timestamp: int, replica_id: int, isolation: int) -> Found | None:
        """(offset, timestamp, leader epoch) for one of the table's timestamps. Raises ReplicaError."""
        log = partition.log
        end = self._visible_end(partition, replica_id, isolation)
        if timestamp == LATEST:
            self._check_end_known(partition, replica_id)
            return end, -1, partition.leader_epoch
        if timestamp in (LATEST_TIERED, EARLIEST_PENDING):
            return None
        if timestamp in (EARLIEST, EARLIEST_LOCAL):
            return log.log_start_offset, -1, log.leader_epochs.epoch_for_offset(log.log_start_offset)
        if log.rules.magic == 0:
            raise ReplicaError(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
        found = log.max_timestamp_offset() if timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(timestamp)
        if found is None:
            return None
        if found[0] >= end:
            self._check_end_known(partition, replica_id)
            return None
        return found[0], found[1], found[2]

    def _visible_end(self, partition: Partition, replica_id: int, isolation: int) -> int:
        if replica_id != CONSUMER:
            return partition.log.log_end_offset
        return partition.log.last_stable_offset if isolation == READ_COMMITTED else partition.log.high_watermark

    def _check_end_known(self, partition: Partition, replica_id: int) -> None:
        """KIP-207: the committed end is not known before the high watermark reaches the epoch's start. The last stable
        offset may stay below it for as long as a transaction is open."""
        known = partition.log.high_watermark >= partition.epoch_start_offset
        if replica_id == CONSUMER and partition.is_leader and not known:
            raise ReplicaError(ErrorCode.OFFSET_NOT_AVAILABLE)

    # -- OffsetsForLeaderEpoch --------------------------------------------------------------
    def offsets_for_leader_epoch(self, request: Any) -> Any:
        """OffsetForLeaderEpochRequest -> OffsetForLeaderEpochResponse."""
        topics = []
        for topic in request.topics:
            answers = [self._epoch_end(topic.topic, asked) for asked in topic.partitions]
            topics.append(
                m.OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(topic=topic.topic, partitions=answers)
            )
        return m.OffsetForLeaderEpochResponse(topics=topics)

    def _epoch_end(self, topic: str, asked: Any) -> Any:
        answer = m.OffsetForLeaderEpochResponse.EpochEndOffset(partition=asked.partition)
        answer.leader_epoch = answer.end_offset = -1
        try:
            partition = self._partition(topic, asked.partition, asked.current_leader_epoch)
        except ReplicaError as error:
            answer.error_code = error.code
            return answer
        answer.leader_epoch, answer.end_offset = self.epoch_end_offset(partition, asked.leader_epoch)
        return answer

    def epoch_end_offset(self, partition: Partition, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch not above `epoch`.

        Before KIP-279 the answer was the start of the next larger epoch alone: a follower that had
        written in an epoch of its own could not see that it had to cut more (scenario S2).
        """
        cache = partition.log.leader_epochs
        found, end = cache.end_offset_for(epoch)
        if not self.host.protections.epoch_end_offset_of_largest_not_above:
            return -1, end
        return found, end

    # -- DeleteRecords ----------------------------------------------------------------------
    def delete_records(self, request: Any, done: Done, context: Any) -> None:
        """Later, or before this returns, `done(context, DeleteRecordsResponse)`.

        Done when the log start of all replicas on live brokers has passed the offset: only then the records are gone
        there, and no leader change brings them back. Who is dead follows when it is back.
        """
        answers: dict[tuple[str, int], Any] = {}
        pending: dict[Partition, tuple[int, Any]] = {}
        for topic in request.topics:
            for asked in topic.partitions:
                answer = m.DeleteRecordsResponse.DeleteRecordsPartitionResult(
                    partition_index=asked.partition_index, low_watermark=-1
                )
                answers[topic.name, asked.partition_index] = answer
                self._delete_one(topic.name, asked, answer, pending)
        operation = DelayedDeleteRecords(pending, answers, done, context)
        if not operation.try_complete():
            self.host.delete_records_purgatory.watch(operation, list(pending), request.timeout)

    def _delete_one(self, topic: str, asked: Any, answer: Any, pending: dict[Partition, tuple[int, Any]]) -> None:
        try:
            partition = self._partition(topic, asked.partition_index, -1)
            log = partition.log
            if is_internal(topic):
                raise ReplicaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
            if "delete" not in log.config.cleanup_policy:
                raise ReplicaError(ErrorCode.POLICY_VIOLATION)
            offset = log.high_watermark if asked.offset == HIGH_WATERMARK else asked.offset
            if offset < 0 or offset > log.high_watermark:
                raise ReplicaError(ErrorCode.OFFSET_OUT_OF_RANGE)
            log.delete_records_before(offset)
            partition.log_start_moved()
        except (ReplicaError, LogError) as error:
            answer.error_code = error_code(error)
            return
        pending[partition] = (offset, answer)


class DelayedDeleteRecords(DelayedOperation):
    """Waits for the low watermark of partitions. `pending`: partition -> (offset, its answer)."""

    __slots__ = ("pending", "answers", "done", "context")

    def __init__(
        self, pending: dict[Partition, tuple[int, Any]], answers: dict[tuple[str, int], Any], done: Done, context: Any
    ) -> None:
        super().__init__()
        self.pending = pending
        self.answers = answers
        self.done = done
        self.context = context

    def try_complete(self) -> bool:
        for partition, (offset, answer) in list(self.pending.items()):
            if not partition.is_leader:
                answer.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            elif partition.low_watermark < offset:
                continue
            else:
                answer.low_watermark = partition.low_watermark
            del self.pending[partition]
        return not self.pending and self.force_complete()

    def on_complete(self) -> None:
        for _, answer in self.pending.values():
            answer.error_code = ErrorCode.REQUEST_TIMED_OUT
        self.pending.clear()
        topics: dict[str, Any] = {}
        for (name, _), answer in self.answers.items():
            topic = topics.get(name)
            if topic is None:
                topic = topics[name] = m.DeleteRecordsResponse.DeleteRecordsTopicResult(name=name, partitions=[])
            topic.partitions.append(answer)
        self.done(self.context, m.DeleteRecordsResponse(topics=list(topics.values())))
