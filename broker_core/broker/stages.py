"""What the stages of the request pipeline cost, and what they have cost so far (Kafka's RequestMetrics)."""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.broker.connections import RequestContext


@dataclass(slots=True)
class StageCosts:
    """What one request costs a thread of each stage, microseconds of virtual time."""

    network_us: int = 0
    io_us: int = 0


@dataclass(slots=True)
class ApiTotals:
    """Kafka's RequestMetrics of one API, summed up since the process started; times in microseconds."""

    requests: int = 0
    queue_us: int = 0
    local_us: int = 0
    remote_us: int = 0
    response_us: int = 0

    def add(self, context: RequestContext, ready_us: int, now_us: int) -> None:
        """A request that took time."""
        handled = context.handled_us if context.handled_us >= 0 else ready_us
        self.queue_us += context.taken_us - context.received_us
        self.local_us += handled - context.taken_us
        self.remote_us += ready_us - handled
        self.response_us += now_us - ready_us
