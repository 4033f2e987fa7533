"""What the stages of the request pipeline cost, and what they have cost so far (Kafka's RequestMetrics)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from broker_core.broker.connections import RequestContext
from broker_core.wire.codec import encode_request, encode_response

LENGTH_BYTES = 4


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


def bytes_of(context: RequestContext, response: Any) -> dict[str, int]:
    """What a request and its answer take on the wire. Machines of the world send theirs by reference: these are encoded
    here only to be measured; records are not read for that."""
    key, version, correlation = context.api_key, context.api_version, context.correlation_id
    size = context.size + LENGTH_BYTES
    if not context.size:
        size = sum(map(len, encode_request(key, version, correlation, context.client_id, context.body)))
    answer = [] if response is None else encode_response(key, version, correlation, response)
    return {"request_bytes": size, "response_bytes": sum(map(len, answer))}
