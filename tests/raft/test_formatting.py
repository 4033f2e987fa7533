"""A quorum whose voters are dynamic from its first start: the checkpoint in front of the log, and who comes later."""

from __future__ import annotations

import base64
import uuid
from typing import Any

import pytest

from broker_core.kernel.problems import told
from broker_core.log.checkpoints import read_meta_properties
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.raft import ReplicaKey, VoterNode, VoterSet
from broker_core.raft.snapshots import BOOTSTRAP, RawSnapshot, SnapshotReader, SnapshotWriter
from broker_core.raft.voters import Listener
from broker_core.records.control import KRAFT_VERSION, KRAFT_VOTERS, LEADER_CHANGE, SNAPSHOT_FOOTER, SNAPSHOT_HEADER
from broker_core.records.control import read_control
from broker_core.records.header import CONTROL, iterate_batches
from broker_core.records.batch import decode_records
from lab.clusters.checks import SpecError
from lab.clusters.joining import initial_controllers
from lab.clusters.spec import run_from_dict
from lab.truth import truth_of
from tests.lab.test_joining import Lab

LOG = "data/__cluster_metadata-0"
KAFKA = bytes.fromhex(
    # kafka-storage 4.3 format --initial-controllers 1@127.0.0.1:29451:zhmhPcRST5WjcfdjHkHQ3Q,2@...,3@...
    "000000000000000000000101000000000252a5fa4e002000000002000001a218df5422000001a218df5422ffffffffffffffffffffffffffff000000"
    "032a0000000800000003160000000001a218df53e600001e00000208000000050a000000010000d0020000040800000006ba0200000400000001ce19"
    "a13dc4524f95a371f7631e41d0dd020b434f4e54524f4c4c45520a3132372e302e302e31730b0000000001000000000002b1a995117130443ca877aa"
    "e2d9f0948f020b434f4e54524f4c4c45520a3132372e302e302e31730c0000000001000000000003e6e97b71825c40d0baa7f2c98fe0c945020b434f"
    "4e54524f4c4c45520a3132372e302e302e31730d00000000010000000000000000000000030000003f00000000023055267d002000000000000001a2"
    "18df5440000001a218df5440ffffffffffffffffffffffffffff000000011a00000008000000040600000000"
)


def spec(controllers: int = 3, **more: Any) -> dict[str, Any]:
    cluster = {"brokers": 3, "preset": "teaching", "controller": "kraft", "controllers": controllers, "quorum": "dynamic"}
    return {"cluster": {**cluster, **more}, "seed": 5}


def quorum(lab: Lab) -> dict[str, Any]:
    found: dict[str, Any] = truth_of(lab.world).snapshot()["quorum"]
    return found


@pytest.mark.parametrize(("controllers", "voters"), [(0, [1, 2, 3]), (1, [101]), (3, [101, 102, 103])])
def test_its_voters_are_in_the_log_and_the_cluster_works(controllers: int, voters: list[int]) -> None:
    lab = Lab(spec(controllers))
    found = quorum(lab)
    assert (found["voters"], found["kraft_version"], found["voters_offset"]) == (voters, 1, 2)
    assert truth_of(lab.world).registered() == [1, 2, 3]


def test_every_initial_controller_has_the_same_checkpoint_and_the_directory_id_that_it_names() -> None:
    lab = Lab(spec())
    wanted = initial_controllers(lab.spec.cluster, 5)
    assert wanted is not None
    bodies = set()
    for number in (101, 102, 103):
        storage = lab.world.nodes[f"controller-{number}"].storage
        reader = SnapshotReader(storage, LOG, BOOTSTRAP)
        bodies.add(bytes(reader.read(0, reader.size)))
        kinds = [kind for kind, _ in reader.controls()]
        assert kinds == [SNAPSHOT_HEADER, KRAFT_VERSION, KRAFT_VOTERS, SNAPSHOT_FOOTER]
        named = {one.voter_id: one.voter_directory_id for one in reader.controls()[2][1].voters}
        assert named == {node.key.id: node.key.directory for node in wanted}
        assert "directory.id" in read_meta_properties(storage, "data")
    assert len(bodies) == 1
    assert not lab.world.nodes["broker-1"].storage.exists(f"{LOG}/{BOOTSTRAP.file_name}")


def test_the_first_leader_writes_the_voters_down_for_those_who_have_no_checkpoint() -> None:
    file = Lab(spec()).world.nodes["broker-1"].storage.open(f"{LOG}/00000000000000000000.log")
    first = next(iter(iterate_batches(file.read(0, file.size))))
    assert first.header.attributes & CONTROL
    controls = [found for record in decode_records(first) if (found := read_control(record)) is not None]
    assert [kind for kind, _ in controls] == [LEADER_CHANGE, KRAFT_VERSION, KRAFT_VOTERS]
    assert controls[0][1].version == 0  # of 4.3, which does not name directories in it


def test_a_controller_comes_and_goes_without_an_upgrade_and_one_with_a_blank_disk_votes_no_more() -> None:
    lab = Lab(spec())
    lab.do(do="add_controller")
    lab.run(4)
    assert quorum(lab)["voters"] == [101, 102, 103, 104]
    lab.do(do="remove_controller", controller=104)
    lab.run(4)
    assert quorum(lab)["voters"] == [101, 102, 103]
    follower = next(number for number in (101, 102, 103) if number != quorum(lab)["leader"])
    lab.do(do="wipe", node=f"controller-{follower}")
    lab.do(do="restart", node=f"controller-{follower}")
    lab.run(5)
    assert quorum(lab)["replicas"][str(follower)]["state"] in ("follower", "unattached")
    machine: Any = lab.world.nodes[f"controller-{follower}"].machine
    assert machine.process.raft.own.key not in machine.process.raft.history.last_voters


def test_a_machine_with_the_id_of_an_initial_controller_is_none() -> None:
    lab = Lab(spec(0))
    lab.do(do="add_machine", broker=2)
    lab.run(2)
    assert not lab.world.nodes["machine-1"].storage.exists(f"{LOG}/{BOOTSTRAP.file_name}")


def test_it_is_a_word_of_kraft_alone_and_stands_in_the_description() -> None:
    run = run_from_dict(spec())
    assert run.to_dict()["cluster"]["quorum"] == "dynamic" and run_from_dict(run.to_dict()).cluster == run.cluster
    assert "quorum" not in run_from_dict({"cluster": {"controller": "kraft"}}).to_dict()["cluster"]
    with pytest.raises(SpecError) as refused:
        run_from_dict({"cluster": {"controller": "zookeeper", "quorum": "dynamic"}})
    assert refused.value.place == ("cluster", "quorum") and "kraft" in told(refused.value.problem)


def test_the_checkpoint_is_that_of_kafka_byte_for_byte() -> None:
    directories = "zhmhPcRST5WjcfdjHkHQ3Q", "samVEXEwRDyod6ri2fCUjw", "5ul7cYJcQNC6p_LJj-DJRQ"
    voters = VoterSet(
        VoterNode(ReplicaKey(number, uuid.UUID(bytes=base64.urlsafe_b64decode(one + "=="))),
                  (Listener("CONTROLLER", "127.0.0.1", 29450 + number),))
        for number, one in enumerate(directories, start=1)
    )
    storage, written = MemoryStorage(), []
    for now_ms in (1795713618978, 1795713619008):  # Kafka closed it 30 ms after it had begun it
        SnapshotWriter(RawSnapshot(storage, LOG, BOOTSTRAP), 1795713618918, now_ms, 1, voters).freeze()
        file = storage.open(f"{LOG}/{BOOTSTRAP.file_name}")
        written.append(bytes(file.read(0, file.size)))
    assert written[0][:269] + written[1][269:] == KAFKA
