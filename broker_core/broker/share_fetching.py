"""ShareFetch: reading what a member may have, and giving it to it.

    session -> its share-partitions -> loaded? -> a record to be had? -> acquire, answer
                                        |            | not yet: wait in the fetch purgatory, at most max_wait
                                        +------------+ once it is loaded, at an append, at a release it looks again

A fetch is complete when it can get `min_bytes`, or a share-partition has an error. Reading goes from the first offset
that may be acquired; what is acquired is decided from the batches that were read (`sharing.partition`). With
share.isolation.level=read_committed, records of aborted transactions and markers are archived at once.

Source: DelayedShareFetch, ShareFetchUtils of 4.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from broker_core.broker.share_partitions import READ_COMMITTED, Shared, SharePartitions
from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.storage import read_all
from broker_core.log.errors import LogError
from broker_core.purgatory.operations import DelayedOperation
from broker_core.records.control import ABORT, end_transaction_marker
from broker_core.records import decode_records
from broker_core.records.header import Batch, iterate_batches
from broker_core.sharing.batches import ARCHIVED
from broker_core.sharing.partition import Acquired, InFlight, Wanted
from broker_core.sharing.records import ShareKey
from broker_core.sharing.sessions import INITIAL
from broker_core.replication.errors import error_code
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

Refusal = tuple[ErrorCode, str | None]


class Found(NamedTuple):
    """What was read for one share-partition."""

    entry: Shared
    batches: list[Batch]
    aborted: list[Any]


class DelayedShareFetch(DelayedOperation):
    """One ShareFetch. `parts`: what it has found so far, errors included, by share-partition."""

    __slots__ = ("fetching", "group_id", "member", "client", "keys_asked", "request", "done", "parts")

    def __init__(
        self, fetching: ShareFetching, member: str, client: str, keys: list[ShareKey], request: Any, done: Any
    ) -> None:
        DelayedOperation.__init__(self)
        self.fetching = fetching
        self.member = member
        self.client = client
        self.keys_asked = keys
        self.request = request
        self.done = done
        self.parts: dict[ShareKey, Any] = {}

    def try_complete(self) -> bool:
        return not self.completed and self.fetching.look(self) and self.force_complete()

    def on_complete(self) -> None:
        self.done(self.fetching.take(self))


class ShareFetching:
    """Serves ShareFetch requests of one broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.node = broker.node
        self.partitions = SharePartitions(broker, self._changed)

    def _changed(self, key: ShareKey) -> None:
        self.broker.replicas.fetch_purgatory.check_soon(key)

    def fetch(self, member: str, keys: list[ShareKey], request: Any, done: Any, client: str = "") -> None:
        """Later, once: `done(parts of the answer by share-partition)`."""
        operation = DelayedShareFetch(self, member, client, keys, request, done)
        if operation.try_complete():
            return
        watched: list[Any] = [*keys]
        watched += [entry.partition for key in keys if (entry := self.partitions.entries.get(key)) is not None]
        self.broker.replicas.fetch_purgatory.watch(operation, watched, max(request.max_wait, 1))

    def look(self, operation: DelayedShareFetch) -> bool:
        """Whether the fetch has something to say; who wants no bytes has it once a share-partition is there."""
        size, there = 0, False
        for key in operation.keys_asked:
            found = self.partitions.find(key)
            if isinstance(found, tuple) or found.refusal is not None:
                return True
            if self._may_acquire(found):
                there = True
                size += self._available(found, operation.request)
        return not operation.keys_asked or (there and size >= self._least(operation.request))

    def _may_acquire(self, entry: Shared) -> bool:
        """Whether its state is loaded and has room for more records, those aside that the log has lost by now."""
        if entry.share is None:
            return False
        entry.share.log_starts_at(entry.partition.log.log_start_offset)
        return entry.share.may_acquire(self.partitions.limits(entry.key.group_id))

    def _most(self, request: Any) -> int:
        """Bytes of an answer."""
        return min(int(request.max_bytes), int(self.broker.config["fetch.max.bytes"]))

    def _least(self, request: Any) -> int:
        """Nobody waits for more than would be sent."""
        return min(int(request.min_bytes), self._most(request))

    def _available(self, entry: Shared, request: Any) -> int:
        """Bytes that could be read now."""
        least = max(self._least(request), 1)
        try:
            read = self._read(entry, least)
        except (LogError, StorageError):
            return least
        return 0 if read is None else sum(len(batch.data) for batch in read.batches)

    def _read(self, entry: Shared, most: int) -> Found | None:
        """Batches from the first offset that may be acquired; None when there is nothing for anybody."""
        share, log = entry.share, entry.partition.log
        group_id = entry.key.group_id
        if share is None or not self._may_acquire(entry):
            return None
        committed = self.partitions.isolation(group_id) == READ_COMMITTED
        end = log.last_stable_offset if committed else log.high_watermark
        offset = share.next_fetch_offset
        if offset >= end:
            return None
        found = log.read(offset, most, end, True)
        if not found.size:
            return None
        aborted = log.aborted_in(offset, found, most) if committed else []
        return Found(entry, list(iterate_batches(read_all(found.slices))), aborted)

    # --- taking ---------------------------------------------------------------------------------

    def take(self, operation: DelayedShareFetch) -> dict[ShareKey, Any]:
        """Acquires what there is, as much of each share-partition as fits."""
        request, parts = operation.request, operation.parts
        room = self._most(request)
        left = request.max_records if request.max_records > 0 else 1 << 31
        for number, key in enumerate(operation.keys_asked):
            found = self.partitions.find(key)
            if isinstance(found, tuple):
                parts[key] = _failed(key, found)
            elif found.refusal is not None:
                parts[key] = _failed(key, found.refusal)
            elif found.share is not None:
                part = None
                if left > 0:
                    share_of_room = max(room // (len(operation.keys_asked) - number), 1)
                    part, count, size = self._take_from(found, operation, share_of_room, left)
                    left -= count
                    room -= size
                if part is None and request.share_session_epoch == INITIAL and self._may_acquire(found):
                    part = _nothing(key)
                if part is not None:
                    parts[key] = part
        return parts

    def _take_from(
        self, entry: Shared, operation: DelayedShareFetch, most: int, left: int
    ) -> tuple[Any, int, int]:
        """The part of the answer (None: nothing), the records in it, and its bytes."""
        key, request = entry.key, operation.request
        try:
            read = self._read(entry, most)
        except (LogError, StorageError) as error:
            code = error_code(error) if isinstance(error, LogError) else ErrorCode.KAFKA_STORAGE_ERROR
            return _failed(key, (code, code.message)), 0, 0
        if read is None or entry.share is None:
            return None, 0, 0
        spans = [(batch.header.base_offset, batch.header.last_offset) for batch in read.batches]
        wanted = Wanted(left, max(request.batch_size, 1), request.share_acquire_mode == 1)
        now_us, limits = self.node.now_us(), self.partitions.limits(key.group_id)
        given, gone = entry.share.acquire(operation.member, spans, wanted, limits, now_us)
        given = self._without_aborted(entry, read, given, gone)
        self.partitions.write_alone(entry, gone)
        entry.share.advance()
        self.partitions.watch_locks(entry)
        if not given:
            return None, 0, 0
        first, last = given[0].first, given[-1].last
        sent = [
            bytes(batch.data) for batch in read.batches
            if batch.header.last_offset >= first and batch.header.base_offset <= last
        ]  # fmt: skip
        kind = m.ShareFetchResponse
        part = kind.PartitionData(
            partition_index=key.partition, records=sent, current_leader=kind.LeaderIdAndEpoch(),
            acquired_records=[
                kind.AcquiredRecords(first_offset=one.first, last_offset=one.last, delivery_count=one.delivery)
                for one in given
            ],
        )  # fmt: skip
        self._tell(entry, operation, given, limits.lock_us // 1000)
        return part, sum(one.last - one.first + 1 for one in given), sum(map(len, sent))

    def _without_aborted(
        self, entry: Shared, read: Found, given: list[Acquired], gone: list[InFlight]
    ) -> list[Acquired]:
        """read_committed: records of aborted transactions are nobody's."""
        share = entry.share
        doomed = _aborted(read) if read.aborted else []
        if not doomed or share is None:
            return given
        kept: list[Acquired] = []
        for one in given:
            begin = one.first
            for base, last in doomed:
                if last < begin or base > one.last:
                    continue
                if base > begin:
                    kept.append(Acquired(begin, base - 1, one.delivery))
                for offset in range(max(base, begin), min(last, one.last) + 1):
                    record = share.records[offset]
                    record.state, record.member = ARCHIVED, ""
                    gone.append(record)
                begin = last + 1
            if begin <= one.last:
                kept.append(Acquired(begin, one.last, one.delivery))
        return kept

    def _tell(self, entry: Shared, operation: DelayedShareFetch, given: list[Acquired], lock_ms: int) -> None:
        for one in given:
            self.node.emit(
                events.SHARE_ACQUIRED, group=entry.key.group_id, topic=entry.topic, partition=entry.key.partition,
                member=operation.member, client=operation.client, first=one.first, last=one.last, count=one.delivery,
                lock_ms=lock_ms,
            )  # fmt: skip


def _aborted(read: Found) -> list[tuple[int, int]]:
    """First and last offset of each batch that belongs to an aborted transaction, its marker included."""
    waiting = sorted(read.aborted, key=lambda one: one.first_offset, reverse=True)
    open_ids: set[int] = set()
    found = []
    for batch in read.batches:
        header = batch.header
        while waiting and waiting[-1].first_offset <= header.last_offset:
            open_ids.add(waiting.pop().producer_id)
        if not header.is_transactional or header.producer_id not in open_ids:
            continue
        found.append((header.base_offset, header.last_offset))
        if header.is_control and end_transaction_marker(decode_records(batch)[0]).kind == ABORT:
            open_ids.discard(header.producer_id)
    return found


def _nothing(key: ShareKey) -> Any:
    """Of a share-partition that has nothing to give: told in a session's first answer, left out of later ones."""
    kind = m.ShareFetchResponse
    return kind.PartitionData(partition_index=key.partition, records=b"", current_leader=kind.LeaderIdAndEpoch())


def _failed(key: ShareKey, refusal: Refusal) -> Any:
    kind = m.ShareFetchResponse
    return kind.PartitionData(
        partition_index=key.partition, error_code=refusal[0], error_message=refusal[1],
        current_leader=kind.LeaderIdAndEpoch(),
    )  # fmt: skip
