"""What leaders of share-partitions and group coordinators ask the share coordinator: APIs 83 to 87 (KIP-932).

The rules are in `broker_core.sharing`; the answer comes when what it says is committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.broker.connections import RequestContext, respond

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


def initialize(broker: Broker, context: RequestContext) -> None:
    broker.share_states.initialize(context.body, respond, context)


def read(broker: Broker, context: RequestContext) -> None:
    broker.share_states.read(context.body, respond, context)


def write(broker: Broker, context: RequestContext) -> None:
    broker.share_states.write(context.body, respond, context)


def delete(broker: Broker, context: RequestContext) -> None:
    broker.share_states.delete(context.body, respond, context)


def summarize(broker: Broker, context: RequestContext) -> None:
    broker.share_states.summarize(context.body, respond, context)
