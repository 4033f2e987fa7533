"""Positions held against what the leader's log says of leader epochs (KIP-320).

A position is an offset and the leader epoch of the batch in front of it. A new leader may have a log that was cut
below that offset and has grown again: the offset is there, with other records before it. So whenever a partition has
another leader or leader epoch, and when a group's committed offset is taken up, nothing is fetched before the leader
has said where the position's epoch ends in its log (OffsetForLeaderEpoch).

| position | the leader answers | then |
|---|---|---|
| offset 800, epoch 3 | epoch 3 ends at 900 | nothing is missing: reading goes on at 800 |
| offset 800, epoch 3 | epoch 3 ends at 500 | 500..799 were others: back to 500 |
| offset 800, epoch 3 | epoch 2 ends at 400 | it has nothing of epoch 3: back to 400 |
| offset 800, epoch 3 | no epoch or no end (-1) | `auto.offset.reset` |
| offset 800, no epoch | is not asked | reading goes on |

With `auto.offset.reset=none` the application gets the error (LogTruncationException) and the partition stays where it
is. An error in the answer leads to new metadata and the same question after `retry.backoff.ms`.

(Kafka: SubscriptionState.maybeValidatePosition and maybeCompleteValidation, OffsetsForLeaderEpochUtils.)
"""

from __future__ import annotations

from typing import Any

from broker_core.clients.connections import Connections, error_of
from broker_core.clients.metadata import Metadata, TopicPartition
from broker_core.clients.positions import FETCHING, STUCK, VALIDATING, Position, Positions
from broker_core.clients.settings import ConsumerSettings
from broker_core.kernel import events
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import Node, Timer
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

UNDEFINED = -1
CONSUMER = -1  # a replica id of nobody


class Question:
    """A position as it was when its leader was asked: an answer counts only if it is so still."""

    __slots__ = ("tp", "position", "offset", "epoch", "leader")

    def __init__(self, tp: TopicPartition, position: Position) -> None:
        self.tp = tp
        self.position = position
        self.offset = position.offset
        self.epoch = position.epoch
        self.leader = position.leader

    def still_stands(self, current: Position | None) -> bool:
        """Whether the position is the same, of the same assignment, and waits for the answer."""
        return current is self.position and current.state == VALIDATING and (
            (current.offset, current.epoch, current.leader) == (self.offset, self.epoch, self.leader)
        )


class Validation:
    """Sends the questions and moves positions by the answers. `changed()` is told when some are answered."""

    def __init__(
        self, node: Node, settings: ConsumerSettings, connections: Connections, metadata: Metadata,
        positions: Positions, changed: Any,
    ) -> None:  # fmt: skip
        self.node = node
        self.settings = settings
        self.connections = connections
        self.metadata = metadata
        self.positions = positions
        self.changed = changed
        self._timer: Timer | None = None

    # -- questions --------------------------------------------------------------------------
    def check(self) -> bool:
        """Look at the leaders of all positions; whether one must be validated that was read until now."""
        began = False
        for tp, position in self.positions.of.items():
            leader = self.metadata.leader(*tp), self.metadata.leader_epoch(*tp)
            if position.state not in (FETCHING, VALIDATING) or leader[0] < 0 or leader == position.leader:
                continue
            position.leader = leader
            if position.epoch >= 0 and leader[1] >= 0:
                began = began or position.state == FETCHING
                position.become(VALIDATING)
            else:
                position.become(FETCHING)
        self._ask()
        return began

    def _ask(self) -> None:
        now = self.node.now_us()
        by_leader: dict[int, list[Question]] = {}
        for tp, position in self.positions.of.items():
            if position.state != VALIDATING or position.asking:
                continue
            if position.blocked_until_us > now:
                self._again_at(position.blocked_until_us)
            elif self.metadata.leader(*tp) < 0 or position.leader[1] < position.epoch:
                self.metadata.request_update()  # the group has seen a newer leader than this consumer has
            else:
                by_leader.setdefault(position.leader[0], []).append(Question(tp, position))
        for leader, questions in by_leader.items():
            self._send(broker_node(leader), questions)

    def _send(self, dest: str, questions: list[Question]) -> None:
        kind = m.OffsetForLeaderEpochRequest
        topics: dict[str, list[Any]] = {}
        for question in questions:
            question.position.asking = True
            asked = kind.OffsetForLeaderPartition(
                partition=question.tp[1], current_leader_epoch=question.leader[1], leader_epoch=question.epoch
            )
            topics.setdefault(question.tp[0], []).append(asked)
        body = kind(
            replica_id=CONSUMER,
            topics=[kind.OffsetForLeaderTopic(topic=name, partitions=asked) for name, asked in topics.items()],
        )
        self.connections.call(dest, ApiKey.OFFSET_FOR_LEADER_EPOCH, body, self._answered, (dest, questions))

    # -- answers ----------------------------------------------------------------------------
    def _answered(self, context: tuple[str, list[Question]], response: Any) -> None:
        dest, questions = context
        answers: dict[TopicPartition, Any] = {}
        if response is None:
            self.connections.failed(dest)
        else:
            answers = {(topic.topic, one.partition): one for topic in response.topics for one in topic.partitions}
        for question in questions:
            question.position.asking = False
            if not question.still_stands(self.positions.of.get(question.tp)):
                continue
            answer = answers.get(question.tp)
            if answer is not None and answer.error_code == ErrorCode.NONE:
                self._settle(question, answer.leader_epoch, answer.end_offset)
            else:
                self._failed(question, ErrorCode.NETWORK_EXCEPTION if answer is None else answer.error_code)
        self.changed()

    def _settle(self, question: Question, epoch: int, end: int) -> None:
        """`epoch` is the largest of the leader's that is not above the position's, and `end` where it ends."""
        position = question.position
        if UNDEFINED in (epoch, end) or end < position.offset:
            self._truncated(question, epoch, end)
        else:
            position.become(FETCHING)

    def _truncated(self, question: Question, epoch: int, end: int) -> None:
        """What was read is not in the log any more."""
        position, reaction = question.position, "go back"
        if self.settings.auto_offset_reset == "none":
            position.become(STUCK)
            reaction = "give up"
        elif UNDEFINED in (epoch, end):
            self.positions.reset(question.tp)
            reaction = "reset"
        else:
            position.become(FETCHING)
            position.offset, position.epoch = end, epoch
        self.node.emit(
            events.TRUNCATION_NOTICED, topic=question.tp[0], partition=question.tp[1], offset=question.offset,
            epoch=question.epoch, end_offset=end, end_epoch=epoch, reaction=reaction,
        )  # fmt: skip

    def _failed(self, question: Question, error: int) -> None:
        """Mostly the leader has changed again, or one side does not know it yet."""
        topic, partition = question.tp
        if self.node.messages:
            self.node.emit(
                events.CLIENT_ERROR, api="OffsetForLeaderEpoch", error=error_of(error).name,
                reaction="refresh metadata", topic=topic, partition=partition,
            )  # fmt: skip
        question.position.blocked_until_us = self.node.now_us() + self.settings.retry_backoff_ms * 1000
        self.metadata.request_update()

    def _again_at(self, at_us: int) -> None:
        if self._timer is None:
            self._timer = self.node.after(at_us - self.node.now_us(), self._again)

    def _again(self) -> None:
        self._timer = None
        self._ask()
