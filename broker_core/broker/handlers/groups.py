"""The group APIs: everything that a consumer group asks its coordinator.

JoinGroup, SyncGroup, OffsetCommit wait (for other members, for the commit of a record); their
answers come through `respond`. The rules are in `broker_core.groups`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.broker.connections import RequestContext, respond
from broker_core.groups.member import ClientIdentity
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


def client_of(context: RequestContext) -> ClientIdentity:
    """Who asks, as group descriptions show it."""
    return ClientIdentity(context.client_id or "", context.connection.host, context.api_version)


def join(broker: Broker, context: RequestContext) -> None:
    broker.groups.join_group(context.body, client_of(context), respond, context)


def sync(broker: Broker, context: RequestContext) -> None:
    broker.groups.sync_group(context.body, client_of(context), respond, context)


def heartbeat(broker: Broker, context: RequestContext) -> None:
    context.respond(broker.groups.heartbeat(context.body))


def leave(broker: Broker, context: RequestContext) -> None:
    context.respond(broker.groups.leave_group(context.body, client_of(context)))


def commit_offsets(broker: Broker, context: RequestContext) -> None:
    """Partitions that do not exist are answered here; the coordinator gets the rest."""
    request = context.body
    unknown: list[tuple[str, int]] = []
    for topic in request.topics:
        kept = []
        for part in topic.partitions:
            if broker.cache.contains(topic.name, part.partition_index):
                kept.append(part)
            else:
                unknown.append((topic.name, part.partition_index))
        topic.partitions = kept
    request.topics = [topic for topic in request.topics if topic.partitions]
    if not request.topics and unknown:
        _committed((context, unknown), m.OffsetCommitResponse(topics=[]))
        return
    broker.groups.commit_offsets(request, client_of(context), _committed, (context, unknown))


def _committed(state: tuple[RequestContext, list[tuple[str, int]]], response: m.OffsetCommitResponse) -> None:
    context, unknown = state
    topics = {topic.name: topic for topic in response.topics}
    for name, index in unknown:
        if name not in topics:
            topics[name] = m.OffsetCommitResponse.OffsetCommitResponseTopic(name=name, partitions=[])
            response.topics.append(topics[name])
        topics[name].partitions.append(
            m.OffsetCommitResponse.OffsetCommitResponsePartition(
                partition_index=index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
        )
    context.respond(response)


def fetch_offsets(broker: Broker, context: RequestContext) -> None:
    context.respond(broker.groups.fetch_offsets(context.body, client_of(context)))


def describe(broker: Broker, context: RequestContext) -> None:
    context.respond(broker.groups.describe_groups(context.body, context.api_version))


def list_groups(broker: Broker, context: RequestContext) -> None:
    context.respond(broker.groups.list_groups(context.body))


def delete(broker: Broker, context: RequestContext) -> None:
    context.respond(broker.groups.delete_groups(context.body))


def delete_offsets(broker: Broker, context: RequestContext) -> None:
    context.respond(broker.groups.delete_offsets(context.body))


def next_generation_heartbeat(broker: Broker, context: RequestContext) -> None:
    """KIP-848 needs `group.coordinator.rebalance.protocols` with "consumer", and that needs KRaft."""
    context.respond(m.ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))


def next_generation_describe(broker: Broker, context: RequestContext) -> None:
    """The same for each group."""
    one = m.ConsumerGroupDescribeResponse.DescribedGroup
    groups = [one(group_id=name, error_code=ErrorCode.UNSUPPORTED_VERSION) for name in context.body.group_ids]
    context.respond(m.ConsumerGroupDescribeResponse(groups=groups))
