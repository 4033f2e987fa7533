"""Storage of one node: what its disks hold, and how much of it would survive a power loss.

A process writes to the page cache of its operating system; only `flush` (fsync) brings bytes to
stable storage. Every file therefore counts `flushed`:

    append 100 bytes   size=100 flushed=0     a crash of the process loses nothing
    flush              size=100 flushed=100
    append 50 bytes    size=150 flushed=100   a power loss leaves 100 bytes

There are two homes behind this protocol: `storage_memory.MemoryStorage` and real files
(`drivers.files.DiskStorage`). A world behaves the same in either. Paths are relative and
"/"-separated; directories exist when a file does.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from broker_core.kernel.storage_faults import DiskFaults

Buffer: TypeAlias = "bytes | bytearray | memoryview"


class File(Protocol):
    """One append-only file. 0 <= flushed <= size.

    `damaged`: the disk may have changed or cut what was appended (`storage_faults`), and nobody has checked it since.
    """

    path: str
    size: int
    flushed: int
    damaged: bool

    def append(self, buffers: Sequence[Buffer]) -> int:
        """Write the buffers behind one another; return the position of the first byte.

        The storage may keep references to the buffers: never change one afterwards.
        Raises StorageError; what was written of it is then cut off again.
        """
        ...

    def read(self, position: int, size: int) -> memoryview:
        """At most `size` bytes from `position`; shorter at the end of the file."""
        ...

    def peek(self, position: int, size: int) -> memoryview:
        """As `read`, of a range that was sent before: a fault of the disk (`storage_faults`) does not reach it."""
        ...

    def slice(self, position: int, size: int) -> FileSlice: ...

    def truncate(self, size: int) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def overwrite(self, position: int, data: bytes) -> None:
        """Other bytes in place of those from `position`, inside the file: damage, unnoticed (`storage_faults`)."""
        ...


class FileSlice:
    """A range of a file that is sent without being read (zero copy). `len()` is its size in bytes."""

    __slots__ = ("file", "position", "size")

    def __init__(self, file: File, position: int, size: int) -> None:
        self.file = file
        self.position = position
        self.size = size

    def __len__(self) -> int:
        return self.size

    def read(self) -> memoryview:
        """The bytes, by reference where the storage still holds them in memory."""
        return self.file.peek(self.position, self.size)


class Storage(Protocol):
    """The disks of one node. `faults`: what is wrong with them."""

    faults: DiskFaults | None

    def open(self, path: str) -> File:
        """The file at `path`, created empty when missing. The same object for the same path."""
        ...

    def exists(self, path: str) -> bool: ...

    def list(self, directory: str) -> list[str]:
        """Names of files and directories directly below `directory`, sorted; [] when missing."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Rename a file or a whole directory; open files follow."""
        ...

    def delete(self, path: str) -> None:
        """Delete a file or a whole directory; nothing happens when it is missing."""
        ...

    def read_text(self, path: str) -> str:
        """A small file. Bytes that are no UTF-8 come as U+FFFD: whoever reads it finds that they make no sense."""
        ...

    def write_text(self, path: str, text: str) -> None:
        """Replace a small file atomically and flushed, as Kafka writes its checkpoints."""
        ...

    def power_loss(self, torn: Random | None = None) -> None:
        """Drop what was not flushed; with `torn`, leave some of it behind (`storage_faults`)."""
        ...

    def set_faults(self, faults: DiskFaults | None) -> None:
        """From now on these disks fail as `faults` says."""
        ...

    def exchange(self, other: Any) -> None:
        """Change disks with another node, storage of the same kind; neither process runs."""
        ...



def read_all(buffers: Sequence[Buffer | FileSlice]) -> bytes:
    """The bytes of a list of buffers and slices, joined."""
    return b"".join(part.read() if isinstance(part, FileSlice) else part for part in buffers)
