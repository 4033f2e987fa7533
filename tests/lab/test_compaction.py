"""Compaction in a cluster: what the cleaner does beside replication, crashes and readers, and how it is shown."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from tests.worlds import do, run

from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from lab.checkers.invariants import InvariantMonitor
from lab.clusters.build import build_world
from lab.clusters.inspect import inspect
from lab.clusters.metrics import metrics
from lab.clusters.observe import brokers, partitions_of
from lab.clusters.spec import run_from_dict

KEYS = 10
WATCHED: dict[World, InvariantMonitor] = {}


@pytest.fixture(autouse=True)
def worlds_end_with_their_test() -> Iterator[None]:
    yield
    WATCHED.clear()


def spec(**settings: Any) -> dict[str, Any]:
    return {
        "cluster": {"brokers": 3, "preset": "teaching", "link_delay_ms": 1, "settings": {"log.cleaner.backoff.ms": 1000, **settings}},
        "seed": 5,
        "clients": [
            {"name": "producer-a", "kind": "producer", "topic": "users", "rate": 50, "size": 100, "keys": KEYS, "settings": {"acks": "all"}},
            {"name": "reader", "kind": "consumer", "topic": "users", "settings": {"group.id": "g", "auto.offset.reset": "earliest"}},
        ],
    }  # fmt: skip


def started(topic: dict[str, str] | None = None, **settings: Any) -> World:
    world = build_world(run_from_dict(spec(**settings)))
    WATCHED[world] = InvariantMonitor(world)
    run(world, 3)
    configs = {"cleanup.policy": "compact", "segment.bytes": "4096", "min.cleanable.dirty.ratio": "0.3", **(topic or {})}
    do(world, do="create_topic", topic="users", partitions=1, replication_factor=3, configs=configs)
    run(world, 1)
    do(world, do="start_client", name="producer-a")
    return world


def violations(world: World) -> list[Any]:
    return WATCHED[world].violations


def log_of(world: World, broker: int) -> Any:
    return partitions_of(dict(brokers(world))[broker])["users", 0].log


def latest(log: Any) -> dict[bytes, tuple[int, bytes]]:
    return {one.key: (one.offset, one.value) for one in log.records(0, log.high_watermark)}


def test_every_replica_keeps_the_latest_value_of_each_key_and_little_else() -> None:
    world = started()
    run(world, 20)
    do(world, do="stop_client", name="producer-a")
    run(world, 2)
    assert violations(world) == []
    logs = [log_of(world, broker) for broker in (1, 2, 3)]
    assert logs[0].log_end_offset > 900 and all(one.log_end_offset == logs[0].log_end_offset for one in logs)
    assert len(latest(logs[0])) == KEYS and latest(logs[0]) == latest(logs[1]) == latest(logs[2])
    assert max(len(list(one.records(0, one.log_end_offset))) for one in logs) < 150
    hashes = {one["hash"] for one in inspect(world, "partition", "users-0")["found"]["replicas"]}
    assert len(hashes) == 1


def test_a_reader_from_the_beginning_gets_every_key_over_the_holes() -> None:
    world = started()
    run(world, 20)
    do(world, do="stop_client", name="producer-a")
    do(world, do="start_client", name="reader")
    run(world, 10)
    reader = world.nodes["reader"].machine
    assert reader.positions.offsets()["users", 0] == log_of(world, 1).log_end_offset


def test_a_broker_that_was_away_copies_the_compacted_log_and_cleans_on() -> None:
    world = started()
    run(world, 6)
    do(world, do="kill", broker=2)
    run(world, 12)
    do(world, do="wipe", broker=3)
    run(world, 1)
    for broker in (2, 3):
        do(world, do="restart", broker=broker)
    run(world, 10)
    assert violations(world) == []
    do(world, do="stop_client", name="producer-a")
    run(world, 3)
    assert latest(log_of(world, 1)) == latest(log_of(world, 2)) == latest(log_of(world, 3))
    cleaned = [log_of(world, broker).cleaned_to for broker in (1, 2, 3)]
    assert min(cleaned) > 600
    do(world, do="stop", broker=1)
    run(world, 2)
    do(world, do="restart", broker=1)
    run(world, 2)
    assert log_of(world, 1).cleaned_to == cleaned[0]


def test_a_damaged_log_is_left_alone_and_told_and_the_others_are_cleaned() -> None:
    world = started()
    run(world, 1)
    do(world, do="bit_flip", broker=2, topic="users", partition=0, offset=10)
    run(world, 12)
    assert log_of(world, 2).cleaned_to == 0 and log_of(world, 1).cleaned_to > 300
    found = metrics(world)
    name = next(one for one in found if "uncleanable-partitions-count" in one)
    assert found[name] == {"1": 0, "2": 1, "3": 0}
    assert 0 < found["kafka.log:type=LogCleaner,name=cleaner-recopy-percent"]["1"] < 50
    assert found["kafka.log:type=LogCleaner,name=max-buffer-utilization-percent"]["1"] > 0


def test_the_files_of_a_replica_show_how_far_it_is_clean() -> None:
    world = started({"min.cleanable.dirty.ratio": "0.9"})
    run(world, 5)
    found = inspect(world, "files", "users-0@1")["found"]
    first_dirty, segments = found["compaction"]["first_dirty"], found["segments"]
    assert 0 < first_dirty == log_of(world, 1).cleaned_to <= found["compaction"]["first_uncleanable"] <= segments[-1]["base"]
    dirty = sum(one["files"][0][1] for one in segments[:-1] if one["base"] >= first_dirty)
    clean = sum(one["files"][0][1] for one in segments if one["base"] < first_dirty)
    assert found["compaction"]["dirty_ratio"] == pytest.approx(dirty / (clean + dirty)) and 0 < dirty
    assert found["compaction"]["min_dirty_ratio"] == 0.9
    assert metrics(world)["kafka.log:type=LogCleanerManager,name=max-dirty-percent"]["1"] > 0


def test_without_cleaner_nothing_is_compacted() -> None:
    world = started(**{"log.cleaner.enable": "false"})
    run(world, 10)
    assert log_of(world, 1).cleaned_to == 0 and log_of(world, 1).segments[0].base_offset == 0


def test_compact_and_delete_also_deletes_old_segments() -> None:
    world = started({"cleanup.policy": "compact,delete", "retention.ms": "5000", "min.cleanable.dirty.ratio": "0.9"})
    run(world, 10)
    do(world, do="stop_client", name="producer-a")
    assert log_of(world, 1).log_start_offset == 0
    run(world, 10)
    assert log_of(world, 1).log_start_offset == log_of(world, 1).log_end_offset > 400


def test_threads_can_be_added_while_running() -> None:
    world = started()
    threads = dict(brokers(world))[1].machine.cleaning
    for wanted in (2, 4, 2):  # at most doubled or halved at once
        do(world, do="alter_config", broker=1, set={"log.cleaner.threads": str(wanted)})
        run(world, 5)
        assert (threads.wanted, threads.map_bytes()) == (wanted, 134217728 // wanted)
    assert len(threads.running) == 2 and log_of(world, 1).cleaned_to > 200


def test_a_throttled_cleaner_rests_after_its_work() -> None:
    quick, slow = started(), started(**{"log.cleaner.io.max.bytes.per.second": "2000"})
    for world in (quick, slow):
        run(world, 15)
    assert log_of(slow, 1).cleaned_to < log_of(quick, 1).cleaned_to


def test_a_world_that_is_copied_in_the_middle_cleans_the_same() -> None:
    world = started()
    run(world, 5)
    copy = pickle.loads(pickle.dumps(world))
    for one in (world, copy):
        run(one, 10)
    assert [log_of(world, 1).cleaned_to, world.seq] == [log_of(copy, 1).cleaned_to, copy.seq]
    assert isinstance(dict(brokers(copy))[1].storage, MemoryStorage)
