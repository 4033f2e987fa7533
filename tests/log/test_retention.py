"""Which segments go, when, and what is left of them."""

from __future__ import annotations

import pytest

from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log import OffsetOutOfRange, PartitionLog
from tests.log.logs import DAY, NOW, Journal, batch, open_log

SIZE = len(batch())


def rolled(segments: int, storage: MemoryStorage | None = None, **more: object) -> PartitionLog:
    """One record in each segment, a day apart; the last one is active and was written at `NOW`."""
    log = open_log(storage or MemoryStorage(), segment_bytes=SIZE, **more)
    for number in range(segments):
        log.append_as_leader(batch(timestamp=NOW - (segments - 1 - number) * DAY), 0, NOW)
    log.update_high_watermark(segments)
    return log


def test_time_deletes_what_is_older_and_not_what_is_exactly_as_old() -> None:
    log = rolled(10, retention_ms=3 * DAY)
    assert log.delete_old_segments(NOW) == 6
    assert log.log_start_offset == 6
    assert log.delete_old_segments(NOW + 1) == 1


def test_retention_of_one_day_keeps_an_active_segment_of_five_days() -> None:
    log = open_log(MemoryStorage(), retention_ms=DAY, segment_ms=7 * DAY)
    for day in range(6):
        log.append_as_leader(batch(timestamp=NOW + day * DAY), 0, NOW + day * DAY)
    log.update_high_watermark(6)
    assert log.delete_old_segments(NOW + 5 * DAY) == 0
    assert log.log_start_offset == 0


def test_an_active_segment_that_is_too_old_is_rolled_and_then_deleted() -> None:
    log = rolled(1, retention_ms=DAY)
    assert log.delete_old_segments(NOW + DAY + 1) == 1
    assert (len(log.segments), log.log_start_offset, log.log_end_offset) == (1, 1, 1)
    assert log.delete_old_segments(NOW + 99 * DAY) == 0


@pytest.mark.parametrize(
    ("limit", "gone"), [(0, 5), (SIZE - 1, 4), (SIZE, 4), (2 * SIZE, 3), (2 * SIZE + 1, 2), (9 * SIZE, 0)]
)
def test_size_deletes_as_long_as_the_rest_still_has_the_limit(limit: int, gone: int) -> None:
    assert rolled(5, retention_ms=-1, retention_bytes=limit).delete_old_segments(NOW) == gone


def test_nothing_goes_above_the_high_watermark_or_without_the_delete_policy() -> None:
    log = rolled(5, retention_ms=0)
    log.high_watermark = 2
    assert log.delete_old_segments(NOW + DAY) == 2
    assert rolled(5, retention_ms=0, cleanup_policy=["compact"]).delete_old_segments(NOW + DAY) == 0


def test_delete_records_moves_the_start_and_whole_segments_follow() -> None:
    journal = Journal()
    log = rolled(5, retention_ms=-1, emit=journal.emit)
    assert log.delete_records_before(3)
    assert not log.delete_records_before(3)
    assert len(log.segments) == 5
    assert log.delete_old_segments(NOW) == 3
    assert [event["reason"] for event in journal.named("segment_deleted")] == ["log start offset"] * 3
    with pytest.raises(OffsetOutOfRange):
        log.delete_records_before(6)


def test_deleted_files_wait_for_their_delay_and_a_reader_can_finish() -> None:
    storage = MemoryStorage()
    log = rolled(3, storage, retention_ms=DAY, file_delete_delay_ms=60_000)
    found = log.read(0, 1000, 3)
    assert log.delete_old_segments(NOW) == 1
    assert bytes(found.slices[0].read()) == bytes(found.slices[0].file.read(0, SIZE)) != b""
    names = storage.list("data/orders-0")
    assert "00000000000000000000.log.deleted" in names and "00000000000000000000.log" not in names
    log.delete_expired_files(NOW + 59_999)
    assert storage.list("data/orders-0") == names
    log.delete_expired_files(NOW + 60_000)
    assert not [name for name in storage.list("data/orders-0") if name.endswith(".deleted")]


def test_reading_deletes_nothing() -> None:
    log = rolled(3)
    for _ in range(3):
        log.read(0, 10_000, 3)
    assert log.size_bytes == 3 * SIZE
