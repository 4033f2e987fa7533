"""A client whose last answer named only brokers that are dead by now asks its bootstrap brokers again (KIP-899)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.worlds import do, run

from broker_core.kernel.world import World
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
    for one in (machine.producer, world.nodes["reader"].machine):
        one.metadata.request_update()
    run(world, 2)
    assert machine.producer.metadata.brokers == ["broker-1"]
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


def test_a_record_by_hand_is_written(world: World) -> None:
    before = len(world.operations.rows)
    do(world, do="produce", topic="orders", value="hello", acks="all")
    run(world, 5)
    assert any(row for row in world.operations.rows[before:] if "operator" in str(row))
