"""`.txnindex`: which transactions were aborted in a segment (KIP-98, "Discussion on Caching").

Records of a transaction are in the log before anybody knows whether it commits. A reader with `read_committed` is
therefore told, beside the records, which producers to skip from which offset on: what this file says. It has an entry
for each abort marker in the segment whose transaction wrote anything here; most segments have none, and no file.

| byte | field | type | |
|---|---|---|---|
| 0 | version | int16 | 0 |
| 2 | producer id | int64 | |
| 10 | first offset | int64 | of the transaction in this partition, perhaps in an earlier segment |
| 18 | last offset | int64 | of its marker |
| 26 | last stable offset | int64 | when the marker was written: the next open transaction, else behind the marker |

    0 A   1 B   2 A   3 abort A   4 B   5 abort B        offsets, producers
    entry (A, 0, 3, stable 1), then (B, 1, 5, stable 6)

A search for what a reader of offsets 2..4 must know takes every entry that overlaps. It may end at an entry whose last
stable offset is at or behind the reader's end: transactions that are aborted later begin there or still later.

Kafka overlooks a torn last entry; here it is an index that is rebuilt.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from broker_core.kernel.storage import File, Storage
from broker_core.log.errors import CorruptIndex

VERSION = 0
ENTRY = Struct(">hqqqq")
ENTRY_SIZE = ENTRY.size
_LAST_OFFSET_AT = 18


class AbortedTransaction(NamedTuple):
    """One entry; offsets as in the module."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """The entries of one segment, in ascending order of their last offset. The file is made by the first of them."""

    __slots__ = ("storage", "path", "base_offset", "_file")

    def __init__(self, storage: Storage, path: str, base_offset: int) -> None:
        self.storage = storage
        self.path = path
        self.base_offset = base_offset
        self._file: File | None = storage.open(path) if storage.exists(path) else None

    def __len__(self) -> int:
        return self._file.size // ENTRY_SIZE if self._file is not None else 0

    @property
    def size(self) -> int:
        """Bytes."""
        return self._file.size if self._file is not None else 0

    @property
    def flushed(self) -> int:
        """Bytes that a loss of power leaves."""
        return self._file.flushed if self._file is not None else 0

    def append(self, aborted: AbortedTransaction) -> None:
        """Raises CorruptIndex unless its marker is behind that of the last entry."""
        if self._file is None:
            self._file = self.storage.open(self.path)
        elif len(self) and aborted.last_offset <= (last := self._last_offset(len(self) - 1)):
            raise CorruptIndex(f"{self.path}: marker at {aborted.last_offset} is not behind the one at {last}")
        self._file.append((ENTRY.pack(VERSION, *aborted),))

    def entries(self) -> list[AbortedTransaction]:
        """All of them."""
        return self._from(0)

    def overlapping(self, offset: int, end: int) -> tuple[list[AbortedTransaction], bool]:
        """Those that end at or behind `offset` and begin below `end`; whether no later segment has any."""
        found: list[AbortedTransaction] = []
        for one in self._from(self._place(offset)):
            if one.first_offset < end:
                found.append(one)
            if one.last_stable_offset >= end:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Drop the entries whose marker is at or behind `offset`."""
        place = self._place(offset)
        if self._file is not None and place < len(self):
            self._file.truncate(place * ENTRY_SIZE)

    def reset(self) -> None:
        """Empty it, to rebuild it."""
        if self._file is not None:
            self._file.truncate(0)

    def sanity_check(self) -> None:
        """Raise CorruptIndex when it cannot be right: torn, of an unknown version, a marker in front of the segment."""
        if self.size % ENTRY_SIZE:
            raise CorruptIndex(f"{self.path}: size {self.size} is not a multiple of {ENTRY_SIZE}")
        if self._file is not None:
            for version, *fields in ENTRY.iter_unpack(self._file.read(0, self.size)):
                if version != VERSION or fields[2] < self.base_offset:
                    raise CorruptIndex(f"{self.path}: version {version}, marker at {fields[2]}")

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _last_offset(self, place: int) -> int:
        assert self._file is not None
        return int.from_bytes(self._file.read(place * ENTRY_SIZE + _LAST_OFFSET_AT, 8), "big", signed=True)

    def _place(self, offset: int) -> int:
        """Number of the first entry whose marker is at or behind `offset`."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._last_offset(middle) < offset:
                low = middle + 1
            else:
                high = middle
        return low

    def _from(self, place: int) -> list[AbortedTransaction]:
        count = len(self) - place
        if self._file is None or not count:
            return []
        data = self._file.read(place * ENTRY_SIZE, count * ENTRY_SIZE)
        return [AbortedTransaction(*fields) for _, *fields in ENTRY.iter_unpack(data)]
