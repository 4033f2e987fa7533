"""When a process writes a snapshot of the metadata log (KIP-630, KIP-876): every process by itself, the leader or not.

| rule | default |
|---|---|
| so many bytes of records since the last one: `metadata.log.max.record.bytes.between.snapshots` | 20 MiB |
| so much time, and anything since: `metadata.log.max.snapshot.interval.ms`, 0 for never | 1 hour |

A no-op record is something, so that the log of an idle cluster does not grow for ever: 7,200 of them an hour.
Source: SnapshotGenerator.
"""

from __future__ import annotations

from collections.abc import Iterable

from broker_core.raft.listeners import CommittedBatch


class SnapshotSchedule:
    """`max_bytes` and `max_ms` as above; times in milliseconds of the process."""

    def __init__(self, max_bytes: int, max_ms: int, now_ms: int) -> None:
        self.max_bytes = max_bytes
        self.max_ms = max_ms
        self.begin(now_ms)

    def begin(self, now_ms: int) -> None:
        """A snapshot has been written or read."""
        self._bytes = 0
        self._since_ms = now_ms

    def count(self, batches: Iterable[CommittedBatch]) -> None:
        """These are committed."""
        self._bytes += sum(batch.size for batch in batches)

    def is_due(self, now_ms: int) -> bool:
        by_time = bool(self.max_ms) and now_ms - self._since_ms >= self.max_ms
        return self._bytes >= self.max_bytes or (by_time and self._bytes > 0)
