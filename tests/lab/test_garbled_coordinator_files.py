"""Files that only a broker of KRaft has, or only one with transactions, share groups and groups, damaged in every way: what
coordinators remember, `.txnindex`, `.snapshot`, its `meta.properties`. A start says what it found, and nothing fails on the way."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.lab.test_garbled_files import NOW, WAYS, close, files_of, storage, told
from tests.worlds import do, run

from broker_core.kernel.node import RUNNING
from broker_core.kernel.storage_faults import READ_ERROR, DiskFault, DiskFaults
from broker_core.kernel.world import World
from lab.clusters import observe
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict

pytestmark = pytest.mark.slow
SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1",
            "share.coordinator.state.topic.num.partitions": "1", "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1", "share.coordinator.state.topic.replication.factor": "1",
            "transaction.state.log.min.isr": "1", "share.coordinator.state.topic.min.isr": "1"}  # fmt: skip
TRANSACTIONS = {"acks": "all", "transactional.id": "bank"}
SPEC: dict[str, Any] = {
    "cluster": {"brokers": 1, "controller": "kraft", "controllers": 1, "preset": "teaching", "settings": SETTINGS},
    "seed": 5,
    "clients": [
        {"name": "producer-bank", "kind": "producer", "topic": "orders", "rate": 40, "transaction_records": 5, "abort_share": 0.4,
         "settings": TRANSACTIONS},
        {"name": "consumer-readers", "kind": "consumer", "topic": "orders", "settings": {"group.id": "readers"}},
        {"name": "worker-mill", "kind": "worker", "topic": "orders", "settings": {"group.id": "mill"}},
    ],
}  # fmt: skip
FAILED = ("call_failed", "handler_failed")
CLIENTS = [client["name"] for client in SPEC["clients"]]
KINDS = (".log", ".snapshot", ".txnindex", "meta.properties", "checkpoint")


def world_on(root: Path, life: int) -> World:
    return build_world(run_from_dict(SPEC | {"epoch_ms": NOW + life * 60_000}), partial(storage, root))


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a broker leaves behind that coordinates groups, transactions and share groups."""
    root = tmp_path_factory.mktemp("coordinators")
    world = world_on(root, 1)
    run(world, 2)
    do(world, do="create_topic", topic="orders", partitions=1, replication_factor=1, configs={"internal.segment.bytes": "1500"})
    run(world, 1)
    for name in CLIENTS:
        do(world, do="start_client", name=name)
    run(world, 6)
    do(world, do="kill", node="broker-1")
    run(world, 1)
    close(world)
    return root


def names_in(root: Path) -> list[str]:
    """Those of the metadata log are looked at elsewhere, indexes of offsets and times are the same for all logs."""
    return [name for name in files_of(root, "broker-1") if name.endswith(KINDS) and "__cluster_metadata" not in name]


def test_there_is_every_kind_of_file(left: Path) -> None:
    names = names_in(left)
    for topic in ("__consumer_offsets", "__transaction_state", "__share_group_state", "orders"):
        assert f"broker-1/data/{topic}-0/00000000000000000000.log" in names
    assert all(any(name.endswith(kind) for name in names) for kind in KINDS)


@pytest.mark.parametrize("way", WAYS)
def test_every_file_of_a_broker_that_coordinates(left: Path, tmp_path: Path, way: str) -> None:
    for index, name in enumerate(names_in(left)):
        if (index + list(WAYS).index(way)) % 2:  # each kind of file in each way once: there are two or more of each
            continue
        root = tmp_path / str(index)
        shutil.copytree(left, root)
        WAYS[way](root / name)
        world = world_on(root, 2)
        node = world.nodes["broker-1"]
        if way == "unreadable":
            faults = DiskFaults(Random(1))
            faults.rules.append(DiskFault(READ_ERROR, name.partition("/")[2]))
            node.storage.set_faults(faults)
        run(world, 3)
        for client in CLIENTS:
            do(world, do="start_client", name=client)
        run(world, 2)
        failed = [row for row in world.journal.tail if row[3] in FAILED]
        assert not failed, (name, failed)
        if node.state == RUNNING:
            assert ("orders", 0) in observe.partitions_of(node), name
        else:
            lines = [line for line in told(world, "broker-1") if line.get("path", "?") in name]
            assert node.how_stopped == "halted" and lines, (name, told(world, "broker-1"))
        close(world)
        shutil.rmtree(root)
