"""A world in one table, to be laid beside that of another branch.

    orders-0    leader 2, epoch 5, ISR {2, 3}, LEO 56, HW 55, contents 3fa90c1e

The hash covers every batch below the leader's end offset (base offset, leader epoch and checksum of each), so
two branches agree on it exactly when their leaders hold the same records.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

from broker_core.kernel.names import broker_node
from broker_core.kernel.world import World
from broker_core.records.header import iterate_batches
from lab.clusters import observe
from lab.truth import truth_of

MOST_BYTES = 16 * 1024 * 1024
PIECE = 1024 * 1024


def outline(world: World) -> dict[str, Any]:
    """`controller`, `controller_epoch`, `partitions`: name -> facts. Runs between two events."""
    partitions: dict[str, Any] = {}
    for topic, found in truth_of(world).topics().items():
        for number, state in found.items():
            partitions[f"{topic}-{number}"] = _partition(world, topic, number, state)
    return {
        "controller": truth_of(world).controller_id(), "controller_epoch": truth_of(world).controller_epoch(),
        "partitions": partitions,
    }  # fmt: skip


def _partition(world: World, topic: str, number: int, state: dict[str, Any]) -> dict[str, Any]:
    node = world.nodes.get(broker_node(state["leader"]))
    replica = observe.partitions_of(node).get((topic, number)) if node is not None else None
    log = replica.log if replica is not None else None
    return {
        "leader": state["leader"], "leader_epoch": state["leader_epoch"], "isr": state["isr"],
        "leo": None if log is None else log.log_end_offset, "hw": None if log is None else log.high_watermark,
        "hash": None if log is None else contents(log),
    }  # fmt: skip


def contents(log: Any) -> str | None:
    """Eight digits for all batches of a log; None when it is too large to be read between two events."""
    if log.size_bytes > MOST_BYTES:
        return None
    found, offset = 0, log.log_start_offset
    while offset < log.log_end_offset:
        before = offset
        for part in log.read(offset, PIECE, log.log_end_offset).slices:
            for batch in iterate_batches(part.read()):
                header = batch.header
                facts = (header.base_offset, header.leader_epoch, header.crc)
                found = crc32(repr(facts).encode(), found)
                offset = max(offset, header.last_offset + 1)
        if offset == before:
            return None
    return f"{found:08x}"
