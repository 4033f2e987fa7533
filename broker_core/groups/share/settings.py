"""Settings of share groups: a group's own, the broker's for all groups, and the least and the most for a group.

    group g: share.session.timeout.ms = 50000     the broker's: group.share.session.timeout.ms, between min and max
"""

from __future__ import annotations

OF_BROKERS: dict[str, tuple[str, str, str]] = {
    "share.session.timeout.ms": (
        "group.share.session.timeout.ms", "group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms",
    ),
    "share.heartbeat.interval.ms": (
        "group.share.heartbeat.interval.ms", "group.share.min.heartbeat.interval.ms",
        "group.share.max.heartbeat.interval.ms",
    ),
    "share.assignment.interval.ms": (
        "group.share.assignment.interval.ms", "group.share.min.assignment.interval.ms",
        "group.share.max.assignment.interval.ms",
    ),
    "share.delivery.count.limit": (
        "group.share.delivery.count.limit", "group.share.min.delivery.count.limit",
        "group.share.max.delivery.count.limit",
    ),
    "share.record.lock.duration.ms": (
        "group.share.record.lock.duration.ms", "group.share.min.record.lock.duration.ms",
        "group.share.max.record.lock.duration.ms",
    ),
    "share.partition.max.record.locks": (
        "group.share.partition.max.record.locks", "group.share.min.partition.max.record.locks",
        "group.share.max.partition.max.record.locks",
    ),
}  # fmt: skip
