"""What many snapshots hold alike: bytes that are written once, and mapped into memory when a snapshot is restored.

A log grows at its end. Each snapshot writes what is new into a file of its own, in pieces of whole `GRAIN` bytes, and
names the pieces of earlier ones; what is left over is small and stands in the snapshot itself. Replicas hold the same
bytes, so a piece that is put twice is kept once.

```
snapshot 1    orders-0: (1, 0, 32768)                      + 700 bytes      000001.bulk: 32768 bytes
snapshot 2    orders-0: (1, 0, 32768), (2, 0, 16384)       + 900 bytes      000002.bulk: 16384 bytes
```
A restored log of gigabytes costs nothing until somebody reads it.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

GRAIN = 16 * 1024


class Piece(NamedTuple):
    """`size` bytes from `offset` on in the file of snapshot `of`."""

    of: int
    offset: int
    size: int


def path_of(directory: Path, number: int) -> Path:
    """The file with what snapshot `number` has added."""
    return directory / f"{number:015d}.bulk"


class Bulk:
    """Reads pieces of all snapshots in a directory, and writes those of one that is made."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._maps: dict[int, memoryview] = {}
        self._file: BinaryIO | None = None
        self._number = -1
        self._size = 0
        self._known: dict[bytes, Piece] = {}

    def view(self, piece: Piece) -> memoryview:
        """The bytes of a piece, read from the file when they are touched."""
        whole = self._maps.get(piece.of)
        if whole is None:
            with open(path_of(self.directory, piece.of), "rb") as file:
                whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            self._maps[piece.of] = whole
        return whole[piece.offset : piece.offset + piece.size]

    def begin(self, number: int) -> None:
        """From now on pieces of snapshot `number` are put."""
        self._number, self._size, self._known = number, 0, {}

    def put(self, parts: Sequence[bytes | memoryview]) -> Piece:
        """Keep bytes; those that this snapshot has put before are not written again."""
        digest = hashlib.blake2b(digest_size=16)
        for part in parts:
            digest.update(part)
        key = digest.digest()
        found = self._known.get(key)
        if found is None:
            if self._file is None:
                self._file = open(path_of(self.directory, self._number), "wb")
            size = sum(map(len, parts))
            for part in parts:
                self._file.write(part)
            found = self._known[key] = Piece(self._number, self._size, size)
            self._size += size
        return found

    def end(self) -> int:
        """All pieces stand in the file; how many bytes these are."""
        if self._file is not None:
            self._file.close()
            self._file = None
        return self._size
