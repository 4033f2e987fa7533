"""FindCoordinator (10): the leader of the partition of `__consumer_offsets` to which a group's name hashes.

Version 4 asks for several keys at once. The internal topic is created when it is first needed;
meanwhile the answer is COORDINATOR_NOT_AVAILABLE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.broker.connections import RequestContext
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

GROUP, TRANSACTION = 0, 1
OFFSETS_TOPIC = "__consumer_offsets"


def handle(broker: Broker, context: RequestContext) -> None:
    """Answer for one key (to version 3) or several (from version 4)."""
    request = context.body
    if context.api_version >= 4:
        found = [_find(broker, request.key_type, key) for key in request.coordinator_keys]
        context.respond(m.FindCoordinatorResponse(coordinators=found))
        return
    one = _find(broker, request.key_type, request.key)
    context.respond(
        m.FindCoordinatorResponse(
            error_code=one.error_code, error_message=one.error_message, node_id=one.node_id,
            host=one.host, port=one.port,
        )
    )  # fmt: skip


def _find(broker: Broker, key_type: int, key: str) -> m.FindCoordinatorResponse.Coordinator:
    if key_type == GROUP and not key:
        return _failed(key, ErrorCode.INVALID_GROUP_ID)
    if key_type == TRANSACTION:
        return _failed(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if key_type != GROUP:
        return _failed(key, ErrorCode.INVALID_REQUEST)
    if not broker.cache.contains(OFFSETS_TOPIC):
        broker.auto_create_topic(OFFSETS_TOPIC)
        return _failed(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    leader = broker.cache.leader(OFFSETS_TOPIC, broker.groups.partition_for(key))
    endpoint = None if leader is None else broker.cache.endpoint(leader, broker.listener)
    if leader is None or endpoint is None:
        return _failed(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return m.FindCoordinatorResponse.Coordinator(
        key=key, node_id=leader, host=endpoint.host, port=endpoint.port, error_code=ErrorCode.NONE, error_message=""
    )


def _failed(key: str, error: ErrorCode) -> m.FindCoordinatorResponse.Coordinator:
    return m.FindCoordinatorResponse.Coordinator(
        key=key, node_id=-1, host="", port=-1, error_code=error, error_message=error.message
    )
