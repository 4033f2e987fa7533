"""Faults of a node's disks: what a disk does that is broken, and what it leaves after a power loss.

A fault belongs to one directory (a mounted disk, one of `log.dirs`), or to all of a node's disks:

| kind        | hits                                         | answer                      |
|-------------|----------------------------------------------|-----------------------------|
| full        | append, write of a small file, a new file    | No space left on device     |
| write_error | the same, and truncate, flush, rename, delete | Input/output error         |
| read_error  | read                                         | Input/output error          |
| lost_fsync  | flush                                        | "done", but nothing is safe |
| slow        | append (not to an index), small file, flush  | "done", `latency_us` later  |
| misdirected | append                                       | "done", but somewhere else  |

When it hits: every time, `times` times, from the `on_call`-th of its operations on, or with a `probability`.
Nothing tells a process of a bit that flips (`flip`), or of a write that went to another place of its file
(`misdirect`: zeros where it belongs, and earlier bytes gone); checksums do, when they are looked at.

Kafka maps the offset and time index of a segment into memory: a new entry changes memory, and no call waits for the
disk (`AbstractIndex`). So a slow disk costs nothing there; a full or broken one fails there as elsewhere.

Nothing in this world can wait inside a call, so what a slow disk costs is noted as a debt, and the thread that
asked pays it afterwards (`take_debt`): it stays busy for so long, and its answer leaves when it is paid.

Both homes of files ask `check` only while a fault is set, so a healthy disk pays nothing for it.

A power loss leaves what was flushed. With `tear` it leaves some of the rest, too: of the pages of
4 KiB that were not flushed, some were written, some read as zeros, in some a byte is wrong, and the
file may be shorter. So a batch can be there in its first half only: a torn write.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from broker_core.kernel.errors import StorageError

if TYPE_CHECKING:
    from broker_core.kernel.storage import Storage

FULL, WRITE_ERROR, READ_ERROR, LOST_FSYNC = "full", "write_error", "read_error", "lost_fsync"
SLOW, MISDIRECTED = "slow", "misdirected"
PAGE = 4096
SECTOR = 512
_GROWS = ("append", "write", "create")
_HITS = {
    FULL: _GROWS,
    WRITE_ERROR: (*_GROWS, "truncate", "flush", "rename", "delete"),
    READ_ERROR: ("read",),
    LOST_FSYNC: ("fsync",),
    SLOW: ("append", "write", "flush"),
    MISDIRECTED: ("placed",),
}
MAPPED = (".index", ".timeindex")
_REASONS = {FULL: "No space left on device", WRITE_ERROR: "Input/output error", READ_ERROR: "Input/output error"}


class DiskFault:
    """One rule. `directory` "" = all of the node's disks; `calls` counts the operations that it could hit.

    `times`: how often it hits, None for ever. `latency_us`: what an operation of a slow disk costs.
    """

    def __init__(
        self, kind: str, directory: str = "", times: int | None = None, on_call: int = 1, probability: float = 1.0,
        latency_us: int = 0,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.directory = directory
        self.times = times
        self.on_call = on_call
        self.probability = probability
        self.latency_us = latency_us
        self.calls = 0
        self.hit = 0

    def hits(self, path: str, operation: str, random: Random) -> bool:
        """Whether this operation fails; counts it."""
        if self.hit == self.times or operation not in _HITS[self.kind] or not _below(path, self.directory):
            return False
        if self.kind == SLOW and operation == "append" and path.endswith(MAPPED):
            return False
        self.calls += 1
        if self.calls < self.on_call or (self.probability < 1.0 and random.random() >= self.probability):
            return False
        self.hit += 1
        return True


class DiskFaults:
    """All faults of one node's disks."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.rules: list[DiskFault] = []
        self.debt_us = 0

    def check(self, path: str, operation: str) -> None:
        """Raise StorageError when a rule says so; what a slow disk costs is added to the debt."""
        for rule in self.rules:
            if rule.hits(path, operation, self.random):
                if rule.kind != SLOW:
                    raise StorageError(path, operation, _REASONS[rule.kind])
                self.debt_us += rule.latency_us

    def take_debt(self) -> int:
        """Microseconds that the disk has needed since the last call."""
        debt, self.debt_us = self.debt_us, 0
        return debt

    def placed(self, file: WritableFile, position: int) -> None:
        """Bytes were appended at `position`; perhaps they are not there."""
        if any(rule.hits(file.path, "placed", self.random) for rule in self.rules):
            misdirect(file, position, self.random)

    def loses_flush(self, path: str) -> bool:
        """Flush fails (StorageError), or (True) says that it is done and does nothing."""
        self.check(path, "flush")
        return any(rule.hits(path, "fsync", self.random) for rule in self.rules)


class WritableFile(Protocol):
    """What damage needs of a file."""

    path: str
    size: int
    flushed: int
    damaged: bool

    def read(self, position: int, size: int) -> memoryview: ...

    def truncate(self, size: int) -> None: ...

    def append(self, buffers: Any) -> int: ...

    def peek(self, position: int, size: int) -> memoryview: ...

    def overwrite(self, position: int, data: bytes) -> None: ...


def _below(path: str, directory: str) -> bool:
    return not directory or path == directory or path.startswith(directory + "/")


def lose_power(files: Iterable[WritableFile], torn: Random | None) -> None:
    """Cut every file to what was flushed; with `torn`, to that and some of the rest."""
    for file in files:
        rest = bytearray(file.read(file.flushed, file.size - file.flushed)) if torn is not None else bytearray()
        file.damaged = file.damaged or file.size > file.flushed
        file.truncate(file.flushed)
        if torn is not None and rest:
            file.append([tear(rest, file.flushed, torn)])
            file.flushed = file.size


def tear(rest: bytearray, position: int, random: Random) -> bytearray:
    """What is left of `rest`, which stood at `position` and was not flushed: kept, zeroed, damaged, cut by page."""
    kept = rest[: random.randint(0, len(rest))]
    start = 0
    while start < len(kept):
        end = min(len(kept), start + PAGE - (position + start) % PAGE)
        fate = random.random()
        if fate < 0.2:
            kept[start:end] = bytes(end - start)
        elif fate < 0.4:
            kept[random.randrange(start, end)] ^= 1 << random.randrange(8)
        start = end
    return kept


def flip(file: WritableFile, position: int) -> None:
    """A bit at `position` turns over, unnoticed."""
    file.overwrite(position, bytes([file.peek(position, 1)[0] ^ 1]))


def misdirect(file: WritableFile, position: int, random: Random) -> None:
    """What was appended at `position` is in an earlier sector of the file, in place of what was there."""
    written = bytes(file.peek(position, file.size - position))
    elsewhere = SECTOR * random.randrange(position // SECTOR + 1)
    file.overwrite(position, bytes(len(written)))
    if elsewhere < position:
        file.overwrite(elsewhere, written[: position - elsewhere])


class Unfaulted:
    """`with Unfaulted(storages):` an observer looks at disks without meeting their faults, or using them up."""

    def __init__(self, storages: Iterable[Storage]) -> None:
        self._found = [(storage, storage.faults) for storage in storages if storage.faults is not None]

    def __enter__(self) -> None:
        for storage, _ in self._found:
            storage.set_faults(None)

    def __exit__(self, *problem: object) -> None:
        for storage, faults in self._found:
            storage.set_faults(faults)
