"""All logs of one broker, spread over its log directories (`log.dirs`).

A partition lies wholly in one directory. A new one goes where the fewest partitions are: by count,
not by bytes, so a full disk can stand next to an empty one.

Each log directory holds, beside the partitions,

| file | |
|---|---|
| `.kafka_cleanshutdown` | the last stop was controlled: nothing has to be scanned. Removed at every start |
| `recovery-point-offset-checkpoint` | up to where each log is known to be flushed |
| `replication-offset-checkpoint` | high watermarks |
| `log-start-offset-checkpoint` | log starts that are not a segment's base |
| `cleaner-offset-checkpoint` | up to where compacted logs have been cleaned |
| `meta.properties` | whose directory it is |

Nothing happens by itself here: the broker calls `run_retention`, `forget_producers`, `run_flush`,
`delete_expired_files` and those of `checkpointing` when it is time (`log.retention.check.interval.ms` [5 min],
`log.flush.scheduler.interval.ms`, `log.flush.offset.checkpoint.interval.ms` [1 min]).

A StorageError while a directory is read or written makes that directory fail (`fail_directory`):
its logs are gone from here, the other directories go on.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence

from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.storage import Storage
from broker_core.log import checkpoints
from broker_core.log.checkpointing import Checkpointing
from broker_core.log.config import LogConfig
from broker_core.log.deletions import AT_ONCE, Deletions
from broker_core.log.facts import Emit, no_journal
from broker_core.log.futures import FutureLogs, TwoLogs, future_of
from broker_core.log.loading import LogLoading
from broker_core.log.partition_log import PartitionLog
from broker_core.log.producers import EXPIRATION_MS

DELETE_SUFFIX = "-delete"
CLUSTER_METADATA = "__cluster_metadata"
"""The topic of the quorum's log, which lies beside the others and is none of them."""
TopicPartition = tuple[str, int]


def partition_of(directory_name: str) -> TopicPartition | None:
    """`orders-0` -> ("orders", 0); None when it is no partition's directory."""
    topic, dash, number = directory_name.rpartition("-")
    return (topic, int(number)) if dash and topic and number.isdigit() and number.isascii() else None


class LogManager:
    """See the module. `get` and `logs` know only the directories that work, and no copies that move (`futures`)."""

    def __init__(
        self,
        storage: Storage,
        log_dirs: Sequence[str],
        default_config: LogConfig,
        broker_id: int,
        emit: Emit = no_journal,
        *,
        producer_expiration_ms: int = EXPIRATION_MS,
        topic_configs: Mapping[str, LogConfig] | None = None,
    ) -> None:
        """`topic_configs`: what is known of topics' own settings before `load`."""
        self.storage = storage
        self.log_dirs = list(log_dirs)
        self.offline_dirs: dict[str, str] = {}
        self.on_failure: Callable[[str, list[TopicPartition]], None] | None = None
        self.default_config = default_config
        self.broker_id = broker_id
        self.emit = emit
        self.clean = False
        self.previous_broker_epoch = checkpoints.NO_BROKER_EPOCH
        self.producer_expiration_ms = producer_expiration_ms
        self._topic_configs: dict[str, LogConfig] = dict(topic_configs or {})
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self.futures = FutureLogs(self)
        self.checkpointing = Checkpointing(self)
        self._deletions = Deletions(storage)
        self._deleted = 0

    # --- start and stop ----------------------------------------------------------------------

    def load(self, now_ms: int) -> None:
        """Open every log of every directory at one go, recovering what was not shut down cleanly. Raises TwoLogs."""
        self.begin_loading(now_ms).advance()

    def begin_loading(self, now_ms: int) -> LogLoading:
        """The same in slices."""
        self.clean = bool(self.log_dirs)
        self.previous_broker_epoch = self.read_previous_epoch()
        return LogLoading(self, now_ms)

    def read_previous_epoch(self) -> int:
        """Of the broker that has shut down cleanly in all directories; -1 otherwise (KIP-966)."""
        try:
            epochs = {checkpoints.read_clean_shutdown(self.storage, log_dir) for log_dir in self.log_dirs}
        except StorageError:
            return checkpoints.NO_BROKER_EPOCH
        epoch = epochs.pop() if len(epochs) == 1 and not self.offline_dirs else None
        return checkpoints.NO_BROKER_EPOCH if epoch is None else epoch

    def list_directory(self, log_dir: str, now_ms: int) -> list[tuple[str, TopicPartition]]:
        """(directory, topic and partition) of its logs. High watermarks are read, left-overs of deletions noted."""
        self.checkpointing.read_marks(log_dir)
        found: list[tuple[str, TopicPartition]] = []
        for name in self.storage.list(log_dir):
            key = partition_of(future_of(name) or name)
            if name.endswith(DELETE_SUFFIX):
                self._deletions.add(now_ms + self.default_config.file_delete_delay_ms, f"{log_dir}/{name}")
            elif key is not None and key[0] != CLUSTER_METADATA:
                found.append((name, key))
        return found

    def found_log(
        self, directory: str, key: TopicPartition, now_ms: int, clean: bool, recovery_point: int, log_start: int
    ) -> PartitionLog:
        """A log that is there, to be opened in slices: recovered where it was not shut down cleanly."""
        log_dir, _, name = directory.rpartition("/")
        return PartitionLog(
            self.storage, directory, *key, self.config_of(key[0]), now_ms,
            emit=no_journal if future_of(name) else self.emit, clean=clean, recovery_point=recovery_point,
            log_start_offset=log_start, high_watermark=self.checkpointing.marks_below(log_dir, key),
            producer_expiration_ms=self.producer_expiration_ms, in_slices=True,
        )  # fmt: skip

    def opened(self, log: PartitionLog) -> None:
        """One that was found is open now. Raises TwoLogs."""
        twin = self.get(log.topic, log.partition)
        if future_of(log.directory.rpartition("/")[2]):
            log.update_high_watermark(self.checkpointing.mark_of(log))
            self.futures.add(log)
        elif twin is not None:
            raise TwoLogs(twin.directory, log.directory)
        else:
            self.add_log(log)

    def add_log(self, log: PartitionLog) -> None:
        """It is the current log of its partition."""
        self._logs[log.topic, log.partition] = log

    def read_or_empty(self, log_dir: str, name: str) -> dict[TopicPartition, int]:
        """A checkpoint of these that cannot be read counts as empty."""
        try:
            return checkpoints.read_offsets(self.storage, f"{log_dir}/{name}")
        except checkpoints.CorruptCheckpoint as error:
            self.emit(events.FILE_GIVEN_UP, path=f"{log_dir}/{name}", error=error.reason, reaction="taken as empty")
            return {}

    def shut_down(self, broker_epoch: int = checkpoints.NO_BROKER_EPOCH) -> None:
        """Flush and close every log, write the checkpoints and the clean-shutdown marker.

        `broker_epoch`: what a KRaft broker tells at its next registration (`previous_broker_epoch`).
        """
        for log_dir in self.live_dirs():
            try:
                for log in self.logs_in(log_dir):
                    log.close()
                self.checkpointing.directory(log_dir)
                checkpoints.write_clean_shutdown(self.storage, log_dir, broker_epoch)
            except StorageError as error:
                self.fail_directory(log_dir, str(error))

    # --- logs --------------------------------------------------------------------------------

    def get(self, topic: str, partition: int) -> PartitionLog | None:
        return self._logs.get((topic, partition))

    def get_or_create(
        self,
        topic: str,
        partition: int,
        config: LogConfig | None = None,
        topic_id: uuid.UUID = checkpoints.NO_UUID,
        now_ms: int = 0,
        is_new: bool = True,
    ) -> PartitionLog:
        """The log of a partition; a new one goes where it was wished for, or to the directory with the fewest.

        One that is not `is_new` may lie in a directory that is offline: it is not made a second time.
        Raises StorageError.
        """
        if config is not None:
            self._topic_configs[topic] = config
        log = self._logs.get((topic, partition))
        if log is None:
            if self.offline_dirs and not is_new:
                raise StorageError(",".join(self.offline_dirs), "create", f"{topic}-{partition} may lie there")
            log = self._create(topic, partition, topic_id, now_ms)
        elif topic_id != checkpoints.NO_UUID and log.topic_id == checkpoints.NO_UUID:
            log.assign_topic_id(topic_id)
        return log

    def _create(self, topic: str, partition: int, topic_id: uuid.UUID, now_ms: int) -> PartitionLog:
        log_dir = self.futures.wished.pop((topic, partition), None) or self._emptiest_dir()
        log = PartitionLog(
            self.storage, f"{log_dir}/{topic}-{partition}", topic, partition, self.config_of(topic), now_ms,
            emit=self.emit, topic_id=topic_id, producer_expiration_ms=self.producer_expiration_ms,
        )  # fmt: skip
        self._logs[topic, partition] = log
        self.checkpointing.forget_mark(log_dir, (topic, partition))
        if len(self.log_dirs) > 1:
            log.fact(events.REPLICA_PLACED, directory=log_dir)
        return log

    def _emptiest_dir(self) -> str:
        live = self.live_dirs()
        if not live:
            raise StorageError(",".join(self.log_dirs), "create", "no log directory is online")
        if len(live) == 1:
            return live[0]
        counts = dict.fromkeys(live, 0)
        for log in (*self._logs.values(), *self.futures.logs()):
            counts[self.dir_of(log)] += 1
        return min(live, key=counts.__getitem__)

    def delete(self, topic: str, partition: int, now_ms: int) -> None:
        """The topic is gone: its log, and a copy that was on its way."""
        self.delete_current(topic, partition, now_ms)
        self.futures.delete(topic, partition, now_ms)

    def delete_current(self, topic: str, partition: int, now_ms: int) -> None:
        """The log alone."""
        log = self._logs.pop((topic, partition), None)
        if log is not None:
            size, first = log.size_bytes, log.segments[0].base_offset
            self.retire(log, now_ms)
            log.fact(events.SEGMENT_DELETED, base_offset=first, reason="topic deleted", bytes=size)

    def retire(self, log: PartitionLog, now_ms: int) -> None:
        """Rename the directory to `...-delete`; its files go `file.delete.delay.ms` later. Raises StorageError."""
        self.checkpointing.forget_mark(self.dir_of(log), (log.topic, log.partition))
        self._deleted += 1
        name = f"{self.broker_id}/{log.topic}-{log.partition}/{now_ms}/{self._deleted}"
        log.rename_for_delete(uuid.uuid5(uuid.NAMESPACE_OID, name).hex)
        self._deletions.add(now_ms + log.config.file_delete_delay_ms, log.directory)

    def logs(self) -> list[PartitionLog]:
        """Every current log, in the order of topic and partition."""
        return [self._logs[key] for key in sorted(self._logs)]

    def all_logs(self) -> list[PartitionLog]:
        """Current ones, then the copies that move."""
        return [*self.logs(), *self.futures.logs()]

    def logs_in(self, log_dir: str) -> list[PartitionLog]:
        """All that lie in a directory."""
        return [log for log in self.all_logs() if self.dir_of(log) == log_dir]

    @staticmethod
    def dir_of(log: PartitionLog) -> str:
        """The log directory that a log lies in."""
        return log.directory.rpartition("/")[0]

    def live_dirs(self) -> list[str]:
        return [log_dir for log_dir in self.log_dirs if log_dir not in self.offline_dirs]

    def fail_directory(self, log_dir: str, reason: str) -> list[TopicPartition]:
        """Take a directory offline; returns the partitions that went with it."""
        if log_dir in self.offline_dirs:
            return []
        self.offline_dirs[log_dir] = reason
        gone = [key for key in sorted(self._logs) if self.dir_of(self._logs[key]) == log_dir]
        for key in gone:
            del self._logs[key]
        self.futures.forget_below(log_dir)
        self._deletions.forget_below(log_dir)
        self.emit(events.DISK_FAULT, path=log_dir, error=reason, operation="log directory offline")
        if self.on_failure is not None:
            self.on_failure(log_dir, gone)
        return gone

    def storage_failed(self, error: StorageError) -> None:
        """An operation somewhere below a log directory has failed."""
        for log_dir in self.live_dirs():
            if error.path == log_dir or error.path.startswith(log_dir + "/"):
                self.fail_directory(log_dir, str(error))

    # --- settings ----------------------------------------------------------------------------

    def config_of(self, topic: str) -> LogConfig:
        return self._topic_configs.get(topic, self.default_config)

    def update_topic_config(self, topic: str, config: LogConfig) -> None:
        """A topic's settings have changed: they hold from the next append on."""
        self._topic_configs[topic] = config
        for log in self.all_logs():
            if log.topic == topic:
                log.config = config

    def update_default_config(self, config: LogConfig) -> None:
        """The broker's settings have changed, for topics without their own."""
        self.default_config = config
        for log in self.all_logs():
            if log.topic not in self._topic_configs:
                log.config = config

    def update_producer_expiration(self, expiration_ms: int) -> None:
        """`producer.id.expiration.ms` has changed."""
        self.producer_expiration_ms = expiration_ms
        for log in self.all_logs():
            log.producers.expiration_ms = expiration_ms

    # --- work that the broker schedules ------------------------------------------------------

    def run_retention(self, now_ms: int) -> int:
        """Delete old segments. Returns how many went.

        Of compacted logs the cleaner deletes them.
        """
        count = 0
        for log in self.all_logs():
            if not log.config.is_compacted:
                count += self.delete_old_segments_of(log, now_ms)
        return count

    def forget_producers(self, now_ms: int) -> None:
        """Those that have been silent for `producer.id.expiration.ms`."""
        for log in self.logs():
            log.producers.expire(now_ms)

    def delete_old_segments_of(self, log: PartitionLog, now_ms: int) -> int:
        """Retention of one log."""
        try:
            return log.delete_old_segments(now_ms)
        except StorageError as error:
            self.fail_directory(self.dir_of(log), str(error))
            return 0

    def compacted_logs(self) -> list[PartitionLog]:
        """Logs whose `cleanup.policy` has `compact`, in the order of topic and partition."""
        return [self._logs[key] for key in sorted(key for key, log in self._logs.items() if log.config.is_compacted)]

    def run_flush(self, now_ms: int) -> int:
        """Flush the logs for which it is time. Returns how many."""
        count = 0
        for log in self.all_logs():
            try:
                count += log.maybe_flush(now_ms)
            except StorageError as error:
                self.fail_directory(self.dir_of(log), str(error))
        return count

    @property
    def has_deleted(self) -> bool:
        """Whether files that were deleted wait for `file.delete.delay.ms`."""
        waiting = (due for log in self.all_logs() for due, _ in log.deleted_files)
        return self._deletions.wait or any(due != AT_ONCE for due in waiting)

    def end_delay_of_deleted(self) -> None:
        """What was deleted up to now may go, as if `file.delete.delay.ms` were over."""
        self._deletions.end_delay()
        for log in self.all_logs():
            log.deleted_files = [(AT_ONCE, path) for _, path in log.deleted_files]

    def delete_expired_files(self, now_ms: int, most: int | None = None) -> bool:
        """Remove what was renamed to `.deleted` or `-delete` and whose delay is over, at most so many files.

        False when the slice ends before all of it is gone.
        """
        try:
            return self._delete_expired(now_ms, most)
        except StorageError as error:
            self.storage_failed(error)
            return True

    def _delete_expired(self, now_ms: int, most: int | None) -> bool:
        done = 0
        for log in self.all_logs():
            if log.deleted_files:
                done += log.delete_expired_files(now_ms, None if most is None else most - done)
                if done == most:
                    return False
        return self._deletions.remove(now_ms, most, done)

    def high_watermark_checkpoint(self, topic: str, partition: int) -> int:
        """See `Checkpointing.mark_of`; 0 where there is no log."""
        log = self._logs.get((topic, partition))
        return 0 if log is None else self.checkpointing.mark_of(log)
