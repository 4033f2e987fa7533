"""Reading a whole log around its damage.

Nobody tells of a bit that flips on a disk. Serving a consumer, a broker sends what stands in the file
and the consumer's own check of the CRC finds it. But who replays a log into memory of its own (a
group coordinator) must neither take what is wrong nor give up what is right behind it:

| damaged                | noticed by                              | goes on at                             |
|------------------------|-----------------------------------------|----------------------------------------|
| records, most fields   | the CRC                                 | the next batch                         |
| the length, the magic  | it cannot be, or what it spans has no   | the next entry of the offset index, at |
|                        | fitting CRC and no batch behind it      | most `index.interval.bytes` away       |
| base offset, epoch     | not covered by the CRC: not at all      | (a replay goes by order, not by number) |

(Kafka's GroupMetadataManager checks no CRC; a length or record that cannot be ends the loading of the partition,
which is then served without any of its groups.)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from broker_core.kernel.problems import problem
from broker_core.kernel.storage import File
from broker_core.log.segment import LogSegment
from broker_core.records.errors import CorruptRecordError
from broker_core.records.header import LOG_OVERHEAD, SMALLEST_SIZE, Batch, ensure_valid, read_header


class Segmented(Protocol):
    """A log, as far as this needs it."""

    segments: list[LogSegment]


@dataclass(slots=True)
class Place:
    """How far a log has been read: a byte of a segment. `next_offset` follows the last good batch."""

    next_offset: int
    base_offset: int = -1
    position: int = 0


class Damage(NamedTuple):
    """Bytes that are no batch; `offset` is the first one that they should have held."""

    offset: int
    reason: str


def readable_batches(log: Segmented, place: Place) -> Iterator[Batch | Damage]:
    """Every batch behind `place` and every damage between them; `place` moves along."""
    for segment in list(log.segments):
        if segment.base_offset < place.base_offset:
            continue
        if segment.base_offset > place.base_offset:
            place.base_offset, place.position = segment.base_offset, 0
        while place.position < segment.size:
            found = _batch_at(segment.log, place.position)
            if isinstance(found, Batch):
                place.position += found.header.size
                place.next_offset = found.header.next_offset
                yield found
            else:
                damage = Damage(place.next_offset, f"{segment.log.path} byte {place.position}: {found.reason}")
                place.position = _behind(segment, place.position)
                yield damage


def _batch_at(file: File, position: int) -> Batch | CorruptRecordError:
    try:
        size = _size_at(file, position)
        batch = Batch(read_header(data := file.read(position, size)), data, position)
        ensure_valid(batch)
    except CorruptRecordError as error:
        return error
    return batch


def _size_at(file: File, position: int) -> int:
    """Raises CorruptRecordError for a length that no batch has, or that the file does not hold."""
    length = file.read(position, LOG_OVERHEAD)[8:]
    size = LOG_OVERHEAD + int.from_bytes(length, "big", signed=True)
    if not SMALLEST_SIZE <= size <= file.size - position:
        raise CorruptRecordError(problem("batch_over", size=size, n=file.size - position))
    return size


def _behind(segment: LogSegment, position: int) -> int:
    """Where to go on after the damage at `position`: behind the batch when its length leads to another one."""
    try:
        end = position + _size_at(segment.log, position)
        if end == segment.size or isinstance(_batch_at(segment.log, end), Batch):
            return end
    except CorruptRecordError:
        pass
    indexed = [at for _, at in segment.index.entries()]
    slot = bisect_right(indexed, position)
    return indexed[slot] if slot < len(indexed) else segment.size
