"""Log directories: placement, checkpoints, a clean and an unclean stop, deletion, failing disks."""

from __future__ import annotations

import os
import random
import uuid
from pathlib import Path

import pytest

from broker_core.drivers.files import DiskStorage
from broker_core.kernel.errors import StorageError
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log import InvalidConfig, LogConfig, LogManager
from broker_core.log import checkpoints
from broker_core.log.loading import MOST_LOGS
from broker_core.log.log_manager import partition_of
from broker_core.records.batch import decode_records, encode_batch
from broker_core.records.compression import BY_NAME
from broker_core.records.validate import validate_batches
from tests.log.logs import NOW, Journal, batch, offsets

TOPIC_ID = uuid.UUID(int=0x1234)


def started(storage: MemoryStorage, dirs: tuple[str, ...] = ("disk-a", "disk-b"), **more: object) -> LogManager:
    manager = LogManager(storage, dirs, LogConfig(), 1, **more)  # type: ignore[arg-type]
    manager.load(NOW)
    return manager


def test_a_new_partition_goes_where_the_fewest_are_by_count() -> None:
    manager = started(MemoryStorage())
    for number in range(5):
        log = manager.get_or_create("orders", number, topic_id=TOPIC_ID, now_ms=NOW)
        if number % 2 == 0:
            log.append_as_leader(batch(size=10_000), 0, NOW)
    assert [manager.dir_of(log) for log in manager.logs()] == ["disk-a", "disk-b"] * 2 + ["disk-a"]
    assert manager.get("orders", 4) is manager.get_or_create("orders", 4)
    assert manager.get("orders", 5) is None


def test_a_new_partition_asks_little_of_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic of a thousand is made in one event: a thousand times this."""
    storage = DiskStorage(tmp_path)
    manager = LogManager(storage, ("disk-a",), LogConfig(), 1)
    manager.load(NOW)
    manager.get_or_create("orders", 0, topic_id=TOPIC_ID, now_ms=NOW)
    asked: list[str] = []
    for name in ("listdir", "mkdir", "stat", "open", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *given, name=name, real=real, **more: (asked.append(name), real(*given, **more))[1])
    manager.get_or_create("orders", 1, topic_id=TOPIC_ID, now_ms=NOW)
    monkeypatch.undo()
    storage.close()
    assert {name: asked.count(name) for name in asked} == {"listdir": 2, "mkdir": 1, "stat": 7, "open": 4, "replace": 1}


def test_a_clean_stop_is_told_from_a_crash() -> None:
    storage = MemoryStorage()
    manager = started(storage)
    log = manager.get_or_create("orders", 0, topic_id=TOPIC_ID, now_ms=NOW)
    log.append_as_leader(batch(5), 3, NOW)
    log.update_high_watermark(4)
    manager.shut_down()
    assert storage.exists("disk-a/.kafka_cleanshutdown")
    storage.power_loss()
    journal = Journal()
    again = started(storage, emit=journal.emit)
    assert again.clean and journal.named("log_loaded")[0]["clean"]
    assert not storage.exists("disk-a/.kafka_cleanshutdown")
    found = again.get("orders", 0)
    assert found is not None and offsets(found) == [0, 1, 2, 3, 4] and found.topic_id == TOPIC_ID
    assert again.high_watermark_checkpoint("orders", 0) == 4
    assert again.high_watermark_checkpoint("orders", 7) == 0
    assert not started(storage).clean


def test_the_epoch_of_the_broker_is_known_after_a_clean_stop_of_all_directories_only() -> None:
    """KIP-966: what a KRaft broker tells when it registers."""
    storage = MemoryStorage()
    assert started(storage).previous_broker_epoch == -1
    started(storage).shut_down(17)
    assert started(storage).previous_broker_epoch == 17
    assert started(storage).previous_broker_epoch == -1, "a crash"
    started(storage).shut_down(18)
    storage.delete("disk-b/.kafka_cleanshutdown")
    assert started(storage).previous_broker_epoch == -1, "one directory was not stopped with the other"
    started(storage).shut_down()
    assert started(storage).previous_broker_epoch == -1, "ZooKeeper's generation"


def test_checkpoint_files_are_kafkas() -> None:
    storage = MemoryStorage()
    manager = started(storage, ("d",))
    for number in (10, 2):
        log = manager.get_or_create("orders", number, now_ms=NOW)
        log.append_as_leader(batch(number), 0, NOW)
        log.update_high_watermark(number - 1)
        log.delete_records_before(1)
    manager.checkpointing.everything()
    assert storage.read_text("d/replication-offset-checkpoint") == "0\n2\norders 2 1\norders 10 9\n"
    assert storage.read_text("d/log-start-offset-checkpoint") == "0\n2\norders 2 1\norders 10 1\n"
    assert storage.read_text("d/recovery-point-offset-checkpoint") == "0\n2\norders 2 0\norders 10 0\n"
    assert [log.log_start_offset for log in started(storage, ("d",)).logs()] == [1, 1]


def test_damaged_checkpoints_cost_a_scan_and_no_data() -> None:
    storage = MemoryStorage()
    manager = started(storage, ("d",))
    manager.get_or_create("orders", 0, now_ms=NOW).append_as_leader(batch(3), 0, NOW)
    manager.checkpointing.everything()
    for text in ("", "7\n0\n", "0\n2\norders 0 1\n", "0\n1\norders 0\n", "0\n1\norders 0 x\n"):
        storage.write_text("d/recovery-point-offset-checkpoint", text)
        assert [offsets(log) for log in started(storage, ("d",)).logs()] == [[0, 1, 2]]


@pytest.mark.parametrize("name", [checkpoints.CLEANER_OFFSETS, checkpoints.HIGH_WATERMARKS, checkpoints.LOG_STARTS])
def test_a_checkpoint_without_a_byte_has_no_entries(name: str) -> None:
    """A broker of Apache Kafka that never cleaned leaves an empty `cleaner-offset-checkpoint`."""
    storage = MemoryStorage()
    manager = started(storage, ("disk-a",))
    manager.get_or_create("orders", 0, topic_id=TOPIC_ID, now_ms=NOW).append_as_leader(batch(5), 0, NOW)
    manager.shut_down()
    storage.write_text(f"disk-a/{name}", "")
    again = started(storage, ("disk-a",))
    assert not again.offline_dirs and [offsets(log) for log in again.logs()] == [[0, 1, 2, 3, 4]]


def test_a_deleted_partition_is_gone_at_once_and_its_files_later() -> None:
    storage = MemoryStorage()
    manager = started(storage, ("d",))
    manager.get_or_create("orders", 0, now_ms=NOW).append_as_leader(batch(), 0, NOW)
    manager.delete("orders", 0, NOW)
    assert manager.get("orders", 0) is None
    (name,) = [name for name in storage.list("d") if name.endswith("-delete")]
    assert name.startswith("orders-0.") and len(name) == len("orders-0.") + 32 + len("-delete")
    manager.get_or_create("orders", 0, now_ms=NOW)
    again = started(storage, ("d",))
    assert [log.log_end_offset for log in again.logs()] == [0]
    for one in (manager, again):
        one.delete_expired_files(NOW + 60_000)
    assert not [name for name in storage.list("d") if name.endswith("-delete")]


def test_a_failing_directory_takes_only_its_own_logs() -> None:
    journal = Journal()
    manager = started(MemoryStorage(), emit=journal.emit)
    for number in range(4):
        manager.get_or_create("orders", number, now_ms=NOW)
    assert manager.fail_directory("disk-a", "I/O error") == [("orders", 0), ("orders", 2)]
    assert [log.partition for log in manager.logs()] == [1, 3]
    assert manager.dir_of(manager.get_or_create("new", 0, now_ms=NOW)) == "disk-b"
    manager.fail_directory("disk-b", "I/O error")
    with pytest.raises(StorageError):
        manager.get_or_create("new", 1, now_ms=NOW)


def test_flush_settings_move_the_recovery_point() -> None:
    manager = started(MemoryStorage(), ("d",))
    log = manager.get_or_create("a", 0, LogConfig(flush_messages=5), now_ms=NOW)
    log.append_as_leader(batch(4), 0, NOW)
    assert log.recovery_point == 0 and manager.run_flush(NOW) == 0
    log.append_as_leader(batch(1), 0, NOW)
    assert log.recovery_point == 5 == log.log_end_offset and manager.run_flush(NOW) == 0
    timed = manager.get_or_create("b", 0, LogConfig(flush_ms=1000), now_ms=NOW)
    timed.append_as_leader(batch(1), 0, NOW)
    assert manager.run_flush(NOW + 999) == 0
    assert manager.run_flush(NOW + 1000) == 1
    finished = manager.get_or_create("c", 0, LogConfig(segment_bytes=100), now_ms=NOW)
    for _ in range(3):
        finished.append_as_leader(batch(1), 0, NOW)
    assert manager.run_flush(NOW) == 1 and finished.recovery_point == 2


def test_settings_change_live() -> None:
    manager = started(MemoryStorage(), ("d",))
    log = manager.get_or_create("a", 0, LogConfig(), now_ms=NOW)
    other = manager.get_or_create("b", 0, now_ms=NOW)
    manager.update_topic_config("a", LogConfig.from_strings({"max.message.bytes": "10"}))
    assert log.rules.max_message_bytes == 10 and other.rules.max_message_bytes == 1048588
    manager.update_default_config(LogConfig(retention_ms=5))
    assert other.config.retention_ms == 5 and log.config.retention_ms == 604_800_000


def test_settings_are_read_by_their_kafka_names() -> None:
    config = LogConfig.from_strings(
        {"segment.bytes": "1024", "cleanup.policy": "compact,delete", "preallocate": "true", "compression.type": "zstd"}
    )
    assert (config.segment_bytes, config.is_compacted, config.preallocate) == (1024, True, True)
    assert config.validation_rules().compression == 4
    assert LogConfig.from_strings({"segment.ms": "5"}, config).segment_bytes == 1024
    for name, value in (
        ("log.retention.hours", "1"), ("segment_bytes", "20"), ("segment.bytes", "x"), ("segment.bytes", "13"),
        ("cleanup.policy", "shred"), ("compression.type", "rar"), ("message.timestamp.type", "Now"),
        ("min.cleanable.dirty.ratio", "2"), ("preallocate", "maybe"), ("min.insync.replicas", "0"),
    ):  # fmt: skip
        with pytest.raises(InvalidConfig):
            LogConfig.from_strings({name: value})


@pytest.mark.parametrize(("codec", "least", "most"), [("gzip", "1", "9"), ("lz4", "3", "12"), ("zstd", "-50", "19")])
def test_the_level_of_a_topic_counts_where_the_broker_compresses(codec: str, least: str, most: str) -> None:
    """KIP-390."""
    draw = random.Random(1)
    phrases = [f"order {draw.randrange(1000)} of customer {draw.randrange(1000)}; ".encode() for _ in range(300)]
    records = [(NOW, None, b"".join(draw.choices(phrases, k=20)), ()) for _ in range(200)]

    def stored(**configs: str) -> bytes:
        rules = LogConfig.from_strings({"compression.type": codec} | configs).validation_rules()
        return bytes(validate_batches(encode_batch(records), rules, NOW).buffer)

    level = f"compression.{codec}.level"
    loose, tight = stored(**{level: least}), stored(**{level: most})
    assert len(tight) < len(loose) and decode_records(tight) == decode_records(loose)
    assert stored() == bytes(encode_batch(records, compression=BY_NAME[codec]))


def test_the_older_difference_of_timestamps_counts_where_the_newer_bound_has_its_default() -> None:
    """KIP-937."""
    rules = LogConfig.from_strings({"message.timestamp.difference.max.ms": "50"}).validation_rules()
    assert (rules.before_max_ms, rules.after_max_ms) == (50, 50)
    both = {"message.timestamp.difference.max.ms": "50", "message.timestamp.before.max.ms": "7"}
    rules = LogConfig.from_strings(both).validation_rules()
    assert (rules.before_max_ms, rules.after_max_ms) == (7, 50)


def test_directory_names_are_told_apart() -> None:
    assert partition_of("a-b-12") == ("a-b", 12)
    assert [partition_of(name) for name in ("meta.properties", "a-", "-1", "a-1x", "x")] == [None] * 5


def test_meta_properties_and_topic_id_come_back() -> None:
    storage = MemoryStorage()
    assert checkpoints.read_meta_properties(storage, "d") == {}
    checkpoints.write_meta_properties(storage, "d", {"version": "0", "broker.id": "1001", "cluster.id": "x=y"})
    assert checkpoints.read_meta_properties(storage, "d") == {"version": "0", "broker.id": "1001", "cluster.id": "x=y"}
    checkpoints.write_topic_id(storage, "d/partition.metadata", TOPIC_ID)
    assert checkpoints.read_topic_id(storage, "d/partition.metadata") == TOPIC_ID
    assert storage.read_text("d/partition.metadata") == "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAASNA"


def test_logs_are_opened_in_slices_of_what_has_to_be_checked() -> None:
    storage = MemoryStorage()
    manager = started(storage)
    for number in range(6):
        manager.get_or_create("orders", number, now_ms=NOW).append_as_leader(batch(5, size=1000), 0, NOW)
    again = LogManager(storage, ["disk-a", "disk-b"], LogConfig(), 1)
    loading = again.begin_loading(NOW)
    steps = []
    while not loading.advance(8_000):
        steps.append(loading.opened)
    assert steps == [2, 4] + [6] * (steps[-1] == 6) and loading.opened == loading.total == 6 and not again.clean
    assert [offsets(log) for log in again.logs()] == [[0, 1, 2, 3, 4]] * 6
    again.shut_down()
    clean = LogManager(storage, ["disk-a", "disk-b"], LogConfig(), 1)
    assert clean.begin_loading(NOW).advance(1) and clean.clean, "nothing has to be checked"


def test_many_logs_are_opened_in_slices_though_nothing_has_to_be_checked() -> None:
    storage = MemoryStorage()
    manager = started(storage)
    for number in range(2 * MOST_LOGS + 1):
        manager.get_or_create("orders", number, now_ms=NOW)
    manager.shut_down()
    loading = LogManager(storage, ["disk-a", "disk-b"], LogConfig(), 1).begin_loading(NOW)
    opened = []
    while not loading.advance(1 << 30):
        opened.append(loading.opened)
    assert opened == [MOST_LOGS, 2 * MOST_LOGS] and loading.opened == 2 * MOST_LOGS + 1
