"""What leaders of share-partitions and group coordinators ask the share coordinator: APIs 83 to 87 (KIP-932).

The rules are in `broker_core.sharing`; the answer comes when what it says is committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext, respond
from broker_core.kernel import events
from broker_core.sharing.coordinator import ShareCoordinator

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


def _coordinator(broker: Broker) -> ShareCoordinator:
    """Every broker has one with KRaft; with ZooKeeper these APIs are not offered."""
    assert broker.share_states is not None
    return broker.share_states


def initialize(broker: Broker, context: RequestContext) -> None:
    _coordinator(broker).initialize(context.body, respond, context)


def read(broker: Broker, context: RequestContext) -> None:
    _coordinator(broker).read(context.body, respond, context)


def write(broker: Broker, context: RequestContext) -> None:
    _coordinator(broker).write(context.body, respond, context)


def delete(broker: Broker, context: RequestContext) -> None:
    _coordinator(broker).delete(context.body, _deleted, (broker, context))


def _deleted(state: tuple[Broker, RequestContext], response: Any) -> None:
    """What a group has made of records is forgotten: it may have them all again."""
    broker, context = state
    for topic in response.results:
        for part in topic.partitions:
            if not part.error_code:
                broker.node.emit(
                    events.SHARE_STATE_DELETED, group=context.body.group_id,
                    topic=broker.cache.topic_names.get(topic.topic_id, ""), partition=part.partition,
                )  # fmt: skip
    respond(context, response)


def summarize(broker: Broker, context: RequestContext) -> None:
    _coordinator(broker).summarize(context.body, respond, context)
