"""Disks that fail under a running cluster: what goes offline, who takes over, and that nothing acked is gone."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from broker_core.drivers.files import DiskStorage
from broker_core.kernel.errors import StorageError
from broker_core.kernel.inputs import Command
from broker_core.kernel.node import RUNNING, STOPPED
from broker_core.kernel.storage import Storage
from broker_core.kernel.storage_faults import DiskFault, DiskFaults, flip
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.records.errors import CorruptRecordError
from broker_core.records.header import ensure_valid, iterate_batches
from lab.clusters import observe
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from lab.truth import truth_of

S = 1_000_000


class Lab:
    """Three brokers with two log directories each, and a producer with acks=all."""

    def __init__(self, log_dirs: str = "data1,data2") -> None:
        self.world: World = build_world(run_from_dict({
            "cluster": {"brokers": 3, "preset": "teaching",
                        "settings": {"min.insync.replicas": 2, "log.dirs": log_dirs}},
            "clients": [{"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 50,
                         "settings": {"acks": "all"}}],
        }))  # fmt: skip
        self.run(1)
        self.do("create_topic", topic="orders", partitions=2, replication_factor=3)
        self.run(1)
        self.do("start_client", name="producer-a")
        self.run(3)

    def run(self, seconds: float) -> None:
        self.world.run_until(self.world.now_us + int(seconds * S))

    def do(self, do: str, **command: Any) -> dict[str, Any]:
        item = Command({"do": do, **command})
        self.world.inject(item)
        self.world.run_due()
        assert item.result is not None and item.result["ok"], item.result
        return item.result

    def state(self, partition: int) -> dict[str, Any]:
        state = truth_of(self.world).partition_state("orders", partition)
        assert state is not None
        return state

    def directory(self, broker: int, partition: int) -> str:
        path: str = observe.partitions_of(self.world.nodes[f"broker-{broker}"])["orders", partition].log.directory
        return path.split("/")[0]

    def acked(self) -> int:
        machine: Any = self.world.nodes["producer-a"].machine
        return int(machine.view()["acked"])

    def events(self, code: str) -> list[dict[str, Any]]:
        return [row[5] for row in self.world.journal.tail if row[3] == code]


@pytest.mark.parametrize("fault", ["disk_full", "disk_write_error", "disk_read_error"])
def test_a_failing_directory_goes_offline_and_another_broker_leads_its_partitions(fault: str) -> None:
    lab = Lab()
    leader = lab.state(0)["leader"]
    other = 1 if lab.directory(leader, 1) != lab.directory(leader, 0) else 0
    lab.do(fault, broker=leader, directory=lab.directory(leader, 0))
    lab.run(4)
    node: Any = lab.world.nodes[f"broker-{leader}"]
    assert node.state == RUNNING and list(node.machine.log_manager.offline_dirs) == [lab.directory(leader, 0)]
    assert lab.state(0)["leader"] not in (leader, -1) and leader not in lab.state(0)["isr"]
    if other:
        assert leader in lab.state(other)["isr"]
    before = lab.acked()
    lab.run(2)
    assert lab.acked() >= before + 80
    lab.do("repair_disk", broker=leader)
    lab.do("restart", broker=leader)
    lab.run(10)
    assert sorted(lab.state(0)["isr"]) == sorted(lab.state(1)["isr"]) == [1, 2, 3]
    assert lab.events("handler_failed") == []


def test_a_follower_whose_directory_fails_is_no_longer_in_sync() -> None:
    lab = Lab()
    follower = next(broker for broker in lab.state(0)["replicas"] if broker != lab.state(0)["leader"])
    lab.do("disk_write_error", broker=follower, directory=lab.directory(follower, 0))
    lab.run(6)
    assert follower not in lab.state(0)["isr"] and len(lab.state(0)["isr"]) == 2


def test_a_broker_ends_when_its_last_directory_has_failed() -> None:
    lab = Lab("data")
    leader = lab.state(0)["leader"]
    lab.do("disk_full", broker=leader)
    lab.run(6)
    assert lab.world.nodes[f"broker-{leader}"].how_stopped == "halted"
    assert lab.state(0)["leader"] not in (leader, -1)


def test_a_broker_that_cannot_read_a_directory_starts_with_the_other_one_and_makes_no_second_copy() -> None:
    lab = Lab()
    follower = next(broker for broker in lab.state(0)["replicas"] if broker != lab.state(0)["leader"])
    bad = lab.directory(follower, 0)
    lab.do("kill", broker=follower)
    lab.run(5)
    lab.do("disk_read_error", broker=follower, directory=bad)
    lab.do("restart", broker=follower)
    lab.run(8)
    node: Any = lab.world.nodes[f"broker-{follower}"]
    assert list(node.machine.log_manager.offline_dirs) == [bad]
    assert node.machine.log_manager.get("orders", 0) is None
    assert follower not in lab.state(0)["isr"]


def test_a_flipped_bit_is_found_by_the_follower_that_needs_it_and_by_no_start() -> None:
    lab = Lab()
    state = lab.state(0)
    leader, follower = state["leader"], next(one for one in state["replicas"] if one != state["leader"])
    lab.do("kill", broker=follower)
    lab.do("wipe", broker=follower)
    lab.run(6)
    lab.do("bit_flip", broker=leader, topic="orders", partition=0, offset=3)
    lab.do("restart", broker=follower)
    lab.run(8)
    marks = observe.log_marks(lab.world, "orders", 0)
    assert marks[follower]["leo"] <= 3 < marks[leader]["leo"]
    assert follower not in lab.state(0)["isr"] and lab.world.nodes[f"broker-{follower}"].state == RUNNING
    assert lab.world.nodes[f"broker-{leader}"].state == RUNNING
    told = [row[5] for row in lab.world.journal.tail if row[2] == f"broker-{follower}" and row[3] == "client_error"]
    assert {(one["topic"], one["error"], one["reaction"]) for one in told} == {("orders", "CORRUPT_MESSAGE", "fetch again")}


def test_a_wiped_broker_comes_back_and_copies_everything() -> None:
    lab = Lab()
    lab.do("wipe", broker=2)
    assert lab.world.nodes["broker-2"].state == STOPPED and lab.world.nodes["broker-2"].storage.list("") == []
    lab.run(6)
    lab.do("restart", broker=2)
    lab.run(10)
    assert sorted(lab.state(0)["isr"]) == [1, 2, 3]


def test_an_expired_session_is_replaced_and_the_broker_goes_on() -> None:
    lab = Lab()
    lab.do("expire_session", broker=2)
    lab.run(6)
    assert truth_of(lab.world).registered() == [1, 2, 3] and sorted(lab.state(0)["isr"]) == [1, 2, 3]


# -- the disks alone ------------------------------------------------------------------------
def homes(tmp_path: Path) -> list[Storage]:
    return [MemoryStorage(), DiskStorage(tmp_path / "disk")]


def test_a_fault_hits_its_directory_from_the_call_on_that_it_names(tmp_path: Path) -> None:
    for storage in homes(tmp_path):
        faults = DiskFaults(Random(1))
        faults.rules.append(DiskFault("write_error", "data1", times=1, on_call=2))
        storage.set_faults(faults)
        good, bad = storage.open("data2/a"), None
        with pytest.raises(StorageError, match="Input/output error"):
            bad = storage.open("data1/a")
            bad.append([b"one"])
        good.append([b"two"])
        assert bad is not None and bad.size == 0
        bad.append([b"again"])
        assert bytes(bad.read(0, 10)) == b"again"


def test_a_lost_fsync_and_a_torn_write_leave_what_was_truly_flushed(tmp_path: Path) -> None:
    for storage in homes(tmp_path):
        file = storage.open("data/a")
        file.append([b"x" * 5000])
        file.flush()
        faults = DiskFaults(Random(1))
        faults.rules.append(DiskFault("lost_fsync"))
        storage.set_faults(faults)
        file.append([b"y" * 20_000])
        file.flush()
        assert file.flushed == 5000
        storage.set_faults(None)
        storage.power_loss(Random(3))
        assert bytes(file.read(0, 5000)) == b"x" * 5000
        assert 5000 <= file.size <= 25_000 and file.flushed == file.size
        rest = bytes(file.read(5000, 20_000))
        assert rest != b"y" * 20_000


def test_a_bit_turns_over_in_one_copy_only(tmp_path: Path) -> None:
    shared = b"z" * 9000
    one, other = MemoryStorage().open("a"), MemoryStorage().open("a")
    for file in (one, other, DiskStorage(tmp_path).open("a")):
        file.append([shared])
    flip(one, 4096)
    assert bytes(one.read(4095, 3)) == b"z{z" and bytes(other.read(4095, 3)) == b"zzz"


def test_one_update_metadata_is_lost_by_command() -> None:
    lab = Lab()
    controller = truth_of(lab.world).controller_id()
    other = next(broker for broker in (1, 2, 3) if broker != controller)
    lab.do("lose_next", between=[controller, other], api="UpdateMetadata")
    lab.do("create_topic", topic="more", partitions=1, replication_factor=1)
    lab.run(1)
    machine: Any = lab.world.nodes[f"broker-{other}"].machine
    assert not machine.cache.contains("more", 0)
    assert [one["reason"] for one in lab.events("message_dropped")] == ["chosen"]


def test_a_fault_hits_as_often_as_it_is_told(tmp_path: Path) -> None:
    for storage in homes(tmp_path):
        faults = DiskFaults(Random(1))
        faults.rules.append(DiskFault("full", times=2))
        file = storage.open("data/a")
        storage.set_faults(faults)
        for _ in range(2):
            with pytest.raises(StorageError, match="No space left"):
                file.append([b"one"])
        assert file.append([b"one"]) == 0


def test_a_misdirected_write_is_the_same_in_both_homes_of_files(tmp_path: Path) -> None:
    contents = []
    for storage in homes(tmp_path):
        file = storage.open("data/a")
        file.append([b"a" * 3000, b"b" * 3000])
        faults = DiskFaults(Random(5))
        faults.rules.append(DiskFault("misdirected", times=1))
        storage.set_faults(faults)
        assert file.append([b"c" * 700]) == 6000 and file.append([b"d" * 10]) == 6700
        storage.set_faults(None)
        contents.append(bytes(file.read(0, 9000)))
    assert contents[0] == contents[1]
    assert contents[0][6000:] == bytes(700) + b"d" * 10 and contents[0].count(b"c") == 700
    assert contents[0].index(b"c") % 512 == 0


def test_checksums_find_a_misdirected_write() -> None:
    lab = Lab("data")
    leader = lab.state(0)["leader"]
    lab.do("misdirected_write", broker=leader, directory="data/orders-0", times=1)
    lab.run(3)
    file = lab.world.nodes[f"broker-{leader}"].storage.open(f"data/orders-0/{0:020}.log")
    with pytest.raises(CorruptRecordError):
        for batch in iterate_batches(file.read(0, file.size)):
            ensure_valid(batch)


def test_a_slow_disk_makes_its_leader_slow_and_its_follower_leave_the_isr() -> None:
    lab = Lab("data")
    leader = lab.state(0)["leader"]
    lab.do("slow_disk", broker=leader, latency_ms=40)
    lab.run(5)
    assert min(latencies(lab.world, 6)) >= 40_000 > max(latencies(lab.world, 0, 5))
    lab.do("repair_disk", broker=leader)
    follower = next(one for one in lab.state(0)["replicas"] if one != leader)
    lab.do("slow_disk", broker=follower, latency_ms=6_000)
    lab.run(30)
    assert follower not in lab.state(0)["isr"] and len(lab.state(0)["isr"]) == 2
    lab.do("repair_disk", broker=follower)
    lab.run(60)  # what it has begun it ends first: an append costs 6 s for each log
    assert len(lab.state(0)["isr"]) == 3


def test_a_new_entry_of_an_index_waits_for_no_disk() -> None:
    """Kafka maps both indexes into memory; the transaction index is a file like any other."""
    rule = DiskFault("slow", latency_us=10)
    faults = DiskFaults(Random(1))
    faults.rules.append(rule)
    for suffix in ("index", "timeindex"):
        faults.check(f"data/orders-0/{0:020}.{suffix}", "append")
    assert faults.take_debt() == 0
    for suffix in ("log", "txnindex"):
        faults.check(f"data/orders-0/{0:020}.{suffix}", "append")
    faults.check(f"data/orders-0/{0:020}.index", "flush")
    assert faults.take_debt() == 30


def latencies(world: World, since_s: int, until_s: int = 1 << 20) -> list[int]:
    """Microseconds from a send to its acknowledgement, for what was sent in that time."""
    sends = [row for row in world.operations.rows if row["op"] == "send" and row["process"] == "producer-a"]
    began = {row["id"]: row["t"] for row in sends if row["kind"] == "invoke" and since_s * S <= row["t"] < until_s * S}
    return [row["t"] - began[row["id"]] for row in sends if row["kind"] == "ok" and row["id"] in began]
