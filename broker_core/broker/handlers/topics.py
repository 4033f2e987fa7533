"""Topics and their partitions: CreateTopics 19, DeleteTopics 20, CreatePartitions 37, ElectLeaders 43,
AlterPartitionReassignments 45, ListPartitionReassignments 46.

With ZooKeeper these go to the broker that is controller; any other answers NOT_CONTROLLER.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.broker.connections import RequestContext, respond

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


def create(broker: Broker, context: RequestContext) -> None:
    broker.topic_admin.create_topics(context.body, respond, context)


def delete(broker: Broker, context: RequestContext) -> None:
    broker.topic_admin.delete_topics(context.body, respond, context)


def create_partitions(broker: Broker, context: RequestContext) -> None:
    broker.topic_admin.create_partitions(context.body, respond, context)


def elect_leaders(broker: Broker, context: RequestContext) -> None:
    broker.controller.elect_leaders(context.body, respond, context)


def alter_reassignments(broker: Broker, context: RequestContext) -> None:
    broker.controller.alter_partition_reassignments(context.body, respond, context)


def list_reassignments(broker: Broker, context: RequestContext) -> None:
    broker.controller.list_partition_reassignments(context.body, respond, context)
