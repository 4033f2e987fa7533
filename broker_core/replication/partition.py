"""One partition on one broker: leader or follower of its log.

| role     | writes                | follower fetches                  | high watermark                     |
|----------|-----------------------|-----------------------------------|------------------------------------|
| leader   | client produces       | move what it knows of a follower  | min. log end over the maximal ISR  |
| follower | fetched batches       | NOT_LEADER_OR_FOLLOWER            | what the leader said, <= own end   |
| offline  | nothing               | NOT_LEADER_OR_FOLLOWER            | kept                               |
| failed   | nothing               | KAFKA_STORAGE_ERROR               | kept                               |

Worked example, ISR [1, 2, 3], leader 1 with log end 10:

    broker 2 fetches from 10   -> it has everything, its log end is 10
    broker 3 fetches from 7    -> high watermark = min(10, 10, 7) = 7: consumers read up to 6
    broker 3 fetches from 9    -> 9; a produce with acks=all whose batch ends at 8 is answered

A request names the leader epoch that its sender knows (KIP-320); the partition compares:
older than here => FENCED_LEADER_EPOCH, newer => UNKNOWN_LEADER_EPOCH.

Kafka: kafka.cluster.Partition. As in 3.9 the high watermark stands still while the ISR is smaller (KIP-966)
than `min.insync.replicas`, which counts as no more than the replicas that there are.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Protocol

from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import Node
from broker_core.kernel.storage import Buffer
from broker_core.kernel.transitions import Transitions
from broker_core.log.markers import tell_transactions
from broker_core.log.partition_log import AppendInfo, PartitionLog
from broker_core.metadata.registration import PartitionRegistration
from broker_core.purgatory.operations import DelayedOperationPurgatory
from broker_core.replication.errors import ReplicaError
from broker_core.replication.isr import InSyncReplicas
from broker_core.replication.meters import Meters
from broker_core.replication.protections import Protections
from broker_core.replication.replica import FetchClock, Replica
from broker_core.wire.errors import NONE, ErrorCode

if TYPE_CHECKING:
    from broker_core.replication.fetch_session import FetchPosition
    from broker_core.replication.reading import Reading

LEADER, FOLLOWER, OFFLINE, FAILED = "leader", "follower", "offline", "failed"
ANY_ROLE = (LEADER, FOLLOWER, OFFLINE, FAILED)
ROLES = Transitions("partition", {OFFLINE: ANY_ROLE, LEADER: ANY_ROLE, FOLLOWER: ANY_ROLE, FAILED: (OFFLINE,)})
NO_EPOCH = -1


class PartitionHost(Protocol):
    """What a partition needs from its broker."""

    node: Node
    broker_id: int
    protections: Protections
    meters: Meters
    lag_time_max_ms: int
    produce_purgatory: DelayedOperationPurgatory
    fetch_purgatory: DelayedOperationPurgatory
    delete_records_purgatory: DelayedOperationPurgatory

    def maybe_expand_isr(self, partition: Partition, replica: Replica) -> None: ...

    def isr_eligible(self, broker_id: int) -> bool: ...

    def storage_failed(self, partition: Partition | None, error: StorageError) -> None: ...

    def starts_of_copies(self, topic: str, index: int) -> list[int]: ...


class Partition:
    """The local replica, and, on its leader, what is known of the others.

    Invariants
        * leader_epoch and partition_epoch never go down
        * log start <= high watermark <= log end
        * role == LEADER: leader_id is this broker, it is in the ISR, `remote` has all other replicas
    """

    __slots__ = (
        "host", "topic", "index", "topic_id", "log", "role", "leader_id", "leader_epoch", "partition_epoch",
        "replicas", "adding", "removing", "remote", "isr", "epoch_start_offset", "follower_positions",
        "consumer_positions", "elected_ms", "last_reading",
    )  # fmt: skip

    def __init__(self, host: PartitionHost, topic: str, index: int, topic_id: uuid.UUID, log: PartitionLog) -> None:
        self.host = host
        self.topic = topic
        self.index = index
        self.topic_id = topic_id
        self.log = log
        self.role = OFFLINE
        self.leader_id = -1
        self.leader_epoch = NO_EPOCH
        self.partition_epoch = -1
        self.replicas: list[int] = []
        self.adding: list[int] = []
        self.removing: list[int] = []
        self.remote: dict[int, Replica] = {}
        self.isr = InSyncReplicas(host.protections)
        self.epoch_start_offset = -1
        self.follower_positions: dict[FetchPosition, None] = {}
        self.consumer_positions: dict[FetchPosition, None] = {}
        self.elected_ms = 0
        self.last_reading: Reading | None = None
        """What a follower was told last, for the next one at the same place."""

    def __str__(self) -> str:
        return f"{self.topic}-{self.index}"

    # -- roles ------------------------------------------------------------------------------
    def become_leader(self, state: PartitionRegistration) -> bool:
        """Lead in a new epoch; False when it led already."""
        newly = self.role != LEADER
        self._take(state)
        self.role = ROLES.step(self.role, LEADER)
        self.leader_id = self.host.broker_id
        self.isr.commit(state.isr)
        now_ms = self.now_ms()
        self.epoch_start_offset = end = self.log.log_end_offset
        self.log.leader_epochs.assign(self.leader_epoch, end)
        others = [broker for broker in self.replicas if broker != self.host.broker_id]
        self.remote = {broker: self.remote.get(broker) or Replica(broker) for broker in others}
        for replica in self.remote.values():
            if newly:
                replica.forget_offsets()
            replica.reset(now_ms, replica.broker_id in self.isr.maximal, end)
        self.elected_ms = now_ms
        self.host.node.emit(
            events.BECAME_LEADER, topic=self.topic, partition=self.index, leader_epoch=self.leader_epoch, leo=end,
            isr=list(state.isr),
        )  # fmt: skip
        self.changed()
        self.maybe_increment_high_watermark()
        return newly

    def become_follower(self, state: PartitionRegistration) -> bool:
        """Follow in a new epoch; False when it followed the same leader before."""
        same_leader = self.role == FOLLOWER and self.leader_id == state.leader
        self._take(state)
        self.role = ROLES.step(self.role, FOLLOWER)
        self.leader_id = state.leader
        self.isr.commit([])
        self.remote = {}
        self.epoch_start_offset = -1
        self.host.node.emit(
            events.BECAME_FOLLOWER, topic=self.topic, partition=self.index, leader_epoch=self.leader_epoch,
            leader=self.leader_id, leo=self.log.log_end_offset,
        )  # fmt: skip
        self.changed()
        return not same_leader

    def refresh(self, state: PartitionRegistration) -> None:
        """The same leader epoch, and another ISR or other replicas: nobody's offsets are doubted."""
        if state.partition_epoch <= self.partition_epoch or self.role not in (LEADER, FOLLOWER):
            return
        self._take(state)
        if self.role != LEADER:
            return
        self.isr.commit(state.isr)
        others = [broker for broker in self.replicas if broker != self.host.broker_id]
        self.remote = {broker: self.remote.get(broker) or Replica(broker) for broker in others}
        self.look_at_outsiders()
        self.maybe_increment_high_watermark()

    def go_offline(self, role: str = OFFLINE) -> None:
        """The replica is stopped, or (FAILED) its directory is gone: whoever waits for it gets an error."""
        self.role = ROLES.step(self.role, role)
        self.remote = {}
        self.changed()
        for position in [*self.follower_positions, *self.consumer_positions]:
            position.unlink()

    def _take(self, state: PartitionRegistration) -> None:
        self.leader_epoch = state.leader_epoch
        self.partition_epoch = state.partition_epoch
        self.replicas = list(state.replicas)
        self.adding = list(state.adding_replicas)
        self.removing = list(state.removing_replicas)

    def changed(self) -> None:
        """Leadership changed, or the log was cut: everything parked on this partition looks again."""
        host = self.host
        self.last_reading = None
        self._wake(self.follower_positions)
        self._wake(self.consumer_positions)
        host.fetch_purgatory.check_soon(self)
        host.produce_purgatory.check_soon(self)
        host.delete_records_purgatory.check_soon(self)

    @property
    def is_leader(self) -> bool:
        return self.role == LEADER

    def now_ms(self) -> int:
        """Monotonic milliseconds, for lag."""
        return self.host.node.now_us() // 1000

    # -- checks -----------------------------------------------------------------------------
    def check(self, leader_epoch: int, leader_only: bool = True) -> ErrorCode:
        """Whether a request that knows `leader_epoch` (-1: none) may be served here."""
        if leader_epoch != self.leader_epoch and leader_epoch != NO_EPOCH and self.role != FAILED:
            error = self.check_leader_epoch(leader_epoch)
            if error:
                return error
        if self.role != LEADER and (leader_only or self.role != FOLLOWER):
            return self.refusal
        return NONE

    @property
    def refusal(self) -> ErrorCode:
        """Why a replica that does not lead serves nothing."""
        return ErrorCode.KAFKA_STORAGE_ERROR if self.role == FAILED else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def check_leader_epoch(self, leader_epoch: int) -> ErrorCode:
        """Fence what is older, refuse what is newer than this replica's own epoch."""
        protections = self.host.protections
        if leader_epoch < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH if protections.fence_fetch_by_leader_epoch else NONE
        return ErrorCode.UNKNOWN_LEADER_EPOCH if protections.fence_follower_of_newer_epoch else NONE

    @property
    def min_isr(self) -> int:
        """`min.insync.replicas`, at most the number of replicas."""
        wanted, replicas = self.log.min_insync_replicas, len(self.remote) + 1
        return wanted if wanted < replicas else replicas

    def lacks_replicas(self, in_sync: int) -> bool:
        """Whether so many are fewer than `min_isr`."""
        return in_sync < self.log.min_insync_replicas and in_sync <= len(self.remote)

    # -- appends ----------------------------------------------------------------------------
    def append_as_leader(
        self, records: Buffer, acks: int, origin: str, guard: int | None = None, transaction_version: int = 0
    ) -> AppendInfo:
        """Append a client's batches, or a coordinator's. Raises ReplicaError, and what the log raises."""
        if self.role != LEADER:
            raise ReplicaError(self.refusal)
        if acks == -1 and self.lacks_replicas(len(self.isr.committed)):
            raise ReplicaError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"The size of the current ISR {self.isr.committed} is insufficient to satisfy the min.isr"
                f" requirement of {self.min_isr} for partition {self}",
            )
        host = self.host
        now_ms, changes = host.node.wall_ms(), self.log.producers.transactions.changes
        info = self.log.append_as_leader(records, self.leader_epoch, now_ms, origin, guard, transaction_version)
        if info.duplicate:
            host.node.emit(
                events.DUPLICATE_BATCH, topic=self.topic, partition=self.index, base_offset=info.first_offset,
                last_offset=info.last_offset)  # fmt: skip
        else:
            host.meters.bytes_in += info.bytes
            host.meters.messages_in += info.last_offset - info.first_offset + 1
            if host.node.messages:
                host.node.note(events.LOG_APPENDED, {
                    "topic": self.topic, "partition": self.index, "base_offset": info.first_offset,
                    "last_offset": info.last_offset, "bytes": info.bytes, "role": LEADER, "crc": info.last_crc,
                })  # fmt: skip
            if self.log.producers.transactions.changes != changes:
                tell_transactions(self.log, info.first_offset)
            self._wake(self.follower_positions)
            if self in host.fetch_purgatory.watchers:
                host.fetch_purgatory.check_soon(self)
            self.maybe_increment_high_watermark()
        return info

    def append_as_follower(self, records: Any) -> AppendInfo:
        """Append what the leader sent, by reference."""
        host = self.host
        info = self.log.append_as_follower(records, host.node.wall_ms())
        host.meters.copied_in(info.bytes, host.broker_id in self.adding)
        if host.node.messages:
            first, last, _, _, _, size, _, _, crc = info
            where = {"topic": self.topic, "partition": self.index, "base_offset": first, "last_offset": last}
            host.node.note(events.LOG_APPENDED, where | {"bytes": size, "role": FOLLOWER, "crc": crc})
        return info

    # -- high watermark ---------------------------------------------------------------------
    def maybe_increment_high_watermark(self) -> bool:
        """Leader: move it to the smallest log end of the maximal ISR; True when it moved.

        A replica that is caught up but not in the ISR yet counts, too: it is about to join, and a
        mark that runs ahead of it would keep it out for ever.
        """
        log, isr = self.log, self.isr
        high_watermark = log.high_watermark
        new = leader_end = log.log_end_offset
        for replica in self.remote.values():
            if replica.log_end_offset < new and (
                replica.broker_id in isr.maximal or self._waits_to_join(replica, leader_end)
            ):
                new = replica.log_end_offset
                if new <= high_watermark:
                    return False
        if new <= high_watermark or self.role != LEADER or self.lacks_replicas(len(isr.committed)):
            return False
        self.move_high_watermark(new)
        return True

    def _waits_to_join(self, replica: Replica, leader_end: int) -> bool:
        host = self.host
        caught_up = replica.is_caught_up(leader_end, self.now_ms(), host.lag_time_max_ms)
        return caught_up and host.isr_eligible(replica.broker_id)

    def move_high_watermark(self, offset: int) -> None:
        """Set it, tell the journal and whoever waits for it."""
        log, host = self.log, self.host
        before, after = log.high_watermark, offset
        if not log.log_start_offset <= after <= log.log_end_offset:
            after = log.update_high_watermark(offset)
        if after == before:
            return
        log.high_watermark = after
        if log.producers.transactions.unreplicated:
            log.producers.transactions.replicated_to(after)
        node = host.node
        if node.messages:
            node.note(events.HIGH_WATERMARK, {
                "topic": self.topic, "partition": self.index, "before": before, "after": after,
            })  # fmt: skip
        if self.consumer_positions:
            self._wake(self.consumer_positions)
        if self in host.fetch_purgatory.watchers:
            host.fetch_purgatory.check_soon(self)
        for position in self.follower_positions:
            position.touch()
        if self.role == LEADER:
            host.produce_purgatory.check_soon(self)

    def start_verification(self, producer_id: int, sequence: int, epoch: int, supports_epoch_bump: bool) -> int | None:
        """See `ProducerStateTable.start_verification`."""
        verify, now_ms = self.log.producers.start_verification, self.host.node.wall_ms()
        return verify(producer_id, sequence, epoch, supports_epoch_bump, now_ms)

    def check_replicated(self, offset: int) -> ErrorCode | None:
        """Whether everything below `offset` is committed: None = not yet (acks=all)."""
        if self.role != LEADER:
            return self.refusal
        if self.log.high_watermark < offset:
            return None
        if self.lacks_replicas(len(self.isr.maximal)):
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return NONE

    # -- followers --------------------------------------------------------------------------
    def follower(self, broker_id: int, leader_epoch: int) -> Replica:
        """The replica of a follower. Raises ReplicaError when it is not one of the assigned."""
        replica = self.remote.get(broker_id)
        if replica is None:
            known = leader_epoch != NO_EPOCH
            raise ReplicaError(ErrorCode.UNKNOWN_LEADER_EPOCH if known else ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return replica

    def follower_fetched(
        self, replica: Replica, offset: int, log_start_offset: int, broker_epoch: int, clock: FetchClock | None
    ) -> None:
        """A follower fetches from `offset`: it has everything below. May move ISR and high watermark."""
        if broker_epoch < replica.broker_epoch and self.host.protections.isr_checks_broker_epoch:
            raise ReplicaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "fetch of an earlier start of the follower")
        before, start_before = replica.log_end_offset, replica.log_start_offset
        replica.broker_epoch = broker_epoch
        replica.session = clock
        replica.fetched(offset, log_start_offset, self.host.node.world.now_us // 1000, self.log.log_end_offset)
        if replica.broker_id not in self.isr.maximal:
            self.host.maybe_expand_isr(self, replica)
        if offset != before:
            self.maybe_increment_high_watermark()
        if log_start_offset != start_before:
            self.host.delete_records_purgatory.check_soon(self)

    @property
    def low_watermark(self) -> int:
        """The log start offset that all replicas on live brokers have reached, and a moving copy (DeleteRecords)."""
        alive, copies = self.host.isr_eligible, self.host.starts_of_copies(self.topic, self.index)
        others = [replica.log_start_offset for broker, replica in self.remote.items() if alive(broker)]
        return min([self.log.log_start_offset, *others, *copies])

    def log_start_moved(self) -> None:
        """Records were deleted: readers are told with their next answer."""
        for position in [*(self.follower_positions if self.is_leader else ()), *self.consumer_positions]:
            position.touch()

    def look_at_outsiders(self) -> None:
        """From now on each fetch of a follower outside the ISR is looked at: it may be the one that brings it in."""
        for position in self.follower_positions:
            if position.replica is not None and position.replica.broker_id not in self.isr.committed:
                position.touch()

    def _wake(self, positions: dict[FetchPosition, None]) -> None:
        """These have something new to read: once per session and instant its parked fetch looks."""
        purgatory = self.host.fetch_purgatory
        for position in positions:
            position.touch()
            if position.session in purgatory.watchers:
                purgatory.check_soon(position.session)
