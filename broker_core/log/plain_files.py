"""Files of any directory, read only: what `dump-log` and tests look at without a broker's storage."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import BinaryIO

from broker_core.kernel.errors import StorageError
from broker_core.kernel.storage import Buffer, FileSlice


class PlainFile:
    """The storage's File over a path of the machine; everything that writes is refused."""

    damaged = False

    def __init__(self, path: str) -> None:
        self.path = path
        self._stream: BinaryIO = open(path, "rb")
        self.size = self.flushed = os.fstat(self._stream.fileno()).st_size

    def read(self, position: int, size: int) -> memoryview:
        self._stream.seek(position)
        return memoryview(self._stream.read(max(0, min(size, self.size - position))))

    def peek(self, position: int, size: int) -> memoryview:
        return self.read(position, size)

    def slice(self, position: int, size: int) -> FileSlice:
        return FileSlice(self, position, size)

    def append(self, buffers: Sequence[Buffer]) -> int:
        raise StorageError(self.path, "append", "opened read only")

    def truncate(self, size: int) -> None:
        raise StorageError(self.path, "truncate", "opened read only")

    def overwrite(self, position: int, data: bytes) -> None:
        raise StorageError(self.path, "overwrite", "opened read only")

    def flush(self) -> None:
        """Nothing was written."""

    def close(self) -> None:
        self._stream.close()

