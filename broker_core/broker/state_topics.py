"""How a coordinator reaches its internal topic: through the replicas of its broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from broker_core.kernel.errors import StorageError
from broker_core.log.partition_log import PartitionLog

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

    def partition_count(self) -> int | None:
        return self.broker.cache.partition_count(self.topic)


def _appended(state: tuple[Callable[[Any, int], None], Any], results: list[Any]) -> None:
    done, context = state
    done(context, int(results[0].error_code))
