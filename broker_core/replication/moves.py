"""Replicas that move to another log directory of their broker: AlterReplicaLogDirs (KIP-113, KIP-858).

The copy, a future log (`log.futures`), follows the broker's own current log as a follower does its leader's:

    cut        what the current log does not have (any more), found by leader epochs
    append     `replica.fetch.max.bytes` [1 MiB] at a time; a thread moves one replica after the other
    caught up  with ZooKeeper: the copy takes the place of the log
               with KRaft: the controller is told where it will lie (AssignReplicasToDirs), and copied is on until it
               has agreed, so that a directory that fails a moment later takes the right replicas along

| asked for | answer |
|---|---|
| a directory that is none of this broker's | LOG_DIR_NOT_FOUND |
| one that is offline, or a replica whose directory is; while any is offline, since a copy may lie there | \
KAFKA_STORAGE_ERROR |
| a name so long that no copy of it can have a directory | INVALID_TOPIC_EXCEPTION |
| a partition with no replica here | REPLICA_NOT_AVAILABLE, and a replica that is made here later lies there |
| the directory where it lies | NONE: a move that is under way ends |
| another one than where it moves to | NONE: that copy goes, another one begins |

Nothing is lost by a move that fails or ends early: the current log is read and written all the time. While
`replica.alter.log.dirs.io.max.bytes.per.second` is exceeded (`quotas`) no thread takes the next piece, and each looks
again after `replica.fetch.backoff.ms`. (Kafka: ReplicaManager.alterReplicaLogDirs, ReplicaAlterLogDirsThread,
LocalLeaderEndPoint.)
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Protocol

from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import Node, Timer
from broker_core.log.errors import LogError
from broker_core.log.futures import is_too_long
from broker_core.log.log_manager import LogManager
from broker_core.log.partition_log import PartitionLog
from broker_core.purgatory.operations import DelayedOperationPurgatory
from broker_core.records.errors import RecordsError
from broker_core.replication.fetcher_manager import fetcher_number
from broker_core.replication.partition import FAILED, Partition
from broker_core.replication.quotas import ReplicationQuotas
from broker_core.replication.truncation import UNDEFINED, end_in_common
from broker_core.wire.errors import ErrorCode

BYTES_PER_US = 200
"""What a copy is read and written with: 200 MB/s, as the cleaner."""
TURN_US, ASKED_US = 1_000, 100_000
"""Until a thread's next slice at least; while the controller has not agreed yet."""
NOT_ASKED, ASKED, AGREED = "not asked", "asked", "agreed"
ASKED_FOR, DIRECTORY_OFFLINE, REPLICA_STOPPED = "asked for", "log directory offline", "replica stopped"
Key = tuple[str, int]
Agreed = Callable[[Any], None]
Assign = Callable[[uuid.UUID, int, str, Agreed | None, Any], bool]
"""(topic id, partition, log directory, called with the next argument when the controller has agreed): False when
nobody has to be asked."""


class MovesHost(Protocol):
    """What moves need of their broker."""

    node: Node
    broker_id: int
    backoff_us: int
    quotas: ReplicationQuotas
    fetch_max_bytes: int
    log_manager: LogManager
    partitions_by_name: dict[Key, Partition]
    delete_records_purgatory: DelayedOperationPurgatory

    def missing(self, topic: str, index: int) -> ErrorCode: ...

    def storage_failed(self, partition: Partition | None, error: StorageError) -> None: ...

    def moved(self, partition: Partition) -> None: ...


class Move:
    """One replica on its way. `source`: the directory in which it lies; `resume_us`: not before this time."""

    __slots__ = ("partition", "future", "source", "directory", "consent", "resume_us")

    def __init__(self, partition: Partition, future: PartitionLog) -> None:
        self.partition = partition
        self.future = future
        self.source = LogManager.dir_of(partition.log)
        self.directory = LogManager.dir_of(future)
        self.consent = NOT_ASKED
        self.resume_us = 0

    @property
    def key(self) -> Key:
        return self.partition.topic, self.partition.index


class MoveThread:
    """One of `num.replica.alter.log.dirs.threads` [one per log directory]: the first of its replicas by name, then the
    next. `timer`: its next turn."""

    def __init__(self, moves: ReplicaMoves) -> None:
        self.moves = moves
        self.replicas: dict[Key, Move] = {}
        self.timer: Timer | None = None
        self.held: Key | None = None  # the replica that the quota keeps from its next piece

    def add(self, move: Move) -> None:
        self.replicas[move.key] = move
        self.wake()

    def wake(self) -> None:
        """Something is possible now, whatever the thread waits for."""
        self._cancel()
        self.timer = self.moves.host.node.after(TURN_US, self._turn)

    def close(self) -> None:
        self.replicas.clear()
        self._cancel()

    def _cancel(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _turn(self) -> None:
        self.timer = None
        node = self.moves.host.node
        ready = [key for key, move in self.replicas.items() if move.resume_us <= node.now_us()]
        pause_us = self._slice(min(ready)) if ready else 0
        if not self.replicas:
            return
        soonest = min(move.resume_us for move in self.replicas.values()) - node.now_us()
        self.timer = node.after(max(TURN_US, pause_us, soonest), self._turn)

    def _slice(self, key: Key) -> int:
        """The next piece of a replica, or a pause: in microseconds."""
        host = self.moves.host
        if not host.quotas.moves.exceeded():
            self.held = None
            return self.moves.slice(self.replicas[key])
        if self.held != key:
            self.held = key
            host.quotas.moves.tell(*key, host.broker_id)
        return host.backoff_us


class ReplicaMoves:
    """Of one broker. `assign` is the port to its cluster."""

    def __init__(self, host: MovesHost, threads: int) -> None:
        self.host = host
        self.assign: Assign | None = None
        self.threads = [MoveThread(self) for _ in range(threads)]

    # -- what is asked for --------------------------------------------------------------------
    def alter(self, topic: str, index: int, log_dir: str) -> ErrorCode:
        """A replica is to lie in this directory; the table of the module."""
        if is_too_long(topic, index):
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if log_dir not in self.host.log_manager.log_dirs:
            return ErrorCode.LOG_DIR_NOT_FOUND
        if log_dir in self.host.log_manager.offline_dirs:
            return ErrorCode.KAFKA_STORAGE_ERROR
        try:
            return self._alter(topic, index, log_dir)
        except StorageError as error:
            self.host.storage_failed(None, error)
            return ErrorCode.KAFKA_STORAGE_ERROR

    def _alter(self, topic: str, index: int, log_dir: str) -> ErrorCode:
        host, futures = self.host, self.host.log_manager.futures
        partition, future = host.partitions_by_name.get((topic, index)), futures.get(topic, index)
        if partition is not None and partition.role == FAILED:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if partition is not None and future is not None and host.log_manager.dir_of(future) != log_dir:
            self.end((topic, index), ASKED_FOR)
            futures.delete(topic, index, host.node.wall_ms())
            future = None
        futures.wish(topic, index, log_dir)
        if partition is None:
            error = host.missing(topic, index)
            return ErrorCode.REPLICA_NOT_AVAILABLE if error == ErrorCode.NOT_LEADER_OR_FOLLOWER else error
        if future is None and host.log_manager.dir_of(partition.log) != log_dir:
            if host.log_manager.offline_dirs:
                return ErrorCode.KAFKA_STORAGE_ERROR
            self._begin(partition, futures.create(topic, index, host.node.wall_ms()))
        return ErrorCode.NONE

    def resume(self, partition: Partition) -> None:
        """A replica begins to be served of which a start may have found a copy."""
        futures = self.host.log_manager.futures
        future = futures.get(partition.topic, partition.index)
        if future is None or self.move_of(partition.topic, partition.index) is not None:
            return
        if self.host.log_manager.dir_of(future) == self.host.log_manager.dir_of(partition.log):
            futures.delete(partition.topic, partition.index, self.host.node.wall_ms())
        else:
            self._begin(partition, future)

    def _begin(self, partition: Partition, future: PartitionLog) -> None:
        move = Move(partition, future)
        self.host.node.emit(
            events.REPLICA_MOVE_BEGUN, topic=partition.topic, partition=partition.index, before=move.source,
            directory=move.directory, reached=future.log_end_offset, end=partition.log.log_end_offset,
        )  # fmt: skip
        self._thread(move.key).add(move)

    # -- what ends a move -----------------------------------------------------------------------
    def end(self, key: Key, reason: str) -> None:
        """Nothing more is copied; the copy stays where it is. What the controller was told is taken back."""
        move = self._thread(key).replicas.pop(key, None)
        if move is None:
            return
        if move.consent != NOT_ASKED and self.assign is not None:
            self.assign(move.partition.topic_id, move.partition.index, move.source, None, None)
        self.host.node.emit(
            events.REPLICA_MOVE_ENDED, topic=key[0], partition=key[1], directory=move.directory, reason=reason
        )

    def directory_failed(self, log_dir: str) -> None:
        """Whatever moves from there ends with its replica (`ReplicaManager.fail`); what moves there, here."""
        for thread in self.threads:
            for move in list(thread.replicas.values()):
                if move.directory == log_dir:
                    self.end(move.key, DIRECTORY_OFFLINE)

    def close(self) -> None:
        """The broker stops."""
        for thread in self.threads:
            thread.close()

    def move_of(self, topic: str, index: int) -> Move | None:
        """For observers, too."""
        return self._thread((topic, index)).replicas.get((topic, index))

    def _thread(self, key: Key) -> MoveThread:
        return self.threads[fetcher_number(*key, len(self.threads))]

    # -- copying --------------------------------------------------------------------------------
    def slice(self, move: Move) -> int:
        """The next piece of a copy, and the swap when it was the last one; what that has cost, in microseconds."""
        host, future = self.host, move.future
        faults = host.node.storage.faults
        if faults is not None:
            faults.take_debt()
        size = 0
        try:
            _cut(move)
            size = self._copy(move)
            if future.log_end_offset == move.partition.log.log_end_offset:
                self._caught_up(move)
        except (LogError, RecordsError):  # told by whoever reads or follows this log; Kafka tries again, too
            move.resume_us = host.node.now_us() + host.backoff_us
        except StorageError as error:
            self._storage_failed(move, error)
        return size // BYTES_PER_US + (faults.take_debt() if faults is not None else 0)

    def _copy(self, move: Move) -> int:
        """Bytes, then the marks, as a follower takes them."""
        partition, future, node = move.partition, move.future, self.host.node
        current, first = partition.log, future.log_end_offset
        if first < current.log_start_offset:
            future.truncate_fully_and_start_at(current.log_start_offset)
            first = future.log_end_offset
        found = current.read(first, self.host.fetch_max_bytes, current.log_end_offset)
        if found.size:
            info = future.append_as_follower([part.read() for part in found.slices], node.wall_ms())
            self.host.quotas.moves.record(info.bytes)
            if node.messages:
                node.note(events.REPLICA_COPIED, {
                    "topic": partition.topic, "partition": partition.index, "base_offset": info.first_offset,
                    "last_offset": info.last_offset, "bytes": info.bytes, "directory": move.directory,
                })  # fmt: skip
        future.update_high_watermark(current.high_watermark)
        if future.log_start_offset < current.log_start_offset <= future.high_watermark:
            future.delete_records_before(current.log_start_offset)
            self.host.delete_records_purgatory.check_soon(partition)
        return found.size

    def _caught_up(self, move: Move) -> None:
        partition = move.partition
        if move.consent == NOT_ASKED:
            given = (partition.topic_id, partition.index, move.directory, self._agreed, move)
            move.consent = ASKED if self.assign is not None and self.assign(*given) else AGREED
        if move.consent == AGREED:
            self._swap(move)
        else:
            move.resume_us = self.host.node.now_us() + ASKED_US

    def _agreed(self, move: Move) -> None:
        """The controller knows where the replica will lie."""
        thread = self._thread(move.key)
        if thread.replicas.get(move.key) is move and move.consent == ASKED:
            move.consent, move.resume_us = AGREED, 0
            thread.wake()

    def _swap(self, move: Move) -> None:
        key = move.key
        move.partition.log = self.host.log_manager.futures.replace_current(*key, self.host.node.wall_ms())
        move.partition.last_reading = None
        del self._thread(key).replicas[key]
        self.host.moved(move.partition)

    def _storage_failed(self, move: Move, error: StorageError) -> None:
        """One of the two directories. A disk that fails in the middle of a swap takes the replica along: its log is the
        copy by then, and nobody has been told (as in Kafka, until the next start)."""
        halfway = self.host.log_manager.get(*move.key) is move.future
        if halfway:
            self._thread(move.key).replicas.pop(move.key, None)
        self.host.storage_failed(move.partition if halfway else None, error)


def _cut(move: Move) -> None:
    """Make the copy a prefix of the current log: what was cut there, or came under another leader, goes here, too."""
    current, future = move.partition.log, move.future
    while (latest := future.leader_epochs.latest_epoch) != UNDEFINED:
        epoch, end = current.leader_epochs.end_offset_for(latest)
        future.truncate_to(min(end_in_common(future, epoch, end), future.log_end_offset))
        if future.leader_epochs.latest_epoch in (UNDEFINED, epoch, latest) or epoch == UNDEFINED:
            break
    if future.log_end_offset > current.log_end_offset:
        future.truncate_to(current.log_end_offset)
