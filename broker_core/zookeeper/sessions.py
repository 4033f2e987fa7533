"""When a session expires: deadlines in buckets, as ZooKeeper's `ExpiryQueue` keeps them.

Every sign of life moves the deadline to `now + timeout`, rounded up to the next tick border
(always up, even from a border). Sessions with the same deadline share a bucket; a bucket is
looked at when its time has come.

| tick 2000 ms, timeout 18000 ms | deadline |
|---|---|
| last ping at 5,000 | (5,000 + 18,000) -> 24,000 |
| last ping at 6,000 | (6,000 + 18,000) -> 26,000: the border itself is not enough |

So a dead client is noticed `timeout` to `timeout + tick` after its last sign of life, and that lies
up to one ping interval before its death. The timeout asked for is moved into 2 to 20 ticks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from broker_core.kernel.node import Node, Timer


@dataclass(slots=True)
class SessionLimits:
    """tickTime [2000 ms]; minSessionTimeout and maxSessionTimeout default to 2 and 20 ticks."""

    tick_ms: int = 2000
    min_timeout_ms: int = -1
    max_timeout_ms: int = -1

    def negotiate(self, asked_ms: int) -> int:
        low = self.min_timeout_ms if self.min_timeout_ms != -1 else 2 * self.tick_ms
        high = self.max_timeout_ms if self.max_timeout_ms != -1 else 20 * self.tick_ms
        return max(low, min(asked_ms, high))


class ExpiryQueue:
    """Sessions by deadline. Every session stands in exactly one bucket, at a multiple of the tick."""

    def __init__(self, tick_ms: int) -> None:
        self.tick_ms = tick_ms
        self._deadline: dict[int, int] = {}
        self._buckets: dict[int, dict[int, None]] = {}

    def __contains__(self, session: int) -> bool:
        return session in self._deadline

    def round_up(self, time_ms: int) -> int:
        """The next tick border after `time_ms`."""
        return (time_ms // self.tick_ms + 1) * self.tick_ms

    def touch(self, session: int, now_ms: int, timeout_ms: int) -> None:
        """A sign of life (or a new session)."""
        deadline = self.round_up(now_ms + timeout_ms)
        if self._deadline.get(session) == deadline:
            return
        self.remove(session)
        self._deadline[session] = deadline
        self._buckets.setdefault(deadline, {})[session] = None

    def remove(self, session: int) -> None:
        deadline = self._deadline.pop(session, None)
        if deadline is None:
            return
        bucket = self._buckets[deadline]
        del bucket[session]
        if not bucket:
            del self._buckets[deadline]

    def next_deadline(self) -> int | None:
        return min(self._buckets, default=None)

    def expire(self, now_ms: int) -> list[int]:
        """Sessions whose bucket is due, taken off the queue."""
        due = [
            session for deadline in sorted(self._buckets) if deadline <= now_ms for session in self._buckets[deadline]
        ]
        for session in due:
            self.remove(session)
        return due


class ExpiryClock:
    """Wakes the server when the first bucket of its queue is due: `end(session)` for each session in it."""

    def __init__(self, node: Node, queue: ExpiryQueue, end: Callable[[int], None]) -> None:
        self.node = node
        self.queue = queue
        self._end = end
        self._timer: Timer | None = None

    def arm(self) -> None:
        """There may be a first bucket now. A timer that runs stays: a later deadline is looked at when it rings."""
        deadline_ms = self.queue.next_deadline()
        if deadline_ms is not None and (self._timer is None or not self._timer.active):
            self._timer = self.node.after(max(0, deadline_ms * 1000 - self.node.now_us()), self._ring)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        self._timer = None
        for session in self.queue.expire(self.node.now_us() // 1000):
            self._end(session)
        self.arm()
