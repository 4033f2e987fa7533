"""A topic of more partitions than a broker makes at one go: in between it serves what is there, and hears the rest later."""

from __future__ import annotations

from typing import Any

import pytest
from tests.worlds import Driven

from broker_core.replication.taking_over import FEW, SLICE
from broker_core.wire.errors import ErrorCode
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict

MANY = FEW + 3 * SLICE
PLAIN = {"replication_factor": 1}


class Lab(Driven):
    """One broker, the topic orders, and a topic of many partitions that is being made."""

    def __init__(self, controller: str) -> None:
        cluster = {"brokers": 1, "controller": controller, "preset": "teaching", "link_delay_ms": 1}
        self.world = build_world(run_from_dict({"cluster": cluster, "seed": 3}))
        self.run(5)
        self.do(do="create_topic", topic="orders", partitions=1, **PLAIN)
        self.run(1)
        self.do(do="start_client", name="producer-1", kind="producer", topic="orders", rate=100, size=10)
        self.run(1)
        self.do(do="create_topic", topic="many", partitions=MANY, **PLAIN)

    @property
    def broker(self) -> Any:
        return self.world.nodes["broker-1"].machine

    @property
    def made(self) -> int:
        return sum(topic == "many" for topic, _ in self.broker.partitions)

    def until(self, made: int) -> None:
        while self.made < made:
            assert self.world.step(until_us=60_000_000)

    def directories(self) -> list[str]:
        """Of partitions of `many` that are not deleted."""
        names = self.world.nodes["broker-1"].storage.list(self.broker.log_dirs[0])
        return [name for name in names if name.startswith("many-") and not name.endswith("-delete")]

    def failed(self) -> list[Any]:
        return [row for row in self.world.journal.fresh if row[3] == "call_failed"]


@pytest.fixture(params=["zookeeper", "kraft"])
def lab(request: pytest.FixtureRequest) -> Lab:
    return Lab(request.param)


def test_no_event_makes_more_than_a_slice_and_what_is_there_is_served_meanwhile(lab: Lab) -> None:
    counts, ends = [0], []
    while counts[-1] < MANY:
        assert lab.world.step(until_us=60_000_000)
        if lab.made > counts[-1]:
            counts.append(lab.made)
            ends.append(lab.broker.partitions["orders", 0].log.log_end_offset)
            if lab.made < MANY:
                assert lab.broker.replicas.missing("many", MANY - 1) in (
                    ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                )  # fmt: skip
    assert max(after - before for before, after in zip(counts, counts[1:], strict=False)) == SLICE
    assert ends == sorted(set(ends))
    lab.run(1)
    assert all(one.is_leader for one in lab.broker.partitions.values()) and not lab.failed()
    assert lab.broker.cache.partition_count("many") == MANY


def test_a_deletion_waits_until_all_are_made_and_none_is_left(lab: Lab) -> None:
    lab.until(MANY // 2)
    lab.do(do="delete_topic", topic="many")
    lab.run(0.2)
    taking_over = lab.broker.replicas.taking_over
    assert MANY // 2 < lab.made < MANY and taking_over._next.active
    lab.run(10)
    assert not taking_over._line and lab.made == 0 and lab.directories() == [] and not lab.failed()
    lab.do(do="create_topic", topic="many", partitions=1, **PLAIN)
    lab.run(2)
    assert lab.made == 1


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_broker_that_ends_meanwhile_makes_the_rest_at_its_next_start(lab: Lab, how: str) -> None:
    lab.until(SLICE)
    lab.do(do=how, broker=1)
    lab.run(10)
    assert lab.broker is None
    lab.do(do="restart", broker=1)
    while lab.broker is None or lab.made < MANY:
        assert lab.world.step(until_us=60_000_000)
        if lab.broker is not None and lab.broker.mode == "kraft" and 0 < lab.made < MANY:
            assert not lab.broker.cluster.lifecycle.ready_to_unfence
    lab.run(5)
    assert all(one.is_leader for one in lab.broker.partitions.values()) and not lab.failed()
