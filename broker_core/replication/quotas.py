"""Throttled replication: how many bytes a second replicas that catch up may take (KIP-73; KIP-113 between directories).

A broker has three quotas, each with a rate and, but for the third, a list of the replicas that it counts:

| quota | rate (dynamic, of a broker) | who is held back |
|---|---|---|
| LeaderReplication | leader.replication.throttled.rate | followers outside the ISR get no records |
| FollowerReplication | follower.replication.throttled.rate | partitions that lag are left out of the next Fetch |
| AlterLogDirsReplication | replica.alter.log.dirs.io.max.bytes.per.second | the next piece of a copy |

A topic's `leader.replication.throttled.replicas` and `follower.replication.throttled.replicas` say
`partition:broker,...`, or `*` for all; whatever moves between directories counts. Each broker takes its own entries
only: `0:1,0:2` among the leader's replicas means "broker 1 or 2, while it leads partition 0". No rate is no limit; a
list without a rate limits nothing, and neither does a rate without a list.

Whoever is in sync is never held back, or the throttle itself would take replicas out of the ISR; its bytes are counted
all the same, so a partition that is written faster than its rate leaves nothing for the one that catches up, who never
arrives. A follower knows by its last answer that it is in sync: in a new leader epoch it has none yet, and may be held
back, which is why `*` for followers is a risk. The quota is looked at before a piece is taken, and the whole piece
counts afterwards: a rate below the size of a piece (`replica.fetch.max.bytes`) makes long pauses, not small pieces.

The rate is taken over `replication.quota.window.num` [11] samples of `replication.quota.window.size.seconds` [1]:

    limit 1 MB/s, 4 MB at once     0 s: 4 / 1 s   1 s: 4 / 1 s   2 s: 4 / 2 s   4 s: 4 / 4 s, no longer above: go on

A first second counts as a whole one; behind it the sum is divided by the time since the oldest sample began. Samples in
which nothing was counted for all that time are forgotten, and begin anew.

A leader counts each response to a follower, also one with nothing of a throttled replica. So where followers fetch all
the time the window is full of empty samples when a move begins: as much as eleven seconds of the rate passes at once,
and nothing for eleven seconds then. A follower counts throttled replicas only, and is held to the rate from the first
second on. (Kafka: ReplicationQuotaManager, SimpleRate, SampledStat, KafkaApis.sizeOfThrottledPartitions. Kafka counts
the frames of these responses, too, here it is the records.)
"""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.metadata.configs import BrokerConfig

LEADER, FOLLOWER, MOVES = "LeaderReplication", "FollowerReplication", "AlterLogDirsReplication"
RATES = {
    LEADER: "leader.replication.throttled.rate", FOLLOWER: "follower.replication.throttled.rate",
    MOVES: "replica.alter.log.dirs.io.max.bytes.per.second",
}  # fmt: skip
REPLICAS = {
    LEADER: "leader.replication.throttled.replicas", FOLLOWER: "follower.replication.throttled.replicas",
}  # fmt: skip


class Sample:
    """Bytes of one window. Times in milliseconds; `last_ms`: of the last record in it."""

    __slots__ = ("start_ms", "last_ms", "size")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.start_ms = self.last_ms = now_ms
        self.size = 0


class ReplicationQuota:
    """One of a broker's three quotas.

    * `bound`: bytes per second, None without a limit
    * `topics`: topic -> the partitions of it that count, None: all of them. Empty where nothing is throttled, which is
      all that the way of a record asks

    Invariants
        * at most `count` + 1 samples: one may begin before the window and reach into it
    """

    __slots__ = ("kind", "node", "count", "window_ms", "bound", "topics", "_samples", "_current")

    def __init__(self, kind: str, node: Node, count: int, window_seconds: int) -> None:
        self.kind = kind
        self.node = node
        self.count = count
        self.window_ms = window_seconds * 1000
        self.bound: int | None = None
        self.topics: dict[str, frozenset[int] | None] = {}
        self._samples: list[Sample] = []
        self._current = 0

    # -- settings ---------------------------------------------------------------------------
    def take_list(self, topic: str, text: str, broker_id: int) -> None:
        """`*`, `0:1,0:2`, or nothing."""
        if not text.strip():
            self.topics.pop(topic, None)
        elif text.strip() == "*":
            self.topics[topic] = None
        else:
            pairs = [one.strip().split(":") for one in text.split(",") if one.strip()]
            self.topics[topic] = frozenset(int(number) for number, broker in pairs if int(broker) == broker_id)

    def counts(self, topic: str, index: int) -> bool:
        """Whether the replica of this broker is one of those that are throttled."""
        parts = self.topics.get(topic, frozenset())
        return parts is None or index in parts

    @property
    def throttles_anything(self) -> bool:
        """Whether a list names a replica of this broker."""
        return any(parts is None or parts for parts in self.topics.values())

    # -- the rate ---------------------------------------------------------------------------
    def record(self, size: int) -> None:
        """Bytes that went through, whether the rate is exceeded or not."""
        self._record(size, self._now_ms())

    def _record(self, size: int, now_ms: int) -> None:
        samples = self._samples
        if not samples:
            samples.append(Sample(now_ms))
        sample = samples[self._current]
        if now_ms - sample.start_ms >= self.window_ms:
            self._current = (self._current + 1) % (self.count + 1)
            if self._current < len(samples):
                samples[self._current].reset(now_ms)
            else:
                samples.append(Sample(now_ms))
            sample = samples[self._current]
        sample.size += size
        sample.last_ms = now_ms

    def exceeded(self) -> bool:
        """Whether nothing more may go through for now."""
        if self.bound is None:
            return False
        now_ms = self._now_ms()
        for sample in self._samples:
            if self._is_obsolete(sample, now_ms):
                sample.reset(now_ms)
        size, elapsed_ms = self._measured(now_ms)
        return size * 1000 > self.bound * elapsed_ms

    def rate(self) -> float:
        """Bytes per second, for observers: nothing changes by looking."""
        size, elapsed_ms = self._measured(self._now_ms())
        return size * 1000 / elapsed_ms

    def _measured(self, now_ms: int) -> tuple[int, int]:
        live = [sample for sample in self._samples if not self._is_obsolete(sample, now_ms)]
        oldest_ms = min((sample.start_ms for sample in live), default=now_ms)
        return sum(sample.size for sample in live), max(now_ms - oldest_ms, self.window_ms)

    def _is_obsolete(self, sample: Sample, now_ms: int) -> bool:
        return now_ms - sample.last_ms >= self.count * self.window_ms

    def _now_ms(self) -> int:
        return self.node.world.now_us // 1000

    def tell(self, topic: str, index: int, replica: int) -> None:
        """A replica is held back that was not before."""
        if self.node.messages:
            self.node.note(events.REPLICATION_THROTTLED, {
                "topic": topic, "partition": index, "replica": replica, "quota": self.kind, "rate": int(self.rate()),
                "bound": self.bound,
            })  # fmt: skip


class LeaderQuota(ReplicationQuota):
    """As the leader sees it: `held` are (topic, partition, follower) that got nothing the last time."""

    __slots__ = ("held",)

    def __init__(self, node: Node, count: int, window_seconds: int) -> None:
        super().__init__(LEADER, node, count, window_seconds)
        self.held: dict[tuple[str, int, int], None] = {}

    def take_list(self, topic: str, text: str, broker_id: int) -> None:
        super().take_list(topic, text, broker_id)
        self.held = {key: None for key in self.held if key[0] != topic}

    def begin(self, since_ms: int) -> None:
        """A topic is throttled where none was: what would stand here, had each response to a follower been counted
        since then, with the nothing that it had of throttled replicas."""
        now_ms = self._now_ms()
        last_ms = max((sample.last_ms for sample in self._samples), default=since_ms)
        for at_ms in range(max(since_ms, last_ms, now_ms - self.count * self.window_ms), now_ms, self.window_ms):
            self._record(0, at_ms)

    def holds(self, topic: str, index: int, replica: int, in_sync: bool) -> bool:
        """Whether a follower gets no records for now (Kafka: ReplicaManager.shouldLeaderThrottle)."""
        key = (topic, index, replica)
        if in_sync or not self.counts(topic, index) or not self.exceeded():
            self.held.pop(key, None)
            return False
        if key not in self.held:
            self.held[key] = None
            self.tell(*key)
        return True


class ReplicationQuotas:
    """All three of a broker (Kafka: QuotaFactory)."""

    def __init__(self, node: Node, broker_id: int, config: Mapping[str, int]) -> None:
        self.broker_id = broker_id
        of_peers = (config["replication.quota.window.num"], config["replication.quota.window.size.seconds"])
        of_moves = (
            config["alter.log.dirs.replication.quota.window.num"],
            config["alter.log.dirs.replication.quota.window.size.seconds"],
        )
        self.leader = LeaderQuota(node, *of_peers)
        self.follower = ReplicationQuota(FOLLOWER, node, *of_peers)
        self.moves = ReplicationQuota(MOVES, node, *of_moves)

    @property
    def all(self) -> tuple[ReplicationQuota, ...]:
        return self.leader, self.follower, self.moves

    def take_topic(self, topic: str, overrides: Mapping[str, str]) -> None:
        """What is set of a topic (Kafka: TopicConfigHandler)."""
        for quota in (self.leader, self.follower):
            quota.take_list(topic, overrides.get(REPLICAS[quota.kind], ""), self.broker_id)

    def take_rates(self, config: BrokerConfig) -> None:
        """What is set of this broker, behind it of all brokers (Kafka: BrokerConfigHandler). A rate in a file of
        settings counts nothing."""
        values = config.dynamic(all_brokers=True) | config.dynamic()
        for quota in self.all:
            text = values.get(RATES[quota.kind])
            quota.bound = None if text is None else int(text)
