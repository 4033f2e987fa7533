"""Where the latest batches of a segment lie: the answer to nearly every fetch, without index or file.

A follower in sync and a consumer at the end ask for what was appended a moment ago. The tail
remembers the last batches as (base offset, last offset, position, size). Each entry touches
the next, so a range of bytes is two lookups.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

KEPT = 128


class Tail:
    """Parallel lists, oldest first; last offsets and ends go up. At most 2 x KEPT entries."""

    __slots__ = ("last_offsets", "positions", "ends")

    def __init__(self) -> None:
        self.last_offsets: list[int] = []
        self.positions: list[int] = []
        self.ends: list[int] = []

    def add(self, last_offset: int, position: int, end: int) -> None:
        ends = self.ends
        self.last_offsets.append(last_offset)
        self.positions.append(position)
        ends.append(end)
        if len(ends) > 2 * KEPT:
            del self.last_offsets[:KEPT], self.positions[:KEPT], self.ends[:KEPT]

    def batch_of(self, offset: int) -> int | None:
        """Index of the batch that holds `offset`: one whose predecessor is remembered, too (or it begins the file)."""
        slot = bisect_left(self.last_offsets, offset)
        if slot == len(self.ends) or (slot == 0 and self.positions[0] != 0):
            return None
        return slot

    def range_from(self, slot: int, max_bytes: int, max_offset: int, min_one: bool) -> tuple[int, int, int] | None:
        """(position, size, next offset) of whole batches from `slot`, below `max_offset`."""
        start = self.positions[slot]
        stop = bisect_left(self.last_offsets, max_offset, slot)
        fitting = bisect_right(self.ends, start + max_bytes, slot, stop)
        if fitting == slot:
            if not min_one or stop == slot:
                return None
            fitting = slot + 1
        return start, self.ends[fitting - 1] - start, self.last_offsets[fitting - 1] + 1

    def clear(self) -> None:
        self.last_offsets.clear()
        self.positions.clear()
        self.ends.clear()
