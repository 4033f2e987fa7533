"""What a client knows about the cluster: brokers, topics, and who leads which partition.

Asked from any broker, first from the bootstrap ones; kept for `metadata.max.age.ms`, and asked again
when it proves wrong (NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION, a connection that closes).
Answers that bring nothing new, and failures, make the next question wait longer (KIP-580).

An answer may be older than what is known already, for brokers learn of a new leader one after the
other. So a leader epoch never goes back:

| known | answer | taken |
|---|---|---|
| leader 1, epoch 4 | leader 2, epoch 5 | leader 2, epoch 5 |
| leader 2, epoch 5 | leader 1, epoch 4 | stays |
| leader 2, epoch 5 | leader 1, epoch 0, another topic id | leader 1: the topic was made anew |
"""

from __future__ import annotations

import uuid
from typing import Any

from broker_core.clients.backoff import backoff_us
from broker_core.clients.connections import Connections
from broker_core.kernel import events
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import Node, Timer
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

NO_LEADER = -1
TopicPartition = tuple[str, int]


class TopicInfo:
    """A topic as last heard: per partition its leader (-1: none), leader epoch and replicas that are online."""

    __slots__ = ("topic_id", "leaders", "epochs", "online", "available")

    def __init__(
        self, topic_id: uuid.UUID | None, leaders: list[int], epochs: list[int], online: list[list[int]]
    ) -> None:
        self.topic_id = topic_id
        self.leaders = leaders
        self.epochs = epochs
        self.online = online
        self.available = [index for index, leader in enumerate(leaders) if leader >= 0]


class Metadata:
    """Knowledge of the cluster and the questions that keep it fresh. `updated()` is told of each answer."""

    def __init__(self, node: Node, connections: Connections, bootstrap: list[str], updated: Any) -> None:
        self.node = node
        self.connections = connections
        self.settings = connections.settings
        self.bootstrap = bootstrap
        self.updated = updated
        self.brokers: list[str] = []
        self.controller = NO_LEADER
        self.topics: dict[str, TopicInfo] = {}
        self.errors: dict[str, int] = {}
        self.wanted: dict[str, None] = {}
        self.unnamed: dict[uuid.UUID, None] = {}
        self.allow_auto_creation = True
        self._needed = ""
        self._in_flight = False
        self._attempts = 0
        self._without_news = 0
        self._refreshed_us: int | None = None
        self._timer: Timer | None = None
        self._age: Timer | None = None

    # -- questions about what is known ------------------------------------------------------
    def leader(self, topic: str, partition: int) -> int:
        """Broker id, or -1 when unknown."""
        info = self.topics.get(topic)
        return info.leaders[partition] if info is not None and partition < len(info.leaders) else NO_LEADER

    def leader_epoch(self, topic: str, partition: int) -> int:
        """Leader epoch, or -1 when unknown."""
        info = self.topics.get(topic)
        return info.epochs[partition] if info is not None and partition < len(info.epochs) else -1

    def is_online(self, topic: str, partition: int, broker: int) -> bool:
        """Whether a broker that is alive has a replica of the partition that is."""
        info = self.topics.get(topic)
        known = info is not None and partition < len(info.online) and broker in info.online[partition]
        return known and broker_node(broker) in self.brokers

    def partition_count(self, topic: str) -> int:
        """0 when the topic is not known."""
        info = self.topics.get(topic)
        return len(info.leaders) if info is not None else 0

    def any_broker(self) -> str | None:
        """The least loaded broker; one of the bootstrap brokers again while none of those that are known can be
        connected to (KIP-899, metadata.recovery.strategy=rebootstrap). An answer names only the brokers that were
        alive then: when the last of them dies, others may have come back."""
        known = self.brokers or self.bootstrap
        if not any(self.connections.may_connect(name) for name in known):
            known = self.bootstrap
        return self.connections.least_loaded(known)

    # -- asking -----------------------------------------------------------------------------
    def add_topic(self, topic: str) -> None:
        """From now on ask about this topic, too; at once when it is new."""
        if topic not in self.wanted:
            self.wanted[topic] = None
            self.request_update("start")

    def add_id(self, topic_id: uuid.UUID) -> None:
        """Ask what this topic is called; from then on it is asked about as others are."""
        if topic_id not in self.unnamed:
            self.unnamed[topic_id] = None
            self.request_update("start")

    def names_by_id(self) -> dict[uuid.UUID, str]:
        """Topics that are known, by their ids."""
        return {info.topic_id: name for name, info in self.topics.items() if info.topic_id is not None}

    def drop_topic(self, topic: str) -> None:
        """Nobody asks about this topic any more."""
        self.wanted.pop(topic, None)
        self.topics.pop(topic, None)
        self.errors.pop(topic, None)

    def request_update(self, reason: str = "error") -> None:
        """What is known may be wrong: ask again as soon as the backoff allows."""
        if not self._needed:
            self._needed = reason
        if not self._in_flight and self._timer is None:
            wait = self._wait_us()
            if wait > 0:
                self._timer = self.node.after(wait, self._ask)
            else:
                self._ask()

    def _wait_us(self) -> int:
        if self._refreshed_us is None:
            return 0
        waits = 0
        if self._attempts or self._without_news:
            random = self.node.random("backoff")
            settings = self.settings
            count = max(self._attempts, self._without_news) - 1
            waits = backoff_us(count, settings.retry_backoff_ms, settings.retry_backoff_max_ms, random)
        else:
            waits = self.settings.retry_backoff_ms * 1000
        return max(0, self._refreshed_us + waits - self.node.now_us())

    def _ask(self) -> None:
        self._timer = None
        dest = self.any_broker()
        if dest is None:
            return
        self._in_flight = True
        reason, self._needed = self._needed or "max age", ""
        topics = [m.MetadataRequest.MetadataRequestTopic(name=name) for name in self.wanted]
        topics += [m.MetadataRequest.MetadataRequestTopic(topic_id=one, name=None) for one in self.unnamed]
        body = m.MetadataRequest(topics=topics, allow_auto_topic_creation=self.allow_auto_creation)
        self.connections.call(dest, ApiKey.METADATA, body, self._answered, (dest, reason))

    def _answered(self, context: tuple[str, str], response: Any) -> None:
        dest, reason = context
        self._in_flight = False
        self._refreshed_us = self.node.now_us()
        if response is None:
            self.connections.failed(dest)
            self._attempts += 1
            self.request_update(reason)
            return
        self._attempts = 0
        news = self._take(response)
        self._without_news = 0 if news or reason == "max age" else self._without_news + 1
        if self.node.messages:
            self.node.emit(events.METADATA_REFRESHED, source=dest, topics=list(self.wanted), reason=reason)
        self._arm_age()
        if self._is_incomplete() or self._needed:
            self.request_update("error")
        self.updated()

    def _arm_age(self) -> None:
        if self._age is not None:
            self._age.cancel()
        self._age = self.node.after(self.settings.metadata_max_age_ms * 1000, self.request_update, "max age")

    def _is_incomplete(self) -> bool:
        """A topic that is missing, or a partition without a leader: worth asking again."""
        if self.errors:
            return True
        return any(len(info.available) < len(info.leaders) for info in self.topics.values())

    def _take(self, response: Any) -> bool:
        """Keep what is new; whether anything was."""
        brokers = [broker_node(broker.node_id) for broker in response.brokers]
        news = brokers != self.brokers
        self.brokers = brokers or self.brokers
        self.controller = response.controller_id
        self.errors = {}
        for topic in response.topics:
            if topic.topic_id in self.unnamed:
                del self.unnamed[topic.topic_id]  # one that is unknown is assigned no more, or will be asked for again
                if topic.name is None:
                    continue
                self.wanted[topic.name] = None
            if topic.error_code not in (ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE):
                self.errors[topic.name] = topic.error_code
            elif topic.partitions:
                news |= self._take_topic(topic)
            else:
                self.errors[topic.name] = topic.error_code or ErrorCode.LEADER_NOT_AVAILABLE
        for name in [name for name in self.topics if self.errors.get(name) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]:
            del self.topics[name]
        return news

    def _take_topic(self, topic: Any) -> bool:
        known = self.topics.get(topic.name)
        same = known is not None and known.topic_id == topic.topic_id
        count = 1 + max(one.partition_index for one in topic.partitions)  # a broker may not have heard of some of them
        leaders = [NO_LEADER] * count
        epochs = [-1] * count
        online: list[list[int]] = [[] for _ in leaders]
        for partition in topic.partitions:
            index = partition.partition_index
            leaders[index], epochs[index] = partition.leader_id, partition.leader_epoch
            online[index] = [one for one in partition.replica_nodes if one not in (partition.offline_replicas or ())]
            if known is None or not same or index >= len(known.epochs):
                continue
            if partition.leader_epoch < known.epochs[index]:
                leaders[index], epochs[index] = known.leaders[index], known.epochs[index]
                online[index] = known.online[index]
        self.topics[topic.name] = TopicInfo(topic.topic_id, leaders, epochs, online)
        return not same or known is None or known.leaders != leaders or known.epochs != epochs
