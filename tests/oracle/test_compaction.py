"""Apache Kafka's log cleaner and ours make the same of the same segments: batch by batch, gaps and delete horizons included."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import PATIENCE_S, free_ports

from broker_core.drivers.files import DiskStorage
from broker_core.log import LogConfig, PartitionLog
from broker_core.log.checkpoints import CorruptCheckpoint, read_offsets
from broker_core.log.cleaner import parts_of
from broker_core.log.cleaning import clean
from broker_core.log.offset_map import OffsetMap
from broker_core.records import decode_records, iterate_batches
from broker_core.records.filtering import delete_horizon

SETTINGS = {"cleanup.policy": "compact", "segment.bytes": "16384", "min.cleanable.dirty.ratio": "0.1"}
DEDUPE_BYTES = 4 << 20  # Kafka makes the buffer anew at each change of the cleaner's settings: 128 MiB may not fit a small heap twice
TOPICS = {"plain": {}, "gzip": {"compression.type": "gzip"}, "stamped": {"message.timestamp.type": "LogAppendTime"},
          "formats": {}, "formats-gzip": {"compression.type": "gzip"}}
FORMATS = {"0.9.0": 0, "0.10.2": 1, "2.8": 2}
"""The record formats of `formats`, one after the other in the same files; the others are of today."""
OLD = {"inter.broker.protocol.version": "2.8", "log.message.format.version": "2.8"}
"""Without which Kafka writes no format but its own (KIP-724)."""


@pytest.fixture(scope="module")
def directories(require_oracle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """Data before a real broker's cleaner came, and the broker's data directory afterwards."""
    home = tmp_path_factory.mktemp("compaction")
    port = free_ports(3)
    oracle = [sys.executable, str(require_oracle)]
    subprocess.run(
        [*oracle, "up", "zookeeper", "--brokers", "1", "--dir", str(home / "k"), "--port", str(port), "--heap", "256M",
         "--set", "log.cleaner.backoff.ms=600000", "--set", f"log.cleaner.dedupe.buffer.size={DEDUPE_BYTES}",
         *(part for name, value in OLD.items() for part in ("--set", f"{name}={value}"))],
        check=True, capture_output=True, timeout=180,
    )  # fmt: skip
    try:
        data = home / "k" / "broker-1" / "data"
        _produce(f"127.0.0.1:{port + 1}", data)
        for topic in TOPICS:
            shutil.copytree(data / f"{topic}-0", home / "before" / "data" / f"{topic}-0")
        subprocess.run(
            [*oracle, "--zookeeper", "tool", "kafka.admin.ConfigCommand", "--bootstrap-server", f"127.0.0.1:{port + 1}",
             "--entity-type", "brokers", "--entity-default", "--alter", "--add-config", "log.cleaner.backoff.ms=200"],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        deadline = time.monotonic() + PATIENCE_S
        while not {(topic, 0) for topic in TOPICS} <= set(cleaned(data)):
            assert time.monotonic() < deadline, "Kafka's cleaner has not come"
            time.sleep(0.2)
    finally:
        subprocess.run([*oracle, "down", "--dir", str(home / "k"), "--keep"], check=True, capture_output=True, timeout=90)
    yield home / "before", data


def cleaned(data: Path) -> dict[tuple[str, int], int]:
    """How far Kafka's cleaner has come in each log."""
    try:
        found = read_offsets(DiskStorage(data), "cleaner-offset-checkpoint")
    except CorruptCheckpoint:  # not written yet
        return {}
    return found


def _produce(bootstrap: str, data: Path) -> None:
    """Batches of seven records: 40 keys (of a format), one of seven values a tombstone."""
    client = pytest.importorskip("confluent_kafka")
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    while admin.list_topics(timeout=PATIENCE_S).controller_id < 0:  # a broker says "started" before it knows the controller
        time.sleep(0.1)
    new = [NewTopic(topic, 1, 1, config={**SETTINGS, **more}) for topic, more in TOPICS.items()]
    for future in admin.create_topics(new).values():
        future.result(PATIENCE_S)
    choose = random.Random(5)
    for topic in TOPICS:
        is_old = topic.startswith("formats")
        producer = client.Producer({"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": not is_old})
        for release in FORMATS if is_old else ("2.8",):
            _set_format(admin, topic, release)
            _produce_of(producer, topic, data / f"{topic}-0", FORMATS[release], is_old, choose)


def _produce_of(producer: Any, topic: str, directory: Path, magic: int, is_old: bool, choose: random.Random) -> None:
    """So many records behind the moment in which the broker has heard of the format that two segments which a cleaner may
    take are full of it: tombstones are among what it cleans."""
    least, first_key = (1400 // 3 if is_old else 1400), 20 * magic  # half of a format's keys come again in the next one
    number, begun, end = 0, None, 0
    while begun is None or number < begun + least or _segments(directory) < end:
        for _ in range(7):
            value = None if choose.random() < 1 / 7 else b"%d-" % number + b"x" * choose.randrange(60)
            headers = None if is_old else [("h", str(number))]
            producer.produce(topic, value, b"k%d" % choose.randrange(first_key, first_key + 40), 0, headers=headers)
            number += 1
        producer.flush()
        if begun is None and _newest_magic(directory) == magic:
            begun, end = number, _segments(directory) + 2


def _segments(directory: Path) -> int:
    return len(list(directory.glob("*.log")))


def _set_format(admin: Any, topic: str, release: str) -> None:
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    entry = ConfigEntry("message.format.version", release, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(PATIENCE_S)


def _newest_magic(directory: Path) -> int:
    """Of the batch that was written last; a broker hears of a format a moment later."""
    found = [batch.header.magic for path in sorted(directory.glob("*.log")) for batch in iterate_batches(path.read_bytes())]
    return found[-1]


def batches_of(directory: Path) -> list[tuple[str, list[Any]]]:
    """Segment by segment what each batch says; delete horizons are times of the cleaning, so only that they are there."""
    found = []
    for path in sorted(directory.glob("*.log")):
        rows = []
        for batch in iterate_batches(path.read_bytes()):
            header = batch.header
            horizon = delete_horizon(header) is not None
            said = header._replace(crc=0, batch_length=0, base_timestamp=0 if horizon else header.base_timestamp)
            rows.append((said, decode_records(batch)))
        found.append((path.name, rows))
    return found


@pytest.mark.parametrize("topic", list(TOPICS))
def test_the_cleaned_log_is_the_same_batch_by_batch(topic: str, directories: tuple[Path, Path]) -> None:
    before, after = directories
    now_ms = int(time.time() * 1000)
    config = LogConfig.from_strings({**SETTINGS, **TOPICS[topic]})
    log = PartitionLog(DiskStorage(before), f"data/{topic}-0", topic, 0, config, now_ms)
    log.update_high_watermark(log.log_end_offset)
    parts = parts_of(log, now_ms)
    stats = clean(log, OffsetMap(DEDUPE_BYTES, 0.9), parts.first_dirty, parts.first_uncleanable, now_ms)
    log.close()
    assert stats.records_after < 100 < 1000 < stats.records_before
    assert log.cleaned_to == cleaned(after)[topic, 0]
    ours, theirs = batches_of(before / "data" / f"{topic}-0"), batches_of(after / f"{topic}-0")
    assert [name for name, _ in ours] == [name for name, _ in theirs]
    assert ours == theirs
    assert any(header.attributes & 0x40 for _, rows in ours for header, _ in rows)
    if topic.startswith("formats"):
        assert {header.magic for _, rows in ours for header, _ in rows} == {0, 1, 2}
