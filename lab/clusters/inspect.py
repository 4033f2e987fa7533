"""One object of a cluster looked at closely: plain data for the inspector, taken between two events.

| what | name | answer |
|---|---|---|
| partition | orders-0 | replicas with marks, epochs, hashes, time since each caught up; who believes what |
| broker | 2 | settings that differ, partitions, disks, connections, the request pipeline |
| group | billing | members with assignment; committed offsets, and the positions of built-in consumers |
| znode | /controller | data, version, owner and who watches its path |
| files | orders-0@2 | segments and index entries of one replica |
| bytes | orders-0@2:41 | the batch with that offset: bytes, fields, records, and the way through the index |
| dump | orders-0@2:FILE[:BYTE] | a page of a segment's file as kafka-dump-log prints it (`inspect_dump`) |
| metadata | controller-101:40 | a page of the metadata log or of a snapshot of it (`inspect_metadata`) |
| metadata_record | controller-101:41 | one record of it, and what it has changed |
| balance | | leaders, replicas and bytes of each broker; reassignments and throttles (`inspect_balance`) |
| config | topic:orders, broker:2, client:reader | every setting with value, default and source |
| trial | a command as JSON, `seq` | nothing, or why this change of settings would be refused (`inspect_trial`) |
| metrics | | Kafka's metric names -> broker -> value |
| flights | | the messages under way between the processes, the first to arrive first (`lab.checkers.flights`) |
| lights | | what each invariant says, in both languages |

Belief. The coordination tree is the truth of the cluster. The controller remembers what it has read, a broker what
the controller's UpdateMetadata told it last, a replica what LeaderAndIsr told it, a built-in client what some broker's
Metadata answer told it. Each may be behind; whoever differs from the tree is marked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.kernel.errors import CommandError
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import Node
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World
from broker_core.log.cleaner import parts_of
from broker_core.log.cleaning import rewritten_to
from broker_core.log.partition_log import PartitionLog
from lab.checkers.bytes import NothingThere, look_up
from lab.checkers.flights import flights
from lab.checkers.invariants import described
from lab.clusters import inspect_config, inspect_node
from lab.clusters.charge import clients_of
from lab.clusters.inspect_balance import balance
from lab.clusters.inspect_beliefs import beliefs
from lab.clusters.inspect_dump import dumped
from lab.clusters.inspect_metadata import metadata, metadata_record
from lab.clusters.inspect_trial import trial
from lab.clusters.inspect_znode import znode
from lab.clusters.metrics import metrics
from lab.clusters.metrics_registry import REGISTRY
from lab.clusters.observe import brokers, partitions_of
from lab.clusters.roles import split
from lab.truth import truth_of

INDEX_ENTRIES = 200


def inspect(world: World, what: str, name: str) -> dict[str, Any]:
    """The answer for one object; raises CommandError when there is none."""
    kind = KINDS.get(what)
    if kind is None:
        raise CommandError(problem("unknown_object", given=what, known=list(KINDS)), "of")
    return {"t": world.now_us, "found": kind(world, name)}


def _split(name: str) -> tuple[str, int]:
    topic, dash, number = name.rpartition("-")
    if not dash or not number.isdigit():
        raise CommandError(problem("no_partition", partition=name), "name")
    return split(name) if topic else (name, 0)


# -- partition ------------------------------------------------------------------------------
def partition(world: World, name: str) -> dict[str, Any]:
    """Replicas, the leader's view of the ISR, and who believes what."""
    topic, number = _split(name)
    truth = truth_of(world).partition_state(topic, number)
    if truth is None:
        raise CommandError(problem("no_partition", partition=name), "name")
    return {
        "name": name, "truth": truth, "moving": truth_of(world).reassignment(topic, number),
        "lag_time_max_ms": _lag_time(world),
        "replicas": [_replica(world, topic, number, broker, truth) for broker in truth["replicas"]],
        "beliefs": beliefs(world, topic, number, truth),
    }  # fmt: skip


def _lag_time(world: World) -> int | None:
    for _, node in brokers(world):
        machine: Any = node.machine
        if machine is not None:
            return int(machine.config["replica.lag.time.max.ms"])
    return None


def _leader(world: World, topic: str, number: int, truth: dict[str, Any]) -> Any:
    node = world.nodes.get(broker_node(truth["leader"]))
    return None if node is None else partitions_of(node).get((topic, number))


def _replica(world: World, topic: str, number: int, broker: int, truth: dict[str, Any]) -> dict[str, Any]:
    node = world.nodes.get(broker_node(broker))
    own = None if node is None else partitions_of(node).get((topic, number))
    found: dict[str, Any] = {
        "broker": broker, "in_isr": broker in truth["isr"], "leads": broker == truth["leader"],
        "running": node is not None and node.state == "running", "role": None,
    }  # fmt: skip
    if own is not None and own.log is not None:
        log = own.log
        found |= {
            "role": own.role, "leader_epoch": own.leader_epoch, "partition_epoch": own.partition_epoch,
            "leo": log.log_end_offset, "hw": log.high_watermark, "lso": log.last_stable_offset,
            "start": log.log_start_offset, "flushed": log.recovery_point, "size": log.size_bytes,
            "segments": len(log.segments),
            "epochs": [[epoch, start] for epoch, start in _epochs(log)],
            "hash": f"{log.content_hash(*_common_part(world, topic, number, truth)):08x}",
        }  # fmt: skip
    return found | _caught_up(_leader(world, topic, number, truth), broker)


def _epochs(log: Any) -> list[tuple[int, int]]:
    entries = getattr(log.leader_epochs, "entries", None) or []
    entries = entries() if callable(entries) else entries
    return [(int(entry[0]), int(entry[1])) for entry in list(entries)[-8:]]


def _common_part(world: World, topic: str, number: int, truth: dict[str, Any]) -> tuple[int, int]:
    """(end, start) of what every replica that is there has as it was written, so that their hashes can be compared.

    What compaction has copied in one of them is left out: each broker cleans in its own time.
    """
    nodes = [world.nodes.get(broker_node(broker)) for broker in truth["replicas"]]
    found = [partitions_of(node).get((topic, number)) for node in nodes if node is not None]
    logs = [own.log for own in found if own is not None and own.log is not None]
    return min((log.log_end_offset for log in logs), default=0), max((rewritten_to(log) for log in logs), default=0)


def _caught_up(leader: Any, broker: int) -> dict[str, Any]:
    """What the leader knows of a follower: end offset, milliseconds since it had everything."""
    remote = None if leader is None or not leader.is_leader else leader.remote.get(broker)
    if remote is None:
        return {"known_leo": None, "caught_up_ms": None}
    now_ms = leader.now_ms()
    caught = remote.caught_up_ms(leader.log.log_end_offset, now_ms)
    return {
        "known_leo": remote.log_end_offset if remote.log_end_offset >= 0 else None,
        "caught_up_ms": max(0, now_ms - caught) if caught > 0 else None,
    }  # fmt: skip


# -- files ----------------------------------------------------------------------------------
def files(world: World, name: str) -> dict[str, Any]:
    """`orders-0@2`: segments of the replica on broker 2."""
    where, _, broker = name.rpartition("@")
    topic, number = _split(where)
    node = world.nodes.get(broker_node(int(broker))) if broker.isdecimal() else None
    replica = None if node is None else partitions_of(node).get((topic, number))
    if replica is None or replica.log is None:
        raise CommandError(problem("no_running_replica", broker=broker, partition=where), "name")
    log = replica.log
    return {
        "name": where, "broker": int(broker), "directory": log.directory, "size": log.size_bytes,
        "recovery_point": log.recovery_point, "segment_bytes": log.config.segment_bytes,
        "index_interval_bytes": log.config.index_interval_bytes,
        "segments": [_segment(segment, segment is log.active) for segment in log.segments],
        "compaction": _compaction(node, log) if node is not None and log.config.is_compacted else None,
    }  # fmt: skip


def _compaction(node: Node, log: PartitionLog) -> dict[str, Any]:
    """How a compacted log is divided: clean below `first_dirty`, cleanable below `first_uncleanable`."""
    parts = parts_of(log, node.wall_ms())
    return {
        "first_dirty": parts.first_dirty, "first_uncleanable": parts.first_uncleanable,
        "dirty_ratio": parts.dirty_ratio, "min_dirty_ratio": log.config.min_cleanable_dirty_ratio,
    }  # fmt: skip


def _segment(segment: Any, active: bool) -> dict[str, Any]:
    stem = segment.path.rsplit("/", 1)[-1]
    entries, aborted = segment.index.entries(), segment.transaction_index
    return {
        "base": segment.base_offset, "next": segment.next_offset(), "active": active,
        "max_timestamp": segment.max_timestamp,
        "files": [
            [f"{stem}.log", segment.log.size, segment.log.flushed],
            [f"{stem}.index", segment.index.file.size, segment.index.file.flushed],
            [f"{stem}.timeindex", segment.time_index.file.size, segment.time_index.file.flushed],
            *([[f"{stem}.txnindex", aborted.size, aborted.flushed]] if len(aborted) else []),
        ],
        "index": [list(entry) for entry in entries[-INDEX_ENTRIES:]], "entries": len(entries),
        "time_entries": len(segment.time_index),
    }  # fmt: skip


def _bytes(world: World, name: str) -> dict[str, Any]:
    """`orders-0@2:41`: offset 41 of the replica on broker 2."""
    where, _, place = name.rpartition("@")
    broker, _, offset = place.partition(":")
    if not broker.isdigit() or not offset.isdigit():
        raise CommandError(problem("expected_bytes_place", given=name), "name")
    try:
        return look_up(world, *_split(where), int(offset), int(broker))
    except NothingThere as error:
        raise CommandError(error.problem, "name") from None


# -- everything else --------------------------------------------------------------------------
def group(world: World, name: str) -> dict[str, Any]:
    """A group with what its coordinator knows of the members."""
    for broker, node in brokers(world):
        machine: Any = node.machine
        found = None if machine is None else machine.groups.registry.groups.get(name)
        if found is not None:
            return {**inspect_node.group(machine, broker, found), "positions": _positions(world, name)}
        if machine is not None and name in machine.groups.registry.consumer_groups:
            return {**inspect_node.next_generation_group(machine, broker, name), "positions": []}
    raise CommandError(problem("no_group", group=name), "name")


def _positions(world: World, name: str) -> list[dict[str, Any]]:
    """Where the group's built-in consumers stand: the offset behind the last record that each application was given.

    It is not the committed offset: that one follows with the next commit, and a consumer that takes over begins there.
    A consumer that the group has expelled still has its positions until it hears of it, so a partition may come twice.
    """
    found = []
    for client in clients_of(world):
        machine: Any = world.nodes[client].machine if client in world.nodes else None
        if machine is None or machine.kind != "consumer" or machine.settings.group_id != name:
            continue
        client_id = machine.settings.client_id or client
        for (topic, number), offset in machine.positions.offsets().items():
            found.append({"client_id": client_id, "topic": topic, "partition": number, "offset": offset})
    return found


def broker(world: World, name: str) -> dict[str, Any]:
    """One broker; only its disks when it does not run."""
    for number, node in brokers(world):
        if str(number) == name:
            return inspect_node.broker(node, number)
    raise CommandError(problem("no_broker", broker=name), "name")


def _metrics(world: World, name: str) -> dict[str, Any]:
    meaning = {key: one.to_dict() for key, one in REGISTRY.items()} if name == "meaning" else None
    return {"values": metrics(world), "meaning": meaning}


def _lights(world: World, name: str) -> dict[str, Any]:
    return dict(described())


def _flights(world: World, name: str) -> dict[str, Any]:
    return {"flights": flights(world)}


KINDS: dict[str, Callable[[World, str], dict[str, Any]]] = {
    "partition": partition, "broker": broker, "group": group, "znode": znode, "files": files,
    "config": inspect_config.config, "bytes": _bytes, "trial": trial,
    "metrics": _metrics, "lights": _lights, "flights": _flights, "dump": dumped, "balance": balance,
    "metadata": metadata, "metadata_record": metadata_record,
}  # fmt: skip
