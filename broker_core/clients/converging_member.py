"""A member of a group of KIP-848, as seen from the consumer (`group.protocol=consumer`, `ConsumerMembershipManager`).

The broker assigns; the member moves there by itself, and nobody waits for anybody but for the partitions that change
hands:

    heartbeat epoch 0, topics      --> epoch 3, orders-0 orders-1       a member from now on
    heartbeat 3                    --> epoch 3, orders-0                it is to give orders-1 back
      commits orders-1, stops reading it; orders-0 is read all the time
    heartbeat 3, owns orders-0     --> epoch 4                          now somebody else may have orders-1

| state         | what it does | event => next state |
|---------------|---|---|
| unjoined      | nothing | the application polls => joining |
| joining       | says everything, with epoch 0 | answered => reconciling, stable |
| reconciling   | commits and gives up what it lost, takes what is new | done => acknowledging |
| acknowledging | says at once what it owns | answered => stable |
| stable        | reads; says only that it is there | another assignment => reconciling |
| failed        | nothing any more: the application got an error | |

Fenced (FENCED_MEMBER_EPOCH, UNKNOWN_MEMBER_ID) it drops everything, for others may have it already, and joins again
under the same id. What one heartbeat has said the next one need not repeat; after an error everything is said again.
A static member that leaves says -2 instead of -1: it will be back, and nobody else gets what it had until its session
is over. One that is started again while its old life is not over yet gets UNRELEASED_INSTANCE_ID, which ends it.

A subscription that begins with ^ is a regular expression: the broker finds its topics (librdkafka writes it so, too).
Source: ConsumerHeartbeatRequestManager, AbstractMembershipManager.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from broker_core.clients.connections import Connections
from broker_core.clients.heartbeats import (
    FENCED,
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    LOST,
    HeartbeatMember,
    unheard,
)
from broker_core.clients.metadata import Metadata, TopicPartition
from broker_core.clients.settings import ConsumerSettings
from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.kernel.transitions import Transitions
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

UNJOINED, JOINING, RECONCILING, ACKNOWLEDGING, STABLE, FAILED = (
    "unjoined", "joining", "reconciling", "acknowledging", "stable", "failed",
)  # fmt: skip
STATES = Transitions("member that converges", {
    UNJOINED: (UNJOINED, JOINING),
    JOINING: (JOINING, RECONCILING, STABLE, UNJOINED, FAILED),
    RECONCILING: (ACKNOWLEDGING, JOINING, UNJOINED, FAILED),
    ACKNOWLEDGING: (STABLE, RECONCILING, JOINING, UNJOINED, FAILED),
    STABLE: (RECONCILING, JOINING, UNJOINED, FAILED),
    FAILED: (FAILED,),
})  # fmt: skip
PATTERN = "^"


def names_and_pattern(topics: list[str]) -> tuple[list[str], str]:
    """What a member subscribes: names, and the patterns as one ("" for none)."""
    patterns = [topic for topic in topics if topic.startswith(PATTERN)]
    return sorted({topic for topic in topics if not topic.startswith(PATTERN)}), "|".join(patterns)


class ConvergingMember(HeartbeatMember):
    """Membership of one consumer. The owner has

    - `in_poll`: whether the application is inside poll()
    - `let_go(partitions, done)`: commit these if need be, then call done()
    - `give_up(done)`: everything is lost, nothing is committed
    - `assigned(partitions)`, `coordinator_found()`, `is_refused(error)`

    `owned` is what is read, `target` what the broker wants it to be.
    """

    API = ApiKey.CONSUMER_GROUP_HEARTBEAT
    NAME = "ConsumerGroupHeartbeat"
    cooperative = True

    def __init__(
        self, node: Node, settings: ConsumerSettings, connections: Connections, metadata: Metadata,
        topics: list[str], owner: Any,
    ) -> None:  # fmt: skip
        super().__init__(node, settings, connections, metadata)
        self.topics, self.pattern = names_and_pattern(topics)
        self.owner = owner
        self.state = UNJOINED
        self.owned: list[TopicPartition] = []
        self.target: dict[uuid.UUID, list[int]] = {}
        self._said: dict[str, Any] = {}  # with the last heartbeat that was answered, or is not yet
        self._letting_go = False

    @property
    def generation(self) -> int:
        """What commits are fenced by: the member epoch; -1 for who is no member."""
        return self.epoch if self.epoch > JOIN_EPOCH else -1

    @property
    def told_as(self) -> tuple[str | None, int]:
        """Id and epoch by which it calls itself when it asks for offsets."""
        return self.member_id or None, self.generation

    @property
    def may_commit(self) -> bool:
        """Whether the coordinator would take offsets of it."""
        return self.epoch > JOIN_EPOCH

    def still(self, generation: int) -> bool:
        """Whether what was to be committed in an epoch still can be: epochs only grow while one is a member."""
        return 0 <= generation <= self.generation

    # -- joining and leaving ----------------------------------------------------------------
    def poll(self) -> None:
        """The application polls: join, or go on with what waits for that."""
        if self.state == UNJOINED:
            self.gone = False
            self._join()
        elif self.state in (STABLE, RECONCILING, ACKNOWLEDGING):
            self._reconcile()

    def _join(self) -> None:
        self.state = STATES.step(self.state, JOINING)
        self.epoch, self.owned, self.target, self._said = JOIN_EPOCH, [], {}, {}
        self._letting_go = False
        self.owner.give_up(_nothing)
        self._again(0)

    def leave(self, reason: str) -> None:
        """Say goodbye; whoever hears it or not, it is no member any more."""
        if self.coordinator is not None and self.epoch > JOIN_EPOCH:
            epoch = LEAVE_STATIC_EPOCH if self.settings.group_instance_id else LEAVE_EPOCH
            self.connections.call(self.coordinator, self.API, self._request(epoch), unheard)
        self.gone = True
        self._stop()
        self.state = STATES.step(self.state, FAILED if self.state == FAILED else UNJOINED)
        self.epoch, self.owned, self.target = JOIN_EPOCH, [], {}

    def expelled(self, error: ErrorCode) -> None:
        """A commit was refused: the next heartbeat hears the same."""

    # -- heartbeats -------------------------------------------------------------------------
    def _request(self, epoch: int) -> Any:
        """Who it is; and, where it was not said yet, all the rest."""
        kind = m.ConsumerGroupHeartbeatRequest
        body = kind(
            group_id=self.settings.group_id, member_id=self.member_id, member_epoch=epoch,
            instance_id=self.settings.group_instance_id or None,
        )  # fmt: skip
        if epoch < JOIN_EPOCH:
            return body
        for name, value in self._fields().items():
            if name not in self._said or self._said[name] != value:
                self._said[name] = value
                setattr(body, name, value)
        if body.topic_partitions is not None:
            body.topic_partitions = [
                kind.TopicPartitions(topic_id=topic, partitions=numbers) for topic, numbers in body.topic_partitions
            ]
        return body

    def _fields(self) -> dict[str, Any]:
        settings = self.settings
        fields: dict[str, Any] = {
            "rebalance_timeout": settings.max_poll_interval_ms,
            "subscribed_topic_names": self.topics,
            "topic_partitions": self._owned_by_id(),
        }
        if self.pattern:
            fields["subscribed_topic_regex"] = self.pattern
        if settings.group_remote_assignor:
            fields["server_assignor"] = settings.group_remote_assignor
        if settings.client_rack and self.epoch == JOIN_EPOCH:
            fields["rack_id"] = settings.client_rack
        return fields

    def _owned_by_id(self) -> list[tuple[uuid.UUID, list[int]]]:
        found: dict[uuid.UUID, list[int]] = {}
        for topic, number in self.owned:
            info = self.metadata.topics.get(topic)
            if info is not None and info.topic_id is not None:
                found.setdefault(info.topic_id, []).append(number)
        return sorted(found.items())

    def _heard(self, response: Any) -> None:
        if response.assignment is not None:
            self.target = {one.topic_id: sorted(one.partitions) for one in response.assignment.topic_partitions}
        if self.state in (JOINING, ACKNOWLEDGING):
            self.state = STATES.step(self.state, STABLE)
        self._reconcile()

    def _refused(self, error: ErrorCode) -> None:
        self._said = {}
        if error in LOST:
            self.lose_coordinator()
        elif error in FENCED:
            self._join()
        elif error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            self._later()
        else:
            self.gone = True
            self.state = STATES.step(self.state, FAILED)
            self.owner.is_refused(error)

    def _coordinator_found(self) -> None:
        self.owner.coordinator_found()

    # -- reconciliation ---------------------------------------------------------------------
    def topics_changed(self) -> None:
        """Metadata have come: what is assigned may have a name now."""
        if self.state in (STABLE, RECONCILING, ACKNOWLEDGING) and self.owner.in_poll:
            self._reconcile()

    def _wanted(self) -> list[TopicPartition]:
        """The target, as far as its topics' names are known; others are asked for."""
        names = self.metadata.names_by_id()
        for topic in self.target:
            if topic not in names:
                self.metadata.add_id(topic)
        return sorted(
            (names[topic], number) for topic, numbers in self.target.items() if topic in names for number in numbers
        )

    def _reconcile(self) -> None:
        """Towards the target, while the application polls: it may still be dealing with records of what goes."""
        wanted = self._wanted()
        if self._letting_go or wanted == self.owned or not self.owner.in_poll:
            return
        if self.state != RECONCILING:
            self.state = STATES.step(self.state, RECONCILING)
        lost = [tp for tp in self.owned if tp not in wanted]
        if lost:
            self._letting_go = True
            kept = [tp for tp in self.owned if tp in wanted]
            self.node.emit(
                events.PARTITIONS_REVOKED, partitions=_by_topic(lost), kept=_by_topic(kept), generation=self.epoch
            )
            self.owner.let_go(lost, self._let_go)
            self.owned = kept
            self.owner.assigned(kept)
        else:
            self._take(wanted)

    def _let_go(self) -> None:
        """What went is committed; the target may be another one by now."""
        self._letting_go = False
        if self.state != RECONCILING:
            return  # fenced or gone meanwhile
        wanted = self._wanted()
        if self.owner.in_poll and any(tp not in wanted for tp in self.owned):
            self._reconcile()
        else:
            self._take(sorted({*self.owned, *wanted}))

    def _take(self, partitions: list[TopicPartition]) -> None:
        self.owned = partitions
        self.node.emit(events.ASSIGNMENT_TAKEN, partitions=_by_topic(partitions), generation=self.epoch)
        self.owner.assigned(partitions)
        self.state = STATES.step(self.state, ACKNOWLEDGING)
        self._said.pop("topic_partitions", None)
        self._again(0)


def _by_topic(partitions: list[TopicPartition]) -> Mapping[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, partition in partitions:
        found.setdefault(topic, []).append(partition)
    return found


def _nothing() -> None:
    """There was nothing to wait for."""
