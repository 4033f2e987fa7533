"""What a partition's log refuses, and the protocol error for it. Disk faults are `StorageError`."""

from __future__ import annotations

from typing import ClassVar


class LogError(Exception):
    """A request that the log cannot fulfil. `kafka_error` is the name of the protocol error."""

    kafka_error: ClassVar[str] = "UNKNOWN_SERVER_ERROR"


class OffsetOutOfRange(LogError):
    """A read below the log start or above the allowed end."""

    kafka_error = "OFFSET_OUT_OF_RANGE"

    def __init__(self, offset: int, start: int, end: int) -> None:
        super().__init__(f"offset {offset} is outside {start}..{end}")
        self.offset, self.start, self.end = offset, start, end

    def __reduce__(self) -> tuple[type[OffsetOutOfRange], tuple[int, int, int]]:
        return type(self), (self.offset, self.start, self.end)


class OffsetsNotMonotonic(LogError):
    """A follower got batches whose offsets do not go up from its log end."""

    kafka_error = "UNKNOWN_SERVER_ERROR"


class OutOfOrderSequence(LogError):
    """An idempotent producer skipped a sequence number."""

    kafka_error = "OUT_OF_ORDER_SEQUENCE_NUMBER"


class DuplicateSequence(LogError):
    """Only some batches of one append are known already."""

    kafka_error = "DUPLICATE_SEQUENCE_NUMBER"


class InvalidProducerEpoch(LogError):
    """A producer with an older epoch than one that has written: it has been fenced."""

    kafka_error = "INVALID_PRODUCER_EPOCH"


class InvalidTransactionState(LogError):
    """A plain batch in the middle of the producer's transaction."""

    kafka_error = "INVALID_TXN_STATE"


class TransactionCoordinatorFenced(LogError):
    """A marker from a coordinator that has been replaced."""

    kafka_error = "TRANSACTION_COORDINATOR_FENCED"


class InvalidConfig(LogError):
    """A setting that does not exist or whose value cannot be."""

    kafka_error = "INVALID_CONFIG"


class CorruptIndex(LogError):
    """An index file that contradicts itself or the log: it is rebuilt."""


class CorruptSnapshot(LogError):
    """A producer snapshot that cannot be read: it is dropped."""
