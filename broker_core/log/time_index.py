"""`.timeindex`: from a timestamp to an offset, sparsely (KIP-33).

One entry of 12 bytes whenever the offset index gets one: the largest timestamp so far (int64,
milliseconds) and, relative to the base, the last offset of the batch that has it (int32).
The entry (T, o) says: no record up to here is later than T.

| segment 50, latest batch so far 1700000000000, ends with 55 | `00 00 01 8b cf e5 68 00` `00 00 00 05` |
|---|---|

"The first record at or after 09:00" is found from the last entry not above 09:00: everything in
front of its offset is older. When a segment ends, one more entry is written with its true maximum;
retention by time judges a segment by that number.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from struct import Struct

from broker_core.kernel.storage import File
from broker_core.log.errors import CorruptIndex

ENTRY = Struct(">qi")
ENTRY_SIZE = 12


class TimeIndex:
    """The entries of one segment, read when they are first needed.

    Invariants
        - timestamps go strictly up, offsets go up
    """

    __slots__ = ("base_offset", "file", "full_bytes", "_offsets", "_stamps")

    def __init__(self, file: File, base_offset: int, max_bytes: int) -> None:
        self.file = file
        self.base_offset = base_offset
        self.full_bytes = (max_bytes // ENTRY_SIZE - 1) * ENTRY_SIZE
        self._stamps: array[int] | None = None
        self._offsets: array[int] = array("i")

    def __len__(self) -> int:
        return self.file.size // ENTRY_SIZE

    @property
    def is_full(self) -> bool:
        """One entry stays free for the segment's end."""
        return self.file.size >= self.full_bytes

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add (timestamp, offset) unless the last entry is as late already."""
        stamps, relative = self._load(), offset - self.base_offset
        if timestamp < 0 or (stamps and (timestamp <= stamps[-1] or relative < self._offsets[-1])):
            return
        self.file.append((ENTRY.pack(timestamp, relative),))
        stamps.append(timestamp)
        self._offsets.append(relative)

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """(timestamp, offset) of the last entry not above `timestamp`; (-1, base offset) when there is none."""
        stamps = self._load()
        slot = bisect_right(stamps, timestamp) - 1
        return (stamps[slot], self.base_offset + self._offsets[slot]) if slot >= 0 else (-1, self.base_offset)

    def last_entry(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry; (-1, base offset) when empty."""
        if self._stamps is None:  # a start asks every segment for it: not worth the whole file
            size = self.file.size // ENTRY_SIZE * ENTRY_SIZE
            if not size:
                return -1, self.base_offset
            stamp, offset = ENTRY.unpack(self.file.read(size - ENTRY_SIZE, ENTRY_SIZE))
            return stamp, self.base_offset + offset
        stamps = self._stamps
        return (stamps[-1], self.base_offset + self._offsets[-1]) if stamps else (-1, self.base_offset)

    def entries(self) -> list[tuple[int, int]]:
        """Every (timestamp, offset)."""
        return [(stamp, self.base_offset + offset) for stamp, offset in zip(self._load(), self._offsets, strict=True)]

    def truncate_to(self, offset: int) -> None:
        """Drop entries at or above `offset`."""
        stamps = self._load()
        keep = bisect_left(self._offsets, offset - self.base_offset)
        if keep < len(stamps):
            del stamps[keep:], self._offsets[keep:]
            self.file.truncate(keep * ENTRY_SIZE)

    def reset(self) -> None:
        """Empty the index, to rebuild it."""
        self.file.truncate(0)
        self._stamps, self._offsets = array("q"), array("i")

    def sanity_check(self) -> None:
        """Raise CorruptIndex when the file cannot be right."""
        if self.file.size % ENTRY_SIZE:
            raise CorruptIndex(f"{self.file.path}: size {self.file.size} is not a multiple of {ENTRY_SIZE}")
        if self.file.size:
            last_timestamp, last = ENTRY.unpack(self.file.read(self.file.size - ENTRY_SIZE, ENTRY_SIZE))
            first_timestamp, _ = ENTRY.unpack(self.file.read(0, ENTRY_SIZE))
            if last < 0 or last_timestamp < first_timestamp or (last_timestamp == 0 and len(self) > 1):
                raise CorruptIndex(f"{self.file.path}: last entry ({last_timestamp}, {last}) contradicts the first")

    def _load(self) -> array[int]:
        """The timestamps; the offsets behind the base that go with them are there as well."""
        if self._stamps is None:
            self._stamps, self._offsets = array("q"), array("i")
            for stamp, offset in ENTRY.iter_unpack(self.file.read(0, len(self) * ENTRY_SIZE)):
                self._stamps.append(stamp)
                self._offsets.append(offset)
        return self._stamps
