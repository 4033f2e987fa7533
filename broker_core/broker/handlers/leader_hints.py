"""Who leads instead: hints behind NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH (KIP-951).

From Produce v10 and Fetch v16 the answer names the leader that this broker knows of and where it
listens, so that a client need not ask for metadata first.

    orders-0: NOT_LEADER_OR_FOLLOWER, current_leader (2, epoch 7)      node_endpoints: 2 = 127.0.0.1:9093
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

FIRST_PRODUCE, FIRST_FETCH = 10, 16
HINTED = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def add_hints(broker: Broker, response: Any, parts: list[tuple[str, int, Any]]) -> None:
    """`parts`: topic, partition, its part of the answer. Fills `current_leader` and the response's endpoints."""
    leaders: dict[int, None] = {}
    for topic, index, part in parts:
        if part.error_code not in HINTED:
            continue
        known = broker.cache.partition(topic, index)
        if known is not None and part.current_leader.leader_id < 0:
            part.current_leader.leader_id, part.current_leader.leader_epoch = known.leader, known.leader_epoch
        leaders[part.current_leader.leader_id] = None
    endpoint = type(response).NodeEndpoint
    for leader in leaders:
        place = broker.cache.endpoint(leader, broker.listener)
        if place is not None:
            rack = broker.cache.brokers[leader].rack
            response.node_endpoints.append(endpoint(node_id=leader, host=place.host, port=place.port, rack=rack))
