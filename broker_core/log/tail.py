"""Where the latest batches of a segment lie: the answer to nearly every fetch, without index or file.

A follower in sync and a consumer at the end ask for what was appended a moment ago. The tail
remembers the last batches as (last offset, end). Each entry touches the next, so a range of bytes
is two lookups.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

KEPT = 128
LONGEST = 2 * KEPT


class Tail:
    """Parallel lists, oldest first, filled by the segment, which knows both numbers of a batch that it wrote.

    * `start` is where the first of them begins; each other one begins where the one before ends

    Invariants
        * last offsets and ends go up, the first end is behind `start`
        * at most `LONGEST` entries
    """

    __slots__ = ("last_offsets", "ends", "start")

    def __init__(self, start: int = 0) -> None:
        self.last_offsets: list[int] = []
        self.ends: list[int] = []
        self.start = start

    def shorten(self) -> None:
        """Forget the older half."""
        self.start = self.ends[KEPT - 1]
        del self.last_offsets[:KEPT], self.ends[:KEPT]

    def find(self, offset: int, max_bytes: int, max_offset: int, min_one: bool) -> tuple[int, int, int] | None:
        """(position, size, next offset) of whole batches from the one that holds `offset`, below `max_offset`.

        None: that batch is not remembered together with its predecessor (unless it begins the file). Size 0:
        it is not to be had with these limits.
        """
        last_offsets, ends = self.last_offsets, self.ends
        slot = bisect_left(last_offsets, offset)
        if slot == len(ends):
            return None
        if slot:
            start = ends[slot - 1]
        elif self.start == 0:
            start = 0
        else:
            return None
        stop = bisect_left(last_offsets, max_offset, slot)
        fitting = bisect_right(ends, start + max_bytes, slot, stop)
        if fitting == slot:
            if not min_one or stop == slot:
                return start, 0, offset
            fitting = slot + 1
        return start, ends[fitting - 1] - start, last_offsets[fitting - 1] + 1

    def clear(self, start: int) -> None:
        """Nothing is remembered; the next batch begins at `start`."""
        self.last_offsets.clear()
        self.ends.clear()
        self.start = start
