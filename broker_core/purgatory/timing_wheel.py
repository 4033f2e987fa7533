"""A hierarchical timing wheel: many timeouts, nearly all of them cancelled, each O(1).

A wheel of 20 buckets of 1 ms holds what is due within 20 ms. What is due later goes to an overflow
wheel whose tick is the whole interval of the one below:

| level | tick   | interval | a task due in 123 ms, clock at 0              |
|-------|--------|----------|-----------------------------------------------|
| 1     | 1 ms   | 20 ms    | 3. waits here for 123, then runs              |
| 2     | 20 ms  | 400 ms   | 1. lands in bucket [120, 140)                 |
| 3     | 400 ms | 8 s      |                                               |
| 4     | 8 s    | 160 s    |                                               |

2. At 120 the bucket is emptied downwards: 123 - 120 < 20, so the task fits the first wheel.

Kafka turns its wheel with a DelayQueue of buckets and a thread that sleeps until the earliest one is
due (Kafka: org.apache.kafka.server.util.timer.TimingWheel, SystemTimer; Varghese and Lauck, "Hashed
and Hierarchical Timing Wheels", 1987). Here the queue is a heap and the sleep is one timer of the
node, armed for the earliest bucket only while there is one: an idle broker does not tick.

A task never runs early: its expiration is the next whole millisecond after its delay is over.
"""

from __future__ import annotations

import heapq

from broker_core.kernel.node import Node
from broker_core.kernel.node import Timer as NodeTimer

TICK_MS = 1
WHEEL_SIZE = 20


class TimerTask:
    """Something with a deadline. `expiration_ms` is in whole milliseconds of virtual time."""

    __slots__ = ("expiration_ms", "bucket")

    def __init__(self) -> None:
        self.expiration_ms = 0
        self.bucket: Bucket | None = None

    def expire(self) -> None:
        """The deadline has passed."""
        raise NotImplementedError


class Bucket:
    """The tasks of one tick of one wheel, in order of arrival; -1 = it is not queued."""

    __slots__ = ("tasks", "expiration_ms", "tick_ms")

    def __init__(self, tick_ms: int = TICK_MS) -> None:
        self.tasks: dict[TimerTask, None] = {}
        self.expiration_ms = -1
        self.tick_ms = tick_ms


class _BucketQueue:
    """Buckets that hold something, by expiration (Kafka's DelayQueue)."""

    __slots__ = ("heap", "_count")

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, Bucket]] = []
        self._count = 0

    def push(self, bucket: Bucket) -> None:
        self._count += 1
        heapq.heappush(self.heap, (bucket.expiration_ms, self._count, bucket))


class TimingWheel:
    """One level.

    Invariants
        * `clock_ms` is a multiple of `tick_ms` and never goes back
        * a task in bucket b has expiration // tick_ms == b's number, and less than clock + interval
    """

    __slots__ = ("tick_ms", "size", "interval_ms", "clock_ms", "buckets", "queue", "overflow")

    def __init__(self, tick_ms: int, size: int, start_ms: int, queue: _BucketQueue) -> None:
        self.tick_ms = tick_ms
        self.size = size
        self.interval_ms = tick_ms * size
        self.clock_ms = start_ms - start_ms % tick_ms
        self.buckets = [Bucket(tick_ms) for _ in range(size)]
        self.queue = queue
        self.overflow: TimingWheel | None = None

    def add(self, task: TimerTask) -> bool:
        """Put the task into its bucket; False when it has expired already."""
        expiration = task.expiration_ms
        if expiration < self.clock_ms + self.tick_ms:
            return False
        wheel = self
        while expiration >= wheel.clock_ms + wheel.interval_ms:
            wheel = wheel.overflow or wheel._add_overflow()
        number = expiration // wheel.tick_ms
        bucket = wheel.buckets[number % wheel.size]
        bucket.tasks[task] = None
        task.bucket = bucket
        due = number * wheel.tick_ms
        if bucket.expiration_ms != due:
            bucket.expiration_ms = due
            self.queue.push(bucket)
        return True

    def _add_overflow(self) -> TimingWheel:
        self.overflow = TimingWheel(self.interval_ms, self.size, self.clock_ms, self.queue)
        return self.overflow

    def advance(self, now_ms: int) -> None:
        """Move the clocks of this wheel and those above; buckets are not looked at."""
        wheel: TimingWheel | None = self
        while wheel is not None and now_ms >= wheel.clock_ms + wheel.tick_ms:
            wheel.clock_ms = now_ms - now_ms % wheel.tick_ms
            wheel = wheel.overflow


class WheelTimer:
    """A wheel that is turned by its node (Kafka's SystemTimer)."""

    __slots__ = ("node", "size", "_wheel", "_queue", "_armed", "_armed_ms", "_latest")

    def __init__(self, node: Node, tick_ms: int = TICK_MS, wheel_size: int = WHEEL_SIZE) -> None:
        self.node = node
        self.size = 0
        self._queue = _BucketQueue()
        self._wheel = TimingWheel(tick_ms, wheel_size, node.now_us() // 1000, self._queue)
        self._armed: NodeTimer | None = None
        self._armed_ms = 0
        self._latest = Bucket()

    def add(self, task: TimerTask, delay_ms: int) -> None:
        """Have `task.expire()` called after `delay_ms`, unless it is cancelled before."""
        now_us = self.node.world.now_us
        task.expiration_ms = expiration = (now_us + 999) // 1000 + delay_ms
        self.size += 1
        latest = self._latest
        if 0 <= expiration - latest.expiration_ms < latest.tick_ms and delay_ms > 0:
            latest.tasks[task] = None  # equal timeouts, one after the other, end up in the same bucket
            task.bucket = latest
            return
        self._catch_up(now_us // 1000)
        if delay_ms <= 0 or not self._wheel.add(task):
            self._run_soon(task)
            return
        if task.bucket is not None:
            self._latest = task.bucket
        self._arm_for_next()

    def cancel(self, task: TimerTask) -> None:
        """Take a task off the wheel; its bucket stays queued, empty."""
        bucket = task.bucket
        if bucket is not None:
            del bucket.tasks[task]
            task.bucket = None
            self.size -= 1

    def _catch_up(self, now_ms: int) -> None:
        """Nobody turns an empty wheel: bring its clock to now, but never past a bucket that is due."""
        heap = self._queue.heap
        self._wheel.advance(heap[0][0] if heap and heap[0][0] < now_ms else now_ms)

    def _run_soon(self, task: TimerTask) -> None:
        """No delay at all: a bucket of its own that is due in this instant."""
        bucket = task.bucket = Bucket()
        bucket.tasks[task] = None
        self.node.soon(self._expire, bucket)

    def _arm_for_next(self) -> None:
        """A bucket that is due earlier than what was armed for, if anything was."""
        heap = self._queue.heap
        if not heap or (self._armed is not None and heap[0][0] >= self._armed_ms):
            return
        if self._armed is not None:
            self._armed.cancel()
        self._armed_ms = due_ms = heap[0][0]
        self._armed = self.node.after(due_ms * 1000 - self.node.now_us(), self._turn)

    def _turn(self) -> None:
        """Empty every bucket that is due: what has expired runs, the rest falls to a lower wheel."""
        self._armed = None
        now_ms = self.node.now_us() // 1000
        heap = self._queue.heap
        expired = Bucket()
        while heap and heap[0][0] <= now_ms:
            bucket = heapq.heappop(heap)[2]
            self._wheel.advance(bucket.expiration_ms)
            bucket.expiration_ms = -1
            self._empty(bucket, expired)
        self._wheel.advance(now_ms)
        self._expire(expired)
        self._arm_for_next()

    def _empty(self, bucket: Bucket, expired: Bucket) -> None:
        tasks, bucket.tasks = bucket.tasks, {}
        for task in tasks:
            if not self._wheel.add(task):
                expired.tasks[task] = None
                task.bucket = expired

    def _expire(self, expired: Bucket) -> None:
        """Run them in order; one may cancel another that stands behind it."""
        for task in list(expired.tasks):
            if task.bucket is expired:
                self.cancel(task)
                task.expire()
