"""A produce with acks=all that waits for the in-sync replicas.

It is complete when every partition that it wrote to is satisfied:

Case A: this broker has no replica of the partition any more
Case B: this broker leads the partition no longer
Case C: this broker leads it, and the high watermark is past the batch
        C.1 the ISR is smaller than min.insync.replicas now: NOT_ENOUGH_REPLICAS_AFTER_APPEND
        C.2 otherwise the append has succeeded

The batch at 10..14 needs the high watermark at 15. When the time is over, what is not satisfied gets
REQUEST_TIMED_OUT: the records are in the leader's log and may still be committed later.

(Kafka: kafka.server.DelayedProduce.)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from broker_core.purgatory.operations import DelayedOperation
from broker_core.wire.errors import NONE, ErrorCode

if TYPE_CHECKING:
    from broker_core.replication.appending import PartitionProduceResult
    from broker_core.replication.partition import Partition


class DelayedProduce(DelayedOperation):
    """`pending`: partition -> (required high watermark, its result)."""

    __slots__ = ("pending", "results", "done", "context")

    def __init__(
        self,
        pending: dict[Partition, tuple[int, PartitionProduceResult]],
        results: list[PartitionProduceResult],
        done: Callable[[Any, Any], None],
        context: Any,
    ) -> None:
        DelayedOperation.__init__(self)
        self.pending = pending
        self.results = results
        self.done = done
        self.context = context

    def try_complete(self) -> bool:
        satisfied = []
        for partition, (required, result) in self.pending.items():
            error = partition.check_replicated(required)
            if error is None:
                continue
            satisfied.append(partition)
            if error is not NONE:
                result.fail(error)
        for partition in satisfied:
            del self.pending[partition]
        return not self.pending and self.force_complete()

    def waits_for(self, key: Hashable) -> bool:
        return key in self.pending

    def on_complete(self) -> None:
        """On expiration some are still pending."""
        for _, result in self.pending.values():
            result.fail(ErrorCode.REQUEST_TIMED_OUT)
        self.pending.clear()
        self.done(self.context, self.results)
