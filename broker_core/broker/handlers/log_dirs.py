"""DescribeLogDirs (35): which partition lies in which directory, and how large it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

UNKNOWN_BYTES = -1


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
        here = [log for log in logs.logs() if logs.dir_of(log) == log_dir]
        shown = [log for log in here if wanted is None or (log.topic, log.partition) in wanted]
        results.append(_directory(log_dir, ErrorCode.NONE, shown))
    context.respond(m.DescribeLogDirsResponse(results=results))


def _directory(log_dir: str, error: ErrorCode, logs: list[Any]) -> Any:
    topics: dict[str, list[Any]] = {}
    for log in logs:
        topics.setdefault(log.topic, []).append(
            m.DescribeLogDirsResponse.DescribeLogDirsPartition(
                partition_index=log.partition, partition_size=log.size_bytes,
                offset_lag=max(0, log.high_watermark - log.log_end_offset), is_future_key=False,
            )
        )
    return m.DescribeLogDirsResponse.DescribeLogDirsResult(
        error_code=error, log_dir="/" + log_dir, total_bytes=UNKNOWN_BYTES, usable_bytes=UNKNOWN_BYTES,
        topics=[m.DescribeLogDirsResponse.DescribeLogDirsTopic(name=name, partitions=parts)
                for name, parts in topics.items()],
    )  # fmt: skip
