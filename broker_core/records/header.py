"""The header of a record batch, and walking from batch to batch without decoding a record.

Format v2 (magic 2; KIP-98), 61 bytes, all big-endian:

| byte | field | type | |
|---|---|---|---|
| 0 | baseOffset | int64 | the broker writes it on append |
| 8 | batchLength | int32 | bytes that follow: whole size minus 12 |
| 12 | partitionLeaderEpoch | int32 | the broker writes it on append |
| 16 | magic | int8 | 2 |
| 17 | crc | uint32 | CRC-32C of byte 21 to the end |
| 21 | attributes | int16 | see below |
| 23 | lastOffsetDelta | int32 | last offset = baseOffset + this |
| 27 | baseTimestamp | int64 | of the first record |
| 35 | maxTimestamp | int64 | |
| 43 | producerId | int64 | -1: not idempotent |
| 51 | producerEpoch | int16 | |
| 53 | baseSequence | int32 | |
| 57 | recordCount | int32 | |
| 61 | records | | compressed as one block, if at all |

Attributes: bits 0-2 compression (0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd), bit 3 timestamp type
(0 CreateTime, 1 LogAppendTime), bit 4 transactional, bit 5 control, bit 6 delete horizon set.

Base offset and leader epoch lie in front of what the CRC covers: a broker writes them without
touching the rest, and a flipped bit in them is found by nobody.

The old formats (magic 0 and 1, `legacy`) have their magic at byte 16, too. A header read from
one says what can be said without decompressing: its offset counts as first and last.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from struct import error as StructError
from typing import NamedTuple
from zlib import crc32

from crc32c import crc32c

from broker_core.kernel.problems import problem
from broker_core.kernel.storage import Buffer
from broker_core.records.errors import CorruptRecordError

HEADER = Struct(">qiibIhiqqqhii")
HEADER_SIZE = 61
LOG_OVERHEAD = 12
"""Base offset and length: what stands in front of the bytes that the length counts."""
LEADER_EPOCH_AT, MAGIC_AT, CRC_AT, ATTRIBUTES_AT, MAX_TIMESTAMP_AT = 12, 16, 17, 21, 35
SMALLEST_SIZE = LOG_OVERHEAD + 14
"""An empty message of magic 0."""

COMPRESSION_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

_OFFSET_AND_LENGTH = Struct(">qi")
_LENGTH = Struct(">i")
_LEGACY = Struct(">Ibb")
_INT64 = Struct(">q")
_new = tuple.__new__


class BatchHeader(NamedTuple):
    """The fields in the order in which they stand in the bytes."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def compression(self) -> int:
        """0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd."""
        return self.attributes & COMPRESSION_MASK

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL != 0

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record; wraps from 2^31-1 to 0. -1 without sequences."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF


class Batch(NamedTuple):
    """One batch inside a buffer: its header, its bytes (by reference) and where they begin."""

    header: BatchHeader
    data: Buffer
    position: int


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`, of any magic. Checks the length field's lower bound and the magic only.

    Raises CorruptRecordError when the buffer ends before the header does.
    """
    try:
        magic = buffer[position + MAGIC_AT]
        if magic == 2:
            header = _new(BatchHeader, HEADER.unpack_from(buffer, position))
            if header[1] < HEADER_SIZE - LOG_OVERHEAD:
                reason = f"Record size {header.batch_length} is less than the minimum record overhead (49)"
                raise CorruptRecordError(reason, problem("at_batch_byte", position=position))
            return header
        return _read_legacy_header(buffer, position, magic)
    except (IndexError, ValueError, StructError):
        raise CorruptRecordError(problem("header_cut"), problem("at_batch_byte", position=position)) from None


def _read_legacy_header(buffer: Buffer, position: int, magic: int) -> BatchHeader:
    if magic > 2:
        reason = f"Invalid magic found in record: {magic if magic < 128 else magic - 256}"
        raise CorruptRecordError(reason, problem("at_batch_byte", position=position))
    offset, length = _OFFSET_AND_LENGTH.unpack_from(buffer, position)
    if length < SMALLEST_SIZE - LOG_OVERHEAD + 8 * magic:
        raise CorruptRecordError(problem("length_small", n=length), problem("at_message_byte", position=position))
    crc, _, attributes = _LEGACY.unpack_from(buffer, position + LOG_OVERHEAD)
    timestamp = _INT64.unpack_from(buffer, position + 18)[0] if magic else -1
    return BatchHeader(offset, length, -1, magic, crc, attributes & 0x0F, 0, timestamp, timestamp, -1, -1, -1, 1)


def is_single_batch(buffer: Buffer) -> bool:
    """Whether the buffer is exactly one batch of magic 2, by its length: what producers since 0.11 send."""
    size = len(buffer)
    return size >= HEADER_SIZE and buffer[MAGIC_AT] == 2 and _LENGTH.unpack_from(buffer, 8)[0] == size - LOG_OVERHEAD


def next_size(buffer: Buffer, position: int) -> int | None:
    """Size of the batch at `position`, None when it is not wholly inside the buffer.

    Raises CorruptRecordError for a length that no batch can have.
    """
    remaining = len(buffer) - position
    if remaining < LOG_OVERHEAD:
        return None
    size: int = _OFFSET_AND_LENGTH.unpack_from(buffer, position)[1] + LOG_OVERHEAD
    if size < SMALLEST_SIZE:
        raise CorruptRecordError(
            f"Record size {size - LOG_OVERHEAD} is less than the minimum record overhead (14)",
            problem("at_batch_byte", position=position),
        )
    return size if size <= remaining else None


def iterate_batches(buffer: Buffer, position: int = 0) -> Iterator[Batch]:
    """Every whole batch in a buffer, decoding no record; a cut batch at the end is left out.

    Raises CorruptRecordError at a length or magic that cannot be. Does not check the CRC.
    """
    view = memoryview(buffer)
    while True:
        size = next_size(view, position)
        if size is None:
            return
        yield Batch(read_header(view, position), view[position : position + size], position)
        position += size


def read_headers(buffer: Buffer) -> list[BatchHeader]:
    """The headers of every whole batch in a buffer."""
    if len(buffer) >= HEADER_SIZE and next_size(buffer, 0) == len(buffer):
        return [read_header(buffer)]
    return [batch.header for batch in iterate_batches(buffer)]


def crc_of(buffer: Buffer) -> int:
    """CRC-32C that a v2 batch with exactly these bytes should carry."""
    return crc32c(memoryview(buffer)[ATTRIBUTES_AT:])


def ensure_valid(batch: Batch) -> None:
    """Raise CorruptRecordError unless the stored checksum fits the bytes (any magic)."""
    header = batch.header
    found = crc_of(batch.data) if header.magic == 2 else legacy_crc(batch.data)
    if found != header.crc:
        what = problem("crc", given=f"{header.crc:#010x}", found=f"{found:#010x}")
        raise CorruptRecordError(what, problem("at_batch", offset=header.base_offset))


def is_valid(batch: Batch) -> bool:
    """Whether the stored checksum fits the bytes."""
    try:
        ensure_valid(batch)
    except CorruptRecordError:
        return False
    return True


def legacy_crc(message: Buffer) -> int:
    """CRC-32 (not C) of a magic 0 or 1 message: from its magic byte to the end."""
    return crc32(memoryview(message)[MAGIC_AT:])
