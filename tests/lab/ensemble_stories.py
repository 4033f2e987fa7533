"""Stories of a cluster whose coordination tree is kept by three servers, one for each mutant of the swarm that a light
of the ensemble has to notice: what a swarm run comes upon by chance is done on purpose, in seconds of virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lab.checkers.invariants import InvariantMonitor
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from lab.truth import truth_of
from tests.worlds import Driven

SERVERS = ("zookeeper-1", "zookeeper-2", "zookeeper-3")
SPEC = {"cluster": {"brokers": 3, "ensemble": 3, "preset": "teaching", "link_delay_ms": 1}, "seed": 5}


class EnsembleLab(Driven):
    """Three brokers, three servers of the tree, one topic, its monitor."""

    def __init__(self) -> None:
        self.world = build_world(run_from_dict(SPEC))
        self.monitor = InvariantMonitor(self.world)
        self.run(6)
        self.create("orders")
        assert truth_of(self.world).partition_state("orders", 0)["leader"] > 0

    def create(self, topic: str) -> None:
        self.do(do="create_topic", topic=topic, partitions=1, replication_factor=3)
        self.run(2)

    def server(self, name: str) -> Any:
        return self.world.nodes[name].machine

    @property
    def leader(self) -> str:
        """The server that leads, of the newest epoch."""
        found = [name for name in SERVERS if self.server(name) is not None and self.server(name).leads]
        return max(found, key=lambda name: int(self.server(name).epoch))

    def silence(self, leader: str) -> None:
        """The others reach the leader with what brokers ask of them, but hear nothing of him."""
        for other in SERVERS:
            if other != leader:
                self.do(do="partition_link", between=[leader, other], one_way=True)


def a_leader_that_nobody_hears_takes_a_write(lab: EnsembleLab) -> None:
    """It is in the log of this leader alone; the next one has never heard of it."""
    old = lab.leader
    lab.silence(old)
    lab.create("only-here")
    lab.run(25)
    assert lab.leader != old
    lab.do(do="stop_all_faults")
    lab.run(5)
    lab.create("behind")
    assert all(lab.server(name).serving for name in SERVERS)


def two_leaders_die(lab: EnsembleLab) -> None:
    """One after the other, and each has a successor."""
    for _ in range(2):
        gone = lab.leader
        lab.do(do="kill", node=gone)
        lab.run(5)
        lab.do(do="restart", node=gone)
        lab.run(5)


def a_broker_dies(lab: EnsembleLab) -> None:
    """Its session ends."""
    lab.do(do="kill", broker=2)
    lab.run(30)


WAYS = {a_leader_that_nobody_hears_takes_a_write: "ensemble_truncated", two_leaders_die: "ensemble_epoch", a_broker_dies: "session_expired"}
"""What sound servers tell on the way, so that a story that no longer gets there is found out."""
ENSEMBLE_BROKEN: list[tuple[str, Callable[[EnsembleLab], None], list[str]]] = [
    ("one-server-commits", a_leader_that_nobody_hears_takes_a_write, ["CommittedTreeKept"]),
    ("promises-are-forgotten", two_leaders_die, ["OneEnsembleLeaderPerEpoch"]),
    ("tails-of-the-tree-are-kept", a_leader_that_nobody_hears_takes_a_write, ["CommittedTreeKept"]),
    ("ephemerals-stay", a_broker_dies, ["EphemeralsHaveSessions"]),
]
