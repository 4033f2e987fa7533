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

from base64 import urlsafe_b64encode
from typing import Any

from broker_core.clients.backoff import backoff_us
from broker_core.clients.connections import Connections, error_of
from broker_core.clients.metadata import Metadata, TopicPartition
from broker_core.clients.settings import ShareConsumerSettings
from broker_core.kernel import events
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import Node, Timer
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import NONE, ErrorCode

JOIN_EPOCH, LEAVE_EPOCH = 0, -1
GROUP = 0  # FindCoordinator's key type
LOST = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
FENCED = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH)
FIRST_INTERVAL_MS = 1000


class ShareMember:
    """Membership of one share consumer. The owner has `assigned(partitions)` and `failed(error)`.

    - `epoch` 0: not a member, or not yet; then nothing is assigned.
    - at most one heartbeat is under way.
    """

    def __init__(
        self, node: Node, settings: ShareConsumerSettings, connections: Connections, metadata: Metadata,
        topics: list[str], owner: Any,
    ) -> None:  # fmt: skip
        self.node = node
        self.settings = settings
        self.connections = connections
        self.metadata = metadata
        self.topics = sorted(set(topics))
        self.owner = owner
        self.member_id = urlsafe_b64encode(node.uuid().bytes).rstrip(b"=").decode()  # as Kafka writes a Uuid
        self.epoch = JOIN_EPOCH
        self.coordinator: str | None = None
        self.gone = True
        self._interval_ms = FIRST_INTERVAL_MS
        self._asking = False
        self._attempts = 0
        self._timer: Timer | None = None
        self._unnamed: dict[Any, list[int]] = {}  # assigned topics whose names are not known yet

    def join(self) -> None:
        """Become a member, if it is none."""
        if self.gone:
            self.gone = False
            self._beat()

    def leave(self) -> None:
        """Say goodbye; whoever hears it or not, nothing is assigned any more."""
        if self.coordinator is not None and self.epoch > JOIN_EPOCH:
            self.connections.call(self.coordinator, ApiKey.SHARE_GROUP_HEARTBEAT, self._request(LEAVE_EPOCH), _unheard)
        self.gone = True
        self._stop()
        self._forget()

    def lose_coordinator(self) -> None:
        """It has moved, or is gone."""
        if self.coordinator is not None:
            self.connections.failed(self.coordinator)
            self.coordinator = None
            self._later()

    def named(self) -> None:
        """Metadata have come: assigned topics may have names now."""
        if self._unnamed:
            self._assign(self._unnamed)

    # -- asking -----------------------------------------------------------------------------
    def _beat(self) -> None:
        self._timer = None
        if self.gone or self._asking:
            return
        if self.coordinator is None:
            self._find()
            return
        self._asking = True
        request = self._request(self.epoch)
        self.connections.call(self.coordinator, ApiKey.SHARE_GROUP_HEARTBEAT, request, self._answered, self.epoch)

    def _request(self, epoch: int) -> Any:
        """Topics are told when joining only."""
        return m.ShareGroupHeartbeatRequest(
            group_id=self.settings.group_id, member_id=self.member_id, member_epoch=epoch, rack_id=None,
            subscribed_topic_names=self.topics if epoch == JOIN_EPOCH else None,
        )  # fmt: skip

    def _find(self) -> None:
        dest = self.metadata.any_broker()
        if dest is None:
            self._later()
            return
        self._asking = True
        group = self.settings.group_id
        body = m.FindCoordinatorRequest(key_type=GROUP, key=group, coordinator_keys=[group])
        self.connections.call(dest, ApiKey.FIND_COORDINATOR, body, self._found, dest)

    def _found(self, dest: str, response: Any) -> None:
        self._asking = False
        if response is None:
            self.connections.failed(dest)
            self._later()
            return
        found = response.coordinators[0] if response.coordinators else response
        if found.error_code:
            self._later()
            return
        self.coordinator = broker_node(found.node_id)
        self._attempts = 0
        self._beat()

    def _later(self) -> None:
        settings = self.settings
        wait = backoff_us(
            self._attempts, settings.retry_backoff_ms, settings.retry_backoff_max_ms, self.node.random("backoff")
        )
        self._attempts += 1
        self._again(wait)

    def _again(self, wait_us: int) -> None:
        self._stop()
        if not self.gone:
            self._timer = self.node.after(wait_us, self._beat)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # -- answers ----------------------------------------------------------------------------
    def _answered(self, epoch: int, response: Any) -> None:
        self._asking = False
        if self.gone:
            return
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE if response is None else error_of(response.error_code)
        if error is not NONE:
            self._refused(error)
            return
        self._attempts = 0
        self.epoch, self._interval_ms = response.member_epoch, response.heartbeat_interval
        if response.assignment is not None:
            self._assign({one.topic_id: list(one.partitions) for one in response.assignment.topic_partitions})
        self._again(self._interval_ms * 1000)

    def _refused(self, error: ErrorCode) -> None:
        if self.node.messages:
            reaction = "rejoin" if error in FENCED else "retry"
            self.node.emit(
                events.CLIENT_ERROR, api="ShareGroupHeartbeat", error=error.name, reaction=reaction, topic=None,
                partition=None,
            )  # fmt: skip
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


def _unheard(context: None, response: Any) -> None:
    """Nothing depends on the answer to a goodbye."""
