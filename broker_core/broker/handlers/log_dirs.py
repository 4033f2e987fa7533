"""DescribeLogDirs (35): which partition lies in which directory, and how large it is.
AlterReplicaLogDirs (34): in which one it is to lie (`replication.moves`).

A directory is named by its absolute path: `b` of a node's disks is `/b`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext
from broker_core.log.log_manager import LogManager
from broker_core.log.partition_log import PartitionLog
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

UNKNOWN_BYTES = UNKNOWN_LAG = -1


def describe(broker: Broker, context: RequestContext) -> None:
    """All partitions, or those asked for."""
    asked = context.body.topics
    wanted = None if asked is None else {(topic.topic, index) for topic in asked for index in topic.partitions}
    logs = broker.log_manager
    results = []
    for log_dir in logs.log_dirs:
        if log_dir in logs.offline_dirs:
            results.append(_directory(log_dir, ErrorCode.KAFKA_STORAGE_ERROR, []))
            continue
        here = [log for log in logs.logs_in(log_dir) if wanted is None or (log.topic, log.partition) in wanted]
        results.append(_directory(log_dir, ErrorCode.NONE, [_partition(logs, log) for log in here]))
    context.respond(m.DescribeLogDirsResponse(results=results))


def _partition(logs: LogManager, log: PartitionLog) -> tuple[str, Any]:
    """A copy lags behind the log that it will replace; a log behind its own high watermark, if it has been cut."""
    current = logs.get(log.topic, log.partition)
    lag = UNKNOWN_LAG
    if current is not None:
        lag = max(0, log.high_watermark - log.log_end_offset) if current is log else (
            current.log_end_offset - log.log_end_offset
        )  # fmt: skip
    return log.topic, m.DescribeLogDirsResponse.DescribeLogDirsPartition(
        partition_index=log.partition, partition_size=log.size_bytes, offset_lag=lag, is_future_key=current is not log
    )


def _directory(log_dir: str, error: ErrorCode, partitions: list[tuple[str, Any]]) -> Any:
    topics: dict[str, list[Any]] = {}
    for name, partition in partitions:
        topics.setdefault(name, []).append(partition)
    return m.DescribeLogDirsResponse.DescribeLogDirsResult(
        error_code=error, log_dir="/" + log_dir, total_bytes=UNKNOWN_BYTES, usable_bytes=UNKNOWN_BYTES,
        topics=[m.DescribeLogDirsResponse.DescribeLogDirsTopic(name=name, partitions=parts)
                for name, parts in topics.items()],
    )  # fmt: skip


def alter(broker: Broker, context: RequestContext) -> None:
    """Each partition by itself. One that is named twice moves where it was named last."""
    wanted = {(topic.name, index): asked.path for asked in context.body.dirs
              for topic in asked.topics for index in topic.partitions}  # fmt: skip
    kind = m.AlterReplicaLogDirsResponse
    topics: dict[str, list[Any]] = {}
    for (name, index), path in wanted.items():
        log_dir = path[1:] if path.startswith("/") else ""
        error = broker.replicas.moves.alter(name, index, log_dir)
        result = kind.AlterReplicaLogDirPartitionResult(partition_index=index, error_code=int(error))
        topics.setdefault(name, []).append(result)
    results = [kind.AlterReplicaLogDirTopicResult(topic_name=name, partitions=parts) for name, parts in topics.items()]
    context.respond(kind(results=results))
