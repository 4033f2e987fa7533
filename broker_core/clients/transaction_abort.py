"""What `kafka-transactions abort --topic --partition` does: a transaction that hangs is ended by hand (KIP-664).

    DescribeProducers  -> the partition's leader: who has a transaction open here, since when?
    WriteTxnMarkers    -> the same: abort the one of this producer id and epoch

The marker goes past the transaction coordinator, which knows nothing of such a transaction: nobody else would ever end
it. Of several open ones the oldest is aborted, the one that holds back the last stable offset. To abort one that its
coordinator does know of tears it apart; that is why the tool asks for offset and partition, and not for a name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from broker_core.clients.admin_requests import AdminCall
from broker_core.clients.connections import Connections, error_of
from broker_core.clients.metadata import Metadata
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import Node
from broker_core.kernel.problems import Problem, problem
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode


class Admin(Protocol):
    """What the admin client lends to it."""

    node: Node
    connections: Connections
    metadata: Metadata

    def is_nowhere(self, call: AdminCall) -> bool: ...
    def unheard(self, dest: str) -> None: ...
    def later(self, then: Callable[[], None]) -> None: ...
    def end(self, call: AdminCall, kind: str, error: str, message: str, own: Problem | None = None) -> None: ...


class TransactionAbort:
    """One such command under way."""

    def __init__(self, admin: Admin, call: AdminCall, topic: str, partition: int) -> None:
        self.admin = admin
        self.call = call
        self.topic = topic
        self.partition = partition

    def start(self) -> None:
        """From the first question on."""
        admin, call = self.admin, self.call
        if admin.node.now_us() >= call.deadline_us:
            admin.end(call, "info" if call.unanswered else "fail", "TIMEOUT", "")
            return
        admin.metadata.add_topic(self.topic)
        leader = admin.metadata.leader(self.topic, self.partition)
        if admin.is_nowhere(call):
            admin.end(call, "fail", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.name, "")
        elif leader < 0:
            self._again()
        else:
            asked = m.DescribeProducersRequest.TopicRequest(name=self.topic, partition_indexes=[self.partition])
            body = m.DescribeProducersRequest(topics=[asked])
            self._ask(broker_node(leader), ApiKey.DESCRIBE_PRODUCERS, body, self._described)

    def _described(self, dest: str, response: Any) -> None:
        found = response.topics[0].partitions[0]
        if self._failed(found.error_code):
            return
        hanging = [one for one in found.active_producers if one.current_txn_start_offset >= 0]
        if not hanging:
            place = f"{self.topic}-{self.partition}"
            why = problem("no_open_transaction", partition=place)
            self.admin.end(self.call, "fail", ErrorCode.INVALID_REQUEST.name, "", own=why)
            return
        oldest = min(hanging, key=lambda one: one.current_txn_start_offset)
        kind = m.WriteTxnMarkersRequest
        marker = kind.WritableTxnMarker(
            producer_id=oldest.producer_id, producer_epoch=oldest.producer_epoch, transaction_result=False,
            coordinator_epoch=max(0, oldest.coordinator_epoch),
            topics=[kind.WritableTxnMarkerTopic(name=self.topic, partition_indexes=[self.partition])],
        )  # fmt: skip
        self._ask(dest, ApiKey.WRITE_TXN_MARKERS, kind(markers=[marker]), self._marked)

    def _marked(self, dest: str, response: Any) -> None:
        if not self._failed(response.markers[0].topics[0].partitions[0].error_code):
            self.admin.end(self.call, "ok", "", "")

    # -- answers ----------------------------------------------------------------------------
    def _ask(self, dest: str, api: int, body: Any, answered: Callable[[str, Any], None]) -> None:
        self.admin.connections.call(dest, api, body, self._heard, (dest, answered))

    def _heard(self, context: tuple[str, Callable[[str, Any], None]], response: Any) -> None:
        dest, answered = context
        if response is None:
            self.call.unanswered = True
            self.admin.unheard(dest)
            self._again()
        else:
            answered(dest, response)

    def _failed(self, code: int) -> bool:
        error = error_of(code)
        if error == ErrorCode.NONE:
            return False
        if error.retriable:
            self._again()
        else:
            self.admin.end(self.call, "fail", error.name, "")
        return True

    def _again(self) -> None:
        self.admin.metadata.request_update()
        self.admin.later(self.start)
