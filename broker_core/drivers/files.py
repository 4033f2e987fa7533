"""Storage on real files.

The tail of what was written is kept in memory (one byte budget for the whole process), so that a
follower or a consumer at the end of a log never touches the file: in blocks, as small buffers by the
hundred thousand take an allocator's memory that it cannot give back. File descriptors are opened when
needed and the least recently used are closed.

`flushed` is what this process has fsynced; what was there at the start counts as flushed. A power
loss of one node cannot be had from a real disk without cutting the machine's power, so it is done
by truncating each file to what was flushed.

A file may have a second name: a run keeps the disks that it began with so (`lab.experiments.start_disks`). To append
changes nothing of what was there; before such a file is cut or written over it becomes a copy.
"""

from __future__ import annotations

import os
import shutil
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from broker_core.kernel.chunks import Chunks
from broker_core.kernel.errors import StorageError
from broker_core.kernel.storage import Buffer, FileSlice
from broker_core.kernel.storage_faults import DiskFaults
from broker_core.kernel.storage_table import FileTable

TAIL_BUDGET = 48 * 1024 * 1024
BLOCK = 16 * 1024
"""Of a tail: there are thousands, of which each holds such a block for its next records."""
LARGE = 64 * 1024
"""More than this, put together for one answer, is held in blocks."""
HELD = 448
"""What holding a chunk takes beside its bytes."""
DESCRIPTORS = 400
IOV_MAX = 512
COPY = 1 << 20
Opened = TypeVar("Opened")
_READ_WRITE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC


class DiskCaches:
    """What all files of a process share: the in-memory tails and the open descriptors."""

    def __init__(self, tail_budget: int = TAIL_BUDGET, descriptors: int = DESCRIPTORS) -> None:
        self.tail_budget = tail_budget
        self.descriptors = descriptors
        self.tail_bytes = 0
        self._tails: deque[tuple[DiskFile, int]] = deque()
        self._open: OrderedDict[DiskFile, None] = OrderedDict()

    def __reduce__(self) -> tuple[type[DiskCaches], tuple[int, int]]:
        """What is in memory and open belongs to a process."""
        return DiskCaches, (self.tail_budget, self.descriptors)

    def keep(self, file: DiskFile, size: int) -> None:
        """A chunk was begun in this file's tail; the oldest chunks of any file give way."""
        size += HELD
        self._tails.append((file, size))
        self.tail_bytes += size
        while self.tail_bytes > self.tail_budget:
            oldest, freed = self._tails.popleft()
            oldest.drop_oldest()
            self.tail_bytes -= freed

    def used(self, file: DiskFile) -> None:
        """This file's descriptor is in use; too many open ones are closed."""
        self._open[file] = None
        self._open.move_to_end(file)
        while len(self._open) > self.descriptors:
            oldest, _ = self._open.popitem(last=False)
            oldest.close()

    def closed(self, file: DiskFile) -> None:
        self._open.pop(file, None)


def in_directory(path: str, opened: Callable[[str], Opened]) -> Opened:
    """Open a file; its directory is made when it is missing. To ask for that first costs more than to open."""
    try:
        return opened(path)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return opened(path)


def _pieces(buffer: Buffer) -> Sequence[Buffer]:
    """A large buffer as it is held. One that came over the network is (a view of a bytearray); what was joined or read
    for a follower that catches up is taken apart into blocks: of any size up to megabytes, minutes long, those would
    leave holes in the heap that nobody fills (`bench soak`)."""
    if not (isinstance(buffer, memoryview) and isinstance(buffer.obj, bytes)):
        return (buffer,)
    return [bytearray(buffer[start : start + BLOCK]) for start in range(0, len(buffer), BLOCK)]


class DiskFile:
    """One append-only file on a real disk."""

    __slots__ = (
        "root", "path", "size", "flushed", "damaged", "caches", "faults", "_fd", "_tail", "_shared",
    )  # fmt: skip

    def __init__(self, root: Path, path: str, caches: DiskCaches) -> None:
        self.root = root
        self.path = path
        self.caches = caches
        self._fd = -1
        self.faults: DiskFaults | None = None
        self.damaged = False
        try:
            facts = os.stat(f"{root}/{path}")
            self.size = self.flushed = facts.st_size
            self._shared = facts.st_size if facts.st_nlink > 1 else 0
        except FileNotFoundError:
            self.size = self.flushed = self._shared = 0
            self._descriptor()
        except OSError as error:
            raise StorageError(path, "open", error.strerror or str(error)) from error
        self._tail = Chunks(self.size, BLOCK)

    def __getstate__(self) -> tuple[object, ...]:
        """The file stays where it is; its tail is read from there when somebody asks for it."""
        return self.root, self.path, self.caches, self.size, self.flushed, self._shared, self.faults, self.damaged

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        (
            self.root, self.path, self.caches, self.size, self.flushed, self._shared, self.faults, self.damaged
        ) = state  # fmt: skip
        self._fd, self._tail = -1, Chunks(self.size, BLOCK)

    def _descriptor(self) -> int:
        if self._fd < 0:
            try:
                self._fd = in_directory(f"{self.root}/{self.path}", lambda real: os.open(real, _READ_WRITE, 0o644))
            except OSError as error:
                raise StorageError(self.path, "open", error.strerror or str(error)) from error
            self.caches.used(self)
        return self._fd

    def append(self, buffers: Sequence[Buffer]) -> int:
        if self.faults is not None:
            self.faults.check(self.path, "append")
        position = self.size
        descriptor = self._descriptor()
        total = sum(map(len, buffers))
        try:
            written = self._write(descriptor, buffers, position)
        except OSError as error:
            self._cut(position)
            raise StorageError(self.path, "append", error.strerror or str(error)) from error
        if written != total:
            self._cut(position)
            raise StorageError(self.path, "append", f"only {written} of {total} bytes were written")
        self.size = position + total
        for buffer in buffers:
            for piece in (buffer,) if len(buffer) <= LARGE else _pieces(buffer):
                taken = self._tail.hold(piece)
                if taken:
                    self.caches.keep(self, taken)
        if self.faults is not None:
            self.faults.placed(self, position)
        return position

    def _write(self, descriptor: int, buffers: Sequence[Buffer], position: int) -> int:
        if len(buffers) == 1:
            return os.pwrite(descriptor, buffers[0], position)
        written = 0
        for index in range(0, len(buffers), IOV_MAX):
            written += os.pwritev(descriptor, buffers[index : index + IOV_MAX], position + written)
        return written

    def _cut(self, size: int) -> None:
        try:
            if size < self._shared:
                self._part(size)
            os.ftruncate(self._descriptor(), size)
        except OSError as error:
            raise StorageError(self.path, "truncate", error.strerror or str(error)) from error

    def _part(self, size: int) -> None:
        """Whoever has another name for this file keeps its first `_shared` bytes; from now on this is a copy."""
        real = self.root / self.path
        temporary = real.with_name(real.name + ".tmp")
        with open(real, "rb") as source, open(temporary, "wb") as target:
            while size > 0 and (data := source.read(min(size, COPY))):
                target.write(data)
                size -= len(data)
        os.replace(temporary, real)
        self.close()
        self._shared = 0

    def drop_oldest(self) -> None:
        """Let go of the oldest chunk of the tail."""
        self._tail.forget_first()

    def read(self, position: int, size: int) -> memoryview:
        if self.faults is not None:
            self.faults.check(self.path, "read")
        return self.peek(position, size)

    def peek(self, position: int, size: int) -> memoryview:
        end = min(position + size, self.size)
        if position >= end:
            return memoryview(b"")
        if position >= self._tail.begin:
            return self._tail.view(position, end)
        try:
            data = os.pread(self._descriptor(), end - position, position)
        except OSError as error:
            raise StorageError(self.path, "read", error.strerror or str(error)) from error
        if len(data) != end - position:
            raise StorageError(self.path, "read", f"{len(data)} of {end - position} bytes at {position}")
        return memoryview(data)

    def in_memory(self, position: int, size: int) -> bool:
        """Whether the range is still held, so that no disk is touched."""
        return size > 0 and self._tail.begin <= position < self.size

    def descriptor(self) -> int:
        """The open descriptor, for sendfile."""
        return self._descriptor()

    def slice(self, position: int, size: int) -> FileSlice:
        if self.faults is not None:
            self.faults.check(self.path, "read")
        return FileSlice(self, position, size)

    def truncate(self, size: int) -> None:
        if size >= self.size:
            return
        if self.faults is not None:
            self.faults.check(self.path, "truncate")
        self._cut(size)
        self._tail.cut(size)
        self.size = size
        self.flushed = min(self.flushed, size)

    def flush(self) -> None:
        if self.flushed == self.size or (self.faults is not None and self.faults.loses_flush(self.path)):
            return
        try:
            os.fsync(self._descriptor())
        except OSError as error:
            raise StorageError(self.path, "flush", error.strerror or str(error)) from error
        self.flushed = self.size

    def overwrite(self, position: int, data: bytes) -> None:
        self.damaged = True
        if position < self._shared:
            self._part(self.size)
        os.pwrite(self._descriptor(), data, position)
        self._tail.replace(position, data)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self.caches.closed(self)


class DiskStorage(FileTable[DiskFile]):
    """A node's disks: a directory of real files; the table knows those that were opened."""

    def __init__(self, root: Path, caches: DiskCaches | None = None) -> None:
        super().__init__()
        self.root = Path(root)
        self.caches = caches or DiskCaches()

    def open(self, path: str) -> DiskFile:
        file = self.files.get(path)
        if file is None:
            if self.faults is not None and not self.exists(path):
                self.faults.check(path, "create")
            file = self.put(DiskFile(self.root, path, self.caches))
        return file

    def exists(self, path: str) -> bool:
        try:
            os.stat(f"{self.root}/{path}")
            return True
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise StorageError(path, "read", error.strerror or str(error)) from error

    def list(self, directory: str) -> list[str]:
        try:
            return sorted(os.listdir(f"{self.root}/{directory}"))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise StorageError(directory, "list", error.strerror or str(error)) from error

    def rename(self, old: str, new: str) -> None:
        self._check(old, "rename")
        target = self.root / new
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(self.root / old, target)
        except OSError as error:
            raise StorageError(old, "rename", error.strerror or str(error)) from error
        self._move(old, new)

    def _forget(self, path: str) -> None:
        for name in self._below(path):
            self._remove(name).close()

    def delete(self, path: str) -> None:
        self._check(path, "delete")
        self._forget(path)
        real = self.root / path
        try:
            if real.is_dir():
                shutil.rmtree(real)
            else:
                real.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(path, "delete", error.strerror or str(error)) from error

    def read_text(self, path: str) -> str:
        self._check(path, "read")
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise StorageError(path, "read", error.strerror or str(error)) from error

    def write_text(self, path: str, text: str) -> None:
        self._check(path, "write")
        real = f"{self.root}/{path}"
        temporary = f"{real}.tmp"
        try:
            with in_directory(temporary, lambda name: open(name, "w", encoding="utf-8")) as file:
                file.write(text)
            os.replace(temporary, real)
        except OSError as error:
            raise StorageError(path, "write", error.strerror or str(error)) from error
        self._forget(path)

    def exchange(self, other: DiskStorage) -> None:
        """The directories change their names; what was opened is opened again there."""
        damaged = [[path for path, file in storage.files.items() if file.damaged] for storage in (self, other)]
        for storage in (self, other):
            storage._forget("")
        aside = self.root.with_name(self.root.name + ".tmp")
        for old, new in ((self.root, aside), (other.root, self.root), (aside, other.root)):
            old.mkdir(parents=True, exist_ok=True)
            os.rename(old, new)
        self.faults, other.faults = other.faults, self.faults
        for storage, paths in zip((other, self), damaged, strict=True):
            for path in paths:
                storage.open(path).damaged = True

    def close(self) -> None:
        """Close every descriptor; the storage may be used again."""
        for file in self.files.values():
            file.close()
