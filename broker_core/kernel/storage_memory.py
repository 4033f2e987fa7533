"""Storage in memory: a disk of a simulated world, with a page cache that knows what is flushed.

Small appends are copied into blocks, large ones are kept by reference. A block is as large as the file in front of it,
of `LEAST_BLOCK` to `BLOCK` bytes: most files stay small, and memory that nobody writes to costs, too. It is only ever
appended to; after a truncation a new one begins, so views that were handed out stay true.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from broker_core.kernel.errors import StorageError
from broker_core.kernel.storage import Buffer, FileSlice
from broker_core.kernel.storage_faults import DiskFaults
from broker_core.kernel.storage_table import FileTable

LEAST_BLOCK, BLOCK = 1024, 64 * 1024
SMALL = 4 * 1024


class MemoryFile:
    """A file of a `MemoryStorage`: chunks of bytes in order of position."""

    __slots__ = ("path", "size", "flushed", "_starts", "_chunks", "_block", "_used", "faults", "damaged")

    def __init__(self, path: str, content: bytes = b"", flushed: int | None = None, damaged: bool = False) -> None:
        self.path = path
        self.size = len(content)
        self.flushed = len(content) if flushed is None else flushed
        self._starts: list[int] = [0] if content else []
        self._chunks: list[memoryview] = [memoryview(content)] if content else []
        self._block: bytearray | None = None
        self._used = 0
        self.faults: DiskFaults | None = None
        self.damaged = damaged

    def __reduce__(self) -> tuple[type[MemoryFile], tuple[str, bytes, int, bool]]:
        return MemoryFile, (self.path, bytes(self.read(0, self.size)), self.flushed, self.damaged)

    def append(self, buffers: Sequence[Buffer]) -> int:
        if self.faults is not None:
            self.faults.check(self.path, "append")
        position = end = self.size
        for buffer in buffers:
            size = len(buffer)
            if size < SMALL:
                block, used = self._block, self._used
                if block is None or used + size > len(block):
                    block, used = self._begin_block(end, size), 0
                self._used = used + size
                block[used : self._used] = buffer
            else:
                self._block = None
                self._starts.append(end)
                self._chunks.append(memoryview(buffer).toreadonly())
            end += size
        self.size = end
        if self.faults is not None:
            self.faults.placed(self, position)
        return position

    def _begin_block(self, position: int, least: int) -> bytearray:
        block = self._block = bytearray(max(least, LEAST_BLOCK, min(position, BLOCK)))
        self._starts.append(position)
        self._chunks.append(memoryview(block).toreadonly())
        return block

    def read(self, position: int, size: int) -> memoryview:
        if self.faults is not None:
            self.faults.check(self.path, "read")
        return self.peek(position, size)

    def peek(self, position: int, size: int) -> memoryview:
        end = min(position + size, self.size)
        if position >= end:
            return memoryview(b"")
        starts = self._starts
        index = bisect_right(starts, position) - 1
        start = starts[index]
        if index + 1 == len(starts) or end <= starts[index + 1]:
            return self._chunks[index][position - start : end - start]
        parts = []
        while position < end:
            start, limit = self._starts[index], self._limit(index)
            parts.append(self._chunks[index][position - start : min(end, limit) - start])
            position = limit
            index += 1
        return memoryview(b"".join(parts))

    def _limit(self, index: int) -> int:
        """Position behind the chunk."""
        return self._starts[index + 1] if index + 1 < len(self._starts) else self.size

    def slice(self, position: int, size: int) -> FileSlice:
        if self.faults is not None:
            self.faults.check(self.path, "read")
        return FileSlice(self, position, size)

    def truncate(self, size: int) -> None:
        if size >= self.size:
            return
        if self.faults is not None:
            self.faults.check(self.path, "truncate")
        self._block = None
        while self._starts and self._starts[-1] >= size:
            self._starts.pop()
            self._chunks.pop()
        if self._starts:
            self._chunks[-1] = self._chunks[-1][: size - self._starts[-1]]
        self.size = size
        self.flushed = min(self.flushed, size)

    def flush(self) -> None:
        if self.faults is None or not self.faults.loses_flush(self.path):
            self.flushed = self.size

    def overwrite(self, position: int, data: bytes) -> None:
        self._block, self.damaged = None, True
        index = bisect_right(self._starts, position) - 1
        while data:
            start = self._starts[index]
            chunk = bytearray(self._chunks[index][: self._limit(index) - start])
            part = data[: len(chunk) - (position - start)]
            chunk[position - start : position - start + len(part)] = part
            self._chunks[index] = memoryview(chunk).toreadonly()
            position, data, index = position + len(part), data[len(part) :], index + 1

    def held(self) -> list[memoryview]:
        """The buffers that the content stands in, in order; only the last may be longer than what is used of it."""
        return list(self._chunks)

    def rest_on(self, chunks: list[memoryview]) -> None:
        """From now on the content stands in these buffers: the same bytes in another place, or all of a new file."""
        self._chunks, self._starts, self._block, self.size = chunks, [], None, 0
        for chunk in chunks:
            self._starts.append(self.size)
            self.size += len(chunk)

    def close(self) -> None:
        """Nothing is held open."""


class MemoryStorage(FileTable[MemoryFile]):
    """A node's disks in memory."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        for file in state["files"].values():
            self.put(file)
        self.set_faults(state["faults"])

    def __getstate__(self) -> dict[str, Any]:
        return {"files": self.files, "faults": self.faults}

    def open(self, path: str) -> MemoryFile:
        file = self.files.get(path)
        if file is None:
            self._check(path, "create")
            file = self.put(MemoryFile(path))
        return file

    def exists(self, path: str) -> bool:
        return path in self.files or path in self.children

    def list(self, directory: str) -> list[str]:
        return sorted(self.children.get(directory.rstrip("/"), {}))

    def rename(self, old: str, new: str) -> None:
        self._check(old, "rename")
        if not self._move(old, new):
            raise StorageError(old, "rename", "no such file or directory")

    def delete(self, path: str) -> None:
        self._check(path, "delete")
        for name in self._below(path):
            self._remove(name)

    def read_text(self, path: str) -> str:
        self._check(path, "read")
        if path not in self.files:
            raise StorageError(path, "read", "no such file")
        file = self.files[path]
        return bytes(file.read(0, file.size)).decode(errors="replace")

    def write_text(self, path: str, text: str) -> None:
        self._check(path, "write")
        self.put(MemoryFile(path, text.encode()))
