"""Many new replicas that the controller gives to a broker at once are made in slices of the world's time.

    LeaderAndIsr, or a delta of the metadata log, with 1,000 new replicas
      -> 32 are made   --100 ms-->   the next 32   --...-->   all are: the controller is answered

A new replica is a directory with five files or six, for which a real disk takes a millisecond. In Kafka a thread of the
broker makes one after the other, while other threads serve what is there; here nobody else in the world would have a
turn before the last one is made. Until its own turn has come a replica is one of which this broker has not heard
(`ReplicaManager.missing`), as in Kafka.

What the controller says next waits in line (Kafka: replicaStateChangeLock, or the one thread of the metadata loader):

| news | while nothing is under way | else |
|---|---|---|
| replicas to stop; to lead or follow, up to `FEW` of them new | now, at one go | in line |
| more new ones | the first slice now | in line |
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from broker_core.kernel.node import Node, Timer
from broker_core.metadata.delta import ReplicaChange
from broker_core.replication.leadership import Leadership
from broker_core.wire.errors import ErrorCode

FEW = 512
SLICE, MOST_SLICES, SLICE_US = 32, 100, 100_000
"""New replicas of a slice, more where there would be too many slices: a controller waits 30 s for an answer."""

TakenOver = Callable[..., Any]


@dataclass(slots=True)
class _UnderWay:
    """News of which `len(errors)` changes have been taken over; `size`: new replicas of a slice."""

    changes: Sequence[ReplicaChange]
    fence: bool
    done: TakenOver
    context: tuple[Any, ...]
    size: int
    errors: list[ErrorCode] = field(default_factory=list)


class TakingOver:
    """Of one broker. `known`: topic and partition of the replicas that are here.

    Invariants
        - news are taken over in the order in which they have come, each whole before the next
        - something waits in line only while a slice is to come
    """

    def __init__(self, node: Node, leadership: Leadership, known: Collection[tuple[str, int]]) -> None:
        self.node = node
        self.leadership = leadership
        self.known = known
        self._under_way: _UnderWay | None = None
        self._next: Timer | None = None
        self._line: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()

    def in_turn(self, method: Callable[..., Any], *args: Any) -> None:
        """Call it when all that has come before is taken over; mostly that is now."""
        if self._under_way is None and not self._line:
            method(*args)
        else:
            self._line.append((method, args))

    def apply(self, changes: Sequence[ReplicaChange], fence: bool, done: TakenOver, *context: Any) -> None:
        """Lead or follow; then `done(*context, what became of each change)`. Called in its turn."""
        new = sum(self._is_new(change) for change in changes)
        if new <= FEW:
            done(*context, self.leadership.apply(changes, fence))
            return
        self._under_way = _UnderWay(changes, fence, done, context, max(SLICE, -(-new // MOST_SLICES)))
        self._slice(self._under_way)

    def close(self) -> None:
        """The broker stops: what has not been taken over stays as it is."""
        self._line.clear()
        if self._next is not None:
            self._next.cancel()

    def _slice(self, now: _UnderWay) -> None:
        begin = len(now.errors)
        now.errors += self.leadership.apply(now.changes[begin : self._end_of_slice(now, begin)], now.fence)
        if len(now.errors) < len(now.changes):
            self._next = self.node.after(SLICE_US, self._slice, now)
            return
        self._under_way = self._next = None
        now.done(*now.context, now.errors)
        while self._line and self._under_way is None:
            method, args = self._line.popleft()
            method(*args)

    def _end_of_slice(self, now: _UnderWay, begin: int) -> int:
        """What is there already costs little."""
        new, end = 0, begin
        while end < len(now.changes) and (new < now.size or not self._is_new(now.changes[end])):
            new += self._is_new(now.changes[end])
            end += 1
        return end

    def _is_new(self, change: ReplicaChange) -> bool:
        return (change.topic, change.partition) not in self.known
