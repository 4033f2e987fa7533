"""Does an index say the truth? Every entry against the batches of the `.log` file (invariant IndexMatchesLog).

The start-up check only looks at an index's own shape; this one reads the log's headers.
"""

from __future__ import annotations

from broker_core.log.scan import headers_from
from broker_core.log.segment import INDEX, TIME_INDEX, LogSegment


def verify_index(segment: LogSegment) -> list[str]:
    """What is wrong, one sentence each; [] when both indexes are right."""
    ends: dict[int, int] = {}
    latest: dict[int, int] = {}
    largest = -1
    for position, header in headers_from(segment.log, 0, segment.log.size):
        largest = max(largest, header.max_timestamp)
        ends[header.last_offset] = position
        latest[header.last_offset] = largest
    faults = [
        f"{segment.path}{INDEX}: offset {offset} is said to be at byte {position}, where no batch with that end begins"
        for offset, position in segment.index.entries()
        if ends.get(offset) != position
    ]
    faults += [
        f"{segment.path}{TIME_INDEX}: {timestamp} is not the latest time up to offset {offset}"
        for timestamp, offset in segment.time_index.entries()
        if latest.get(offset) != timestamp
    ]
    return faults
