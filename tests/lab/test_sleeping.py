"""A lab that sleeps gives its world back, and goes on where it stood: the run is the one that it would have been."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import PATIENCE_S

from broker_core.drivers.files import DiskFile
from broker_core.kernel.world import World
from lab.clusters.spec import run_from_dict
from lab.experiments.verify import verify
from lab.live import LiveLab
from lab.open_runs import LabError
from lab.sleeping import AT_WORK_S, FILE

CLUSTER = {"preset": "teaching", "controller": "kraft", "brokers": 2, "port": 0}
LOAD = {"do": "start_client", "name": "producer", "kind": "producer", "topic": "orders", "rate": 200, "size": 300}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LiveLab]:
    found = LiveLab(run_from_dict({"cluster": CLUSTER, "seed": 3}), tmp_path, sole=False)
    found.start()
    yield found
    found.stop()


def do(lab: LiveLab, command: dict[str, object]) -> None:
    assert lab.submit(command).result(PATIENCE_S)["ok"]


def until(lab: LiveLab, seq: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while lab.clock()["seq"] < seq and time.monotonic() < deadline:
        time.sleep(0.02)
    assert lab.clock()["seq"] >= seq


def test_the_run_of_a_lab_that_slept_is_executed_again_byte_for_byte(lab: LiveLab) -> None:
    do(lab, {"do": "create_topic", "topic": "orders", "partitions": 2, "replication_factor": 2})
    do(lab, LOAD)
    for _ in range(3):
        until(lab, lab.clock()["seq"] + 400)
        assert lab.sleep().result(PATIENCE_S) is True
        assert lab.asleep is not None and (lab.data / FILE).stat().st_size > lab.asleep.size
        stood = lab.asleep.clock
        lab.wake().result(PATIENCE_S)
        assert lab.clock()["seq"] >= stood["seq"] and not (lab.data / FILE).exists()
        do(lab, {"do": "produce", "topic": "orders", "key": "a", "value": "b"})
    receipt = lab.main.ask(lab.main.receipt).result(PATIENCE_S)
    assert receipt is not None and receipt["acked"] > 0 and receipt["lost"] == 0
    path = lab.main.files.path
    lab.stop()
    assert verify(path).differences == []


def test_forks_sleep_and_wake_with_their_lab(lab: LiveLab) -> None:
    do(lab, {"do": "create_topic", "topic": "orders", "partitions": 1})
    name = lab.fork(lab.run_id, seq=lab.clock()["seq"]).result(PATIENCE_S)
    lab.branch(name).submit({"do": "kill", "broker": 2}).result(PATIENCE_S)
    before = lab.branch(name).clock()
    assert lab.needed()
    lab.worked -= AT_WORK_S
    deadline = time.monotonic() + PATIENCE_S  # what it has in common with its parent is being copied
    while not lab.sleep().result(PATIENCE_S) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert lab.asleep is not None and set(lab.asleep.open) == {"0001", name}
    lab.wake().result(PATIENCE_S)
    assert lab.branch(name).clock() == before
    assert lab.branch(name).submit({"do": "restart", "broker": 2}).result(PATIENCE_S)["ok"]


def test_a_world_that_sleeps_is_no_longer_in_memory_nor_are_the_ends_of_its_files(lab: LiveLab) -> None:
    name = lab.world.seed, id(lab.world)
    assert [one for one in gc.get_objects() if type(one) is DiskFile and one.root.is_relative_to(lab.data)]
    assert lab.sleep().result(PATIENCE_S)
    lab.sleep().result(PATIENCE_S)  # the thread has left what it did
    gc.collect()
    assert not [one for one in gc.get_objects() if type(one) is World and (one.seed, id(one)) == name]
    assert not [one for one in gc.get_objects() if type(one) is DiskFile and one.root.is_relative_to(lab.data)]


def test_who_watches_keeps_a_lab_awake(lab: LiveLab) -> None:
    token = lab.subscribe(lambda batch: None)
    assert lab.sleep().result(PATIENCE_S) is False and lab.asleep is None
    lab.unsubscribe(token)
    assert lab.sleep().result(PATIENCE_S) is True


def test_a_file_that_somebody_has_changed_is_not_read(lab: LiveLab) -> None:
    assert lab.sleep().result(PATIENCE_S)
    path = lab.data / FILE
    kept = path.read_bytes()
    path.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    with pytest.raises(LabError, match="is damaged"):
        lab.wake().result(PATIENCE_S)
    path.write_bytes(kept)
    lab.wake().result(PATIENCE_S)
    assert lab.clock()["seq"] > 0


def test_a_lab_that_is_stopped_in_its_sleep_stops_in_order(lab: LiveLab) -> None:
    assert lab.sleep().result(PATIENCE_S)
    assert lab.stop(PATIENCE_S)
    again = LiveLab(run_from_dict({"cluster": CLUSTER, "seed": 3}), lab.data, sole=False)
    try:
        assert again.start().bootstrap
    finally:
        again.stop()
