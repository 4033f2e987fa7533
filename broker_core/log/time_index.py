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

    __slots__ = ("base_offset", "file", "full_bytes", "_entries")

    def __init__(self, file: File, base_offset: int, max_bytes: int) -> None:
        self.file = file
        self.base_offset = base_offset
        self.full_bytes = (max_bytes // ENTRY_SIZE - 1) * ENTRY_SIZE
        self._entries: list[tuple[int, int]] | None = None

    def __len__(self) -> int:
        return self.file.size // ENTRY_SIZE

    @property
    def is_full(self) -> bool:
        """One entry stays free for the segment's end."""
        return self.file.size >= self.full_bytes

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add (timestamp, offset) unless the last entry is as late already."""
        entries = self._load()
        if timestamp < 0 or (entries and (timestamp <= entries[-1][0] or offset < entries[-1][1])):
            return
        self.file.append((ENTRY.pack(timestamp, offset - self.base_offset),))
        entries.append((timestamp, offset))

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """(timestamp, offset) of the last entry not above `timestamp`; (-1, base offset) when there is none."""
        entries = self._load()
        slot = bisect_right(entries, timestamp, key=_timestamp) - 1
        return entries[slot] if slot >= 0 else (-1, self.base_offset)

    def last_entry(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry; (-1, base offset) when empty."""
        if self._entries is None:  # a start asks every segment for it: not worth the whole file
            size = self.file.size // ENTRY_SIZE * ENTRY_SIZE
            if not size:
                return -1, self.base_offset
            stamp, offset = ENTRY.unpack(self.file.read(size - ENTRY_SIZE, ENTRY_SIZE))
            return stamp, self.base_offset + offset
        return self._entries[-1] if self._entries else (-1, self.base_offset)

    def entries(self) -> list[tuple[int, int]]:
        """Every (timestamp, offset)."""
        return list(self._load())

    def truncate_to(self, offset: int) -> None:
        """Drop entries at or above `offset`."""
        entries = self._load()
        keep = bisect_left(entries, offset, key=_offset)
        if keep < len(entries):
            del entries[keep:]
            self.file.truncate(keep * ENTRY_SIZE)

    def reset(self) -> None:
        """Empty the index, to rebuild it."""
        self.file.truncate(0)
        self._entries = []

    def sanity_check(self) -> None:
        """Raise CorruptIndex when the file cannot be right."""
        if self.file.size % ENTRY_SIZE:
            raise CorruptIndex(f"{self.file.path}: size {self.file.size} is not a multiple of {ENTRY_SIZE}")
        if self.file.size:
            last_timestamp, last = ENTRY.unpack(self.file.read(self.file.size - ENTRY_SIZE, ENTRY_SIZE))
            first_timestamp, _ = ENTRY.unpack(self.file.read(0, ENTRY_SIZE))
            if last < 0 or last_timestamp < first_timestamp or (last_timestamp == 0 and len(self) > 1):
                raise CorruptIndex(f"{self.file.path}: last entry ({last_timestamp}, {last}) contradicts the first")

    def _load(self) -> list[tuple[int, int]]:
        if self._entries is None:
            data = self.file.read(0, len(self) * ENTRY_SIZE)
            self._entries = [(stamp, self.base_offset + offset) for stamp, offset in ENTRY.iter_unpack(data)]
        return self._entries


def _timestamp(entry: tuple[int, int]) -> int:
    return entry[0]


def _offset(entry: tuple[int, int]) -> int:
    return entry[1]
