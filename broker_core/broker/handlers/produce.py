"""Produce (0): append batches to the leaders' logs.

Version 13 names topics by id (KIP-516): an unknown one is UNKNOWN_TOPIC_ID.
In Kafka's order: bytes that can be walked over, no transaction, known partition, not one of the cluster's own topics,
one batch of the right format, then the replica manager: valid acks, enough ISR for acks=all (NOT_ENOUGH_REPLICAS),
batch validation, append, and with acks=all the wait for the ISR.
acks=0 gets no answer; when something was wrong its connection is closed, the only sign it can get.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext
from broker_core.broker.handlers.leader_hints import FIRST_PRODUCE, HINTED, add_hints
from broker_core.broker.handlers.topic_ids import FIRST_PRODUCE as FIRST_PRODUCE_BY_ID
from broker_core.broker.handlers.topic_ids import UNKNOWN, answer_by_id, name_topics, unknown_topics
from broker_core.broker.handlers.transactional import Verified, verify_batches
from broker_core.metadata.topic_names import is_internal
from broker_core.records import RecordsError, check_produce_payload, read_headers
from broker_core.records.header import ATTRIBUTES_AT, TRANSACTIONAL, is_single_batch
from broker_core.wire import messages as m
from broker_core.wire.errors import NONE, ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

VALID_ACKS = (0, 1, -1)
ADMIN_CLIENT = "__admin_client"
"""Who calls himself so may write to the cluster's own topics (`AdminUtils.ADMIN_CLIENT_ID`)."""


def handle(broker: Broker, context: RequestContext) -> None:
    request = context.body
    if context.api_version < 3 and broker.mode == "kraft":
        context.close("versions below 3 are offered for old clients that insist, and refused")
        return
    if context.api_version >= FIRST_PRODUCE_BY_ID:
        name_topics(broker, request.topic_data)
    transactional = False
    try:
        for topic in request.topic_data:
            for partition in topic.partition_data:
                transactional = transactional or _is_transactional(partition.records)
    except RecordsError as error:
        _answer(context, _all(request, ErrorCode[error.kafka_error], error.reason))
        return
    if transactional and request.transactional_id is None:
        _answer(context, _all(request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
        return
    known: list[tuple[str, int, Any]] = []
    failed: list[tuple[str, Any]] = []
    for topic in request.topic_data:
        hosted = broker.cache.topics.get(topic.name, ())
        for partition in topic.partition_data:
            if partition.index not in hosted:
                failed.append((topic.name, _failure(partition.index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)))
            elif is_internal(topic.name) and context.client_id != ADMIN_CLIENT:
                failed.append((topic.name, _failure(partition.index, ErrorCode.INVALID_TOPIC_EXCEPTION)))
            elif refusal := _payload_error(partition.records, context.api_version):
                failed.append((topic.name, _failure(partition.index, refusal)))
            else:
                known.append((topic.name, partition.index, partition.records))
    if request.acks not in VALID_ACKS:
        failed += [(topic, _failure(index, ErrorCode.INVALID_REQUIRED_ACKS)) for topic, index, _ in known]
        known = []
    if not known:
        _answer(context, _response(failed))
        return
    state = (broker, context, failed)
    if transactional:
        verify_batches(broker, context, known, _verified, (state, known))
    else:
        broker.replicas.append(request.timeout, request.acks, known, _appended, state)


def _verified(waiting: tuple[tuple[Broker, RequestContext, list[tuple[str, Any]]], list[Any]], found: Verified) -> None:
    """Batches of a transaction that may be appended are; of the others the producer is told why not."""
    (broker, context, failed), known = waiting
    for (topic, index), error in found.refused.items():
        failed.append((topic, _failure(index, error, found.reason.get((topic, index)))))
    kept = [one for one in known if one[:2] not in found.refused]
    request, state = context.body, (broker, context, failed)
    if kept:
        broker.replicas.append(request.timeout, request.acks, kept, _appended, state, guards=found.guards)
    else:
        _answer(context, _response(failed))


def _is_transactional(records: Any) -> bool:
    """Whether any batch belongs to a transaction. Raises RecordsError for bytes that are no batches."""
    if records is not None and is_single_batch(records):
        return bool(records[ATTRIBUTES_AT + 1] & TRANSACTIONAL)
    return records is not None and any(header.is_transactional for header in read_headers(records))


def _payload_error(records: Any, version: int) -> ErrorCode:
    try:
        check_produce_payload(b"" if records is None else records, version)
    except RecordsError as error:
        return ErrorCode[error.kafka_error]
    return NONE


def _appended(state: tuple[Broker, RequestContext, list[tuple[str, Any]]], results: list[Any]) -> None:
    broker, context, failed = state
    parts = [(result.topic, _success(result)) for result in results]
    response = _response(parts + failed)
    if context.api_version >= FIRST_PRODUCE:
        for result in results:
            if result.error_code in HINTED:
                add_hints(broker, response, [(name, part.index, part) for name, part in parts])
                break
    _answer(context, response)


def _success(result: Any) -> m.ProduceResponse.PartitionProduceResponse:
    return m.ProduceResponse.PartitionProduceResponse.make(
        index=result.partition,
        error_code=result.error_code,
        base_offset=result.base_offset,
        log_append_time=result.log_append_time,
        log_start_offset=result.log_start_offset,
        record_errors=[
            m.ProduceResponse.BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
            for index, message in result.record_errors
        ] if result.record_errors else [],
        error_message=result.error_message,
    )


def _failure(index: int, error: ErrorCode, message: str | None = None) -> m.ProduceResponse.PartitionProduceResponse:
    return m.ProduceResponse.PartitionProduceResponse.make(
        index=index, error_code=error, base_offset=-1, log_append_time=-1, log_start_offset=-1, error_message=message
    )


def _all(request: Any, error: ErrorCode, message: str | None = None) -> m.ProduceResponse:
    return _response(
        [
            (topic.name, _failure(part.index, error, message))
            for topic in request.topic_data
            for part in topic.partition_data
        ]
    )


def _response(parts: list[tuple[str, Any]]) -> m.ProduceResponse:
    topics: dict[str, list[Any]] = {}
    for name, part in parts:
        topics.setdefault(name, []).append(part)
    return m.ProduceResponse.make(
        responses=[
            m.ProduceResponse.TopicProduceResponse.make(name=name, partition_responses=found)
            for name, found in topics.items()
        ]
    )


def _answer(context: RequestContext, response: m.ProduceResponse) -> None:
    if context.api_version >= FIRST_PRODUCE_BY_ID:
        _put_ids(context.body, response)
    if context.body.acks != 0:
        context.pipeline.respond(context, response)
        return
    for topic in response.responses:
        for part in topic.partition_responses:
            if part.error_code:
                context.close(f"acks=0 and {ErrorCode(part.error_code).name} for {topic.name}-{part.index}")
                return
    context.finish()


def _put_ids(request: Any, response: m.ProduceResponse) -> None:
    topic = m.ProduceResponse.TopicProduceResponse
    response.responses = answer_by_id(request.topic_data, response.responses)
    response.responses += [
        topic(topic_id=one.topic_id, partition_responses=[_failure(part.index, UNKNOWN) for part in one.partition_data])
        for one in unknown_topics(request.topic_data)
    ]
