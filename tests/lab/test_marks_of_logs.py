"""What is wrong with a replica's records, in the snapshot: damaged on its disk, or another history than the leader's. A page
that saw it happen and one that came later show the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.lab.test_stopped import Lab

from lab.clusters.partings import parting

Marks = dict[str, tuple[Any, ...]]


def marks(topics: dict[str, Any], *names: str) -> Marks:
    """Broker -> these marks of its log of orders-0, where it has one of them."""
    logs = topics["orders"]["partitions"]["0"]["logs"]
    found = {broker: tuple(log.get(name) or None for name in names) for broker, log in logs.items()}
    return {broker: told for broker, told in found.items() if any(told)}


def test_a_damaged_record_is_told_until_its_bit_turns_back_or_its_disk_is_replaced(require_program: Callable[[str], str]) -> None:
    node = require_program("node")
    lab = Lab()
    lab.settle()
    first = lab.state()
    lab.rows.clear()

    def told() -> Marks:
        now = marks(lab.state()["topics"], "damaged")
        assert now == marks(lab.reduced(node, first), "damaged")
        return now

    assert told() == {}
    lab.do(do="bit_flip", broker=2, topic="orders", partition=0, offset=40)
    lab.do(do="bit_flip", broker=2, topic="orders", partition=0, offset=20)
    lab.do(do="bit_flip", broker=3, topic="orders", partition=0, offset=20)
    assert told() == {"2": ([20, 40],), "3": ([20],)}
    lab.do(do="bit_flip", broker=3, topic="orders", partition=0, offset=20)
    assert told() == {"2": ([20, 40],)}, "the same bit once more is as it was"
    lab.do(do="stop", broker=2)
    lab.run(3)
    assert told() == {"2": ([20, 40],)}, "also on the disks of a broker that does not run"
    lab.do(do="wipe", broker=2)
    assert told() == {}


@pytest.mark.parametrize(("log", "expected"), [
    ((((0, 0), (2, 60)), 0, 80), {}),
    ((((0, 0),), 0, 50), {}),
    ((((0, 0),), 0, 70), {"forked": 60}),
    ((((0, 0), (1, 60)), 0, 120), {"forked": 60}),
    ((((0, 0), (1, 60), (2, 63)), 0, 100), {"forked": 60, "joined": 63}),
    ((((0, 0), (2, 60)), 0, 120), {"forked": 100}),
    (((), 0, 100), {}),
])  # fmt: skip
def test_two_logs_have_the_same_record_where_the_same_epoch_owns_its_offset(log: Any, expected: dict[str, int]) -> None:
    assert parting(log, (((0, 0), (2, 60)), 0, 100)) == expected


def test_another_history_is_told_as_the_page_has_seen_it_come_about(require_program: Callable[[str], str]) -> None:
    node = require_program("node")
    lab = Lab(**{"unclean.leader.election.enable": "true"})
    first = lab.state()
    lab.rows.clear()
    leader = first["topics"]["orders"]["partitions"]["0"]["leader"]
    others = [broker for broker in (1, 2, 3) if broker != leader]

    def told() -> Marks:
        now = marks(lab.state()["topics"], "forked", "joined")
        assert now == marks(lab.reduced(node, first), "forked", "joined")
        return now

    lab.do(do="set_client", name="producer-a", set={"acks": "1"})
    for broker in others:
        lab.do(do="stop", broker=broker)
    lab.run(3)
    assert told() == {}
    lab.do(do="kill", broker=leader)
    lab.run(5)
    lab.do(do="restart", broker=others[0])
    lab.run(8)
    assert lab.state()["topics"]["orders"]["partitions"]["0"]["leader"] == others[0]
    forked, joined = told()[str(leader)]
    assert forked > 0 and joined is None
    lab.do(do="restart", broker=leader)
    lab.run(8)
    assert told() == {}, "it has cut what it had alone"
