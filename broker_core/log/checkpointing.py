"""What a broker writes down of its logs from time to time, in each log directory (`checkpoints` has the formats).

    recovery points, log starts   every `log.flush.offset.checkpoint.interval.ms` [1 min], and at a clean stop
    high watermarks               the same, and every `replica.high.watermark.checkpoint.interval.ms` [5 s]
    cleaner offsets               after each cleaning

A copy that is on its way to a directory (`futures`) has its lines in the files of the directory to which it moves: the
same topic and partition stand in two files then, with an offset each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from broker_core.kernel.errors import StorageError
from broker_core.log import checkpoints

if TYPE_CHECKING:
    from broker_core.log.log_manager import LogManager, TopicPartition
    from broker_core.log.partition_log import PartitionLog


class Checkpointing:
    """Of one broker. `marks`: log directory -> the high watermarks that its file has."""

    def __init__(self, manager: LogManager) -> None:
        self.manager = manager
        self.marks: dict[str, dict[TopicPartition, int]] = {}

    def read_marks(self, log_dir: str) -> None:
        """At a start. Raises CorruptCheckpoint and StorageError."""
        path = f"{log_dir}/{checkpoints.HIGH_WATERMARKS}"
        self.marks[log_dir] = checkpoints.read_offsets(self.manager.storage, path)

    def mark_of(self, log: PartitionLog) -> int:
        """The checkpointed high watermark (0 when there is none), never behind the log end."""
        mark = self.marks.get(self.manager.dir_of(log), {}).get((log.topic, log.partition), 0)
        return max(log.log_start_offset, min(mark, log.log_end_offset))

    def marks_below(self, log_dir: str, key: TopicPartition) -> int:
        """What the file of a directory says of a partition."""
        return self.marks.get(log_dir, {}).get(key, 0)

    def forget_mark(self, log_dir: str, key: TopicPartition) -> None:
        """A log that is new there, or gone from there."""
        self.marks.get(log_dir, {}).pop(key, None)

    def everything(self) -> None:
        """Recovery points, log starts and high watermarks of every directory."""
        for log_dir in self.manager.live_dirs():
            try:
                self.directory(log_dir)
            except StorageError as error:
                self.manager.fail_directory(log_dir, str(error))

    def directory(self, log_dir: str) -> None:
        """The same of one directory. Raises StorageError."""
        storage, logs = self.manager.storage, self.manager.logs_in(log_dir)
        points = {(log.topic, log.partition): log.recovery_point for log in logs}
        starts = {
            (log.topic, log.partition): log.log_start_offset
            for log in logs
            if log.log_start_offset > log.segments[0].base_offset
        }
        checkpoints.write_offsets(storage, f"{log_dir}/{checkpoints.RECOVERY_POINTS}", points)
        checkpoints.write_offsets(storage, f"{log_dir}/{checkpoints.LOG_STARTS}", starts)
        if any(log.cleaned_to for log in logs):
            self.cleaner(log_dir)
        self._write_marks(log_dir)

    def cleaner(self, log_dir: str) -> None:
        """`cleaner-offset-checkpoint`: how far each log has been cleaned."""
        manager = self.manager
        offsets = {(log.topic, log.partition): log.cleaned_to for log in manager.logs_in(log_dir) if log.cleaned_to}
        try:
            checkpoints.write_offsets(manager.storage, f"{log_dir}/{checkpoints.CLEANER_OFFSETS}", offsets)
        except StorageError as error:
            manager.fail_directory(log_dir, str(error))

    def high_watermarks(self, given: Mapping[TopicPartition, int] | None = None) -> None:
        """`replication-offset-checkpoint`: each log's own high watermark, or the ones given."""
        manager = self.manager
        for key, offset in (given or {}).items():
            log = manager.get(*key)
            if log is not None:
                log.update_high_watermark(offset)
        for log_dir in manager.live_dirs():
            try:
                self._write_marks(log_dir)
            except StorageError as error:
                manager.fail_directory(log_dir, str(error))

    def _write_marks(self, log_dir: str) -> None:
        marks = {(log.topic, log.partition): log.high_watermark for log in self.manager.logs_in(log_dir)}
        self.marks.setdefault(log_dir, {}).update(marks)
        checkpoints.write_offsets(self.manager.storage, f"{log_dir}/{checkpoints.HIGH_WATERMARKS}", marks)
