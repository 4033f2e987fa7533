"""In which log directory a replica lies, for the snapshot and for whoever looks on: of brokers that have several.

    "directory": "data/a"    of a replica's marks
    "moving": "data/b"       a copy of it grows there (AlterReplicaLogDirs)

A broker with one directory is not asked: there is nothing to be told.
"""

from __future__ import annotations

from typing import Any

from broker_core.kernel.names import broker_node
from broker_core.kernel.world import World


def moving(machine: Any, partition: Any) -> dict[str, Any] | None:
    """Of a replica on a running broker: where its copy grows, and how far that has come."""
    move = machine.replicas.moves.move_of(partition.topic, partition.index)
    if move is None:
        return None
    return {
        "directory": move.directory, "reached": move.future.log_end_offset, "end": partition.log.log_end_offset,
    }  # fmt: skip


def add_directories(world: World, topics: dict[str, Any], log_dirs: dict[str, list[str]]) -> None:
    """`log_dirs`: broker -> its log directories, of those that have several."""
    for broker, given in log_dirs.items():
        node = world.nodes[broker_node(int(broker))]
        for topic, found in topics.items():
            for number, state in found["partitions"].items():
                marks = state["logs"].get(broker)
                if marks is not None:
                    marks.update(_place(node, topic, int(number), given))


def _place(node: Any, topic: str, number: int, log_dirs: list[str]) -> dict[str, str]:
    machine = node.machine
    replica = None if machine is None else machine.partitions.get((topic, number))
    if replica is None:
        here = [one for one in log_dirs if node.storage.exists(f"{one}/{topic}-{number}")]
        return {"directory": here[0]} if here else {}
    copy = moving(machine, replica)
    place = {"directory": machine.log_manager.dir_of(replica.log)}
    return place if copy is None else {**place, "moving": copy["directory"]}
