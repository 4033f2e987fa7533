"""What moves without an event of its own: what clients have done, what the brokers' request pipelines hold."""

from __future__ import annotations

from typing import Any

from broker_core.kernel.world import World
from lab.clusters.charge import charge_of
from lab.clusters.inspect_node import pipeline
from lab.clusters.observe import brokers

CLIENT_KINDS = ("producer", "consumer", "processor", "worker")
FIGURES = ("acked", "failed", "unknown", "sent", "waiting", "read", "rate", "positions", "transactions",
           "acknowledged", "again", "in_hand", "over")


def observe_progress(world: World) -> dict[str, Any]:
    """{"clients": {name: figures}, "pipelines": {broker: stages}}, and of neighbours, if any, {"neighbours": ...}."""
    clients = {}
    for name, node in world.nodes.items():
        machine: Any = node.machine
        if machine is not None and getattr(machine, "kind", None) in CLIENT_KINDS:
            clients[name] = shown(machine.view())
    charge = charge_of(world)
    others = {} if charge is None else charge.neighbourhood.progress(world)
    return {"clients": clients, "pipelines": observe_pipelines(world), **({"neighbours": others} if others else {})}


def shown(view: dict[str, Any]) -> dict[str, Any]:
    """The figures among what a client's machine shows."""
    return {key: view[key] for key in FIGURES if key in view}


def observe_pipelines(world: World) -> dict[str, dict[str, int]]:
    """Broker that runs -> its stages."""
    running = ((broker, node.machine) for broker, node in brokers(world))
    return {str(broker): pipeline(machine) for broker, machine in running if machine is not None}
