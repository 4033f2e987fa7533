"""A broker and a group as the inspector shows them."""

from __future__ import annotations

from typing import Any

from broker_core.groups.consumer.settings import SESSION_TIMEOUT
from broker_core.groups.inspection import observe as observe_groups
from broker_core.groups.rebalance import NEW_MEMBER_JOIN_TIMEOUT_MS
from broker_core.kernel.node import Node
from broker_core.metadata.configs import ConfigSource
from lab.clusters.directories import moving
from lab.clusters.inspect_config import entry
from lab.truth import truth_of

CONNECTIONS = 100


def broker(node: Node, number: int) -> dict[str, Any]:
    """What one broker is made of now."""
    machine: Any = node.machine
    found: dict[str, Any] = {
        "broker": number, "state": node.state, "incarnation": node.incarnation, "faults": _faults(node),
        "clock_skew_ms": node.clock_skew_ms,
    }  # fmt: skip
    if machine is None:
        return found
    return found | {
        "config": [entry(one) for one in _changed(machine.config)],
        "partitions": [
            {"name": str(one), "role": one.role, "leo": one.log.log_end_offset, "hw": one.log.high_watermark,
             "size": one.log.size_bytes, "directory": one.log.directory, "moving": moving(machine, one)}
            for _, one in sorted(machine.partitions.items())
        ],
        "disks": _disks(machine), "connections": _connections(machine), "pipeline": pipeline(machine),
        "epoch": machine.broker_epoch(), "controller": truth_of(node.world).reign(machine) is not None,
        "cache_version": machine.cache.version, "sent": _sent(node),
        "sessions": _sessions(machine),
    }  # fmt: skip


def _sent(node: Node) -> dict[str, int] | None:
    """What outside clients got, and how much of it by zero copy; None where the cluster has no outside."""
    output = node.world.output
    if output is None:
        return None
    size, zero_copied = output.sent(node.name)
    return {"bytes": size, "zero_copied": zero_copied}


def _changed(config: Any) -> list[Any]:
    entries = [config.describe(name) for name in config.names()]
    return [one for one in entries if one.source is not ConfigSource.DEFAULT]


def _faults(node: Node) -> list[dict[str, Any]]:
    faults = node.storage.faults
    return [] if faults is None else [{"kind": one.kind, "directory": one.directory} for one in faults.rules]


def _disks(machine: Any) -> list[dict[str, Any]]:
    manager = machine.log_manager
    live = manager.live_dirs() if callable(manager.live_dirs) else manager.live_dirs
    found = []
    for directory in manager.log_dirs:
        logs = manager.logs_in(directory)
        found.append({
            "directory": directory, "online": directory in live, "logs": len(logs),
            "size": sum(log.size_bytes for log in logs),
            "segments": sum(len(log.segments) for log in logs),
        })  # fmt: skip
    return found


def _connections(machine: Any) -> list[dict[str, Any]]:
    pipe = machine.pipeline
    every = [*pipe.outside.values(), *pipe.inside.values()]
    return [
        {"number": one.number, "source": one.source, "name": one.name, "peer": one.peer, "client_id": one.client_id,
         "software": one.software, "processor": one.processor, "muted": one.muted, "waiting": len(one.waiting),
         "negotiated": dict(one.negotiated)}
        for one in every[:CONNECTIONS]
    ]  # fmt: skip


def _sessions(machine: Any) -> dict[str, Any]:
    """The cache of incremental fetch sessions (KIP-227), the one used last first."""
    cache = machine.replicas.sessions
    now_ms = machine.node.now_us() // 1000
    found = sorted(cache.sessions.values(), key=lambda one: (-one.last_fetch_ms, one.id))
    return {
        "slots": sum(shard.slots for shard in cache.shards), "used": len(found), "evictions": cache.evictions,
        "list": [
            {"id": one.id, "epoch": one.epoch, "follower": one.privileged, "partitions": len(one.positions),
             "dirty": len(one.dirty), "idle_ms": now_ms - one.last_fetch_ms}
            for one in found[:CONNECTIONS]
        ],
    }  # fmt: skip


def pipeline(machine: Any) -> dict[str, int]:
    """Where requests are now: connections, request queue, handler threads, purgatory, response queues."""
    pipe, replicas, config = machine.pipeline, machine.replicas, machine.config
    read = answers = 0
    for queue in pipe.processor_queues.values():
        for job in queue:
            read, answers = (read + 1, answers) if job[0] == "read" else (read, answers + 1)
    return {
        "connections": len(pipe.outside) + len(pipe.inside), "network": config["num.network.threads"],
        "reading": read, "queue": len(pipe.request_queue), "queue_max": config["queued.max.requests"],
        "busy": pipe.busy_io, "handlers": config["num.io.threads"],
        "produce": replicas.produce_purgatory.delayed, "fetch": replicas.fetch_purgatory.delayed,
        "other": replicas.delete_records_purgatory.delayed + machine.groups.rebalancer.purgatory.delayed,
        "responses": answers, "done": sum(totals.requests for totals in pipe.totals.values()),
    }  # fmt: skip


def _waits(member: Any) -> str | None:
    """In which request a member waits."""
    if member is None:
        return None
    return "join" if member.awaiting_join else "sync" if member.awaiting_sync else None


def next_generation_group(machine: Any, number: int, name: str) -> dict[str, Any]:
    """The same of a next-generation group: nobody leads or waits in it, each member is at an epoch."""
    groups = machine.groups.consumer
    view = machine.groups.groups()[name]
    timeout = groups.setting(name, SESSION_TIMEOUT)
    members = []
    for shown in view["members"]:
        classic = machine.groups.registry.consumer_groups[name].members[shown["id"]].classic
        watch = groups.sessions.watches.get((name, shown["id"]))
        left = None if watch is None else max(0, (watch.deadline_us - machine.node.now_us()) // 1000)
        members.append({
            **shown, "leads": False, "session_left_ms": left, "instance_id": shown["instance"],
            "session_timeout_ms": timeout if classic is None else classic.session_timeout_ms, "waits": None,
        })  # fmt: skip
    return {**view, "name": name, "coordinator": number, "members": members}


def group(machine: Any, number: int, found: Any) -> dict[str, Any]:
    """State, generation, members; positions come with `offsets`."""
    view = observe_groups(machine.groups.registry)[found.group_id]
    members = []
    for shown in view["members"]:
        member = found.members.get(shown["id"])
        left = None
        if member is not None and member.session_deadline_us is not None:
            left = max(0, (member.session_deadline_us - machine.node.now_us()) // 1000)
        timeout = getattr(member, "session_timeout_ms", None)
        if timeout is not None and left is not None and left > timeout:
            timeout = NEW_MEMBER_JOIN_TIMEOUT_MS  # a new member is waited for longer while it joins
        members.append({
            **shown, "leads": found.leader == shown["id"], "host": getattr(member, "client_host", None),
            "session_timeout_ms": timeout, "session_left_ms": left,
            "instance_id": getattr(member, "instance_id", None),
            "waits": _waits(member),
        })  # fmt: skip
    return {**view, "name": found.group_id, "coordinator": number, "protocol": found.protocol, "members": members}
