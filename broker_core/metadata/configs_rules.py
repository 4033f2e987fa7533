"""Limits that settings put on each other, with Kafka's texts (`KafkaConfig.validateValues`).

| rule | because |
|---|---|
| replica.fetch.wait.max.ms <= replica.lag.time.max.ms | a waiting follower must not fall out of the ISR |
| replica.fetch.wait.max.ms <= replica.socket.timeout.ms | a waiting follower must not give up |
| log.cleaner.dedupe.buffer.size > 1 MiB per cleaner thread | smaller offset maps clean nothing |
| broker.id <= reserved.broker.max.id | ids above are given out by the coordination tree |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.metadata.configs_types import ConfigError

if TYPE_CHECKING:
    from broker_core.metadata.configs import BrokerConfig

_THREAD_COUNTS = (
    "num.io.threads", "num.network.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir",
    "background.threads",
)
_RETENTION = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
# Limits that Kafka only has for the topic setting that the broker's stands in for.
_TOPIC_LIMITS = {
    "log.roll.ms": ("segment.ms", 1),
    "log.roll.jitter.ms": ("segment.jitter.ms", 0),
    "log.flush.interval.ms": ("flush.ms", 0),
}


def check_broker(config: BrokerConfig) -> None:
    """Raise ConfigError for the first rule that the settings break."""
    for name in _RETENTION:
        if config[name] is not None and (config[name] == 0 or config[name] < -1):
            raise _broken(name, f"{name} must be unlimited (-1) or, greater than or equal to 1")
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


def check_thread_count(name: str, before: Any, after: Any) -> None:
    """A running broker at most doubles or halves a number of threads in one step (`DynamicThreadPool`)."""
    if name not in _THREAD_COUNTS or after == before:
        return
    if after <= 0:
        problem = "be at least 1"
    elif after < before / 2:
        problem = f"be at least half the current value {before}"
    elif after > before * 2:
        problem = f"not be greater than double the current value {before}"
    else:
        return
    reason = f"Dynamic thread count update validation failed for {name}={after}, value should {problem}"
    cause = f"org.apache.kafka.common.config.ConfigException: {reason}"
    raise ConfigError(f"Invalid value {cause} for configuration Invalid dynamic configuration", name)


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
        raise ConfigError(f"Invalid value {values[local]} for configuration {local}:"
                          f" Value must not be more than {total} property value: {values[total]}", local)


def _broken(name: str, rule: str) -> ConfigError:
    return ConfigError(rule, name)
