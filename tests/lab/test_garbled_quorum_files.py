"""Every file of a quorum's controller, of a broker that follows it, and of a server of an ensemble, damaged in every way:
a start says what it found, nothing fails on the way, and a node that cannot go on names the file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
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
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict

pytestmark = pytest.mark.slow
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "2000", "offsets.topic.num.partitions": "1"}
CLUSTERS: dict[str, dict[str, Any]] = {
    "quorum": {"brokers": 1, "controller": "kraft", "controllers": 3, "preset": "teaching", "settings": SNAPSHOTS},
    "alone": {"brokers": 1, "controller": "kraft", "controllers": 1, "preset": "teaching", "settings": SNAPSHOTS},
    "ensemble": {"brokers": 1, "ensemble": 3, "preset": "teaching"},
}
NODES = [("quorum", "controller-102"), ("quorum", "broker-1"), ("alone", "controller-101"), ("ensemble", "zookeeper-2")]
FAILED = ("call_failed", "handler_failed")


def world_on(root: Path, cluster: str, life: int) -> World:
    spec = run_from_dict({"cluster": CLUSTERS[cluster], "seed": 3, "epoch_ms": NOW + life * 60_000})
    return build_world(spec, partial(storage, root))


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """What each cluster leaves behind: a log with snapshots, votes, a tree."""
    found = {}
    for cluster in CLUSTERS:
        root = found[cluster] = tmp_path_factory.mktemp(cluster)
        world = world_on(root, cluster, 1)
        run(world, 3)
        do(world, do="create_topic", topic="orders", partitions=12, replication_factor=1)
        run(world, 1)
        do(world, do="delete_topic", topic="orders")
        do(world, do="create_topic", topic="carts", partitions=4, replication_factor=1)
        run(world, 1)
        for name in [one for one in world.nodes if one != "operator"]:
            do(world, do="kill", node=name)
        run(world, 1)
        close(world)
    yield found


def started(root: Path, cluster: str, name: str, way: str) -> World:
    WAYS[way](root / name)
    world = world_on(root, cluster, 2)
    node, _, path = name.partition("/")
    if way == "unreadable":
        faults = DiskFaults(Random(1))
        faults.rules.append(DiskFault(READ_ERROR, path))
        world.nodes[node].storage.set_faults(faults)
    run(world, 6)
    return world


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("cluster", "node"), NODES)
def test_every_file_of(left: dict[str, Path], tmp_path: Path, cluster: str, node: str, way: str) -> None:
    names = [name for name in files_of(left[cluster], node) if "__cluster_metadata" in name or not node.startswith("broker")]
    assert len(names) >= 2
    turn = list(WAYS).index(way) + NODES.index((cluster, node))
    for index, name in enumerate(names):
        if (index + turn) % 2:  # each kind of file in each way once, on one of the nodes
            continue
        root = tmp_path / str(index)
        shutil.copytree(left[cluster], root)
        world = started(root, cluster, name, way)
        failed = [row for row in world.journal.tail if row[3] in FAILED]
        assert not failed, (name, failed)
        if world.nodes[node].state != RUNNING:
            lines = [line for line in told(world, node) if line.get("path", "?") in name]
            assert world.nodes[node].how_stopped == "halted" and lines, (name, told(world, node))
        close(world)
        shutil.rmtree(root)
