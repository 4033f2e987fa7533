"""One truth for everybody who asks what a cluster has decided: `truth_of(world)`, see `port`.

Neighbours have one each, which is read below their chroot in the same tree.
"""

from __future__ import annotations

from broker_core.kernel.world import World
from lab.clusters.charge import charge_of
from lab.truth.kraft import KRaftTruth
from lab.truth.port import Truth
from lab.truth.zookeeper import ZooKeeperTruth

__all__ = ["Truth", "ZooKeeperTruth", "neighbour_truth", "truth_of", "truth_of_cluster"]


def truth_of(world: World) -> Truth:
    """That of the generation of the world's cluster; what it has heard of a quorum or an ensemble is kept with the
    world."""
    charge = charge_of(world)
    if charge is None:
        return ZooKeeperTruth(world)
    cluster, kept = charge.spec.cluster, charge.past.truth
    if cluster.ensemble == 1 and not cluster.is_kraft:
        return kept.below(cluster.chroot) if isinstance(kept, ZooKeeperTruth) else ZooKeeperTruth(world, cluster.chroot)
    if kept is not None:
        return kept
    return KRaftTruth(world) if cluster.is_kraft else ZooKeeperTruth(world, cluster.chroot)


def truth_of_cluster(world: World, name: str) -> Truth | None:
    """That of the world's own cluster (""), or of a neighbour; None where nobody is called so."""
    if not name:
        return truth_of(world)
    charge = charge_of(world)
    known = [] if charge is None else charge.spec.cluster.neighbours
    return next((neighbour_truth(world, one.chroot) for one in known if one.name == name), None)


def neighbour_truth(world: World, chroot: str) -> ZooKeeperTruth:
    """What the tree holds below this chroot."""
    own = truth_of(world)
    assert isinstance(own, ZooKeeperTruth)
    return own.below(chroot)
