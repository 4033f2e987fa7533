"""Opening the logs of a broker, a slice at a time, so that nobody else stands still meanwhile.

After a crash everything behind the recovery points is read and checked (`recovery`): gigabytes, perhaps. A slice opens
logs until it has done `most_work`, or has opened `MOST_LOGS`, each of which has files to be opened though nothing in
them needs to be checked; the broker then lets others have their turn and goes on a little later, in the middle of a log
where need be. A batch is the smallest piece.

    logs    0    1    2    3    4          slice 1 ends 3M into log 1, slice 2 2M into log 3, slice 3 10M into it, ...
    bytes   5M   9M   0    12M  1M         most_work 8M: bytes, more for small batches (`recovery`)

What all logs of a directory need is read when the first of them is opened; its clean-shutdown marker goes when the
last one has been. A directory that fails on the way is offline, and the others go on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker_core.kernel.errors import StorageError
from broker_core.log import checkpoints
from broker_core.log.partition_log import PartitionLog
from broker_core.records.errors import RecordsError

if TYPE_CHECKING:
    from broker_core.log.log_manager import LogManager, TopicPartition


MOST_LOGS = 512


@dataclass(slots=True)
class _Directory:
    """One log directory under way. `left`: partitions to come, the next one last; `opening`: one that is half open."""

    path: str
    clean: bool
    recovery_points: dict[TopicPartition, int]
    log_starts: dict[TopicPartition, int]
    cleaned: dict[TopicPartition, int]
    left: list[tuple[str, TopicPartition]] = field(default_factory=list)
    opening: PartitionLog | None = None


class LogLoading:
    """`opened` of `total` logs; `advance` until it says that all is done. `checked`: bytes so far."""

    def __init__(self, manager: LogManager, now_ms: int) -> None:
        self.manager = manager
        self.now_ms = now_ms
        self.opened = 0
        self.checked = 0
        self.directories: list[_Directory] = []
        for log_dir in manager.live_dirs():
            try:
                self.directories.append(self._begin(log_dir))
            except (StorageError, RecordsError, checkpoints.CorruptCheckpoint) as error:
                manager.fail_directory(log_dir, str(error))
                manager.clean = False
        self.total = sum(len(one.left) for one in self.directories)

    def _begin(self, log_dir: str) -> _Directory:
        manager = self.manager
        clean = checkpoints.read_clean_shutdown(manager.storage, log_dir) is not None
        points = manager.read_or_empty(log_dir, checkpoints.RECOVERY_POINTS)
        starts = manager.read_or_empty(log_dir, checkpoints.LOG_STARTS)
        cleaned = checkpoints.read_offsets(manager.storage, f"{log_dir}/{checkpoints.CLEANER_OFFSETS}")
        return _Directory(log_dir, clean, points, starts, cleaned, manager.list_directory(log_dir, self.now_ms)[::-1])

    def advance(self, most_work: int | None = None) -> bool:
        """Open logs until so much work was done (None: all). True when everything is open. Raises TwoLogs."""
        work, enough = 0, self.opened + MOST_LOGS
        while self.directories:
            now = self.directories[0]
            try:
                while now.left or now.opening is not None:
                    work += self._open(now, most_work - work if most_work is not None else None)
                    if most_work is not None and (work >= most_work or self.opened >= enough):
                        return False
                self.manager.storage.delete(f"{now.path}/{checkpoints.CLEAN_SHUTDOWN}")
            except (StorageError, RecordsError, checkpoints.CorruptCheckpoint) as error:
                self.manager.fail_directory(now.path, str(error))
                now.clean = False
            self.manager.clean &= now.clean
            self.directories.pop(0)
        return True

    def _open(self, now: _Directory, most_work: int | None) -> int:
        """The next log, or on with the one that is half open. What that took."""
        log = now.opening
        if log is None:
            name, key = now.left.pop()
            log = now.opening = self.manager.found_log(
                f"{now.path}/{name}", key, self.now_ms, now.clean, now.recovery_points.get(key, 0),
                now.log_starts.get(key, 0),
            )  # fmt: skip
        opening = log.opening
        assert opening is not None
        work = log.open(most_work)
        self.checked += opening.checked
        if log.opening is None:
            log.cleaned_to = now.cleaned.get((log.topic, log.partition), 0)
            self.opened += 1
            now.opening = None
            self.manager.opened(log)
        return work
