"""What `kafka-transactions abort --topic --partition` does: a transaction that hangs is ended by hand (KIP-664).

    DescribeProducers  -> the partition's leader: who has a transaction open here, since when?
    WriteTxnMarkers    -> the same: abort the one of this producer id and epoch

The marker goes past the transaction coordinator, which knows nothing of such a transaction: nobody else would ever end
it. Of several open ones the oldest is aborted, the one that holds back the last stable offset. If nobody answers it is
looked for again: when it is not open any more the marker has arrived, and no other is aborted. To abort one that its
coordinator does know of tears it apart; that is why the tool asks for offset and partition, and not for a name.
"""

from __future__ import annotations

from typing import Any

from broker_core.clients.admin_questions import Admin, AdminQuestions
from broker_core.clients.admin_requests import AdminCall
from broker_core.kernel.names import broker_node
from broker_core.kernel.problems import problem
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

Open = tuple[int, int]  # producer id, first offset


class TransactionAbort(AdminQuestions):
    """One such command under way."""

    def __init__(self, admin: Admin, call: AdminCall, topic: str, partition: int) -> None:
        super().__init__(admin, call, topic)
        self.partition = partition
        self.leader = ""
        self.chosen: Open | None = None

    def _begin(self) -> None:
        leader = self.admin.metadata.leader(self.topic, self.partition)
        if self.admin.is_nowhere(self.call):
            self._refuse(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif leader < 0:
            self._again()
        else:
            asked = m.DescribeProducersRequest.TopicRequest(name=self.topic, partition_indexes=[self.partition])
            body = m.DescribeProducersRequest(topics=[asked])
            self.leader = broker_node(leader)
            self._ask(self.leader, ApiKey.DESCRIBE_PRODUCERS, body, self._described)

    def _described(self, response: Any) -> None:
        found = response.topics[0].partitions[0]
        if self._failed(found.error_code):
            return
        hanging = [one for one in found.active_producers if one.current_txn_start_offset >= 0]
        if self.chosen is not None:
            hanging = [one for one in hanging if _open(one) == self.chosen]
            if not hanging:
                self.admin.end(self.call, "ok", "", "")
                return
        if not hanging:
            place = f"{self.topic}-{self.partition}"
            why = problem("no_open_transaction", partition=place)
            self._refuse(ErrorCode.INVALID_REQUEST, own=why)
            return
        oldest = min(hanging, key=lambda one: one.current_txn_start_offset)
        self.chosen = _open(oldest)
        kind = m.WriteTxnMarkersRequest
        marker = kind.WritableTxnMarker(
            producer_id=oldest.producer_id, producer_epoch=oldest.producer_epoch, transaction_result=False,
            coordinator_epoch=max(0, oldest.coordinator_epoch),
            topics=[kind.WritableTxnMarkerTopic(name=self.topic, partition_indexes=[self.partition])],
        )  # fmt: skip
        self.call.unanswered = True
        self._ask(self.leader, ApiKey.WRITE_TXN_MARKERS, kind(markers=[marker]), self._marked)

    def _marked(self, response: Any) -> None:
        self.call.unanswered = False
        if not self._failed(response.markers[0].topics[0].partitions[0].error_code):
            self.admin.end(self.call, "ok", "", "")


def _open(producer: Any) -> Open:
    return producer.producer_id, producer.current_txn_start_offset
