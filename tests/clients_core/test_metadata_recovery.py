"""A client whose last answer named only brokers that are dead by now asks its bootstrap brokers again (KIP-899)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.worlds import do, run

from broker_core.clients.metadata import Metadata
from broker_core.kernel.world import World
from broker_core.log.partition_log import PartitionLog
from broker_core.records.batch import decode_records
from broker_core.records.header import iterate_batches
from broker_core.wire import messages as m
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from lab.truth import truth_of

SPEC: dict[str, Any] = {
    "cluster": {"brokers": 3, "preset": "teaching", "settings": {"unclean.leader.election.enable": True}}, "seed": 5,
    "topics": [{"name": "orders", "partitions": 1, "replication_factor": 3}],
    "clients": [
        {"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 50, "settings": {"acks": "1"}},
        {"name": "reader", "kind": "consumer", "topic": "orders", "settings": {"auto.offset.reset": "earliest"}},
    ],
}  # fmt: skip


def log_of_the_leader(world: World) -> PartitionLog:
    leader = truth_of(world).topics()["orders"][0]["leader"]
    machine: Any = world.nodes[f"broker-{leader}"].machine
    found: PartitionLog = machine.replicas.partition("orders", 0).log
    return found


def written_by_hand(world: World, value: str, within_s: float) -> dict[str, Any]:
    """What the operator was told of a record with acks=all that he has sent by hand."""
    operator: Any = world.nodes["operator"].machine
    number = do(world, do="produce", topic="orders", value=value, acks="all")["id"]
    run(world, within_s)
    told: dict[str, Any] = operator.results[number]
    return told


@pytest.fixture(scope="module")
def world() -> World:
    """Brokers 2 and 3 die, and everybody hears of it; then the last one dies, and another comes back and leads."""
    world = build_world(run_from_dict(SPEC))
    run(world, 3)
    do(world, do="create_topic", topic="orders", partitions=1, replication_factor=3)
    run(world, 1)
    for name in ("producer-a", "reader"):
        do(world, do="start_client", name=name)
    run(world, 2)
    for broker in (2, 3):
        do(world, do="kill", broker=broker)
    run(world, 12)
    machine: Any = world.nodes["producer-a"].machine
    assert written_by_hand(world, "before", 5)["kind"] == "ok"
    operator: Any = world.nodes["operator"].machine
    known = [one.metadata for one in (machine.producer, world.nodes["reader"].machine, operator, operator.records.producers["all"])]
    for metadata in known:
        metadata.request_update()
    run(world, 2)
    assert [metadata.brokers for metadata in known] == [["broker-1"]] * len(known)
    do(world, do="kill", broker=1)
    do(world, do="restart", broker=2)
    run(world, 15)
    assert truth_of(world).topics()["orders"][0]["leader"] == 2
    return world


@pytest.mark.parametrize("name", ["producer-a", "reader"])
def test_built_in_clients_find_the_broker_that_is_back(world: World, name: str) -> None:
    machine: Any = world.nodes[name].machine
    metadata = machine.producer.metadata if name == "producer-a" else machine.metadata
    assert metadata.brokers == ["broker-2"] and metadata.leader("orders", 0) == 2


def test_a_record_by_hand_is_written_at_once_where_it_says(world: World) -> None:
    """The page's "Send a record": acknowledged at the end of the log of the leader that is back, within five seconds."""
    log = log_of_the_leader(world)
    end = log.log_end_offset
    told = written_by_hand(world, "hello", 5)
    assert (told["kind"], told["error"]) == ("ok", "") and told["offset"] >= end
    part = log.read(told["offset"], 1 << 20, log.log_end_offset).slices[0].read()
    assert b"hello" in [record.value for batch in iterate_batches(part) for record in decode_records(batch)]


def test_a_partition_that_a_broker_has_not_heard_of_has_no_leader_yet(world: World) -> None:
    """Brokers beside ZooKeeper are told of partitions one by one."""
    machine: Any = world.nodes["producer-a"].machine
    metadata: Metadata = machine.producer.metadata
    parts = [m.MetadataResponse.MetadataResponsePartition(
        partition_index=index, leader_id=2, leader_epoch=1, replica_nodes=[2], isr_nodes=[2]) for index in (3, 0, 2)]  # fmt: skip
    topic = m.MetadataResponse.MetadataResponseTopic(name="grown", partitions=parts)
    metadata._take_topic(topic)
    found = metadata.topics["grown"]
    assert (found.leaders, found.available) == ([2, -1, 2, 2], [0, 2, 3])
