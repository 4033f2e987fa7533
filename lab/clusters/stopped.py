"""The logs of a broker that does not run: what lies on its disks, read as its next start will read it.

| mark | what it is | after a power loss |
|---|---|---|
| start | `log-start-offset-checkpoint`, or the first segment's base offset | the same |
| leo | behind the last batch that a recovery keeps | what was flushed |
| hw | `replication-offset-checkpoint`, between start and leo | the same |

A broker writes its high watermarks down every `replica.high.watermark.checkpoint.interval.ms` (5 s) and when it is shut
down: after a crash the one on disk is that of the last writing, a little lower than the one it had in memory.

Nothing is written or cut here, and faults of the disks are neither met nor used up. The disks of a stopped broker
change by a fault only, which says `forget`; so each stop is read once.

A recovery checks each batch behind its recovery point, in slices; of a long log that takes seconds, and here nothing
may wait. So batches are checked only where there can be bad ones: in files that the disk has damaged, and in those that
no process of this broker has opened yet. Of a file that holds what was appended its index leads to the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import STOPPED, Node
from broker_core.kernel.storage import File, Storage
from broker_core.kernel.storage_faults import Unfaulted
from broker_core.log import checkpoints
from broker_core.log.log_manager import partition_of
from broker_core.log.offset_index import ENTRY, ENTRY_SIZE
from broker_core.log.scan import headers_from
from broker_core.log.segment import INDEX, LOG
from broker_core.records.errors import RecordsError
from broker_core.records.header import Batch, BatchHeader, ensure_valid

KEPT = 16
Place = tuple[str, int]


@dataclass(slots=True)
class DiskLog:
    """A partition's log on the disks of a stopped broker. `headers`: of the last batches, oldest first; `epochs`:
    [(leader epoch, first offset)]."""

    start: int
    leo: int
    hw: int
    headers: list[BatchHeader] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)


_known: WeakKeyDictionary[Storage, tuple[int, dict[Place, DiskLog]]] = WeakKeyDictionary()
"""By the disks, not by their node: nothing may refer weakly to an object of a compiled class."""


def stopped_logs(node: Node, log_dirs: list[str], compacted: Container[str] = ()) -> dict[Place, DiskLog]:
    """(topic, partition) -> its log on disk; {} for a broker that runs. Topics that are `compacted` may have holes."""
    if node.state != STOPPED:
        return {}
    known = _known.get(node.storage)
    if known is None or known[0] != node.incarnation:
        with Unfaulted([node.storage]):
            reading = Reading(node.storage, node.incarnation > 0)
            found = {place: log for one in log_dirs for place, log in reading.directory(one, compacted)}
        known = _known[node.storage] = (node.incarnation, found)
    return known[1]


def forget(node: Node) -> None:
    """What lies on its disks is another thing now."""
    _known.pop(node.storage, None)


class Reading:
    """Of one node's disks. `opened`: a process of this broker has checked or written what no disk has damaged since."""

    def __init__(self, storage: Storage, opened: bool) -> None:
        self.storage = storage
        self.opened = opened

    def directory(self, log_dir: str, compacted: Container[str]) -> Iterator[tuple[Place, DiskLog]]:
        storage = self.storage
        clean = storage.exists(f"{log_dir}/{checkpoints.CLEAN_SHUTDOWN}")
        points, starts, marks = (
            _offsets(storage, f"{log_dir}/{name}")
            for name in (checkpoints.RECOVERY_POINTS, checkpoints.LOG_STARTS, checkpoints.HIGH_WATERMARKS)
        )
        for name in storage.list(log_dir):
            place = partition_of(name)
            if place is not None:
                checked_from = None if clean else points.get(place, 0)
                log = self._log(f"{log_dir}/{name}", starts.get(place, 0), checked_from, place[0] in compacted)
                log.hw = max(log.start, min(marks.get(place, 0), log.leo))
                epochs = _epochs(storage, f"{log_dir}/{name}/{checkpoints.LEADER_EPOCHS}")
                log.epochs = [one for one in epochs if one[1] < log.leo]
                yield place, log

    def _log(self, directory: str, start: int, checked_from: int | None, holes: bool) -> DiskLog:
        """`checked_from`: the recovery point, from whose segment on batches are checked; None after a clean shutdown.

        `holes`: offsets may be missing between two segments. Segments behind a cut or a hole are deleted by a recovery.
        """
        stems = [name[: -len(LOG)] for name in self.storage.list(directory) if name.endswith(LOG)]
        stems = [stem for stem in stems if stem.isdigit()]
        bases = [int(stem) for stem in stems]
        end = start
        headers: deque[BatchHeader] = deque()
        last = len(bases) - 1
        for index, base in enumerate(bases):
            path = f"{directory}/{stems[index]}"
            file = self.storage.open(path + LOG)
            sound = self.opened and not file.damaged
            checked = checked_from is not None and not sound and (index == last or bases[index + 1] > checked_from)
            if not checked and index < last:
                continue
            near = self._near_end(path + INDEX) if sound else 0
            headers, whole = _headers(file, base, checked, near)
            if near and not whole:
                headers, whole = _headers(file, base, checked)
            end = headers[-1].next_offset if headers else base
            if not whole or (checked and not holes and index < last and bases[index + 1] > end):
                break
        start = max(start, bases[0] if bases else 0)
        return DiskLog(start, max(start, end), start, list(headers) if end >= start else [])

    def _near_end(self, path: str) -> int:
        """By an index: a batch with `KEPT` more behind it begins here, for each entry names another one."""
        try:
            file = self.storage.open(path) if self.storage.exists(path) else None
            if file is None or file.damaged or file.size < (KEPT + 1) * ENTRY_SIZE:
                return 0
            at = (file.size // ENTRY_SIZE - KEPT - 1) * ENTRY_SIZE
            return int(ENTRY.unpack(file.read(at, ENTRY_SIZE))[1])
        except StorageError:
            return 0


def _epochs(storage: Storage, path: str) -> list[tuple[int, int]]:
    try:
        return checkpoints.read_epochs(storage, path)
    except (checkpoints.CorruptCheckpoint, StorageError, ValueError):
        return []


def _offsets(storage: Storage, path: str) -> dict[Place, int]:
    """A checkpoint that cannot be read counts as empty, as at a start."""
    try:
        return checkpoints.read_offsets(storage, path)
    except (checkpoints.CorruptCheckpoint, StorageError, ValueError):
        return {}


def _headers(file: File, least: int, checked: bool, position: int = 0) -> tuple[deque[BatchHeader], bool]:
    """The last `KEPT` of those from `position` on to the first bad one, and whether that is the end of the file."""
    found: deque[BatchHeader] = deque(maxlen=KEPT)
    size = position
    try:
        for at, header in headers_from(file, position, file.size):
            if checked:
                ensure_valid(Batch(header, file.read(at, header.size), at))
                if header.base_offset < least:
                    return found, False
            found.append(header)
            least, size = header.next_offset, at + header.size
    except (RecordsError, StorageError):
        return found, False
    return found, size == file.size


def log_dirs(settings: dict[str, str]) -> list[str]:
    """Directories of `log.dirs`, relative to the node's disks."""
    given = settings.get("log.dirs") or settings.get("log.dir") or "data"
    return [name.strip().strip("/") for name in given.split(",") if name.strip()]
