"""The log of one partition: segments in a row, and the marks on it.

    log start          high watermark        log end
        |                     |                 |
        v                     v                 v
    [ segment 0 ][ segment 50 ][ segment 120, active ]
        10 .......................... 130 ..... 141

Invariants
    - log start <= high watermark <= log end; offsets below the log start are gone, even where their
      bytes still lie in a segment
    - the leader assigns offsets (`append_as_leader`), a follower keeps them (`append_as_follower`)

The high watermark belongs to replication, which moves it with `update_high_watermark`.

A directory `orders-0` is all there is: whatever is not in its files is worked out from them at the
next start (`recovery`).
"""

from __future__ import annotations

import uuid
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.storage import Buffer, Storage
from broker_core.log import checkpoints, decoded, flushing, markers, renaming, retention, timestamps, truncation
from broker_core.log.config import LogConfig
from broker_core.log.epochs import LeaderEpochCache
from broker_core.log.errors import OffsetOutOfRange
from broker_core.log.facts import AppendInfo, Emit, no_journal
from broker_core.log.fingerprint import fingerprint
from broker_core.log.old_formats import append_fitted, copied, forget_epochs, least_offset
from broker_core.log.producer_snapshot import write_snapshot
from broker_core.log.producers import EXPIRATION_MS, ProducerStateTable, has_producers
from broker_core.log.recovery import Opening
from broker_core.log.segment import LARGEST_RELATIVE_OFFSET, LogRead, LogSegment
from broker_core.log.stamping import check_copies, stamp
from broker_core.log.transaction_index import AbortedTransaction
from broker_core.records.header import CONTROL, BatchHeader
from broker_core.records.record import Record
from broker_core.records.record_rules import NO_TIMESTAMP
from broker_core.records.validate import CLIENT, LOG_APPEND_TIME, validate_batches

_new = tuple.__new__
__all__ = ["AppendInfo", "PartitionLog"]


class PartitionLog:
    """See the module. `segments` is never empty and sorted by base offset; the last one is active.
    The log cleaner has gone through what lies below `cleaned_to` (0: it was never here)."""

    __slots__ = (
        "storage", "directory", "topic", "partition", "_config", "rules", "min_insync_replicas", "topic_id",
        "log_start_offset", "log_end_offset", "high_watermark", "recovery_point", "segments", "leader_epochs",
        "producers", "emit", "last_flush_ms", "latest_ms", "opening", "deleted_files", "cleaned_to", "_bases",
    )  # fmt: skip

    def __init__(
        self,
        storage: Storage,
        directory: str,
        topic: str,
        partition: int,
        config: LogConfig,
        now_ms: int,
        *,
        emit: Emit = no_journal,
        topic_id: uuid.UUID = checkpoints.NO_UUID,
        clean: bool = False,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        high_watermark: int = 0,
        producer_expiration_ms: int = EXPIRATION_MS,
        in_slices: bool = False,
    ) -> None:
        """Open or create the directory. `clean`: the last shutdown wrote its marker, nothing is scanned.

        Recovery point, log start and high watermark are those of the checkpoints. `in_slices`: it is opened by calls of
        `open`, and of no use before.
        """
        self.storage, self.directory = storage, directory
        self.topic, self.partition = topic, partition
        self.segments: list[LogSegment] = []
        self.leader_epochs = LeaderEpochCache(storage, self.epochs_path, self.end_offset)
        self.config = config
        self.emit = emit
        self.topic_id = topic_id
        self.log_start_offset = self.log_end_offset = log_start_offset
        self.high_watermark = high_watermark
        self.recovery_point = recovery_point
        self.cleaned_to = 0
        self._bases: list[int] = []
        self.producers = ProducerStateTable(producer_expiration_ms)
        self.last_flush_ms = self.latest_ms = now_ms
        self.deleted_files: list[tuple[int | None, str]] = []
        self.opening: Opening | None = Opening(self, now_ms, clean)
        if not in_slices:
            self.open()

    def open(self, most_work: int | None = None) -> int:
        """Open on until so much work was done (`recovery`); how much it was. It is open once `opening` is None."""
        assert self.opening is not None
        done, work = self.opening.advance(most_work), self.opening.work
        if not done:
            return work
        self.opening = None
        if self.topic_id != checkpoints.NO_UUID:
            self.assign_topic_id(self.topic_id)
        else:
            path = f"{self.directory}/{checkpoints.PARTITION_METADATA}"
            self.topic_id = checkpoints.read_topic_id(self.storage, path)
        return work

    # --- facts -------------------------------------------------------------------------------

    @property
    def config(self) -> LogConfig:
        return self._config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._config = config
        self.rules = config.validation_rules()
        self.rules.partition = self.name
        self.min_insync_replicas = config.min_insync_replicas
        self.leader_epochs.keep(self.rules.magic >= 2)
        if self.segments:
            self.active.sure_size = -1

    @property
    def active(self) -> LogSegment:
        return self.segments[-1]

    @property
    def size_bytes(self) -> int:
        return sum(segment.log.size for segment in self.segments)

    @property
    def name(self) -> str:
        """`orders-0`."""
        return f"{self.topic}-{self.partition}"

    def end_offset(self) -> int:
        """As a method that can be handed on."""
        return self.log_end_offset

    @property
    def epochs_path(self) -> str:
        return f"{self.directory}/{checkpoints.LEADER_EPOCHS}"

    def assign_topic_id(self, topic_id: uuid.UUID) -> None:
        """Write `partition.metadata` unless it says so already."""
        checkpoints.keep_topic_id(self.storage, f"{self.directory}/{checkpoints.PARTITION_METADATA}", topic_id)
        self.topic_id = topic_id

    def fact(self, code: events.EventCode, **params: Any) -> None:
        """A journal event about this partition."""
        self.emit(code, topic=self.topic, partition=self.partition, **params)

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark, kept between log start and log end; returns what it is now."""
        if offset > self.log_end_offset:
            offset = self.log_end_offset
        if offset < self.log_start_offset:
            offset = self.log_start_offset
        self.high_watermark = offset
        self.producers.transactions.replicated_to(offset)
        return offset

    @property
    def last_stable_offset(self) -> int:
        """End of what read_committed may see: high watermark or first unstable offset (see `transactions`)."""
        first = self.producers.transactions.first_unstable
        return self.high_watermark if first is None else min(max(first, self.log_start_offset), self.high_watermark)

    # --- append ------------------------------------------------------------------------------

    def append_as_leader(
        self, records: Buffer, leader_epoch: int, now_ms: int, origin: str = CLIENT, guard: int | None = None,
        transaction_version: int = 0,
    ) -> AppendInfo:  # fmt: skip
        """Check, give offsets, append. A writable buffer is changed in place and kept: hand it over.

        `guard`: see `ProducerStateTable.check`; `transaction_version`: of the transaction that a marker ends.
        Raises RecordsError, LogError (both with `kafka_error`) and StorageError; the log is then as before.
        """
        self.latest_ms = now_ms
        rules = self.rules
        headers, buffer = validate_batches(records, rules, now_ms, origin, self.log_end_offset)
        if rules.magic < 2:
            return append_fitted(self, headers, buffer, now_ms)
        usual = origin == CLIENT and len(headers) == 1 and self.producers.continues(headers[0])
        if not usual and has_producers(headers):
            duplicate = markers.check_producers(self, headers, buffer, origin, guard, transaction_version)
            if duplicate is not None:
                return duplicate
        append_time = now_ms if rules.timestamp_type == LOG_APPEND_TIME else NO_TIMESTAMP
        first = self.log_end_offset
        stamped, buffers = stamp(headers, buffer, first, leader_epoch, append_time)
        if leader_epoch > self.leader_epochs.latest_epoch:
            self.leader_epochs.assign(leader_epoch, first)
        return self.append_stamped(stamped, buffers, len(buffer), now_ms, append_time)

    def append_as_follower(self, records: Buffer | Sequence[Buffer], now_ms: int = NO_TIMESTAMP) -> AppendInfo:
        """Append what the leader sent, offsets and epochs as they are. Without `now_ms`: the latest time known here.

        Raises CorruptRecordError, OffsetsNotMonotonic, StorageError; the log is then as before.
        """
        self.latest_ms = max(now_ms, self.latest_ms)
        buffers: Sequence[Buffer] = [records] if isinstance(records, (bytes, bytearray, memoryview)) else records
        end = self.log_end_offset
        headers, size = check_copies(buffers, end, end == self.log_start_offset)
        if headers[0].base_offset < end:
            truncation.begin_with_batch(self, headers[0].base_offset)
        for header in headers:
            if header.leader_epoch > self.leader_epochs.latest_epoch:
                self.leader_epochs.assign(header.leader_epoch, header.base_offset)
            elif header.magic < 2:
                forget_epochs(self)
        info = self.append_stamped(headers, buffers, size, self.latest_ms, NO_TIMESTAMP)
        return info if headers[0].magic >= 2 else copied(info, headers[0], end)

    def append_stamped(
        self, headers: Sequence[BatchHeader], buffers: Sequence[Buffer], size: int, now_ms: int, append_time: int
    ) -> AppendInfo:
        """The part that leader and follower share: the bytes are as they will lie."""
        count, first, last = len(headers), headers[0].base_offset, headers[-1]
        last_offset = last.base_offset + last.last_offset_delta
        max_timestamp = last.max_timestamp if count == 1 else max([header.max_timestamp for header in headers])
        segment = self.segments[-1]
        if (
            size > segment.sure_size - segment.log.size
            or max_timestamp > segment.sure_ms
            or last_offset - segment.base_offset > LARGEST_RELATIVE_OFFSET
        ):
            base = first if last.magic >= 2 else least_offset(last_offset)
            segment = self._maybe_roll(size, max_timestamp, base, last_offset, now_ms)
        segment.modified_ms = now_ms
        segment.append(headers, buffers)
        self.log_end_offset = end = last_offset + 1
        producers = self.producers
        for header in headers:
            if header.producer_id < 0:
                continue
            if header.attributes & CONTROL:
                markers.end_transaction(self, header)
            else:
                producers.add(header)
        producers.map_end_offset = end
        if end - self.recovery_point >= self._config.flush_messages:
            self.flush(now_ms)
        return _new(AppendInfo, (
            first, last_offset, max_timestamp, append_time, self.log_start_offset, size, count, False, last.crc,
        ))  # fmt: skip

    # --- segments ----------------------------------------------------------------------------

    def _maybe_roll(self, size: int, max_timestamp: int, first: int, last_offset: int, now_ms: int) -> LogSegment:
        segment, config = self.segments[-1], self._config
        wait = config.roll_ms - config.roll_jitter_ms(self.name, segment.base_offset)
        reason = segment.roll_reason(size, max_timestamp, last_offset, now_ms, config.segment_bytes, wait)
        return segment if reason is None else self.roll(now_ms, reason, first)

    def roll(self, now_ms: int, reason: str = "asked for", first_offset: int | None = None) -> LogSegment:
        """Begin a new segment at the log end (or at a follower's `first_offset` behind it)."""
        base = self.log_end_offset if first_offset is None else max(first_offset, self.log_end_offset)
        old = self.segments[-1]
        if old.base_offset == base and old.size == 0:
            return old
        old.become_inactive()
        if old.size == 0:
            self.drop_segment(old)
        self.producers.map_end_offset = base
        write_snapshot(self.storage, self.directory, self.producers)
        segment = self.add_segment(base, now_ms)
        self.fact(events.SEGMENT_ROLLED, base_offset=base, reason=reason)
        return segment

    def add_segment(self, base_offset: int, now_ms: int) -> LogSegment:
        """Open the files of a segment and put it at the end."""
        config = self._config
        segment = LogSegment(
            self.storage, self.directory, base_offset, config.segment_index_bytes, config.index_interval_bytes, now_ms
        )
        self.segments.append(segment)
        self._bases.append(base_offset)
        return segment

    def drop_segment(self, segment: LogSegment) -> None:
        """Delete a segment's files at once."""
        self.forget_segment(segment)
        for path in segment.file_names():
            self.storage.delete(path)

    def forget_segment(self, segment: LogSegment) -> None:
        """Take a segment out of the list; its files are somebody else's business now."""
        place = self.segments.index(segment)
        del self.segments[place], self._bases[place]

    def insert_segment(self, segment: LogSegment) -> None:
        """Take a segment into the list where its base offset belongs."""
        place = bisect_right(self._bases, segment.base_offset)
        self.segments.insert(place, segment)
        self._bases.insert(place, segment.base_offset)

    def segment_of(self, offset: int) -> int:
        """Index in `segments` of the one whose range holds `offset`."""
        return max(bisect_right(self._bases, offset) - 1, 0)

    # --- read --------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, max_offset: int, min_one: bool = True) -> LogRead:
        """Whole batches from the one that holds `offset`, ending below `max_offset` (HW, LSO or log end).

        At most `max_bytes`, but the first batch whole when `min_one`. Raises OffsetOutOfRange.
        """
        if offset > self.log_end_offset or offset < self.log_start_offset:
            raise OffsetOutOfRange(offset, self.log_start_offset, self.log_end_offset)
        if offset < max_offset:
            if offset >= self._bases[-1]:
                found = self.segments[-1].read(offset, max_bytes, max_offset, min_one)
                return found or LogRead([], 0, offset)
            for place in range(self.segment_of(offset), len(self.segments)):
                found = self.segments[place].read(offset, max_bytes, max_offset, min_one)
                if found is not None:
                    return found
                if not min_one or self._more_below(place, max_offset) is False:
                    break
        return LogRead([], 0, offset)

    def _more_below(self, place: int, max_offset: int) -> bool:
        """Whether the next segment begins below `max_offset`: a gap at the end of one leads into it."""
        return place + 1 < len(self._bases) and self._bases[place + 1] < max_offset

    def aborted_in(self, offset: int, read: LogRead, max_bytes: int) -> list[AbortedTransaction]:
        """What a reader with read_committed has to know of what it read from `offset`, `max_bytes` at most."""
        return markers.aborted_in(self, offset, read, max_bytes, self.last_stable_offset)

    def records(self, start: int, end: int) -> Iterator[Record]:
        """Decoded records with start <= offset < end, control batches left out."""
        return decoded.records(self, start, end)

    def offset_for_timestamp(self, timestamp_ms: int) -> tuple[int, int, int] | None:
        """(offset, timestamp, leader epoch) of the first record at or after a time; None: there is none."""
        return timestamps.offset_for_timestamp(self, timestamp_ms)

    def max_timestamp_offset(self) -> tuple[int, int, int] | None:
        """(offset, timestamp, leader epoch) of the record with the largest timestamp (KIP-734)."""
        return timestamps.max_timestamp_offset(self)

    def content_hash(self, upto_offset: int, from_offset: int = 0) -> int:
        """Fingerprint of the last batches below `upto_offset`, from `from_offset` on: equal on replicas that agree."""
        return fingerprint(self, upto_offset, from_offset)

    # --- cutting and ending ------------------------------------------------------------------

    def truncate_to(self, offset: int, reason: str = "leader epoch") -> bool:
        """Drop everything from `offset` on; False when the log ends there already."""
        return truncation.truncate_to(self, offset, reason)

    def truncate_fully_and_start_at(self, offset: int, reason: str = "leader's log start") -> None:
        """Drop everything; the log is empty and begins at `offset`."""
        truncation.truncate_fully_and_start_at(self, offset, reason)

    def delete_records_before(self, offset: int, reason: str = "DeleteRecords") -> bool:
        """Move the log start forward (at most to the high watermark); False when it is there already."""
        return truncation.move_log_start(self, offset, reason)

    def delete_old_segments(self, now_ms: int) -> int:
        """Retention: by log start, time and size. Returns how many segments went."""
        self.latest_ms = max(self.latest_ms, now_ms)
        return retention.delete_old_segments(self, now_ms)

    def delete_expired_files(self, now_ms: int, most: int | None = None) -> int:
        """Remove `.deleted` files whose `file.delete.delay.ms` is over, at most so many; how many went."""
        return retention.delete_expired_files(self, now_ms, most)

    def flush(self, now_ms: int | None = None) -> None:
        """Bring everything to stable storage; the recovery point is then the log end."""
        flushing.flush(self, now_ms)

    def maybe_flush(self, now_ms: int) -> bool:
        """Flush when `flush.messages` or `flush.ms` says so, or a segment has been finished since."""
        return flushing.maybe_flush(self, now_ms)

    def close(self) -> None:
        """For a clean shutdown: producer snapshot, time index, flush, files closed."""
        flushing.close(self)

    def move_directory(self, directory: str) -> None:
        """Rename the directory; the files stay open."""
        renaming.move_directory(self, directory)

    def rename_for_delete(self, unique: str) -> None:
        """The directory becomes `<topic>-<partition>.<unique>-delete` (topic cut so that it fits 255 bytes)."""
        renaming.rename_for_delete(self, unique)
