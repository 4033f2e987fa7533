"""Limits that settings put on each other, with Kafka's texts (`KafkaConfig.validateValues`).

| rule | because |
|---|---|
| replica.fetch.wait.max.ms <= replica.lag.time.max.ms | a waiting follower must not fall out of the ISR |
| replica.fetch.wait.max.ms <= replica.socket.timeout.ms | a waiting follower must not give up |
| log.cleaner.dedupe.buffer.size > 1 MiB per cleaner thread | smaller offset maps clean nothing |
| broker.id <= reserved.broker.max.id | ids above are given out by the coordination tree |
| log.message.format.version <= inter.broker.protocol.version | others could not read it (see `message_formats`) |
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from broker_core.kernel.problems import problem
from broker_core.metadata.configs_types import ConfigError, ConfigRuleError, invalid
from broker_core.metadata.message_formats import rule_broken

if TYPE_CHECKING:
    from broker_core.metadata.configs import BrokerConfig

_THREAD_COUNTS = (
    "num.io.threads", "num.network.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir",
    "background.threads",
)
# Limits that Kafka only has for the topic setting that the broker's stands in for.
_TOPIC_LIMITS = {
    "log.roll.jitter.ms": ("segment.jitter.ms", 0),
    "log.flush.interval.ms": ("flush.ms", 0),
}


def check_broker(config: BrokerConfig) -> None:
    """Raise ConfigError for the first rule that the settings break."""
    if config.milliseconds("log.retention") == 0:  # any negative time is unlimited
        raise _broken("log.retention.ms", "log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
    if config["log.roll.ms"] is not None and config["log.roll.ms"] < 1:
        raise _broken("log.roll.ms", "log.roll.ms must be greater than or equal to 1")
    if config["max.connections.per.ip"] == 0 and not config["max.connections.per.ip.overrides"]:
        raise _broken("max.connections.per.ip", "max.connections.per.ip can be set to zero only if"
                      " max.connections.per.ip.overrides property is set.")
    for one in filter(None, (config["max.connections.per.ip.overrides"] or "").split(",")):
        if not re.fullmatch(r"[+-]?[0-9]{1,9}", one.rpartition(":")[2].strip()):
            words = f'For input string: "{one.rpartition(":")[2]}"'
            raise ConfigError(problem("broken_rule", words=words), "max.connections.per.ip.overrides")
    for name, (meant, least) in _TOPIC_LIMITS.items():
        value = config[name]
        if value is not None and value < least:
            raise _broken(name, f"Invalid value {value} for configuration {meant}: Value must be at least {least}")
    wait = config["replica.fetch.wait.max.ms"]
    if wait > config["replica.socket.timeout.ms"]:
        raise _broken("replica.fetch.wait.max.ms", "replica.socket.timeout.ms should always be at least"
                      " replica.fetch.wait.max.ms to prevent unnecessary socket timeouts")
    if wait > config["replica.lag.time.max.ms"]:
        raise _broken("replica.fetch.wait.max.ms", "replica.fetch.wait.max.ms should always be less than or equal to"
                      " replica.lag.time.max.ms to prevent frequent changes in ISR")
    if config["log.cleaner.threads"] < 1:
        raise _broken("log.cleaner.threads", "Log cleaner threads should be at least 1")
    if config["log.cleaner.dedupe.buffer.size"] // config["log.cleaner.threads"] <= 1024 * 1024:
        raise _broken("log.cleaner.dedupe.buffer.size",
                      "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.")
    if config["group.min.session.timeout.ms"] > config["group.max.session.timeout.ms"]:
        raise _broken("group.min.session.timeout.ms",
                      "group.min.session.timeout.ms should be less than or equal to group.max.session.timeout.ms")
    if config["broker.heartbeat.interval.ms"] > config["broker.session.timeout.ms"] / 2:
        raise _broken("broker.heartbeat.interval.ms",
                      "broker.heartbeat.interval.ms should be less than or equal to half of"
                      " broker.session.timeout.ms, or a single lost heartbeat fences the broker")
    if (broken := rule_broken(config)) is not None:
        raise _broken("log.message.format.version", broken)
    _check_broker_id(config)


def _check_broker_id(config: BrokerConfig) -> None:
    broker_id = config["broker.id"]
    if config.era != "zookeeper":
        return
    if config["broker.id.generation.enable"]:
        if not -1 <= broker_id <= config["reserved.broker.max.id"]:
            raise _broken("broker.id",
                          "broker.id must be greater than or equal to -1 and not greater than reserved.broker.max.id")
    elif broker_id < 0:
        raise _broken("broker.id", "broker.id must be greater than or equal to 0")


def check_step(name: str, before: Any, after: Any) -> None:
    """What only a broker that runs refuses: steps that are too large, as of its threads, which at most double or halve
    (`DynamicThreadPool`, `LogCleaner.validateReconfiguration`). Halves are rounded down."""
    if after == before:
        return
    reason = ""
    if name in _THREAD_COUNTS:
        rule = ""
        if after <= 0:
            rule = "be at least 1"
        elif after < before // 2:
            rule = f"be at least half the current value {before}"
        elif after > before * 2:
            rule = f"not be greater than double the current value {before}"
        if rule:
            reason = f"Dynamic thread count update validation failed for {name}={after}, value should {rule}"
    elif name == "log.cleaner.threads" and after < before // 2:
        reason = f"Log cleaner threads cannot be reduced to less than half the current value {before}"
    elif name == "log.cleaner.threads" and after > before * 2:
        reason = f"Log cleaner threads cannot be increased to more than double the current value {before}"
    elif name == "max.connection.creation.rate" and after <= 0:
        reason = f"Invalid max.connection.creation.rate {after}"
    if reason:
        cause = f"org.apache.kafka.common.config.ConfigException: {reason}"
        raise ConfigError(problem("thread_count", words=cause), name)


def check_topic(values: dict[str, Any], tiered: bool) -> None:
    """Rules between the settings of one topic (`LogConfig.validateValues`)."""
    least, most = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    if least > most:
        raise _broken("min.compaction.lag.ms", "conflict topic config setting min.compaction.lag.ms"
                      f" ({least}) > max.compaction.lag.ms ({most})")
    if not values["remote.storage.enable"]:
        return
    if not tiered:
        raise _broken("remote.storage.enable", "Tiered Storage functionality is disabled in the broker."
                      " Topic cannot be configured with remote log storage.")
    if "compact" in values["cleanup.policy"]:
        raise _broken("remote.storage.enable", "Remote log storage is unsupported for the compacted topics")
    _check_local("local.retention.ms", "retention.ms", values)
    _check_local("local.retention.bytes", "retention.bytes", values)


def _check_local(local: str, total: str, values: dict[str, Any]) -> None:
    if values[total] == -1 or values[local] == -2:
        return
    if values[local] == -1 or values[local] > values[total]:
        words = f"Value must not be more than {total} property value: {values[total]}"
        raise invalid(local, values[local], words)


def _broken(name: str, rule: str) -> ConfigRuleError:
    return ConfigRuleError(problem("broken_rule", words=rule), name)
