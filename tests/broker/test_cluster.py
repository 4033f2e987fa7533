"""Three brokers in a world: the same whichever way requests travel, and as Kafka's where they wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.worlds import do

from broker_core.broker.broker import BrokerFactory
from broker_core.broker.stages import StageCosts
from broker_core.kernel.world import World
from lab.clusters import observe
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict

S = 1_000_000


def cluster(costs: StageCosts | None = None, codec: bool = False, level: str = "messages", **spec: Any) -> World:
    """A formed cluster with topic orders (3 partitions, 3 replicas)."""
    world = build_world(run_from_dict({"cluster": {"preset": "teaching", **spec}, "seed": 11, "record_level": level}))
    for node in world.nodes.values():
        if isinstance(node.factory, BrokerFactory):
            node.factory = replace(node.factory, costs=costs or StageCosts(), through_codec=codec)
    world.run_until(2 * S)
    do(world, do="create_topic", topic="orders", partitions=3, replication_factor=3)
    world.run_until(4 * S)
    return world


def test_a_brokers_own_setting_is_no_other_brokers() -> None:
    world = cluster()
    do(world, do="alter_config", broker=2, set={"log.cleaner.threads": "2", "some.plugins": "word"})
    world.run_until(world.now_us + S)
    configs = {number: brokers(world)[number].config for number in (1, 2, 3)}
    assert {number: one["log.cleaner.threads"] for number, one in configs.items()} == {1: 1, 2: 2, 3: 1}
    assert [number for number, one in configs.items() if "some.plugins" in one.described()] == [2]


def brokers(world: World) -> dict[int, Any]:
    return {node.machine.broker_id: node.machine for node in world.nodes.values() if hasattr(node.machine, "broker_id")}


def load(world: World, **more: Any) -> None:
    plain: dict[str, Any] = {"rate": 50, "settings": {"acks": "all"}}
    do(world, do="start_client", name="producer-orders", kind="producer", topic="orders", **plain | more)


def acked(world: World) -> int:
    return sum(row.get("count", 1) for row in world.operations.rows if row["kind"] == "ok" and row["op"] == "send")


def ends(world: World) -> dict[str, Any]:
    return {f"orders-{number}": observe.log_marks(world, "orders", number) for number in range(3)}


def test_requests_by_reference_and_through_the_codec_do_the_same() -> None:
    journals = []
    for codec in (False, True):
        world = cluster(codec=codec)
        load(world)
        world.run_until(6 * S)
        do(world, do="kill", leader_of="orders-0")
        world.run_until(14 * S)
        journals.append(list(world.journal.tail))
    assert len(journals[0]) > 1000
    assert journals[0] == journals[1]


def test_a_busy_handler_thread_makes_requests_wait_in_the_queue() -> None:
    world = cluster(StageCosts(network_us=50, io_us=4000), level="details", settings={"num.io.threads": "1"})
    load(world, rate=300)
    world.run_until(8 * S)
    waits = [row[5]["queue_us"] for row in world.journal.tail if row[3] == "request_stages" and row[5]["api"] == "Produce"]
    assert max(waits) > 3000
    assert acked(world) > 100


def test_a_full_request_queue_stops_the_processors_and_nothing_is_lost() -> None:
    settings = {"num.io.threads": "1", "queued.max.requests": "1", "num.network.threads": "1"}
    world = cluster(StageCosts(network_us=10, io_us=3000), settings=settings)
    load(world, rate=200)
    world.run_until(8 * S)
    do(world, do="stop_client", name="producer-orders")
    world.run_until(30 * S)
    assert any(row[3] == "request_queue_full" for row in world.journal.tail)
    sent = sum(row.get("count", 1) for row in world.operations.rows if row["kind"] == "invoke" and row["op"] == "send")
    assert acked(world) == sent > 100


@pytest.mark.parametrize("end", ["kill", "stop", "power_loss", "pause"])
def test_a_broker_that_comes_back_from_any_end_has_every_acked_record(end: str) -> None:
    world = cluster()
    load(world)
    world.run_until(6 * S)
    do(world, do=end, broker=2)
    world.run_until(14 * S)
    do(world, do="resume" if end == "pause" else "restart", broker=2)
    world.run_until(20 * S)
    do(world, do="stop_client", name="producer-orders")
    world.run_until(26 * S)
    total = 0
    for marks in ends(world).values():
        assert len({mark["leo"] for mark in marks.values()}) == 1 and len(marks) == 3
        assert all(mark["hw"] == mark["leo"] for mark in marks.values())
        total += marks[1]["leo"]
    assert total >= acked(world) > 300


def test_the_disks_of_another_broker_are_refused() -> None:
    world = cluster()
    do(world, do="stop", broker=3)
    world.run_until(8 * S)
    storage = world.nodes["broker-3"].storage
    storage.write_text("data/meta.properties", "#\nbroker.id=7\nversion=0\n")
    do(world, do="restart", broker=3)
    world.run_until(12 * S)
    assert world.nodes["broker-3"].how_stopped == "halted"
    fault = [row for row in world.journal.tail if row[3] == "disk_fault"][-1]
    assert "broker.id=7" in fault[5]["error"]


def test_a_setting_changed_while_it_runs_holds_at_every_broker_and_after_a_restart() -> None:
    world = cluster()
    do(world, do="alter_config", topic="orders", set={"retention.ms": "1234"})
    world.run_until(6 * S)
    do(world, do="restart", broker=1)
    world.run_until(14 * S)
    for number in (1, 2, 3):
        broker: Any = world.nodes[f"broker-{number}"].machine
        assert {log.config.retention_ms for log in broker.log_manager.logs() if log.topic == "orders"} == {1234}
