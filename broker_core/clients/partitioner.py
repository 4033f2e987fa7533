"""Which partition a record goes to.

With a key: `murmur2(key) & 0x7fffffff` modulo the number of partitions, so that records of one key
stay in one partition, and in order, until partitions are added. The hash is that of the Java client
bit by bit; a producer in another language that hashes otherwise spreads the same keys otherwise.

| key (UTF-8) | murmur2 | of 7 partitions |
|---|---|---|
| `21` | -973932308 | 3 |
| `foobar` | -790332482 | 0 |

Without a key: *sticky* (KIP-480, KIP-794). The producer stays with one partition until it has given it
`batch.size` bytes, then draws the next one; a partition whose queue of waiting batches is long is
drawn less often. So batches get full even when records are few. Before Kafka 2.4 each record went to
the next partition in turn: the round robin that the old preset has.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from random import Random

_MASK = 0xFFFFFFFF
_M = 0x5BD1E995
_SEED = 0x9747B28C

ROUND_ROBIN = "org.apache.kafka.clients.producer.RoundRobinPartitioner"


def murmur2(data: bytes) -> int:
    """`org.apache.kafka.common.utils.Utils.murmur2`: a signed 32-bit hash."""
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = h * _M & _MASK ^ k
    if whole < length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    h ^= h >> 15
    return h - 0x100000000 if h & 0x80000000 else h


@lru_cache(maxsize=65536)
def positive_hash(key: bytes) -> int:
    """`Utils.toPositive(murmur2(key))`: the sign bit is cleared, not the sign changed."""
    return murmur2(key) & 0x7FFFFFFF


def partition_of_key(key: bytes, partitions: int) -> int:
    """The partition of a record with this key in a topic of `partitions` partitions."""
    return positive_hash(key) % partitions


class RoundRobin:
    """Each record without a key to the next partition that has a leader (from a random start)."""

    def __init__(self, random: Random) -> None:
        self._next = random.randrange(1 << 31)
        self.produced, self.sticky_bytes = 0, 1 << 62  # it never stays with a partition until that has enough

    def partition(self, partitions: int, available: Sequence[int]) -> int:
        turn = self._next & 0x7FFFFFFF
        self._next = turn + 1
        return available[turn % len(available)] if available else turn % partitions

    def appended(self, size: int, partitions: int, available: Sequence[int], may_switch: bool) -> None:
        """Nothing to remember: the next record goes elsewhere anyway."""

    def load(self, available: Sequence[int], waiting: Sequence[tuple[int, int]]) -> None:
        """Queues do not matter."""


class Sticky:
    """`BuiltInPartitioner` (KIP-794): one partition for `sticky_bytes`, then another.

    Worked example of the weights. Three partitions with 0, 3 and 1 batches in their queues: inverted by
    max + 1 = 4 they weigh 4, 1 and 3, summed up 4, 5, 8. A random number in 0..7 then falls on
    partition 0 with 4/8, on 1 with 1/8, on 2 with 3/8. Nearly all queues are empty nearly always, so the
    sums are never written down: only the queues that hold something are walked over.

    Invariants
        - `0 <= produced < 2 * sticky_bytes` between calls
    """

    def __init__(self, random: Random, sticky_bytes: int) -> None:
        self.random = random
        self.sticky_bytes = max(1, sticky_bytes)
        self.current = -1
        self.produced = 0
        self._available: Sequence[int] = ()
        self._waiting: list[tuple[int, int]] = []

    def partition(self, partitions: int, available: Sequence[int]) -> int:
        """The partition that records without a key go to at present."""
        if self.current < 0 or self.current >= partitions:
            self.current = self._draw(partitions, available)
        return self.current

    def appended(self, size: int, partitions: int, available: Sequence[int], may_switch: bool) -> None:
        """Count what was given to the partition; change it when it is enough.

        may_switch: False while the batch under way is not full, lest batches be cut in pieces;
        at twice the sticky size the partition changes all the same.
        """
        self.produced += size
        if self.produced >= self.sticky_bytes * (1 if may_switch else 2):
            self.current = self._draw(partitions, available)
            self.produced = 0

    def load(self, available: Sequence[int], waiting: Sequence[tuple[int, int]]) -> None:
        """`waiting`: (partition, batches in its queue) where there are any, by partition."""
        self._available = available
        self._waiting = []
        for partition, batches in waiting:
            place = bisect_left(available, partition)
            if place < len(available) and available[place] == partition:
                self._waiting.append((place, batches))

    def _draw(self, partitions: int, available: Sequence[int]) -> int:
        draw = self.random.getrandbits(32)
        while draw >= 1 << 31:  # what `randrange(1 << 31)` does, in three calls
            draw = self.random.getrandbits(32)
        if self._waiting:
            return self._available[self._weighted(draw)]
        return available[draw % len(available)] if available else draw % partitions

    def _weighted(self, draw: int) -> int:
        """The place on whose share of all weights `draw` falls."""
        waiting = self._waiting
        ceiling, total = 1, 0
        for _, batches in waiting:
            total += batches
            if batches >= ceiling:
                ceiling = batches + 1
        draw %= len(self._available) * ceiling - total
        missing = 0  # by how much the weights of the places before are less than `ceiling` each
        for place, batches in waiting:
            start = place * ceiling - missing
            if draw < start:
                break
            if draw < start + ceiling - batches:
                return place
            missing += batches
        return (draw + missing) // ceiling
