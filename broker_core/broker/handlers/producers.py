"""Idempotent producers: InitProducerId 22, DescribeProducers 61.

A transactional id would need the transaction coordinator, which is not there yet: such a request is
answered TRANSACTIONAL_ID_AUTHORIZATION_FAILED, an error that no client retries for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


def init_producer_id(broker: Broker, context: RequestContext) -> None:
    request = context.body
    if request.transactional_id == "":
        context.respond(
            m.InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_id=-1, producer_epoch=-1)
        )
        return
    if request.transactional_id is not None:
        context.respond(
            m.InitProducerIdResponse(
                error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, producer_id=-1, producer_epoch=-1
            )
        )
        return
    context.respond(broker.producer_ids.init_producer_id(request, context.client_id or ""))


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
            current_txn_start_offset=-1,
        )
        for entry in partition.log.producers.entries.values()
    ]  # fmt: skip
    return m.DescribeProducersResponse.PartitionResponse(partition_index=index, active_producers=states)
