"""Settings that change while the broker runs, and what goes by them.

| told of | by the cluster as | goes to |
|---|---|---|
| ("topics", "orders") | overrides of one topic | its logs' LogConfig, throttled replicas |
| ("groups", "billing") | settings of one group | its coordinator |
| ("brokers", "1") | dynamic settings of this broker | BrokerConfig, from there all logs and replication's quotas |
| ("brokers", "<default>") | dynamic settings of all brokers | the same, behind those of this broker |

A topic's `message.format.version` that does not count (`metadata.message_formats`) is kept and told as well.
Where they are kept and how their changes are heard of is the cluster's business (`cluster.port`). A value that does not
fit is refused and told; what stood there before stays.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from broker_core.kernel import events
from broker_core.kernel.errors import what_of
from broker_core.kernel.problems import Problem
from broker_core.log.config import LogConfig
from broker_core.log.errors import InvalidConfig
from broker_core.metadata.config_entities import BROKERS, DEFAULT_ENTITY, GROUPS, TOPICS, Entity
from broker_core.metadata.configs import ConfigError
from broker_core.metadata.configs_topics import topic_config
from broker_core.metadata.message_formats import FORMAT, format_in_force, ignored_format

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

LOG_SETTINGS = frozenset(one.name.replace("_", ".") for one in fields(LogConfig))


class ConfigStore:
    """What this broker knows of settings. `overrides` holds each topic's own."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.overrides: dict[str, dict[str, str]] = {}

    # -- what a topic's logs go by ------------------------------------------------------------
    def log_config(self, topic: str, overrides: dict[str, str]) -> LogConfig:
        """The effective settings of a topic with these overrides, as far as a log goes by them. In 4.x
        `internal.segment.bytes` counts in place of `segment.bytes`, which may not be below 1 MiB there (KIP-1030)."""
        values = topic_config(overrides, self.broker.config)
        if (small := values.get("internal.segment.bytes")) is not None:
            values = {**values, "segment.bytes": small}
        values = {**values, FORMAT: format_in_force(overrides, self.broker.config)}
        return LogConfig.from_strings({name: text for name, text in values.items() if name in LOG_SETTINGS})

    def log_config_of(self, topic: str) -> LogConfig:
        """The effective settings of a topic as they stand."""
        return self.broker.log_manager.config_of(topic)

    # -- taking over ----------------------------------------------------------------------------
    def take(self, entity: Entity, values: dict[str, str], *, running: bool) -> None:
        """Everything that is set of an entity; `running`: it has changed since the start."""
        kind, name = entity
        if kind == TOPICS:
            self._take_topic(name, values)
        elif kind == GROUPS:
            self.broker.groups.take_group_settings(name, values)
        elif kind == BROKERS:
            self._take_broker(name, values, running)

    def _take_topic(self, topic: str, values: dict[str, str]) -> None:
        try:
            config = self.log_config(topic, values)
        except (ConfigError, InvalidConfig, ValueError) as error:
            self._refused((TOPICS, topic), error)
            return
        ignored = ignored_format(values, self.broker.config)
        if ignored is not None and values.get(FORMAT) != self.overrides.get(topic, {}).get(FORMAT):
            self._told((TOPICS, topic), ignored)
        self.overrides[topic] = values
        self.broker.log_manager.update_topic_config(topic, config)
        self.broker.replicas.take_topic(topic, values)

    def _take_broker(self, name: str, values: dict[str, str], running: bool) -> None:
        config = self.broker.config
        everybody = name == DEFAULT_ENTITY
        before = config.dynamic(all_brokers=everybody)
        for key in [*values, *[key for key in before if key not in values]]:
            try:
                config.set_dynamic(key, values.get(key), all_brokers=everybody, running=running)
            except ConfigError as error:
                self._refused((BROKERS, name), error)
        self._broker_settings_changed()

    def _broker_settings_changed(self) -> None:
        self.broker.replicas.quotas.take_rates(self.broker.config)
        logs = self.broker.log_manager
        logs.update_default_config(self.log_config("", {}))
        logs.update_producer_expiration(self.broker.config["producer.id.expiration.ms"])
        for topic, overrides in self.overrides.items():
            logs.update_topic_config(topic, self.log_config(topic, overrides))

    def _refused(self, entity: Entity, error: Exception) -> None:
        self._told(entity, what_of(error))

    def _told(self, entity: Entity, what: Problem) -> None:
        self.broker.node.emit(events.COMMAND_REFUSED, command={"config": "/".join(entity)}, problem=what)
