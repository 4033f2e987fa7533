"""A log that is to lie in another log directory of its broker (AlterReplicaLogDirs, KIP-113).

    a/orders-0                       the current log: it goes on, read and written
    b/orders-0.<unique>-future       the future log: a copy that grows (`replication.moves` copies)

    the copy has reached the end of the current log:
    1  b/orders-0.<unique>-future  -> b/orders-0
    2  a/orders-0                  -> a/orders-0.<unique>-delete, whose files go `file.delete.delay.ms` later

| a process that ends | leaves | its next start |
|---|---|---|
| before 1 | a current and a future log | goes on copying |
| between 1 and 2 | two logs that both claim to be the current one | refuses: somebody has to say which of them goes |
| behind 2 | the moved log | has nothing to do |
| (a directory is gone, too) | a future log without a current one | the future log waits; with KRaft it becomes the \
current one where the controller had agreed to the move |

A future log counts as a partition of its directory when the emptiest one is looked for. The log cleaner leaves a log
alone while it moves, and takes it up where it was. (Kafka: LogManager.futureLogs, replaceCurrentWithFutureLog.)
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.log.facts import no_journal
from broker_core.log.partition_log import PartitionLog
from broker_core.log.renaming import LONGEST_NAME

if TYPE_CHECKING:
    from broker_core.log.log_manager import LogManager, TopicPartition

FUTURE_SUFFIX = "-future"
UNIQUE = 32


class TwoLogs(Exception):
    """A partition has two directories, and both are its current log: nobody can say which of them is newer."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"duplicate log directories: {first}, {second}")
        self.first, self.second = first, second


def future_of(directory_name: str) -> str | None:
    """`orders-0.5f..9a-future` -> "orders-0"; None when it is no future log's directory."""
    if not directory_name.endswith(FUTURE_SUFFIX):
        return None
    name, dot, _ = directory_name[: -len(FUTURE_SUFFIX)].rpartition(".")
    return name if dot else None


def is_too_long(topic: str, partition: int) -> bool:
    """Whether no future log of it can have a directory: file names end at 255 bytes (KAFKA-4893)."""
    return len(f"{topic}-{partition}.") + UNIQUE + len(FUTURE_SUFFIX) > LONGEST_NAME


class FutureLogs:
    """Of one broker. `wished`: where a log is to lie that is made later, here or as a future log.

    A future log lies in another directory than the current log of its partition. It tells the journal nothing: what
    becomes of a copy is no news of its partition.
    """

    def __init__(self, manager: LogManager) -> None:
        self.manager = manager
        self.wished: dict[TopicPartition, str] = {}
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._made = 0

    def get(self, topic: str, partition: int) -> PartitionLog | None:
        return self._logs.get((topic, partition))

    def logs(self) -> list[PartitionLog]:
        """In the order of topic and partition."""
        return [self._logs[key] for key in sorted(self._logs)]

    def wish(self, topic: str, partition: int, log_dir: str) -> None:
        """It is to lie there, unless it does, or is on its way."""
        logs = (self.manager.get(topic, partition), self.get(topic, partition))
        if not any(log is not None and self.manager.dir_of(log) == log_dir for log in logs):
            self.wished[topic, partition] = log_dir

    def add(self, log: PartitionLog) -> None:
        """One that was found at a start. Raises TwoLogs."""
        twin = self.get(log.topic, log.partition)
        if twin is not None:
            raise TwoLogs(twin.directory, log.directory)
        self._logs[log.topic, log.partition] = log

    def create(self, topic: str, partition: int, now_ms: int) -> PartitionLog:
        """An empty one in the wished directory. Raises StorageError."""
        manager = self.manager
        if manager.offline_dirs:
            path = ",".join(manager.offline_dirs)
            raise StorageError(path, "create", f"a future log of {topic}-{partition} may lie there")
        current = manager.get(topic, partition)
        log_dir = self.wished.pop((topic, partition))
        assert current is not None and manager.dir_of(current) != log_dir
        directory = f"{log_dir}/{topic}-{partition}.{self._unique(topic, partition, now_ms)}{FUTURE_SUFFIX}"
        log = PartitionLog(
            manager.storage, directory, topic, partition, manager.config_of(topic), now_ms,
            topic_id=current.topic_id, producer_expiration_ms=manager.producer_expiration_ms,
        )  # fmt: skip
        self._logs[topic, partition] = log
        manager.checkpointing.forget_mark(log_dir, (topic, partition))
        return log

    def _unique(self, topic: str, partition: int, now_ms: int) -> str:
        self._made += 1
        return uuid.uuid5(
            uuid.NAMESPACE_OID, f"{self.manager.broker_id}/{topic}-{partition}/{now_ms}/future/{self._made}"
        ).hex

    def delete(self, topic: str, partition: int, now_ms: int) -> bool:
        """It is not wanted any more: renamed to `-delete`; False when there is none. Raises StorageError."""
        log = self._logs.pop((topic, partition), None)
        if log is None:
            return False
        self.manager.retire(log, now_ms)
        return True

    def forget_below(self, log_dir: str) -> None:
        """The directory is offline."""
        for key in [key for key, log in self._logs.items() if self.manager.dir_of(log) == log_dir]:
            del self._logs[key]

    def replace_current(self, topic: str, partition: int, now_ms: int) -> PartitionLog:
        """Steps 1 and 2 of the module. Raises StorageError; after step 1 the future log is the current one, whatever
        becomes of the other."""
        manager, key = self.manager, (topic, partition)
        current, log = manager.get(topic, partition), self._logs[key]
        source_dir, log_dir = "" if current is None else manager.dir_of(current), manager.dir_of(log)
        log.move_directory(f"{log_dir}/{topic}-{partition}")
        del self._logs[key]
        log.emit = manager.emit
        if current is not None:
            log.update_high_watermark(current.high_watermark)
            log.leader_epochs.follow(current.leader_epochs)
            log.cleaned_to = min(current.cleaned_to, log.log_end_offset)
        manager.add_log(log)
        log.fact(events.REPLICA_MOVED, directory=log_dir, before=source_dir, bytes=log.size_bytes)
        if current is not None:
            current.emit = no_journal
            manager.retire(current, now_ms)
            manager.checkpointing.directory(source_dir)
        if log.cleaned_to:
            manager.checkpointing.cleaner(log_dir)
        return log
