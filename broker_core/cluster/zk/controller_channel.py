"""Requests of a broker to whoever is controller now: Kafka's NodeToControllerChannelManager.

With ZooKeeper every broker watches /controller, so each knows by itself whom to ask.

| request | asked by |
|---|---|
| AlterPartition 56 | leaders whose ISR changes |
| AllocateProducerIds 67 | producer ids |
| CreateTopics 19 | auto-creation of topics |
| ControlledShutdown 7 | a broker that stops |
"""

from __future__ import annotations

from typing import Any

from broker_core.cluster.port import Done, Member
from broker_core.controller.zk.controller import KafkaController
from broker_core.kernel.names import broker_node
from broker_core.wire.apis import ApiKey
from broker_core.wire.rpc import RpcClient

RETRY_US = 100_000


class ControllerChannel:
    """`done(context, None)` when nobody answered."""

    def __init__(self, member: Member, rpc: RpcClient, controller: KafkaController) -> None:
        self.member = member
        self.rpc = rpc
        self.controller = controller

    def call(self, api: ApiKey, version: int, body: Any, done: Done, context: Any) -> None:
        controller = self.controller.controller_id
        if controller is None:
            self.member.node.after(RETRY_US, done, context, None)
            return
        timeout_us = self.member.config["controller.socket.timeout.ms"] * 1000
        self.rpc.call(broker_node(controller), api, version, body, timeout_us, done, context)
