"""Transactions that a real Kafka has written: our log has the same last stable offset, aborted ranges and producers, and rebuilds
Kafka's `.txnindex` byte for byte."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import free_ports
from tests.oracle.asking import Connection

from broker_core.clients.fetched import Fetched
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log import LogConfig, PartitionLog
from broker_core.log.dump import dump_files
from broker_core.log.producer_snapshot import decode_snapshot
from broker_core.log.producers import ProducerEntry
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey

NOW = 1_700_000_000_000
CONFIG = LogConfig(segment_bytes=1 << 20, index_interval_bytes=500)
ASKED = [(offset, size) for offset in range(0, 108, 5) for size in (1, 70_000, 400_000)]


@dataclass
class Kafka:
    """The files of `sales-0`, and what the broker said: fetch -> (last stable offset, aborted); producers."""

    directory: Path
    fetched: dict[tuple[int, int], tuple[int, list[tuple[int, int]]]] = field(default_factory=dict)
    producers: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    read: list[int] = field(default_factory=list)


@pytest.fixture(scope="module")
def kafka(require_oracle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    home, port = tmp_path_factory.mktemp("transactions"), free_ports(3)
    oracle = [sys.executable, str(require_oracle)]
    up = [*oracle, "up", "newest", "--brokers", "1", "--dir", str(home / "k"), "--port", str(port), "--heap", "256M"]
    subprocess.run(up, check=True, capture_output=True, timeout=180)
    found = Kafka(home / "k" / "broker-1" / "data" / "sales-0")
    try:
        _load(f"127.0.0.1:{port + 1}", found)
        _ask(f"127.0.0.1:{port + 1}", found)
    finally:
        down = [*oracle, "down", "--dir", str(home / "k"), "--keep"]
        subprocess.run(down, check=True, capture_output=True, timeout=90)
    yield found


def _load(address: str, found: Kafka) -> None:
    """Two transactional producers and a plain one in turns, over three segments; one transaction stays open."""
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient, NewTopic

    settings = {"segment.bytes": "1048576", "index.interval.bytes": "500"}
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic("sales", 1, 1, config=settings)])["sales"].result(30)
    one, two = (
        Producer({"bootstrap.servers": address, "transactional.id": name, "transaction.timeout.ms": 600_000})
        for name in ("one", "two")
    )
    plain = Producer({"bootstrap.servers": address})
    for producer in (one, two):
        producer.init_transactions(60)

    def send(producer: Any, count: int) -> None:
        for _ in range(count):
            producer.produce("sales", key=b"k", value=b"x" * 30_000, partition=0)
            producer.flush(20)

    for turn in range(8):
        one.begin_transaction()
        send(one, 3)
        two.begin_transaction()
        send(two, 2)
        send(one, 2)
        send(plain, 2)
        (one.abort_transaction if turn % 3 else one.commit_transaction)(30)
        send(two, 2)
        (two.abort_transaction if turn % 2 else two.commit_transaction)(30)
    one.begin_transaction()
    send(one, 2)
    send(plain, 2)
    reader = Consumer({"bootstrap.servers": address, "group.id": "g", "isolation.level": "read_committed",
                       "enable.partition.eof": True})  # fmt: skip
    reader.assign([TopicPartition("sales", 0, 0)])
    while (message := reader.poll(20)) is not None and not message.error():
        found.read.append(message.offset())
    reader.close()


def _ask(address: str, found: Kafka) -> None:
    connection = Connection(address, 30)
    for offset, size in ASKED:
        part = m.FetchRequest.FetchPartition(
            partition=0, fetch_offset=offset, partition_max_bytes=size, current_leader_epoch=-1, last_fetched_epoch=-1
        )
        topic = m.FetchRequest.FetchTopic(topic="sales", partitions=[part])
        request = m.FetchRequest(
            replica_id=-1, max_wait=0, min_bytes=1, max_bytes=size, isolation_level=1, topics=[topic]
        )
        data = connection.ask(ApiKey.FETCH, 12, request).responses[0].partitions[0]
        aborted = [(one.producer_id, one.first_offset) for one in data.aborted_transactions]
        found.fetched[offset, size] = data.last_stable_offset, aborted
    asked = m.DescribeProducersRequest.TopicRequest(name="sales", partition_indexes=[0])
    answer = connection.ask(ApiKey.DESCRIBE_PRODUCERS, 0, m.DescribeProducersRequest(topics=[asked]))
    found.producers = sorted(
        (one.producer_id, one.producer_epoch, one.last_sequence, one.coordinator_epoch, one.current_txn_start_offset)
        for one in answer.topics[0].partitions[0].active_producers
    )
    connection.close()


def opened(kafka: Kafka, clean: bool, *without: str) -> PartitionLog:
    storage = MemoryStorage()
    for path in kafka.directory.iterdir():
        if path.suffix not in without:
            storage.open(f"sales-0/{path.name}").append((path.read_bytes(),))
    log = PartitionLog(storage, "sales-0", "sales", 0, CONFIG, NOW, clean=clean)
    log.update_high_watermark(log.log_end_offset)
    return log


def facts(entry: ProducerEntry) -> tuple[Any, ...]:
    return (
        entry.producer_id, entry.epoch, entry.last_sequence, entry.last_offset, entry.last_timestamp,
        entry.coordinator_epoch, entry.transaction_start,
    )  # fmt: skip


@pytest.mark.parametrize("clean", [True, False])
def test_fetches_of_kafkas_files_tell_the_same(kafka: Kafka, clean: bool) -> None:
    log = opened(kafka, clean)
    assert len(log.segments) == 3 and log.last_stable_offset < log.log_end_offset
    for (offset, size), said in kafka.fetched.items():
        stable = log.last_stable_offset
        read = log.read(offset, size, stable)
        aborted = [one[:2] for one in log.aborted_in(offset, read, size)]
        assert (stable, aborted) == said, (offset, size)
    assert any(aborted for _, aborted in kafka.fetched.values())


def test_our_consumer_hands_out_what_librdkafka_did(kafka: Kafka) -> None:
    log = opened(kafka, True)
    taken, offset = [], 0
    while offset < log.last_stable_offset:
        read = log.read(offset, 100_000, log.last_stable_offset)
        data = b"".join(part.read() for part in read.slices)
        aborted = [(one.first_offset, one.producer_id) for one in log.aborted_in(offset, read, 100_000)]
        taken += [record.offset for record in Fetched(("sales", 0), data, aborted=aborted).take(offset, 1000)]
        offset = read.next_offset
    assert taken == kafka.read and len(taken) > 40


def test_indexes_and_producers_are_rebuilt_as_kafka_wrote_them(kafka: Kafka) -> None:
    log = opened(kafka, False, ".txnindex", ".snapshot")
    indexes = sorted(kafka.directory.glob("*.txnindex"))
    assert len(indexes) == 3
    for path in indexes:
        file = log.storage.open(f"sales-0/{path.name}")
        assert bytes(file.read(0, file.size)) == path.read_bytes()
    entries = list(log.producers.entries.values())
    said = sorted((e.producer_id, e.epoch, e.last_sequence, e.coordinator_epoch, -1 if e.transaction_start is None
                   else e.transaction_start) for e in entries)  # fmt: skip
    assert said == kafka.producers and any(start >= 0 for *_, start in said)
    snapshots = sorted(kafka.directory.glob("*.snapshot"))
    for path in snapshots:
        before = opened(kafka, False, ".txnindex", ".snapshot")
        before.truncate_to(int(path.stem))
        kafkas = sorted(map(facts, decode_snapshot(path.read_bytes())))
        assert sorted(map(facts, before.producers.entries.values())) == kafkas, path.name


def test_kafkas_tool_and_ours_print_the_same_of_its_indexes(kafka: Kafka, require_oracle: Path) -> None:
    paths = [str(path) for path in sorted(kafka.directory.iterdir()) if path.suffix in (".txnindex", ".snapshot")]
    command = [sys.executable, str(require_oracle), "dump-log", ",".join(paths)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == list(dump_files(paths, True, False))
