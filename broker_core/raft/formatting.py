"""Formatting the disk of a quorum whose voters are dynamic from the start (KIP-853).

| kafka-storage format | voters | the checkpoint `00000000000000000000-0000000000.checkpoint` |
|---|---|---|
| (no option) | `controller.quorum.voters`: static, kraft.version 0 | none |
| --standalone | this controller alone | header, kraft.version 1, voters 101, footer |
| --initial-controllers 101@..,102@.. | these | header, kraft.version 1, voters 101 and 102, footer |
| --no-initial-controllers | whoever the log names | none: for those that come later, or with a blank disk |

Every initial controller gets the same checkpoint, so each knows the directory ids of all before any of them has run.
It stands in front of the log: its voters count from offset -1, and the first leader writes them down again, behind its
first LEADER_CHANGE, for those who have no checkpoint. Source: Formatter.writeBootstrapSnapshot.
"""

from __future__ import annotations

import base64
import uuid

from broker_core.kernel.node import Node
from broker_core.log.checkpoints import META_PROPERTIES, write_meta_properties
from broker_core.raft.metadata_log import PARTITION, TOPIC
from broker_core.raft.snapshots import BOOTSTRAP, RawSnapshot, SnapshotWriter
from broker_core.raft.voters import VoterSet

KRAFT_VERSION = 1


def format_initial(node: Node, directory: str, own: int, cluster_id: str, voters: VoterSet) -> None:
    """Write the checkpoint of the initial `voters`, and `meta.properties` with the directory id that they know, onto a
    disk on which there is nothing yet. Raises StorageError."""
    if node.storage.exists(f"{directory}/{META_PROPERTIES}"):
        return
    raw = RawSnapshot(node.storage, f"{directory}/{TOPIC}-{PARTITION}", BOOTSTRAP)
    SnapshotWriter(raw, node.wall_ms(), node.wall_ms(), KRAFT_VERSION, voters).freeze()
    key = voters.nodes[own].key
    mine = {"node.id": str(own), "cluster.id": cluster_id, "version": "1", "directory.id": _text(key.directory)}
    write_meta_properties(node.storage, directory, mine)


def _text(directory: uuid.UUID) -> str:
    return base64.urlsafe_b64encode(directory.bytes).rstrip(b"=").decode()
