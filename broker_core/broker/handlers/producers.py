"""Who writes: InitProducerId 22, DescribeProducers 61.

With a transactional id the transaction coordinator decides on id and epoch, without one any broker gives out an id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext
from broker_core.broker.handlers.transactions import fenced_as
from broker_core.metadata.topic_names import problem_with
from broker_core.transactions.decisions import Producer
from broker_core.transactions.transaction import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

FENCED_VERSION = 4


def init_producer_id(broker: Broker, context: RequestContext) -> None:
    request = context.body
    if request.transactional_id == "":
        context.respond(
            m.InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_id=-1, producer_epoch=-1)
        )
        return
    if request.transactional_id is not None:
        _init_transactional(broker, context)
        return
    context.respond(broker.producer_ids.init_producer_id(request, context.client_id or ""))


def _init_transactional(broker: Broker, context: RequestContext) -> None:
    """What the producer says that it has counts when it says both: id and epoch (KIP-360)."""
    request = context.body
    named = request.producer_id != NO_PRODUCER_ID, request.producer_epoch != NO_PRODUCER_EPOCH
    if named[0] != named[1]:
        _initialised(context, ErrorCode.INVALID_REQUEST, NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
        return
    expected = Producer(request.producer_id, request.producer_epoch) if all(named) else None
    broker.transactions.init_producer_id(
        request.transactional_id, request.transaction_timeout, expected, _initialised, context
    )


def _initialised(context: RequestContext, error: ErrorCode, producer_id: int, epoch: int) -> None:
    told = fenced_as(error, context.api_version >= FENCED_VERSION)
    context.respond(m.InitProducerIdResponse(error_code=told, producer_id=producer_id, producer_epoch=epoch))


def describe_producers(broker: Broker, context: RequestContext) -> None:
    """Who writes into these partitions, as this broker's replica remembers; a follower's may be asked, too."""
    topics = [
        m.DescribeProducersResponse.TopicResponse(
            name=topic.name, partitions=[_describe(broker, topic.name, index) for index in topic.partition_indexes]
        )
        for topic in context.body.topics
    ]
    context.respond(m.DescribeProducersResponse(topics=topics))


def _describe(broker: Broker, topic: str, index: int) -> Any:
    if (problem := problem_with(topic)) is not None:
        return m.DescribeProducersResponse.PartitionResponse(
            partition_index=index, error_code=ErrorCode.INVALID_TOPIC_EXCEPTION, active_producers=[],
            error_message=f"Topic name is invalid: {problem}",
        )  # fmt: skip
    partition = broker.replicas.partition(topic, index)
    if partition is None:
        error = broker.replicas.missing(topic, index)
        known = topic in broker.cache.topics
        return m.DescribeProducersResponse.PartitionResponse(
            partition_index=index, error_code=error, error_message=None if known else error.message, active_producers=[]
        )
    states = [
        m.DescribeProducersResponse.ProducerState(
            producer_id=entry.producer_id, producer_epoch=entry.epoch, last_sequence=entry.last_sequence,
            last_timestamp=entry.last_timestamp, coordinator_epoch=entry.coordinator_epoch,
            current_txn_start_offset=-1 if entry.transaction_start is None else entry.transaction_start,
        )
        for entry in partition.log.producers.entries.values()
    ]  # fmt: skip
    return m.DescribeProducersResponse.PartitionResponse(partition_index=index, active_producers=states)
