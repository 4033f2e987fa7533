"""Kafka's log cleaner and retention, and ours, make the same of segments with transactions: batch by batch, `.txnindex` included.

A log is cleaned three times: aborted records go, then their markers get a delete horizon, then markers go whose time has come.
One transaction is open at first, and nothing of it or behind it is cleaned. (3.9 differs in one batch: it does not keep the last
one of a round when nothing of it is left, which 4.x does, and ours in both generations.)
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType
from tests.conftest import PATIENCE_S, free_ports
from tests.oracle.test_compaction import DEDUPE_BYTES, SETTINGS, batches_of, cleaned

from broker_core.drivers.files import DiskStorage
from broker_core.log import LogConfig, PartitionLog
from broker_core.log.cleaner import parts_of
from broker_core.log.cleaning import clean
from broker_core.log.offset_map import OffsetMap
from broker_core.log.retention import delete_old_segments

SMALL = {"internal.segment.bytes": "16384"}
"""4.x lets nobody ask for a segment below 1 MiB but its own tests."""
COMPACTED = {name: value for name, value in SETTINGS.items() if name != "segment.bytes"} | {"delete.retention.ms": "1000"}
TOPICS = {"cleaned": {**COMPACTED, **SMALL}, "kept": SMALL}
KEPT_BYTES = 30_000
STEADY = 6  # looks, a tenth of a second apart
PAUSE, AT_ONCE = "600000", "200"
"""Milliseconds between two looks of Kafka's cleaner."""


@dataclass
class Stage:
    """Kafka's data before and after its cleaner came, and how far it had come."""

    before: Path
    after: Path
    began: int
    came: int


@dataclass
class Kafka:
    stages: list[Stage]
    kept: Stage


class Broker:
    """A real broker whose cleaner comes when it is told to."""

    def __init__(self, bootstrap: str, data: Path, home: Path) -> None:
        self.bootstrap = bootstrap
        self.data = data
        self.home = home
        self.admin = AdminClient({"bootstrap.servers": bootstrap})
        while self.admin.list_topics(timeout=PATIENCE_S).controller_id < 0:
            time.sleep(0.1)
        new = [NewTopic(topic, 1, 1, config=config) for topic, config in TOPICS.items()]
        for future in self.admin.create_topics(new).values():
            future.result(PATIENCE_S)
        timeout = {"bootstrap.servers": bootstrap, "transaction.timeout.ms": 600_000}
        self.one, self.two, self.open = (Producer({**timeout, "transactional.id": name}) for name in ("one", "two", "open"))
        for producer in (self.one, self.two, self.open):
            producer.init_transactions(PATIENCE_S)

    def alter(self, kind: Any, name: str, setting: str, value: str) -> None:
        entry = ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
        (future,) = self.admin.incremental_alter_configs([ConfigResource(kind, name, incremental_configs=[entry])]).values()
        future.result(PATIENCE_S)

    def write(self, topic: str, turns: int) -> None:
        """Two transactions at a time, of which one lasts longer; they end in every combination."""
        for turn in range(turns):
            self.one.begin_transaction()
            self.two.begin_transaction()
            for number in range(3):
                for producer in (self.one, self.two):
                    for key in range(2):
                        value = None if (turn + number) % 5 == 0 else b"%d" % turn + b"x" * (40 * key)
                        producer.produce(topic, value, b"k%d" % ((turn * 3 + number * 2 + key) % 17), 0)
                    assert producer.flush(PATIENCE_S) == 0
            (self.one.abort_transaction if turn % 2 else self.one.commit_transaction)(PATIENCE_S)
            self.two.produce(topic, b"late", b"late", 0)
            (self.two.abort_transaction if turn % 3 else self.two.commit_transaction)(PATIENCE_S)

    def settle(self, topic: str) -> None:
        """A commit is answered before its markers are written: until nothing has come for half a second."""
        sizes: list[int] = []
        deadline = time.monotonic() + PATIENCE_S
        while len(sizes) < STEADY or len(set(sizes[-STEADY:])) > 1:
            assert time.monotonic() < deadline, f"{topic} does not come to rest"
            sizes.append(sum(path.stat().st_size for path in (self.data / f"{topic}-0").glob("*.log")))
            time.sleep(0.1)

    def copy(self, topic: str, name: str) -> Path:
        where = self.home / name / "data"
        shutil.copytree(self.data / f"{topic}-0", where / f"{topic}-0")
        return where.parent

    def come(self, name: str) -> Stage:
        """One pass of the cleaner."""
        began = cleaned(self.data).get(("cleaned", 0), 0)
        self.settle("cleaned")
        before = self.copy("cleaned", f"{name}-before")
        self.alter(ResourceType.BROKER, "1", "log.cleaner.backoff.ms", AT_ONCE)
        deadline = time.monotonic() + PATIENCE_S
        while (came := cleaned(self.data).get(("cleaned", 0), 0)) <= began:
            assert time.monotonic() < deadline, "Kafka's cleaner has not come"
            time.sleep(0.1)
        self.alter(ResourceType.BROKER, "1", "log.cleaner.backoff.ms", PAUSE)
        return Stage(before, self.copy("cleaned", f"{name}-after"), began, came)

    def retain(self) -> Stage:
        """Segments go by size."""
        self.settle("kept")
        before = self.copy("kept", "kept-before")
        segments = len(list((self.data / "kept-0").glob("*.log")))
        self.alter(ResourceType.TOPIC, "kept", "retention.bytes", str(KEPT_BYTES))
        deadline = time.monotonic() + PATIENCE_S
        while len(list((self.data / "kept-0").glob("*.log"))) == segments:
            assert time.monotonic() < deadline, "Kafka has deleted nothing"
            time.sleep(0.1)
        return Stage(before, self.copy("kept", "kept-after"), 0, 0)


@pytest.fixture(scope="module")
def kafka(require_oracle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    home, port = tmp_path_factory.mktemp("transactional-cleaning"), free_ports(202)
    oracle = [sys.executable, str(require_oracle)]
    settings = {"log.cleaner.backoff.ms": PAUSE, "log.cleaner.dedupe.buffer.size": str(DEDUPE_BYTES),
                "log.retention.check.interval.ms": "300", "log.initial.task.delay.ms": "1000"}  # fmt: skip
    told = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    up = [*oracle, "up", "newest", "--brokers", "1", "--dir", str(home / "k"), "--port", str(port), "--heap", "256M", *told]
    subprocess.run(up, check=True, capture_output=True, timeout=180)
    try:
        broker = Broker(f"127.0.0.1:{port + 1}", home / "k" / "broker-1" / "data", home)
        broker.write("kept", 60)
        broker.write("cleaned", 50)
        broker.open.begin_transaction()
        broker.open.produce("cleaned", b"open", b"k1", 0)
        assert broker.open.flush(PATIENCE_S) == 0
        broker.write("cleaned", 40)
        stages = [broker.come("first")]
        kept = broker.retain()
        broker.open.commit_transaction(PATIENCE_S)
        broker.write("cleaned", 40)
        time.sleep(1.1)  # (delete horizons of the first pass)
        stages.append(broker.come("second"))
        broker.write("cleaned", 40)
        time.sleep(1.1)
        stages.append(broker.come("third"))
    finally:
        subprocess.run([*oracle, "down", "--dir", str(home / "k")], check=True, capture_output=True, timeout=90)
    yield Kafka(stages, kept)


def opened(stage: Stage, topic: str, now_ms: int, **config: str) -> PartitionLog:
    settings = {name.removeprefix("internal."): value for name, value in TOPICS[topic].items()} | config
    log = PartitionLog(DiskStorage(stage.before), f"data/{topic}-0", topic, 0, LogConfig.from_strings(settings), now_ms)
    log.update_high_watermark(log.log_end_offset)
    log.cleaned_to = stage.began
    return log


def indexes(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.glob("*.txnindex")) if path.stat().st_size}


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_cleaned_log_with_transactions_is_the_same(kafka: Kafka, number: int) -> None:
    stage, now_ms = kafka.stages[number], int(time.time() * 1000)
    log = opened(stage, "cleaned", now_ms)
    parts = parts_of(log, now_ms)
    before = log.log_end_offset
    stats = clean(log, OffsetMap(DEDUPE_BYTES, 0.9), parts.first_dirty, parts.first_uncleanable, now_ms)
    log.close()
    assert stats.records_after < stats.records_before and stage.began < log.cleaned_to == stage.came < before
    ours, theirs = stage.before / "data" / "cleaned-0", stage.after / "data" / "cleaned-0"
    assert batches_of(ours) == batches_of(theirs)
    assert indexes(ours) == indexes(theirs) and indexes(theirs)


def test_a_marker_goes_when_the_horizon_has_come_that_an_earlier_pass_gave_it(kafka: Kafka) -> None:
    """Of what the first pass cleaned; the open transaction had held up what came after."""
    first, second, third = kafka.stages

    def markers(stage: Stage) -> int:
        found = [head for _, rows in batches_of(stage.after / "data" / "cleaned-0") for head, _ in rows]
        return sum(head.is_control for head in found if head.base_offset < first.came)

    assert markers(first) == markers(second) > markers(third)


def test_retention_deletes_segments_of_transactions_with_their_indexes(kafka: Kafka) -> None:
    now_ms = int(time.time() * 1000)
    log = opened(kafka.kept, "kept", now_ms, **{"retention.bytes": str(KEPT_BYTES)})
    assert delete_old_segments(log, now_ms) > 0
    log.close()
    ours, theirs = kafka.kept.before / "data" / "kept-0", kafka.kept.after / "data" / "kept-0"
    assert batches_of(ours) == batches_of(theirs) and indexes(ours) == indexes(theirs)
    assert indexes(theirs) and log.log_start_offset > 0
