"""Settings of a single group (KIP-848): what differs from the broker's for all groups, within the broker's limits.

    group g: consumer.session.timeout.ms = 50000     the broker's: group.consumer.session.timeout.ms
                                                     limits: group.consumer.{min,max}.session.timeout.ms

Source: GroupConfig, GroupConfigManager.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from broker_core.kernel.problems import problem
from broker_core.metadata.configs import BROKER_SETTINGS, BrokerConfig
from broker_core.metadata.configs_types import ConfigError
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
    "streams.num.standby.replicas": (None, "group.streams.max.standby.replicas"),
}  # fmt: skip
"""Settings of a group, with the broker's settings that limit them."""


def _is_reset(text: str) -> bool:
    strategy, _, duration = text.partition(":")
    return text in ("earliest", "latest") or (strategy == "by_duration" and duration_ms(duration) is not None)


WORDS: dict[str, Callable[[str], bool]] = {
    "share.auto.offset.reset": _is_reset,
    "share.isolation.level": lambda text: text in ("read_committed", "read_uncommitted"),
    "share.renew.acknowledge.enable": lambda text: text.lower() in ("true", "false"),
}
"""Settings of a group alone that are no numbers (KIP-932, KIP-1222)."""


def check_group(overrides: Mapping[str, str], broker: BrokerConfig) -> None:
    """Raises ConfigError, in Kafka's words, when a group cannot have these settings."""
    unknown = next((name for name in overrides if name not in LIMITED and name not in WORDS), None)
    if unknown is not None:
        raise ConfigError(problem("broken_rule", words=f"Unknown group config name: {unknown}"), unknown)
    for name, text in overrides.items():
        if name in WORDS and not WORDS[name](text):
            raise _broken(name, f"Invalid value {text} for configuration {name}")
    values = {name: _value(name, text, broker) for name, text in overrides.items() if name in LIMITED}
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
