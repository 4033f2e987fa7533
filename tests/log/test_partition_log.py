"""Append, read, roll, truncate; each lookup against a plain scan."""

from __future__ import annotations

import pickle
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.kernel.errors import StorageError
from broker_core.kernel.storage import read_all
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log import OffsetOutOfRange, OffsetsNotMonotonic, PartitionLog
from broker_core.records import CorruptRecordError, InvalidRecordError, encode_batch, iterate_batches, read_header
from broker_core.records.legacy import encode_message_set
from tests.log.logs import NOW, Journal, batch, contents, offsets, open_log


def filled(storage: MemoryStorage | None = None, batches: int = 120, **more: object) -> PartitionLog:
    more.setdefault("segment_bytes", 3000)
    more.setdefault("index_interval_bytes", 300)
    log = open_log(storage or MemoryStorage(), **more)
    for number in range(batches):
        log.append_as_leader(batch(1 + number % 4, NOW + number * 10), 1 + number // 50, NOW + number * 10)
    return log


def test_22_records_in_files_of_10_give_three_files_and_record_22_is_in_the_third() -> None:
    size = len(batch())
    log = open_log(MemoryStorage(), segment_bytes=10 * size)
    for _ in range(22):
        log.append_as_leader(batch(), 0, NOW)
    assert [segment.base_offset for segment in log.segments] == [0, 10, 20]
    assert [f"{segment.base_offset:020d}.log" for segment in log.segments][2] == "00000000000000000020.log"
    assert log.segment_of(21) == 2


def test_offsets_epoch_and_crc_are_what_the_leader_gave() -> None:
    log = open_log(MemoryStorage())
    log.append_as_leader(batch(5), 3, NOW)
    info = log.append_as_leader(batch(2), 3, NOW)
    assert (info.first_offset, info.last_offset, info.batch_count, info.log_append_time) == (5, 6, 1, -1)
    header = read_header(contents(log)[len(batch(5)) :])
    assert (header.base_offset, header.leader_epoch, header.crc) == (5, 3, info.last_crc)
    assert log.log_end_offset == 7 and log.high_watermark == 0


def test_a_writable_buffer_is_kept_and_a_read_only_one_is_left_alone() -> None:
    log, other = open_log(MemoryStorage()), open_log(MemoryStorage())
    for append_time in ("CreateTime", "LogAppendTime"):
        for one in (log, other):
            one.config.message_timestamp_type = append_time
            one.config = one.config
        writable, fixed = batch(3) + batch(2), bytes(batch(3) + batch(2))
        log.append_as_leader(writable, 7, NOW + 5)
        other.append_as_leader(fixed, 7, NOW + 5)
        assert fixed == bytes(batch(3) + batch(2))
        assert contents(log).endswith(writable)
    assert contents(log) == contents(other)
    assert [record.timestamp for record in other.records(5, 10)] == [NOW + 5] * 5


def test_a_follower_that_copies_holds_the_same_bytes_epochs_and_fingerprint() -> None:
    leader = filled()
    follower = open_log(MemoryStorage(), segment_bytes=5000)
    while follower.log_end_offset < leader.log_end_offset:
        found = leader.read(follower.log_end_offset, 700, leader.log_end_offset)
        info = follower.append_as_follower([part.read() for part in found.slices])
        assert info.last_offset + 1 == found.next_offset
    assert contents(follower) == contents(leader)
    assert follower.leader_epochs.entries == leader.leader_epochs.entries
    for upto in (0, 1, 17, 150, leader.log_end_offset):
        assert follower.content_hash(upto) == leader.content_hash(upto)
    assert leader.content_hash(150) != leader.content_hash(151)


def test_a_follower_refuses_offsets_that_go_back_and_damaged_bytes() -> None:
    follower = open_log(MemoryStorage())
    follower.append_as_follower(batch(3, base_offset=10))
    before = contents(follower)
    with pytest.raises(OffsetsNotMonotonic):
        follower.append_as_follower(batch(1, base_offset=12))
    with pytest.raises(CorruptRecordError):
        follower.append_as_follower(batch(1, base_offset=13)[:-1] + b"\x77")
    with pytest.raises(CorruptRecordError):
        follower.append_as_follower(batch(1, base_offset=13) + b"\0\0")
    assert contents(follower) == before and follower.log_end_offset == 13


@given(st.integers(0, 299), st.integers(1, 4000), st.integers(0, 300), st.booleans(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_read_is_what_a_plain_scan_finds(offset: int, size: int, bound: int, min_one: bool, warm: bool) -> None:
    log = LOGS[warm]
    bound = min(bound, log.log_end_offset)
    found = log.read(offset, size, bound, min_one)
    expected: list[bytes] = []
    total = 0
    segment = log.segments[log.segment_of(offset)]
    for one in iterate_batches(segment.log.read(0, segment.size)):
        if one.header.last_offset < offset:
            continue
        fits = total + one.header.size <= size or (min_one and not expected)
        if one.header.last_offset >= bound or not fits:
            break
        expected.append(bytes(one.data))
        total += one.header.size
    assert read_all(found.slices) == b"".join(expected)
    assert found.size == total
    if expected:
        assert found.next_offset == read_header(expected[-1]).next_offset


STORAGE = MemoryStorage()
WARM = filled(STORAGE)
LOGS = {True: WARM, False: open_log(STORAGE, segment_bytes=3000, index_interval_bytes=300)}


def test_reads_outside_the_log_are_out_of_range_and_at_its_end_empty() -> None:
    log = filled(batches=10)
    assert log.read(log.log_end_offset, 100, log.log_end_offset).size == 0
    assert log.read(3, 1000, 3).size == 0
    with pytest.raises(OffsetOutOfRange):
        log.read(log.log_end_offset + 1, 100, log.log_end_offset)
    log.update_high_watermark(9)
    log.delete_records_before(5)
    with pytest.raises(OffsetOutOfRange):
        log.read(4, 100, log.log_end_offset)


def test_a_gap_between_segments_is_read_over() -> None:
    log = open_log(MemoryStorage())
    log.append_as_follower(batch(2))
    log.roll(NOW)
    log.append_as_follower(batch(2, base_offset=10))
    assert log.read(5, 1000, log.log_end_offset).next_offset == 12
    assert offsets(log) == [0, 1, 10, 11]


@pytest.mark.parametrize("seed", range(3))
def test_timestamp_lookup_finds_what_a_plain_scan_finds(seed: int) -> None:
    draw = random.Random(seed)
    log = open_log(MemoryStorage(), segment_bytes=1500, index_interval_bytes=150)
    for _ in range(100):
        log.append_as_leader(encode_batch([(NOW + draw.randrange(1000), None, b"v", ()) for _ in range(3)]), 4, NOW)
    records = list(log.records(0, log.log_end_offset))
    for wanted in range(NOW - 5, NOW + 1005, 7):
        expected = next(((r.offset, r.timestamp, 4) for r in records if r.timestamp >= wanted), None)
        assert log.offset_for_timestamp(wanted) == expected
    latest = max(r.timestamp for r in records)
    assert log.max_timestamp_offset() == next((r.offset, r.timestamp, 4) for r in records if r.timestamp == latest)


def test_a_segment_rolls_for_size_time_full_index_and_far_offsets() -> None:
    journal = Journal()
    log = open_log(MemoryStorage(), segment_ms=1000, emit=journal.emit)
    log.append_as_leader(batch(timestamp=NOW), 0, NOW)
    log.append_as_leader(batch(timestamp=NOW + 1000), 0, NOW)
    assert len(log.segments) == 1
    log.append_as_leader(batch(timestamp=NOW + 1001), 0, NOW)
    log.append_as_follower(batch(base_offset=2**32))
    log.append_as_follower(batch(base_offset=2**32 + 5))
    full = open_log(MemoryStorage(), segment_index_bytes=24, index_interval_bytes=1, emit=journal.emit)
    for _ in range(3):
        full.append_as_leader(batch(), 0, NOW)
    assert [event["reason"] for event in journal.named("segment_rolled")] == ["time", "offset overflow", "index full"]
    assert [segment.base_offset for segment in log.segments] == [0, 2, 2**32]


def test_a_first_offset_far_away_moves_the_empty_segment() -> None:
    log = open_log(MemoryStorage())
    log.append_as_follower(batch(base_offset=5_000_000_000))
    assert [segment.base_offset for segment in log.segments] == [5_000_000_000]


def test_segment_ms_of_a_day_and_retention_of_7_days_keep_7_finished_segments() -> None:
    hour = 3_600_000
    log = open_log(MemoryStorage(), segment_ms=24 * hour - 1, retention_ms=7 * 24 * hour)
    for number in range(24 * 12):
        now = NOW + number * hour
        log.append_as_leader(batch(timestamp=now), 0, now)
        log.update_high_watermark(log.log_end_offset)
        log.delete_old_segments(now)
        if number >= 24 * 9:
            assert len(log.segments[:-1]) == 7


def test_truncation_cuts_whole_batches_indexes_epochs_and_the_high_watermark() -> None:
    for offset in (0, 1, 60, 149, 299):
        storage = MemoryStorage()
        journal = Journal()
        log = filled(storage, emit=journal.emit)
        log.update_high_watermark(300)
        before = contents(log)
        assert log.truncate_to(offset)
        assert log.log_end_offset == offset == log.high_watermark
        assert before.startswith(contents(log))
        assert all(start < offset for _, start in log.leader_epochs.entries)
        assert journal.named("truncated")[-1] | {"reason": ""} == {
            "topic": "orders", "partition": 0, "before": 300, "after": offset, "reason": "", "committed": True,
        }  # fmt: skip
        kept = offsets(log)
        log.append_as_leader(batch(2), 9, NOW)
        assert offsets(log) == [*kept, offset, offset + 1]
        again = open_log(storage, segment_bytes=3000)
        assert offsets(again) == offsets(log) and again.log_end_offset == log.log_end_offset


def test_truncating_behind_the_end_does_nothing() -> None:
    log = filled(batches=5)
    assert not log.truncate_to(log.log_end_offset)
    assert not log.truncate_to(10_000)


def test_a_log_that_starts_anew_is_empty_at_the_offset() -> None:
    storage = MemoryStorage()
    log = filled(storage)
    log.truncate_fully_and_start_at(1000)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (1000, 1000, 1000)
    assert log.leader_epochs.entries == [] and len(log.segments) == 1
    log.append_as_leader(batch(), 4, NOW)
    assert offsets(log) == [] or offsets(log) == [1000]
    assert open_log(storage).log_start_offset == 1000


def test_disk_errors_leave_the_log_as_it_was() -> None:
    for path in (".log", ".index", ".timeindex"):
        storage = FailingStorage()
        log = open_log(storage, index_interval_bytes=0)
        log.append_as_leader(batch(2), 0, NOW)
        before = contents(log)
        storage.broken = path
        with pytest.raises(StorageError):
            log.append_as_leader(batch(3, NOW + 5), 0, NOW)
        assert (contents(log), log.log_end_offset, log.active.max_timestamp) == (before, 2, NOW)
        storage.broken = ""
        log.append_as_leader(batch(3, NOW + 6), 0, NOW)
        assert offsets(log) == [0, 1, 2, 3, 4]
        assert log.active.index.entries() == [(4, len(before))]


class FailingStorage(MemoryStorage):
    """A disk that refuses to append to files whose name ends with `broken`."""

    broken = ""

    def open(self, path: str):  # type: ignore[no-untyped-def]
        file = super().open(path)
        if not isinstance(file, FailingFile):
            file.__class__ = FailingFile
            FailingFile.storage = self
        return file


from broker_core.kernel.storage_memory import MemoryFile  # noqa: E402


class FailingFile(MemoryFile):
    __slots__ = ()
    storage: FailingStorage

    def append(self, buffers):  # type: ignore[no-untyped-def]
        if FailingFile.storage.broken and self.path.endswith(FailingFile.storage.broken):
            raise StorageError(self.path, "append", "no space left on device")
        return super().append(buffers)


def test_a_refused_batch_changes_nothing() -> None:
    log = filled(batches=3)
    before = contents(log)
    with pytest.raises(InvalidRecordError):
        log.append_as_leader(batch(base_offset=3), 9, NOW)
    assert contents(log) == before and log.leader_epochs.latest_epoch == 1


def test_the_high_watermark_stays_between_start_and_end() -> None:
    log = filled(batches=4)
    assert log.update_high_watermark(10**6) == log.log_end_offset
    assert log.update_high_watermark(-5) == 0


def test_files_of_mixed_formats_are_read() -> None:
    storage = MemoryStorage()
    log = open_log(storage, index_interval_bytes=0)
    for magic in (0, 1):
        for codec in range(4):
            end = log.log_end_offset
            records = [(NOW, b"k", b"v", ())] * 3
            log.append_as_follower(encode_message_set(records, magic, base_offset=end, compression=codec))
            log.append_as_leader(batch(2), 1, NOW)
    assert offsets(log) == list(range(40))
    for offset in range(40):
        assert any(r.offset == offset for r in log.records(offset, offset + 1))
    again = open_log(storage)
    assert offsets(again) == list(range(40))


def test_a_log_can_be_pickled_with_its_storage_and_goes_on() -> None:
    storage = MemoryStorage()
    log = filled(storage, batches=40)
    copy = pickle.loads(pickle.dumps(log))
    assert contents(copy) == contents(log) and copy.content_hash(50) == log.content_hash(50)
    copy.append_as_leader(batch(), 8, NOW)
    assert copy.log_end_offset == log.log_end_offset + 1 and contents(copy) != contents(log)
