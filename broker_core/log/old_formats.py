"""A log of magic 0 or 1, and one in which such messages stand in front of batches.

Every reader goes by the magic byte of each batch (`records.header.read_header`), so formats may change from one batch
to the next within a segment. What differs is that old messages say less of themselves:

| | magic 2 | magic 0, 1 |
|---|---|---|
| first offset of a wrapper | in its header | not without unpacking: its offset is that of its last message |
| leader epoch | in its header | none: an append makes the log forget its epochs, followers cut to the high watermark |
| producer id, sequence | in its header | none |
| time | the latest, in its header | of a wrapper the latest; magic 0 has none |

Source: `UnifiedLog.append`, `UnifiedLog.maybeRoll` of 3.9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker_core.kernel.storage import Buffer
from broker_core.log.facts import AppendInfo
from broker_core.log.segment import LARGEST_RELATIVE_OFFSET
from broker_core.records.header import BatchHeader
from broker_core.records.record_rules import NO_TIMESTAMP
from broker_core.records.validate import LOG_APPEND_TIME

if TYPE_CHECKING:
    from broker_core.log.partition_log import PartitionLog


def append_fitted(log: PartitionLog, headers: Sequence[BatchHeader], buffer: Buffer, now_ms: int) -> AppendInfo:
    """Append what `validate_batches` made for a log of magic 0 or 1: offsets and times are in it already."""
    first = log.log_end_offset
    append_time = now_ms if log.rules.timestamp_type == LOG_APPEND_TIME else NO_TIMESTAMP
    return log.append_stamped(headers, [buffer], len(buffer), now_ms, append_time)._replace(first_offset=first)


def copied(info: AppendInfo, first: BatchHeader, end: int) -> AppendInfo:
    """What a follower has appended to a log that ended at `end`: there a wrapper begins, which does not tell it."""
    return info._replace(first_offset=end) if first.compression else info


def forget_epochs(log: PartitionLog) -> None:
    """A leader of before has sent an old message: from here on epochs say nothing about the whole log."""
    if log.leader_epochs.latest_epoch >= 0:
        log.leader_epochs.clear()


def least_offset(last_offset: int) -> int:
    """Below which no message of a wrapper can lie: where a segment that begins with it may begin."""
    return last_offset - LARGEST_RELATIVE_OFFSET
