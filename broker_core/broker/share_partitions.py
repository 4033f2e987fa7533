"""The share-partitions that this broker leads: loaded, written down, given up.

    ShareFetch of g, orders-0 --> not here yet: ReadShareGroupState --> its start, its batches --> active
                                                  | start -1: share.auto.offset.reset chooses
    a change (acknowledged, released, lock ran out, archived) --> WriteShareGroupState --> it counts

| the share coordinator says          | the member is told         | the share-partition          |
|-------------------------------------|----------------------------|------------------------------|
| FENCED_LEADER_EPOCH, FENCED_STATE_EPOCH | NOT_LEADER_OR_FOLLOWER | given up; a fetch loads it anew |
| not there, not reached              | COORDINATOR_NOT_AVAILABLE  | as before                    |

A share-partition lives as long as its leader epoch. Locks are not written down: the next leader finds what was acquired
available. Source: SharePartitionManager, SharePartition.maybeInitialize of 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from broker_core.broker.share_persister import READ, WRITE, Answers
from broker_core.kernel import events
from broker_core.kernel.node import Timer
from broker_core.log.errors import LogError
from broker_core.metadata.durations import duration_ms
from broker_core.replication.errors import ReplicaError, error_code
from broker_core.replication.offsets import EARLIEST, LATEST
from broker_core.replication.partition import Partition
from broker_core.sharing.batches import AVAILABLE, UNINITIALIZED_START, StateBatch, batches_of
from broker_core.sharing.partition import (
    DONE,
    Acknowledged,
    AcknowledgementRefused,
    InFlight,
    Limits,
    SharePartition,
    state_batches,
)
from broker_core.sharing.records import ShareKey
from broker_core.wire.errors import NONE, ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

Refusal = tuple[ErrorCode, str | None]
Told = Callable[[ErrorCode, str | None], None]
CONSUMER = -1
MOST_IN_FLIGHT = 1 << 18
"""More than any leader has between its start and its end: whoever wrote that was none."""
MOST_DELIVERIES = 0x7FFE
READ_COMMITTED, READ_UNCOMMITTED = 1, 0
UNREACHED = (
    ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)  # fmt: skip
FENCED = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH)


class Shared:
    """A share-partition here. `share` None: it is being loaded, or `refusal` says why it could not be."""

    __slots__ = ("key", "topic", "partition", "leader_epoch", "share", "refusal", "timer", "timer_us")

    def __init__(self, key: ShareKey, topic: str, partition: Partition) -> None:
        self.key = key
        self.topic = topic
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.share: SharePartition | None = None
        self.refusal: Refusal | None = None
        self.timer: Timer | None = None
        self.timer_us = 0

    @property
    def led(self) -> bool:
        """Whether this broker still leads the partition in that epoch."""
        return self.partition.is_leader and self.partition.leader_epoch == self.leader_epoch


class SharePartitions:
    """All of a broker's; `changed(key)` is called when a fetch might get something now."""

    def __init__(self, broker: Broker, changed: Callable[[ShareKey], None]) -> None:
        self.broker = broker
        self.node = broker.node
        self.changed = changed
        self.entries: dict[ShareKey, Shared] = {}

    # --- settings -------------------------------------------------------------------------------

    def limits(self, group_id: str) -> Limits:
        """What a group may do."""
        registry = self.broker.groups.registry
        own = registry.overrides.get(group_id, {})
        return Limits(
            registry.setting(group_id, "share.delivery.count.limit"),
            registry.setting(group_id, "share.partition.max.record.locks"),
            registry.setting(group_id, "share.record.lock.duration.ms") * 1000,
            own.get("share.renew.acknowledge.enable", "true").lower() == "true",
        )

    def isolation(self, group_id: str) -> int:
        """How far a group reads."""
        own = self.broker.groups.registry.overrides.get(group_id, {})
        committed = own.get("share.isolation.level", "read_uncommitted").lower() == "read_committed"
        return READ_COMMITTED if committed else READ_UNCOMMITTED

    # --- finding --------------------------------------------------------------------------------

    def find(self, key: ShareKey) -> Shared | Refusal:
        """The share-partition, which may have to be loaded first; or why there is none here."""
        topic = self.broker.cache.topic_names.get(key.topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_ID.message
        partition = self.broker.replicas.partition(topic, key.partition)
        if partition is None:
            error = self.broker.replicas.missing(topic, key.partition)
            return error, None if error is ErrorCode.NOT_LEADER_OR_FOLLOWER else error.message
        found = self.entries.get(key)
        if found is not None and found.led:
            return found
        if found is not None:
            self._give_up(found)
        if not partition.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER, None
        made = self.entries[key] = Shared(key, topic, partition)
        self._load(made)
        return made

    def _absent(self, key: ShareKey) -> Refusal:
        """Why nothing of it can be acknowledged here. Source: SharePartitionManager.acknowledge."""
        topic, unknown = self.broker.cache.topic_names.get(key.topic_id), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID, None
        known = self.broker.cache.contains(topic, key.partition)
        return unknown, unknown.message if known else None

    def _load(self, entry: Shared) -> None:
        api, key = READ(), entry.key
        said = api.request.PartitionData(partition=key.partition, leader_epoch=entry.leader_epoch)
        asked = {(key.topic_id, key.partition): said}
        self.broker.share_persister.ask(api, key.group_id, asked, self._loaded, entry)

    def _loaded(self, entry: Shared, answers: Answers) -> None:
        (part,) = answers.values()
        if self.entries.get(entry.key) is not entry or not entry.led:
            self._give_up(entry)
        elif part.error_code:
            entry.refusal = _refusal(part)
        else:
            self._begin(entry, part)
        self.changed(entry.key)
        if entry.refusal is not None:  # those who wait for it are told; who comes later tries anew
            self.node.soon(self._give_up, entry)

    def _begin(self, entry: Shared, part: Any) -> None:
        try:
            start = part.start_offset
            if start == UNINITIALIZED_START:
                start = self._chosen_start(entry)
        except (ReplicaError, LogError) as error:
            code = error_code(error)
            entry.refusal = code, code.message
            return
        batches = batches_of(part.state_batches)
        if not all(_possible(one, start) for one in batches):
            entry.refusal = ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR.message
            return
        entry.share = SharePartition(start, part.state_epoch, batches)
        self.node.emit(
            events.SHARE_PARTITION_BEGINS, group=entry.key.group_id, topic=entry.topic, partition=entry.key.partition,
            start=entry.share.start, leader_epoch=entry.leader_epoch, in_flight=len(entry.share.records),
            state_epoch=part.state_epoch,
        )  # fmt: skip

    def _chosen_start(self, entry: Shared) -> int:
        """share.auto.offset.reset: latest (the default), earliest, by_duration:PT1H. Raises ReplicaError."""
        own = self.broker.groups.registry.overrides.get(entry.key.group_id, {})
        strategy, _, duration = own.get("share.auto.offset.reset", "latest").partition(":")
        at = {"earliest": EARLIEST, "latest": LATEST}.get(strategy)
        if at is None:
            at = self.node.wall_ms() - (duration_ms(duration) or 0)
        offsets = self.broker.replicas.offsets
        found = offsets.find(entry.partition, at, CONSUMER, READ_UNCOMMITTED)
        if found is None:
            found = offsets.find(entry.partition, LATEST, CONSUMER, READ_UNCOMMITTED)
        return entry.partition.log.high_watermark if found is None else found[0]

    # --- changes --------------------------------------------------------------------------------

    def acknowledge(self, key: ShareKey, member: str, said: Sequence[Acknowledged], told: Told) -> None:
        """Later, once: `told(error, message)`. What this broker does not have is not there, whoever leads it."""
        entry = self.entries.get(key)
        if entry is not None and not entry.led:
            self._give_up(entry)
        if entry is None or entry.share is None:
            told(*self._absent(key))
            return
        limits = self.limits(key.group_id)
        try:
            going, renewed = entry.share.acknowledge(member, said, limits, self.node.now_us())
        except AcknowledgementRefused as refusal:
            told(refusal.error, refusal.message)
            return
        for one in state_batches(renewed):
            self.node.emit(
                events.SHARE_RENEWED, group=key.group_id, topic=entry.topic, partition=key.partition, member=member,
                first=one.first, last=one.last, lock_ms=limits.lock_us // 1000,
            )  # fmt: skip
        if renewed:
            self.watch_locks(entry)
        if going:
            self._write(entry, going, told)
        else:
            told(NONE, None)

    def release(self, key: ShareKey, member: str) -> None:
        """The member reads no more: what it had is available again."""
        entry = self.entries.get(key)
        if entry is not None and entry.share is not None and entry.led:
            going = entry.share.release(member, self.limits(key.group_id))
            if going:
                self._write(entry, going, _nobody_waits)

    def write_alone(self, entry: Shared, changed: list[InFlight]) -> None:
        """Changes that happened by themselves; nobody waits, and they hold whether they are written or not."""
        if changed:
            self._write(entry, changed, _nobody_waits, asked=False)

    def _write(self, entry: Shared, changed: list[InFlight], told: Told, asked: bool = True) -> None:
        api, key, share = WRITE(), entry.key, entry.share
        assert share is not None
        kind = api.request.StateBatch
        said = api.request.PartitionData(
            partition=key.partition, state_epoch=share.state_epoch, leader_epoch=entry.leader_epoch,
            start_offset=share.start,
            delivery_complete_count=sum(one.state in DONE for one in share.records.values()),
            state_batches=[
                kind(
                    first_offset=one.first, last_offset=one.last, delivery_state=one.state,
                    delivery_count=one.deliveries,
                )
                for one in state_batches(changed)
            ],
        )  # fmt: skip
        context = entry, [(one, one.state, one.count) for one in changed], told, asked
        parts = {(key.topic_id, key.partition): said}
        self.broker.share_persister.ask(api, key.group_id, parts, self._written, context)

    def _written(self, context: tuple[Shared, list[tuple[InFlight, int, int]], Told, bool], answers: Answers) -> None:
        """What ran out by itself may be with somebody else by now, or acknowledged already: that is another write's."""
        entry, changed, told, asked = context
        (part,) = answers.values()
        share = entry.share
        if share is not None:
            if not part.error_code:
                still = [one for one, state, count in changed if (one.state, one.count) == (state, count)]
                self._tell_settled(entry, still)
            mine = [one for one, _, _ in changed] if asked else []
            share.settle(mine, not part.error_code, self.limits(entry.key.group_id), self.node.now_us())
            share.advance()
        if part.error_code in FENCED:
            self._give_up(entry)
        told(*(_refusal(part) if part.error_code else (NONE, None)))
        self.watch_locks(entry)
        self.changed(entry.key)

    def _tell_settled(self, entry: Shared, changed: list[InFlight]) -> None:
        for one in state_batches(changed):
            self.node.emit(
                events.SHARE_SETTLED, group=entry.key.group_id, topic=entry.topic, partition=entry.key.partition,
                first=one.first, last=one.last, state=NAMES[one.state], count=one.deliveries,
                records=one.last - one.first + 1,
            )  # fmt: skip

    # --- locks ----------------------------------------------------------------------------------

    def watch_locks(self, entry: Shared) -> None:
        """One timer for the lock that runs out first."""
        deadline = None if entry.share is None else entry.share.next_deadline_us
        if entry.timer is not None and entry.timer_us == deadline:
            return
        if entry.timer is not None:
            entry.timer.cancel()
            entry.timer = None
        if deadline is not None:
            entry.timer_us = deadline
            entry.timer = self.node.after(max(deadline - self.node.now_us(), 0), self._expire, entry)

    def _expire(self, entry: Shared) -> None:
        entry.timer = None
        if entry.share is None or self.entries.get(entry.key) is not entry or not entry.led:
            return
        late = entry.share.expire(self.limits(entry.key.group_id), self.node.now_us())
        for one in state_batches(late):
            self.node.emit(
                events.SHARE_LOCKS_EXPIRED, group=entry.key.group_id, topic=entry.topic, partition=entry.key.partition,
                records=one.last - one.first + 1, first=one.first, last=one.last, state=NAMES[one.state],
            )  # fmt: skip
        self.write_alone(entry, late)
        self.watch_locks(entry)
        self.changed(entry.key)

    # --- moving ---------------------------------------------------------------------------------

    def resigned(self, topic: str, partition: int) -> None:
        """Another broker leads the partition, or this one in another epoch."""
        for entry in [one for one in self.entries.values() if (one.topic, one.key.partition) == (topic, partition)]:
            self._give_up(entry)
            self.changed(entry.key)

    def group_gone(self, group_id: str) -> None:
        """Nobody of the group reads here any more: whoever comes next finds what is written down, offsets that an
        operator has set included."""
        for entry in [one for one in self.entries.values() if one.key.group_id == group_id]:
            self._give_up(entry)

    def _give_up(self, entry: Shared) -> None:
        if self.entries.get(entry.key) is entry:
            del self.entries[entry.key]
        entry.share = None
        entry.refusal = entry.refusal or (
            ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_LEADER_OR_FOLLOWER.message
        )  # fmt: skip
        self.watch_locks(entry)


NAMES = {0: "available", 1: "acquired", 2: "acknowledged", 4: "archived"}


def _possible(one: StateBatch, start: int) -> bool:
    """Whether a leader can have written this. Source: SharePartition.maybeInitialize, which knows no bound."""
    inside = start <= one.first <= one.last < start + MOST_IN_FLIGHT
    return inside and (one.state == AVAILABLE or one.state in DONE) and 0 <= one.deliveries <= MOST_DELIVERIES


def _refusal(part: Any) -> Refusal:
    """What the share coordinator's error means to a member."""
    error = ErrorCode(part.error_code)
    if error in UNREACHED:
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    elif error in FENCED:
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    elif error not in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
        error = ErrorCode.UNKNOWN_SERVER_ERROR
    return error, part.error_message or error.message


def _nobody_waits(error: ErrorCode, message: str | None) -> None:
    """What could not be written is acquired again by the next leader at most."""


