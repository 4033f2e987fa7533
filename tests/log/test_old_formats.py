"""Logs of magic 0 and 1, and one segment that holds all three formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_core.kernel.storage import read_all
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log import LogConfig, PartitionLog
from broker_core.log.cleaning import clean
from broker_core.log.dump import dump_files
from broker_core.log.offset_map import OffsetMap
from broker_core.log.verify import verify_indexes
from broker_core.records import decode_records, encode_batch, iterate_batches
from broker_core.records.header import ensure_valid
from broker_core.records.legacy import encode_message_set
from tests.log.logs import DAY, NOW, open_log

FORMATS = ("0.9.0", "0.10.2", "2.8")
OF_KAFKA = Path(__file__).parents[1] / "wire_vectors" / "kafka_3_9_three_formats.log"
"""One segment of a topic whose format was raised from 0.9.0 to 0.10.2 and 2.8, then lowered to 0.10.2."""


def rows(number: int, count: int = 3) -> list[tuple[int, bytes, bytes, tuple[()]]]:
    return [(NOW + 10 * number + one, b"k%d" % ((number + one) % 5), b"v" * 40, ()) for one in range(count)]


def set_format(log: PartitionLog, release: str, **more: object) -> None:
    log.config = LogConfig(message_format_version=release, index_interval_bytes=100, **more)  # type: ignore[arg-type]


def mixed(storage: MemoryStorage | None = None, directory: str = "data/orders-0", **more: object) -> PartitionLog:
    """Ten appends in each format, plain and gzip by turns."""
    log = open_log(storage or MemoryStorage(), directory=directory, index_interval_bytes=100)
    for release in FORMATS:
        set_format(log, release, **more)
        for number in range(10):
            number += log.log_end_offset
            log.append_as_leader(encode_batch(rows(number), compression=number % 2), 3, NOW + number)
    log.update_high_watermark(log.log_end_offset)
    return log


def magics(log: PartitionLog) -> list[int]:
    return [batch.header.magic for segment in log.segments for batch in segment.batches()]


def bytes_of(log: PartitionLog) -> list[bytes]:
    return [bytes(segment.log.read(0, segment.size)) for segment in log.segments]


def test_one_segment_holds_all_three_formats_and_every_offset_is_found_in_it() -> None:
    log = mixed()
    assert len(log.segments) == 1 and list(dict.fromkeys(magics(log))) == [0, 1, 2]
    for limit in (1, 200, 1000, 1 << 20):
        for offset in range(log.log_end_offset):
            found = log.read(offset, limit, log.log_end_offset)
            batches = [batch for part in found.slices for batch in iterate_batches(part.read())]
            offsets = [one.offset for batch in batches for one in decode_records(batch)]
            assert offset in offsets and offsets == list(range(offsets[0], offsets[-1] + 1))
            assert found.next_offset == offsets[-1] + 1


@pytest.mark.parametrize("clean_stop", [True, False])
def test_a_start_finds_a_log_of_three_formats_as_it_was(clean_stop: bool) -> None:
    storage = MemoryStorage()
    log = mixed(storage)
    segment = log.active
    indexes = segment.index.entries(), segment.time_index.entries()
    assert len(indexes[0]) > 10 and verify_indexes(segment.log, segment.index, segment.time_index) == []
    log.close()
    again = open_log(storage, clean=clean_stop, message_format_version="2.8", index_interval_bytes=100)
    assert bytes_of(again) == bytes_of(log) and again.log_end_offset == log.log_end_offset
    assert again.active.index.entries() == indexes[0]
    assert again.leader_epochs.entries == [(3, 60)]
    assert [one.offset for one in again.records(0, 99)] == list(range(90))


def test_recovery_cuts_in_front_of_an_old_message_that_is_damaged() -> None:
    storage = MemoryStorage()
    log = mixed(storage)
    batch = log.active.batches()[12]
    log.close()
    data = bytearray(storage.files[log.active.path + ".log"].read(0, log.active.size))
    data[batch.position + batch.header.size - 1] ^= 1
    storage.delete(log.active.path + ".log")
    storage.open(log.active.path + ".log").append((bytes(data),))
    again = open_log(storage, message_format_version="2.8")
    assert again.active.size == batch.position and set(magics(again)) == {0}


def test_a_follower_has_the_same_bytes_whatever_its_own_setting_is_and_forgets_epochs_at_old_messages() -> None:
    leader, follower = mixed(), open_log(MemoryStorage(), directory="data/copy-0")
    follower.append_as_follower(encode_batch(rows(0), leader_epoch=1))
    assert follower.leader_epochs.latest_epoch == 1
    follower.truncate_fully_and_start_at(0)
    follower.leader_epochs.assign(1, 0)
    while follower.log_end_offset < leader.log_end_offset:
        found = leader.read(follower.log_end_offset, 700, leader.log_end_offset)
        follower.append_as_follower(bytes(read_all(found.slices)))
        if magics(follower)[-1] < 2:
            assert follower.leader_epochs.entries == []
    assert bytes_of(follower) == bytes_of(leader)
    assert follower.leader_epochs.entries == leader.leader_epochs.entries == [(3, 60)]


def test_a_log_of_an_old_format_keeps_no_epochs_and_a_setting_that_is_lowered_deletes_them() -> None:
    storage = MemoryStorage()
    log = mixed(storage)
    assert storage.exists(log.epochs_path)
    set_format(log, "0.10.2")
    assert log.leader_epochs.latest_epoch == -1 and not storage.exists(log.epochs_path)
    log.leader_epochs.assign(4, log.log_end_offset)  # as who becomes the leader does
    log.append_as_leader(encode_batch(rows(0)), 4, NOW)
    assert log.leader_epochs.entries == [] and log.leader_epochs.end_offset_for(3) == (-1, -1)
    set_format(log, "2.8")
    log.append_as_leader(encode_batch(rows(0)), 4, NOW)
    assert log.leader_epochs.entries == [(4, 93)]


def test_a_followers_segment_that_begins_with_a_wrapper_is_named_after_the_log_end() -> None:
    log = open_log(MemoryStorage(), segment_bytes=150)
    for base in (0, 3):
        log.append_as_follower(encode_message_set(rows(0), 1, base_offset=base, compression=1))
    assert [segment.base_offset for segment in log.segments] == [0, 3]


def test_truncation_inside_a_wrapper_takes_the_whole_wrapper() -> None:
    log = open_log(MemoryStorage(), message_format_version="0.10.2")
    for number in range(3):
        log.append_as_leader(encode_batch(rows(number), compression=1), 0, NOW)
    log.truncate_to(4)
    assert log.log_end_offset == 4 and [one.offset for one in log.records(0, 9)] == [0, 1, 2]


def test_magic_0_is_kept_by_the_time_of_the_last_append_and_other_formats_by_their_records() -> None:
    log = open_log(MemoryStorage(), message_format_version="0.9.0", retention_ms=DAY, segment_bytes=500)
    for hour in range(4):
        log.append_as_leader(encode_batch(rows(0, 6)), 0, NOW + hour * DAY // 24)
    log.update_high_watermark(log.log_end_offset)
    assert len(log.segments) == 4 and log.max_timestamp_offset() == (0, -1, -1)
    assert log.delete_old_segments(NOW + DAY) == 0
    assert log.delete_old_segments(NOW + DAY + 2 * DAY // 24 + 1) == 3
    set_format(log, "0.10.2", retention_ms=DAY, segment_bytes=500)
    log.append_as_leader(encode_batch([(NOW - DAY, b"k", b"late", ())] * 9), 0, NOW + 2 * DAY)
    log.update_high_watermark(log.log_end_offset)
    assert log.delete_old_segments(NOW + 2 * DAY) == 2


def test_a_time_is_looked_up_over_formats_and_answered_without_epoch_by_old_messages() -> None:
    log = mixed()
    times = {one.offset: one.timestamp for one in log.records(0, 99)}
    for wanted in (NOW, times[31], times[45], times[75]):
        first = min(offset for offset, time in times.items() if time >= wanted)
        assert log.offset_for_timestamp(wanted) == (first, times[first], 3 if first >= 60 else -1)
    assert log.max_timestamp_offset() == (89, times[89], 3)


def test_cleaning_leaves_each_message_and_batch_in_its_format() -> None:
    log = mixed(cleanup_policy=["compact"])
    last = {one.key: one for one in log.records(0, 99)}
    set_format(log, "2.8", cleanup_policy=["compact"])
    kept_old = (NOW, b"only in front", b"x", ())
    log.append_as_leader(encode_batch([kept_old]), 3, NOW)
    log.roll(NOW)
    log.update_high_watermark(log.log_end_offset)
    clean(log, OffsetMap(1 << 20, 0.9), 0, log.active.base_offset, NOW)
    left = {one.offset: one for one in log.records(0, 99)}
    assert set(left) == {one.offset for one in last.values()} | {90}
    for segment in log.segments:
        for batch in segment.batches():
            ensure_valid(batch)


def test_the_cleaner_takes_messages_out_of_wrappers_and_keeps_their_offsets() -> None:
    for release, magic in (("0.9.0", 0), ("0.10.2", 1)):
        log = open_log(MemoryStorage(), message_format_version=release, cleanup_policy=["compact"])
        log.append_as_leader(encode_batch(rows(0, 5), compression=1), 0, NOW)
        log.append_as_leader(encode_batch(rows(1, 2), compression=1), 0, NOW)
        log.roll(NOW)
        log.update_high_watermark(log.log_end_offset)
        clean(log, OffsetMap(1 << 20, 0.9), 0, log.active.base_offset, NOW)
        assert [one.offset for one in log.records(0, 9)] == [0, 3, 4, 5, 6]
        assert magics(log) == [magic, magic]


def test_a_segment_of_three_formats_that_kafka_wrote_is_ours(tmp_path: Path) -> None:
    storage, name = MemoryStorage(), "data/orders-0/00000000000000000000.log"
    storage.open(name).append((OF_KAFKA.read_bytes(),))
    log = open_log(storage, message_format_version="2.8")
    assert [one.offset for one in log.records(0, 99)] == list(range(24)) == list(range(log.log_end_offset))
    assert list(dict.fromkeys(magics(log))) == [0, 1, 2] and magics(log)[-1] == 1
    assert bytes_of(log) == [OF_KAFKA.read_bytes()]
    copy = open_log(MemoryStorage())
    made = [(release, number) for release in (*FORMATS, "0.10.2") for number in (0, 1)]
    for release, codec in made:
        set_format(copy, release)
        at = NOW + 10 * (FORMATS.index(release))
        values = [(at + one, b"k", value, ()) for one, value in enumerate((b"a", b"b", b"c"))]
        copy.append_as_leader(encode_batch(values, compression=codec), 0, NOW)
    for ours, theirs in zip(copy.active.batches(), log.active.batches(), strict=True):
        plain = not theirs.header.compression  # gzip's bytes are another library's
        assert decode_records(ours) == decode_records(theirs) and (not plain or bytes(ours.data) == bytes(theirs.data))
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(OF_KAFKA.read_bytes())
    lines = list(dump_files([str(path)], True, False))
    assert sum("isvalid: true" in line for line in lines) == len(magics(log))
