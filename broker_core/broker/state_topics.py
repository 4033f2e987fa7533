"""How a coordinator reaches its internal topic, through the replicas of its broker, and what topics there are."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from broker_core.groups.consumer.subscriptions import TopicShape
from broker_core.kernel.errors import StorageError
from broker_core.log.partition_log import PartitionLog
from broker_core.metadata.cache import MetadataCache

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


class StateTopic:
    """An internal topic as its coordinator uses it; `timeout_ms`: how long an append may wait for the replicas."""

    def __init__(self, broker: Broker, topic: str, timeout_ms: int) -> None:
        self.broker = broker
        self.topic = topic
        self.timeout_ms = timeout_ms

    def append(
        self, partition: int, records: bytearray, done: Callable[[Any, int], None], context: Any,
        guard: int | None = None,
    ) -> None:  # fmt: skip
        self.broker.replicas.append(
            self.timeout_ms, -1, [(self.topic, partition, records)], _appended, (done, context), origin="coordinator",
            guards=None if guard is None else {(self.topic, partition): guard},
        )  # fmt: skip

    def read(self, partition: int) -> PartitionLog | None:
        return self.broker.log_manager.get(self.topic, partition)

    def failed(self, error: StorageError) -> None:
        self.broker.log_manager.storage_failed(error)

    def cut(self, partition: int, offset: int) -> None:
        found = self.broker.replicas.partition(self.topic, partition)
        if found is None or not found.is_leader or offset > found.log.high_watermark:
            return
        try:
            found.log.delete_records_before(offset)
        except StorageError as error:
            self.failed(error)
        else:
            found.log_start_moved()

    def partition_count(self) -> int | None:
        return self.broker.cache.partition_count(self.topic)


class KnownTopics:
    """The topics of the cluster as next-generation groups are assigned them: what the metadata cache believes."""

    def __init__(self, cache: MetadataCache) -> None:
        self.cache = cache

    @property
    def version(self) -> int:
        return self.cache.version

    def shape(self, topic: str) -> TopicShape | None:
        partitions, topic_id = self.cache.topics.get(topic), self.cache.topic_ids.get(topic)
        if partitions is None or topic_id is None:
            return None
        racks = self.cache.racks()
        of_replicas = [
            tuple(sorted(rack for one in partitions[number].replicas if (rack := racks.get(one)) is not None))
            for number in sorted(partitions)
        ]
        return TopicShape(topic_id, len(partitions), tuple(of_replicas) if any(of_replicas) else ())

    def names(self) -> list[str]:
        return list(self.cache.topics)

    def names_by_id(self) -> dict[uuid.UUID, str]:
        return self.cache.topic_names


def _appended(state: tuple[Callable[[Any, int], None], Any], results: list[Any]) -> None:
    done, context = state
    done(context, int(results[0].error_code))
