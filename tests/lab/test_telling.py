"""What was cut is told: in the journal with partition and offsets, and on the terminal."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from broker_core.kernel.world import World
from lab.clusters import observe
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from lab.telling import Telling, not_serving
from tests.worlds import do, run
from lab.truth import truth_of


def cluster() -> World:
    world = build_world(run_from_dict({
        "cluster": {"brokers": 3, "preset": "teaching"},
        "clients": [{"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 50, "settings": {"acks": "all"}}],
    }))  # fmt: skip
    Telling(world)
    run(world, 1)
    do(world, do="create_topic", topic="orders", partitions=1, replication_factor=3)
    run(world, 1)
    do(world, do="start_client", name="producer-a")
    run(world, 12)  # high watermarks are written down every five seconds
    do(world, do="stop_client", name="producer-a")
    run(world, 6)
    return world


def rows(world: World, code: str) -> list[tuple[str, dict[str, Any]]]:
    return [(row[2], row[5]) for row in world.journal.tail if row[3] == code]


def test_a_tail_that_was_garbled_takes_acked_records_and_everybody_hears_of_it(caplog: pytest.LogCaptureFixture) -> None:
    """As Kafka with ZooKeeper does: the ISR counts, and nobody compares the logs (KIP-966 is KRaft's)."""
    world = cluster()
    state = truth_of(world).partition_state("orders", 0)
    assert state is not None and sorted(state["isr"]) == [1, 2, 3]
    leader, acked = state["leader"], observe.log_marks(world, "orders", 0)[state["leader"]]["hw"]
    for broker in (1, 2, 3):
        do(world, do="kill", broker=broker)
    file = world.nodes[f"broker-{leader}"].storage.open(f"data/orders-0/{0:020d}.log")
    file.overwrite(file.size // 2, b"?" * (file.size - file.size // 2))
    with caplog.at_level(logging.WARNING, "brokerlab.lab"):
        for broker in (leader, *({1, 2, 3} - {leader})):
            do(world, do="restart", broker=broker)
        run(world, 20)
    ((node, cut),) = [row for row in rows(world, "log_recovered") if row[1]["topic"] == "orders"]
    assert node == f"broker-{leader}" and cut["committed"] and cut["end"] < acked <= cut["before"]
    followed = [row for row in rows(world, "truncated") if row[1]["topic"] == "orders"]
    assert [(one["after"], one["committed"]) for _, one in followed] == [(cut["end"], True)] * 2
    told = [record.getMessage() for record in caplog.records if "orders-0" in record.getMessage()]
    assert len(told) == 3 and told[0].startswith(f"broker-{leader}: orders-0 recovered: ends at {cut['end']}, ")


def test_what_a_follower_had_that_was_never_committed_is_no_line(caplog: pytest.LogCaptureFixture) -> None:
    world = cluster()
    with caplog.at_level(logging.WARNING, "brokerlab.lab"):
        do(world, do="kill", broker=1)
        run(world, 6)
        do(world, do="restart", broker=1)
        run(world, 10)
    assert rows(world, "log_loaded") and not caplog.records


@pytest.mark.parametrize("controller", ["zookeeper", "kraft"])
def test_a_lab_is_there_once_every_broker_listens_and_knows_the_controller_and_all_others(controller: str) -> None:
    world = build_world(run_from_dict({"cluster": {"brokers": 3, "preset": "teaching", "controller": controller}}))
    names = [node.name for _, node in observe.brokers(world)]
    counts = []
    while not counts or counts[-1]:
        counts.append(len(not_serving(world, names)))
        run(world, 0.02)
        assert len(counts) < 500
    assert counts[0] == 3 and sorted(counts, reverse=True) == counts
    caches = [world.nodes[name].machine.cache for name in names]
    assert all(cache.controller_id in (1, 2, 3) and sorted(cache.brokers) == [1, 2, 3] for cache in caches)
    assert not_serving(world, names[:1]) == names[1:]
