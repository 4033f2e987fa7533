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
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import STOPPED, Node
from broker_core.kernel.storage import File, Storage
from broker_core.kernel.storage_faults import Unfaulted
from broker_core.log import checkpoints
from broker_core.log.log_manager import partition_of
from broker_core.log.scan import headers_from
from broker_core.records.errors import RecordsError
from broker_core.records.header import Batch, BatchHeader, ensure_valid

LOG = ".log"
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
            found = {place: log for one in log_dirs for place, log in _directory(node.storage, one, compacted)}
        known = _known[node.storage] = (node.incarnation, found)
    return known[1]


def forget(node: Node) -> None:
    """What lies on its disks is another thing now."""
    _known.pop(node.storage, None)


def _directory(storage: Storage, log_dir: str, compacted: Container[str]) -> Iterator[tuple[Place, DiskLog]]:
    clean = storage.exists(f"{log_dir}/{checkpoints.CLEAN_SHUTDOWN}")
    points, starts, marks = (
        _offsets(storage, f"{log_dir}/{name}")
        for name in (checkpoints.RECOVERY_POINTS, checkpoints.LOG_STARTS, checkpoints.HIGH_WATERMARKS)
    )
    for name in storage.list(log_dir):
        place = partition_of(name)
        if place is not None:
            checked_from = None if clean else points.get(place, 0)
            log = _log(storage, f"{log_dir}/{name}", starts.get(place, 0), checked_from, place[0] in compacted)
            log.hw = max(log.start, min(marks.get(place, 0), log.leo))
            epochs = _epochs(storage, f"{log_dir}/{name}/{checkpoints.LEADER_EPOCHS}")
            log.epochs = [one for one in epochs if one[1] < log.leo]
            yield place, log


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


def _log(storage: Storage, directory: str, start: int, checked_from: int | None, holes: bool) -> DiskLog:
    """`checked_from`: the recovery point, from whose segment on batches are checked; None after a clean shutdown.

    `holes`: offsets may be missing between two segments. Segments behind a cut or a hole are deleted by a recovery.
    """
    names = [name for name in storage.list(directory) if name.endswith(LOG) and name[: -len(LOG)].isdigit()]
    bases = [int(name[: -len(LOG)]) for name in names]
    end = start
    headers: list[BatchHeader] = []
    last = len(bases) - 1
    for index, base in enumerate(bases):
        checked = checked_from is not None and (index == last or bases[index + 1] > checked_from)
        if not checked and index < last:
            continue
        file = storage.open(f"{directory}/{names[index]}")
        headers, whole = _headers(file, base, checked)
        end = headers[-1].next_offset if headers else base
        if not whole or (checked and not holes and index < last and bases[index + 1] > end):
            break
    start = max(start, bases[0] if bases else 0)
    return DiskLog(start, max(start, end), start, headers[-KEPT:] if end >= start else [])


def _headers(file: File, least: int, checked: bool) -> tuple[list[BatchHeader], bool]:
    """Of the batches in front of the first bad one, and whether that is all of the file."""
    found: list[BatchHeader] = []
    size = 0
    try:
        for at, header in headers_from(file, 0, file.size):
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
