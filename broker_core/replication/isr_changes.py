"""When a leader wants its ISR changed, and what it does with the controller's answer.

Out: there are two ways, and one time, `replica.lag.time.max.ms` [30 s], looked at every half of it.

| reason            | the follower                                            |
|-------------------|---------------------------------------------------------|
| no fetch          | has not fetched at all for that long                    |
| never at the end  | fetches, but was not at the leader's end for that long  |

A follower whose log ends where the leader's does stays, however long it is silent: there is nothing
that it lacks.

In: a follower joins when it fetches from the high watermark or beyond, and from the start of the
current leader epoch or beyond. The second matters right after an election: the new leader's high
watermark may be old, and a follower that reaches it still lacks committed records (KIP-320).

| answer                                      | what the leader does                                     |
|---------------------------------------------|----------------------------------------------------------|
| NONE, newer partition epoch                 | takes the ISR, moves the high watermark                  |
| OPERATION_NOT_ATTEMPTED, INELIGIBLE_REPLICA | goes back: it was certainly not applied                  |
| FENCED_LEADER_EPOCH, INVALID_UPDATE_VERSION | waits, still with the maximal ISR, for what was decided; the |
|                                             | same for INVALID_REQUEST, NEW_LEADER_ELECTED, UNKNOWN_TOPIC_* |
| anything else                               | asks again                                               |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.kernel import events
from broker_core.replication.alter_partition import AlterPartitionQueue, IsrChange
from broker_core.replication.isr import SHRUNK_BUCKETS, buckets_for, by_buckets
from broker_core.replication.partition import Partition, PartitionHost
from broker_core.replication.replica import Replica
from broker_core.wire.errors import ErrorCode

NO_FETCH, NEVER_AT_THE_END = "no fetch", "never at the end"
_WITHDRAW = frozenset((ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA))
_WAIT = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.INVALID_REQUEST, ErrorCode.NEW_LEADER_ELECTED,
    )
)  # fmt: skip


class IsrChanges:
    """ISR decisions of one broker, for all partitions that it leads. `hashed`: it writes them as Kafka 4.3 does."""

    def __init__(self, host: PartitionHost) -> None:
        self.host = host
        self.queue: AlterPartitionQueue | None = None
        self.broker_eligible: Callable[[int], bool] | None = None
        self.hashed = False

    # -- in ---------------------------------------------------------------------------------
    def maybe_expand(self, partition: Partition, replica: Replica) -> None:
        """A follower outside the ISR has fetched."""
        if not self.may_join(partition, replica):
            return
        end = replica.log_end_offset
        if end < partition.log.high_watermark:
            return
        if self.host.protections.isr_expansion_waits_for_epoch_start and end < partition.epoch_start_offset:
            return
        isr = [*partition.isr.committed, replica.broker_id]
        if self.hashed:
            isr = by_buckets(isr, buckets_for(len(isr)))
        self._propose(IsrChange(partition, isr, [replica.broker_id], [], "", {}))

    def may_join(self, partition: Partition, replica: Replica) -> bool:
        """Whether it may be proposed at all: assigned, alive, nothing pending."""
        broker = replica.broker_id
        if partition.isr.pending or broker in partition.isr.maximal:
            return False
        return self.eligible(broker)

    def eligible(self, broker_id: int) -> bool:
        """Whether the metadata cache knows the broker as alive, and not on its way out."""
        return self.broker_eligible is None or self.broker_eligible(broker_id)

    # -- out --------------------------------------------------------------------------------
    def maybe_shrink(self, partition: Partition) -> None:
        """Take out whoever has not been at the end for too long."""
        if not partition.is_leader or partition.isr.pending:
            return
        now_ms, leader_end = partition.now_ms(), partition.log.log_end_offset
        max_lag_ms = self.host.lag_time_max_ms
        out = [
            replica
            for broker in partition.isr.committed
            if (replica := partition.remote.get(broker)) is not None
            and not replica.is_caught_up(leader_end, now_ms, max_lag_ms)
        ]
        if not out:
            return
        silent = all(now_ms - replica.last_fetched_ms() > max_lag_ms for replica in out)
        removed = [replica.broker_id for replica in out]
        isr = [broker for broker in partition.isr.committed if broker not in removed]
        if self.hashed:
            isr = by_buckets(isr, SHRUNK_BUCKETS)
        lag_ms = {
            str(replica.broker_id): now_ms - max(replica.last_caught_up_ms, partition.elected_ms) for replica in out
        }
        reason = NO_FETCH if silent else NEVER_AT_THE_END
        self._propose(IsrChange(partition, isr, [], removed, reason, lag_ms))

    def _propose(self, change: IsrChange) -> None:
        change.partition.isr.propose(change.isr)
        if self.queue is not None:
            self.queue.submit(change)

    # -- answers ----------------------------------------------------------------------------
    def answered(self, change: IsrChange, data: Any) -> bool:
        """The controller's word on one change; True = ask again."""
        partition = change.partition
        if not partition.is_leader or partition.leader_epoch != change.leader_epoch:
            return False
        if data.error_code:
            return self._refused(change, ErrorCode(data.error_code))
        if data.leader_epoch < partition.leader_epoch or data.partition_epoch < partition.partition_epoch:
            return False
        partition.partition_epoch = data.partition_epoch
        partition.isr.commit(list(data.isr))
        partition.look_at_outsiders()
        self._tell(change)
        partition.maybe_increment_high_watermark()
        return False

    def _refused(self, change: IsrChange, error: ErrorCode) -> bool:
        partition = change.partition
        if error not in _WITHDRAW and error not in _WAIT:
            return True
        self.host.meters.failed_isr_updates += 1
        self.host.node.emit(
            events.ISR_CHANGE_REFUSED, topic=partition.topic, partition=partition.index, isr=change.isr,
            error=error.name,
        )  # fmt: skip
        if error in _WITHDRAW:
            partition.isr.withdraw()
        return False

    def _tell(self, change: IsrChange) -> None:
        partition, emit = change.partition, self.host.node.emit
        isr = list(partition.isr.committed)
        if change.removed:
            self.host.meters.isr_shrinks += 1
            emit(
                events.ISR_SHRUNK, topic=partition.topic, partition=partition.index, isr=isr, removed=change.removed,
                reason=change.reason, lag_ms=change.lag_ms, leader_epoch=partition.leader_epoch,
            )  # fmt: skip
        else:
            self.host.meters.isr_expands += 1
            emit(
                events.ISR_EXPANDED, topic=partition.topic, partition=partition.index, isr=isr, added=change.added,
                leader_epoch=partition.leader_epoch,
            )  # fmt: skip
