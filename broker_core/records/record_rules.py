"""What a topic's settings ask of single records: a key where the topic is compacted, a time within bounds.

Up to three faulty records are named, as Kafka does (`LogValidator.validateRecord`, `processRecordErrors`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from broker_core.records.errors import InvalidRecordError, InvalidTimestampError
from broker_core.records.record import Record

if TYPE_CHECKING:
    from broker_core.records.validate import ValidationRules

NO_TIMESTAMP = -1
CREATE_TIME = 0
_MOST_SHOWN_ERRORS = 3


def check_records(records: Iterable[Record], rules: ValidationRules, now_ms: int, is_control: bool = False) -> None:
    """Raises InvalidRecordError, InvalidTimestampError with the faulty records by their places."""
    faults: list[tuple[int, str]] = []
    bad_timestamp = False
    check_time = rules.timestamp_type == CREATE_TIME
    earliest, latest = now_ms - rules.before_max_ms, now_ms + rules.after_max_ms
    for index, record in enumerate(records):
        if rules.compacted and record.key is None and not is_control:
            reason = f"Compacted topic cannot accept message without key in topic partition {rules.partition}"
            faults.append((index, reason))
        elif check_time and record.timestamp != NO_TIMESTAMP and not earliest <= record.timestamp <= latest:
            bad_timestamp = True
            reason = (
                f"Timestamp {record.timestamp} of message with offset {index} is out of range. "
                f"The timestamp should be within [{earliest}, {latest}]"
            )
            faults.append((index, reason))
    if bad_timestamp:
        raise InvalidTimestampError("One or more records have been rejected due to invalid timestamp", faults=faults)
    if faults:
        shown = ", ".join(
            f"RecordError(batchIndex={index}, message='{reason}')" for index, reason in faults[:_MOST_SHOWN_ERRORS]
        )
        raise InvalidRecordError(
            f"One or more records have been rejected due to {len(faults)} record errors in total, "
            f"and only showing the first three errors at most: [{shown}]",
            faults=faults,
        )
