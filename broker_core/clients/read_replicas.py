"""From which broker a consumer reads each partition: the leader, or a replica nearer to it (KIP-392).

A consumer with `client.rack` names its rack in every fetch. A leader may answer with a *preferred read
replica* instead of records; from then on the partition is fetched there, until

| what happens | event's reason | next |
|---|---|---|
| `metadata.max.age.ms` is over since it was named | expired | asks the leader, which may name it again |
| another leader, or leader epoch | new leader | asks the new leader |
| the metadata has no replica there that is online | gone | asks the leader, after a pause; new metadata |
| it answers with an error, or not at all | error | asks the leader, after a pause; new metadata |
| it answers OFFSET_OUT_OF_RANGE | error | asks the leader, after a pause; the position stays |

The last one is no reason for `auto.offset.reset`: the follower may be behind, or the leader's news of it
old. Only the leader's OFFSET_OUT_OF_RANGE counts. UNKNOWN_LEADER_EPOCH and UNKNOWN_SERVER_ERROR do not
lead back to the leader either: the same replica is asked again.

(Kafka: SubscriptionState.preferredReadReplica, AbstractFetch.selectReadReplica, FetchUtils.requestMetadataUpdate.)
"""

from __future__ import annotations

from broker_core.clients.metadata import Metadata, TopicPartition
from broker_core.clients.positions import Position, Positions
from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.wire.errors import ErrorCode

THE_LEADER = -1
ASK_AGAIN = (ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.UNKNOWN_SERVER_ERROR)


class ReadReplica:
    """A preferred read replica: which broker, until when, and the (leader, leader epoch) that it goes with."""

    __slots__ = ("broker", "until_us", "leader")

    def __init__(self, broker: int, until_us: int, leader: tuple[int, int]) -> None:
        self.broker = broker
        self.until_us = until_us
        self.leader = leader


class ReadReplicas:
    """Keeps `Position.read_replica` of all positions, and tells the journal when one changes."""

    def __init__(self, node: Node, metadata: Metadata, positions: Positions) -> None:
        self.node = node
        self.metadata = metadata
        self.positions = positions

    def prefer(self, tp: TopicPartition, position: Position, broker: int) -> None:
        """The leader names a replica; to be named again does not make it last longer."""
        known = position.read_replica
        if known is None or known.broker != broker:
            until_us = self.node.now_us() + self.metadata.settings.metadata_max_age_ms * 1000
            position.read_replica = ReadReplica(broker, until_us, self._leader(tp))
            self._tell(tp, broker, "nearest")

    def choose(self, tp: TopicPartition, position: Position) -> int | None:
        """The replica to fetch from, -1 = the leader; None: there was one, and it is gone."""
        known = position.read_replica
        if known is None:
            return THE_LEADER
        if self.node.now_us() > known.until_us:
            self._drop(tp, position, "expired")
        elif self._leader(tp) != known.leader:
            self._drop(tp, position, "new leader")
        elif not self.metadata.is_online(*tp, known.broker):
            self._drop(tp, position, "gone")
            return None
        else:
            return known.broker
        return THE_LEADER

    def failed(self, tp: TopicPartition, error: int) -> bool:
        """A fetch of it has failed; whether it was read from another replica until now, and is not any longer."""
        position = self.positions.of.get(tp)
        if position is None or position.read_replica is None or error in ASK_AGAIN:
            return False
        self._drop(tp, position, "error")
        return True

    def view(self) -> dict[str, dict[str, int]]:
        """Topic -> partition -> the follower that it is read from."""
        found: dict[str, dict[str, int]] = {}
        for (topic, number), position in self.positions.of.items():
            if position.read_replica is not None:
                found.setdefault(topic, {})[str(number)] = position.read_replica.broker
        return found

    def _leader(self, tp: TopicPartition) -> tuple[int, int]:
        return self.metadata.leader(*tp), self.metadata.leader_epoch(*tp)

    def _drop(self, tp: TopicPartition, position: Position, reason: str) -> None:
        position.read_replica = None
        self._tell(tp, self.metadata.leader(*tp), reason)

    def _tell(self, tp: TopicPartition, broker: int, reason: str) -> None:
        self.node.emit(events.READ_REPLICA, topic=tp[0], partition=tp[1], broker=broker, reason=reason)
