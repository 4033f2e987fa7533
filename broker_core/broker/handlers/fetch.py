"""Fetch (1), ListOffsets (2), OffsetForLeaderEpoch (23), DeleteRecords (21): reading and trimming logs.

Consumers and followers send the same Fetch; what differs is how far they may see (`replication.reading`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.broker.connections import RequestContext, respond

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


def fetch(broker: Broker, context: RequestContext) -> None:
    broker.replicas.fetch(context.body, context.api_version, respond, context)


def list_offsets(broker: Broker, context: RequestContext) -> None:
    context.respond(broker.replicas.list_offsets(context.body, context.api_version))


def offset_for_leader_epoch(broker: Broker, context: RequestContext) -> None:
    context.respond(broker.replicas.offsets_for_leader_epoch(context.body))


def delete_records(broker: Broker, context: RequestContext) -> None:
    broker.replicas.delete_records(context.body, respond, context)
