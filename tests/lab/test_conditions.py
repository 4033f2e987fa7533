"""Conditions on groups, znodes, queues, segments and beliefs, in worlds in which they change."""

from __future__ import annotations

from typing import Any

import pytest

from lab.scenarios import grammar
from lab.scenarios.conditions import condition
from lab.clusters.checks import SpecError
from lab.testing import cluster

GENERATIONS = pytest.mark.parametrize("controller", ["kraft", "zookeeper"])
READER: dict[str, Any] = {"kind": "consumer", "topic": "orders", "settings": {"group.id": "billing", "auto.offset.reset": "earliest"}}


@GENERATIONS
def test_a_group_forms_works_and_is_left(controller: str) -> None:
    with cluster(simulated=True, controller=controller, topics={"orders": 2}) as kafka:
        assert kafka.value(members_of="billing") is None
        kafka.start_client("producer-1", kind="producer", topic="orders", rate=100)
        kafka.start_client("reader-1", **READER)
        assert kafka.wait(group_state_of="billing", is_="Stable") == "Stable"
        assert (kafka.value(members_of="billing"), kafka.value(generation_of="billing")) == (1, 1)
        kafka.start_client("reader-2", **READER)
        assert kafka.wait(members_of="billing", is_=2) == 2
        assert kafka.wait(generation_of="billing", is_="> 1") > 1
        kafka.stop_client("producer-1")
        kafka.wait(lag_of="billing", is_=0)
        kafka.stop_client("reader-1")
        kafka.stop_client("reader-2")
        assert kafka.wait(group_state_of="billing", is_="Empty") == "Empty"
        assert kafka.value(members_of="billing") == 0
        for _ in range(5):
            kafka.produce("orders", "later", partition=0)
        kafka.run(1)
        assert kafka.value(lag_of="billing") == 5


@GENERATIONS
def test_a_transaction_is_opened_decided_and_complete(controller: str) -> None:
    sales = {"kind": "producer", "topic": "orders", "rate": 20, "settings": {"transactional.id": "sales", "acks": "all"}, "transaction_ms": 500}
    with cluster(simulated=True, controller=controller, topics={"orders": 1}, link_delay_ms=5) as kafka:
        assert kafka.value(transaction_state_of="sales") is None
        kafka.start_client("producer-1", **sales)
        for state in ("Empty", "Ongoing", "PrepareCommit", "CompleteCommit"):
            assert kafka.wait(transaction_state_of="sales", is_=state) == state


def test_a_znode_appears_and_is_gone() -> None:
    with cluster(simulated=True, controller="zookeeper") as kafka:
        assert kafka.value(znode="/controller") == 0
        assert kafka.value(znode="/brokers/topics/orders") == -1
        kafka.create_topic("orders")
        assert kafka.wait(znode="/brokers/topics/orders", is_=">= 0") == 0
        kafka.kill(2)
        assert kafka.wait(znode="/brokers/ids/2", is_=-1) == -1
    with cluster(simulated=True) as kafka:
        assert kafka.value(znode="/controller") is None


@GENERATIONS
def test_a_broker_that_hears_nothing_believes_in_the_old_leader(controller: str) -> None:
    with cluster(simulated=True, controller=controller, controllers=3 if controller == "kraft" else 0, topics={"orders": 1}) as kafka:
        led = kafka.value(leader_of="orders-0")
        kafka.wait(believed_by=f"orders-0@{led}", is_=led)
        kafka.isolate(led)
        now = kafka.wait(leader_of="orders-0")
        other = next(broker for broker in (1, 2, 3) if broker not in (led, now))
        assert kafka.wait(believed_by=f"orders-0@{other}", is_=now) == now
        assert kafka.value(believed_by=f"orders-0@{led}") == led
        kafka.heal()
        assert kafka.wait(believed_by=f"orders-0@{led}", is_=now) == now


def test_segments_roll_and_requests_queue() -> None:
    topics = {"orders": {"partitions": 1, "configs": {"segment.bytes": "1048576"}}}
    with cluster(simulated=True, controller="zookeeper", topics=topics, settings={"num.io.threads": 1}) as kafka:
        assert (kafka.value(segments_of="orders-0"), kafka.value(queued_at="broker-1")) == (1, 0)
        kafka.start_client("producer-1", kind="producer", topic="orders", rate=200, size=10_000)
        assert kafka.wait(segments_of="orders-0", is_=">= 2") == 2
        led = kafka.value(leader_of="orders-0")
        kafka.set_stage_costs(set={"io_us": 20_000})
        assert kafka.wait(queued_at=f"broker-{led}", is_=">= 1") >= 1
        kafka.kill(led)
        assert kafka.value(queued_at=f"broker-{led}") is None


@pytest.mark.parametrize(("given", "place"), [
    ({"group_state_of": "billing", "is": "Stabel"}, "is"),
    ({"members_of": "billing", "is": "Stable"}, "is"),
    ({"transaction_state_of": "sales", "is": "Committed"}, "is"),
    ({"believed_by": "orders-0", "is": 1}, "believed_by"),
    ({"znode": "controller", "is": 1}, "znode"),
    ({"segments_of": "orders", "is": 1}, "segments_of"),
])  # fmt: skip
def test_what_is_no_such_condition_is_refused_with_its_place(given: dict[str, Any], place: str) -> None:
    with pytest.raises(SpecError) as caught:
        condition(given, ())
    assert caught.value.where == place


def test_a_scenario_waits_for_them_and_expects_them() -> None:
    document = {
        "scenario": "of-groups", "cluster": {"brokers": 3}, "topics": [{"name": "orders"}],
        "clients": [{"name": "reader", **READER}], "duration": "10s",
        "steps": [{"when": {"group_state_of": "billing", "is": "Stable"}, "do": "kill", "broker": 2}],
        "expect": {"members_of.billing": 1, "believed_by.orders-0@1": ">= 1", "znode./controller": ">= 0"},
    }
    assert str(grammar.from_dict(document).expect["members_of.billing"]) == "== 1"
