"""Settings that a group of KIP-848 may have of its own."""

from __future__ import annotations

SESSION_TIMEOUT, HEARTBEAT_INTERVAL, ASSIGNMENT_INTERVAL = (
    "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms", "consumer.assignment.interval.ms"
)  # fmt: skip
OF_BROKERS: dict[str, tuple[str, str, str]] = {
    SESSION_TIMEOUT: (
        "group.consumer.session.timeout.ms", "group.consumer.min.session.timeout.ms",
        "group.consumer.max.session.timeout.ms",
    ),
    HEARTBEAT_INTERVAL: (
        "group.consumer.heartbeat.interval.ms", "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
    ),
    ASSIGNMENT_INTERVAL: (
        "group.consumer.assignment.interval.ms", "group.consumer.min.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
    ),
}  # fmt: skip
"""A group's settings: the broker's for all groups, the least and the most that a group may be given."""
