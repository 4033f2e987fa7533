"""Where a group has got to, as it was kept before there was `__consumer_offsets`: in the coordination tree.

    /consumers/billing/offsets/orders/0   "42"

The first consumers found each other in the tree and wrote their offsets there, each one a znode that the ensemble
writes to its disks, which is why they became records of a topic. Version 0 of OffsetCommit and OffsetFetch asks for
these znodes and for nothing else, so what the newer versions commit is not seen by it. Nobody is fenced (a group has
neither members nor generations here), no metadata are kept. It went with ZooKeeper: 4.x begins at later versions.

| asked for | commit is told | fetch is told |
|---|---|---|
| a partition that is there | NONE | the offset, or UNKNOWN_TOPIC_OR_PARTITION |
| one that is not | UNKNOWN_TOPIC_OR_PARTITION | UNKNOWN_TOPIC_OR_PARTITION |
| a group whose name makes no path | UNKNOWN_SERVER_ERROR | UNKNOWN_SERVER_ERROR |
| more metadata than `offset.metadata.max.bytes` | OFFSET_METADATA_TOO_LARGE | |

Source: `KafkaApis.handleOffsetCommitRequest` and `fetchOffsetsFromZk` of 3.9, `kafka.zk.ConsumerOffset`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.controller.zk import znodes
from broker_core.metadata.cache import MetadataCache
from broker_core.metadata.configs import BrokerConfig
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.client import ZkClient
from broker_core.zookeeper.errors import Code

Done = Callable[[Any, Any], None]
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
NO_OFFSET = -1


class TreeOffsets:
    """Version 0 of OffsetCommit and OffsetFetch, at one broker."""

    def __init__(self, zk: ZkClient, cache: MetadataCache, config: BrokerConfig) -> None:
        self.zk = zk
        self.cache = cache
        self.config = config

    # --- commit -------------------------------------------------------------------------------------

    def commit(self, request: m.OffsetCommitRequest, done: Done, context: Any) -> None:
        """Sets each znode; those that are not there yet are made in a second round."""
        longest = int(self.config["offset.metadata.max.bytes"])
        kind = m.OffsetCommitResponse
        topics, written = [], []
        for topic in request.topics:
            answers = []
            for one in topic.partitions:
                error = self._error(request.group_id, topic.name, one.partition_index)
                if error is ErrorCode.NONE and len(one.committed_metadata or "") > longest:
                    error = ErrorCode.OFFSET_METADATA_TOO_LARGE
                told = kind.OffsetCommitResponsePartition(partition_index=one.partition_index, error_code=error)
                answers.append(told)
                if error is ErrorCode.NONE:
                    path = znodes.consumer_offset_path(request.group_id, topic.name, one.partition_index)
                    written.append((told, p.SetData(path, str(one.committed_offset).encode())))
            topics.append(kind.OffsetCommitResponseTopic(name=topic.name, partitions=answers))
        state = (written, kind(topics=topics), done, context)
        self.zk.batch([op for _, op in written], self._set, state)

    def _set(self, state: tuple[Any, Any, Done, Any], results: list[p.Result]) -> None:
        written, response, done, context = state
        absent = []
        for (answer, op), result in zip(written, results, strict=True):
            if result.code is Code.NONODE:
                absent.append((answer, op))
            elif not result.ok:
                answer.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
        parents = dict.fromkeys(parent for _, op in absent for parent in znodes.parents_of(op.path))
        ops: list[p.Operation] = [*map(p.Create, parents), *(p.Create(op.path, op.data) for _, op in absent)]
        self.zk.batch(ops, self._created, ([answer for answer, _ in absent], response, done, context))

    def _created(self, state: tuple[list[Any], Any, Done, Any], results: list[p.Result]) -> None:
        """The last results are those of the znodes; parents may have been there."""
        answers, response, done, context = state
        for answer, result in zip(answers, results[len(results) - len(answers) :], strict=True):
            if not result.ok:
                answer.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
        done(context, response)

    # --- fetch --------------------------------------------------------------------------------------

    def fetch(self, request: m.OffsetFetchRequest, done: Done, context: Any) -> None:
        """Reads each znode."""
        kind = m.OffsetFetchResponse
        topics, asked = [], []
        for topic in request.topics:
            answers = []
            for index in topic.partition_indexes:
                error = self._error(request.group_id, topic.name, index)
                answers.append(kind.OffsetFetchResponsePartition(
                    partition_index=index, committed_offset=NO_OFFSET, metadata="", error_code=error))  # fmt: skip
                if error is ErrorCode.NONE:
                    path = znodes.consumer_offset_path(request.group_id, topic.name, index)
                    asked.append((answers[-1], p.GetData(path)))
            if answers:
                topics.append(kind.OffsetFetchResponseTopic(name=topic.name, partitions=answers))
        self.zk.batch([op for _, op in asked], self._read, (asked, kind(topics=topics), done, context))

    def _read(self, state: tuple[Any, Any, Done, Any], results: list[p.Result]) -> None:
        asked, response, done, context = state
        for (answer, _), result in zip(asked, results, strict=True):
            if result.ok:
                answer.committed_offset = int(result.data)
            else:
                answer.error_code = UNKNOWN
        done(context, response)

    # --- both ---------------------------------------------------------------------------------------

    def _error(self, group_id: str, topic: str, partition: int) -> ErrorCode:
        if not self.cache.contains(topic, partition):
            return UNKNOWN
        named = not {"", ".", ".."} & set(group_id.split("/")) and "\0" not in group_id
        return ErrorCode.NONE if named else ErrorCode.UNKNOWN_SERVER_ERROR
