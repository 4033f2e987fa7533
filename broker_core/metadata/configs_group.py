"""Settings of a single group (KIP-848): what differs from the broker's for all groups, within the broker's limits.

    group g: consumer.session.timeout.ms = 50000     the broker's: group.consumer.session.timeout.ms
                                                     limits: group.consumer.{min,max}.session.timeout.ms

Source: GroupConfig, GroupConfigManager.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from broker_core.kernel.problems import problem
from broker_core.metadata.configs import BROKER_SETTINGS, BrokerConfig, ConfigEntry, Synonym
from broker_core.metadata.configs_checks import OneOf, Range
from broker_core.metadata.configs_types import KRAFT, ConfigError, ConfigSource, ConfigType, Setting, UpdateMode, shown
from broker_core.metadata.durations import duration_ms

LIMITED = {
    f"{kind}.{name}": (f"group.{kind}.min.{name}", f"group.{kind}.max.{name}")
    for kind in ("consumer", "share", "streams") for name in ("session.timeout.ms", "heartbeat.interval.ms")
} | {
    "share.record.lock.duration.ms": (
        "group.share.min.record.lock.duration.ms", "group.share.max.record.lock.duration.ms"
    ),
    "consumer.assignment.interval.ms": (
        "group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"
    ),
    "share.delivery.count.limit": (
        "group.share.min.delivery.count.limit", "group.share.max.delivery.count.limit"
    ),
    "share.partition.max.record.locks": (
        "group.share.min.partition.max.record.locks", "group.share.max.partition.max.record.locks"
    ),
    "share.assignment.interval.ms": (
        "group.share.min.assignment.interval.ms", "group.share.max.assignment.interval.ms"
    ),
    "streams.assignment.interval.ms": (
        "group.streams.min.assignment.interval.ms", "group.streams.max.assignment.interval.ms"
    ),
    "streams.num.standby.replicas": (None, "group.streams.max.standby.replicas"),
    "streams.initial.rebalance.delay.ms": (None, None),
}  # fmt: skip
"""Settings of a group, with the broker's settings that limit them."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Where a share group begins: `earliest`, `latest`, or so long ago (`by_duration:PT1H`)."""

    def problem(self, value: Any) -> str | None:
        strategy, _, duration = value.partition(":")
        if value in ("earliest", "latest") or (strategy == "by_duration" and duration_ms(duration) is not None):
            return None
        return (
            f"Invalid value `{value}` for configuration share.auto.offset.reset. The value must be either 'earliest', "
            f"'latest' or of the format '{self}'."
        )

    def __str__(self) -> str:
        return "by_duration:<PnDTnHnMn.nS>"


WORDS = {
    setting.name: setting
    for setting in (
        Setting("share.auto.offset.reset", ConfigType.STRING, "latest", Reset(), UpdateMode.CLUSTER_WIDE,
                "Where a share group begins that has no offset yet."),
        Setting("share.isolation.level", ConfigType.STRING, "read_uncommitted",
                OneOf(("read_committed", "read_uncommitted")), UpdateMode.CLUSTER_WIDE,
                "Whether a share group is given records of transactions that are not committed."),
        Setting("share.renew.acknowledge.enable", ConfigType.BOOLEAN, "true", None, UpdateMode.CLUSTER_WIDE,
                "Whether consumers of a share group may renew what they have acquired (KIP-1222)."),
    )
}  # fmt: skip
"""Settings of a group alone, behind which none of the broker's stands (KIP-932, KIP-1222)."""


def _of_group(name: str) -> Setting:
    """As the broker's is, with its lower limit; how much is too much only the broker's limits for groups say."""
    setting = BROKER_SETTINGS[f"group.{name}"]
    check = setting.check_in(KRAFT)
    return replace(setting, name=name, check=Range(check.low) if isinstance(check, Range) else check, kraft_check=None)


NUMBERS = {name: _of_group(name) for name in LIMITED}


def check_group(overrides: Mapping[str, str], broker: BrokerConfig) -> None:
    """Raises ConfigError, in Kafka's words, when a group cannot have these settings."""
    unknown = next((name for name in overrides if name not in LIMITED and name not in WORDS), None)
    if unknown is not None:
        raise ConfigError(problem("broken_rule", words=f"Unknown group config name: {unknown}"), unknown)
    for name, text in overrides.items():
        if name in WORDS:
            WORDS[name].parse(text, broker.era)
    values = {name: int(NUMBERS[name].parse(text, broker.era)) for name, text in overrides.items() if name in LIMITED}
    for name, value in values.items():
        least, most = LIMITED[name]
        if least is not None and value < broker[least]:
            raise _broken(name, f"{name} must be greater than or equal to {least}")
        if most is not None and value > broker[most]:
            raise _broken(name, f"{name} must be less than or equal to {most}")
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if values.get(session, broker[f"group.{session}"]) <= values.get(heartbeat, broker[f"group.{heartbeat}"]):
            raise _broken(session, f"{session} must be greater than {heartbeat}")


def _broken(name: str, words: str) -> ConfigError:
    return ConfigError(problem("broken_rule", words=words), name)


def describe_group(overrides: Mapping[str, str], broker: BrokerConfig) -> list[ConfigEntry]:
    """All settings of a group for DescribeConfigs, whether there is such a group or not. What it has set itself
    stands before the broker's setting for all groups."""
    return [_entry(name, overrides.get(name), broker) for name in (*WORDS, *LIMITED)]


def _entry(name: str, given: str | None, broker: BrokerConfig) -> ConfigEntry:
    if name in WORDS:
        setting = WORDS[name]
        places: tuple[Synonym, ...] = (Synonym(name, setting.default, ConfigSource.DEFAULT),)
    else:
        setting, places = NUMBERS[name], broker.synonyms(f"group.{name}")
    if given is not None:
        places = (Synonym(name, given, ConfigSource.GROUP), *places)
    return ConfigEntry(
        name=name,
        value=shown(setting.parse(places[0].value, broker.era)),
        source=places[0].source,
        read_only=False,
        sensitive=False,
        type=setting.type,
        synonyms=places,
        doc=setting.doc,
    )
