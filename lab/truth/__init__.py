"""One truth for everybody who asks what a cluster has decided: `truth_of(world)`, see `port`."""

from __future__ import annotations

from broker_core.kernel.world import World
from lab.clusters.charge import charge_of
from lab.truth.kraft import KRaftTruth
from lab.truth.port import Truth
from lab.truth.zookeeper import ZooKeeperTruth

__all__ = ["Truth", "truth_of"]


def truth_of(world: World) -> Truth:
    """That of the generation of the world's cluster; what it has heard of a quorum or an ensemble is kept with the
    world."""
    charge = charge_of(world)
    if charge is None:
        return ZooKeeperTruth(world)
    cluster, kept = charge.spec.cluster, charge.past.truth
    if cluster.ensemble == 1 and not cluster.is_kraft:
        return ZooKeeperTruth(world)
    if kept is not None:
        return kept
    return KRaftTruth(world) if cluster.is_kraft else ZooKeeperTruth(world)
