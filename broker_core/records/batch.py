"""Making a batch, reading its records, and the bytes that a broker writes into it on append.

    batch = encode_batch([(1700000000000, b"k", b"hello", ())])
    len(batch)                       74 = 61 (header) + 13 (record)
    read_header(batch).crc           CRC-32C of the last 53 bytes
    decode_records(batch)            [Record(offset=0, timestamp=1700000000000, key=b"k", ...)]
    assign_offset(batch, 50, 3)      byte 0..8 = 50, byte 12..16 = 3; the CRC stays

Built-in producers, coordinators and tests make their batches here; what an outside producer
sent is stored as it came and only `assign_offset` touches it.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from crc32c import crc32c

from broker_core.kernel.problems import problem
from broker_core.kernel.storage import Buffer
from broker_core.records import header as h
from broker_core.records.compression import DEFAULT_BOUND, compress, decompress
from broker_core.records.errors import InvalidRecordError, RecordsError
from broker_core.records.header import HEADER_SIZE, LEADER_EPOCH_AT, Batch, read_header
from broker_core.records.record import NewRecord, Record, decode_body, encode_records
from broker_core.records.varint import SMALL, SMALL_LIMIT, encode_varint

RECORD_WORK = 64
"""A record that is looked at by itself takes about as long as so many bytes that are decompressed."""
_OFFSET = Struct(">q")
_INT32 = Struct(">i")
_CRC = Struct(">I")
_ATTRIBUTES = Struct(">h")
_BEHIND_CRC = Struct(">hiqqqhii")
_BEFORE_CRC = Struct(">qiibI")


def encode_batch(
    records: Sequence[NewRecord],
    base_offset: int = 0,
    compression: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    leader_epoch: int = -1,
    timestamp_type: int = 0,
    transactional: bool = False,
    control: bool = False,
    offset_deltas: Sequence[int] | None = None,
    level: int | None = None,
) -> bytearray:
    """One batch of magic 2 from (timestamp, key, value, headers) tuples; at least one.

    `offset_deltas` leaves gaps between offsets, as the cleaner does. With `timestamp_type` 1
    (LogAppendTime) the largest timestamp counts for every record. `level`: of the compression, or else its default.
    """
    base_timestamp = max_timestamp = records[0][0]
    if len(records) == 1 and not (compression or records[0][3] or timestamp_type or transactional or control):
        if offset_deltas is None:
            _, key, value, _ = records[0]
            return single_record_batch(
                base_timestamp, key, value, base_offset, leader_epoch, producer_id, producer_epoch, base_sequence
            )
    if len(records) > 1:
        max_timestamp = max([record[0] for record in records])
    body: Buffer = encode_records(records, base_timestamp, offset_deltas)
    if compression:
        body = compress(compression, body, level=level)
    attributes = compression | timestamp_type << 3 | transactional << 4 | control << 5
    last_delta = len(records) - 1 if offset_deltas is None else offset_deltas[-1]
    return assemble(
        body, base_offset, leader_epoch, attributes, last_delta, base_timestamp, max_timestamp,
        producer_id, producer_epoch, base_sequence, len(records),
    )  # fmt: skip


def assemble(
    body: Buffer, base_offset: int, leader_epoch: int, attributes: int, last_delta: int, base_timestamp: int,
    max_timestamp: int, producer_id: int, producer_epoch: int, base_sequence: int, count: int,
) -> bytearray:  # fmt: skip
    behind = _BEHIND_CRC.pack(
        attributes, last_delta, base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, count
    )
    length = HEADER_SIZE - h.LOG_OVERHEAD + len(body)
    batch = bytearray(_BEFORE_CRC.pack(base_offset, length, leader_epoch, 2, crc32c(body, crc32c(behind))))
    batch += behind
    batch += body
    return batch


def single_record_batch(
    timestamp: int, key: bytes | None, value: bytes | None, base_offset: int = 0, leader_epoch: int = -1,
    producer_id: int = -1, producer_epoch: int = -1, base_sequence: int = -1,
) -> bytearray:  # fmt: skip
    """A batch of one record without headers or compression: the short way."""
    key_size, value_size = (-1 if key is None else len(key)), (-1 if value is None else len(value))
    content = b"".join((
        b"\0\0\0",
        SMALL[key_size] if 0 <= key_size < SMALL_LIMIT else encode_varint(key_size),
        key or b"",
        SMALL[value_size] if 0 <= value_size < SMALL_LIMIT else encode_varint(value_size),
        value or b"",
        b"\0",
    ))
    size = len(content)
    body = (SMALL[size] if size < SMALL_LIMIT else encode_varint(size)) + content
    return assemble(
        body, base_offset, leader_epoch, 0, 0, timestamp, timestamp, producer_id, producer_epoch, base_sequence, 1
    )


def decode_records(batch: Batch | Buffer, bound: int = DEFAULT_BOUND) -> list[Record]:
    """The records of one batch (or wrapper message) of any magic. Does not check the CRC.

    Raises CorruptRecordError, InvalidRecordError, UnsupportedCompressionError.
    """
    if not isinstance(batch, Batch):
        batch = Batch(read_header(batch), batch, 0)
    header = batch.header
    if header.magic < 2:
        from broker_core.records.legacy import decode_message

        return decode_message(batch, bound)
    if header.record_count < 0 or len(batch.data) < HEADER_SIZE:
        place = problem("at_batch", offset=header.base_offset)
        raise InvalidRecordError(problem("record_count", n=header.record_count), place)
    append_time = header.max_timestamp if header.is_log_append_time else None
    return decode_body(
        records_bytes(batch, bound), header.record_count, header.base_offset, header.base_timestamp, append_time
    )


def offsets_of(batch: Batch, bound: int = DEFAULT_BOUND) -> tuple[int, int]:
    """(offset of the first record, how many records there are): a wrapper has to be unpacked to tell. Of one that
    cannot be unpacked it is what its header says."""
    header = batch.header
    if header.magic < 2 and header.compression:
        try:
            packed = decode_records(batch, bound)
            return packed[0].offset, len(packed)
        except RecordsError:
            pass
    return header.base_offset, header.record_count


def records_bytes(batch: Batch, bound: int = DEFAULT_BOUND) -> bytes:
    """The uncompressed records' part of a v2 batch."""
    return decompress(batch.header.attributes & h.COMPRESSION_MASK, memoryview(batch.data)[HEADER_SIZE:], bound)


def assign_offset(batch: bytearray | memoryview, base_offset: int, leader_epoch: int) -> None:
    """Write base offset and leader epoch in place. The CRC does not cover them."""
    _OFFSET.pack_into(batch, 0, base_offset)
    _INT32.pack_into(batch, LEADER_EPOCH_AT, leader_epoch)


def assign_append_time(batch: bytearray | memoryview, now_ms: int) -> int:
    """Make it LogAppendTime: attribute bit 3, max timestamp = now. Returns the new CRC (written, too)."""
    return _assign_time(batch, h.LOG_APPEND_TIME, now_ms)


def assign_create_time(batch: bytearray | memoryview, latest_ms: int) -> int:
    """Make it CreateTime, with the latest time of its records. Returns the new CRC (written, too)."""
    return _assign_time(batch, 0, latest_ms)


def _assign_time(batch: bytearray | memoryview, append_time: int, max_timestamp: int) -> int:
    attributes: int = _ATTRIBUTES.unpack_from(batch, h.ATTRIBUTES_AT)[0]
    _ATTRIBUTES.pack_into(batch, h.ATTRIBUTES_AT, attributes & ~h.LOG_APPEND_TIME | append_time)
    _OFFSET.pack_into(batch, h.MAX_TIMESTAMP_AT, max_timestamp)
    crc: int = crc32c(memoryview(batch)[h.ATTRIBUTES_AT :])
    _CRC.pack_into(batch, h.CRC_AT, crc)
    return crc
