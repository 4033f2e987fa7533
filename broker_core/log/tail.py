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

    def find(self, offset: int, max_bytes: int, max_offset: int, min_one: bool) -> tuple[int, int, int] | None:
        """(position, size, next offset) of whole batches from the one that holds `offset`, below `max_offset`.

        None: that batch is not remembered together with its predecessor (unless it begins the file). Size 0:
        it is not to be had with these limits.
        """
        last_offsets, ends = self.last_offsets, self.ends
        slot = bisect_left(last_offsets, offset)
        if slot == len(ends) or (slot == 0 and self.positions[0] != 0):
            return None
        start = self.positions[slot]
        stop = bisect_left(last_offsets, max_offset, slot)
        fitting = bisect_right(ends, start + max_bytes, slot, stop)
        if fitting == slot:
            if not min_one or stop == slot:
                return start, 0, offset
            fitting = slot + 1
        return start, ends[fitting - 1] - start, last_offsets[fitting - 1] + 1

    def clear(self) -> None:
        self.last_offsets.clear()
        self.positions.clear()
        self.ends.clear()
