"""Where a consumer stands in each partition, and how it finds out where to begin.

| state | meaning | event => next state |
|---|---|---|
| committed | wants the group's committed offset | OffsetFetch answers an offset => fetching; none => reset |
| reset | wants the beginning, the end or a time (`auto.offset.reset`) | ListOffsets answers => fetching |
| fetching | `offset` is the next record for the application | OFFSET_OUT_OF_RANGE => reset; new leader => validating |
| validating | was the leader's log cut? (see `validation`) | it was not, or back to there => fetching |
| stuck | no committed offset, or a log that was cut, and the policy is `none` | assigned anew => committed |

The position is the offset *behind* the last record that the application was given: that is what a
commit stores, with `epoch`, the leader epoch of that record's batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.clients.connections import Connections
from broker_core.clients.metadata import Metadata, TopicPartition
from broker_core.clients.settings import ConsumerSettings
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import Node, Timer
from broker_core.kernel.transitions import Transitions
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.clients.read_replicas import ReadReplica

COMMITTED, RESET, FETCHING, VALIDATING, STUCK = "committed", "reset", "fetching", "validating", "stuck"
STATES = Transitions("position", {
    COMMITTED: (FETCHING, RESET, STUCK),
    RESET: (FETCHING,),
    FETCHING: (FETCHING, RESET, VALIDATING, STUCK),
    VALIDATING: (FETCHING, RESET, VALIDATING, STUCK),
    STUCK: (),
})  # fmt: skip
EARLIEST, LATEST = -2, -1
NO_LEADER = (-1, -1)


class Position:
    """One assigned partition.

    `leader`: the (leader, leader epoch) that the position was last held against (see `validation`); `read_replica`:
    where it is read from, if not from the leader (see `read_replicas`); `end`: up to where it can be read, as far as is
    known: the high watermark, with `read_committed` the last stable offset.
    """

    __slots__ = ("state", "offset", "epoch", "leader", "end", "blocked_until_us", "asking", "read_replica")

    def __init__(self, state: str) -> None:
        self.state = state
        self.offset = -1
        self.epoch = -1
        self.leader = NO_LEADER
        self.end = -1
        self.blocked_until_us = 0
        self.asking = False
        self.read_replica: ReadReplica | None = None

    def become(self, state: str) -> None:
        """Go over to another state."""
        self.state = STATES.step(self.state, state)


class Positions:
    """All assigned partitions, in order of assignment. `changed()` is told when one becomes fetchable."""

    def __init__(
        self, node: Node, settings: ConsumerSettings, connections: Connections, metadata: Metadata, changed: Any
    ) -> None:
        self.node = node
        self.settings = settings
        self.connections = connections
        self.metadata = metadata
        self.changed = changed
        self.of: dict[TopicPartition, Position] = {}
        self._timer: Timer | None = None

    def assign(self, partitions: list[TopicPartition], state: str) -> None:
        """What is still assigned keeps its place; what is new begins in `state`."""
        self.of = {tp: self.of.get(tp) or Position(state) for tp in partitions}

    def offsets(self) -> dict[TopicPartition, int]:
        """What a commit would store: as `commitSync()`, nothing of a partition whose position is in doubt."""
        return {tp: position.offset for tp, position in self.of.items() if position.state == FETCHING}

    def read(self) -> dict[TopicPartition, int]:
        """Behind the last record that the application was given, of every partition, whatever is in doubt now."""
        return {tp: position.offset for tp, position in self.of.items() if position.offset >= 0}

    def begin_at(self, tp: TopicPartition, offset: int, epoch: int = -1) -> None:
        """The next record is this one; with an epoch it is validated first."""
        position = self.of.get(tp)
        if position is not None:
            position.become(FETCHING)
            position.offset, position.epoch = offset, epoch
            position.leader = NO_LEADER

    def reset(self, tp: TopicPartition) -> None:
        """By `auto.offset.reset`; with `none` the application gets an error and the partition stays."""
        position = self.of.get(tp)
        if position is not None:
            position.become(STUCK if self.settings.auto_offset_reset == "none" else RESET)

    # -- ListOffsets ------------------------------------------------------------------------
    def find_offsets(self) -> None:
        """Ask the leaders of all partitions in state `reset`."""
        by_leader: dict[int, list[TopicPartition]] = {}
        now = self.node.now_us()
        for tp, position in self.of.items():
            if position.state == RESET and not position.asking and position.blocked_until_us <= now:
                leader = self.metadata.leader(*tp)
                if leader >= 0:
                    by_leader.setdefault(leader, []).append(tp)
                else:
                    self.metadata.request_update()
        for leader, partitions in by_leader.items():
            self._ask(broker_node(leader), partitions)

    def _ask(self, dest: str, partitions: list[TopicPartition]) -> None:
        timestamp = EARLIEST if self.settings.auto_offset_reset == "earliest" else LATEST
        back_ms = self.settings.reset_back_ms
        if back_ms is not None:
            timestamp = max(0, self.node.wall_ms() - back_ms)
        topics: dict[str, list[Any]] = {}
        for topic, partition in partitions:
            self.of[(topic, partition)].asking = True
            asked = m.ListOffsetsRequest.ListOffsetsPartition(
                partition_index=partition, timestamp=timestamp,
                current_leader_epoch=self.metadata.leader_epoch(topic, partition),
            )  # fmt: skip
            topics.setdefault(topic, []).append(asked)
        body = m.ListOffsetsRequest(
            replica_id=-1,
            isolation_level=int(self.settings.isolation_level == "read_committed"),
            topics=[m.ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=p) for name, p in topics.items()],
        )
        self.connections.call(dest, ApiKey.LIST_OFFSETS, body, self._answered, (dest, partitions))

    def _answered(self, context: tuple[str, list[TopicPartition]], response: Any) -> None:
        dest, partitions = context
        answers: dict[TopicPartition, Any] = {}
        if response is None:
            self.connections.failed(dest)
        else:
            answers = {(t.name, p.partition_index): p for t in response.topics for p in t.partitions}
        again = False
        for tp in partitions:
            position, answer = self.of.get(tp), answers.get(tp)
            if position is None:
                continue
            position.asking = False
            if position.state != RESET:
                continue
            if answer is not None and answer.error_code == ErrorCode.NONE:
                if answer.offset >= 0:
                    self.begin_at(tp, answer.offset)
                else:  # no record is so new: as the Java client, which does not ask again before that
                    wait_us = self.settings.request_timeout_ms * 1000
                    position.blocked_until_us = self.node.now_us() + wait_us
                    self.node.after(wait_us, self.find_offsets)
            else:
                again = True
                position.blocked_until_us = self.node.now_us() + self.settings.retry_backoff_ms * 1000
        if again:
            self.metadata.request_update()
            self._again_later()
        self.changed()

    def _again_later(self) -> None:
        if self._timer is None:
            self._timer = self.node.after(self.settings.retry_backoff_ms * 1000, self._again)

    def _again(self) -> None:
        self._timer = None
        self.find_offsets()
