"""Cooperative rebalances (KIP-429) on real brokers: who keeps a partition goes on reading it."""

from __future__ import annotations

import pytest
from tests.clients_core.test_consumer import GROUP, Lab
from tests.worlds import S

from broker_core.clients.metadata import TopicPartition

JAVA = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"


def _joined(strategy: str, commit: str = "auto") -> tuple[Lab, int]:
    """Two members, the second with a slow heart, and then a third; the time at which that was started."""
    lab = Lab(count=0)
    settings = {**GROUP, "partition.assignment.strategy": strategy, "heartbeat.interval.ms": 500}
    lab.start("c1", settings=settings, commit=commit)
    lab.start("c2", settings={**settings, "heartbeat.interval.ms": 3000}, commit=commit)
    lab.run(8)
    started = lab.world.now_us
    lab.start("c3", settings=settings, commit=commit)
    lab.run(9)
    return lab, started


def _polls(lab: Lab, name: str, since: int, until: int) -> list[int]:
    rows = lab.world.operations.rows
    return [r["t"] for r in rows if r["op"] == "poll" and r["process"] == name and since <= r["t"] < until]


def _shares(lab: Lab, *names: str) -> list[set[TopicPartition]]:
    return [set(lab.consumer(name).positions.of) for name in names]


@pytest.mark.parametrize("strategy", ["cooperative-sticky", JAVA])
def test_what_stays_is_never_given_up_and_what_goes_is_read_once(strategy: str) -> None:
    lab, started = _joined(strategy)
    shares = _shares(lab, "c1", "c2", "c3")
    assert [len(share) for share in shares] == [2, 2, 2] and len(set.union(*shares)) == 6
    rows = [row for row in lab.world.operations.rows if row["t"] >= started]
    gone = {name: [tuple(tp) for row in rows if row["op"] == "revoke" and row["process"] == name
                   for tp in row["partitions"]] for name in ("c1", "c2")}
    assert [len(found) for found in gone.values()] == [1, 1]
    assert {tp for found in gone.values() for tp in found} == shares[2]
    told = [row[5] for row in lab.world.journal.tail if row[3] == "partitions_revoked"]
    assert [len(one["partitions"]["orders"]) for one in told] == [1, 1] and [len(one["kept"]["orders"]) for one in told] == [2, 2]
    for row in rows:
        if row["op"] == "assign" and row["process"] in gone:
            assert len(row["partitions"]) == 2
    assert set(lab.read("c1", "c2", "c3").values()) == {1}


def test_a_commit_that_meets_the_rebalance_is_refused_and_only_what_moved_is_read_again() -> None:
    lab, _ = _joined("cooperative-sticky", "after")
    rows = lab.world.operations.rows
    refused = [row for row in rows if row["op"] == "commit" and row["kind"] == "fail"]
    values = lab.read("c1", "c2", "c3")
    twice = {value for value, times in values.items() if times > 1}
    moved = {tuple(tp) for row in rows if row["op"] == "revoke" for tp in row["partitions"]}
    places = {(row["topic"], row["partition"]) for row in rows if row["op"] == "poll"
              for _, label, first, count in row["runs"] if any((label, first + n) in twice for n in range(count))}
    assert refused and places <= moved
    read = {number for _, number in values}
    assert set(range(max(read) - 100)) <= read


def _longest_gap(strategy: str) -> int:
    """The longest time that the first member was given nothing, from the newcomer's start to its first records."""
    lab, started = _joined(strategy)
    end = _polls(lab, "c3", started, 1 << 62)[0]
    times = _polls(lab, "c1", started, end)
    return max(after - before for before, after in zip([started, *times], [*times, end], strict=True))


def test_an_eager_group_stands_still_while_a_cooperative_one_reads_on() -> None:
    """A record for the first member comes every 30 ms or so."""
    assert _longest_gap("cooperative-sticky") < 0.3 * S < S < _longest_gap("sticky")


def test_cooperative_beside_range_is_eager_until_range_is_taken_away() -> None:
    lab, _ = _joined("cooperative-sticky,range")
    assert not [row for row in lab.world.operations.rows if row["op"] == "revoke"]
    assert [len(share) for share in _shares(lab, "c1", "c2", "c3")] == [2, 2, 2]


def test_an_eager_and_a_cooperative_member_share_a_group_during_a_rolling_upgrade() -> None:
    lab = Lab(count=0)
    lab.start("old", settings={**GROUP, "partition.assignment.strategy": "cooperative-sticky,range"})
    lab.run(4)
    lab.start("new", settings={**GROUP, "partition.assignment.strategy": "cooperative-sticky"})
    lab.run(10)
    shares = _shares(lab, "old", "new")
    assert [len(share) for share in shares] == [3, 3] and not shares[0] & shares[1]
    assert set(lab.read("old", "new").values()) == {1}
