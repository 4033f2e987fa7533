"""Compaction of one log: what stays, what goes, and what a crash in the middle leaves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log import PartitionLog
from broker_core.log.cleaner import first_dirty_offset, parts_of
from broker_core.log.cleaning import Cleaning, CleaningAborted, CleaningStats, clean, group_by_size
from broker_core.log.offset_map import ENTRY_BYTES, OffsetMap
from broker_core.log.verify import verify_indexes
from broker_core.records import decode_records, encode_batch, iterate_batches
from broker_core.records.compression import GZIP
from broker_core.records.errors import CorruptRecordError
from broker_core.records.filtering import delete_horizon
from broker_core.records.legacy import encode_message_set
from tests.log.logs import DAY, NOW, offsets, open_log

ROOM = 1000
Row = tuple[bytes | None, bytes | None]


def compacted(storage: MemoryStorage | None = None, **more: Any) -> PartitionLog:
    more.setdefault("cleanup_policy", ["compact"])
    more.setdefault("segment_bytes", 1 << 20)
    return open_log(storage or MemoryStorage(), **more)


def write(log: PartitionLog, *rows: Row, now_ms: int = NOW, **fields: Any) -> None:
    """One batch, committed at once."""
    log.append_as_leader(encode_batch([(now_ms, key, value, ()) for key, value in rows], **fields), 0, now_ms)
    log.update_high_watermark(log.log_end_offset)


def clean_all(log: PartitionLog, now_ms: int = NOW, room: int = ROOM) -> CleaningStats:
    """Roll, so that nothing written is in the active segment, and clean once."""
    log.roll(now_ms)
    parts = parts_of(log, now_ms)
    return clean(log, OffsetMap(room * ENTRY_BYTES, 1.0), parts.first_dirty, parts.first_uncleanable, now_ms)


def rows(log: PartitionLog) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(one.offset, one.key, one.value) for one in log.records(0, log.log_end_offset)]


def check_indexes(log: PartitionLog) -> None:
    for segment in log.segments:
        assert verify_indexes(segment.log, segment.index, segment.time_index) == []


def test_of_each_key_the_latest_record_stays_at_its_offset() -> None:
    log = compacted()
    for key in (b"a", b"b", b"a", b"c", b"a", b"b"):
        write(log, (key, b"%d" % log.log_end_offset))
    stats = clean_all(log)
    assert rows(log) == [(3, b"c", b"3"), (4, b"a", b"4"), (5, b"b", b"5")]
    assert (stats.records_before, stats.records_after) == (6, 3)
    assert (log.log_start_offset, log.log_end_offset, first_dirty_offset(log)) == (0, 6, 6)
    assert log.read(0, 1 << 20, 6).next_offset == 6
    write(log, (b"c", b"new"))
    assert rows(log)[-1] == (6, b"c", b"new")


def grown(writes: list[int], segment_every: int = 5) -> PartitionLog:
    """A log of several segments: one key after the other, as told."""
    log = compacted()
    for number, key in enumerate(writes):
        write(log, (b"k%d" % key, b"%d" % number))
        if number % segment_every == segment_every - 1:
            log.roll(NOW)
    log.roll(NOW)
    return log


def begun(log: PartitionLog) -> Cleaning:
    parts = parts_of(log, NOW)
    return Cleaning(log, OffsetMap(ROOM * ENTRY_BYTES, 1.0), parts.first_dirty, parts.first_uncleanable, NOW)


@pytest.mark.parametrize("slice_bytes", [1, 150, 400])
def test_a_cleaning_in_slices_is_the_same_and_what_is_written_and_read_meanwhile_is_whole(slice_bytes: int) -> None:
    keys = [one * 7 % 5 for one in range(40)]
    whole, log = grown(keys), grown(keys)
    stats = clean_all(whole)
    work, slices, before = begun(log), 1, rows(log)
    while not work.advance(slice_bytes):
        assert 0 < work.done_bytes <= work.total_bytes
        assert set(rows(log)) <= set(before) and rows(log)[-5:] == before[-5:]
        check_indexes(log)
        slices += 1
    assert slices > 5
    assert (rows(log), log.cleaned_to, len(log.segments)) == (rows(whole), whole.cleaned_to, len(whole.segments))
    assert (work.stats.records_after, work.stats.bytes_after) == (stats.records_after, stats.bytes_after)
    assert [one.log.read(0, one.size) for one in log.segments] == [one.log.read(0, one.size) for one in whole.segments]


@pytest.mark.parametrize(("rows", "size", "codec"), [(1, 1, 0), (400, 1, 0), (4, 50_000, 4)])
def test_small_batches_small_records_and_what_is_unpacked_count_for_more_than_their_bytes(
    rows: int, size: int, codec: int
) -> None:
    log, written = compacted(), 0
    for number in range(100):
        batch = encode_batch([(NOW, b"%d" % number, bytes(size), ())] * rows, compression=codec)
        log.append_as_leader(batch, 0, NOW)
        written += len(batch)
    log.update_high_watermark(log.log_end_offset)
    log.roll(NOW)
    work, slices = begun(log), 1
    while not work.advance(written // 10):
        slices += 1
    assert slices > 2 * 2 * 10


def test_a_log_that_is_cut_while_it_is_cleaned_is_left_alone_and_nothing_half_copied_stays() -> None:
    log = grown([one % 3 for one in range(20)])
    work = begun(log)
    while not any(name.endswith(".cleaned") for name in log.storage.list(log.directory)):
        assert not work.advance(100)
    log.truncate_to(7)
    left = rows(log)
    with pytest.raises(CleaningAborted):
        work.advance(100)
    assert rows(log) == left and not any(name.endswith(".cleaned") for name in log.storage.list(log.directory))
    assert log.cleaned_to == 0


def test_the_active_segment_is_never_cleaned_and_is_cleaned_once_it_has_been_rolled() -> None:
    log = compacted()
    write(log, (b"a", b"1"))
    write(log, (b"a", b"2"))
    assert parts_of(log, NOW).cleanable_bytes == 0
    log.roll(NOW)
    write(log, (b"a", b"3"))
    clean(log, OffsetMap(ROOM * ENTRY_BYTES, 1.0), 0, parts_of(log, NOW).first_uncleanable, NOW)
    assert rows(log) == [(1, b"a", b"2"), (2, b"a", b"3")]
    clean_all(log)
    assert rows(log) == [(2, b"a", b"3")]


def test_a_tombstone_lives_until_its_delete_horizon_and_the_horizon_is_in_the_batch() -> None:
    log = compacted(delete_retention_ms=DAY)
    write(log, (b"a", b"1"), (b"b", b"1"))
    write(log, (b"a", None), (b"c", b"1"))
    clean_all(log)
    assert rows(log) == [(1, b"b", b"1"), (2, b"a", None), (3, b"c", b"1")]
    written = list(iterate_batches(log.segments[0].log.read(0, log.segments[0].size)))
    assert [delete_horizon(one.header) for one in written] == [None, NOW + DAY]
    assert [one.timestamp for one in decode_records(written[1])] == [NOW, NOW]
    write(log, (b"d", b"1"))
    clean_all(log, NOW + DAY - 1)
    assert (2, b"a", None) in rows(log)
    write(log, (b"e", b"1"))
    assert clean_all(log, NOW + DAY).tombstones == 1
    assert (2, b"a", None) not in rows(log) and (3, b"c", b"1") in rows(log)


def test_records_without_a_key_go_when_a_topic_turns_to_compaction() -> None:
    log = open_log(MemoryStorage())
    write(log, (None, b"old"), (b"a", b"1"))
    log.config = compacted().config
    assert clean_all(log).keyless == 1
    assert rows(log) == [(1, b"a", b"1")]


def test_the_last_batch_of_a_round_and_of_a_producer_keep_their_header() -> None:
    log = compacted()
    write(log, (b"a", b"1"), producer_id=7, producer_epoch=0, base_sequence=0)
    write(log, (b"a", b"2"))
    write(log, (b"a", b"3"))
    clean_all(log)
    headers = [one.header for one in iterate_batches(log.segments[0].log.read(0, log.segments[0].size))]
    assert [(one.base_offset, one.record_count, one.producer_id) for one in headers] == [(0, 0, 7), (2, 1, -1)]
    again = open_log(log.storage, cleanup_policy=["compact"])
    assert again.producers.entries[7].last_sequence == 0
    write(log, (b"a", b"4"))
    clean_all(log)
    assert rows(log) == [(3, b"a", b"4")]


def test_a_log_with_more_keys_than_the_map_holds_is_cleaned_in_rounds() -> None:
    log = compacted()
    for number in range(30):
        write(log, *((b"%d" % (key % 15), b"%d" % number) for key in range(number, number + 3)))
    latest = {key: value for _, key, value in rows(log)}
    seen = [clean_all(log, room=4).records_after]
    while first_dirty_offset(log) < log.active.base_offset:
        before = first_dirty_offset(log)
        seen.append(clean_all(log, room=4).records_after)
        assert first_dirty_offset(log) > before
        assert {key: value for _, key, value in rows(log)} == latest
    assert len(seen) > 5 and len(rows(log)) < 90
    check_indexes(log)


def test_small_segments_become_one_as_long_as_they_fit() -> None:
    log = compacted()
    for number in range(6):
        write(log, (b"%d" % number, b"x" * 100))
        log.roll(NOW)
    size = log.segments[0].size
    groups = group_by_size(log.segments[:-1], 2 * size, 1 << 20, 6)
    assert [[one.base_offset for one in group] for group in groups] == [[0, 1], [2, 3], [4, 5]]
    assert len(group_by_size(log.segments[:-1], 2 * size - 1, 1 << 20, 6)) == 6
    clean_all(log)
    assert [one.base_offset for one in log.segments] == [0, 6] and len(rows(log)) == 6


def test_compressed_batches_and_log_append_time_and_headers_stay_what_they_are() -> None:
    log = compacted(message_timestamp_type="LogAppendTime")
    entries = [(NOW, b"%d" % (number % 5), b"x" * 50, (("h", b"%d" % number),)) for number in range(20)]
    log.append_as_leader(encode_batch(entries, compression=GZIP), 0, NOW + 5)
    write(log, (b"0", b"later"))
    clean_all(log)
    first = next(iterate_batches(log.segments[0].log.read(0, log.segments[0].size)))
    assert (first.header.compression, first.header.is_log_append_time, first.header.last_offset_delta) == (GZIP, True, 19)
    assert [(one.offset, one.timestamp, one.headers) for one in decode_records(first)] == [
        (number, NOW + 5, (("h", b"%d" % number),)) for number in range(16, 20)
    ]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, GZIP])
def test_old_message_formats_are_cleaned_too(magic: int, codec: int) -> None:
    log = compacted(delete_retention_ms=DAY)
    old = encode_message_set([(NOW, b"%d" % (number % 3), b"v", ()) for number in range(9)], magic, 0, codec)
    log.append_as_follower(old, NOW)
    log.append_as_follower(encode_message_set([(NOW, b"0", None, ())], magic, 9), NOW)
    log.update_high_watermark(log.log_end_offset)
    clean_all(log)
    assert [(one.offset, one.key, one.value) for one in log.records(0, 10)] == [(7, b"1", b"v"), (8, b"2", b"v"), (9, b"0", None)]


def test_a_damaged_batch_is_not_copied() -> None:
    log = compacted()
    write(log, (b"a", b"value"))
    write(log, (b"a", b"other"))
    log.segments[0].log.overwrite(70, b"X")
    before = bytes(log.segments[0].log.read(0, log.segments[0].size))
    with pytest.raises(CorruptRecordError, match="stored crc"):
        clean_all(log)
    assert bytes(log.segments[0].log.read(0, log.segments[0].size)) == before
    assert not [name for name in log.storage.list(log.directory) if ".cleaned" in name]


class Crash(Exception):
    """The process ends here."""


class FailingStorage(MemoryStorage):
    """Ends the process at one of its operations."""

    left = 1 << 30

    def rename(self, old: str, new: str) -> None:
        self._count()
        super().rename(old, new)

    def delete(self, path: str) -> None:
        self._count()
        super().delete(path)

    def _count(self) -> None:
        type(self).left -= 1
        if type(self).left < 0:
            raise Crash


def test_a_crash_at_any_moment_leaves_the_old_log_or_the_cleaned_one() -> None:
    found: list[int] = []
    for operations in range(40):
        FailingStorage.left = 1 << 30
        storage = FailingStorage()
        log = compacted(storage)
        for number in range(12):
            write(log, (b"%d" % (number % 3), b"%d" % number))
            if number % 3 == 2:
                log.roll(NOW)
        whole, latest = rows(log), rows(log)[-3:]
        FailingStorage.left = operations
        try:
            clean_all(log)
        except Crash:
            pass
        else:
            assert operations > 10
            break
        finally:
            FailingStorage.left = 1 << 30
        again = compacted(storage)
        assert rows(again) in (whole, latest), operations
        assert again.log_end_offset == 12
        check_indexes(again)
        assert not [name for name in storage.list(log.directory) if name.endswith((".cleaned", ".swap"))]
        found.append(len(rows(again)))
        again.update_high_watermark(12)
        clean_all(again)
        assert rows(again) == latest
    assert found[0] == 12 and found[-1] == 3


KEYS = st.sampled_from([b"a", b"b", b"c", b"d"])
STEPS = st.lists(st.one_of(
    st.tuples(st.just("write"), st.lists(st.tuples(KEYS, st.one_of(st.none(), st.binary(max_size=4))), min_size=1, max_size=5)),
    st.tuples(st.just("roll"), st.none()), st.tuples(st.just("clean"), st.integers(2, 9)),
    st.tuples(st.just("wait"), st.integers(1, 3)), st.tuples(st.just("restart"), st.booleans()),
), max_size=40)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_whoever_reads_a_cleaned_log_to_its_end_knows_the_latest_value_of_each_key(steps: list[Any]) -> None:
    log, now, written = compacted(delete_retention_ms=2), NOW, {}
    everything: list[tuple[int, bytes | None, bytes | None]] = []
    for what, how in steps:
        if what == "write":
            start = log.log_end_offset
            write(log, *how, now_ms=now)
            everything += [(start + number, *row) for number, row in enumerate(how)]
        elif what == "roll":
            log.roll(now)
        elif what == "wait":
            now += how
        elif what == "clean":
            parts = parts_of(log, now)
            if parts.cleanable_bytes:
                clean(log, OffsetMap(how * ENTRY_BYTES, 1.0), parts.first_dirty, parts.first_uncleanable, now)
        else:
            end, cleaned = log.log_end_offset, log.cleaned_to
            if how:
                log.close()
            log = compacted(log.storage, delete_retention_ms=2, clean=how, now_ms=now)
            log.cleaned_to = cleaned
            assert log.log_end_offset == end
            log.update_high_watermark(end)
        written = {key: (offset, value) for offset, key, value in everything}
        left = rows(log)
        assert set(left) <= set(everything) and [one[0] for one in left] == sorted({one[0] for one in left})
        by_key = {key: (offset, value) for offset, key, value in left}
        for key, (offset, value) in written.items():
            assert by_key.get(key) == (offset, value) if value is not None else by_key.get(key, (offset, None)) == (offset, None)
        check_indexes(log)
        for offset in range(log.log_start_offset, log.log_end_offset):
            found = log.read(offset, 1 << 20, log.log_end_offset)
            assert found.next_offset > offset or not [one for one in left if one[0] >= offset]


def test_a_followers_copy_of_a_cleaned_log_has_the_same_gaps() -> None:
    log = compacted()
    for number in range(10):
        write(log, (b"%d" % (number % 2), b"%d" % number))
    clean_all(log)
    write(log, (b"2", b"10"))
    follower, position = compacted(), 0
    while position < log.log_end_offset:
        found = log.read(position, 100, log.log_end_offset)
        follower.append_as_follower([part.read() for part in found.slices], NOW)
        position = found.next_offset
        assert follower.log_end_offset == position
    assert rows(follower) == rows(log) and offsets(follower) == [8, 9, 10]
    check_indexes(follower)
