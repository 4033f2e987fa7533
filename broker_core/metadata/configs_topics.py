"""The settings of a topic as they stand: its own, else the broker's, turned into the topic's units.

>>> broker = BrokerConfig({"log.retention.hours": "2"})
>>> topic_config({}, broker)["retention.ms"], topic_config({"retention.ms": "500"}, broker)["retention.ms"]
('7200000', '500')

A broker setting on a topic is refused with the name that was meant: `log.retention.hours` is a broker
setting; its topic setting is `retention.ms`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker_core.metadata import configs_rules
from broker_core.metadata.configs import (
    TOPIC_SETTINGS,
    BrokerConfig,
    ConfigEntry,
    Synonym,
    broker_setting,
    topic_setting,
)
from broker_core.metadata.configs_topic import SYNONYMS
from broker_core.metadata.configs_types import ConfigSource, Setting, shown


def topic_values(overrides: Mapping[str, str], broker: BrokerConfig) -> dict[str, Any]:
    """Every setting of a topic with its typed effective value. ConfigError when an override does not fit."""
    given = {name: topic_setting(name, broker.era).parse(text, broker.era) for name, text in overrides.items()}
    values = {s.name: _from_broker(s, broker) for s in _described(broker, internal=True)}
    values.update(given)
    configs_rules.check_topic(values, bool(broker["remote.log.storage.system.enable"]))
    return values


def topic_config(overrides: Mapping[str, str], broker: BrokerConfig) -> dict[str, str]:
    """Every setting of a topic that has a value, as text; the log makes its LogConfig from it."""
    return {name: shown(value) for name, value in topic_values(overrides, broker).items() if value is not None}


def check_topic_overrides(overrides: Mapping[str, str], broker: BrokerConfig) -> None:
    """Raise ConfigError (INVALID_CONFIG on the wire) when a topic cannot have these settings."""
    topic_values(overrides, broker)


UNLIMITED_BELOW_ZERO = ("retention.ms", "retention.bytes")
"""Of a broker's setting Kafka takes any number below zero for no limit."""


def _described(broker: BrokerConfig, *, internal: bool = False) -> list[Setting]:
    return [s for s in TOPIC_SETTINGS.values() if s.era in (None, broker.era) and (internal or not s.internal)]


def _from_broker(setting: Setting, broker: BrokerConfig) -> Any:
    """The value that a topic has when it sets nothing itself."""
    for name, factor in SYNONYMS.get(setting.name, ()):
        value = broker[name]
        if value is not None:
            if setting.name in UNLIMITED_BELOW_ZERO and value < 0:
                return -1
            return value * factor if factor != 1 and value >= 0 else value
    return setting.parse(setting.default_in(broker.era), broker.era)


def describe_topic(overrides: Mapping[str, str], broker: BrokerConfig) -> list[ConfigEntry]:
    """All settings of a topic for DescribeConfigs."""
    values = topic_values(overrides, broker)
    return [_entry(setting, values[setting.name], overrides, broker) for setting in _described(broker)]


def _entry(setting: Setting, value: Any, overrides: Mapping[str, str], broker: BrokerConfig) -> ConfigEntry:
    stand_ins = SYNONYMS.get(setting.name, ())
    places = broker.synonyms(stand_ins[0][0]) if stand_ins else ()
    sensitive = any(broker_setting(name, broker.era).sensitive for name, _ in stand_ins)
    if setting.name in overrides:
        places = (Synonym(setting.name, overrides[setting.name], ConfigSource.TOPIC), *places)
    return ConfigEntry(
        name=setting.name,
        value=None if value is None else shown(value),
        source=places[0].source if places else ConfigSource.DEFAULT,
        read_only=False,
        sensitive=sensitive,
        type=setting.type,
        synonyms=places,
        doc=setting.doc,
    )
