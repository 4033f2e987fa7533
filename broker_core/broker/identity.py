"""Whose disks are these? `meta.properties` in each log directory names its broker and its cluster.

| meta.properties says | the broker |
|---|---|
| nothing (a blank disk) | writes its id and the cluster's id there |
| its own id, this cluster | starts |
| another broker's id, or another cluster | refuses to start: somebody has mixed up the disks |
| (it cannot be read or written) | starts without this directory, unless it was the last one |

(Kafka: InconsistentBrokerIdException, InconsistentClusterIdException.)
"""

from __future__ import annotations

from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import Node
from broker_core.log.checkpoints import read_meta_properties, write_meta_properties
from broker_core.log.log_manager import LogManager


def claim_disks(node: Node, logs: LogManager, broker_id: int, cluster_id: str) -> bool:
    """Check every directory and mark the blank ones; False when one belongs to somebody else."""
    mine = {"broker.id": str(broker_id), "cluster.id": cluster_id, "version": "0"}
    for log_dir in logs.live_dirs():
        try:
            if not _claim(node, log_dir, mine):
                return False
        except StorageError as error:
            logs.fail_directory(log_dir, str(error))
    return True


def _claim(node: Node, log_dir: str, mine: dict[str, str]) -> bool:
    found = read_meta_properties(node.storage, log_dir)
    for key in ("broker.id", "cluster.id"):
        if key in found and found[key] != mine[key]:
            reason = f"{log_dir}/meta.properties says {key}={found[key]}, expected {mine[key]}"
            node.emit(events.DISK_FAULT, path=log_dir, error=reason, operation="start")
            return False
    if found != mine:
        write_meta_properties(node.storage, log_dir, mine)
    return True
