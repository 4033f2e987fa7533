"""`.index`: from an offset to a place in the `.log` file, sparsely.

One entry of 8 bytes about every `index.interval.bytes` [4096] of log: the offset relative to the
segment's base (int32) and the byte position of the batch that ends with it (int32).

| base offset 50 | entry | bytes |
|---|---|---|
| batch ending with offset 55 at byte 4200 | 5, 4200 | `00 00 00 05 00 00 10 68` |

A lookup takes the largest entry not above the wanted offset by binary search; from its position
the log is scanned, at most one interval. Relative offsets are why a segment spans at most 2^31-1
offsets. The file is only ever appended to or cut; a copy of its numbers is kept in memory once
somebody has looked something up (Kafka maps the file instead).
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from struct import Struct

from broker_core.kernel.storage import File
from broker_core.log.errors import CorruptIndex

ENTRY = Struct(">II")
ENTRY_SIZE = 8


class OffsetIndex:
    """The entries of one segment, read when they are first needed.

    Invariants
        - offsets go strictly up, positions go up
        - memory equals file once loaded
    """

    __slots__ = ("base_offset", "file", "full_bytes", "_offsets", "_positions")

    def __init__(self, file: File, base_offset: int, max_bytes: int) -> None:
        self.file = file
        self.base_offset = base_offset
        self.full_bytes = max_bytes // ENTRY_SIZE * ENTRY_SIZE
        self._offsets: array[int] | None = None
        self._positions: array[int] = array("I")

    def __len__(self) -> int:
        return self.file.size // ENTRY_SIZE

    @property
    def is_full(self) -> bool:
        return self.file.size >= self.full_bytes

    def append(self, offset: int, position: int) -> None:
        """Note that the batch ending with `offset` begins at `position`."""
        offsets = self._load()
        relative = offset - self.base_offset
        if offsets and relative <= offsets[-1]:
            raise CorruptIndex(f"offset {offset} is not above the last entry {self.base_offset + offsets[-1]}")
        self.file.append((ENTRY.pack(relative, position),))
        offsets.append(relative)
        self._positions.append(position)

    def lookup(self, offset: int) -> tuple[int, int]:
        """(offset, position) of the last entry not above `offset`; (base offset, 0) when there is none."""
        offsets = self._load()
        slot = bisect_right(offsets, offset - self.base_offset) - 1 if offset >= self.base_offset else -1
        if slot < 0:
            return self.base_offset, 0
        return self.base_offset + offsets[slot], self._positions[slot]

    def last_position_up_to(self, limit: int) -> int:
        """Largest indexed position that is not above `limit` (0 when none)."""
        self._load()
        slot = bisect_right(self._positions, limit) - 1
        return self._positions[slot] if slot >= 0 else 0

    def first_offset_from(self, position: int) -> int | None:
        """Offset of the first entry at or behind `position`; None: there is none."""
        offsets = self._load()
        slot = bisect_left(self._positions, position)
        return self.base_offset + offsets[slot] if slot < len(offsets) else None

    def position_before(self, offset: int, entries: int) -> int:
        """Position of the entry that lies `entries` in front of the last one below `offset`; 0 when there is none.

        Between it and `offset` there are at least as many batches.
        """
        slot = bisect_left(self._load(), max(offset - self.base_offset, 0)) - 1 - entries
        return self._positions[slot] if slot >= 0 else 0

    def last_entry(self) -> tuple[int, int]:
        """(offset, position) of the last entry; (base offset, 0) when empty."""
        if self._offsets is None:  # a start asks every segment for it: not worth the whole file
            size = self.file.size // ENTRY_SIZE * ENTRY_SIZE
            relative, at = ENTRY.unpack(self.file.read(size - ENTRY_SIZE, ENTRY_SIZE)) if size else (0, 0)
            return self.base_offset + relative, at
        offsets = self._offsets
        return (self.base_offset + offsets[-1], self._positions[-1]) if offsets else (self.base_offset, 0)

    def entries(self) -> list[tuple[int, int]]:
        """Every (offset, position)."""
        return [(self.base_offset + offset, at) for offset, at in zip(self._load(), self._positions, strict=True)]

    def truncate_to(self, offset: int) -> None:
        """Drop entries at or above `offset`."""
        offsets = self._load()
        keep = bisect_left(offsets, offset - self.base_offset) if offset > self.base_offset else 0
        if keep < len(offsets):
            del offsets[keep:], self._positions[keep:]
            self.file.truncate(keep * ENTRY_SIZE)

    def reset(self) -> None:
        """Empty the index, to rebuild it."""
        self.file.truncate(0)
        self.file.damaged = False
        self._offsets, self._positions = array("I"), array("I")

    def sanity_check(self) -> None:
        """Raise CorruptIndex when the file cannot be right (Kafka's test: whole entries, last above base)."""
        if self.file.size % ENTRY_SIZE:
            raise CorruptIndex(f"{self.file.path}: size {self.file.size} is not a multiple of {ENTRY_SIZE}")
        if self.file.size:
            relative, _ = ENTRY.unpack(self.file.read(self.file.size - ENTRY_SIZE, ENTRY_SIZE))
            if not 0 < relative <= 0x7FFFFFFF:
                raise CorruptIndex(f"{self.file.path}: last offset is not above the base offset {self.base_offset}")

    def _load(self) -> array[int]:
        if self._offsets is None:
            numbers = array("I", bytes(self.file.read(0, len(self) * ENTRY_SIZE)))
            if sys.byteorder == "little":
                numbers.byteswap()
            self._offsets, self._positions = numbers[0::2], numbers[1::2]
        return self._offsets
