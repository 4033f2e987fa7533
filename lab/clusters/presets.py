"""Presets: sets of settings that belong together.

| preset | brokers | clients | for |
|---|---|---|---|
| default | Kafka's own defaults | those of their era | comparison with a real cluster |
| teaching | shorter timeouts, so that one need not wait | shorter waits | the screen, lessons |
| fast | as default; group rebalances do not wait | as default | sweeps of many runs |

A setting that is given explicitly wins over the preset's.
"""

from __future__ import annotations

BROKER: dict[str, dict[str, str]] = {
    "default": {},
    "teaching": {
        "zookeeper.session.timeout.ms": "3000",
        "replica.lag.time.max.ms": "3000",
        "replica.fetch.wait.max.ms": "200",
        "group.initial.rebalance.delay.ms": "500",
        "offsets.topic.num.partitions": "5",
    },
    "fast": {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "5"},
}

KRAFT: dict[str, dict[str, str]] = {
    "default": {},
    "teaching": {
        "broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500",
        "group.consumer.session.timeout.ms": "6000", "group.consumer.min.session.timeout.ms": "6000",
        "group.consumer.heartbeat.interval.ms": "1000", "group.consumer.min.heartbeat.interval.ms": "1000",
        "share.coordinator.state.topic.num.partitions": "5",
    },
    "fast": {},
}
"""What stands there for the session with the coordination tree."""

ZOOKEEPER_TICK_MS = {"default": 2000, "teaching": 500, "fast": 2000}

PRODUCER: dict[str, dict[str, str]] = {
    "default": {},
    "teaching": {"request.timeout.ms": "5000", "delivery.timeout.ms": "30000"},
    "fast": {},
}

CONSUMER: dict[str, dict[str, str]] = {
    "default": {},
    "teaching": {"request.timeout.ms": "5000", "session.timeout.ms": "6000", "heartbeat.interval.ms": "1000"},
    "fast": {},
}

WORKER: dict[str, dict[str, str]] = {"default": {}, "teaching": {"request.timeout.ms": "5000"}, "fast": {}}

NAMES = tuple(BROKER)
REPLICATED = (
    "default.replication.factor", "offsets.topic.replication.factor", "transaction.state.log.replication.factor",
)  # fmt: skip
REPLICATED_WITH_KRAFT = (*REPLICATED, "share.coordinator.state.topic.replication.factor")


def replicated(brokers: int, controller: str) -> dict[str, str]:
    """For clusters that people attach their own clients to: topics that are created by writing to them survive the loss
    of a broker (Kafka's own default is 1 copy)."""
    names = REPLICATED_WITH_KRAFT if controller == "kraft" else REPLICATED
    return dict.fromkeys(names, str(min(3, brokers)))


def broker(preset: str, controller: str) -> dict[str, str]:
    """Settings of the brokers (and controllers) of one generation."""
    if controller != "kraft":
        return BROKER[preset]
    own = {name: value for name, value in BROKER[preset].items() if not name.startswith("zookeeper.")}
    return {**own, **KRAFT[preset]}
