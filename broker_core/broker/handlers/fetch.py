"""Fetch (1), ListOffsets (2), OffsetForLeaderEpoch (23), DeleteRecords (21): reading and trimming logs.

Consumers and followers send the same Fetch; what differs is how far they may see (`replication.reading`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext, respond
from broker_core.broker.handlers.leader_hints import FIRST_FETCH, HINTED, add_hints
from broker_core.kernel.storage import read_all
from broker_core.records.conversion import down_convert

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

FIRST_FETCH_OF_BATCHES = 4


def fetch(broker: Broker, context: RequestContext) -> None:
    """Clients from before 0.11 (to version 3) get the older formats that they can read."""
    version = context.api_version
    if version < FIRST_FETCH_OF_BATCHES:
        broker.replicas.fetching.fetch(context.body, version, _fetched_by_an_old_client, context)
    elif version >= FIRST_FETCH and context.body.replica_state.replica_id < 0:
        broker.replicas.fetching.fetch(context.body, version, _fetched, (broker, context))
    else:
        broker.replicas.fetching.fetch(context.body, version, context.pipeline.respond, context)


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


def _fetched_by_an_old_client(context: RequestContext, response: Any) -> None:
    """Version 0 and 1 read messages of magic 0, version 2 and 3 of magic 1."""
    magic = 0 if context.api_version < 2 else 1
    offsets = {
        (topic.topic, part.partition): part.fetch_offset for topic in context.body.topics for part in topic.partitions
    }
    for topic in response.responses:
        for part in topic.partitions:
            if part.records:
                data = read_all(part.records) if isinstance(part.records, list) else part.records
                part.records = down_convert(data, magic, offsets[topic.topic, part.partition_index])
    context.respond(response)


def list_offsets(broker: Broker, context: RequestContext) -> None:
    context.respond(broker.replicas.list_offsets(context.body, context.api_version))


def offset_for_leader_epoch(broker: Broker, context: RequestContext) -> None:
    context.respond(broker.replicas.offsets_for_leader_epoch(context.body))


def delete_records(broker: Broker, context: RequestContext) -> None:
    broker.replicas.delete_records(context.body, respond, context)
