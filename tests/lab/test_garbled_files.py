"""Every file of a broker and of the coordination tree, damaged in every way: a start says what it found, and nothing fails
on the way. Either all goes on, or the process ends with a line that names the file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from broker_core.drivers.files import DiskStorage
from broker_core.kernel.node import RUNNING
from broker_core.kernel.storage_faults import READ_ERROR, DiskFault, DiskFaults
from broker_core.kernel.world import World
from lab.clusters import observe
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from tests.worlds import do, run

pytestmark = pytest.mark.slow
NOW = 1_700_000_000_000
SETTINGS = {"log.segment.bytes": "1500", "log.index.interval.bytes": "200", "log.cleaner.backoff.ms": "200",
            "log.flush.offset.checkpoint.interval.ms": "1000", "offsets.topic.num.partitions": "1"}  # fmt: skip
SPEC = {
    "cluster": {"brokers": 1, "preset": "teaching", "settings": SETTINGS},
    "clients": [{"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 40}],
}


def storage(root: Path, name: str) -> DiskStorage:
    return DiskStorage(root / name)


def world_on(root: Path, life: int) -> World:
    """Each start is at a later time of day: sessions get their numbers from it."""
    return build_world(run_from_dict(SPEC | {"epoch_ms": NOW + life * 60_000}), partial(storage, root))


@pytest.fixture(scope="module", params=["clean", "crash"])
def disks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a broker and the tree leave behind: several segments, a compacted topic, every kind of checkpoint."""
    root = tmp_path_factory.mktemp(request.param)
    world = world_on(root, 1)
    run(world, 1)
    do(world, do="create_topic", topic="orders", partitions=1, replication_factor=1)
    compact = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
    do(world, do="create_topic", topic="prices", partitions=1, replication_factor=1, configs=compact)
    run(world, 1)
    do(world, do="start_client", name="producer-a")
    for number in range(40):
        do(world, do="produce", topic="prices", key=f"k{number % 3}", value="x" * 80)
        run(world, 0.1)
    do(world, do="delete_records", topic="orders", partition=0, before=20)
    run(world, 2)
    do(world, do="stop_client", name="producer-a")
    run(world, 2)
    for name in ("broker-1", "zookeeper-1"):
        do(world, do="stop" if request.param == "clean" else "kill", node=name)
        run(world, 2)
    close(world)
    return root


def close(world: World) -> None:
    for node in world.nodes.values():
        if isinstance(node.storage, DiskStorage):
            node.storage.close()


def rewritten(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def garble(path: Path) -> None:
        path.write_bytes(change(path.read_bytes()))

    return garble


def _in_its_place(path: Path) -> None:
    path.unlink()
    path.mkdir()


WAYS: dict[str, Callable[[Path], None]] = {
    "cut": rewritten(lambda data: data[: len(data) * 2 // 3]),
    "empty": rewritten(lambda data: b""),
    "other bytes": rewritten(lambda data: Random(1).randbytes(max(8, len(data)))),
    "longer": rewritten(lambda data: data + b"\xff\xfe\n7 7\r" * 9),
    "a byte": rewritten(lambda data: data[:1] + bytes([data[1] ^ 0x41]) + data[2:] if len(data) > 1 else b"\xff"),
    "other version": rewritten(lambda data: data.replace(b"0", b"7", 1)),
    "directory": _in_its_place,
    "gone": Path.unlink,
    "unreadable": lambda path: None,  # by a fault of the disk, since root may read everything
}


def files_of(root: Path, node: str) -> list[str]:
    """The first and the last of each kind in each directory; of partitions one of each topic."""
    kinds: dict[tuple[Path, str], list[str]] = {}
    for path in sorted(root.glob(f"{node}/**/*")):
        if path.is_file() and not path.name.endswith(".deleted"):
            kind = path.suffix if path.name[0].isdigit() else path.name
            kinds.setdefault((path.parent, kind), []).append(path.relative_to(root).as_posix())
    return list(dict.fromkeys(name for names in kinds.values() for name in (names[0], names[-1])))


def told(world: World, node: str) -> list[dict[str, Any]]:
    codes = ("disk_fault", "file_given_up", "log_recovered", "index_rebuilt")
    return [row[5] for row in world.journal.tail if row[2] == node and row[3] in codes]


def started(disks: Path, root: Path, name: str, way: str) -> World:
    shutil.copytree(disks, root)
    WAYS[way](root / name)
    world = world_on(root, 2)
    node, _, path = name.partition("/")
    if way == "unreadable":
        faults = DiskFaults(Random(1))
        faults.rules.append(DiskFault(READ_ERROR, path))
        world.nodes[node].storage.set_faults(faults)
    for _ in range(16):  # after a crash the old session has to expire first
        run(world, 0.5)
        if node != "broker-1" or world.nodes[node].state != RUNNING or world.nodes[node].machine.ready:  # type: ignore[union-attr]
            break
    run(world, 0.5)
    return world


@pytest.mark.parametrize("way", WAYS)
def test_every_file_of_a_broker(disks: Path, tmp_path: Path, way: str) -> None:
    turn = list(WAYS).index(way) + disks.name.startswith("clean")
    for index, name in enumerate(files_of(disks, "broker-1")):
        if (index + turn) % 2:  # each file in each way once, after a crash or a clean stop
            continue
        world = started(disks, tmp_path / str(index), name, way)
        node = world.nodes["broker-1"]
        if node.state == RUNNING:
            do(world, do="produce", topic="orders", value="new")
            run(world, 0.5)
            assert ("orders", 0) in observe.partitions_of(node), name
        else:
            assert node.how_stopped == "halted" and told(world, "broker-1"), name
        if Path(name).name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint") and way != "unreadable":
            assert node.state == RUNNING or way == "directory", (name, told(world, "broker-1"))
        close(world)
        shutil.rmtree(tmp_path / str(index))


@pytest.mark.parametrize("way", WAYS)
def test_every_file_of_the_tree(disks: Path, tmp_path: Path, way: str) -> None:
    for index, name in enumerate(files_of(disks, "zookeeper-1")):
        world = started(disks, tmp_path / str(index), name, way)
        node = world.nodes["zookeeper-1"]
        if node.state != RUNNING:
            (line,) = told(world, "zookeeper-1")
            assert node.how_stopped == "halted" and line["path"] == name.removeprefix("zookeeper-1/"), name
        close(world)
        shutil.rmtree(tmp_path / str(index))
