"""Requests of a process to the active controller: to whoever leads the metadata quorum, as far as is known here.

    call -> the leader's controller listener -> answer
         -> NOT_CONTROLLER, or none           again after 50 ms, to whoever is known to lead then
         -> nobody for as long as `patience`  `done(context, None)`

Source: NodeToControllerChannelManager, RaftControllerNodeProvider.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from broker_core.cluster.port import Done
from broker_core.kernel.node import Node
from broker_core.raft.client import RaftClient
from broker_core.wire.errors import ErrorCode
from broker_core.wire.rpc import RpcClient

RETRY_US = 50_000
FOR_EVER_US = 1 << 62


@dataclass(slots=True)
class _Call:
    api_key: int
    version: int
    body: Any
    done: Done
    context: Any
    until_us: int


class ControllerChannel:
    """One named connection. `timeout_ms`: what a single request may take."""

    def __init__(self, node: Node, rpc: RpcClient, raft: RaftClient, timeout_ms: int) -> None:
        self.node = node
        self.rpc = rpc
        self.raft = raft
        self.timeout_us = timeout_ms * 1000

    def call(
        self, api_key: int, version: int, body: Any, done: Done, context: Any, patience_us: int = FOR_EVER_US
    ) -> None:
        """Ask until somebody answers who is the controller; `done(context, answer)`."""
        self._send(_Call(api_key, version, body, done, context, self.node.now_us() + patience_us))

    def _send(self, call: _Call) -> None:
        leader = self.raft.leader_and_epoch.leader_id
        if leader is None:
            self._again(call)
            return
        left_us = max(1, min(self.timeout_us, call.until_us - self.node.now_us()))
        peer = self.raft.addresses.node_of(leader)
        self.rpc.call(peer, call.api_key, call.version, call.body, left_us, self._answered, call)

    def _answered(self, call: _Call, answer: Any) -> None:
        if answer is None or getattr(answer, "error_code", 0) == ErrorCode.NOT_CONTROLLER:
            self._again(call)
        else:
            call.done(call.context, answer)

    def _again(self, call: _Call) -> None:
        if self.node.now_us() + RETRY_US >= call.until_us:
            call.done(call.context, None)
        else:
            self.node.after(RETRY_US, self._send, call)
