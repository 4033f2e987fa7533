"""Topics that are created because somebody asked for them (Kafka's AutoTopicCreationManager).

| topic | partitions | replicas |
|---|---|---|
| __consumer_offsets | offsets.topic.num.partitions [50] | offsets.topic.replication.factor [3] |
| __transaction_state | transaction.state.log.num.partitions [50] | transaction.state.log.replication.factor [3] |
| __share_group_state | share.coordinator.state.topic.num.partitions [50] | ....replication.factor [3] |
| any other | num.partitions [1] | default.replication.factor [1] |

One request per topic is under way at a time; when it fails, the next asker starts another. A topic that
the controller would refuse, by what this broker knows, is not asked for: who wanted it is told why
(`AutoTopicCreationManager.createTopicsInZk`).

| the topic | error |
|---|---|
| needs more replicas than there are live brokers (ZooKeeper) | INVALID_REPLICATION_FACTOR |
| differs from another only in "." and "_" | INVALID_TOPIC_EXCEPTION |
| is that of a quorum's log | LEADER_NOT_AVAILABLE: the controller refuses it each time |
With KRaft the number of brokers is the controller's matter: a fenced broker may get a replica, so that a group finds
its coordinator although one of three brokers is dead when __consumer_offsets is asked for first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from broker_core.metadata.assignment import check_counts
from broker_core.metadata.errors import RequestError
from broker_core.metadata.topic_names import (
    CLUSTER_METADATA_TOPIC,
    GROUP_METADATA_TOPIC,
    SHARE_GROUP_STATE_TOPIC,
    TRANSACTION_STATE_TOPIC,
    validate_new,
)
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

TIMEOUT_MS = 30_000


class Shape(NamedTuple):
    """What a topic is created with: settings of the broker by name; configs that are `fixed`, and those that a setting
    says."""

    partitions: str
    factor: str
    fixed: dict[str, str]
    of_broker: dict[str, str]


OTHER = Shape("num.partitions", "default.replication.factor", {}, {})
INTERNAL = {
    GROUP_METADATA_TOPIC: Shape(
        "offsets.topic.num.partitions", "offsets.topic.replication.factor",
        {"cleanup.policy": "compact", "compression.type": "producer"},
        {"segment.bytes": "offsets.topic.segment.bytes"},
    ),
    TRANSACTION_STATE_TOPIC: Shape(
        "transaction.state.log.num.partitions", "transaction.state.log.replication.factor",
        {
            "unclean.leader.election.enable": "false", "compression.type": "uncompressed", "cleanup.policy": "compact",
        },
        {
            "min.insync.replicas": "transaction.state.log.min.isr",
            "segment.bytes": "transaction.state.log.segment.bytes",
        },
    ),
    SHARE_GROUP_STATE_TOPIC: Shape(
        "share.coordinator.state.topic.num.partitions", "share.coordinator.state.topic.replication.factor",
        {"cleanup.policy": "delete", "compression.type": "producer", "retention.ms": "-1"},
        {
            "segment.bytes": "share.coordinator.state.topic.segment.bytes",
            "min.insync.replicas": "share.coordinator.state.topic.min.isr",
        },
    ),
}  # fmt: skip


class TopicCreation:
    """Creations under way at this broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.under_way: dict[str, None] = {}

    def create(self, topic: str) -> ErrorCode:
        """Ask the controller for the topic, unless it has been asked already; what the asker is told."""
        if topic in self.under_way or topic == CLUSTER_METADATA_TOPIC:
            return self._asked
        described = self._described(topic)
        try:
            validate_new(topic, self.broker.cache.topics)
            if self.broker.mode == "zookeeper":
                check_counts(described.num_partitions, described.replication_factor, len(self.broker.cache.racks()))
        except RequestError as error:
            return error.code
        self.under_way[topic] = None
        request = m.CreateTopicsRequest(topics=[described], timeout=TIMEOUT_MS)
        self.broker.cluster.create_topics(request, self._answered, topic)
        return self._asked

    @property
    def _asked(self) -> ErrorCode:
        """It may come to be; ask again. With KRaft it is as unknown as before."""
        kraft = self.broker.mode == "kraft"
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if kraft else ErrorCode.LEADER_NOT_AVAILABLE

    def _described(self, topic: str) -> Any:
        config, shape = self.broker.config, INTERNAL.get(topic, OTHER)
        configs = {**shape.fixed, **{name: str(config[setting]) for name, setting in shape.of_broker.items()}}
        created = m.CreateTopicsRequest.CreatableTopicConfig
        return m.CreateTopicsRequest.CreatableTopic(
            name=topic, num_partitions=config[shape.partitions], replication_factor=config[shape.factor],
            configs=[created(name=name, value=value) for name, value in configs.items()],
        )  # fmt: skip

    def _answered(self, topic: str, response: Any) -> None:
        """Whatever came of it, the next question for the topic may ask again."""
        self.under_way.pop(topic, None)

    def metadata_changed(self) -> None:
        """Topics that are known now need not be asked for."""
        for topic in [topic for topic in self.under_way if self.broker.cache.contains(topic)]:
            del self.under_way[topic]
