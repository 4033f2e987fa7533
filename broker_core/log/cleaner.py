"""Which log is cleaned next, and how far (Kafka's `LogCleanerManager`).

    | clean part | cleanable part | not yet cleanable          |
    0            first dirty      first uncleanable     log end

    dirty ratio = cleanable bytes / (clean bytes + cleanable bytes)

The log with the highest ratio comes first, if that is above its `min.cleanable.dirty.ratio` [0.5]; a log in which
something is older than `max.compaction.lag.ms` need not be that dirty (KIP-354). Not cleanable are

| | why |
|---|---|
| the active segment | it is still written to |
| what is at or above the last stable offset | it may be cut, or aborted |
| from the first segment on with a record younger than `min.compaction.lag.ms` | readers count on it (KIP-58) |

First dirty offsets stand in `cleaner-offset-checkpoint` of each log directory. A log with a damaged batch is
*uncleanable*: it is left alone until the broker starts again, the others go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.log.cleaning import Cleaning, CleaningAborted, CleaningStats
from broker_core.log.errors import LogError
from broker_core.log.offset_map import ENTRY_BYTES, OffsetMap
from broker_core.records.errors import RecordsError

if TYPE_CHECKING:
    from broker_core.log.log_manager import LogManager, TopicPartition
    from broker_core.log.partition_log import PartitionLog

LARGEST_MAP_BYTES = ENTRY_BYTES * 0x7FFFFFFF


@dataclass(slots=True)
class LogToClean:
    """Parts of a log: offsets, and the bytes of whole segments."""

    log: PartitionLog
    first_dirty: int
    first_uncleanable: int
    clean_bytes: int
    cleanable_bytes: int
    overdue: bool

    @property
    def dirty_ratio(self) -> float:
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0


def first_dirty_offset(log: PartitionLog) -> int:
    """Where the next cleaning begins to read: the log start, when the checkpoint is not within the log."""
    start = log.log_start_offset
    return log.cleaned_to if start <= log.cleaned_to <= log.log_end_offset else start


def first_uncleanable_offset(log: PartitionLog, first_dirty: int, now_ms: int) -> int:
    """The end of what may be cleaned, at or behind `first_dirty`."""
    bound = min(log.last_stable_offset, log.active.base_offset)
    lag = log.config.min_compaction_lag_ms
    if lag > 0:
        for segment in log.segments[log.segment_of(first_dirty) : -1]:
            if segment.largest_timestamp > now_ms - lag:
                bound = min(bound, segment.base_offset)
                break
    return max(first_dirty, bound)


def parts_of(log: PartitionLog, now_ms: int) -> LogToClean:
    """How a compacted log is divided now, in whole segments: the one that holds the bound is not cleaned.

    The segment that holds the first dirty offset counts twice, as clean and as cleanable, where that is not its base.
    """
    first_dirty = first_dirty_offset(log)
    bound = first_uncleanable_offset(log, first_dirty, now_ms)
    first_uncleanable = log.segments[log.segment_of(bound)].base_offset
    clean = [segment for segment in log.segments if segment.base_offset < first_dirty]
    dirty = log.segments[log.segment_of(min(first_dirty, first_uncleanable)) : log.segment_of(first_uncleanable)]
    times = [segment.first_batch_timestamp for segment in dirty]
    earliest = min((time for time in times if time > 0), default=now_ms)
    return LogToClean(
        log, first_dirty, first_uncleanable, sum(segment.size for segment in clean),
        sum(segment.size for segment in dirty), earliest < now_ms - log.config.max_compaction_lag_ms,
    )  # fmt: skip


class LogCleaner:
    """The compacted logs of one broker. `uncleanable`: log -> why; `dirtiest`: the highest ratio at the last look.

    Nothing happens by itself here: cleaner threads call `begin` when it is time, and `advance` until it is done. No log
    has two at once (`under_way`).
    """

    def __init__(self, manager: LogManager, memory_bytes: Callable[[], int], load_factor: Callable[[], float]) -> None:
        """`memory_bytes`: of one thread's offset map, asked for at each cleaning."""
        self.manager = manager
        self.memory_bytes = memory_bytes
        self.load_factor = load_factor
        self.uncleanable: dict[TopicPartition, str] = {}
        self.last_stats = CleaningStats()
        self.last_run_ms: int | None = None
        self.dirtiest = 0.0
        self.under_way: list[Cleaning] = []

    def dirty_logs(self, now_ms: int) -> list[LogToClean]:
        """Compacted logs that have something to clean, in the order of their names."""
        found: list[LogToClean] = []
        busy = [work.log for work in self.under_way]
        for log in self.manager.compacted_logs():
            if log in busy or self._moves(log):
                continue
            if len(log.segments) > 1 and (log.topic, log.partition) not in self.uncleanable:
                parts = parts_of(log, now_ms)
                if parts.cleanable_bytes:
                    found.append(parts)
        return found

    def _moves(self, log: PartitionLog) -> bool:
        return self.manager.futures.get(log.topic, log.partition) is not None

    def begin(self, now_ms: int) -> Cleaning | None:
        """Begin with the dirtiest log that is worth it; None: there is none. `advance` goes on with it."""
        dirty = self.dirty_logs(now_ms)
        self.dirtiest = max((one.dirty_ratio for one in dirty), default=0.0)
        due = [
            one for one in dirty
            if one.overdue or one.dirty_ratio > one.log.config.min_cleanable_dirty_ratio
        ]  # fmt: skip
        self.last_run_ms = now_ms
        if not due:
            return None
        chosen = max(due, key=lambda one: one.dirty_ratio)
        offsets = OffsetMap(min(self.memory_bytes(), LARGEST_MAP_BYTES), self.load_factor())
        work = Cleaning(chosen.log, offsets, chosen.first_dirty, chosen.first_uncleanable, now_ms)
        self.under_way.append(work)
        return work

    def advance(self, work: Cleaning, most_bytes: int | None = None) -> bool:
        """One slice; True when it has come to its end, good or bad."""
        log, done = work.log, True
        try:
            if self.manager.get(log.topic, log.partition) is not log:
                raise CleaningAborted(f"{log.name} is no longer here")
            if self._moves(log):
                raise CleaningAborted(f"{log.name} moves to another directory")
            done = work.advance(most_bytes)
            if done:
                self._cleaned(work)
        except CleaningAborted:
            work.give_up()
            work.stats = CleaningStats()
        except (RecordsError, LogError) as error:
            self.uncleanable[log.topic, log.partition] = str(error)
            log.fact(events.LOG_UNCLEANABLE, reason=str(error))
            work.stats = CleaningStats()
        except StorageError as error:
            self.manager.storage_failed(error)
            work.stats = CleaningStats()
        if done:
            self.under_way.remove(work)
        else:
            log.fact(events.LOG_CLEANING, done=work.done_bytes, total=work.total_bytes)
        return done

    def _cleaned(self, work: Cleaning) -> None:
        log, stats = work.log, work.stats
        self.last_stats = stats
        log.fact(
            events.LOG_CLEANED, start=work.first_dirty, end=log.cleaned_to, bytes_before=stats.bytes_before,
            bytes_after=stats.bytes_after, records_before=stats.records_before, records_after=stats.records_after,
            tombstones=stats.tombstones,
        )  # fmt: skip
        self.manager.checkpointing.cleaner(self.manager.dir_of(log))

    def uncleanable_logs(self) -> list[PartitionLog]:
        """Logs with a damaged batch, as far as they are still there."""
        found = [self.manager.get(*place) for place in self.uncleanable]
        return [log for log in found if log is not None]

    def delete_old_segments(self, now_ms: int) -> int:
        """Retention of compacted logs (`compact,delete`) is the cleaner's, too; how many segments went."""
        return sum(self.manager.delete_old_segments_of(log, now_ms) for log in self.manager.compacted_logs())
