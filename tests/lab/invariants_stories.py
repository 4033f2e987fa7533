"""Stories of replicas without the protection that they need; the test plays the controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.kernel.world import World
from broker_core.metadata.partition import LeaderAndIsr
from broker_core.replication.protections import Protections
from lab.checkers.invariants import InvariantMonitor
from tests.replication.harness import Cluster


class Truth:
    """Leader and ISR as the test, which plays the controller, has decided."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def __call__(self, world: World, topic: str, index: int) -> LeaderAndIsr | None:
        truth = self.cluster.truth.get((topic, index))
        return truth and LeaderAndIsr(truth["leader"], truth["isr"], truth["epoch"], truth["partition_epoch"])


class Clock:
    """Something happens all the time, as in a real cluster: time moves in small steps."""

    def __init__(self, world: World) -> None:
        self.world = world

    def tick(self) -> None:
        self.world.schedule(10_000, None, self.tick, ())


def watched(brokers: int, protections: Protections, **more: Any) -> tuple[Cluster, InvariantMonitor]:
    cluster = Cluster(brokers, protections, **more)
    monitor = InvariantMonitor(cluster.world, Truth(cluster))
    Clock(cluster.world).tick()
    return cluster, monitor


def cut_off(cluster: Cluster, one: int, other: int, cut: bool = True) -> None:
    for a, b in ((one, other), (other, one)):
        cluster.world.network.link(f"broker-{a}", f"broker-{b}").change(partitioned=cut)


def s1(cluster: Cluster) -> None:
    """A follower restarts, cuts to its late high watermark, and is elected."""
    cluster.assign(2, 0, replicas=[1, 2])
    cluster.produce(2, "m1")
    cluster.run(6000)
    cluster.produce(2, "m2")
    cluster.run(60)
    cluster.world.crash("broker-1")
    cut_off(cluster, 1, 2)
    cluster.restart(1)
    cluster.assign(2, 1, replicas=[1, 2])
    cluster.run(60)
    cluster.world.crash("broker-2")
    cluster.assign(1, 2, replicas=[1, 2], isr=[1], to=[1])
    cluster.run(200)


def s2(cluster: Cluster) -> None:
    """Two leaders in quick succession; the follower does not find where they differ."""
    cluster.assign(1, 0, replicas=[1, 2], to=[1])
    cluster.produce(1, "m0", acks=1)
    cluster.assign(2, 1, replicas=[1, 2], to=[2])
    cluster.produce(2, "m1", acks=1)
    cluster.assign(1, 2, replicas=[1, 2], to=[1])
    cluster.produce(1, "m2", acks=1)
    cluster.assign(1, 3, replicas=[1, 2], to=[2])
    cluster.assign(1, 4, replicas=[1, 2])
    cluster.run(3000)


def s3(cluster: Cluster) -> None:
    """A fetch of an old epoch commits a record; then the follower acts on the old epoch, and cuts it away."""
    cluster.assign(1, 0)
    cluster.assign(2, 1, to=[1, 2])
    cluster.assign(1, 3, isr=[1, 3], to=[1])
    cluster.produce(1, "m0")
    cluster.run(3000)
    real = dict(cluster.truth["orders", 0])
    cluster.assign(2, 1, to=[3], isr=[1, 2, 3])
    cluster.truth["orders", 0] = real
    cluster.run(3000)


def s4(cluster: Cluster) -> None:
    """An empty follower joins the ISR of a leader whose high watermark is still old."""
    cluster.assign(2, 1, isr=[2, 3], to=[2, 3])
    cluster.run(100)
    cluster.produce(2, "m0")
    cluster.run(100)
    cluster.assign(3, 2, isr=[2, 3], to=[3, 1])
    for _ in range(30):
        cluster.run(5)


def s5(cluster: Cluster) -> None:
    """A leader that was replaced commits by the fetch of a follower that is in a newer epoch."""
    cluster.assign(2, 1, isr=[2, 3], to=[2])
    cluster.produce(2, "x")
    cluster.assign(3, 2, isr=[2, 3], to=[3, 1])
    cluster.run(100)
    cluster.assign(2, 3, isr=[1, 2, 3], to=[3])
    cluster.run(3000)


def s6(cluster: Cluster) -> None:
    """A follower that has missed an epoch in between does not look where its log differs."""
    cluster.assign(1, 0, to=[1, 3])
    cluster.produce(1, "x", acks=1)
    cluster.assign(2, 1, to=[1, 2])
    cluster.run(10)
    cluster.assign(1, 2, to=[1, 2])
    cluster.produce(1, "y", acks=1)
    cluster.assign(1, 3, to=[3])
    cluster.assign(1, 4)
    cluster.run(3000)
    cluster.produce(1, "z")
    cluster.run(1000)


def s8(cluster: Cluster) -> None:
    """A leader commits by the old ISR while the controller may elect the new member, who lacks the record."""
    cluster.assign(1, 0, isr=[1, 2], to=[1, 2])
    cluster.controller_answers = False
    cluster.assign(1, 0, isr=[1, 2], to=[3])
    cluster.run(2000)
    cluster.world.pause("broker-3")
    cluster.run(40_000)
    cluster.produce(1, "m0", timeout_ms=100_000)
    cluster.run(31_000)
    cluster.produce(1, "m1")
    cluster.run(100)


AGREEMENT = ["StrongIsr", "WeakIsr"]
MUTANTS: list[tuple[Callable[[Cluster], None], int, dict[str, bool], dict[str, Any], list[str]]] = [
    (s1, 2, {"truncate_by_leader_epoch": False}, {}, [*AGREEMENT, "ValidHighWatermark", "LeaderCandidateCompleteness", "NoCommittedRecordLost"]),
    (s2, 2, {"epoch_end_offset_of_largest_not_above": False}, {}, [*AGREEMENT, "LogMatching"]),
    (s3, 3, {"fence_fetch_by_leader_epoch": False}, {}, [*AGREEMENT, "ValidHighWatermark", "LeaderCandidateCompleteness"]),
    (s4, 3, {"isr_expansion_waits_for_epoch_start": False}, {"link_delay_us": 10_000}, ["StrongIsr", "LeaderCandidateCompleteness"]),
    (s5, 3, {"fence_follower_of_newer_epoch": False, "diverging_epoch_in_fetch": False}, {}, ["StrongIsr"]),
    (s6, 3, {"truncate_on_every_new_epoch": False}, {}, [*AGREEMENT, "LogMatching"]),
    (s8, 3, {"maximal_isr": False}, {}, ["ValidHighWatermark"]),
]
