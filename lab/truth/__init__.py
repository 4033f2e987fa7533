"""One truth for everybody who asks what a cluster has decided: `truth_of(world)`, see `port`."""

from __future__ import annotations

from typing import Any

from broker_core.kernel.world import World
from lab.truth.kraft import KRaftTruth
from lab.truth.port import Truth
from lab.truth.zookeeper import ZooKeeperTruth

__all__ = ["Truth", "truth_of"]


def truth_of(world: World) -> Truth:
    """That of the generation of the world's cluster; what it has heard of a quorum or an ensemble is kept with the
    world."""
    operator: Any = world.operator
    cluster = operator.spec.cluster if hasattr(operator, "spec") else None
    if cluster is None or (cluster.ensemble == 1 and not cluster.is_kraft):
        return ZooKeeperTruth(world)
    kept: Truth | None = operator.past.truth
    if kept is not None:
        return kept
    return KRaftTruth(world) if cluster.is_kraft else ZooKeeperTruth(world)
