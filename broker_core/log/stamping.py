"""What happens to batches on append: a leader writes into them, a follower only checks them.

The leader gives offsets, its leader epoch and, if the topic says so, the time.

A writable buffer is changed in place. Of a read-only one only the 61 header bytes are copied; the
records stay where they are and the two parts are written behind one another.
"""

from __future__ import annotations

from collections.abc import Sequence

from crc32c import crc32c

from broker_core.kernel.problems import problem
from broker_core.kernel.storage import Buffer
from broker_core.log.errors import OffsetsNotMonotonic
from broker_core.records.batch import assign_append_time, assign_offset
from broker_core.records.errors import CorruptRecordError
from broker_core.records.header import (
    ATTRIBUTES_AT,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    BatchHeader,
    ensure_valid,
    is_single_batch,
    iterate_batches,
    read_header,
)

_new = tuple.__new__


def stamp(
    headers: Sequence[BatchHeader], buffer: Buffer, first_offset: int, leader_epoch: int, append_time: int
) -> tuple[list[BatchHeader], list[Buffer]]:
    """Headers as they are now, and the buffers to append. `append_time` -1 keeps the producer's times."""
    if isinstance(buffer, bytes) or (isinstance(buffer, memoryview) and buffer.readonly):
        return _stamp_copies(headers, memoryview(buffer), first_offset, leader_epoch, append_time)
    if len(headers) == 1 and append_time < 0:
        assign_offset(buffer, first_offset, leader_epoch)
        return [_stamped(headers[0], first_offset, leader_epoch, -1, 0)], [buffer]
    stamped: list[BatchHeader] = []
    position = 0
    view = memoryview(buffer)
    for header in headers:
        size = header.batch_length + 12
        part = view[position : position + size]
        assign_offset(part, first_offset, leader_epoch)
        crc = header.crc if append_time < 0 else assign_append_time(part, append_time)
        stamped.append(_stamped(header, first_offset, leader_epoch, append_time, crc))
        first_offset += header.last_offset_delta + 1
        position += size
    return stamped, [buffer]


def _stamp_copies(
    headers: Sequence[BatchHeader], view: memoryview, first_offset: int, leader_epoch: int, append_time: int
) -> tuple[list[BatchHeader], list[Buffer]]:
    stamped: list[BatchHeader] = []
    buffers: list[Buffer] = []
    position = 0
    for header in headers:
        size = header.batch_length + 12
        front = bytearray(view[position : position + HEADER_SIZE])
        body = view[position + HEADER_SIZE : position + size]
        assign_offset(front, first_offset, leader_epoch)
        crc = header.crc
        if append_time >= 0:
            assign_append_time(front, append_time)
            crc = crc32c(body, crc32c(memoryview(front)[ATTRIBUTES_AT:]))
            front[17:21] = crc.to_bytes(4, "big")
        stamped.append(_stamped(header, first_offset, leader_epoch, append_time, crc))
        buffers += (front, body)
        first_offset += header.last_offset_delta + 1
        position += size
    return stamped, buffers


def _stamped(header: BatchHeader, offset: int, leader_epoch: int, append_time: int, crc: int) -> BatchHeader:
    if append_time < 0:
        return _new(BatchHeader, (offset, header[1], leader_epoch, *header[3:]))
    return header._replace(
        base_offset=offset,
        leader_epoch=leader_epoch,
        crc=crc,
        attributes=header.attributes | LOG_APPEND_TIME,
        max_timestamp=append_time,
    )


def check_copies(buffers: Sequence[Buffer], log_end: int, empty: bool = False) -> tuple[list[BatchHeader], int]:
    """Headers and size of what a leader sent to its follower. Raises CorruptRecordError, OffsetsNotMonotonic.

    The first batch of an `empty` log may begin below its end, when the leader's log starts within that batch.
    """
    if len(buffers) == 1 and is_single_batch(buffers[0]):  # one record at a time: no walk
        buffer = buffers[0]
        header = read_header(buffer)
        if header.base_offset >= log_end and header.crc == crc32c(memoryview(buffer)[ATTRIBUTES_AT:]):
            return [header], len(buffer)
    headers: list[BatchHeader] = []
    size, expected = 0, log_end
    for buffer in buffers:
        length = len(buffer)
        end = 0
        for batch in iterate_batches(buffer):
            ensure_valid(batch)
            header = batch.header
            offset = header.base_offset
            last = offset + header.last_offset_delta
            if offset < expected and (headers or not empty or last < expected):
                raise OffsetsNotMonotonic(f"append of offset {offset}, but the log ends at {expected}")
            expected = last + 1
            headers.append(header)
            end += header.batch_length + 12
        if end != length:
            raise CorruptRecordError(problem("not_whole_batch", size=length - end), problem("at_byte", position=end))
        size += end
    if not headers:
        raise CorruptRecordError(problem("nothing_to_append"))
    return headers, size
