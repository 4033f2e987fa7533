"""The replicas of one broker, and every request that touches their logs.

| request                | served by                | may wait in             |
|------------------------|--------------------------|-------------------------|
| Produce                | `appending`              | the produce purgatory   |
| Fetch                  | `fetching`, `reading`    | the fetch purgatory     |
| ListOffsets, OffsetsForLeaderEpoch | `offsets`    |                         |
| DeleteRecords          | `offsets`                | the delete purgatory    |
| AlterReplicaLogDirs    | `moves`                  |                         |
| (what the controller decides) | `taking_over`, `leadership` |                  |

On its own it shrinks ISRs (every half `replica.lag.time.max.ms`), writes high watermarks to
`replication-offset-checkpoint` (every `replica.high.watermark.checkpoint.interval.ms`, from the first
assignment on), and runs the fetchers of the partitions that it follows.

The way of one record with acks=all, two followers, both parked on the leader:

    produce -> leader appends -> both parked fetches look once, answer with the batch
            -> each follower appends it by reference and fetches again from behind it
            -> the second of these fetches moves the high watermark -> the produce is answered

(Kafka: kafka.server.ReplicaManager.)
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import Node, Repeating
from broker_core.log.config import LogConfig
from broker_core.log.log_manager import LogManager
from broker_core.metadata.delta import ReplicaChange, ReplicaStop
from broker_core.purgatory.operations import DelayedOperationPurgatory
from broker_core.replication.alter_partition import AlterPartitionPort, AlterPartitionQueue
from broker_core.replication.appending import Appending, PartitionProduceResult
from broker_core.replication.fetch_session import FetchSessionCache
from broker_core.replication.fetcher_manager import FetcherManager
from broker_core.replication.fetching import Fetching
from broker_core.replication.isr_changes import IsrChanges
from broker_core.replication.leadership import Leadership, Led
from broker_core.replication.meters import Meters
from broker_core.replication.moves import DIRECTORY_OFFLINE, ReplicaMoves
from broker_core.replication.offsets import Offsets
from broker_core.replication.partition import FAILED, Partition
from broker_core.replication.protections import Protections
from broker_core.replication.quotas import ReplicationQuotas
from broker_core.replication.reading import Reader
from broker_core.replication.replica import Replica
from broker_core.replication.taking_over import TakenOver, TakingOver
from broker_core.wire.errors import ErrorCode
from broker_core.wire.rpc import RpcClient

__all__ = ["PartitionProduceResult", "ReplicaManager"]

Done = Callable[[Any, Any], None]


class ReplicaManager:
    """See the module. Callables among the arguments are bound methods (the world is pickled).

    `rpc(name)` makes a named connection, whose responses and lost peers its owner hands on.
    Optional ports, set by the broker after construction:
        on_leadership(elected, resigned)   lists of (topic, partition, leader epoch)
        log_config_of(topic) -> LogConfig  settings of a topic (default: what the log manager knows)
        topic_name(topic_id) -> str|None   from the metadata cache (default: from the partitions here)
        topic_known(topic, partition)      the metadata cache has it: NOT_LEADER_OR_FOLLOWER, not UNKNOWN_*
        on_directory_failure(log_dir)      this log directory is offline now
    """

    def __init__(
        self,
        node: Node,
        broker_id: int,
        config: Mapping[str, Any],
        log_manager: LogManager,
        rpc: Callable[[str], RpcClient],
        alter_partition: AlterPartitionPort,
        broker_epoch: Callable[[], int],
        node_name_of: Callable[[int], str],
        protections: Protections | None = None,
    ) -> None:
        self.node = node
        self.broker_id = broker_id
        self.log_manager = log_manager
        self.broker_epoch = broker_epoch
        self.protections = protections or Protections()
        self.meters = Meters()
        self.quotas = ReplicationQuotas(node, broker_id, config)
        self._take_config(config)
        self.partitions_by_name: dict[tuple[str, int], Partition] = {}
        self.produce_purgatory = DelayedOperationPurgatory(node, "Produce", in_order=True)
        self.fetch_purgatory = DelayedOperationPurgatory(node, "Fetch")
        self.delete_records_purgatory = DelayedOperationPurgatory(node, "DeleteRecords")
        self.on_leadership: Callable[[Led, Led], None] | None = None
        self.log_config_of: Callable[[str], LogConfig] = log_manager.config_of
        self.topic_known: Callable[[str, int], bool] | None = None
        self.topic_name: Callable[[uuid.UUID], str | None] = self._topic_name_here
        self.on_directory_failure: Callable[[str], None] | None = None
        log_manager.on_failure = self.directory_failed
        self._compose(config, rpc, alter_partition, node_name_of)
        self._timers: list[Repeating] = []
        self._checkpointing: Repeating | None = None
        self._checkpointed: dict[tuple[str, int], int] = {}

    def _take_config(self, config: Mapping[str, Any]) -> None:
        self.lag_time_max_ms: int = config["replica.lag.time.max.ms"]
        self.backoff_us: int = config["replica.fetch.backoff.ms"] * 1000
        self.socket_timeout_us: int = config["replica.socket.timeout.ms"] * 1000
        self.fetch_wait_max_ms: int = config["replica.fetch.wait.max.ms"]
        self.fetch_min_bytes: int = config["replica.fetch.min.bytes"]
        self.fetch_max_bytes: int = config["replica.fetch.max.bytes"]
        self.fetch_response_max_bytes: int = config["replica.fetch.response.max.bytes"]
        self._checkpoint_us: int = config["replica.high.watermark.checkpoint.interval.ms"] * 1000

    def _compose(
        self, config: Mapping[str, Any], rpc: Callable[[str], RpcClient], alter_partition: AlterPartitionPort,
        node_name_of: Callable[[int], str],
    ) -> None:  # fmt: skip
        node, partitions = self.node, self.partitions_by_name
        self.isr_changes = IsrChanges(self)
        self.isr_changes.queue = AlterPartitionQueue(
            node, self.broker_id, self.broker_epoch, alter_partition, self.isr_changes.answered
        )
        self.fetchers = FetcherManager(self, rpc, node_name_of, config["num.replica.fetchers"])
        self.moves = ReplicaMoves(self, config["num.replica.alter.log.dirs.threads"] or len(self.log_manager.log_dirs))
        self.leadership = Leadership(self, self.fetchers, self.isr_changes)
        self.taking_over = TakingOver(node, self.leadership, partitions)
        self.appending = Appending(node, partitions, self.produce_purgatory, self.missing, self.storage_failed)
        self.reader = Reader(self, partitions, self._topic_name, self.missing, self.quotas.leader)
        self.sessions = FetchSessionCache(node, config["max.incremental.fetch.session.cache.slots"])
        self.fetching = Fetching(
            node, self.reader, self.sessions, self.fetch_purgatory, config["fetch.max.bytes"], self.meters
        )
        self.offsets = Offsets(self, partitions, self.missing)

    # -- life -------------------------------------------------------------------------------
    def start(self) -> None:
        """The logs are loaded: take over their checkpointed high watermarks, begin to look after ISRs."""
        for log in self.log_manager.logs():
            log.update_high_watermark(self.log_manager.high_watermark_checkpoint(log.topic, log.partition))
        self._timers.append(self.node.every(max(1, self.lag_time_max_ms * 500), self._shrink_isrs))

    def stop(self) -> None:
        """A controlled end: no fetcher, no timer; high watermarks are written once more."""
        self.taking_over.close()
        self.fetchers.close()
        self.moves.close()
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        self._checkpointing = None
        self.checkpoint_high_watermarks()

    def first_assignment(self) -> None:
        """From now on the high watermarks here are worth keeping."""
        if self._checkpointing is None:
            self._checkpointing = self.node.every(self._checkpoint_us, self.checkpoint_high_watermarks)
            self._timers.append(self._checkpointing)

    def _shrink_isrs(self) -> None:
        for partition in self.partitions_by_name.values():
            self.isr_changes.maybe_shrink(partition)

    def checkpoint_high_watermarks(self) -> None:
        """Write them where they have moved since the last time."""
        marks = {key: partition.log.high_watermark for key, partition in self.partitions_by_name.items()}
        if marks != self._checkpointed:
            self._checkpointed = marks
            self.log_manager.checkpointing.high_watermarks()

    # -- from the controller ----------------------------------------------------------------
    def in_turn(self, method: Callable[..., Any], *args: Any) -> None:
        """Call it when all that the controller has said before is done: now, unless that was much (`taking_over`)."""
        self.taking_over.in_turn(method, *args)

    def apply(
        self, changes: Sequence[ReplicaChange], done: TakenOver, *context: Any, fence: bool = True
    ) -> None:  # fmt: skip
        """Lead or follow as the controller has decided, in its turn; `done(*context, what became of each change)`, now
        or after some slices. `fence`: see `leadership`."""
        self.taking_over.apply(changes, fence, done, *context)

    def stop_replicas(self, stops: Sequence[ReplicaStop]) -> list[ErrorCode]:
        """End replicas, in their turn; what became of each."""
        return self.leadership.stop(stops)

    # -- from clients and followers ---------------------------------------------------------
    def append(
        self, timeout_ms: int, acks: int, entries: Sequence[tuple[str, int, Any]], done: Done, context: Any,
        origin: str = "client", *, guards: Mapping[tuple[str, int], int] | None = None, transaction_version: int = 0,
    ) -> None:  # fmt: skip
        """Append (topic, partition, records)...; `done(context, list[PartitionProduceResult])` exactly once.

        `guards`: of verified producers; `transaction_version`: of the transactions that markers end (see `appending`).
        """
        self.appending.append(timeout_ms, acks, entries, done, context, origin, guards, transaction_version)

    def fetch(self, request: Any, version: int, done: Done, context: Any) -> None:
        """FetchRequest -> `done(context, FetchResponse)`, exactly once, now or later."""
        self.fetching.fetch(request, version, done, context)

    def list_offsets(self, request: Any, version: int) -> Any:
        """ListOffsetsRequest -> ListOffsetsResponse."""
        return self.offsets.list_offsets(request, version)

    def offsets_for_leader_epoch(self, request: Any) -> Any:
        """OffsetForLeaderEpochRequest -> OffsetForLeaderEpochResponse."""
        return self.offsets.offsets_for_leader_epoch(request)

    def delete_records(self, request: Any, done: Done, context: Any) -> None:
        """DeleteRecordsRequest -> `done(context, DeleteRecordsResponse)`, exactly once, now or later."""
        self.offsets.delete_records(request, done, context)

    def take_topic(self, topic: str, overrides: Mapping[str, str]) -> None:
        """Which of its replicas are throttled."""
        before = bool(self.quotas.leader.topics)
        self.quotas.take_topic(topic, overrides)
        followers = [one.created_ms for one in self.sessions.sessions.values() if one.privileged]
        if self.quotas.leader.topics and not before and followers:
            self.quotas.leader.begin(min(followers))

    # -- for observers and the rest of the broker ---------------------------------------------
    def partition(self, topic: str, index: int) -> Partition | None:
        """The local replica, if there is one."""
        return self.partitions_by_name.get((topic, index))

    def partitions(self) -> list[Partition]:
        """All local replicas, by topic and number."""
        return [self.partitions_by_name[key] for key in sorted(self.partitions_by_name)]

    def missing(self, topic: str, index: int) -> ErrorCode:
        """The error for a partition that has no replica here."""
        known = self.topic_known is not None and self.topic_known(topic, index)
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def _topic_name(self, topic_id: uuid.UUID) -> str | None:
        """The metadata cache may learn of a topic after the replicas here did."""
        return self.topic_name(topic_id) or self._topic_name_here(topic_id)

    def _topic_name_here(self, topic_id: uuid.UUID) -> str | None:
        for partition in self.partitions_by_name.values():
            if partition.topic_id == topic_id:
                return partition.topic
        return None

    # -- for partitions -----------------------------------------------------------------------
    def maybe_expand_isr(self, partition: Partition, replica: Replica) -> None:
        """A follower outside the ISR has fetched."""
        self.isr_changes.maybe_expand(partition, replica)

    def isr_eligible(self, broker_id: int) -> bool:
        """Whether a broker may be in an ISR at all."""
        return self.isr_changes.eligible(broker_id)

    def starts_of_copies(self, topic: str, index: int) -> list[int]:
        """Where the copy of a replica begins that moves to another directory; none where it does not move."""
        found = self.log_manager.futures.get(topic, index)
        return [] if found is None else [found.log_start_offset]

    def storage_failed(self, partition: Partition | None, error: StorageError) -> None:
        """A disk said no: its directory goes offline, and every replica in it."""
        if partition is not None:
            self.fail(partition)
        self.log_manager.storage_failed(error)

    def fail(self, partition: Partition) -> None:
        """Its directory is gone: it serves nothing until the broker starts again."""
        if partition.role == FAILED:
            return
        if self.isr_changes.queue is not None:
            self.isr_changes.queue.drop(partition)
        self.fetchers.remove(partition)
        self.moves.end((partition.topic, partition.index), DIRECTORY_OFFLINE)
        partition.go_offline(FAILED)

    def moved(self, partition: Partition) -> None:
        """Its log lies in another directory, whose file of high watermarks does not know it yet."""
        self._checkpointed.pop((partition.topic, partition.index), None)

    def directory_failed(self, log_dir: str, gone: list[tuple[str, int]]) -> None:
        """The log manager has given up a directory with these partitions."""
        led = [(*key, one.leader_epoch) for key in gone if (one := self.partitions_by_name.get(key)) and one.is_leader]
        for key in gone:
            if key in self.partitions_by_name:
                self.fail(self.partitions_by_name[key])
        self.moves.directory_failed(log_dir)
        if self.on_leadership is not None and led:
            self.on_leadership([], led)
        if self.on_directory_failure is not None:
            self.on_directory_failure(log_dir)
