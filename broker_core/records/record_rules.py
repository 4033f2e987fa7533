"""What a topic's settings ask of single records: a key where the topic is compacted, a time within bounds.

A producer should not say LogAppendTime. Where it does, its batch has one time for all records:

| the topic says | that time | the batch is |
|---|---|---|
| CreateTime | within bounds | taken, and is of CreateTime in the log |
| CreateTime | -1: none | refused |
| LogAppendTime | any | refused |

Up to three faulty records are named, as Kafka does (`LogValidator.validateRecord`, `validateTimestamp`,
`processRecordErrors`).
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
WHOLE, PARTIAL, OLD = "DefaultRecord", "PartialDefaultRecord", "LegacyRecord"


def check_records(
    records: Iterable[Record],
    rules: ValidationRules,
    now_ms: int,
    is_control: bool = False,
    shown_as: str | None = None,
) -> int:
    """The latest time of all, NO_TIMESTAMP where none has any.

    `shown_as`: the batch says LogAppendTime, and Kafka shows its records by this name.
    Raises InvalidRecordError, InvalidTimestampError with the faulty records by their places.
    """
    last_ms = NO_TIMESTAMP
    faults: list[tuple[int, str]] = []
    bad_timestamp = False
    check_time = rules.timestamp_type == CREATE_TIME
    earliest, latest = now_ms - rules.before_max_ms, now_ms + rules.after_max_ms
    for index, record in enumerate(records):
        timestamp = record.timestamp
        if timestamp > last_ms:
            last_ms = timestamp
        if rules.compacted and record.key is None and not is_control:
            reason = f"Compacted topic cannot accept message without key in topic partition {rules.partition}"
            faults.append((index, reason))
        elif check_time and timestamp != NO_TIMESTAMP:
            if not earliest <= timestamp <= latest:
                bad_timestamp = True
                reason = (
                    f"Timestamp {timestamp} of message with offset {index} is out of range. "
                    f"The timestamp should be within [{earliest}, {latest}]"
                )
                faults.append((index, reason))
        elif shown_as is not None:
            bad_timestamp = True
            reason = (
                f"Invalid timestamp type in message {_shown(record, shown_as)}. "
                f"Producer should not set timestamp type to LogAppendTime."
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
    return last_ms


def _shown(record: Record, name: str) -> str:
    """Where Kafka reads the sizes alone (PARTIAL) it shows that a key is missing, elsewhere an empty one."""
    nothing = -1 if name == PARTIAL else 0
    key, value = (nothing if field is None else len(field) for field in (record.key, record.value))
    return f"{name}(offset={record.offset}, timestamp={record.timestamp}, key={key} bytes, value={value} bytes)"
