"""Disk faults of one node: rules for its storage, a flipped bit, empty disks."""

from __future__ import annotations

from typing import Any

from broker_core.kernel import events
from broker_core.kernel.errors import CommandError, StorageError
from broker_core.kernel.names import is_broker
from broker_core.kernel.node import RUNNING, STOPPED, Node
from broker_core.kernel.problems import problem
from broker_core.kernel.storage import File
from broker_core.kernel.storage_faults import DiskFault, DiskFaults, flip
from broker_core.kernel.world import World
from broker_core.log.scan import find_batch
from broker_core.log.segment import INDEX, LOG, TIME_INDEX
from lab.clusters import stopped

KINDS = {
    "disk_full": "full", "disk_write_error": "write_error", "disk_read_error": "read_error", "lost_fsync": "lost_fsync",
    "slow_disk": "slow", "misdirected_write": "misdirected",
}  # fmt: skip
BATCH_FIELDS = {"records": -1, "base_offset": 7, "batch_length": 11, "leader_epoch": 15, "magic": 16}
HEADER_SIZE = 61


def add_fault(node: Node, command: dict[str, Any]) -> None:
    """From now on the node's disks (or one directory of them) fail as the command says."""
    faults = node.storage.faults or DiskFaults(node.random("disk"))
    times = 1 if command.get("once") else command.get("times")
    faults.rules.append(
        DiskFault(
            KINDS[command["do"]], command.get("directory", ""), times, command.get("on_call", 1),
            command.get("probability", 1.0), int(command.get("latency_ms", 0) * 1000),
        )
    )  # fmt: skip
    node.storage.set_faults(faults)
    node.emit(events.DISKS_CHANGED, faults=rules(node))


def rules(node: Node) -> list[dict[str, Any]]:
    """The faults that were set, as plain data: {kind} and what is not its default. Empty: the disks work."""
    if node.storage.faults is None:
        return []
    plain = DiskFault("")
    keys = ("directory", "times", "on_call", "probability", "latency_us")
    return [
        {"kind": rule.kind} | {key: getattr(rule, key) for key in keys if getattr(rule, key) != getattr(plain, key)}
        for rule in node.storage.faults.rules
    ]


def clear(node: Node) -> None:
    """The disks work again. What a process has given up it takes back when it starts again."""
    if node.storage.faults is not None:
        node.storage.set_faults(None)
        node.emit(events.DISKS_CHANGED, faults=[])


def with_deleted(world: World) -> list[Any]:
    """Running brokers' machines, where files that were deleted wait for `file.delete.delay.ms`."""
    nodes = (node for node in world.nodes.values() if is_broker(node.name) and node.state == RUNNING)
    machines: list[Any] = [node.machine for node in nodes if node.machine is not None]
    return [machine for machine in machines if machine.log_manager.has_deleted]


def wipe(node: Node) -> None:
    """Empty disks: the machine was replaced."""
    clear(node)
    for name in node.storage.list(""):
        node.storage.delete(name)
    stopped.forget(node)


def flip_bit(node: Node, topic: str, partition: int, offset: int, field: str) -> dict[str, Any]:
    """Turn over one bit of the batch that holds `offset`: in its records, or in a field that its CRC does not cover."""
    found = _batch(node, topic, partition, offset)
    if found is None:
        where = f"{topic}-{partition}"
        raise CommandError(problem("no_record", node=node.name, offset=offset, partition=where), "offset")
    file, position, size = found
    at = position + BATCH_FIELDS[field] if field != "records" else position + (HEADER_SIZE + size) // 2
    flip(file, at)
    stopped.forget(node)
    return {"file": file.path, "position": at}


def lose_index(node: Node, topic: str, partition: int, offset: int | None, torn: bool) -> list[str]:
    """Delete the offset and time index of the segment with `offset` (None: of every segment), or cut their last entry.

    Only while the broker does not run: a process that has its indexes in memory (Kafka maps them) would not notice.
    Returns the files.
    """
    if node.state != STOPPED:
        raise CommandError(problem("indexes_in_memory", node=node.name))
    storage = node.storage
    found: list[str] = []
    for parent in storage.list(""):
        directory = f"{parent}/{topic}-{partition}"
        stems = [name[: -len(LOG)] for name in storage.list(directory) if name.endswith(LOG)]
        if offset is not None:
            stems = [stem for stem in stems if int(stem) <= offset][-1:]
        found += [f"{directory}/{stem}{suffix}" for stem in stems for suffix in (INDEX, TIME_INDEX)]
    paths = [path for path in found if storage.exists(path)]
    if torn:
        paths = [path for path in paths if storage.open(path).size]
    if not paths:
        key = "partition" if offset is None else "offset"
        raise CommandError(problem("no_index", node=node.name, partition=f"{topic}-{partition}"), key)
    for path in paths:
        if torn:
            storage.open(path).truncate(storage.open(path).size - 1)
        else:
            storage.delete(path)
    return paths


def _batch(node: Node, topic: str, partition: int, offset: int) -> tuple[File, int, int] | None:
    """File, position and size of the batch."""
    storage = node.storage
    for parent in storage.list(""):
        directory = f"{parent}/{topic}-{partition}"
        names = [name for name in storage.list(directory) if name.endswith(LOG) and int(name[:20]) <= offset]
        if not names:
            continue
        file = storage.open(f"{directory}/{names[-1]}")
        try:
            found = find_batch(file, offset, 0, file.size)
        except StorageError as error:
            said = problem("disk_said", operation=error.operation, path=error.path, why=error.reason)
            raise CommandError(said, "offset") from None
        if found is not None and found[1].base_offset <= offset:
            return file, found[0], found[1].size
    return None
