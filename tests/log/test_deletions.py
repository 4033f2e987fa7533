"""Much that was deleted in one event goes in slices, each as long as any other."""

from __future__ import annotations

import pytest
from tests.log.logs import NOW, batch

from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log import LogConfig, LogManager

DELAY_MS = LogConfig().file_delete_delay_ms


class CountingStorage(MemoryStorage):
    """Notes how many files each deletion takes."""

    def __init__(self) -> None:
        super().__init__()
        self.gone = 0

    def delete(self, path: str) -> None:
        self.gone += len(self._below(path))
        super().delete(path)


def slices(manager: LogManager, storage: CountingStorage, now_ms: int, most: int) -> list[int]:
    """Files that each slice has removed."""
    found: list[int] = []
    while True:
        storage.gone = 0
        done = manager.delete_expired_files(now_ms, most)
        found.append(storage.gone)
        if done:
            return found


@pytest.fixture
def storage() -> CountingStorage:
    return CountingStorage()


@pytest.fixture
def manager(storage: CountingStorage) -> LogManager:
    found = LogManager(storage, ["data"], LogConfig(segment_bytes=250), 1)
    found.load(NOW)
    return found


def test_a_topic_of_many_partitions_goes_in_slices_and_a_crash_between_two_loses_none(
    manager: LogManager, storage: CountingStorage
) -> None:
    for number in range(100):
        manager.get_or_create("orders", number, now_ms=NOW)
        manager.delete("orders", number, NOW)
    assert slices(manager, storage, NOW + DELAY_MS - 1, 20) == [0]
    assert not manager.delete_expired_files(NOW + DELAY_MS, 20)
    again = LogManager(storage, ["data"], LogConfig(), 1)
    again.load(NOW)
    gone = slices(again, storage, NOW + DELAY_MS, 20)
    assert len(gone) > 5 and max(gone) <= 20 and 0 not in gone
    assert not [name for name in storage.list("data") if name.startswith("orders")] and not again.has_deleted


def test_a_log_of_many_segments_goes_file_by_file_with_its_topic_and_by_retention(
    manager: LogManager, storage: CountingStorage
) -> None:
    for topic in ("kept", "orders"):
        log = manager.get_or_create(topic, 0, now_ms=NOW)
        for _ in range(30):
            log.append_as_leader(batch(size=150), 0, NOW)
        log.update_high_watermark(30)
        if topic == "kept":
            assert log.delete_records_before(30) and log.delete_old_segments(NOW) == 29
    manager.delete("orders", 0, NOW)
    gone = slices(manager, storage, NOW + DELAY_MS, 20)
    assert len(gone) > 5 and max(gone) <= 20
    assert not [name for name in storage.list("data") if name.endswith("-delete")]
    assert not [name for name in storage.list("data/kept-0") if name.endswith(".deleted")]


def test_what_was_cut_off_goes_at_once_too_when_its_delay_is_ended(manager: LogManager, storage: CountingStorage) -> None:
    log = manager.get_or_create("orders", 0, now_ms=NOW)
    for _ in range(4):
        log.append_as_leader(batch(size=150), 0, NOW)
    log.truncate_to(1)
    assert manager.has_deleted
    manager.end_delay_of_deleted()
    assert not manager.has_deleted
    assert manager.delete_expired_files(NOW)
    assert not [name for name in storage.list("data/orders-0") if name.endswith(".deleted")]
