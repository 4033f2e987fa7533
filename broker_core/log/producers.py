"""What a partition remembers of its idempotent producers (KIP-98, section "Idempotent producer guarantees").

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

Sequences wrap from 2^31-1 to 0. A producer that has been silent for `producer.id.expiration.ms`
[1 day] and has no open transaction is forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from broker_core.log.errors import (
    DuplicateSequence,
    InvalidProducerEpoch,
    InvalidTransactionState,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
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
EXPIRATION_MS = 24 * 60 * 60 * 1000
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

    __slots__ = ("entries", "map_end_offset", "expiration_ms", "transactions")

    def __init__(self, expiration_ms: int = EXPIRATION_MS) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        self.transactions = False
        """Whether a transaction has ever begun here: most logs never see one, and are asked at each fetch."""
        self.map_end_offset = 0
        self.expiration_ms = expiration_ms

    def continues(self, header: BatchHeader) -> bool:
        """Whether this is the usual case: the next batch of a known producer without an open transaction."""
        entry = self.entries.get(header.producer_id)
        if entry is None or not entry.batches or entry.transaction_start is not None:
            return False
        following = (entry.batches[-1].last_sequence + 1) & LARGEST_SEQUENCE
        return header.producer_epoch == entry.epoch and header.base_sequence == following != 0

    def check(self, headers: Sequence[BatchHeader], client: bool) -> ProducedBatch | None:
        """Judge batches before they are appended. Returns the old batch when they are a duplicate.

        Raises OutOfOrderSequence, InvalidProducerEpoch, DuplicateSequence.
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
            if entry is not None or header.producer_id in pending:
                self._check_sequence(entry, header, client, pending)
            pending[header.producer_id] = header.producer_epoch, header.last_sequence
        if duplicate is not None and pending:
            raise DuplicateSequence("some batches of the append have been appended before, others not")
        return duplicate

    def _check_sequence(
        self, entry: ProducerEntry | None, header: BatchHeader, client: bool, pending: dict[int, tuple[int, int]]
    ) -> None:
        if header.producer_id in pending:
            epoch, last = pending[header.producer_id]
        else:
            assert entry is not None
            epoch, last = entry.epoch, entry.last_sequence
        if not client:
            return
        name = f"producer {header.producer_id} epoch {header.producer_epoch}"
        if header.producer_epoch < epoch:
            raise InvalidProducerEpoch(f"Epoch of {name} is smaller than the last seen epoch {epoch}")
        if header.producer_epoch != epoch:
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

    def update(self, header: BatchHeader, markers: list[Record] | None = None) -> None:
        """Take in an appended batch (with its final offsets); `markers` are a control batch's records."""
        if header.producer_id >= 0:
            if header.attributes & CONTROL:
                self._end_transaction(header, markers or [])
            else:
                self.add(header)
        self.map_end_offset = header.base_offset + header.last_offset_delta + 1

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
        if header.attributes & TRANSACTIONAL and entry.transaction_start is None:
            self.transactions = True
            entry.transaction_start = header.base_offset

    def _end_transaction(self, header: BatchHeader, records: list[Record]) -> None:
        marker = end_transaction_marker(records[0]) if records else None
        if marker is None or marker.kind not in (ABORT, COMMIT):
            return
        entry = self.entries.get(header.producer_id)
        if entry is None:
            entry = self.entries[header.producer_id] = ProducerEntry(header.producer_id)
        if header.producer_epoch != entry.epoch:
            entry.epoch = header.producer_epoch
            entry.batches.clear()
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.transaction_start = None
        entry.last_timestamp = records[0].timestamp

    def check_marker(self, header: BatchHeader, coordinator_epoch: int) -> None:
        """Refuse the marker of a fenced producer or of a replaced transaction coordinator."""
        entry = self.entries.get(header.producer_id)
        if entry is None:
            return
        if header.producer_epoch < entry.epoch:
            raise InvalidProducerEpoch(f"Epoch {header.producer_epoch} of the marker is below {entry.epoch}")
        if coordinator_epoch < entry.coordinator_epoch:
            raise TransactionCoordinatorFenced(
                f"Coordinator epoch {coordinator_epoch} is below {entry.coordinator_epoch}"
            )

    @property
    def first_open_transaction(self) -> int | None:
        """Smallest offset that belongs to a transaction without a marker."""
        starts = [entry.transaction_start for entry in self.entries.values() if entry.transaction_start is not None]
        return min(starts, default=None)

    def expire(self, now_ms: int) -> list[int]:
        """Forget silent producers; returns their ids."""
        gone = [
            producer_id
            for producer_id, entry in self.entries.items()
            if entry.transaction_start is None and now_ms - entry.last_timestamp >= self.expiration_ms
        ]
        for producer_id in gone:
            del self.entries[producer_id]
        return gone

    def clear(self, end_offset: int) -> None:
        self.entries.clear()
        self.map_end_offset = end_offset


def has_producers(headers: Sequence[BatchHeader]) -> bool:
    """Whether any of the batches comes from an idempotent producer."""
    return headers[0].producer_id >= 0 or (len(headers) > 1 and any(header.producer_id >= 0 for header in headers))
