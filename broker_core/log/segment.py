"""One segment: a `.log` file with its indexes, named after its first offset in 20 digits.

    00000000000000000050.log         batches from offset 50 on, as they travelled
    00000000000000000050.index       offset -> position
    00000000000000000050.timeindex   timestamp -> offset
    00000000000000000050.txnindex    transactions that were aborted here, if there are any

Only the last segment of a log is appended to. A new one begins when one of these holds
(`LogSegment.roll_reason`):

| reason | |
|---|---|
| size | the payload would take the file above `segment.bytes` |
| time | the payload is more than `segment.ms` (less the jitter) later than the segment's first record |
| index full | `.index` or `.timeindex` has `segment.index.bytes` |
| offset overflow | the offset is more than 2^31-1 above the base |

Without timestamps, the time since the segment was made counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from broker_core.kernel.errors import StorageError
from broker_core.kernel.storage import Buffer, FileSlice, Storage
from broker_core.log.errors import CorruptIndex
from broker_core.log.offset_index import OffsetIndex
from broker_core.log.scan import batches_from, find_batch, headers_from
from broker_core.log.tail import LONGEST, Tail
from broker_core.log.time_index import TimeIndex
from broker_core.log.transaction_index import TransactionIndex
from broker_core.records.batch import decode_records
from broker_core.records.errors import RecordsError
from broker_core.records.header import HEADER_SIZE, LOG_OVERHEAD, Batch, BatchHeader, ensure_valid, read_header
from broker_core.records.record_rules import NO_TIMESTAMP
from broker_core.records.record import Record

LOG, INDEX, TIME_INDEX, TRANSACTION_INDEX = ".log", ".index", ".timeindex", ".txnindex"
DELETED, CLEANED, SWAP = ".deleted", ".cleaned", ".swap"
LARGEST_RELATIVE_OFFSET = 0x7FFFFFFF
_new = tuple.__new__


class LogRead(NamedTuple):
    """What a read found: slices of files (whole batches), their size, the offset behind the last batch."""

    slices: list[FileSlice]
    size: int
    next_offset: int


class LogSegment:
    """Files, sparse indexes, and what is needed to decide when it is full and when it is too old.

    - `created_ms`, `modified_ms`: when it was opened, and appended to last (a start does not know it any more)
    - `max_timestamp`, `max_timestamp_offset` describe all batches in it (-1: none)
    - `sure_size`, `sure_ms`: what keeps the file within the one and comes before the other needs no new segment:
      `roll_reason` has said so, and is only asked again when an index has grown (`sure_size` -1: ask)

    Invariants
        - base_offset <= every offset in it <= base_offset + 2^31-1
    """

    __slots__ = (
        "base_offset", "path", "suffix", "log", "index", "time_index", "transaction_index", "max_timestamp",
        "max_timestamp_offset", "created_ms", "modified_ms", "first_timestamp", "index_interval_bytes", "_since_index",
        "tail", "_storage", "sure_size", "sure_ms",
    )  # fmt: skip

    def __init__(
        self,
        storage: Storage,
        directory: str,
        base_offset: int,
        index_bytes: int,
        index_interval_bytes: int,
        now_ms: int,
        suffix: str = "",
    ) -> None:
        """Open or create the files; `suffix`: behind all their names, while the cleaner writes them."""
        self._storage = storage
        self.base_offset = base_offset
        self.path = f"{directory}/{base_offset:020d}"
        self.suffix = suffix
        self.log = storage.open(self.path + LOG + suffix)
        self.index = OffsetIndex(storage.open(self.path + INDEX + suffix), base_offset, index_bytes)
        self.time_index = TimeIndex(storage.open(self.path + TIME_INDEX + suffix), base_offset, index_bytes)
        self.transaction_index = TransactionIndex(storage, self.path + TRANSACTION_INDEX + suffix, base_offset)
        self.index_interval_bytes = index_interval_bytes
        self.created_ms = self.modified_ms = now_ms
        self.max_timestamp = NO_TIMESTAMP
        self.max_timestamp_offset = base_offset
        self.first_timestamp: int | None = None
        self._since_index = 0
        self.tail = Tail(self.log.size)
        self.sure_size = self.sure_ms = -1

    @property
    def size(self) -> int:
        return self.log.size

    def append(self, headers: Sequence[BatchHeader], buffers: Sequence[Buffer]) -> None:
        """Write batches with their final offsets. On StorageError the segment is as before."""
        before = self._since_index, self.max_timestamp, self.max_timestamp_offset
        position = start = self.log.append(buffers)
        tail = self.tail
        try:
            for header in headers:
                last_offset = header.base_offset + header.last_offset_delta
                end = position + header.batch_length + LOG_OVERHEAD
                self._note(header.max_timestamp, last_offset, position, end)
                tail.last_offsets.append(last_offset)
                tail.ends.append(end)
                position = end
        except StorageError:
            self._undo(start, before, headers[0].base_offset)
            raise
        if len(tail.ends) > LONGEST:
            tail.shorten()

    def _note(self, timestamp: int, last_offset: int, position: int, end: int) -> None:
        """Take a batch that lies from `position` to `end` into the indexes and the times."""
        if position == 0:
            self.first_timestamp = timestamp
            self.sure_size = -1
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
            self.max_timestamp_offset = last_offset
        if self._since_index > self.index_interval_bytes:
            self.index.append(last_offset, position)
            self.time_index.maybe_append(self.max_timestamp, self.max_timestamp_offset)
            self._since_index = 0
            self.sure_size = -1
        self._since_index += end - position

    def _undo(self, size: int, before: tuple[int, int, int], offset: int) -> None:
        self.tail.clear(size)
        self._since_index, self.max_timestamp, self.max_timestamp_offset = before
        self.sure_size = -1
        self.log.truncate(size)
        self.index.truncate_to(offset)
        self.time_index.truncate_to(offset)

    def roll_reason(
        self, size: int, max_timestamp: int, last_offset: int, now_ms: int, segment_bytes: int, segment_ms: int
    ) -> str | None:
        """Why a payload of `size` bytes needs a new segment; None when it goes in here."""
        occupied, first = self.log.size, self.first_timestamp
        index, time_index = self.index, self.time_index
        if occupied > segment_bytes - size:
            return "size"
        if first is not None and first >= 0:
            if occupied and max_timestamp - first > segment_ms:
                return "time"
        elif occupied and self._waited(max_timestamp, now_ms) > segment_ms:
            return "time"
        if index.file.size >= index.full_bytes or time_index.file.size >= time_index.full_bytes:
            return "index full"
        if last_offset - self.base_offset > LARGEST_RELATIVE_OFFSET:
            return "offset overflow"
        if first is not None and first >= 0 and occupied:
            self.sure_size, self.sure_ms = segment_bytes, first + segment_ms
        return None

    def _waited(self, max_timestamp: int, now_ms: int) -> int:
        """Milliseconds by which this segment is older than the payload."""
        first = self.first_batch_timestamp
        return max_timestamp - first if first >= 0 else now_ms - self.created_ms

    @property
    def first_batch_timestamp(self) -> int:
        """Of its first batch (-1: none), read from the file when it is not known yet."""
        if self.first_timestamp is None and self.log.size:
            first = next(headers_from(self.log, 0, self.log.size), None)
            self.first_timestamp = first[1].max_timestamp if first else NO_TIMESTAMP
        return NO_TIMESTAMP if self.first_timestamp is None else self.first_timestamp

    @property
    def largest_timestamp(self) -> int:
        """By which retention judges: of the records, else (magic 0 has no times) when the file was changed last."""
        return self.max_timestamp if self.max_timestamp >= 0 else self.modified_ms

    def read(self, offset: int, max_bytes: int, max_offset: int, min_one: bool) -> LogRead | None:
        """Whole batches from the one that holds `offset`, all below `max_offset`; None when there are none here."""
        found = self.tail.find(offset, max_bytes, max_offset, min_one)
        if found is None:
            found = self._scan_range(offset, max_bytes, max_offset, min_one)
        if found is None or not found[1]:
            return None
        position, size, next_offset = found
        return _new(LogRead, ([self.log.slice(position, size)], size, next_offset))

    def _scan_range(self, offset: int, max_bytes: int, max_offset: int, min_one: bool) -> tuple[int, int, int] | None:
        """(position, size, next offset), by index and scan."""
        first = self.locate(offset)
        if first is None or first[1].last_offset >= max_offset:
            return None
        start, header = first
        if header.size > max_bytes and not min_one:
            return None
        end, next_offset = start + header.size, header.next_offset
        jump = min(self.index.last_position_up_to(start + max_bytes), self.index.lookup(max_offset - 1)[1])
        jumped = jump > end
        if jumped and read_header(self.log.read(jump, HEADER_SIZE)).magic < 2:
            jump, jumped = end, False  # a wrapper does not say where it begins
        for at, header in headers_from(self.log, max(jump, end), self.log.size):
            if jumped:
                end, next_offset, jumped = at, header.base_offset, False
            if header.last_offset >= max_offset or at + header.size > start + max_bytes:
                break
            end, next_offset = at + header.size, header.next_offset
        return start, end - start, next_offset

    def locate(self, offset: int) -> tuple[int, BatchHeader] | None:
        """(position, header) of the first batch that ends at or behind `offset`."""
        return find_batch(self.log, offset, self.index.lookup(offset)[1], self.log.size)

    def batches(self, position: int = 0) -> list[Batch]:
        """Every batch from a position on, with its bytes."""
        return list(batches_from(self.log, position, self.log.size))

    def load(self) -> None:
        """After opening files that are known to be good: the latest time from the index, once."""
        self.max_timestamp, self.max_timestamp_offset = self.time_index.last_entry()
        _, position = self.index.last_entry()
        try:
            for _, header in headers_from(self.log, position, self.log.size):
                if header.max_timestamp > self.max_timestamp:
                    self.max_timestamp = header.max_timestamp
                    self.max_timestamp_offset = header.last_offset
        except RecordsError:
            """A damaged header is found by whoever reads it."""

    def next_offset(self) -> int:
        """The offset behind the last batch."""
        _, position = self.index.last_entry()
        end = self.base_offset
        for _, header in headers_from(self.log, position, self.log.size):
            end = header.next_offset
        return end

    def sanity_check(self) -> None:
        """Raise CorruptIndex when an index cannot be right."""
        self.index.sanity_check()
        self.time_index.sanity_check()
        self.transaction_index.sanity_check()
        if self.index.last_entry()[1] >= max(self.log.size, 1):
            raise CorruptIndex(f"{self.path}{INDEX}: points behind the end of the log")

    def begin_rebuild(self) -> None:
        """The indexes are made anew from the file, batch by batch (Kafka: LogSegment.recover)."""
        self._forget()

    def rebuild_with(self, batch: Batch, least: int) -> None:
        """The next batch, whose first offset is `least` at least. Raises RecordsError or CorruptIndex: it is bad."""
        ensure_valid(batch)
        self._check_order(batch.header, least)
        header, position = batch.header, batch.position
        self._note(header.max_timestamp, header.last_offset, position, position + header.size)

    def end_rebuild(self, good: int) -> int:
        """Cut behind the good batches; the time index ends with the true maximum, as that of a segment that was closed.

        All of the file has been checked. Returns how many bytes were cut.
        """
        cut = self.log.size - good
        if cut:
            self.log.truncate(good)
        self.log.damaged = False
        self.become_inactive()
        self.tail.clear(good)
        return cut

    def _forget(self) -> None:
        self.index.reset()
        self.time_index.reset()
        self.transaction_index.reset()
        self.tail.clear(self.log.size)
        self.sure_size = -1
        self.max_timestamp, self.max_timestamp_offset = NO_TIMESTAMP, self.base_offset
        self._since_index = 0
        self.first_timestamp = None

    def _check_order(self, header: BatchHeader, least: int) -> None:
        if header.base_offset < least:
            raise CorruptIndex(f"offset {header.base_offset} is below {least}")
        if header.last_offset - self.base_offset > LARGEST_RELATIVE_OFFSET:
            raise CorruptIndex(f"offset {header.last_offset} is too far from the base {self.base_offset}")

    def truncate_to(self, offset: int) -> int:
        """Drop the batch that holds `offset` and all behind it; returns the bytes dropped."""
        found = self.locate(offset)
        self.index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        if found is None:
            return 0
        position = found[0]
        dropped = self.log.size - position
        self.log.truncate(position)
        self.tail.clear(position)
        self.sure_size = -1
        self._since_index = 0
        if position == 0:
            self.first_timestamp = None
        self.load()
        return dropped

    def upper_bound(self, read: LogRead, size: int) -> int | None:
        """An offset behind `size` bytes of a read, by the offset index; None: not in this segment.

        (Kafka: `fetchUpperBoundOffset`.) It may be a little too far.
        """
        return self.index.first_offset_from(read.slices[0].position + size)

    def find_timestamp(self, timestamp: int, start_offset: int) -> tuple[Record, BatchHeader] | None:
        """The first record at or after `timestamp`, at or behind `start_offset`."""
        offset = max(self.time_index.lookup(timestamp)[1], start_offset)
        for batch in batches_from(self.log, self.index.lookup(offset)[1], self.log.size):
            header = batch.header
            if header.last_offset >= start_offset and header.max_timestamp >= timestamp:
                for record in decode_records(batch):
                    if record.timestamp >= timestamp and record.offset >= start_offset:
                        return record, header
        return None

    def become_inactive(self) -> None:
        """The log has moved on: write the true maximum into the time index."""
        self.time_index.maybe_append(self.max_timestamp, self.max_timestamp_offset)

    def flush(self) -> None:
        for file in (self.log, self.index.file, self.time_index.file, self.transaction_index):
            file.flush()

    def close(self) -> None:
        """Everything that a later start needs is in the files."""
        self.become_inactive()
        for file in (self.log, self.index.file, self.time_index.file, self.transaction_index):
            file.close()

    def file_names(self) -> list[str]:
        """Paths of the files that exist."""
        paths = [self.path + kind + self.suffix for kind in (LOG, INDEX, TIME_INDEX, TRANSACTION_INDEX)]
        return [path for path in paths if self._storage.exists(path)]

    def change_suffix(self, suffix: str) -> None:
        """Give all files another suffix, the log first (Kafka's `changeFileSuffixes`)."""
        for path in self.file_names():
            self._storage.rename(path, path.removesuffix(self.suffix) + suffix)
        self.suffix = suffix
        self.transaction_index.path = self.path + TRANSACTION_INDEX + suffix

    def moved_to(self, directory: str) -> None:
        """Its directory has another name now."""
        self.path = f"{directory}/{self.base_offset:020d}"
        self.transaction_index.path = self.path + TRANSACTION_INDEX + self.suffix
