"""Purgatory: where a request waits until it can be answered, or its time is over.

A *delayed operation* is parked under the keys that it watches. Whoever changes something that a key
stands for says `check_and_complete(key)`, and the operations under that key look again:

| operation     | watches                     | complete when                                  | when it expires       |
|---------------|-----------------------------|------------------------------------------------|-----------------------|
| Produce       | its partitions              | high watermark past the batch on each of them  | REQUEST_TIMED_OUT     |
| Fetch         | its session, or partitions  | min.bytes can be read, or something is wrong   | what there is by then |
| DeleteRecords | its partitions              | low watermark of all replicas past the offset  | REQUEST_TIMED_OUT     |

Differences from Kafka's DelayedOperationPurgatory. There, several threads race for an operation, so
it is tried a second time after it was parked, and completed operations stay in the watcher lists
until `purge.interval.requests` of them have gathered. Here one thread runs, so a completed operation
leaves every list at once. And `check_soon` gathers: a thousand appends of one instant make a parked
fetch look once.

Invariants
    * an operation completes exactly once: by whoever is first of a check, the timer, `force_complete`
    * `on_expiration` runs after `on_complete`, and only when it was the timer
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.purgatory.timing_wheel import TimerTask, WheelTimer


class DelayedOperation(TimerTask):
    """One waiting request. Subclasses say when it is complete and what happens then."""

    __slots__ = ("completed", "keys", "purgatory", "parked_us")

    def __init__(self) -> None:
        self.expiration_ms = 0
        self.bucket = None
        self.completed = False
        self.keys: Sequence[Hashable] = ()
        self.purgatory: DelayedOperationPurgatory | None = None
        self.parked_us = 0

    def try_complete(self) -> bool:
        """Look whether it can be completed; if so `force_complete`."""
        raise NotImplementedError

    def waits_for(self, key: Hashable) -> bool:
        """After a try that failed: whether this key is (one of) the reason(s). See `in_order`."""
        return True

    def on_complete(self) -> None:
        """Answer the request."""
        raise NotImplementedError

    def on_expiration(self) -> None:
        """It was the timer that completed it."""

    def force_complete(self) -> bool:
        """Complete it now; False when it was complete already."""
        if self.completed:
            return False
        self.completed = True
        if self.purgatory is not None:
            self.purgatory.leave(self)
        self.on_complete()
        return True

    def expire(self) -> None:
        """The timer's verb."""
        if self.force_complete():
            if self.purgatory is not None:
                self.purgatory.report_expired(self)
            self.on_expiration()


class DelayedOperationPurgatory:
    """Operations of one kind in one broker, by the keys that they watch (`watchers`, never an empty one).

    `in_order`: operations under one key can only complete in the order in which they were parked (an
    append waits for its offset), so a check stops at the first one that still waits for this key.
    """

    __slots__ = ("node", "name", "timer", "in_order", "watchers", "_due")

    def __init__(self, node: Node, name: str, in_order: bool = False) -> None:
        self.node = node
        self.name = name
        self.timer = WheelTimer(node)
        self.in_order = in_order
        self.watchers: dict[Hashable, dict[DelayedOperation, None]] = {}
        self._due: dict[Hashable, None] = {}

    @property
    def delayed(self) -> int:
        """Operations that wait (Kafka's metric PurgatorySize is `watched`)."""
        return self.timer.size

    @property
    def watched(self) -> int:
        """Operations over all watcher lists; one that watches three keys counts three times."""
        return sum(map(len, self.watchers.values()))

    def try_complete_else_watch(
        self, operation: DelayedOperation, keys: Sequence[Hashable], timeout_ms: int
    ) -> bool:
        """Complete the operation now, or park it under the keys for at most `timeout_ms`."""
        if operation.try_complete():
            return True
        self.watch(operation, keys, timeout_ms)
        return False

    def watch(self, operation: DelayedOperation, keys: Sequence[Hashable], timeout_ms: int) -> None:
        """Park an operation that is known not to be complete. The keys are kept: hand them over."""
        node, everyone = self.node, self.watchers
        operation.purgatory = self
        operation.keys = keys
        operation.parked_us = node.world.now_us
        for key in keys:
            if key in everyone:
                everyone[key][operation] = None
            else:
                everyone[key] = {operation: None}
        self.timer.add(operation, timeout_ms)
        if node.details:
            node.emit(
                events.PURGATORY_PARKED, operation=self.name, keys=_names(operation), timeout_ms=timeout_ms
            )

    def check_and_complete(self, key: Hashable) -> int:
        """Something happened to `key`: try the operations that watch it; how many are complete now."""
        watchers = self.watchers.get(key)
        if watchers is None:
            return 0
        complete = 0
        for operation in [*watchers]:
            if operation.completed:
                continue
            if operation.try_complete():
                complete += 1
                if self.node.details:
                    self._report(events.PURGATORY_COMPLETED, operation)
            elif self.in_order and operation.waits_for(key):
                break
        return complete

    def check_soon(self, key: Hashable) -> None:
        """As `check_and_complete`, once for all calls of this instant."""
        if key in self.watchers:
            due = self._due
            if not due:
                self.node.soon(self._check_due)
            due[key] = None

    def _check_due(self) -> None:
        due, self._due = self._due, {}
        for key in due:
            self.check_and_complete(key)

    def leave(self, operation: DelayedOperation) -> None:
        """A completed operation leaves the timer and every watcher list."""
        if operation.bucket is not None:
            self.timer.cancel(operation)
        everyone = self.watchers
        for key in operation.keys:
            watchers = everyone.get(key)
            if watchers is None or operation not in watchers:
                continue  # it was named twice
            if len(watchers) == 1:
                del everyone[key]
            else:
                del watchers[operation]

    def report_expired(self, operation: DelayedOperation) -> None:
        """The journal's line about an operation whose time was over."""
        if self.node.details:
            self._report(events.PURGATORY_EXPIRED, operation)

    def _report(self, code: events.EventCode, operation: DelayedOperation) -> None:
        waited_us = self.node.now_us() - operation.parked_us
        self.node.emit(code, operation=self.name, keys=_names(operation), waited_us=waited_us)


def _names(operation: DelayedOperation) -> list[str]:
    return [str(key) for key in operation.keys]
