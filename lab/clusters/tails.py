"""The last batches of each replica, for the snapshot: what a page that has just come, or looks at the past, compares.

    "tail": [[120, 121, 2878541229, 170], ...]      first and last offset, CRC, size in bytes; oldest first

Only headers are looked at, at places that the log remembers anyway, and without the disk's faults noticing: looking
changes nothing. Of many replicas the first `REPLICAS` have a tail, so that a snapshot stays cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from broker_core.log.offset_index import ENTRY, ENTRY_SIZE
from broker_core.log.partition_log import PartitionLog
from broker_core.log.segment import LogSegment
from broker_core.records.errors import RecordsError
from broker_core.records.header import HEADER_SIZE, BatchHeader, iterate_batches, read_header
from lab.clusters.stopped import DiskLog

BATCHES = 9
REPLICAS = 60
SMALL_BYTES = 64 * 1024
Line = list[int]


def add_tails(topics: dict[str, Any], logs: dict[tuple[str, int, str], PartitionLog | DiskLog]) -> None:
    """Into the marks of a snapshot's topics; `logs`: those of the brokers by (topic, partition, broker)."""
    left = REPLICAS
    for topic, found in topics.items():
        if found["internal"]:
            continue
        for number, partition in found["partitions"].items():
            for broker, marks in partition["logs"].items():
                if left > 0 and marks["leo"] > marks["start"]:
                    marks["tail"] = tail_of(logs[topic, int(number), broker])
                    left -= 1


def tail_of(log: PartitionLog | DiskLog) -> list[Line]:
    """The last batches of the active segment, as far as their places are remembered."""
    if isinstance(log, DiskLog):
        return _lines(log.headers, log.start)
    segment = log.segments[-1]
    ends = segment.tail.ends
    try:
        if not ends:  # just loaded: nothing has been appended yet
            place = _near_end(segment)
            rest = segment.log.peek(place, segment.log.size - place)
            return _lines([batch.header for batch in iterate_batches(rest)], segment.base_offset)
        places = [segment.tail.start, *ends[:-1]][-BATCHES - 1 :]
        headers = [read_header(segment.log.peek(place, HEADER_SIZE)) for place in places]
        return _lines(headers, segment.base_offset)
    except RecordsError:  # damaged: the page shows what it has seen itself
        return []


def _near_end(segment: LogSegment) -> int:
    """A place before the last batches: that of an index entry, or the beginning of a small file."""
    size, index = segment.log.size, segment.index.file
    entries = min(index.size // ENTRY_SIZE, BATCHES + 1)
    if size <= SMALL_BYTES or not entries:
        return 0 if size <= SMALL_BYTES else size
    noted = index.peek(index.size - entries * ENTRY_SIZE, entries * ENTRY_SIZE)
    places: list[int] = [place for _, place in ENTRY.iter_unpack(noted)]
    return next((place for place in places if size - place <= SMALL_BYTES), places[-1])


def _lines(headers: Sequence[BatchHeader], least: int) -> list[Line]:
    """Of the last batches. A wrapper (magic 0 and 1) names its last message only: it begins behind the one before it,
    at `least` when it is the first."""
    found: list[Line] = []
    for header in headers:
        is_wrapper = header.magic < 2 and header.compression
        found.append([least if is_wrapper else header.base_offset, header.last_offset, header.crc, header.size])
        least = header.next_offset
    return found[-BATCHES:]
