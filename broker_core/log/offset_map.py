"""The cleaner's memory: the latest offset of each key (Kafka's `SkimpyOffsetMap`).

Keys can be long and many, so a key is known by its MD5 alone: 24 bytes an entry, 16 of the hash and 8 of the offset.
Two keys with the same hash would be taken for one; with 2^128 of them nobody has seen that happen.

    buffer of 128 MiB (`log.cleaner.dedupe.buffer.size`), one thread     5,592,405 slots
    filled to 90 % (`log.cleaner.io.buffer.load.factor`)                 5,033,164 keys in a round

When a log has more keys than that, the round ends where the map is full and the next one goes on from there.
"""

from __future__ import annotations

from hashlib import md5

ENTRY_BYTES = 24


class OffsetMap:
    """`latest_offset` -1: nothing was read. At most `room` keys."""

    def __init__(self, memory_bytes: int, load_factor: float) -> None:
        self.slots = memory_bytes // ENTRY_BYTES
        self.room = int(self.slots * load_factor)
        self.latest_offset = -1
        self._offsets: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def is_full(self) -> bool:
        return len(self._offsets) >= self.room

    @property
    def utilization(self) -> float:
        """Share of the slots that are taken."""
        return len(self._offsets) / self.slots if self.slots else 0.0

    def put(self, key: bytes, offset: int) -> None:
        """Later offsets replace earlier ones: records are read in order."""
        self._offsets[_hash(key)] = offset
        self.latest_offset = offset

    def get(self, key: bytes) -> int:
        """The latest offset of a key; -1: it was not seen."""
        return self._offsets.get(_hash(key), -1)

    def read_up_to(self, offset: int) -> None:
        """Everything up to `offset` is known, also where nothing had a key."""
        self.latest_offset = max(self.latest_offset, offset)


def _hash(key: bytes) -> bytes:
    return md5(key, usedforsecurity=False).digest()
