"""Every process of a KRaft cluster is killed at once, and a log is garbled: what is decided is held against Apache Kafka 4.3.

The controller that is elected then knows nobody to be alive: it fences all, and who registers has not ended in order, so
that its copy counts for nothing (KIP-966). Left is who led last. If that one's log was garbled, what it had acked goes,
though whole copies of it are there; if another one's was, it is copied again.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

from broker_core.kernel.world import World
from lab.clusters import observe
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from lab.telling import Telling
from lab.truth import truth_of
from tests.lab.test_inspect_metadata import records
from tests.worlds import do, run

FIELDS = ("isr", "leader", "eligibleLeaderReplicas", "lastKnownElr", "leaderRecoveryState")
KAFKA: dict[int, list[dict[str, Any]]] = {
    1: [
        {"isr": [3, 2], "leader": 3},
        {"isr": [3]},
        {"isr": [], "leader": -1, "eligibleLeaderReplicas": [3], "lastKnownElr": [3]},
        {"eligibleLeaderReplicas": []},
        {"isr": [3], "leader": 3, "leaderRecoveryState": 1, "lastKnownElr": []},
    ],
    2: [
        {"isr": [3, 2], "leader": 3},
        {"isr": [3], "eligibleLeaderReplicas": [2]},
        {"isr": [], "leader": -1, "eligibleLeaderReplicas": [2, 3], "lastKnownElr": [3]},
        {"eligibleLeaderReplicas": [2]},
        {"eligibleLeaderReplicas": []},
        {"isr": [3], "leader": 3, "leaderRecoveryState": 1, "lastKnownElr": []},
    ],
}
"""min.insync.replicas -> the PartitionChangeRecords that a 4.3 wrote for replicas 1, 3, 2 when 1, 2, 3 were fenced in this
order, and 3 was the first to register (`oracle.py up newest`, kill -9 of all three)."""


def killed(min_isr: int, garbled: int) -> tuple[World, int]:
    """The world once all has started again, and how much had been acked; broker 1 led, the order of `KAFKA`."""
    world = build_world(run_from_dict({
        "cluster": {"brokers": 3, "preset": "teaching", "controller": "kraft"},
        "clients": [{"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 50, "settings": {"acks": "all"}}],
    }))  # fmt: skip
    Telling(world)
    run(world, 3)
    do(world, do="create_topic", topic="orders", assignment=[[1, 3, 2]], configs={"min.insync.replicas": str(min_isr)})
    run(world, 1)
    do(world, do="start_client", name="producer-a")
    run(world, 7)
    do(world, do="stop_client", name="producer-a")
    run(world, 6)
    acked = observe.log_marks(world, "orders", 0)[1]["hw"]
    for broker in (1, 2, 3):
        do(world, do="kill", broker=broker)
    file = world.nodes[f"broker-{garbled}"].storage.open(f"data/orders-0/{0:020d}.log")
    file.overwrite(file.size // 2, b"?" * (file.size - file.size // 2))
    for broker in (3, 2, 1):
        do(world, do="restart", broker=broker)
    run(world, 12)
    return world, acked


def rows(world: World, code: str) -> list[tuple[str, dict[str, Any]]]:
    return [(row[2], row[5]) for row in world.journal.tail if row[3] == code and row[5]["topic"] == "orders"]


@pytest.mark.parametrize("min_isr", [1, 2])
def test_the_last_leader_is_elected_and_takes_what_was_garbled_there_and_everybody_hears_of_it(
    min_isr: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "brokerlab.lab"):
        world, acked = killed(min_isr, garbled=3)
    log = records(world, "broker-1")
    written = [row["data"] for row in log if row["kind"] == "PARTITION_CHANGE_RECORD"]
    decided = [{name: row[name] for name in FIELDS if name in row} for row in written]
    assert decided[: len(KAFKA[min_isr])] == KAFKA[min_isr]
    new_life = [row for row in log if row["kind"] == "REGISTER_BROKER_RECORD" and row["data"]["brokerId"] == 3][-1]
    assert new_life["data"]["brokerEpoch"] == new_life["offset"] - 1, "the old one's end is written first, the epoch begins there"
    ((node, cut),) = rows(world, "log_recovered")
    assert node == "broker-3" and cut["committed"] and cut["end"] < acked <= cut["before"]
    assert [(one["after"], one["committed"]) for _, one in rows(world, "truncated")] == [(cut["end"], True)] * 2
    assert rows(world, "leader_elected")[-1][1]["reason"] == "unclean"
    told = [record.getMessage() for record in caplog.records if "orders-0" in record.getMessage()]
    assert len(told) == 3 and told[0].startswith(f"broker-3: orders-0 recovered: ends at {cut['end']}, had reached {acked}")


@pytest.mark.parametrize("garbled", [1, 2])
def test_what_was_garbled_elsewhere_is_copied_again(garbled: int) -> None:
    world, acked = killed(2, garbled)
    ((node, cut),) = rows(world, "log_recovered")
    assert node == f"broker-{garbled}" and cut["end"] < acked
    assert truth_of(world).partition_state("orders", 0)["leader"] == 3
    assert [one["leo"] for one in observe.log_marks(world, "orders", 0).values()] == [acked] * 3
