"""Records: the bytes that producers send, brokers store and consumers read.

The same bytes travel and lie on disk, so this package knows no file and no socket.

Read in this order: `varint`, `record` (one record), `header` (one batch, and walking over
batches), `compression`, `batch` (making and reading), `control` (markers), `validate` and `structure`
(what a leader checks), `legacy` and `conversion` (the formats before 0.11).
"""

from broker_core.records.batch import (
    assign_append_time,
    assign_offset,
    decode_records,
    encode_batch,
    single_record_batch,
)
from broker_core.records.errors import (
    CorruptRecordError,
    DecompressedTooLargeError,
    DecompressionError,
    InvalidRecordError,
    InvalidTimestampError,
    RecordListTooLargeError,
    RecordsError,
    RecordTooLargeError,
    UnsupportedCompressionError,
    UnsupportedFormatError,
)
from broker_core.records.header import Batch, BatchHeader, iterate_batches, read_header, read_headers
from broker_core.records.record import Headers, NewRecord, Record
from broker_core.records.validate import ValidationRules, check_produce_payload, validate_batches

__all__ = [
    "Batch",
    "BatchHeader",
    "CorruptRecordError",
    "DecompressedTooLargeError",
    "DecompressionError",
    "Headers",
    "InvalidRecordError",
    "InvalidTimestampError",
    "NewRecord",
    "Record",
    "RecordListTooLargeError",
    "RecordTooLargeError",
    "RecordsError",
    "UnsupportedCompressionError",
    "UnsupportedFormatError",
    "ValidationRules",
    "assign_append_time",
    "assign_offset",
    "check_produce_payload",
    "decode_records",
    "encode_batch",
    "iterate_batches",
    "read_header",
    "read_headers",
    "single_record_batch",
    "validate_batches",
]
