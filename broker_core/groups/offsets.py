"""OffsetCommit and OffsetFetch: where a group has got to.

A commit is a record in `__consumer_offsets`, replicated like any other and acknowledged with acks=-1. It is
fenced by the group's generation: a member that was thrown out without noticing cannot turn the clock
back for the one that has its partitions now.

| committed by                                  | the group is    | answer                                  |
|-----------------------------------------------|-----------------|-----------------------------------------|
| nobody's member (generation -1, no member id) | Empty           | taken (a tool, or `assign()`)           |
| the same                                      | not Empty       | UNKNOWN_MEMBER_ID                       |
| a member of another generation                | any             | ILLEGAL_GENERATION                      |
| a member where there is no group              |                 | the same; 4.3, version 9: GROUP_ID_NOT_FOUND |
| a member of this generation                   | Stable, Prep.   | taken, counts as heartbeat              |
| the same                                      | CompletingReb.  | REBALANCE_IN_PROGRESS                   |

Members of next-generation groups are fenced by their epoch instead (`consumer.checks`).

The metadata string that comes along (at most `offset.metadata.max.bytes`) is kept and given back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from broker_core.groups import schema
from broker_core.groups.consumer.checks import commit_error, fetch_error
from broker_core.groups.consumer.group import ConsumerGroup
from broker_core.groups.consumer.subscriptions import TopicsPort
from broker_core.groups.group import Group
from broker_core.groups.group_offsets import NO_OFFSET, CommittedOffset, TopicPartition
from broker_core.groups.member import ClientIdentity, Member, Reply
from broker_core.groups.rebalance import Rebalancer
from broker_core.groups.registry import GroupRegistry, offset_write_error
from broker_core.groups.states import GroupState
from broker_core.kernel import events
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

DEFAULT_TIME = -1
TIMESTAMP_VERSION = 1
RETENTION_VERSIONS = (2, 3, 4)
GROUP_ERROR_VERSION = 2
SEVERAL_GROUPS_VERSION = 8
NOT_FOUND_VERSION = 9
"""From this version on OffsetCommit may say GROUP_ID_NOT_FOUND (KIP-848)."""
NOTHING = CommittedOffset(NO_OFFSET)
Asked: TypeAlias = list[tuple[str, list[int]]]
"""Topics in the order of the answer, each with partitions in their order."""


class Fetched(NamedTuple):
    """One line of an OffsetFetch answer."""

    key: TopicPartition
    offset: CommittedOffset
    error: ErrorCode


class _Commit:
    """A commit that is being written. `refused` are partitions whose metadata were too long."""

    __slots__ = ("request", "group", "offsets", "refused", "reply")

    def __init__(self, request: m.OffsetCommitRequest, group: Group | ConsumerGroup, reply: Reply) -> None:
        self.request = request
        self.group = group
        self.reply = reply
        self.offsets: dict[TopicPartition, CommittedOffset] = {}
        self.refused: dict[TopicPartition, None] = {}


class OffsetHandler:
    """Answers OffsetCommit and OffsetFetch."""

    def __init__(self, registry: GroupRegistry, rebalancer: Rebalancer, topics: TopicsPort) -> None:
        self.registry = registry
        self.topics = topics
        self.rebalancer = rebalancer
        self.node = registry.node

    # --- commit -------------------------------------------------------------------------------------

    def commit(self, request: m.OffsetCommitRequest, client: ClientIdentity, reply: Reply) -> None:
        """Decides on a commit; the answer comes when its record is committed."""
        modern = self.registry.consumer_groups.get(request.group_id)
        if modern is None:
            error = self._commit_error(request, client.api_version)
        else:
            error = self._modern_error(modern, request, client)
        if error is not ErrorCode.NONE:
            reply.send(commit_response(request, error))
            return
        group: Group | ConsumerGroup = modern or self.registry.get_or_create(request.group_id)
        member = group.members.get(request.member_id)
        if isinstance(group, Group) and isinstance(member, Member):
            self.rebalancer.sessions.restart(group, member)
        commit = _Commit(request, group, reply)
        self._collect(commit, client.api_version)
        if not commit.offsets:
            reply.send(commit_response(request, ErrorCode.NONE, commit.refused))
            return
        group.offsets.prepare(commit.offsets)
        records: list[tuple[bytes, bytes | None]] = [
            (schema.encode_offset_key(group.group_id, topic, partition), schema.encode_offset_value(offset))
            for (topic, partition), offset in commit.offsets.items()
        ]
        self.registry.runtime.append(group.group_id, records, self._written, commit)

    def _modern_error(
        self, group: ConsumerGroup, request: m.OffsetCommitRequest, client: ClientIdentity
    ) -> ErrorCode:
        error = self.registry.status(request.group_id)
        asked = [(topic.name, one.partition_index) for topic in request.topics for one in topic.partitions]
        ids = {name: shape.topic_id for name, _ in asked if (shape := self.topics.shape(name)) is not None}
        return error if error is not ErrorCode.NONE else commit_error(
            group, request.member_id, request.group_instance_id, request.generation_id_or_member_epoch,
            client.api_version, asked, ids,
        )  # fmt: skip

    def _commit_error(self, request: m.OffsetCommitRequest, api_version: int) -> ErrorCode:
        error = self.registry.status(request.group_id, empty_id_allowed=True)
        if error is not ErrorCode.NONE:
            return error
        if request.group_id in self.registry.share_groups:
            return ErrorCode.GROUP_ID_NOT_FOUND
        group = self.registry.groups.get(request.group_id)
        generation = request.generation_id_or_member_epoch
        if group is None:
            return ErrorCode.NONE if generation < 0 else self._no_group(api_version)
        if group.state is GroupState.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if generation < 0 and group.state is GroupState.EMPTY:
            return ErrorCode.NONE
        if generation < 0 and request.member_id == "" and request.group_instance_id is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = group.check_member(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        if generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        completing = group.state is GroupState.COMPLETING_REBALANCE
        return ErrorCode.REBALANCE_IN_PROGRESS if completing else ErrorCode.NONE

    def _no_group(self, api_version: int) -> ErrorCode:
        told = self.registry.rewritten and api_version >= NOT_FOUND_VERSION
        return ErrorCode.GROUP_ID_NOT_FOUND if told else ErrorCode.ILLEGAL_GENERATION

    def _collect(self, commit: _Commit, api_version: int) -> None:
        now_ms = self.node.wall_ms()
        longest = int(self.registry.config["offset.metadata.max.bytes"])
        retention = commit.request.retention_time if api_version in RETENTION_VERSIONS else DEFAULT_TIME
        expiry = None if retention == DEFAULT_TIME else wrapped(now_ms + retention)
        for topic in commit.request.topics:
            for partition in topic.partitions:
                key = (topic.name, partition.partition_index)
                metadata = partition.committed_metadata or ""
                if len(metadata) > longest:
                    commit.refused[key] = None
                else:
                    stamped = partition.commit_timestamp if api_version == TIMESTAMP_VERSION else DEFAULT_TIME
                    commit.offsets[key] = CommittedOffset(
                        partition.committed_offset,
                        partition.committed_leader_epoch,
                        metadata,
                        now_ms if stamped == DEFAULT_TIME else stamped,
                        expiry,
                    )

    def _written(self, commit: _Commit, code: int) -> None:
        """The record is committed: now the offsets are the group's. Or it is not, and nothing has changed."""
        group, offsets = commit.group, commit.offsets
        if code != ErrorCode.NONE:
            group.offsets.failed(offsets)
            commit.reply.send(commit_response(commit.request, offset_write_error(code), commit.refused))
            return
        if not group.gone:
            group.offsets.written(offsets)
        if self.node.messages:
            for (topic, partition), offset in offsets.items():
                self.node.emit(
                    events.OFFSETS_COMMITTED,
                    group=group.group_id,
                    topic=topic,
                    partition=partition,
                    offset=offset.offset,
                )
        commit.reply.send(commit_response(commit.request, ErrorCode.NONE, commit.refused))

    # --- fetch ----------------------------------------------------------------------------------

    def fetch(self, request: m.OffsetFetchRequest, client: ClientIdentity) -> m.OffsetFetchResponse:
        """Committed offsets of one group (v0-7) or of several (v8+); topics None = all that there are."""
        stable = bool(request.require_stable)
        if client.api_version >= SEVERAL_GROUPS_VERSION:
            groups = [self._fetch_one_of_several(asked, stable) for asked in request.groups]
            return m.OffsetFetchResponse(groups=groups)
        topics = self._asked(request.topics)
        error, found = self.fetch_group(request.group_id, topics, stable)
        in_partitions = client.api_version < GROUP_ERROR_VERSION and self.registry.rewritten  # 3.9 says nothing
        if error is not ErrorCode.NONE:
            topics = topics if in_partitions else []
            found = [Fetched(key, NOTHING, error) for key in _keys(topics or [])]
        kind = m.OffsetFetchResponse.OffsetFetchResponseTopic
        return m.OffsetFetchResponse(error_code=error, topics=_topics(kind, _partition, topics, found))

    def _fetch_one_of_several(self, asked: Any, stable: bool) -> Any:
        topics = self._asked(asked.topics)
        error, found = self.fetch_group(asked.group_id, topics, stable, asked)
        kind = m.OffsetFetchResponse.OffsetFetchResponseTopics
        told = _topics(kind, _partition_of_several, topics if error is ErrorCode.NONE else [], found)
        return m.OffsetFetchResponse.OffsetFetchResponseGroup(group_id=asked.group_id, error_code=error, topics=told)

    def _asked(self, topics: Any) -> Asked | None:
        """What is answered: by 4.3 topic for topic as it stands in the request, by 3.9 each partition once."""
        if topics is None:
            return None
        if self.registry.rewritten:
            return [(topic.name, list(topic.partition_indexes)) for topic in topics]
        once: dict[str, dict[int, None]] = {}
        for topic in topics:
            once.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
        return [(name, list(numbers)) for name, numbers in once.items() if numbers]

    def fetch_group(
        self, group_id: str, topics: Asked | None, stable: bool, asked: Any = None
    ) -> tuple[ErrorCode, list[Fetched]]:
        """Offsets whatever the group's state is: it may keep them here without being a group. `asked`: who asks, from
        version 9 on. In the order of `topics`; None: all that there are."""
        error = self.registry.status(group_id, empty_id_allowed=True)
        modern = self.registry.consumer_groups.get(group_id)
        if error is ErrorCode.NONE and modern is not None and asked is not None:
            error = fetch_error(modern, asked.member_id, asked.member_epoch)
        if error is not ErrorCode.NONE:
            return error, []
        group = modern or self.registry.groups.get(group_id)
        if group is None or group.gone:
            return error, [Fetched(key, NOTHING, ErrorCode.NONE) for key in _keys(topics or [])]
        offsets = group.offsets
        found = []
        for key in _keys(topics) if topics is not None else list(offsets.committed):
            if stable and offsets.unstable(key):
                found.append(Fetched(key, NOTHING, ErrorCode.UNSTABLE_OFFSET_COMMIT))
            else:
                found.append(Fetched(key, offsets.committed.get(key, NOTHING), ErrorCode.NONE))
        return error, found


def _keys(topics: Asked) -> list[TopicPartition]:
    return [(name, number) for name, numbers in topics for number in numbers]


def _topics(topic: Any, partition: Callable[[Fetched], Any], asked: Asked | None, found: list[Fetched]) -> list[Any]:
    """What was found, as the version at hand wants it (v8 gave its structs other names). `asked` None: by topic."""
    if asked is not None:
        each = iter(found)
        return [topic(name=name, partitions=[partition(next(each)) for _ in numbers]) for name, numbers in asked]
    topics: dict[str, list[Any]] = {}
    for one in found:
        topics.setdefault(one.key[0], []).append(partition(one))
    return [topic(name=name, partitions=partitions) for name, partitions in topics.items()]


def _partition(one: Fetched) -> Any:
    return m.OffsetFetchResponse.OffsetFetchResponsePartition(**_fields(one))


def _partition_of_several(one: Fetched) -> Any:
    return m.OffsetFetchResponse.OffsetFetchResponsePartitions(**_fields(one))


def _fields(one: Fetched) -> dict[str, Any]:
    return {
        "partition_index": one.key[1],
        "committed_offset": one.offset.offset,
        "committed_leader_epoch": one.offset.leader_epoch,
        "metadata": one.offset.metadata,
        "error_code": one.error,
    }


def wrapped(moment_ms: int) -> int:
    """A moment as the signed 64-bit number that the log has room for: a retention beyond all time ends at once."""
    return (moment_ms + (1 << 63)) % (1 << 64) - (1 << 63)


def commit_response(
    request: m.OffsetCommitRequest, error: int, refused: dict[TopicPartition, None] | None = None
) -> m.OffsetCommitResponse:
    """One error for all partitions of the request; `refused` ones had too long metadata."""
    too_large = refused or {}
    response = m.OffsetCommitResponse
    topics = []
    for topic in request.topics:
        partitions = []
        for one in topic.partitions:
            own = ErrorCode.OFFSET_METADATA_TOO_LARGE if (topic.name, one.partition_index) in too_large else error
            partitions.append(
                response.OffsetCommitResponsePartition(partition_index=one.partition_index, error_code=own)
            )
        topics.append(response.OffsetCommitResponseTopic(name=topic.name, partitions=partitions))
    return response(topics=topics)
