"""Storage in memory: a disk of a simulated world, with a page cache that knows what is flushed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from broker_core.kernel.chunks import Chunks
from broker_core.kernel.errors import StorageError
from broker_core.kernel.storage import Buffer, FileSlice
from broker_core.kernel.storage_faults import DiskFaults
from broker_core.kernel.storage_table import FileTable


class MemoryFile(Chunks):
    """A file of a `MemoryStorage`."""

    __slots__ = ("path", "flushed", "faults", "damaged")

    def __init__(self, path: str, content: bytes = b"", flushed: int | None = None, damaged: bool = False) -> None:
        super().__init__()
        self.path = path
        if content:
            self.rest_on([memoryview(content)])
        self.flushed = len(content) if flushed is None else flushed
        self.faults: DiskFaults | None = None
        self.damaged = damaged

    def __reduce__(self) -> tuple[type[MemoryFile], tuple[str, bytes, int, bool]]:
        return MemoryFile, (self.path, bytes(self.read(0, self.size)), self.flushed, self.damaged)

    def append(self, buffers: Sequence[Buffer]) -> int:
        if self.faults is not None:
            self.faults.check(self.path, "append")
        position = self.size
        for buffer in buffers:
            self.hold(buffer)
        if self.faults is not None:
            self.faults.placed(self, position)
        return position

    def read(self, position: int, size: int) -> memoryview:
        if self.faults is not None:
            self.faults.check(self.path, "read")
        return self.peek(position, size)

    def peek(self, position: int, size: int) -> memoryview:
        end = min(position + size, self.size)
        return self.view(position, end) if position < end else memoryview(b"")

    def slice(self, position: int, size: int) -> FileSlice:
        if self.faults is not None:
            self.faults.check(self.path, "read")
        return FileSlice(self, position, size)

    def truncate(self, size: int) -> None:
        if size >= self.size:
            return
        if self.faults is not None:
            self.faults.check(self.path, "truncate")
        self.cut(size)
        self.flushed = min(self.flushed, size)

    def flush(self) -> None:
        if self.faults is None or not self.faults.loses_flush(self.path):
            self.flushed = self.size

    def overwrite(self, position: int, data: bytes) -> None:
        self.damaged = True
        self.replace(position, data)

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
