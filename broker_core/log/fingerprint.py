"""A short number that tells at a glance whether two replicas hold the same batches.

It is a CRC over base offset, leader epoch and CRC of the last eight batches below an offset. Equal
numbers mean equal tails, unless eight CRCs of four bytes collide at once.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from crc32c import crc32c

from broker_core.log.scan import headers_from

if TYPE_CHECKING:
    from broker_core.log.partition_log import PartitionLog

BATCHES = 8
_PART = Struct(">qiI")


def fingerprint(log: PartitionLog, upto_offset: int, from_offset: int = 0) -> int:
    """Fingerprint of the batches from `from_offset` on that end below `upto_offset`; 0 when there are none."""
    parts: list[bytes] = []
    for place in range(log.segment_of(max(upto_offset - 1, 0)), -1, -1):
        parts = _last_parts(log, place, from_offset, upto_offset, BATCHES - len(parts)) + parts
        if len(parts) >= BATCHES or log.segments[place].base_offset <= from_offset:
            break
    return crc32c(b"".join(parts)) if parts else 0


def _last_parts(log: PartitionLog, place: int, from_offset: int, upto_offset: int, wanted: int) -> list[bytes]:
    segment = log.segments[place]
    tail = segment.tail
    last_offsets, positions = tail.last_offsets[-4 * BATCHES :], [tail.start, *tail.ends[:-1]][-4 * BATCHES :]
    from_tail = [position for last, position in zip(last_offsets, positions, strict=False) if last < upto_offset]
    if len(from_tail) >= wanted:
        start = from_tail[-wanted]
    elif tail.ends and tail.start == 0 and len(tail.ends) <= 4 * BATCHES:
        start = 0
    else:
        start = segment.index.position_before(upto_offset, wanted)
    parts: list[bytes] = []
    for _, header in headers_from(segment.log, start, segment.log.size):
        if header.last_offset >= upto_offset:
            break
        if header.base_offset >= from_offset:
            parts.append(_PART.pack(header.base_offset, header.leader_epoch, header.crc))
    return parts[-wanted:]
