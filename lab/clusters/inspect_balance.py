"""How evenly the brokers are burdened: leaders, replicas, bytes; and how far leadership is from where it is preferred.

    broker 1: preferred leader of 4 partitions, leads 1 of them   imbalance 3 / 4 = 75 %

The controller measures the same ratio every `leader.imbalance.check.interval.seconds`, and elects preferred leaders of
the brokers where it is above `leader.imbalance.per.broker.percentage` (`auto.leader.rebalance.enable`).

Throttles are what the brokers go by, with the bytes a second that count just now. They are forgotten when they stand
and nothing moves any more: nobody takes them away by himself (`clients.throttled_moves`).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from broker_core.kernel.node import Node
from broker_core.kernel.world import World
from broker_core.replication.moves import MoveThread
from broker_core.replication.quotas import ReplicationQuotas
from lab.clusters.observe import brokers, partitions_of
from lab.truth import truth_of


def balance(world: World, name: str) -> dict[str, Any]:
    """All brokers, those that do not run too; the reassignments under way, and throttles."""
    truth = truth_of(world)
    topics = dict(sorted(truth.topics().items()))
    states = {(topic, number): state for topic, numbers in topics.items() for number, state in sorted(numbers.items())}
    leads = Counter(state["leader"] for state in states.values())
    preferred = Counter(state["replicas"][0] for state in states.values())
    astray = Counter(state["replicas"][0] for state in states.values() if state["leader"] != state["replicas"][0])
    replicas = Counter(broker for state in states.values() for broker in state["replicas"])
    found = [
        {"broker": number, "leads": leads[number], "preferred": preferred[number], "astray": astray[number],
         "replicas": replicas[number], "bytes": _bytes(node)}
        for number, node in brokers(world)
    ]  # fmt: skip
    moves = {f"{topic}-{number}": truth.reassignment(topic, number) for topic, number in states}
    moving = {name: one for name, one in moves.items() if one is not None}
    throttles = [one for _, node in brokers(world) for one in _throttles(node)]
    copying = any(thread.replicas for _, node in brokers(world) for thread in _threads(node))
    return {
        "brokers": found, "moving": moving, "throttles": throttles,
        "forgotten": bool(throttles) and not moving and not copying,
    }  # fmt: skip


def _threads(node: Node) -> list[MoveThread]:
    machine: Any = node.machine
    return [] if machine is None else machine.replicas.moves.threads


def _throttles(node: Node) -> list[dict[str, Any]]:
    """Of a broker that runs: quotas with a limit or with replicas that count."""
    machine: Any = node.machine
    if machine is None:
        return []
    quotas: ReplicationQuotas = machine.replicas.quotas
    return [
        {"broker": quotas.broker_id, "quota": one.kind, "bound": one.bound, "rate": round(one.rate()),
         "topics": {topic: None if parts is None else sorted(parts) for topic, parts in sorted(one.topics.items())
                    if parts is None or parts}}
        for one in quotas.all if one.bound is not None or one.throttles_anything
    ]  # fmt: skip


def _bytes(node: Node) -> int | None:
    """On its disks, by what its replicas say; None while it does not run."""
    if node.machine is None:
        return None
    return sum(int(one.log.size_bytes) for one in partitions_of(node).values() if one.log is not None)
