"""One truth for everybody who asks what a cluster has decided: `truth_of(world)`, see `port`."""

from __future__ import annotations

from typing import Any

from broker_core.kernel.world import World
from lab.truth.kraft import KRaftTruth
from lab.truth.port import Truth
from lab.truth.zookeeper import ZooKeeperTruth

__all__ = ["Truth", "truth_of"]


def truth_of(world: World) -> Truth:
    """That of the generation of the world's cluster; what it has heard of a KRaft cluster is kept with the world."""
    operator: Any = world.operator
    if not hasattr(operator, "spec") or not operator.spec.cluster.is_kraft:
        return ZooKeeperTruth(world)
    kept: Truth | None = operator.past.truth
    return KRaftTruth(world) if kept is None else kept
