"""What can be wrong with the bytes of a record batch, and the protocol error that a client gets for it.

| error | Kafka's error name | example |
|---|---|---|
| CorruptRecordError | CORRUPT_MESSAGE | CRC does not match, length below the smallest batch |
| InvalidRecordError | INVALID_RECORD | record count lies, key missing on a compacted topic |
| InvalidTimestampError | INVALID_TIMESTAMP | further in the future than message.timestamp.after.max.ms |
| RecordTooLargeError | MESSAGE_TOO_LARGE | batch above max.message.bytes |
| DecompressedTooLargeError | MESSAGE_TOO_LARGE | 30 KB that decompress to 1 GB |
| UnsupportedCompressionError | UNSUPPORTED_COMPRESSION_TYPE | attributes name a codec that does not exist |
| UnsupportedFormatError | UNSUPPORTED_FOR_MESSAGE_FORMAT | a producer id for a log of magic 1 |
| UnconvertibleError | UNKNOWN_SERVER_ERROR | headers for a log of magic 1 |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from broker_core.kernel.problems import Problem, problem, told


class RecordsError(Exception):
    """Bytes that are refused: `what` is wrong, and where (`at_batch_byte`, `at_record`, ...).

    A text as `what` is what Kafka says, in its own words. `faults` names single records, (index in the batch,
    message): the response's record_errors.
    """

    kafka_error: ClassVar[str] = "UNKNOWN_SERVER_ERROR"

    def __init__(
        self, what: Problem | str, place: Problem | None = None, faults: Sequence[tuple[int, str]] = ()
    ) -> None:
        super().__init__(what, place)
        self.what = problem("kafka_words", words=what) if isinstance(what, str) else what
        self.place = place
        self.faults = tuple(faults)

    @property
    def problem(self) -> Problem:
        """What is wrong, with its place."""
        return self.what if self.place is None else problem("wrong_in", place=self.place, what=self.what)

    @property
    def reason(self) -> str:
        """The English sentence without the place, which the answer to a client has."""
        return told(self.what)

    def __str__(self) -> str:
        return told(self.problem)

    def __reduce__(self) -> tuple[type[RecordsError], tuple[Problem, Problem | None, tuple[tuple[int, str], ...]]]:
        return type(self), (self.what, self.place, self.faults)


class CorruptRecordError(RecordsError):
    """The bytes are damaged: nothing in them can be trusted."""

    kafka_error = "CORRUPT_MESSAGE"


class DecompressionError(CorruptRecordError):
    """A compressed part does not decompress.

    Kafka has no error of its own for that: the client is told UNKNOWN_SERVER_ERROR.
    """

    kafka_error = "UNKNOWN_SERVER_ERROR"


class DecompressedTooLargeError(DecompressionError):
    """What is inside is too much to be looked at: too many bytes, pieces or records.

    Kafka has no such bound. Told MESSAGE_TOO_LARGE, a producer splits the batch and sends the halves.
    """

    kafka_error = "MESSAGE_TOO_LARGE"


class InvalidRecordError(RecordsError):
    """The bytes are whole and say something that is not allowed."""

    kafka_error = "INVALID_RECORD"


class InvalidTimestampError(RecordsError):
    """A timestamp outside `message.timestamp.before.max.ms` / `after.max.ms`, or of the wrong type."""

    kafka_error = "INVALID_TIMESTAMP"


class RecordTooLargeError(RecordsError):
    """A batch above `max.message.bytes`."""

    kafka_error = "MESSAGE_TOO_LARGE"


class RecordListTooLargeError(RecordsError):
    """A produce payload above `segment.bytes`: it would not fit into any segment."""

    kafka_error = "RECORD_LIST_TOO_LARGE"


class UnsupportedCompressionError(RecordsError):
    """A compression codec that does not exist, or not for this version of the request."""

    kafka_error = "UNSUPPORTED_COMPRESSION_TYPE"


class UnsupportedFormatError(RecordsError):
    """The message format cannot carry this (producer ids and transactions before magic 2)."""

    kafka_error = "UNSUPPORTED_FOR_MESSAGE_FORMAT"


class UnconvertibleError(RecordsError):
    """What Kafka only finds while it writes messages of an old format: headers, zstd, a time below -1.

    It has no error of its own for that: the client is told UNKNOWN_SERVER_ERROR.
    """
