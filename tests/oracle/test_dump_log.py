"""Apache Kafka's DumpLogSegments reads our files, and our dump reads Kafka's, line by line the same."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log import LogConfig, PartitionLog
from broker_core.log import cleaning
from broker_core.log.dump import dump_files
from broker_core.log.offset_map import OffsetMap
from broker_core.metadata.records import text_of
from broker_core.records import encode_batch
from broker_core.records.control import transaction_marker_batch
from broker_core.records.legacy import encode_message_set
from tests.conftest import free_ports

NOW = 1_700_000_000_000
DEEP = ("--deep-iteration", "--print-data-log")
DATA_FILES = (".log", ".index", ".timeindex", ".snapshot", ".txnindex")


@pytest.fixture(scope="module")
def kafka_dump(require_oracle: Path) -> Callable[..., list[str]]:
    """`kafka_dump(files, "--deep-iteration")`: the lines of Kafka's tool, which takes longer to start than to read."""

    def run(paths: Sequence[Path], *options: str, reader: str | None = None) -> list[str]:
        files = ",".join(map(str, paths))
        command = [sys.executable, str(require_oracle), *([reader] if reader else []), "dump-log", files, *options]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert result.returncode == 0, result.stderr
        return result.stdout.splitlines()

    return run


def write_out(storage: MemoryStorage, directory: Path) -> list[Path]:
    """The files of a memory disk as real ones."""
    for name, file in storage.files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(file.read(0, file.size)))
    return sorted(path for path in directory.rglob("*") if path.is_file())


def our_directory(directory: Path) -> list[Path]:
    """A partition with every codec, headers, nulls, transactions, a gap, several segments and epochs."""
    storage = MemoryStorage()
    config = LogConfig(segment_bytes=6000, index_interval_bytes=200)
    log = PartitionLog(storage, "orders-0", "orders", 0, config, NOW)
    headers = (("h", b"1"), ("none", None), ("", b""))
    for number in range(60):
        records = [
            (
                NOW + 10 * number + one,
                None if one % 3 == 0 else b"key",
                None if one == 4 else f"전송 {number}".encode(),
                headers if one == 2 else (),
            )
            for one in range(1 + number % 6)
        ]
        log.append_as_leader(encode_batch(records, compression=number % 5), number // 15, NOW)
    send = {"producer_id": 7, "producer_epoch": 1, "transactional": True}
    log.append_as_leader(encode_batch([(NOW, b"k", b"t", ())] * 3, base_sequence=2**31 - 1, **send), 8, NOW)
    log.append_as_leader(transaction_marker_batch(False, 7, 1, 3, NOW), 8, NOW, origin="coordinator")
    log.append_as_leader(encode_batch([(NOW, b"k", b"t", ())], base_sequence=2, **send), 8, NOW)
    log.config = LogConfig(segment_bytes=6000, message_timestamp_type="LogAppendTime")
    log.append_as_leader(encode_batch([(NOW, b"k", b"late", ())] * 2, compression=2), 9, NOW + 5)
    log.append_as_follower(encode_batch([(NOW, b"k", b"gap", ())], base_offset=log.log_end_offset + 5, leader_epoch=11))
    log.close()
    return write_out(storage, directory)


def old_directory(directory: Path) -> list[Path]:
    """A file of mixed formats: magic 0, 1 and 2, plain and wrapped."""
    storage = MemoryStorage()
    log = PartitionLog(storage, "old-0", "old", 0, LogConfig(), NOW)
    for magic in (0, 1):
        for codec in range(4):
            records = [(NOW + one, b"k", b"old %d" % one, ()) for one in range(4)]
            data = encode_message_set(records, magic, base_offset=log.log_end_offset, compression=codec)
            log.append_as_follower(data)
    for release in ("0.9.0", "0.10.2", "2.8"):
        log.config = LogConfig(message_format_version=release)
        for codec in range(4):
            records = [(NOW + one, b"k", b"old %d" % one, ()) for one in range(4)]
            log.append_as_leader(encode_batch(records, compression=codec), 2, NOW)
    log.close()
    return write_out(storage, directory)


def compacted_directory(directory: Path) -> list[Path]:
    """What the cleaner leaves: gaps within batches of every codec, delete horizons, batches without records."""
    storage = MemoryStorage()
    config = LogConfig(cleanup_policy=["compact"], segment_bytes=1200, index_interval_bytes=200)
    log = PartitionLog(storage, "users-0", "users", 0, config, NOW)
    for number in range(100):
        rows = [(NOW + number, b"%d" % ((number + one) % 9), None if number % 7 == 0 else b"x" * 20, ()) for one in range(4)]
        log.append_as_leader(
            encode_batch(rows, compression=number % 5, producer_id=number % 3, producer_epoch=0, base_sequence=number // 3 * 4), 0, NOW)
    log.append_as_leader(encode_batch([(NOW, b"0", b"last", ())], producer_id=9, producer_epoch=0, base_sequence=0), 0, NOW)
    log.append_as_leader(encode_batch([(NOW, b"%d" % key, b"last", ()) for key in range(9)]), 0, NOW)
    log.roll(NOW)
    log.update_high_watermark(log.log_end_offset)
    cleaning.clean(log, OffsetMap(1 << 20, 0.9), 0, log.active.base_offset, NOW)
    log.close()
    return [path for path in write_out(storage, directory) if not path.name.endswith(".deleted")]


@pytest.mark.parametrize("build", [our_directory, old_directory, compacted_directory])
def test_kafka_reads_every_line_of_our_files_as_we_do(
    build: Callable[[Path], list[Path]], tmp_path: Path, kafka_dump: Callable[..., list[str]]
) -> None:
    files = [path for path in build(tmp_path) if path.suffix in DATA_FILES]
    without = set() if build is our_directory else {".txnindex"}
    assert {path.suffix for path in files} == set(DATA_FILES) - without
    assert kafka_dump(files, *DEEP) == list(dump_files([str(path) for path in files], True, False))


def test_kafka_finds_our_indexes_sane(tmp_path: Path, kafka_dump: Callable[..., list[str]]) -> None:
    paths = [path for path in our_directory(tmp_path) if path.suffix in (".index", ".timeindex")]
    empty, sane = [f"{path} is empty." for path in paths], [f"{path} passed sanity check." for path in paths]
    told = [line for line in kafka_dump(paths, "--index-sanity-check") if not line.startswith("Dumping ")]
    assert len(told) == len(paths) > 2 and set(told) <= {*empty, *sane}
    assert set(told) & set(sane), "an index that is not empty"
    told = kafka_dump(paths, "--verify-index-only")
    assert [line for line in told if line not in empty] == [f"Dumping {path}" for path in paths]


def test_the_3_9_reader_agrees(tmp_path: Path, kafka_dump: Callable[..., list[str]]) -> None:
    (path,) = [path for path in old_directory(tmp_path) if path.suffix == ".log"]
    lines = kafka_dump([path], *DEEP, reader="--zookeeper")
    assert lines == list(dump_files([str(path)], True, False))


def snapshots_of(data: Path) -> list[Path]:
    return sorted((data / "__cluster_metadata-0").glob("*.checkpoint"))


@pytest.fixture(scope="module")
def kafka_directory(
    require_oracle: Path, require_program: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The data directory of a real broker, after kcat has produced plain and compressed batches."""
    kcat = require_program("kcat")
    directory = tmp_path_factory.mktemp("kafka")
    port = free_ports(3)
    oracle = [sys.executable, str(require_oracle)]
    up = [*oracle, "up", "newest", "--brokers", "1", "--dir", str(directory / "k"), "--port", str(port)]
    up += ["--set", "metadata.log.max.snapshot.interval.ms=3000"]
    subprocess.run([*up, "--heap", "256M"], check=True, capture_output=True, timeout=180)
    try:
        for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
            text = "".join(f"k{number}:{codec} value {number}\n" for number in range(50))
            options = ["-P", "-b", f"127.0.0.1:{port + 1}", "-t", "orders", "-K", ":", "-z", codec, "-H", "a=b"]
            options += ["-X", "linger.ms=1000"]  # one batch: a record alone does not get smaller, and stays as it is
            subprocess.run([kcat, *options], input=text, text=True, check=True, capture_output=True, timeout=60)
        deadline = time.monotonic() + 60
        while len(snapshots_of(directory / "k" / "broker-1" / "data")) < 2:
            assert time.monotonic() < deadline, "no snapshot beside the first"
            time.sleep(0.2)
    finally:
        down = [*oracle, "down", "--dir", str(directory / "k"), "--keep"]
        subprocess.run(down, check=True, capture_output=True, timeout=90)
    yield directory / "k" / "broker-1" / "data"


def test_our_dump_reads_what_a_real_broker_wrote(kafka_directory: Path, kafka_dump: Callable[..., list[str]]) -> None:
    partitions = sorted(kafka_directory.glob("orders-*"))
    paths = sorted(path for one in partitions for path in one.iterdir() if path.suffix in DATA_FILES)
    files = [str(path) for path in paths]
    assert list(dump_files(files, True, False)) == kafka_dump(paths, *DEEP)
    seen = {json.loads(line).get("compresscodec", "") for line in dump_files(files, False, True)}
    assert seen >= {"none", "gzip", "snappy", "lz4", "zstd"}


def test_our_dump_reads_the_metadata_log_and_the_snapshots_of_a_real_controller(
    kafka_directory: Path, require_oracle: Path
) -> None:
    log = kafka_directory / "__cluster_metadata-0" / "00000000000000000000.log"
    files = [str(path) for path in (log, *snapshots_of(kafka_directory))]
    tool = [sys.executable, str(require_oracle), "--newest", "tool", "org.apache.kafka.tools.DumpLogSegments"]
    options = ["--deep-iteration", "--cluster-metadata-decoder", "--files", ",".join(files)]
    result = subprocess.run([*tool, *options], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    ours = list(dump_files(files, True, False, decode=text_of))
    assert ours == result.stdout.splitlines() and len(files) >= 3
    assert sum("REGISTER_BROKER_RECORD" in line for line in ours) >= 2


def test_our_log_opens_what_a_real_broker_wrote(kafka_directory: Path) -> None:
    total = 0
    for partition in sorted(kafka_directory.glob("orders-*")):
        storage = MemoryStorage()
        for path in partition.iterdir():
            storage.open(f"orders-0/{path.name}").append((path.read_bytes(),))
        for clean in (True, False):
            log = PartitionLog(storage, "orders-0", "orders", 0, LogConfig(), NOW, clean=clean)
            records = list(log.records(0, log.log_end_offset))
            assert [record.offset for record in records] == list(range(log.log_end_offset))
            assert all(record.headers == (("a", b"b"),) for record in records)
        assert log.leader_epochs.latest_epoch >= 0 and log.topic_id.int != 0
        total += len(records)
    assert total == 250
