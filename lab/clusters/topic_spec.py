"""The description of a topic, and of its settings as Kafka judges them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from broker_core.kernel.problems import problem
from broker_core.metadata.configs import TOPIC_SETTINGS, ConfigError, topic_setting
from broker_core.metadata.configs_types import KRAFT, ZOOKEEPER
from lab.clusters.checks import Place, SpecError, choice, integer, items, mapping, settings_of, text, unique

if TYPE_CHECKING:
    from lab.clusters.brokers import BrokerSpec, ClusterSpec

KRAFT_ONLY = frozenset(name for name, one in TOPIC_SETTINGS.items() if one.era == KRAFT)


@dataclass(slots=True)
class TopicSpec:
    """A topic that is there before the load begins."""

    name: str
    partitions: int = 1
    replication_factor: int = 3
    configs: dict[str, str] = field(default_factory=dict)
    assignment: list[list[int]] = field(default_factory=list)


def topic_from_dict(value: Any, place: Place, cluster: ClusterSpec) -> TopicSpec:
    """{name, partitions, replication_factor, configs}, or {name, assignment}: a list of brokers a partition."""
    brokers = cluster.brokers
    if isinstance(value, str):
        value = {"name": value}
    data = mapping(value, place, [one.name for one in fields(TopicSpec)], ["name"])
    topic = TopicSpec(text(data["name"], (*place, "name")), replication_factor=min(3, len(brokers)))
    if "partitions" in data:
        topic.partitions = integer(data["partitions"], (*place, "partitions"), 1, 10_000)
    if "replication_factor" in data:
        topic.replication_factor = integer(data["replication_factor"], (*place, "replication_factor"), 1, len(brokers))
    if data.get("assignment"):
        topic.assignment = _assignment(data["assignment"], (*place, "assignment"), brokers)
        topic.partitions, topic.replication_factor = len(topic.assignment), len(topic.assignment[0])
    topic.configs = topic_configs(data.get("configs"), (*place, "configs"), KRAFT if cluster.is_kraft else ZOOKEEPER)
    return topic


def _assignment(value: Any, place: Place, brokers: list[BrokerSpec]) -> list[list[int]]:
    """Replicas of each partition, all of the same number; the first is the preferred leader."""
    known = [str(broker.id) for broker in brokers]
    rows = [items(one, (*place, index)) for index, one in enumerate(items(value, place))]
    for index, row in enumerate(rows):
        for column, broker in enumerate(row):
            choice(str(broker), (*place, index, column), known)
        unique([str(broker) for broker in row], (*place, index), "broker")
        if not row or len(row) != len(rows[0]):
            raise SpecError((*place, index), problem("expected_replicas", expected=max(1, len(rows[0])), n=len(row)))
    return rows


def topic_configs(value: Any, place: Place, era: str | None = None) -> dict[str, str]:
    """Topic settings by Kafka's names, as its generation has them; None: any, the brokers judge."""
    configs = settings_of(value, place)
    for name, content in configs.items():
        try:
            given = era or (KRAFT if name in KRAFT_ONLY else ZOOKEEPER)
            topic_setting(name, given).parse(content, given)
        except ConfigError as error:
            raise SpecError((*place, name), error.problem) from None
    return configs
