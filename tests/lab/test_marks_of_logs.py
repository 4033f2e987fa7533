"""What is wrong with a replica's records, in the snapshot: damaged on its disk, or another history than the leader's. A page
that saw it happen and one that came later show the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.lab.test_stopped import Lab

from lab.clusters.observe import brokers
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
        assert now == marks(lab.reduced(node, first, lab.handed_out()), "damaged")
        return now

    assert told() == {}
    lab.do(do="bit_flip", broker=2, topic="orders", partition=0, offset=40)
    lab.do(do="bit_flip", broker=2, topic="orders", partition=0, offset=20)
    lab.do(do="bit_flip", broker=3, topic="orders", partition=0, offset=20)
    assert told() == {"2": ([20, 40],), "3": ([20],)}
    lab.do(do="bit_flip", broker=3, topic="orders", partition=0, offset=20)
    assert told() == {"2": ([20, 40],)}, "the same bit once more is as it was"
    lab.do(do="bit_flip", broker=3, topic="orders", partition=0, offset=20)
    lab.do(do="bit_flip", broker=3, topic="orders", partition=0, offset=20, field="leader_epoch")
    assert told() == {"2": ([20, 40],), "3": ([20],)}
    lab.do(do="bit_flip", broker=3, topic="orders", partition=0, offset=20)
    assert told() == {"2": ([20, 40],), "3": ([20],)}, "another byte of it is still wrong"
    lab.do(do="stop", broker=2)
    lab.run(3)
    assert told() == {"2": ([20, 40],), "3": ([20],)}, "also on the disks of a broker that does not run"
    lab.do(do="wipe", broker=2)
    assert told() == {"3": ([20],)}


def test_two_records_of_one_batch_are_damaged_by_one_bit_and_mended_by_the_same(require_program: Callable[[str], str]) -> None:
    node = require_program("node")
    lab = Lab()
    lab.do(do="set_client", name="producer-a", set={"linger.ms": "500"})
    lab.run(3)
    lab.settle()
    first = lab.state()
    base = next(from_ for from_, last, *_ in reversed(first["topics"]["orders"]["partitions"]["0"]["logs"]["2"]["tail"]) if last > from_)
    lab.rows.clear()
    lab.do(do="bit_flip", broker=2, topic="orders", partition=0, offset=base)
    lab.do(do="bit_flip", broker=2, topic="orders", partition=0, offset=base + 1)
    assert marks(lab.state()["topics"], "damaged") == {} == marks(lab.reduced(node, first, lab.handed_out()), "damaged")


def test_a_follower_that_does_not_take_what_its_leader_sends_says_from_where(require_program: Callable[[str], str]) -> None:
    node = require_program("node")
    lab = Lab()
    first = lab.state()
    lab.rows.clear()
    leader = first["topics"]["orders"]["partitions"]["0"]["leader"]
    follower = leader % 3 + 1

    def told() -> Marks:
        now = marks(lab.state()["topics"], "refuses")
        assert now == marks(lab.reduced(node, first, lab.handed_out()), "refuses")
        return now

    lab.do(do="stop", broker=follower)
    lab.run(3)
    end = lab.state()["topics"]["orders"]["partitions"]["0"]["logs"][str(follower)]["leo"]
    lab.do(do="bit_flip", broker=leader, topic="orders", partition=0, offset=end)
    lab.do(do="restart", broker=follower)
    lab.run(4)
    assert told() == {str(follower): (end,)}
    lab.do(do="bit_flip", broker=leader, topic="orders", partition=0, offset=end)
    lab.run(3)
    assert told() == {}, "the bit has turned back, and the follower copies on"


def test_a_leader_epoch_that_a_bit_has_changed_is_damage_and_no_other_history(require_program: Callable[[str], str]) -> None:
    """No checksum covers it: the follower takes it over, and its epochs are others than the leader's."""
    node = require_program("node")
    lab = Lab()
    first = lab.state()
    lab.rows.clear()
    leader = first["topics"]["orders"]["partitions"]["0"]["leader"]
    follower = leader % 3 + 1
    lab.do(do="stop", broker=follower)
    lab.run(3)
    end = lab.state()["topics"]["orders"]["partitions"]["0"]["logs"][str(follower)]["leo"]
    lab.do(do="bit_flip", broker=leader, topic="orders", partition=0, offset=end, field="leader_epoch")
    lab.do(do="restart", broker=follower)
    lab.run(4)
    epochs = [node.machine.partitions["orders", 0].log.leader_epochs.entries for _, node in brokers(lab.world)]
    assert epochs[leader - 1] != epochs[follower - 1]
    now = marks(lab.state()["topics"], "damaged", "forked", "joined")
    assert now == {str(leader): ([end], None, None)}
    assert now == marks(lab.reduced(node, first, lab.handed_out()), "damaged", "forked", "joined")


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
