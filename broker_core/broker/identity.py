"""Whose disks are these? `meta.properties` in each log directory names its broker and its cluster.

| meta.properties says | the broker |
|---|---|
| nothing (a blank disk) | writes its id and the cluster's id there |
| its own id, this cluster | starts |
| another broker's id, or another cluster | refuses to start: somebody has mixed up the disks |

(Kafka: InconsistentBrokerIdException, InconsistentClusterIdException.)
"""

from __future__ import annotations

from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.log.checkpoints import read_meta_properties, write_meta_properties


def claim_disks(node: Node, log_dirs: list[str], broker_id: int, cluster_id: str) -> bool:
    """Check every directory and mark the blank ones; False when one belongs to somebody else."""
    mine = {"broker.id": str(broker_id), "cluster.id": cluster_id, "version": "0"}
    for log_dir in log_dirs:
        found = read_meta_properties(node.storage, log_dir)
        for key in ("broker.id", "cluster.id"):
            if key in found and found[key] != mine[key]:
                reason = f"{log_dir}/meta.properties says {key}={found[key]}, expected {mine[key]}"
                node.emit(events.DISK_FAULT, path=log_dir, error=reason, operation="start")
                return False
        if found != mine:
            write_meta_properties(node.storage, log_dir, mine)
    return True
