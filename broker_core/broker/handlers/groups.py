"""The group APIs: everything that a consumer group asks its coordinator.

JoinGroup, SyncGroup, OffsetCommit wait (for other members, for the commit of a record); their
answers come through `respond`. The rules are in `broker_core.groups`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext, respond
from broker_core.broker.handlers.topic_ids import FIRST_OFFSETS, UNKNOWN, answer_by_id, name_topics, unknown_topics
from broker_core.groups.member import ClientIdentity
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

IN_THE_TREE = 0
"""This version of OffsetCommit and OffsetFetch, only with ZooKeeper, means znodes (`cluster.zk.tree_offsets`)."""

Unknown = dict[str, list[int]]  # topic -> partitions that do not exist; none of them when only the topic was named


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
    """Partitions that do not exist are answered here; the coordinator gets the rest, but for the oldest version."""
    if context.api_version == IN_THE_TREE:
        broker.cluster.answer(context, respond)
        return
    request = context.body
    asked: list[Any] = []
    if context.api_version >= FIRST_OFFSETS:
        asked = request.topics
        name_topics(broker, asked)
        request.topics = [topic for topic in asked if topic.name]
    unknown = take_unknown(broker, request)
    if not request.topics and (unknown or asked):
        _committed((context, unknown, asked), m.OffsetCommitResponse(topics=[]))
        return
    broker.groups.commit_offsets(request, client_of(context), _committed, (context, unknown, asked))


def _committed(state: tuple[RequestContext, Unknown, list[Any]], response: m.OffsetCommitResponse) -> None:
    context, unknown, asked = state
    topic = m.OffsetCommitResponse.OffsetCommitResponseTopic
    partition = m.OffsetCommitResponse.OffsetCommitResponsePartition
    tell_unknown(response, unknown, topic, partition)
    if asked:
        response.topics = answer_by_id(asked, response.topics)
        response.topics += [
            topic(topic_id=one.topic_id, partitions=[
                partition(partition_index=part.partition_index, error_code=UNKNOWN) for part in one.partitions
            ])
            for one in unknown_topics(asked)
        ]  # fmt: skip
    context.respond(response)


def take_unknown(broker: Broker, request: Any) -> Unknown:
    """Takes the topics and partitions that do not exist out of the request."""
    unknown: Unknown = {}
    for topic in request.topics:
        kept = [one for one in topic.partitions if broker.cache.contains(topic.name, one.partition_index)]
        if len(kept) < len(topic.partitions) or not broker.cache.contains(topic.name):
            there = {one.partition_index for one in kept}
            wrong = [one.partition_index for one in topic.partitions if one.partition_index not in there]
            unknown.setdefault(topic.name, []).extend(wrong)
        topic.partitions = kept
    request.topics = [topic for topic in request.topics if topic.partitions]
    return unknown


def tell_unknown(response: Any, unknown: Unknown, topic_kind: Any, partition_kind: Any) -> None:
    """Puts them back into the answer, as partitions that do not exist."""
    topics = {topic.name: topic for topic in response.topics}
    for name, indexes in unknown.items():
        if name not in topics:
            topics[name] = topic_kind(name=name, partitions=[])
            response.topics.append(topics[name])
        topics[name].partitions.extend(
            partition_kind(partition_index=index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            for index in indexes
        )


def fetch_offsets(broker: Broker, context: RequestContext) -> None:
    if context.api_version == IN_THE_TREE:
        broker.cluster.answer(context, respond)
    elif context.api_version < FIRST_OFFSETS:
        context.respond(broker.groups.fetch_offsets(context.body, client_of(context)))
    else:
        _fetch_by_id(broker, context)


def _fetch_by_id(broker: Broker, context: RequestContext) -> None:
    """Of all topics where none is named: those that are still there."""
    asked = [group.topics for group in context.body.groups]
    for group, topics in zip(context.body.groups, asked, strict=True):
        if topics is not None:
            name_topics(broker, topics)
            group.topics = [topic for topic in topics if topic.name]
    response = broker.groups.fetch_offsets(context.body, client_of(context))
    topic = m.OffsetFetchResponse.OffsetFetchResponseTopics
    partition = m.OffsetFetchResponse.OffsetFetchResponsePartitions
    for group, topics in zip(response.groups, asked, strict=True):
        if topics is None:
            here = [topic(name=name, topic_id=number) for name, number in broker.cache.topic_ids.items()]
            group.topics = answer_by_id(here, [one for one in group.topics if one.name in broker.cache.topic_ids])
        elif not group.error_code:
            group.topics = answer_by_id(topics, group.topics) + [
                topic(topic_id=one.topic_id, partitions=[
                    partition(partition_index=index, committed_offset=-1, committed_leader_epoch=-1, error_code=UNKNOWN)
                    for index in one.partition_indexes
                ])
                for one in unknown_topics(topics)
            ]  # fmt: skip
    context.respond(response)


def describe(broker: Broker, context: RequestContext) -> None:
    context.respond(broker.groups.describe_groups(context.body, context.api_version))


def list_groups(broker: Broker, context: RequestContext) -> None:
    context.respond(broker.groups.list_groups(context.body))


def delete(broker: Broker, context: RequestContext) -> None:
    """Share groups first: their share coordinators have to be told before the group goes (KIP-932)."""
    request = context.body
    shared = [name for name in dict.fromkeys(request.groups_names) if name in broker.groups.registry.share_groups]
    if not shared or broker.groups.share is None:
        context.respond(broker.groups.delete_groups(request))
        return
    errors: dict[str, ErrorCode] = {}

    def done(name: str, error: ErrorCode) -> None:
        errors[name] = error
        if len(errors) == len(shared):
            asked = dict.fromkeys(request.groups_names)
            request.groups_names = [one for one in asked if one not in errors]
            others = {one.group_id: one for one in broker.groups.delete_groups(request).results}
            kind = m.DeleteGroupsResponse.DeletableGroupResult
            results = [others.get(one) or kind(group_id=one, error_code=errors[one]) for one in asked]
            context.respond(m.DeleteGroupsResponse(results=results))

    for name in shared:
        broker.groups.share.delete(name, partial(done, name))


def delete_offsets(broker: Broker, context: RequestContext) -> None:
    """As with commits: what does not exist is said here, if the group has no error of its own (KIP-496)."""
    unknown = take_unknown(broker, context.body)
    response = broker.groups.delete_offsets(context.body)
    if response.error_code == ErrorCode.NONE:
        deleted = m.OffsetDeleteResponse
        tell_unknown(response, unknown, deleted.OffsetDeleteResponseTopic, deleted.OffsetDeleteResponsePartition)
    context.respond(response)


def has_next_generation(broker: Broker) -> bool:
    """KIP-848: `group.coordinator.rebalance.protocols` has "consumer", and group.version is 1, which needs KRaft."""
    return broker.group_version() >= 1 and "consumer" in broker.config["group.coordinator.rebalance.protocols"]


def next_generation_heartbeat(broker: Broker, context: RequestContext) -> None:
    if has_next_generation(broker):
        broker.groups.consumer_heartbeat(context.body, client_of(context), respond, context)
    else:
        context.respond(m.ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))


def next_generation_describe(broker: Broker, context: RequestContext) -> None:
    if has_next_generation(broker):
        context.respond(broker.groups.describe_consumer_groups(context.body))
        return
    one = m.ConsumerGroupDescribeResponse.DescribedGroup
    groups = [one(group_id=name, error_code=ErrorCode.UNSUPPORTED_VERSION) for name in context.body.group_ids]
    context.respond(m.ConsumerGroupDescribeResponse(groups=groups))


def share_heartbeat(broker: Broker, context: RequestContext) -> None:
    if broker.share_version() >= 1:
        broker.groups.share_heartbeat(context.body, client_of(context), respond, context)
    else:
        context.respond(m.ShareGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))


def share_describe(broker: Broker, context: RequestContext) -> None:
    if broker.share_version() >= 1:
        context.respond(broker.groups.describe_share_groups(context.body))
        return
    one = m.ShareGroupDescribeResponse.DescribedGroup
    groups = [one(group_id=name, error_code=ErrorCode.UNSUPPORTED_VERSION) for name in context.body.group_ids]
    context.respond(m.ShareGroupDescribeResponse(groups=groups))
