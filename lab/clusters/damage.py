"""Records whose bytes a bit flip has changed on a disk, and that are still there as it has left them: for the snapshot.

    "damaged": [200]      of a replica's marks: offsets, ascending

Nothing in the cluster knows of them before somebody reads them. The operator notes what was turned over and where; what
a replica has cut, deleted or copied anew since then is not damaged any more, and neither is a bit that was turned back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from broker_core.kernel.names import broker_of
from broker_core.kernel.node import Node
from broker_core.kernel.world import World
from lab.clusters.charge import charge_of


class Flip(NamedTuple):
    """A bit that was turned over: on which disk, in which byte of which file, and what that byte is since then."""

    node: str
    topic: str
    partition: int
    offset: int
    path: str
    position: int
    byte: int


def _byte(node: Node, path: str, position: int) -> int | None:
    """What stands there now, without the disk's faults noticing; None: nothing."""
    if not node.storage.exists(path):
        return None
    file = node.storage.open(path)
    return file.peek(position, 1)[0] if position < file.size else None


def note_flip(world: World, node: Node, place: tuple[str, int, int], path: str, position: int) -> None:
    """A bit has just been turned over in the batch at `place`; the same bit once more is as it was."""
    charge = charge_of(world)
    byte = _byte(node, path, position)
    if charge is None or byte is None:
        return
    known = [one for one in charge.flips if (one.node, one.path, one.position) == (node.name, path, position)]
    charge.flips = [one for one in charge.flips if one not in known]
    if not any(one.byte == byte ^ 1 for one in known):
        charge.flips.append(Flip(node.name, *place, path, position, byte))


def add_damage(world: World, topics: dict[str, Any]) -> None:
    """Into the marks of a snapshot's topics."""
    charge = charge_of(world)
    for flip in () if charge is None else charge.flips:
        node = world.nodes[flip.node]
        partition = topics.get(flip.topic, {}).get("partitions", {}).get(str(flip.partition), {})
        marks = partition.get("logs", {}).get(str(broker_of(flip.node)))
        if marks and flip.offset < marks["leo"] and _byte(node, flip.path, flip.position) == flip.byte:
            marks["damaged"] = sorted({*marks.get("damaged", ()), flip.offset})
