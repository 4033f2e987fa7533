"""FindCoordinator (10): the leader of the partition of `__consumer_offsets` to which a group's name hashes, of
`__transaction_state` for a transactional id, or of `__share_group_state` for a share-partition ("group:topic id:0").

Version 4 asks for several keys at once. The internal topic is created when it is first needed;
meanwhile the answer is COORDINATOR_NOT_AVAILABLE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.broker.connections import RequestContext
from broker_core.metadata.topic_names import GROUP_METADATA_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC
from broker_core.sharing.records import ShareKey
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

GROUP, TRANSACTION, SHARE = 0, 1, 2
TOPICS = {GROUP: GROUP_METADATA_TOPIC, TRANSACTION: TRANSACTION_STATE_TOPIC, SHARE: SHARE_GROUP_STATE_TOPIC}
FIRST_WITH_SHARES = 6


def handle(broker: Broker, context: RequestContext) -> None:
    """Answer for one key (to version 3) or several (from version 4)."""
    request = context.body
    if context.api_version >= 4:
        if request.key_type == SHARE:
            found = [_find_share(broker, key, context.api_version) for key in request.coordinator_keys]
        else:
            found = [_find(broker, request.key_type, key) for key in request.coordinator_keys]
        if request.key_type in TOPICS:  # the code says it all, from version 4 on
            for one in found:
                one.error_message = ""
        context.respond(m.FindCoordinatorResponse(coordinators=found))
        return
    one = _find(broker, request.key_type, request.key) if request.key_type != SHARE else _malformed(request.key)
    message = one.error_message if one.error_code else ErrorCode.NONE.name
    context.respond(
        m.FindCoordinatorResponse(
            error_code=one.error_code, error_message=message, node_id=one.node_id,
            host=one.host, port=one.port,
        )
    )  # fmt: skip


def _find(broker: Broker, key_type: int, key: str) -> m.FindCoordinatorResponse.Coordinator:
    topic = TOPICS.get(key_type)
    if topic is None:
        return _malformed(key)
    if not broker.cache.contains(topic):
        broker.auto_create_topic(topic)
        return _failed(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    leader = broker.cache.leader(topic, broker.coordinators[topic].partition_for(key))
    endpoint = None if leader is None else broker.cache.endpoint(leader, broker.listener)
    if leader is None or endpoint is None:
        return _failed(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return m.FindCoordinatorResponse.Coordinator(
        key=key, node_id=leader, host=endpoint.host, port=endpoint.port, error_code=ErrorCode.NONE, error_message=""
    )


def _find_share(broker: Broker, key: str, version: int) -> m.FindCoordinatorResponse.Coordinator:
    """Version 6 knows share-partitions (KIP-932), which no broker with a coordination tree has."""
    answer = _malformed(key)
    if version >= FIRST_WITH_SHARES and broker.mode != "kraft":
        answer = _failed(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    elif version >= FIRST_WITH_SHARES:
        try:
            answer = _find(broker, SHARE, ShareKey.parse(key).name)
        except ValueError:
            pass
    answer.key = key
    return answer


def _malformed(key: str) -> m.FindCoordinatorResponse.Coordinator:
    return _failed(key, ErrorCode.INVALID_REQUEST)


def _failed(key: str, error: ErrorCode) -> m.FindCoordinatorResponse.Coordinator:
    return m.FindCoordinatorResponse.Coordinator(
        key=key, node_id=-1, host="", port=-1, error_code=error, error_message=error.message
    )
