"""A lab that has taken more than it may: who waits, what is refused, and that all go on when there is room."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import PATIENCE_S

from broker_core.drivers.pump import LivePump
from broker_core.drivers.share import BURST_S, Share
from broker_core.kernel.node import PAUSED, RUNNING
from broker_core.kernel.world import World
from lab.branch import BranchError
from lab.clusters.spec import run_from_dict
from lab.experiments.verify import verify
from lab.experiments.directory import FILE_LIMIT
from lab.holding import DISK, MEMORY, Holding, stored
from lab.limits import MB, UNLIMITED, Limits
from lab.live import LiveLab
from lab.weighing import Weighing, weigh

CLUSTER = {"preset": "teaching", "controller": "kraft", "brokers": 1, "port": 0}
LOAD = {"do": "start_client", "name": "producer", "kind": "producer", "topic": "orders", "rate": 200, "size": 300}
TOPIC = {"do": "create_topic", "topic": "orders", "partitions": 1, "replication_factor": 1}
API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, -1)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LiveLab]:
    found = LiveLab(run_from_dict({"cluster": CLUSTER, "seed": 3}), tmp_path, sole=False, limits=Limits(disk_mb=100, memory_mb=1000))
    found.start()
    yield found
    found.stop()


def do(lab: LiveLab, command: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = lab.submit(command).result(PATIENCE_S)
    return answer


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert true()


def found_to_be(lab: LiveLab, **most: int) -> None:
    """Its limits are others, in bytes; and it is looked at now, not in some seconds."""
    holding = lab.main.holding
    assert holding is not None
    holding.most |= most
    holding.taken = {DISK: stored(lab.data), MEMORY: lab.main.ask(weigh, lab).result(PATIENCE_S)}
    lab.main.ask(holding.judge).result(PATIENCE_S)


def test_over_its_disk_writers_wait_nothing_begins_and_with_room_all_go_on(lab: LiveLab) -> None:
    assert do(lab, TOPIC)["ok"] and do(lab, LOAD)["ok"]
    with socket.create_connection(("127.0.0.1", next(iter(lab.server.ports.values())))) as client:
        found_to_be(lab, disk=MB // 1000)
        assert lab.clock()["over"] == [DISK] and lab.view()["over"] == [DISK]
        assert lab.world.nodes["producer"].state == PAUSED
        for command in (LOAD | {"name": "another"}, TOPIC | {"topic": "more"}, {"do": "resume", "node": "producer"}):
            refused = do(lab, command)
            assert not refused["ok"] and refused["problem"]["code"] == "limit_disk"
        with pytest.raises(BranchError, match="MB of disk"):
            lab.fork(lab.run_id).result(PATIENCE_S)
        client.sendall(API_VERSIONS)
        assert do(lab, {"do": "delete_topic", "topic": "orders"})["ok"]
        before = lab.world.now_us
        until(lambda: lab.world.now_us > before + 300_000)
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.recv(4)
        client.settimeout(PATIENCE_S)
        found_to_be(lab, disk=100 * MB)
        assert len(client.recv(4)) == 4, "who waited is answered"
    assert lab.clock()["over"] == [] and lab.world.nodes["producer"].state == RUNNING
    path = lab.main.files.path
    lab.stop()
    assert verify(path).differences == [], "what was held is part of the run"


def test_a_client_that_somebody_has_paused_himself_stays_paused(lab: LiveLab) -> None:
    assert do(lab, TOPIC)["ok"] and do(lab, LOAD)["ok"] and do(lab, {"do": "pause", "node": "producer"})["ok"]
    found_to_be(lab, memory=1)
    assert lab.clock()["over"] == [MEMORY]
    found_to_be(lab, memory=1000 * MB)
    assert lab.clock()["over"] == [] and lab.world.nodes["producer"].state == PAUSED


def test_what_is_deleted_while_it_holds_makes_room_at_once_and_is_part_of_the_run(lab: LiveLab) -> None:
    assert do(lab, TOPIC)["ok"] and do(lab, LOAD | {"size": 100_000})["ok"]
    logs = lab.data / "broker-1"
    until(lambda: stored(logs) > 2 * MB)
    found_to_be(lab, disk=MB)
    assert do(lab, {"do": "delete_topic", "topic": "orders"})["ok"]

    def looked_at_again() -> bool:
        found_to_be(lab, disk=MB)
        return stored(logs) < MB

    until(looked_at_again)
    path = lab.main.files.path
    lab.stop()
    assert verify(path).differences == []


def test_a_lab_that_holds_sees_at_once_that_there_is_room_again(lab: LiveLab, monkeypatch: pytest.MonkeyPatch) -> None:
    assert do(lab, TOPIC)["ok"] and do(lab, LOAD | {"size": 100_000})["ok"]
    until(lambda: stored(lab.data / "broker-1") > 2 * MB)
    monkeypatch.setattr("lab.holding.LOOK_S", 3600.0)
    found_to_be(lab, disk=stored(lab.data) - MB)
    assert lab.clock()["over"] == [DISK]
    holding = lab.main.holding
    assert holding is not None
    lab.main.ask(holding.look_now).result(PATIENCE_S)
    assert do(lab, {"do": "delete_topic", "topic": "orders"})["ok"]
    until(lambda: lab.clock()["over"] == [])


def test_a_fork_is_limited_as_its_lab_and_holds_with_it(lab: LiveLab) -> None:
    assert do(lab, TOPIC)["ok"] and do(lab, LOAD)["ok"]
    fork = lab.branch(lab.fork(lab.run_id).result(PATIENCE_S))
    fork.submit({"do": "time", "speed": "play"}).result(PATIENCE_S)
    holding = lab.main.holding
    assert holding is not None
    holding.limits = Limits(records=300)
    refused = fork.submit(LOAD | {"name": "producer-more"}).result(PATIENCE_S)
    assert not refused["ok"] and refused["problem"]["code"] == "limit_records"
    found_to_be(lab, memory=1)
    assert fork.world.nodes["producer"].state == PAUSED
    assert fork.submit({"do": "resume", "node": "producer"}).result(PATIENCE_S)["problem"]["code"] == "limit_memory"
    found_to_be(lab, memory=1000 * MB)
    assert fork.world.nodes["producer"].state == RUNNING


def test_clients_wait_as_soon_as_they_have_sent_what_there_was_room_for(lab: LiveLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.holding.LOOK_S", 3600.0)
    counted = threading.Event()

    def count(directory: Path) -> int:
        counted.wait(PATIENCE_S)
        return 0

    monkeypatch.setattr("lab.holding.stored", count)
    lab.server.room = len(API_VERSIONS) - 1
    with socket.create_connection(("127.0.0.1", next(iter(lab.server.ports.values())))) as client:
        client.sendall(API_VERSIONS)
        until(lambda: lab.server.stalled)
        client.settimeout(PATIENCE_S)
        assert len(client.recv(4)) == 4, "what has come is answered"
        counted.set()
        until(lambda: not lab.server.stalled)


def test_what_is_recorded_of_a_run_leaves_half_of_the_disk_to_it(lab: LiveLab) -> None:
    assert lab.main.files.recorder._left < 100 * MB / 6 and 3 * Limits(disk_mb=100).of_a_file(FILE_LIMIT) <= 50 * MB
    assert UNLIMITED.of_a_file(FILE_LIMIT) == FILE_LIMIT == Limits(disk_mb=10**9).of_a_file(FILE_LIMIT)


def test_it_is_weighed_in_slices_and_no_further_than_to_its_limit(lab: LiveLab) -> None:
    lab.main.pump.control({"do": "time", "speed": "pause"})
    whole, weighing = lab.main.ask(weigh, lab).result(PATIENCE_S), Weighing(lab)
    lab.main.ask(weighing.begin).result(PATIENCE_S)
    slices = 1
    while not lab.main.ask(weighing.advance, 100 * MB, 0.0001).result(PATIENCE_S):
        slices += 1
    assert slices > 3 and weighing.size == pytest.approx(whole, rel=0.1) and not weighing.under_way
    lab.main.ask(weighing.begin).result(PATIENCE_S)
    assert lab.main.ask(weighing.advance, whole // 10, PATIENCE_S).result(PATIENCE_S) and weighing.size < whole / 2
    assert not weighing.due(100 * MB, over=False)


def test_many_files_are_counted_by_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        (tmp_path / str(number)).write_bytes(bytes(10_000))
    (tmp_path / "0b").hardlink_to(tmp_path / "0")
    alone = stored(tmp_path)
    monkeypatch.setattr("lab.holding.MANY", 20)
    assert alone <= stored(tmp_path) <= alone + 8192, "with the directory itself"
    monkeypatch.setenv("PATH", "")
    assert stored(tmp_path) == alone


def test_a_lab_is_looked_at_by_itself(lab: LiveLab, monkeypatch: pytest.MonkeyPatch) -> None:
    holding = lab.main.holding
    assert holding is not None
    monkeypatch.setattr("lab.holding.LOOK_S", 0.01)
    until(lambda: holding.taken[DISK] > 0)
    holding.most[DISK] = 1
    until(lambda: lab.clock()["over"] == [DISK])


def test_what_it_remembers_grows_with_what_happens(lab: LiveLab) -> None:
    before = lab.main.ask(weigh, lab).result(PATIENCE_S)
    assert do(lab, {**TOPIC, "partitions": 20})["ok"]
    assert before < lab.main.ask(weigh, lab).result(PATIENCE_S) < 100 * MB


def test_a_file_of_several_names_is_counted_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(100_000))
    alone = stored(tmp_path)
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "b").hardlink_to(tmp_path / "a")
    assert alone >= 100_000 and stored(tmp_path) == alone and stored(tmp_path / "none") == 0


def test_a_share_of_a_core_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    used, now = [0.0], [0.0]
    share = Share(0.25, lambda: used[0], lambda: now[0])
    used[0] = BURST_S
    assert share.wait_s() == 0
    used[0] += 0.1
    assert share.wait_s() == pytest.approx(0.4)
    now[0] += 0.4
    assert share.wait_s() == pytest.approx(0)
    now[0] += 100
    assert share.wait_s() == 0
    used[0] += 2 * BURST_S
    assert share.wait_s() == pytest.approx(BURST_S / 0.25), "what was not used long ago is gone"


@pytest.mark.interpreted
def test_a_world_that_has_to_wait_takes_inputs_afterwards_in_their_order() -> None:
    waits = [0.0]

    class Waiting(Share):
        def wait_s(self) -> float:
            return waits[0]

    async def scene() -> None:
        world = World(seed=1)
        taken: list[int] = []
        world.inject = taken.append  # type: ignore[method-assign, assignment]
        pump = LivePump(world, None, lambda: None)
        pump.share = Waiting(1.0)
        pump.start(asyncio.get_running_loop())
        waits[0] = 0.001
        pump.take([1, 2])  # type: ignore[list-item]
        pump.take([3])  # type: ignore[list-item]
        assert taken == []
        waits[0] = 0.0
        while not taken:
            await asyncio.sleep(0)
        pump.take([4])  # type: ignore[list-item]
        assert taken == [1, 2, 3, 4]
        pump.stop()

    asyncio.run(scene())


def test_limits_within_others_are_the_narrower_ones() -> None:
    assert Limits(brokers=3, disk_mb=500).within(Limits(brokers=5, disk_mb=100, records=7)) == Limits(3, 7, 100)


def test_limits_reach_the_pump_and_nothing_is_looked_at_without_one(tmp_path: Path) -> None:
    lab = LiveLab(run_from_dict({"cluster": CLUSTER, "seed": 3}), tmp_path, sole=False, limits=Limits(processor_percent=40))
    lab.start()
    try:
        holding = lab.main.holding
        assert lab.main.pump.share is not None and lab.main.pump.share.part == 0.4
        assert isinstance(holding, Holding) and holding._looking is None
    finally:
        lab.stop()
