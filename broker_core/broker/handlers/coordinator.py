"""FindCoordinator (10): the leader of the partition of `__consumer_offsets` to which a group's name hashes, or of
`__transaction_state` for a transactional id.

Version 4 asks for several keys at once. The internal topic is created when it is first needed;
meanwhile the answer is COORDINATOR_NOT_AVAILABLE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.broker.connections import RequestContext
from broker_core.metadata.topic_names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

GROUP, TRANSACTION, SHARE = 0, 1, 2


def handle(broker: Broker, context: RequestContext) -> None:
    """Answer for one key (to version 3) or several (from version 4)."""
    request = context.body
    if context.api_version >= 4:
        found = [_find(broker, request.key_type, key) for key in request.coordinator_keys]
        if request.key_type == SHARE:
            found = [_no_share_groups(one.key, context.api_version) for one in found]
        context.respond(m.FindCoordinatorResponse(coordinators=found))
        return
    one = _find(broker, request.key_type, request.key)
    message = one.error_message if one.error_code else ErrorCode.NONE.name
    context.respond(
        m.FindCoordinatorResponse(
            error_code=one.error_code, error_message=message, node_id=one.node_id,
            host=one.host, port=one.port,
        )
    )  # fmt: skip


def _find(broker: Broker, key_type: int, key: str) -> m.FindCoordinatorResponse.Coordinator:
    if key_type not in (GROUP, TRANSACTION):
        return _failed(key, ErrorCode.INVALID_REQUEST)
    topic = GROUP_METADATA_TOPIC if key_type == GROUP else TRANSACTION_STATE_TOPIC
    if not broker.cache.contains(topic):
        broker.auto_create_topic(topic)
        return _failed(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    partition_for = broker.groups.partition_for if key_type == GROUP else broker.transactions.partition_for
    leader = broker.cache.leader(topic, partition_for(key))
    endpoint = None if leader is None else broker.cache.endpoint(leader, broker.listener)
    if leader is None or endpoint is None:
        return _failed(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return m.FindCoordinatorResponse.Coordinator(
        key=key, node_id=leader, host=endpoint.host, port=endpoint.port, error_code=ErrorCode.NONE, error_message=""
    )


def _no_share_groups(key: str, version: int) -> m.FindCoordinatorResponse.Coordinator:
    """Version 6 knows share groups (KIP-932), which no broker with a coordination tree has."""
    answer = _failed(key, ErrorCode.COORDINATOR_NOT_AVAILABLE if version >= 6 else ErrorCode.INVALID_REQUEST)
    answer.error_message = ""
    return answer


def _failed(key: str, error: ErrorCode) -> m.FindCoordinatorResponse.Coordinator:
    return m.FindCoordinatorResponse.Coordinator(
        key=key, node_id=-1, host="", port=-1, error_code=error, error_message=error.message
    )
