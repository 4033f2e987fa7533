"""Moves under a throttle, and its end: what `kafka-reassign-partitions` asks with --throttle and --verify (KIP-73).

    reassign, throttle R           what moves already?           ListPartitionReassignments    controller
                                   who has the partition?        Metadata                      any broker
                                   who is to be throttled        IncrementalAlterConfigs       any broker, of the topics
                                   to how much                   IncrementalAlterConfigs       each broker in a move
                                   move                          AlterPartitionReassignments   controller

    move_replica, throttle R       to how much, then move        both                          the replica's broker

    verify_reassignment            does anything move?           ListPartitionReassignments    controller
                                   between directories?          DescribeLogDirs               each broker
                                   nobody, to no limit           IncrementalAlterConfigs       each broker, any broker

orders-0 on brokers 1 and 2 is to be on 1 and 3: `leader.replication.throttled.replicas` is `0:1,0:2`, whoever of them
leads; `follower.replication.throttled.replicas` is `0:3`; both rates are R on brokers 1, 2 and 3. The lists are those
of all that moves at the time. They are replaced, not added to, by each command.

Nobody takes a throttle away by himself when the move is over, neither controller nor broker: a later replica that falls
out of the ISR would creep back at that rate. Only --verify does, with the throttles of every broker, since it does not
know any more which of them took part. (Kafka: ReassignPartitionsCommand.)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from broker_core.clients.admin_questions import Admin, AdminQuestions
from broker_core.clients.admin_requests import AdminCall, alter_config, verdict
from broker_core.kernel.names import broker_node
from broker_core.kernel.problems import problem
from broker_core.replication.quotas import FOLLOWER, LEADER, MOVES, RATES, REPLICAS
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

Key = tuple[str, int]
Move = tuple[list[int], list[int]]
"""Brokers that have the partition, and those that are to get it."""


class _OfAllMoves(AdminQuestions):
    """Begins with what moves in the whole cluster."""

    def _begin(self) -> None:
        metadata = self.admin.metadata
        if self.admin.is_nowhere(self.call):
            self._refuse(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif metadata.controller < 0 or not metadata.brokers:
            self._again()
        else:
            body = m.ListPartitionReassignmentsRequest(
                timeout=self.admin.settings.request_timeout_ms, topics=None
            )
            self._ask(broker_node(metadata.controller), ApiKey.LIST_PARTITION_REASSIGNMENTS, body, self._listed)

    def _listed(self, response: Any) -> None:
        if self._failed(response.error_code, response.error_message):
            return
        self._moving({
            (topic.name, part.partition_index): (
                [one for one in part.replicas if one not in part.adding_replicas], list(part.adding_replicas)
            )
            for topic in response.topics for part in topic.partitions
        })  # fmt: skip

    def _moving(self, moves: dict[Key, Move]) -> None:
        """What is asked next."""
        raise NotImplementedError

    def _went_well(self, response: Any) -> bool:
        error, message = verdict(response)
        return not self._failed(error, message)


class ThrottledReassignment(_OfAllMoves):
    """One such command under way. `call.body` is the request that moves the partition."""

    def __init__(self, admin: Admin, call: AdminCall, key: Key, replicas: list[int], rate: int) -> None:
        super().__init__(admin, call, key[0])
        self.key = key
        self.replicas = replicas
        self.rate = rate
        self.moves: dict[Key, Move] = {}
        self.topics: list[str] = []
        self.brokers: list[int] = []

    def _moving(self, moves: dict[Key, Move]) -> None:
        self.moves = moves
        asked = m.MetadataRequest.MetadataRequestTopic(name=self.topic)
        self._ask_any(
            ApiKey.METADATA, m.MetadataRequest(topics=[asked], allow_auto_topic_creation=False), self._placed
        )

    def _placed(self, response: Any) -> None:
        parts = {part.partition_index: part for topic in response.topics for part in topic.partitions}
        part = parts.get(self.key[1])
        if part is None:
            self._again()  # just created: not known everywhere
            return
        sources = self.moves[self.key][0] if self.key in self.moves else list(part.replica_nodes)
        self.moves[self.key] = sources, [one for one in self.replicas if one not in sources]
        self.topics = sorted({topic for topic, _ in self.moves})
        self.brokers = sorted({one for sides in self.moves.values() for side in sides for one in side})
        self._next_topic()

    def _next_topic(self, response: Any = None) -> None:
        if response is not None and not self._went_well(response):
            return
        if not self.topics:
            self._next_broker()
            return
        lists = throttled_replicas(self.topics.pop(0), self.moves)
        self._ask_any(ApiKey.INCREMENTAL_ALTER_CONFIGS, alter_config(lists[0], None, lists[1]), self._next_topic)

    def _next_broker(self, response: Any = None) -> None:
        if response is not None and not self._went_well(response):
            return
        if not self.brokers:
            self.call.unanswered = True
            self._ask(broker_node(self.admin.metadata.controller), self.call.api, self.call.body, self._moved)
            return
        broker, rate = self.brokers.pop(0), str(self.rate)
        body = alter_config(None, broker, {RATES[LEADER]: rate, RATES[FOLLOWER]: rate})
        self._ask(broker_node(broker), ApiKey.INCREMENTAL_ALTER_CONFIGS, body, self._next_broker)

    def _moved(self, response: Any) -> None:
        self.call.unanswered = False
        if self._went_well(response):
            self.admin.end(self.call, "ok", "", "")


class ThrottledMove(AdminQuestions):
    """Between two directories of `broker`."""

    def __init__(self, admin: Admin, call: AdminCall, broker: int, rate: int) -> None:
        super().__init__(admin, call)
        self.broker = broker
        self.rate = rate

    def _begin(self) -> None:
        body = alter_config(None, self.broker, {RATES[MOVES]: str(self.rate)})
        self._ask(broker_node(self.broker), ApiKey.INCREMENTAL_ALTER_CONFIGS, body, self._limited)

    def _limited(self, response: Any) -> None:
        error, message = verdict(response)
        if not self._failed(error, message):
            self.call.unanswered = True
            self._ask(broker_node(self.broker), self.call.api, self.call.body, self._moved)

    def _moved(self, response: Any) -> None:
        """Kafka's client tells what the broker says, also of an error that may pass."""
        self.call.unanswered = False
        error, message = verdict(response)
        if error == ErrorCode.NONE:
            self.admin.end(self.call, "ok", "", "")
        else:
            self._refuse(error, message)


class Verification(_OfAllMoves):
    """The end of all throttles, if nothing moves."""

    def __init__(self, admin: Admin, call: AdminCall, topic: str) -> None:
        super().__init__(admin, call, topic)
        self.brokers: list[str] = []
        self.looked_at = 0

    def _moving(self, moves: dict[Key, Move]) -> None:
        if moves:
            self._still(moves)
            return
        self.brokers, self.looked_at = sorted(self.admin.metadata.brokers), 0
        self._look()

    def _still(self, moves: Iterable[Key]) -> None:
        names = [f"{topic}-{number}" for topic, number in moves]
        self._refuse(ErrorCode.REASSIGNMENT_IN_PROGRESS, own=problem("still_moving", names=names))

    def _look(self) -> None:
        """Into the directories of the next broker, then at settings."""
        if self.looked_at == len(self.brokers):
            body = alter_config(self.topic, None, dict.fromkeys(REPLICAS.values()))
            self._ask_any(ApiKey.INCREMENTAL_ALTER_CONFIGS, body, self._clear)
            return
        numbers = [*range(self.admin.metadata.partition_count(self.topic) or 0)]
        topic = m.DescribeLogDirsRequest.DescribableLogDirTopic(topic=self.topic, partitions=numbers)
        body = m.DescribeLogDirsRequest(topics=[topic])
        self._ask(self.brokers[self.looked_at], ApiKey.DESCRIBE_LOG_DIRS, body, self._described)

    def _described(self, response: Any) -> None:
        copies = [
            (topic.name, part.partition_index)
            for found in response.results for topic in found.topics for part in topic.partitions if part.is_future_key
        ]  # fmt: skip
        if copies:
            self._still(copies)
            return
        self.looked_at += 1
        self._look()

    def _clear(self, response: Any) -> None:
        """The limits of the next broker."""
        if not self._went_well(response):
            return
        if not self.brokers:
            self.admin.end(self.call, "ok", "", "")
            return
        dest = self.brokers.pop(0)
        body = alter_config(None, int(dest.rpartition("-")[2]), dict.fromkeys(RATES.values()))
        self._ask(dest, ApiKey.INCREMENTAL_ALTER_CONFIGS, body, self._clear)


def throttled_replicas(topic: str, moves: dict[Key, Move]) -> tuple[str, dict[str, str | None]]:
    """The topic and its two lists: whoever has a partition of it that moves, and whoever gets one."""
    own = [(number, *sides) for (name, number), sides in moves.items() if name == topic]
    leaders = sorted(f"{number}:{broker}" for number, sources, _ in own for broker in sources)
    followers = sorted(f"{number}:{broker}" for number, _, targets in own for broker in targets)
    return topic, {REPLICAS[LEADER]: ",".join(leaders), REPLICAS[FOLLOWER]: ",".join(followers)}
