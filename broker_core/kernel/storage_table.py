"""What both homes of a node's disks share: files by their paths, and the directories that these make.

    files      {"data/orders-0/00000000000000000000.log": file, "data/meta.properties": file}
    children   {"": {"data"}, "data": {"orders-0", "meta.properties"}, "data/orders-0": {"00000000000000000000.log"}}

A directory is there while it holds a file. What lies below one is found without a look at the others: a broker
has thousands of files, and replaces or deletes one for each partition that changes its leader.
"""

from __future__ import annotations

from random import Random
from typing import Generic, Protocol, Self, TypeVar

from broker_core.kernel.storage_faults import DiskFaults, WritableFile, lose_power


class TableFile(WritableFile, Protocol):
    """A file that knows what is wrong with the disk below it."""

    faults: DiskFaults | None


F = TypeVar("F", bound=TableFile)


class FileTable(Generic[F]):
    """Files of one node. `faults`: what is wrong with its disks."""

    def __init__(self) -> None:
        self.files: dict[str, F] = {}
        self.children: dict[str, dict[str, None]] = {}
        self.faults: DiskFaults | None = None

    def set_faults(self, faults: DiskFaults | None) -> None:
        self.faults = faults
        for file in self.files.values():
            file.faults = faults

    def put(self, file: F) -> F:
        """Take a file in under its path, in place of one that is there."""
        self.files[file.path] = file
        file.faults = self.faults
        path = file.path
        while path:
            parent, _, name = path.rpartition("/")
            directory = self.children.get(parent)
            if directory is None:
                directory = self.children[parent] = {}
            elif name in directory:
                break
            directory[name] = None
            path = parent
        return file

    def power_loss(self, torn: Random | None = None) -> None:
        lose_power([self.files[path] for path in sorted(self.files)], torn)

    def exchange(self, other: Self) -> None:
        """Change files and faults with another node's disks."""
        self.files, other.files = other.files, self.files
        self.children, other.children = other.children, self.children
        self.faults, other.faults = other.faults, self.faults

    def _check(self, path: str, operation: str) -> None:
        if self.faults is not None:
            self.faults.check(path, operation)

    def _remove(self, path: str) -> F:
        file = self.files.pop(path)
        while path and path not in self.children:
            parent, _, name = path.rpartition("/")
            del self.children[parent][name]
            if self.children[parent]:
                break
            del self.children[parent]
            path = parent
        return file

    def _move(self, old: str, new: str) -> bool:
        """Files at or below `old` go to `new`; whether there were any."""
        moved = self._below(old)
        for name in moved:
            file = self._remove(name)
            file.path = new + name[len(old) :]
            self.put(file)
        return bool(moved)

    def _below(self, path: str) -> list[str]:
        """All files at or below a path."""
        if path in self.files:
            return [path]
        prefix = f"{path}/" if path else ""
        return [found for name in self.children.get(path, {}) for found in self._below(prefix + name)]
