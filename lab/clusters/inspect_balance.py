"""How evenly the brokers are burdened: leaders, replicas, bytes; and how far leadership is from where it is preferred.

    broker 1: preferred leader of 4 partitions, leads 1 of them   imbalance 3 / 4 = 75 %

The controller measures the same ratio every `leader.imbalance.check.interval.seconds`, and elects preferred leaders of
the brokers where it is above `leader.imbalance.per.broker.percentage` (`auto.leader.rebalance.enable`).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from broker_core.kernel.node import Node
from broker_core.kernel.world import World
from lab.clusters.observe import brokers, partitions_of
from lab.truth import truth_of


def balance(world: World, name: str) -> dict[str, Any]:
    """All brokers, those that do not run too; and the reassignments under way."""
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
    return {"brokers": found, "moving": {name: one for name, one in moves.items() if one is not None}}


def _bytes(node: Node) -> int | None:
    """On its disks, by what its replicas say; None while it does not run."""
    if node.machine is None:
        return None
    return sum(int(one.log.size_bytes) for one in partitions_of(node).values() if one.log is not None)
