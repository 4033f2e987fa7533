"""The neighbours of a cluster in its world: real brokers, a real controller and built-in clients of each.

Nobody gives commands to a neighbour but to end, pause and start its processes, so it is set up by itself, as its own
team would do it:

| phase | until |
|---|---|
| FORMING | there is a controller, and every broker knows of all of them: then its topics are created |
| TOPICS | every partition has a leader that serves it: then its clients are started |
| RUNNING | for good |

What somebody who looks from outside could see of it is told in the world's journal whenever it has changed
(`neighbour_changed`, looked at every `LOOK_US`); its own journal is apart (`broker_core.kernel.neighbour`).
"""

from __future__ import annotations

from typing import Any

from broker_core.clients.admin import AdminMachine, admin_factory
from broker_core.kernel import events
from broker_core.kernel.names import OPERATOR, broker_node, in_cluster
from broker_core.kernel.node import RUNNING as ALIVE
from broker_core.kernel.node import Node
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.replication.protections import Protections
from lab.clusters.brokers import ClusterSpec, NeighbourSpec
from lab.clusters.client_spec import ClientSpec
from lab.clusters.clients import client_factory
from lab.clusters.joining import add_broker_node
from lab.truth import ZooKeeperTruth, neighbour_truth

LOOK_US = 100_000
FORMING, TOPICS, RUNNING = "forming", "topics", "running"


class Neighbour:
    """One of them; `figures` is what was told of it last, `rate` the records of the last whole second."""

    def __init__(self, spec: NeighbourSpec, cluster: ClusterSpec) -> None:
        self.spec = spec
        self.cluster = cluster
        self.phase = FORMING
        self.figures: dict[str, Any] = {}
        self.second = 0  # up to which second `rate` was counted
        self.counted = self.rate = 0

    def add_nodes(self, world: World) -> None:
        """Its processes, but for the clients; none of them runs yet. Its disks are in memory."""
        world.add_neighbour(self.spec.name)
        for broker in self.cluster.brokers:
            add_broker_node(world, self.cluster, broker, MemoryStorage(), Protections(), neighbour=self.spec.name)
        world.add_node(self.whole(OPERATOR), MemoryStorage(), admin_factory({}, self._bootstrap()))

    def whole(self, name: str) -> str:
        return in_cluster(self.spec.name, name)

    def _bootstrap(self) -> list[str]:
        return [broker_node(broker.id) for broker in self.cluster.brokers]

    # -- in its time ----------------------------------------------------------------------------
    def look(self, world: World) -> None:
        """Go on when a phase is over, and tell what has changed."""
        truth = neighbour_truth(world, self.spec.chroot)
        if self.phase == FORMING and self._formed(world, truth):
            self._create_topics(world)
            self.phase = TOPICS
        elif self.phase == TOPICS and self._all_led(world, truth):
            for client in self.spec.clients:
                self._start(world, client)
            self.phase = RUNNING
        self._count(world)
        found = self.seen(world, truth)
        if found != self.figures:
            self.figures = found
            told = {"neighbour": self.spec.name, **found}
            world.journal.record(world.seq, world.now_us, "world", events.NEIGHBOUR_CHANGED, 0, told)

    def _formed(self, world: World, truth: ZooKeeperTruth) -> bool:
        wanted = [broker.id for broker in self.cluster.brokers]
        machines: list[Any] = [node.machine for node in self._brokers(world)]
        known = all(one is not None and sorted(one.cache.brokers) == wanted for one in machines)
        return known and truth.controller_id() is not None and truth.registered() == wanted

    def _create_topics(self, world: World) -> None:
        machine = world.neighbours[self.spec.name].nodes[self.whole(OPERATOR)].machine
        assert isinstance(machine, AdminMachine)
        for topic in self.spec.topics:
            given = topic.partitions, topic.replication_factor, topic.configs, topic.assignment
            machine.create_topic(topic.name, *given)

    def _all_led(self, world: World, truth: ZooKeeperTruth) -> bool:
        there = truth.topics()
        made = all(len(there.get(topic.name, {})) == topic.partitions for topic in self.spec.topics)
        return made and self._led(world, truth) == sum(topic.partitions for topic in self.spec.topics)

    def _start(self, world: World, client: ClientSpec) -> None:
        name = self.whole(client.name)
        world.add_node(name, MemoryStorage(), client_factory(client, self._bootstrap()))
        if client.start:
            world.start_node(name)

    # -- from outside ---------------------------------------------------------------------------
    def _brokers(self, world: World) -> list[Node]:
        nodes = world.neighbours[self.spec.name].nodes
        return [nodes[self.whole(broker_node(broker.id))] for broker in self.cluster.brokers]

    def seen(self, world: World, truth: ZooKeeperTruth) -> dict[str, Any]:
        """As the parameters of `neighbour_changed` say."""
        nodes = self._brokers(world)
        return {
            "chroot": self.spec.chroot, "brokers": len(nodes), "registered": truth.registered(),
            "running": [broker.id for broker, node in zip(self.cluster.brokers, nodes, strict=True) if _runs(node)],
            "controller": truth.controller_id(),
            "elects": any(_runs(node) and truth.can_decide(node.machine) for node in nodes),
            "partitions": sum(len(found) for topic, found in truth.topics().items() if not topic.startswith("__")),
            "led": self._led(world, truth),
        }  # fmt: skip

    def _led(self, world: World, truth: ZooKeeperTruth) -> int:
        """Partitions whose leader, as the tree has it, runs and has them; internal ones are not counted."""
        nodes = world.neighbours[self.spec.name].nodes
        return sum(
            _serves(nodes.get(self.whole(broker_node(state["leader"]))), topic, number)
            for topic, found in truth.topics().items() if not topic.startswith("__")
            for number, state in found.items()
        )  # fmt: skip

    def _count(self, world: World) -> None:
        second = world.now_us // 1_000_000
        if second > self.second:
            acked = self._acked(world)
            self.rate, self.counted, self.second = max(0, acked - self.counted), acked, second

    def progress(self, world: World) -> dict[str, int]:
        """What moves too fast to be told event by event."""
        return {"acked": self._acked(world), "acked_per_s": self.rate}

    def _acked(self, world: World) -> int:
        """Records that were acknowledged to its clients, of those that run."""
        machines: list[Any] = [node.machine for node in world.neighbours[self.spec.name].nodes.values()]
        return sum(getattr(machine, "acked", 0) for machine in machines if machine is not None)


def _runs(node: Node) -> bool:
    return node.state == ALIVE and node.machine is not None


def _serves(node: Node | None, topic: str, number: int) -> bool:
    machine: Any = node.machine if node is not None and _runs(node) else None
    return machine is not None and (topic, number) in machine.partitions


class Neighbourhood:
    """All neighbours of a cluster."""

    def __init__(self, cluster: ClusterSpec) -> None:
        self.of = {
            one.name: Neighbour(one, one.cluster(cluster, before)) for before, one in enumerate(cluster.neighbours)
        }

    def add_nodes(self, world: World) -> None:
        """Their processes are about to start, and will be looked at from then on."""
        for one in self.of.values():
            one.add_nodes(world)
        if self.of:
            world.schedule(LOOK_US, None, self._look, (world,))

    def _look(self, world: World) -> None:
        world.schedule(LOOK_US, None, self._look, (world,))
        for one in self.of.values():
            one.look(world)

    def ready(self) -> bool:
        """Whether all of them are at work."""
        return all(one.phase == RUNNING for one in self.of.values())

    def progress(self, world: World) -> dict[str, dict[str, int]]:
        """Name -> records that were acknowledged so far, and in the last second."""
        return {name: one.progress(world) for name, one in self.of.items()}

    def observe(self, world: World) -> dict[str, dict[str, Any]]:
        """What viewers get first."""
        return {name: {**one.figures, **one.progress(world)} for name, one in self.of.items()}
