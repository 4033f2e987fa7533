"""Whose disks are these? `meta.properties` in each log directory names its process and its cluster.

| meta.properties says | the process |
|---|---|
| nothing (a blank disk) | writes its id and the cluster's id there: with KRaft, what `kafka-storage format` does |
| its own id, this cluster | starts |
| another id, another cluster, the other generation | refuses to start: somebody has mixed up the disks |
| (it cannot be read or written) | starts without this directory, unless it was the last one |

    ZooKeeper   version=0   broker.id=1   cluster.id=oU6ajLSbSamiBLX2-fhyUA
    KRaft       version=1   node.id=1     cluster.id=oU6ajLSbSamiBLX2-fhyUA   directory.id=e8mx-q4WRW6mPkXCGRt_3A

A directory keeps its own id for ever: a disk that comes back blank is another directory (KIP-858).
(Kafka: InconsistentBrokerIdException, InconsistentClusterIdException, MetaPropertiesEnsemble.)
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Iterable

from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import Node
from broker_core.kernel.storage import Storage
from broker_core.log.checkpoints import (
    META_PROPERTIES, CorruptCheckpoint, read_meta_properties, write_meta_properties,
)  # fmt: skip

DIRECTORY_ID = "directory.id"
Failed = Callable[[str, str], object]
"""(log directory, why): it cannot be used."""


def zookeeper_properties(broker_id: int, cluster_id: str) -> dict[str, str]:
    """What a broker with ZooKeeper wants to find."""
    return {"broker.id": str(broker_id), "cluster.id": cluster_id, "version": "0"}


def kraft_properties(node_id: int, cluster_id: str) -> dict[str, str]:
    """What a process of a KRaft cluster wants to find, beside the directory's own id."""
    return {"node.id": str(node_id), "cluster.id": cluster_id, "version": "1"}


def claim_disks(node: Node, log_dirs: Iterable[str], mine: dict[str, str], failed: Failed) -> bool:
    """Check every directory and mark the blank ones; False when one belongs to somebody else."""
    for log_dir in log_dirs:
        try:
            if not _claim(node, log_dir, mine):
                return False
        except (StorageError, CorruptCheckpoint) as error:
            failed(log_dir, str(error))
    return True


def _claim(node: Node, log_dir: str, mine: dict[str, str]) -> bool:
    found = read_meta_properties(node.storage, log_dir)
    for key in mine:
        if key in found and found[key] != mine[key]:
            reason = f"{log_dir}/meta.properties says {key}={found[key]}, expected {mine[key]}"
            node.emit(events.DISK_FAULT, path=log_dir, error=reason, operation="start")
            return False
    _directory_id(found, log_dir)
    wanted = dict(mine)
    if mine["version"] == "1":
        wanted[DIRECTORY_ID] = found.get(DIRECTORY_ID) or _text(new_uuid(node))
    if found != wanted:
        write_meta_properties(node.storage, log_dir, wanted)
    return True


def owner_of(storage: Storage, log_dir: str) -> str | None:
    """The broker id that a directory with ZooKeeper names; None where there is none or it cannot be read."""
    try:
        return read_meta_properties(storage, log_dir).get("broker.id")
    except (StorageError, CorruptCheckpoint):
        return None


def directory_id(storage: Storage, log_dir: str) -> uuid.UUID | None:
    """A directory's own id; None where it has none or cannot be read."""
    try:
        return _directory_id(read_meta_properties(storage, log_dir), log_dir)
    except (StorageError, CorruptCheckpoint):
        return None


def _directory_id(found: dict[str, str], log_dir: str) -> uuid.UUID | None:
    """Raises CorruptCheckpoint."""
    text = found.get(DIRECTORY_ID)
    try:
        return None if text is None else uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))
    except ValueError:
        raise CorruptCheckpoint(f"{log_dir}/{META_PROPERTIES}", f"no {DIRECTORY_ID}: {text!r}") from None


def new_uuid(node: Node) -> uuid.UUID:
    """One that no earlier life of the world has drawn: a node draws the same numbers again in each of them."""
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{node.name}/{node.world.life}/{node.uuid()}")


def _text(found: uuid.UUID) -> str:
    return base64.urlsafe_b64encode(found.bytes).rstrip(b"=").decode()
