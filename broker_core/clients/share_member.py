"""A member of a share group, as seen from the consumer (KIP-932, `ShareMembershipManager`).

    heartbeat epoch 0, topics --> epoch 5, orders-0 orders-1     a member from now on
    heartbeat epoch 5         --> epoch 6, orders-1              the broker assigns, nobody asks the others
    heartbeat epoch -1                                           it leaves

Nothing is revoked and nobody waits: what a partition's other readers have, they keep. The answer says after how long
the next heartbeat is due.

| answer                                        | then                                    |
|-----------------------------------------------|-----------------------------------------|
| UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH        | join again, with the same id            |
| NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, nothing | look for the coordinator          |
| COORDINATOR_LOAD_IN_PROGRESS                  | once more, after the backoff            |
| anything else                                 | the consumer fails                      |
"""

from __future__ import annotations

from typing import Any

from broker_core.clients.connections import Connections
from broker_core.clients.heartbeats import FENCED, JOIN_EPOCH, LEAVE_EPOCH, LOST, HeartbeatMember, unheard
from broker_core.clients.metadata import Metadata, TopicPartition
from broker_core.clients.settings import ShareConsumerSettings
from broker_core.kernel.node import Node
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode


class ShareMember(HeartbeatMember):
    """Membership of one share consumer. The owner has `assigned(partitions)` and `failed(error)`.

    - `epoch` 0: nothing is assigned.
    """

    API = ApiKey.SHARE_GROUP_HEARTBEAT
    NAME = "ShareGroupHeartbeat"

    def __init__(
        self, node: Node, settings: ShareConsumerSettings, connections: Connections, metadata: Metadata,
        topics: list[str], owner: Any,
    ) -> None:  # fmt: skip
        super().__init__(node, settings, connections, metadata)
        self.topics = sorted(set(topics))
        self.owner = owner
        self._unnamed: dict[Any, list[int]] = {}  # assigned topics whose names are not known yet

    def join(self) -> None:
        """Become a member, if it is none."""
        if self.gone:
            self.gone = False
            self._beat()

    def leave(self) -> None:
        """Say goodbye; whoever hears it or not, nothing is assigned any more."""
        if self.coordinator is not None and self.epoch > JOIN_EPOCH:
            self.connections.call(self.coordinator, self.API, self._request(LEAVE_EPOCH), unheard)
        self.gone = True
        self._stop()
        self._forget()

    def named(self) -> None:
        """Metadata have come: assigned topics may have names now."""
        if self._unnamed:
            self._assign(self._unnamed)

    def _request(self, epoch: int) -> Any:
        """Topics are told when joining only."""
        return m.ShareGroupHeartbeatRequest(
            group_id=self.settings.group_id, member_id=self.member_id, member_epoch=epoch, rack_id=None,
            subscribed_topic_names=self.topics if epoch == JOIN_EPOCH else None,
        )  # fmt: skip

    def _heard(self, response: Any) -> None:
        if response.assignment is not None:
            self._assign({one.topic_id: list(one.partitions) for one in response.assignment.topic_partitions})

    def _refused(self, error: ErrorCode) -> None:
        if error in LOST:
            self.lose_coordinator()
        elif error in FENCED:
            self._forget()
            self._beat()
        elif error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            self._later()
        else:
            self.gone = True
            self.owner.failed(error)

    def _forget(self) -> None:
        self.epoch, self._unnamed = JOIN_EPOCH, {}
        self.owner.assigned([])

    def _assign(self, wanted: dict[Any, list[int]]) -> None:
        """Assignments name topics by id; one that is not known by now is asked about."""
        names = {info.topic_id: name for name, info in self.metadata.topics.items()}
        self._unnamed = wanted if any(topic not in names for topic in wanted) else {}
        if self._unnamed:
            self.metadata.request_update()
        known: list[TopicPartition] = [
            (names[topic], number) for topic, numbers in wanted.items() if topic in names for number in sorted(numbers)
        ]
        self.owner.assigned(sorted(known))
