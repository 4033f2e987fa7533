"""Reading one partition for a fetch: how far a reader may see, and what a follower's position tells.

| reader                  | reads up to         | isolation           |
|-------------------------|---------------------|---------------------|
| follower                | log end             | (replica_id >= 0)   |
| consumer                | high watermark      | 0 read_uncommitted  |
| consumer                | last stable offset  | 1 read_committed    |

A read_committed consumer gets the records of aborted transactions, too, and is told which they are.

Borders, log 10..20 with high watermark 15:

| fetch offset | answer                                                        |
|--------------|---------------------------------------------------------------|
| 9            | OFFSET_OUT_OF_RANGE: before the log start                     |
| 10           | 10..14 for a consumer, 10..19 for a follower                  |
| 15           | nothing yet for a consumer                                    |
| 18           | nothing yet for a consumer, 18..19 for a follower             |
| 20           | nothing yet; a follower that asks for 20 has everything       |
| 21           | OFFSET_OUT_OF_RANGE: beyond the end                           |

A reader that names the epoch of the last record it has (Fetch v12, KIP-595) is checked before it reads:
when the leader's log of that epoch ends before the reader's position, the logs diverge. The answer
then carries the leader's (epoch, end offset) and no records, and the reader truncates.

A consumer may read from a follower, too (KIP-392): up to the high watermark that the follower knows, in the
leader epoch that it knows. A leader with a selector (see `replica_selector`) sends it there: its answer
carries another broker's id and no records, whatever the offset.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.names import broker_node
from broker_core.log.errors import LogError
from broker_core.log.transaction_index import AbortedTransaction
from broker_core.replication.errors import ReplicaError, error_code
from broker_core.replication.fetch_session import NIL, FetchPosition
from broker_core.replication.partition import LEADER, Partition, PartitionHost
from broker_core.replication.quotas import LeaderQuota
from broker_core.wire.errors import NONE, ErrorCode

if TYPE_CHECKING:
    from broker_core.replication.replica import Replica

NO_EPOCH = -1
READ_COMMITTED = 1
Told = Callable[["list[tuple[FetchPosition, Reading]]"], None]
CLIENT_METADATA_VERSION = 11


class FetchParams:
    """What a Fetch request asks for as a whole.

    * rack: of a consumer that may be sent to another replica, else empty
    * told: who wants to know what an answer says of each position, besides the reader
    * leader_only: followers and consumers from before KIP-392 read from leaders only
    """

    __slots__ = (
        "version", "replica_id", "broker_epoch", "max_wait_ms", "min_bytes", "max_bytes", "isolation", "rack",
        "leader_only", "told",
    )  # fmt: skip

    def __init__(self, request: Any, version: int, fetch_max_bytes: int, told: Told | None = None) -> None:
        self.version = version
        self.told = told
        state = request.replica_state
        max_bytes, min_bytes = request.max_bytes, request.min_bytes
        self.replica_id: int = state.replica_id if state.replica_id >= 0 else request.replica_id
        self.broker_epoch: int = state.replica_epoch
        self.max_wait_ms: int = request.max_wait
        self.max_bytes: int = max_bytes if max_bytes < fetch_max_bytes else fetch_max_bytes
        self.min_bytes: int = min_bytes if min_bytes < self.max_bytes else self.max_bytes
        self.isolation: int = request.isolation_level
        self.rack: str = request.rack_id if version >= CLIENT_METADATA_VERSION and self.replica_id < 0 else ""
        self.leader_only = self.replica_id >= 0 or version < CLIENT_METADATA_VERSION

    @property
    def is_follower(self) -> bool:
        return self.replica_id >= 0


class Reading:
    """What one partition has to say to one reader. Offsets are -1 when there is an error.

    * urgent: an error, a divergence or another replica: worth an answer at once, whatever `min_bytes` says
    * aborted: with read_committed, the transactions whose records among these are to be skipped
    * behind: the offset behind the last record of `slices`
    * data: what an answer says of it, once that is made; two followers at the same place share it
    """

    __slots__ = (
        "offset", "end", "behind", "error", "high_watermark", "last_stable_offset", "log_start_offset", "slices",
        "size", "aborted", "diverging", "preferred_replica", "urgent", "data",
    )  # fmt: skip

    def __init__(self) -> None:
        self.error = NONE
        self.offset = self.end = self.behind = -1
        self.high_watermark = self.last_stable_offset = self.log_start_offset = -1
        self.slices: list[Any] = []
        self.size = 0
        self.aborted: list[AbortedTransaction] = []
        self.diverging: tuple[int, int] | None = None
        self.preferred_replica = -1
        self.urgent = False
        self.data: Any = None

    def is_news_to(self, position: FetchPosition) -> bool:
        """Whether an incremental answer has to contain this partition."""
        return (
            self.size > 0
            or self.urgent
            or self.high_watermark != position.sent_high_watermark
            or self.log_start_offset != position.sent_log_start
        )


class ReplicaSelector(Protocol):
    """Chooses another replica for a consumer to read from (KIP-392); -1 = the leader."""

    def select(self, partition: Partition, rack: str, offset: int) -> int: ...


class Reader:
    """Reads partitions of this broker for fetches."""

    def __init__(
        self,
        host: PartitionHost,
        partitions: dict[tuple[str, int], Partition],
        topic_name: Callable[[uuid.UUID], str | None],
        missing: Callable[[str, int], ErrorCode],
        quota: LeaderQuota,
    ) -> None:
        self.host = host
        self.quota = quota
        self.partitions = partitions
        self.topic_name = topic_name
        self.missing = missing
        self.selector: ReplicaSelector | None = None

    def chooses_for(self, params: FetchParams) -> bool:
        """Whether this reader may be sent to another replica."""
        return params.rack != "" and self.selector is not None

    def read(
        self, position: FetchPosition, params: FetchParams, limit: int, min_one: bool, update: bool
    ) -> Reading:
        """Read at most `limit` bytes; `min_one`: the first batch whole, whatever its size.

        `update`: this is the request itself, not a second look from purgatory: a follower's
        position counts as fetched.
        """
        reading = Reading()
        try:
            partition, replica = self._find(position, params)
            if position.partition is None or position.replica is not replica:
                position.link(partition, replica)
            if params.rack and self.selector is not None and self._sent_elsewhere(reading, position, partition, params):
                return reading
            self._read(reading, position, partition, params, limit, min_one)
            if update and replica is not None:
                self._note_follower(reading, position, partition, replica, params)
            reading.urgent = reading.diverging is not None
        except (ReplicaError, LogError, StorageError) as error:
            self._failed(reading, position, params, error)
        return reading

    def follow(
        self, position: FetchPosition, params: FetchParams, limit: int, min_one: bool, update: bool
    ) -> Reading | None:
        """As `read`, for a position that its session has read as a follower before; None: nothing to say.

        The way of every record to every follower, so the usual case stands here in one piece: this broker
        leads in the epoch that the follower knows, and the follower's log is a part of its own. All else is
        left to `read`.
        """
        partition, replica, session = position.partition, position.replica, position.session
        assert partition is not None and replica is not None and session is not None
        log = partition.log
        offset, end, start, high_watermark = (
            position.fetch_offset, log.log_end_offset, log.log_start_offset, log.high_watermark,
        )  # fmt: skip
        if (
            partition.role != LEADER
            or position.leader_epoch != partition.leader_epoch
            or position.last_fetched_epoch != log.leader_epochs.latest_epoch
            or offset > end
            or offset < start
            or partition.remote.get(params.replica_id) is not replica
            or params.broker_epoch < replica.broker_epoch
        ):
            return self._news(position, params, limit, min_one, update)
        told = position.sent_high_watermark == high_watermark and position.sent_log_start == start
        if told and offset == end:
            if update:
                partition.follower_fetched(replica, offset, position.log_start_offset, params.broker_epoch, session)
            if high_watermark == log.high_watermark and replica.broker_id in partition.isr.committed:
                session.dirty.pop(position, None)
            return None
        if limit > position.max_bytes:
            limit = position.max_bytes
        if self.quota.topics and self._held_back(partition, replica.broker_id):
            limit, min_one = 0, False
        reading = partition.last_reading
        if (
            reading is None
            or reading.offset != offset
            or reading.end != end
            or reading.high_watermark != high_watermark
            or reading.log_start_offset != start
            or reading.size > limit
        ):
            try:
                reading = self._read_from(partition, offset, limit, min_one)
            except (LogError, StorageError) as error:
                return self._failed(Reading(), position, params, error)
        if update:
            partition.follower_fetched(replica, offset, position.log_start_offset, params.broker_epoch, session)
        return reading if reading.size or not told else None

    def _news(
        self, position: FetchPosition, params: FetchParams, limit: int, min_one: bool, update: bool
    ) -> Reading | None:
        reading = self.read(position, params, limit, min_one, update)
        if reading.is_news_to(position):
            return reading
        position.settle()
        return None

    def _read_from(self, partition: Partition, offset: int, limit: int, min_one: bool) -> Reading:
        """For a follower at `offset`. Kept for the next one when it goes up to the end."""
        log = partition.log
        reading = Reading()
        reading.offset = offset
        reading.end = end = log.log_end_offset
        reading.high_watermark = log.high_watermark
        reading.last_stable_offset = log.last_stable_offset
        reading.log_start_offset = log.log_start_offset
        behind = offset
        if offset < end and (limit > 0 or min_one):
            reading.slices, reading.size, behind = log.read(offset, limit, end, min_one)
        if behind == end:
            partition.last_reading = reading
        return reading

    def _find(self, position: FetchPosition, params: FetchParams) -> tuple[Partition, Replica | None]:
        """The partition if it may be read here. Raises ReplicaError."""
        partition = position.partition
        if partition is None:
            partition = self._resolve(position)
        error = partition.check(position.leader_epoch, params.leader_only)
        if error:
            raise ReplicaError(error)
        if params.replica_id < 0:
            return partition, None
        return partition, partition.follower(params.replica_id, position.leader_epoch)

    def _resolve(self, position: FetchPosition) -> Partition:
        if not position.topic:
            position.topic = self.topic_name(position.topic_id) or ""
            if not position.topic:
                raise ReplicaError(ErrorCode.UNKNOWN_TOPIC_ID)
        partition = self.partitions.get((position.topic, position.index))
        if partition is None:
            raise ReplicaError(self.missing(position.topic, position.index))
        if position.topic_id != NIL and partition.topic_id not in (NIL, position.topic_id):
            raise ReplicaError(ErrorCode.INCONSISTENT_TOPIC_ID)
        return partition

    def _read(
        self, reading: Reading, position: FetchPosition, partition: Partition, params: FetchParams, limit: int,
        min_one: bool,
    ) -> None:  # fmt: skip
        log = partition.log
        end = log.log_end_offset
        offset, start = position.fetch_offset, log.log_start_offset
        if position.last_fetched_epoch != NO_EPOCH:
            reading.diverging = self._divergence(position, partition, end)
        if offset < start or (offset > end and reading.diverging is None):
            raise ReplicaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        reading.high_watermark = log.high_watermark
        reading.last_stable_offset = log.last_stable_offset
        reading.log_start_offset = start
        if reading.diverging is not None:
            return
        if params.replica_id >= 0:
            visible = end
        else:
            committed = params.isolation == READ_COMMITTED
            visible = reading.last_stable_offset if committed else reading.high_watermark
        if limit > position.max_bytes:
            limit = position.max_bytes
        if params.replica_id >= 0 and self.quota.topics and self._held_back(partition, params.replica_id):
            return
        if offset < visible and (limit > 0 or min_one):
            found = log.read(offset, limit, visible, min_one)
            reading.slices, reading.size, reading.behind = found
            if found.size and params.isolation == READ_COMMITTED and params.replica_id < 0:
                reading.aborted = log.aborted_in(offset, found, limit)

    def _held_back(self, partition: Partition, replica: int) -> bool:
        """Whether a follower gets no records for now: see `quotas`."""
        return self.quota.holds(partition.topic, partition.index, replica, replica in partition.isr.committed)

    def _sent_elsewhere(
        self, reading: Reading, position: FetchPosition, partition: Partition, params: FetchParams
    ) -> bool:
        """Whether a consumer should read from another replica: told at once, with the marks and no records."""
        if not partition.is_leader or self.selector is None:
            return False
        preferred = self.selector.select(partition, params.rack, position.fetch_offset)
        if preferred < 0:
            return False
        log = partition.log
        reading.preferred_replica, reading.urgent = preferred, True
        reading.high_watermark = log.high_watermark
        reading.last_stable_offset = log.last_stable_offset
        reading.log_start_offset = log.log_start_offset
        return True

    def _divergence(self, position: FetchPosition, partition: Partition, end: int) -> tuple[int, int] | None:
        """(epoch, end offset) of the leader where the reader's log diverges from it, or None."""
        asked, cache = position.last_fetched_epoch, partition.log.leader_epochs
        latest = cache.latest_epoch
        if (asked == latest and position.fetch_offset <= end) or not self.host.protections.truncate_on_fetch:
            return None
        epoch, epoch_end = (asked, end) if asked == latest else cache.end_offset_for(asked)
        if epoch == NO_EPOCH or epoch_end < 0 or position.fetch_offset < partition.log.log_start_offset:
            raise ReplicaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"no end offset of epoch {asked} is known")
        if epoch < asked or epoch_end < position.fetch_offset:
            return epoch, epoch_end
        return None

    def _note_follower(
        self, reading: Reading, position: FetchPosition, partition: Partition, replica: Replica, params: FetchParams
    ) -> None:
        if reading.diverging is None or not self.host.protections.ignore_diverged_fetch_state:
            partition.follower_fetched(
                replica, position.fetch_offset, position.log_start_offset, params.broker_epoch, position.session
            )

    def _failed(self, reading: Reading, position: FetchPosition, params: FetchParams, error: Exception) -> Reading:
        """The answer is an error; a disk that fails is given up."""
        partition = self.partitions.get((position.topic, position.index))
        reading.error = ErrorCode.KAFKA_STORAGE_ERROR if isinstance(error, StorageError) else error_code(error)
        reading.urgent = True
        reading.high_watermark = reading.last_stable_offset = reading.log_start_offset = -1
        reading.slices, reading.size, reading.diverging, reading.aborted = [], 0, None, []
        if isinstance(error, StorageError):
            self.host.storage_failed(partition, error)
        elif partition is not None and reading.error in (
            ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH,
        ):  # fmt: skip
            self.host.node.emit(
                events.REPLICA_FENCED, topic=position.topic, partition=position.index, epoch=position.leader_epoch,
                current=partition.leader_epoch,
                source=broker_node(params.replica_id) if params.is_follower else "consumer",
            )  # fmt: skip
        return reading
