"""What the operator of a lab's world is in charge of, for everybody who asks about that world.

A world of the kernel may have another operator or none; whoever only looks asks `charge_of` and goes by what it has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.kernel.storage import Storage
from broker_core.kernel.world import World
from broker_core.replication.protections import Protections
from lab.clusters.client_spec import ClientSpec
from lab.clusters.spec import RunSpec

if TYPE_CHECKING:
    from lab.clusters.damage import Flip
    from lab.clusters.neighbours import Neighbourhood
    from lab.clusters.past import Past


class Charge:
    """Built from `spec`; `clients` are the built-in ones as they are now, by name."""

    def __init__(
        self, spec: RunSpec, protections: Protections, disks: Callable[[str], Storage], past: Past,
        neighbourhood: Neighbourhood,
    ) -> None:  # fmt: skip
        self.spec = spec
        self.protections = protections  # the one object that all brokers consult
        self.disks = disks  # by the name of a node, for brokers that join
        self.clients: dict[str, ClientSpec] = {client.name: client for client in spec.clients}
        self.changes: list[tuple[int, ClientSpec]] = []  # event, and a client as it was started or changed there
        self.flips: list[Flip] = []  # bits that were turned over on disks
        self.past = past
        self.neighbourhood = neighbourhood


def charge_of(world: World) -> Charge | None:
    """That of a world that was built from a spec."""
    return world.operator if isinstance(world.operator, Charge) else None


def clients_of(world: World) -> dict[str, ClientSpec]:
    """The built-in clients, by name."""
    charge = charge_of(world)
    return {} if charge is None else charge.clients
