"""Fetch (1), ListOffsets (2), OffsetForLeaderEpoch (23), DeleteRecords (21): reading and trimming logs.

Consumers and followers send the same Fetch; what differs is how far they may see (`replication.reading`).
What an old consumer cannot read is an error of the partition, checked in this order:

| Fetch version | partition | answer |
|---|---|---|
| below 10 | its topic has compression.type=zstd (KIP-110) | UNSUPPORTED_COMPRESSION_TYPE |
| below 4, from a consumer | must be converted, message.downconversion.enable=false (KIP-283) | UNSUPPORTED_VERSION |
| below 4 | the first batch to be converted is compressed with zstd | UNSUPPORTED_COMPRESSION_TYPE |
| below 4 | the first batch to be converted is damaged | CORRUPT_MESSAGE or INVALID_RECORD |

Whether there is something to convert is told by the topic's `message.format.version`, not by the bytes: after it was
lowered, old consumers get batches that they cannot read, as from Kafka (`KafkaApis.maybeConvertFetchedData`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext, respond
from broker_core.broker.handlers.leader_hints import FIRST_FETCH, HINTED, add_hints
from broker_core.kernel import events
from broker_core.kernel.storage import read_all
from broker_core.records.conversion import Allowance, down_convert
from broker_core.records.errors import RecordsError
from broker_core.records.header import MAGIC_AT
from broker_core.replication.errors import error_code
from broker_core.wire import messages as m
from broker_core.wire.errors import NONE, ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker
    from broker_core.replication.delayed_fetch import Readings

FIRST_FETCH_OF_BATCHES = 4
FIRST_FETCH_OF_ZSTD = 10


def fetch(broker: Broker, context: RequestContext) -> None:
    """Clients from before 0.11 (to version 3) get the older formats that they can read; none before 2.1 reads zstd."""
    version = context.api_version
    told = partial(_tell_of_records, broker, context) if context.connection.number >= 0 else None
    if version < FIRST_FETCH_OF_BATCHES and broker.mode == "kraft":  # of a built-in client
        context.close("this version is not offered")
    elif version < FIRST_FETCH_OF_ZSTD:
        broker.replicas.fetching.fetch(context.body, version, _fetched_by_an_old_client, (broker, context), told)
    elif version >= FIRST_FETCH and context.body.replica_state.replica_id < 0:
        broker.replicas.fetching.fetch(context.body, version, _fetched, (broker, context), told)
    else:
        broker.replicas.fetching.fetch(context.body, version, context.pipeline.respond, context, told)


def _tell_of_records(broker: Broker, context: RequestContext, readings: Readings) -> None:
    """Which records leave for a client outside, if it is still there: who has read them nobody else could say."""
    connection = context.connection
    if connection.closed or connection.left or not broker.node.messages:
        return
    for position, reading in readings:
        if reading.size and reading.behind > position.fetch_offset:
            broker.node.note(events.RECORDS_SENT, {
                "topic": position.topic, "partition": position.index, "base_offset": position.fetch_offset,
                "last_offset": reading.behind - 1, "to": str(connection.number),
            })  # fmt: skip


def _fetched(state: tuple[Broker, RequestContext], response: Any) -> None:
    """A new consumer is told who leads instead."""
    broker, context = state
    names = broker.cache.topic_names
    parts = [
        (names.get(topic.topic_id, ""), part.partition_index, part)
        for topic in response.responses
        for part in topic.partitions
        if part.error_code in HINTED
    ]
    if parts:
        for _, _, part in parts:  # what all partitions share while there is nothing to say
            leader = part.current_leader
            part.current_leader = type(leader)(leader_id=leader.leader_id, leader_epoch=leader.leader_epoch)
        add_hints(broker, response, parts)
    context.respond(response)


def _fetched_by_an_old_client(state: tuple[Broker, RequestContext], response: Any) -> None:
    """What this client can read, or an error that says that it cannot."""
    broker, context = state
    converts = context.api_version < FIRST_FETCH_OF_BATCHES
    offsets = {
        (topic.topic, part.partition): part.fetch_offset for topic in context.body.topics for part in topic.partitions
    } if converts else {}  # fmt: skip
    allowance = Allowance()
    for topic in response.responses:
        for place, part in enumerate(topic.partitions):
            magic = _magic_for(broker, context, topic.topic, part.partition_index) if converts else None
            error = _unreadable(broker, context, topic.topic, part.partition_index, magic)
            if not error and magic is not None and part.records:
                offset = offsets[topic.topic, part.partition_index]
                error = _convert(broker, (topic.topic, part), magic, offset, allowance)
            if error:
                topic.partitions[place] = m.FetchResponse.PartitionData(
                    partition_index=part.partition_index, error_code=error, high_watermark=-1
                )
    context.respond(response)


def _magic_for(broker: Broker, context: RequestContext, topic: str, index: int) -> int | None:
    """The format to convert to; None: the log is written in one that the client knows. Version 0 and 1 read messages
    of magic 0, version 2 and 3 of magic 1."""
    partition = broker.replicas.partitions_by_name.get((topic, index))
    known = 0 if context.api_version < 2 else 1
    return known if partition is not None and partition.log.rules.magic > known else None


def _unreadable(broker: Broker, context: RequestContext, topic: str, index: int, magic: int | None) -> ErrorCode:
    """What the settings of the topic say about a client that old, for which it is converted to `magic`."""
    partition = broker.replicas.partitions_by_name.get((topic, index))
    if partition is None:
        return NONE
    config = partition.log.config
    if config.compression_type == "zstd":
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    old = magic is not None and context.body.replica_id < 0
    return ErrorCode.UNSUPPORTED_VERSION if old and not config.message_downconversion_enable else NONE


def _convert(broker: Broker, place: tuple[str, Any], magic: int, offset: int, allowance: Allowance) -> ErrorCode:
    """Once the allowance is used up a partition has nothing for this answer; the consumer asks again. What is
    converted has to be read into the process: it is lost for zero copy."""
    topic, part = place
    data = read_all(part.records) if isinstance(part.records, list) else part.records
    before, magic_from = allowance.records, data[MAGIC_AT]
    try:
        part.records = down_convert(data, magic, offset, allowance)
    except RecordsError as error:
        return error_code(error)
    count = allowance.records - before
    if count:
        broker.replicas.meters.fetch_conversions += count
        broker.node.note(events.RECORDS_CONVERTED, {
            "topic": topic, "partition": part.partition_index, "api": "Fetch", "records": count,
            "magic_from": magic_from, "magic_to": magic, "bytes_before": len(data), "bytes_after": len(part.records),
        })  # fmt: skip
    return NONE


def list_offsets(broker: Broker, context: RequestContext) -> None:
    context.respond(broker.replicas.list_offsets(context.body, context.api_version))


def offset_for_leader_epoch(broker: Broker, context: RequestContext) -> None:
    context.respond(broker.replicas.offsets_for_leader_epoch(context.body))


def delete_records(broker: Broker, context: RequestContext) -> None:
    broker.replicas.delete_records(context.body, respond, context)
