"""The transaction APIs: AddPartitionsToTxn 24, AddOffsetsToTxn 25, EndTxn 26, WriteTxnMarkers 27, TxnOffsetCommit 28,
DescribeTransactions 65, ListTransactions 66.

The first three and the last two are for the transaction coordinator, TxnOffsetCommit for the group's, WriteTxnMarkers
for the leaders of the partitions that a transaction has written to. A marker in `__consumer_offsets` also tells the
group coordinator here that offsets count now. Versions before 2 do not know PRODUCER_FENCED.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext, respond
from broker_core.metadata.topic_names import GROUP_METADATA_TOPIC
from broker_core.records.control import transaction_marker_batch
from broker_core.transactions.decisions import Producer
from broker_core.transactions.transaction import VERSION_2, TopicPartition
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

FENCED_VERSION = 2
SEVERAL_VERSION = 4
EPOCH_BUMPS_VERSION = 5


def fenced_as(error: ErrorCode, known: bool) -> ErrorCode:
    """Old clients know only the code that partitions give to an old epoch."""
    return ErrorCode.INVALID_PRODUCER_EPOCH if error is ErrorCode.PRODUCER_FENCED and not known else error


# --- AddPartitionsToTxn -------------------------------------------------------------------------


class _Adding:
    """One request; it is answered when all of its transactional ids are."""

    __slots__ = ("context", "left", "results")

    def __init__(self, context: RequestContext, left: int) -> None:
        self.context = context
        self.left = left
        self.results: list[Any] = []


def add_partitions(broker: Broker, context: RequestContext) -> None:
    """One id of a client (to version 3), or several of a broker, which may only want to look (from 4)."""
    request, several = context.body, context.api_version >= SEVERAL_VERSION
    asked = request.transactions if several else [
        m.AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id, producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch, topics=request.v3_and_below_topics,
        )
    ]  # fmt: skip
    adding = _Adding(context, len(asked))
    if not asked:
        context.respond(m.AddPartitionsToTxnResponse(results_by_transaction=[]))
    for one in asked:
        _add(broker, adding, one)


def _add(broker: Broker, adding: _Adding, one: Any) -> None:
    partitions = [(topic.name, number) for topic in one.topics for number in topic.partitions]
    producer = Producer(one.producer_id, one.producer_epoch)
    state = (adding, one)
    missing = {key: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for key in partitions if not broker.cache.contains(*key)}
    if missing:
        _added_each(state, {key: missing.get(key, ErrorCode.OPERATION_NOT_ATTEMPTED) for key in partitions})
    elif one.verify_only:
        _added_each(state, broker.transactions.verify_partitions(one.transactional_id, producer, partitions))
    else:
        version = VERSION_2 if adding.context.api_version >= SEVERAL_VERSION else 0
        broker.transactions.add_partitions(one.transactional_id, producer, partitions, version, _added, state)


def _added(state: tuple[_Adding, Any], error: ErrorCode) -> None:
    """The same for all of them, also for what is named twice."""
    adding, one = state
    told = fenced_as(error, adding.context.api_version >= FENCED_VERSION)
    _answer(adding, one, [(topic.name, [(number, told) for number in topic.partitions]) for topic in one.topics])


def _added_each(state: tuple[_Adding, Any], errors: dict[TopicPartition, ErrorCode]) -> None:
    topics: dict[str, list[tuple[int, ErrorCode]]] = {}
    for (topic, partition), error in errors.items():
        topics.setdefault(topic, []).append((partition, error))
    _answer(*state, list(topics.items()))


def _answer(adding: _Adding, one: Any, topics: list[tuple[str, list[tuple[int, ErrorCode]]]]) -> None:
    response = m.AddPartitionsToTxnResponse
    result, part = response.AddPartitionsToTxnTopicResult, response.AddPartitionsToTxnPartitionResult
    results = [
        result(name=name, results_by_partition=[
            part(partition_index=number, partition_error_code=error) for number, error in found
        ]) for name, found in topics
    ]  # fmt: skip
    adding.results.append(
        response.AddPartitionsToTxnResult(transactional_id=one.transactional_id, topic_results=results)
    )
    if len(adding.results) < adding.left:
        return
    if adding.context.api_version >= SEVERAL_VERSION:
        adding.context.respond(response(results_by_transaction=adding.results))
    else:
        adding.context.respond(response(results_by_topic_v3_and_below=results))


# --- AddOffsetsToTxn, EndTxn ----------------------------------------------------------------------


def add_offsets(broker: Broker, context: RequestContext) -> None:
    """The group's partition of `__consumer_offsets` becomes part of the transaction."""
    request = context.body
    partition = (GROUP_METADATA_TOPIC, broker.groups.partition_for(request.group_id))
    if not broker.cache.contains(GROUP_METADATA_TOPIC):
        broker.auto_create_topic(GROUP_METADATA_TOPIC)
        context.respond(m.AddOffsetsToTxnResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE))
        return
    producer = Producer(request.producer_id, request.producer_epoch)
    broker.transactions.add_partitions(request.transactional_id, producer, [partition], 0, _offsets_added, context)


def _offsets_added(context: RequestContext, error: ErrorCode) -> None:
    told = fenced_as(error, context.api_version >= FENCED_VERSION)
    context.respond(m.AddOffsetsToTxnResponse(error_code=told))


def end(broker: Broker, context: RequestContext) -> None:
    """Commit or abort. Who speaks version 5 gets a new epoch with it."""
    request = context.body
    version = VERSION_2 if context.api_version >= EPOCH_BUMPS_VERSION else 0
    producer = Producer(request.producer_id, request.producer_epoch)
    broker.transactions.end(request.transactional_id, producer, request.committed, version, _ended, context)


def _ended(context: RequestContext, error: ErrorCode, producer_id: int, epoch: int) -> None:
    told = fenced_as(error, context.api_version >= FENCED_VERSION)
    context.respond(m.EndTxnResponse(error_code=told, producer_id=producer_id, producer_epoch=epoch))


# --- WriteTxnMarkers ------------------------------------------------------------------------------


class _Marking:
    """One request; it is answered when all of its markers are in the log, or refused."""

    __slots__ = ("broker", "context", "left", "errors")

    def __init__(self, broker: Broker, context: RequestContext) -> None:
        self.broker = broker
        self.context = context
        self.left = len(context.body.markers)
        self.errors: list[dict[TopicPartition, int]] = [{} for _ in range(self.left)]


def write_markers(broker: Broker, context: RequestContext) -> None:
    """A control batch into each partition; partitions that have no replica here are refused. Of a marker for no
    partition at all nothing is said."""
    markers = context.body.markers
    context.body.markers = [one for one in markers if any(topic.partition_indexes for topic in one.topics)]
    marking = _Marking(broker, context)
    if not marking.left:
        context.respond(m.WriteTxnMarkersResponse(markers=[]))
    now_ms, timeout_ms = broker.node.wall_ms(), broker.config["request.timeout.ms"]
    for place, marker in enumerate(context.body.markers):
        entries = []
        for topic in marker.topics:
            for number in topic.partition_indexes:
                if broker.replicas.partition(topic.name, number) is None:
                    marking.errors[place][topic.name, number] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    continue
                batch = transaction_marker_batch(
                    marker.transaction_result, marker.producer_id, marker.producer_epoch, marker.coordinator_epoch,
                    now_ms,
                )  # fmt: skip
                entries.append((topic.name, number, batch))
        broker.replicas.append(
            timeout_ms, -1, entries, _marked, (marking, place), origin="coordinator",
            transaction_version=marker.transaction_version,
        )  # fmt: skip


def _marked(state: tuple[_Marking, int], results: list[Any]) -> None:
    marking, place = state
    marker, errors = marking.context.body.markers[place], marking.errors[place]
    offsets = []
    for result in results:
        errors[result.topic, result.partition] = result.error_code
        if result.topic == GROUP_METADATA_TOPIC and not result.error_code:
            offsets.append(result.partition)
    if offsets:
        marking.broker.groups.transaction_ended(marker.producer_id, offsets, bool(marker.transaction_result))
    marking.left -= 1
    if not marking.left:
        marking.context.respond(_markers_written(marking))


def _markers_written(marking: _Marking) -> m.WriteTxnMarkersResponse:
    response = m.WriteTxnMarkersResponse
    markers = []
    for marker, errors in zip(marking.context.body.markers, marking.errors, strict=True):
        topics = [
            response.WritableTxnMarkerTopicResult(name=topic.name, partitions=[
                response.WritableTxnMarkerPartitionResult(
                    partition_index=number, error_code=errors[topic.name, number]
                )
                for number in topic.partition_indexes
            ])
            for topic in marker.topics
        ]  # fmt: skip
        markers.append(response.WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics))
    return response(markers=markers)


# --- for whoever wants to know --------------------------------------------------------------------


def describe(broker: Broker, context: RequestContext) -> None:
    respond(context, broker.transactions.describe(context.body))


def list_transactions(broker: Broker, context: RequestContext) -> None:
    respond(context, broker.transactions.list(context.body))
