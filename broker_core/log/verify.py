"""Does an index say the truth? Every entry against the batches of the `.log` file (invariant IndexMatchesLog).

The start-up check only looks at an index's own shape; this one reads the log's headers.
"""

from __future__ import annotations

from broker_core.kernel.storage import File
from broker_core.log.offset_index import OffsetIndex
from broker_core.log.scan import headers_from
from broker_core.log.time_index import TimeIndex


def verify_indexes(log: File, index: OffsetIndex, time_index: TimeIndex) -> list[str]:
    """What is wrong, one sentence each; [] when both indexes are right."""
    return verify_index(log, index) + verify_index(log, time_index)


def verify_index(log: File, index: OffsetIndex | TimeIndex) -> list[str]:
    """What is wrong with one index."""
    path = index.file.path
    ends: dict[int, int] = {}
    latest: dict[int, int] = {}
    largest = -1
    for position, header in headers_from(log, 0, log.size):
        largest = max(largest, header.max_timestamp)
        ends[header.last_offset] = position
        latest[header.last_offset] = largest
    if isinstance(index, OffsetIndex):
        return [
            f"{path}: offset {offset} is said to be at byte {position}, where no batch with that end begins"
            for offset, position in index.entries()
            if ends.get(offset) != position
        ]
    return [
        f"{path}: {timestamp} is not the latest time up to offset {offset}"
        for timestamp, offset in index.entries()
        if latest.get(offset) != timestamp
    ]
