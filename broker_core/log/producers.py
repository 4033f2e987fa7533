"""What a partition remembers of its idempotent and transactional producers (KIP-98, "Idempotent producer guarantees").

Per producer id: the epoch and the last five batches, each with its sequences and offsets. Five,
because a client keeps at most five requests in flight: any of them may be sent again.

| known: epoch 0, last sequence 9 | batch arrives | answer |
|---|---|---|
| | epoch 0, sequences 10..14 | appended |
| | epoch 0, sequences 5..9, and those are among the last five batches | duplicate: the old offsets again |
| | epoch 0, sequences 12..14 | OUT_OF_ORDER_SEQUENCE_NUMBER: 10 and 11 are missing |
| | epoch 1, sequence 0 | appended, epoch 1 from now on |
| | epoch 1, sequence 3 | OUT_OF_ORDER_SEQUENCE_NUMBER: a new epoch begins at 0 |
| | older epoch | INVALID_PRODUCER_EPOCH: fenced |
| nothing (expired, or deleted with its records) | any sequence | appended |
| a transaction open since 40 | transactional, next sequence | appended to it |
| | not transactional | INVALID_TXN_STATE |
| | a marker, epoch >= the producer's, coordinator epoch >= the last one | the transaction is over |
| | a marker of an older epoch; of an older coordinator | INVALID_PRODUCER_EPOCH; TRANSACTION_COORDINATOR_FENCED |
| no transaction | transactional | one begins at its first offset, once that is verified (`transactions`) |

With `transaction.version` 2 each transaction has an epoch of its own (KIP-890 part 2): its marker bears the next one,
so a marker with the epoch of the open transaction is a late one of the transaction before, and is refused.

Sequences wrap from 2^31-1 to 0. A producer that has been silent for `producer.id.expiration.ms`
[1 day] and has no open transaction is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from broker_core.log.errors import (
    DuplicateSequence,
    InvalidProducerEpoch,
    InvalidTransactionState,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from broker_core.log.transactions import OF_ANY_EPOCH, CompletedTransaction, Transactions, Verifications
from broker_core.records.control import ABORT, COMMIT, end_transaction_marker
from broker_core.records.header import (
    CONTROL,
    TRANSACTIONAL,
    BatchHeader,
)
from broker_core.records.record import Record

BATCHES_KEPT = 5
NO_EPOCH = -1
NO_SEQUENCE = -1
LARGEST_SEQUENCE = 0x7FFFFFFF
LARGEST_EPOCH = 0x7FFF
EPOCH_FOR_EACH_TRANSACTION = 2
"""From this `transaction.version` on."""
EXPIRATION_MS = 24 * 60 * 60 * 1000
LATE_BUFFER_MS = 5 * 60 * 1000
"""What a marker may take beyond the time-out of its transaction."""
_new = tuple.__new__


class ProducedBatch(NamedTuple):
    """One remembered batch. First sequence and offset follow from the last and the difference."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & LARGEST_SEQUENCE

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerEntry:
    """State of one producer id; 0 <= len(batches) <= 5, oldest first."""

    __slots__ = ("producer_id", "epoch", "batches", "last_timestamp", "coordinator_epoch", "transaction_start")

    def __init__(self, producer_id: int, epoch: int = NO_EPOCH) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.batches: list[ProducedBatch] = []
        self.last_timestamp = -1
        self.coordinator_epoch = -1
        self.transaction_start: int | None = None

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else -1

    def duplicate_of(self, header: BatchHeader) -> ProducedBatch | None:
        """The remembered batch with the same epoch and sequences."""
        if header.producer_epoch != self.epoch:
            return None
        last, delta = header.last_sequence, header.last_offset_delta
        for batch in self.batches:
            if batch.last_sequence == last and batch.offset_delta == delta:
                return batch
        return None


class ProducerStateTable:
    """All producers of one partition, and up to which offset their batches have been seen."""

    __slots__ = ("entries", "map_end_offset", "expiration_ms", "transactions", "verifications")

    def __init__(self, expiration_ms: int = EXPIRATION_MS) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        self.transactions = Transactions()
        self.verifications = Verifications()
        self.map_end_offset = 0
        self.expiration_ms = expiration_ms

    def continues(self, header: BatchHeader) -> bool:
        """Whether this is the usual case: the next batch of a known producer, in its transaction if there is one."""
        entry = self.entries.get(header.producer_id)
        if entry is None or not entry.batches:
            return False
        if (entry.transaction_start is None) == (header.attributes & TRANSACTIONAL != 0):
            return False
        following = (entry.batches[-1].last_sequence + 1) & LARGEST_SEQUENCE
        return header.producer_epoch == entry.epoch and header.base_sequence == following != 0

    def check(self, headers: Sequence[BatchHeader], client: bool, guard: int | None = None) -> ProducedBatch | None:
        """Judge batches before they are appended. Returns the old batch when they are a duplicate.

        `client`: not a coordinator, whose batches have no sequences; `guard`: of a verification, 0: there was none,
        None: nothing needs to be verified.
        Raises OutOfOrderSequence, InvalidProducerEpoch, InvalidTransactionState, DuplicateSequence.
        """
        duplicate: ProducedBatch | None = None
        pending: dict[int, tuple[int, int]] = {}
        for header in headers:
            if header.producer_id < 0 or header.attributes & CONTROL:
                continue
            entry = self.entries.get(header.producer_id)
            if client and entry is not None:
                found = entry.duplicate_of(header)
                if found is not None:
                    duplicate = found
                    continue
            self._check_verified(header, guard)
            if client:
                self._check_first_of_transaction(entry, header)
            if entry is not None or header.producer_id in pending:
                self._check_sequence(entry, header, client, pending)
            pending[header.producer_id] = header.producer_epoch, header.last_sequence
        if duplicate is not None and pending:
            raise DuplicateSequence("some batches of the append have been appended before, others not")
        return duplicate

    def open_transaction(self, producer_id: int, epoch: int) -> int | None:
        """First offset of the producer's open transaction here, in this epoch. Of a newer epoch none is open: what is,
        is one that has been decided already, and its marker is on its way. Of an older one neither: that is a zombie,
        and the coordinator says so."""
        entry = self.entries.get(producer_id)
        return None if entry is None or entry.epoch != epoch else entry.transaction_start

    def has_newer(self, producer_id: int, epoch: int) -> bool:
        """Whether the producer has written here, or was marked, with a later epoch."""
        entry = self.entries.get(producer_id)
        return entry is not None and entry.epoch > epoch

    def has_open_transaction(self, producer_id: int) -> bool:
        """Whether a transaction of the producer is open here, of whatever epoch."""
        entry = self.entries.get(producer_id)
        return entry is not None and entry.transaction_start is not None

    def start_verification(
        self, producer_id: int, sequence: int, epoch: int, supports_epoch_bump: bool, now_ms: int
    ) -> int | None:
        """The guard that the batch has to show when it is appended (KIP-890); None: its transaction is open here."""
        if self.open_transaction(producer_id, epoch) is not None:
            return None
        return self.verifications.start(producer_id, sequence, epoch, supports_epoch_bump, now_ms)

    def _check_verified(self, header: BatchHeader, guard: int | None) -> None:
        if guard is None or not header.is_transactional:
            return
        producer_id, epoch = header.producer_id, header.producer_epoch
        open_here = self.open_transaction(producer_id, epoch) is not None
        if guard == OF_ANY_EPOCH:
            open_here = self.has_open_transaction(producer_id)
        if not open_here and not self.verifications.is_right(producer_id, guard):
            raise InvalidTransactionState("Record was not part of an ongoing transaction")

    def _check_first_of_transaction(self, entry: ProducerEntry | None, header: BatchHeader) -> None:
        """While a producer is being verified its lowest batch goes first; a new epoch without a past begins at 0."""
        found = self.verifications.of.get(header.producer_id)
        if found is None:
            return
        past = entry is not None and entry.batches
        if (found.supports_epoch_bump and header.base_sequence and not past) or (
            header.base_sequence > found.lowest_sequence
        ):
            raise OutOfOrderSequence(
                f"Out of order sequence number for producer {header.producer_id}: {header.base_sequence} "
                f"(incoming seq. number), {found.lowest_sequence} (earliest seen sequence)"
            )

    def _check_sequence(
        self, entry: ProducerEntry | None, header: BatchHeader, client: bool, pending: dict[int, tuple[int, int]]
    ) -> None:
        if header.producer_id in pending:
            epoch, last = pending[header.producer_id]
        else:
            assert entry is not None
            epoch, last = entry.epoch, entry.last_sequence
        name = f"producer {header.producer_id} epoch {header.producer_epoch}"
        if header.producer_epoch < epoch:
            raise InvalidProducerEpoch(f"Epoch of {name} is smaller than the last seen epoch {epoch}")
        if not client:
            pass
        elif header.producer_epoch != epoch:
            if header.base_sequence != 0 and epoch != NO_EPOCH:
                raise OutOfOrderSequence(
                    f"Invalid sequence number for new epoch of {name}: {header.base_sequence}, "
                    f"{last} (current end sequence number)"
                )
        elif epoch != NO_EPOCH and header.base_sequence != (last + 1) & LARGEST_SEQUENCE:
            raise OutOfOrderSequence(
                f"Out of order sequence number for {name}: {header.base_sequence} (incoming seq. number), "
                f"{last} (current end sequence number)"
            )
        if entry is not None and entry.transaction_start is not None and not header.is_transactional:
            raise InvalidTransactionState(f"Expected transactional write from {name}")

    def update(self, header: BatchHeader, markers: list[Record] | None = None) -> CompletedTransaction | None:
        """Take in an appended batch (with its final offsets); `markers` are a control batch's records.

        Returns what they have ended, which is then to be handed to `transactions.complete`.
        """
        ended = None
        if header.producer_id >= 0:
            if header.attributes & CONTROL:
                ended = self._end_transaction(header, markers or [])
            else:
                self.add(header)
        self.map_end_offset = header.base_offset + header.last_offset_delta + 1
        return ended

    def add(self, header: BatchHeader) -> None:
        """Take in an appended batch of an idempotent producer that holds records."""
        entry = self.entries.get(header.producer_id)
        if entry is None:
            entry = self.entries[header.producer_id] = ProducerEntry(header.producer_id)
        delta, sequence = header.last_offset_delta, header.base_sequence
        last_sequence = (sequence + delta) & LARGEST_SEQUENCE if sequence >= 0 else NO_SEQUENCE
        batch = _new(ProducedBatch, (last_sequence, header.base_offset + delta, delta, header.max_timestamp))
        batches = entry.batches
        if header.producer_epoch != entry.epoch:
            entry.epoch = header.producer_epoch
            batches.clear()
        batches.append(batch)
        if len(batches) > BATCHES_KEPT:
            del batches[0]
        entry.last_timestamp = header.max_timestamp
        if header.attributes & TRANSACTIONAL:
            self.verifications.of.pop(header.producer_id, None)
            if entry.transaction_start is None:
                entry.transaction_start = header.base_offset
                self.transactions.begin(header.base_offset, header.producer_id)

    def _end_transaction(self, header: BatchHeader, records: list[Record]) -> CompletedTransaction | None:
        """A marker whose record the cleaner has removed ends nothing: the transaction is gone with it."""
        self.verifications.of.pop(header.producer_id, None)
        marker = end_transaction_marker(records[0]) if records else None
        if marker is None or marker.kind not in (ABORT, COMMIT):
            return None
        entry = self.entries.get(header.producer_id)
        if entry is None:
            entry = self.entries[header.producer_id] = ProducerEntry(header.producer_id)
        if header.producer_epoch != entry.epoch:
            entry.epoch = header.producer_epoch
            entry.batches.clear()
        start, entry.transaction_start = entry.transaction_start, None
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = records[0].timestamp
        if start is None:
            return None
        return CompletedTransaction(header.producer_id, start, header.base_offset, marker.kind == ABORT)

    def check_marker(self, header: BatchHeader, coordinator_epoch: int, transaction_version: int = 0) -> None:
        """Refuse the marker of a fenced producer or of a replaced transaction coordinator.

        In version 2 its epoch must be above the producer's; the same is a marker that is sent again when no
        transaction is open, and the last one there is (KIP-890, KIP-1228).
        """
        entry = self.entries.get(header.producer_id)
        if entry is None:
            return
        epoch = header.producer_epoch
        strict = transaction_version >= EPOCH_FOR_EACH_TRANSACTION
        same_is_late = strict and entry.transaction_start is not None and epoch != LARGEST_EPOCH
        if epoch < entry.epoch or (epoch == entry.epoch and same_is_late):
            raise InvalidProducerEpoch(f"Epoch {epoch} of the marker is not above {entry.epoch}")
        if coordinator_epoch < entry.coordinator_epoch:
            raise TransactionCoordinatorFenced(
                f"Coordinator epoch {coordinator_epoch} is below {entry.coordinator_epoch}"
            )

    def load(self, entries: Iterable[ProducerEntry]) -> None:
        """Add those of a snapshot."""
        for entry in entries:
            self.entries[entry.producer_id] = entry
        started = {one.transaction_start: one.producer_id for one in self.entries.values()}
        self.transactions.load({first: producer for first, producer in started.items() if first is not None})

    def late_transaction(self, now_ms: int, longest_ms: int) -> bool:
        """Whether the oldest open transaction is silent for longer than any may take: it hangs (KIP-664)."""
        if not self.transactions.open:
            return False
        oldest = self.entries.get(next(iter(self.transactions.open.values())))
        return oldest is not None and 0 < oldest.last_timestamp < now_ms - longest_ms - LATE_BUFFER_MS

    def expire(self, now_ms: int) -> list[int]:
        """Forget silent producers; returns their ids."""
        gone = [
            producer_id
            for producer_id, entry in self.entries.items()
            if entry.transaction_start is None and now_ms - entry.last_timestamp >= self.expiration_ms
        ]
        for producer_id in gone:
            del self.entries[producer_id]
        self.verifications.expire(now_ms, self.expiration_ms)
        return gone

    def clear(self, end_offset: int) -> None:
        self.entries.clear()
        self.transactions.clear()
        self.map_end_offset = end_offset


def has_producers(headers: Sequence[BatchHeader]) -> bool:
    """Whether any of the batches comes from an idempotent producer."""
    return headers[0].producer_id >= 0 or (len(headers) > 1 and any(header.producer_id >= 0 for header in headers))
