"""What bit flips have left on disks, and who refuses it: for the snapshot, and for whoever looks on.

    "damaged": [200]      of a replica's marks: offsets, ascending
    "refuses": 200        of a follower's: what its leader sends from there on does not go into its log

Nothing in the cluster knows of a flip before somebody reads it. The operator notes what was turned over and where; what
a replica has cut, deleted or copied anew since then is not damaged any more, and neither is a bit that was turned back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from broker_core.kernel.names import broker_node, broker_of
from broker_core.kernel.node import Node
from broker_core.kernel.world import World
from lab.clusters.charge import charge_of


class Flip(NamedTuple):
    """A bit that was turned over: on which disk, in which byte of which file, what that byte is since, and in which
    `field` of the batch it is."""

    node: str
    topic: str
    partition: int
    offset: int
    path: str
    position: int
    byte: int
    field: str


def _byte(node: Node, path: str, position: int) -> int | None:
    """What stands there now, without the disk's faults noticing; None: nothing."""
    if not node.storage.exists(path):
        return None
    file = node.storage.open(path)
    return file.peek(position, 1)[0] if position < file.size else None


def note_flip(world: World, node: Node, command: dict[str, Any], path: str, position: int) -> None:
    """A bit has just been turned over, as the command says; the same bit once more is as it was."""
    charge = charge_of(world)
    byte = _byte(node, path, position)
    if charge is None or byte is None:
        return
    known = [one for one in charge.flips if (one.node, one.path, one.position) == (node.name, path, position)]
    charge.flips = [one for one in charge.flips if one not in known]
    if not any(one.byte == byte ^ 1 for one in known):
        place = command["topic"], command["partition"], command["offset"]
        charge.flips.append(Flip(node.name, *place, path, position, byte, command.get("field", "records")))


def damaged(world: World) -> dict[tuple[str, int, str], list[int]]:
    """(topic, partition, broker) -> the offsets whose flips are still on its disk."""
    charge = charge_of(world)
    found: dict[tuple[str, int, str], list[int]] = {}
    for flip in () if charge is None else charge.flips:
        if _byte(world.nodes[flip.node], flip.path, flip.position) == flip.byte:
            offsets = found.setdefault((flip.topic, flip.partition, str(broker_of(flip.node))), [])
            offsets[:] = sorted({*offsets, flip.offset})
    return found


def with_false_epochs(world: World) -> set[tuple[str, int]]:
    """(topic, partition) where the leader epoch of a batch is another one since a flip: no checksum covers it, so
    followers have copied it, and what the logs know of their epochs differs without their records doing so."""
    charge = charge_of(world)
    flips = [] if charge is None else charge.flips
    return {(flip.topic, flip.partition) for flip in flips if flip.field == "leader_epoch"}


def add_damage(world: World, topics: dict[str, Any]) -> None:
    """Into the marks of a snapshot's topics."""
    for (topic, partition, broker), offsets in damaged(world).items():
        marks = topics.get(topic, {}).get("partitions", {}).get(str(partition), {}).get("logs", {}).get(broker)
        there = [offset for offset in offsets if marks and offset < marks["leo"]]
        if marks and there:
            marks["damaged"] = there


def add_refusals(world: World, topics: dict[str, Any]) -> None:
    """Into the marks of the followers that run."""
    for topic, found in topics.items():
        for number, partition in found["partitions"].items():
            for broker, marks in partition["logs"].items():
                machine: Any = world.nodes[broker_node(int(broker))].machine
                replica = None if machine is None else machine.partitions.get((topic, int(number)))
                state = None if replica is None else machine.replicas.fetchers.state_of(replica)
                if state is not None and state.refused == marks["leo"]:
                    marks["refuses"] = state.refused
