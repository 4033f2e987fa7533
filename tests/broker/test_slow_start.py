"""A broker with much to check opens its logs in slices: the cluster goes on meanwhile, and nothing is served too early."""

from __future__ import annotations

from itertools import takewhile

import pytest

from broker_core.broker import broker as broker_module
from broker_core.kernel.inputs import Command
from broker_core.kernel.world import World
from lab.clusters import observe
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from tests.worlds import S, do, run


LOGS = 12


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Broker 2 was killed, and has so many logs to check that each takes a slice of its own."""
    monkeypatch.setattr(broker_module, "LOADING_BYTES", 100)
    world = build_world(run_from_dict({"cluster": {"brokers": 3, "preset": "teaching"}}))
    run(world, 1)
    do(world, do="create_topic", topic="orders", partitions=LOGS, replication_factor=3)
    run(world, 1)
    for partition in range(LOGS):
        do(world, do="produce", topic="orders", partition=partition, value="x" * 100, acks="all")
    run(world, 2)
    do(world, do="kill", broker=2)
    run(world, 5)
    return world


def test_a_recovery_of_many_logs_takes_slices_and_the_broker_listens_behind_the_last(world: World) -> None:
    before = world.seq
    do(world, do="restart", broker=2)
    run(world, 8)
    rows = [row for row in world.journal.tail if row[0] > before and row[2] == "broker-2"]
    slices = [row for row in rows if row[3] == "logs_loading"]
    assert [row[5]["opened"] for row in slices] == list(range(1, LOGS + 1)) and slices[0][1] < slices[-1][1]
    listening = next(row for row in rows if row[3] == "listening")
    assert listening[1] > slices[-1][1] and all(row[1] >= listening[1] for row in rows if row[3] == "became_follower")
    marks = [observe.log_marks(world, "orders", partition) for partition in range(LOGS)]
    assert [{broker: one["hw"] for broker, one in each.items()} for each in marks] == [{1: 1, 2: 1, 3: 1}] * LOGS


def test_a_recovery_is_stepped_through_log_by_log_while_the_others_go_on(world: World) -> None:
    world.inject(Command({"do": "restart", "broker": 2}))
    seen: list[int] = []
    others, before, until_us = 0, world.seq, world.now_us + 8 * S
    while len(seen) < LOGS and world.step(until_us):
        rows = list(takewhile(lambda row, last=before: row[0] > last, reversed(world.journal.tail)))
        before = world.seq
        opened = [row[5]["opened"] for row in rows if row[3] == "logs_loading"]
        assert len(opened) <= 1, "one step, one slice"
        seen += opened
        others += bool(seen and not opened)
    assert seen == list(range(1, LOGS + 1)) and others > 0
