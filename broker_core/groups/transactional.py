"""TxnOffsetCommit: offsets that count when a producer's transaction does (KIP-98, KIP-447).

A consume-transform-produce loop writes its results and its progress in one transaction. The offsets are records of
`__consumer_offsets` like any other, but in a transactional batch of the producer:

    TxnOffsetCommit     -> record with (producer 7, epoch 3) in the group's partition      pending, unstable
    marker COMMIT of 7  -> they are the group's offsets
    marker ABORT of 7   -> they never were

| committed by                                     | answer                                     |
|--------------------------------------------------|--------------------------------------------|
| no generation, no member (clients before 2.5)    | taken: only the producer's epoch fences it |
| no generation, the group is Empty                | taken                                      |
| a member of this generation                      | taken, in any state of the group           |
| a member of another generation                   | ILLEGAL_GENERATION                         |
| nobody's member                                  | UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID      |
"""

from __future__ import annotations

from broker_core.groups import schema
from broker_core.groups.consumer.checks import commit_error
from broker_core.groups.consumer.group import ConsumerGroup
from broker_core.groups.consumer.subscriptions import TopicsPort
from broker_core.groups.group import Group
from broker_core.groups.group_offsets import CommittedOffset, TopicPartition
from broker_core.groups.member import Reply
from broker_core.groups.registry import GroupRegistry, offset_write_error
from broker_core.groups.states import GroupState
from broker_core.kernel import events
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

NO_MEMBER = ""


class _Commit:
    """A commit that is being written; `refused`: partitions whose metadata were too long."""

    __slots__ = ("request", "group", "offsets", "refused", "reply")

    def __init__(self, request: m.TxnOffsetCommitRequest, group: Group | ConsumerGroup, reply: Reply) -> None:
        self.request = request
        self.group = group
        self.offsets: dict[TopicPartition, CommittedOffset] = {}
        self.refused: dict[TopicPartition, None] = {}
        self.reply = reply


class TransactionalOffsets:
    """Answers TxnOffsetCommit, and is told of markers."""

    def __init__(self, registry: GroupRegistry, topics: TopicsPort) -> None:
        self.registry = registry
        self.topics = topics
        self.node = registry.node

    def commit(self, request: m.TxnOffsetCommitRequest, guard: int | None, reply: Reply) -> None:
        """Decides on a commit; the answer comes when its record is committed."""
        error = self._error(request)
        if error is not ErrorCode.NONE:
            reply.send(commit_response(request, error, {}))
            return
        modern = self.registry.consumer_groups.get(request.group_id)
        commit = _Commit(request, modern or self.registry.get_or_create(request.group_id), reply)
        group = commit.group
        self._collect(commit)
        if not commit.offsets:
            reply.send(commit_response(request, ErrorCode.NONE, commit.refused))
            return
        group.offsets.prepare_transactional(request.producer_id, commit.offsets)
        records: list[tuple[bytes, bytes | None]] = [
            (schema.encode_offset_key(group.group_id, topic, partition), schema.encode_offset_value(offset))
            for (topic, partition), offset in commit.offsets.items()
        ]
        producer = request.producer_id, request.producer_epoch
        self.registry.runtime.append(group.group_id, records, self._written, commit, producer, guard)

    def _error(self, request: m.TxnOffsetCommitRequest) -> ErrorCode:
        error = self.registry.status(request.group_id)
        if error is not ErrorCode.NONE:
            return error
        modern = self.registry.consumer_groups.get(request.group_id)
        if modern is not None:
            return self._modern_error(modern, request)
        group = self.registry.groups.get(request.group_id)
        if group is None:
            return ErrorCode.NONE if request.generation_id < 0 else ErrorCode.ILLEGAL_GENERATION
        if group.state is GroupState.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        alone = request.member_id == NO_MEMBER and request.group_instance_id is None
        if request.generation_id < 0 and (alone or group.state is GroupState.EMPTY):
            return ErrorCode.NONE
        error = group.check_member(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        return ErrorCode.NONE if request.generation_id == group.generation else ErrorCode.ILLEGAL_GENERATION

    def _modern_error(self, group: ConsumerGroup, request: m.TxnOffsetCommitRequest) -> ErrorCode:
        """An older epoch than the member's is ILLEGAL_GENERATION to a transaction, whose client knows no other word."""
        asked = [(topic.name, one.partition_index) for topic in request.topics for one in topic.partitions]
        ids = {name: shape.topic_id for name, _ in asked if (shape := self.topics.shape(name)) is not None}
        error = commit_error(
            group, request.member_id, request.group_instance_id, request.generation_id, None, asked, ids
        )  # fmt: skip
        return ErrorCode.ILLEGAL_GENERATION if error is ErrorCode.STALE_MEMBER_EPOCH else error

    def _collect(self, commit: _Commit) -> None:
        now_ms = self.node.wall_ms()
        longest = int(self.registry.config["offset.metadata.max.bytes"])
        for topic in commit.request.topics:
            for one in topic.partitions:
                key, metadata = (topic.name, one.partition_index), one.committed_metadata or ""
                if len(metadata) > longest:
                    commit.refused[key] = None
                else:
                    commit.offsets[key] = CommittedOffset(
                        one.committed_offset, one.committed_leader_epoch, metadata, now_ms
                    )

    def _written(self, commit: _Commit, code: int) -> None:
        group, producer_id = commit.group, commit.request.producer_id
        if code != ErrorCode.NONE:
            group.offsets.failed_transactional(producer_id, commit.offsets)
        elif not group.gone:
            group.offsets.written_transactional(producer_id, commit.offsets)
        error = ErrorCode.NONE if code == ErrorCode.NONE else offset_write_error(code)
        commit.reply.send(commit_response(commit.request, error, commit.refused))

    def transaction_ended(self, producer_id: int, partitions: list[int], commit: bool) -> None:
        """The producer's marker is committed in these partitions of `__consumer_offsets`."""
        for group_id, offsets in self.registry.all_offsets():
            if self.registry.partition_for(group_id) not in partitions:
                continue
            for (topic, partition), offset in offsets.end_transaction(producer_id, commit).items():
                if self.node.messages:
                    self.node.emit(
                        events.OFFSETS_COMMITTED, group=group_id, topic=topic, partition=partition,
                        offset=offset.offset,
                    )  # fmt: skip


def commit_response(
    request: m.TxnOffsetCommitRequest, error: int, refused: dict[TopicPartition, None]
) -> m.TxnOffsetCommitResponse:
    """One error for all partitions of the request; `refused` ones had too long metadata."""
    response = m.TxnOffsetCommitResponse
    topics = []
    for topic in request.topics:
        partitions = []
        for one in topic.partitions:
            too_large = (topic.name, one.partition_index) in refused
            own = ErrorCode.OFFSET_METADATA_TOO_LARGE if too_large else error
            partitions.append(
                response.TxnOffsetCommitResponsePartition(partition_index=one.partition_index, error_code=own)
            )
        topics.append(response.TxnOffsetCommitResponseTopic(name=topic.name, partitions=partitions))
    return response(topics=topics)
