"""Metadata (3) and DescribeCluster (60): any broker answers, from what it believes.

A topic that is asked for and does not exist is created when `auto.create.topics.enable` and the
request allow it; the asker gets LEADER_NOT_AVAILABLE and asks again, or hears why it cannot be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext
from broker_core.metadata.offered import BROKERS, CLUSTER_OPERATIONS, NOT_ASKED, wrong_endpoint
from broker_core.metadata.topic_names import problem_with
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

TOPIC_OPERATIONS = sum(1 << bit for bit in (3, 4, 5, 6, 7, 8, 10, 11))
FIRST_WITH_FENCED = 2


def handle(broker: Broker, context: RequestContext) -> None:
    """Answer a Metadata request of any version."""
    request, version = context.body, context.api_version
    error = _refusal(request, version)
    if error:
        refused = [_failed(one.name or "", error, one.topic_id) for one in request.topics]
        context.respond(m.MetadataResponse(topics=refused))
        return
    everything = request.topics is None or (version == 0 and not request.topics)
    if everything:
        topics = [_known(broker, name, version, request) for name in list(broker.cache.topics)]
    else:
        auto = (version < 4 or request.allow_auto_topic_creation) and broker.config["auto.create.topics.enable"]
        ids = dict.fromkeys(one.topic_id for one in request.topics if one.topic_id.int)
        names = dict.fromkeys(one.name for one in request.topics)
        if ids:
            topics = [_with_id(broker, topic_id, version, request) for topic_id in ids]
        else:
            topics = [_named(broker, name, version, request, auto) for name in names]
    controller = broker.cache.controller_id
    operations = CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
    context.respond(
        m.MetadataResponse(
            brokers=broker.cache.live_nodes(broker.listener),
            cluster_id=broker.cluster_id,
            controller_id=-1 if controller is None else controller,
            topics=topics,
            cluster_authorized_operations=operations,
        )
    )


def _refusal(request: Any, version: int) -> ErrorCode:
    """Topics may be asked for by id from version 12 on, though the field is there from 10."""
    topics = request.topics or ()
    if version < 12 and any(one.name is None or one.topic_id.int for one in topics):
        return ErrorCode.INVALID_REQUEST
    if any(one.name is None and not one.topic_id.int for one in topics):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return ErrorCode.NONE


def _known(broker: Broker, name: str, version: int, request: Any) -> Any:
    described = broker.cache.describe_topic(name, broker.listener, version == 0, version >= 6)
    if described is not None:
        asked = request.include_topic_authorized_operations
        described.topic_authorized_operations = TOPIC_OPERATIONS if asked else NOT_ASKED
    return described


def _with_id(broker: Broker, topic_id: Any, version: int, request: Any) -> Any:
    """One id counts for all: names beside ids are not looked at (KIP-516); Java's admin client sends "" there."""
    name = broker.cache.topic_names.get(topic_id)
    found = None if name is None else _known(broker, name, version, request)
    return _failed(None, ErrorCode.UNKNOWN_TOPIC_ID, topic_id) if found is None else found


def _named(broker: Broker, name: str, version: int, request: Any, auto: bool) -> Any:
    found = _known(broker, name, version, request)
    if found is not None:
        return found
    if problem_with(name) is not None:
        return _failed(name, ErrorCode.INVALID_TOPIC_EXCEPTION)
    if auto:
        return _failed(name, broker.auto_create_topic(name))
    return _failed(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _failed(name: str | None, error: ErrorCode, topic_id: Any = None) -> m.MetadataResponse.MetadataResponseTopic:
    answer = m.MetadataResponse.MetadataResponseTopic(
        error_code=error, name=name, partitions=[], topic_authorized_operations=NOT_ASKED
    )
    if topic_id is not None:
        answer.topic_id = topic_id
    return answer


def describe_cluster(broker: Broker, context: RequestContext) -> None:
    """Answer a DescribeCluster request."""
    request = context.body
    if context.api_version >= 1 and request.endpoint_type != BROKERS:
        context.respond(wrong_endpoint(request.endpoint_type, BROKERS, context.api_version))
        return
    controller = broker.cache.controller_id
    brokers = [
        m.DescribeClusterResponse.DescribeClusterBroker(
            broker_id=node.node_id, host=node.host, port=node.port, rack=node.rack
        )
        for node in broker.cache.live_nodes(broker.listener)
    ]
    if context.api_version >= FIRST_WITH_FENCED and request.include_fenced_brokers:
        brokers += _fenced(broker)
    operations = CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
    context.respond(
        m.DescribeClusterResponse(
            endpoint_type=1,
            cluster_id=broker.cluster_id,
            controller_id=-1 if controller is None else controller,
            brokers=brokers,
            cluster_authorized_operations=operations,
        )
    )


def _fenced(broker: Broker) -> list[Any]:
    """Brokers that are registered and not alive (KIP-1073)."""
    return [
        m.DescribeClusterResponse.DescribeClusterBroker(
            broker_id=one.id, host=found.host, port=found.port, rack=one.rack, is_fenced=True
        )
        for one in broker.cache.fenced.values() if (found := one.listeners.get(broker.listener)) is not None
    ]  # fmt: skip
