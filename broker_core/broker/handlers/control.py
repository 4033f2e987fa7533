"""What the controller tells the brokers (LeaderAndIsr 4, StopReplica 5, UpdateMetadata 6), and what
brokers ask the controller (ControlledShutdown 7, AlterPartition 56, AllocateProducerIds 67).

Outside clients may not send these: CLUSTER_AUTHORIZATION_FAILED would be Kafka's word with an
authorizer; without one Kafka lets anybody, and so does this broker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.broker.connections import RequestContext, respond
from broker_core.kernel import events
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


def leader_and_isr(broker: Broker, context: RequestContext) -> None:
    """New replicas are made with their topic's settings, which may have to be read first."""
    request = context.body
    states = [(topic.topic_name, state) for topic in request.topic_states for state in topic.partition_states]
    states += [(state.topic_name, state) for state in request.ungrouped_partition_states]
    hosted = broker.replicas.partitions_by_name
    new = dict.fromkeys(name for name, state in states if (name, state.partition_index) not in hosted)
    broker.configs.read_topics(list(new), _become_leader_or_follower, (broker, context))


def _become_leader_or_follower(state: tuple[Broker, RequestContext]) -> None:
    broker, context = state
    context.respond(broker.replicas.become_leader_or_follower(context.body))


def stop_replica(broker: Broker, context: RequestContext) -> None:
    context.respond(broker.replicas.stop_replicas(context.body))


def update_metadata(broker: Broker, context: RequestContext) -> None:
    """Believe the controller, unless a newer one has spoken before."""
    request = context.body
    current = broker.replicas.controller_epoch
    if request.controller_epoch < current:
        broker.node.emit(
            events.CONTROLLER_FENCED, api="UpdateMetadata", epoch=request.controller_epoch, current=current,
            controller=request.controller_id,
        )  # fmt: skip
        context.respond(m.UpdateMetadataResponse(error_code=ErrorCode.STALE_CONTROLLER_EPOCH))
        return
    if broker.is_stale(request.broker_epoch):
        context.respond(m.UpdateMetadataResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
        return
    broker.replicas.controller_epoch = request.controller_epoch
    deleted = broker.cache.apply_update(request)
    if deleted:
        broker.groups.on_partitions_deleted(deleted)
    broker.metadata_changed()
    context.respond(m.UpdateMetadataResponse(error_code=ErrorCode.NONE))


def controlled_shutdown(broker: Broker, context: RequestContext) -> None:
    broker.controller.handle_controlled_shutdown(context.body, respond, context)


def alter_partition(broker: Broker, context: RequestContext) -> None:
    broker.controller.handle_alter_partition(context.body, respond, context)


def allocate_producer_ids(broker: Broker, context: RequestContext) -> None:
    broker.controller.allocate_producer_ids(context.body, respond, context)
