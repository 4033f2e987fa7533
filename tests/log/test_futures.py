"""Future logs: a copy in another directory, before, within and behind the swap, and what a start makes of them."""

from __future__ import annotations

import pytest

from broker_core.kernel.errors import StorageError
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log import LogConfig, LogManager
from broker_core.log.cleaner import LogCleaner
from broker_core.log.futures import TwoLogs, future_of, is_too_long
from broker_core.log.partition_log import PartitionLog
from tests.log.logs import NOW, Journal, batch, offsets

DIRS = ("a", "b")


def started(storage: MemoryStorage, journal: Journal | None = None, config: LogConfig | None = None) -> LogManager:
    manager = LogManager(storage, DIRS, config or LogConfig(), 1, *([journal.emit] if journal else []))
    manager.load(NOW)
    return manager


def copy(manager: LogManager, n: int = 5) -> tuple[PartitionLog, PartitionLog]:
    """orders-0 with n records in `a`, and all of them in its future log in `b`."""
    current = manager.get_or_create("orders", 0, now_ms=NOW)
    current.append_as_leader(batch(n), 3, NOW)
    current.update_high_watermark(n)
    manager.futures.wish("orders", 0, "b")
    future = manager.futures.create("orders", 0, NOW)
    future.append_as_follower([part.read() for part in current.read(0, 1 << 20, n).slices], NOW)
    return current, future


def test_a_name_of_a_future_directory_leads_to_its_partition() -> None:
    assert future_of(f"a.b-c-0.{'0' * 32}-future") == "a.b-c-0"
    assert future_of("orders-0") is None and future_of("orders-0-future") is None
    assert not is_too_long("x" * 213, 0) and is_too_long("x" * 214, 0), "255 with -0, a dot, 32 digits and -future"


def test_a_swap_renames_the_copy_first_and_then_the_log() -> None:
    storage, journal = MemoryStorage(), Journal()
    manager = started(storage, journal)
    current, future = copy(manager)
    (name,) = [name for name in storage.list("b") if name.endswith("-future")]
    assert name.startswith("orders-0.") and len(name) == len("orders-0.") + 32 + len("-future")
    assert manager.get("orders", 0) is current and manager.all_logs() == [current, future]
    assert manager.futures.replace_current("orders", 0, NOW) is manager.get("orders", 0) is future
    assert future.directory == "b/orders-0" and future.high_watermark == 5 and offsets(future) == [0, 1, 2, 3, 4]
    (name,) = [name for name in storage.list("a") if name.startswith("orders-0")]
    assert name.endswith("-delete")
    assert journal.named("replica_moved") == [
        {"topic": "orders", "partition": 0, "directory": "b", "before": "a", "bytes": future.size_bytes}]
    future.append_as_leader(batch(), 4, NOW)
    assert [log.log_end_offset for log in started(storage).logs()] == [6]
    manager.delete_expired_files(NOW + 60_000)
    assert [name for name in storage.list("a") if name.startswith("orders-0")] == []


def test_a_swap_keeps_the_epochs_in_which_nothing_was_written() -> None:
    manager = started(MemoryStorage())
    current, future = copy(manager)
    current.leader_epochs.assign(5, 5)
    assert future.leader_epochs.end_offset_for(4) == (-1, -1), "a leader would refuse a follower that knows epoch 4"
    manager.futures.replace_current("orders", 0, NOW)
    assert future.leader_epochs.entries == [(3, 0), (5, 5)] and future.leader_epochs.end_offset_for(4) == (3, 5)
    assert manager.storage.read_text("b/orders-0/leader-epoch-checkpoint").split("\n")[2:4] == ["3 0", "5 5"]


def test_a_copy_counts_where_the_fewest_are_looked_for_and_keeps_its_marks_in_its_own_directory() -> None:
    storage = MemoryStorage()
    manager = started(storage)
    _, future = copy(manager)
    assert manager.dir_of(manager.get_or_create("next", 0, now_ms=NOW)) == "a", "one each, the first wins"
    assert manager.dir_of(manager.get_or_create("next", 1, now_ms=NOW)) == "b"
    future.update_high_watermark(3)
    manager.shut_down()
    assert storage.read_text("a/replication-offset-checkpoint").split("\n")[2:4] == ["next 0 0", "orders 0 5"]
    assert storage.read_text("b/replication-offset-checkpoint").split("\n")[2:4] == ["next 1 0", "orders 0 3"]
    assert "orders 0 5" in storage.read_text("b/recovery-point-offset-checkpoint")
    again = started(storage)
    found = again.futures.get("orders", 0)
    assert found is not None and (found.high_watermark, found.log_end_offset) == (3, 5)
    assert again.high_watermark_checkpoint("orders", 0) == 5


def test_a_crash_leaves_both_and_the_next_start_finds_them() -> None:
    storage, journal = MemoryStorage(), Journal()
    copy(started(storage))
    again = started(storage, journal)
    current, future = again.get("orders", 0), again.futures.get("orders", 0)
    assert current is not None and future is not None
    assert (current.directory, again.dir_of(future), future.log_end_offset) == ("a/orders-0", "b", 5)
    assert len(journal.named("log_loaded")) == 1, "the copy is no news of its partition"


@pytest.mark.parametrize("name", ["orders-0", f"orders-0.{'0' * 32}-future"])
def test_two_logs_of_one_kind_stop_the_start(name: str) -> None:
    storage = MemoryStorage()
    for log_dir in DIRS:
        PartitionLog(storage, f"{log_dir}/{name}", "orders", 0, LogConfig(), NOW).append_as_leader(batch(), 0, NOW)
    with pytest.raises(TwoLogs) as caught:
        started(storage)
    assert (caught.value.first, caught.value.second) == (f"a/{name}", f"b/{name}")


class HalfBroken(MemoryStorage):
    """Nothing in `a` can be renamed."""

    def rename(self, old: str, new: str) -> None:
        if old.startswith("a/"):
            raise StorageError(old, "rename", "Input/output error")
        super().rename(old, new)


def test_a_disk_that_fails_between_the_renames_leaves_two_logs() -> None:
    storage = HalfBroken()
    manager = started(storage)
    _, future = copy(manager)
    with pytest.raises(StorageError):
        manager.futures.replace_current("orders", 0, NOW)
    assert manager.get("orders", 0) is future and future.directory == "b/orders-0" and manager.futures.logs() == []
    with pytest.raises(TwoLogs):
        started(storage)


def test_a_wish_is_kept_for_a_log_that_comes_later() -> None:
    manager = started(MemoryStorage())
    manager.futures.wish("orders", 0, "b")
    assert manager.dir_of(manager.get_or_create("orders", 0, now_ms=NOW)) == "b"
    manager.futures.wish("orders", 0, "b")
    assert manager.futures.wished == {}, "it lies there"


def test_deleting_a_partition_takes_its_copy_along() -> None:
    storage = MemoryStorage()
    manager = started(storage)
    copy(manager)
    manager.delete("orders", 0, NOW)
    assert manager.all_logs() == []
    assert all(any(name.startswith("orders-0.") and name.endswith("-delete") for name in storage.list(one)) for one in DIRS)


def test_no_copy_is_made_while_a_directory_is_offline_and_one_that_is_there_goes_with_its_own() -> None:
    manager = started(MemoryStorage())
    current, _ = copy(manager)
    assert manager.fail_directory("b", "test") == [] and manager.futures.logs() == [] and manager.logs() == [current]
    manager.futures.wish("orders", 0, "b")
    with pytest.raises(StorageError, match="may lie there"):
        manager.futures.create("orders", 0, NOW)


def test_a_moving_log_is_not_cleaned_and_takes_its_clean_part_along() -> None:
    storage = MemoryStorage()
    config = LogConfig(cleanup_policy=["compact"], segment_bytes=200, min_cleanable_dirty_ratio=0.0)
    manager = started(storage, config=config)
    log = manager.get_or_create("orders", 0, now_ms=NOW)
    for _ in range(9):
        log.append_as_leader(batch(size=40), 0, NOW)
    log.update_high_watermark(9)
    cleaner = LogCleaner(manager, lambda: 1 << 20, lambda: 0.9)
    work = cleaner.begin(NOW)
    assert work is not None
    manager.futures.wish("orders", 0, "b")
    future = manager.futures.create("orders", 0, NOW)
    assert cleaner.advance(work) and cleaner.last_stats.records_before == 0, "it was under way, and has stopped"
    assert cleaner.dirty_logs(NOW) == []
    log.cleaned_to = 3
    while future.log_end_offset < 9:
        future.append_as_follower([part.read() for part in log.read(future.log_end_offset, 1 << 20, 9).slices], NOW)
    manager.futures.replace_current("orders", 0, NOW)
    assert future.cleaned_to == 3 and "orders 0 3" in storage.read_text("b/cleaner-offset-checkpoint")
    assert [one.log for one in cleaner.dirty_logs(NOW)] == [future]


def test_retention_and_settings_reach_a_copy() -> None:
    manager = started(MemoryStorage())
    _, future = copy(manager)
    manager.update_topic_config("orders", LogConfig(retention_ms=7))
    assert future.config.retention_ms == 7
    future.update_high_watermark(5)
    future.roll(NOW)
    assert manager.run_retention(NOW + 100) >= 1
    assert future.log_start_offset == 5
