"""Settings of a single group (KIP-848): what differs from the broker's for all groups, within the broker's limits.

    group g: consumer.session.timeout.ms = 50000     the broker's: group.consumer.session.timeout.ms
                                                     limits: group.consumer.{min,max}.session.timeout.ms

Source: GroupConfig, GroupConfigManager.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.kernel.problems import problem
from broker_core.metadata.configs import BROKER_SETTINGS, BrokerConfig
from broker_core.metadata.configs_types import ConfigError

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
    "share.assignment.interval.ms": (
        "group.share.min.assignment.interval.ms", "group.share.max.assignment.interval.ms"
    ),
    "streams.num.standby.replicas": (None, "group.streams.max.standby.replicas"),
}  # fmt: skip
"""Settings of a group, with the broker's settings that limit them."""


def check_group(overrides: Mapping[str, str], broker: BrokerConfig) -> None:
    """Raises ConfigError, in Kafka's words, when a group cannot have these settings."""
    unknown = next((name for name in overrides if name not in LIMITED), None)
    if unknown is not None:
        raise ConfigError(problem("broken_rule", words=f"Unknown group config name: {unknown}"), unknown)
    values = {name: _value(name, text, broker) for name, text in overrides.items()}
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


def _value(name: str, text: str, broker: BrokerConfig) -> int:
    """Typed as the broker's setting is; in messages it has the group's name."""
    setting = BROKER_SETTINGS[f"group.{name}"]
    try:
        return int(setting.parse(text, broker.era))
    except ConfigError as error:
        raise _broken(name, error.message.replace(setting.name, name)) from None


def _broken(name: str, words: str) -> ConfigError:
    return ConfigError(problem("broken_rule", words=words), name)
