"""From a description to a world: coordination tree or controllers, brokers, the person at the screen, clients.

| node | machine |
|---|---|
| zookeeper-1, ... | servers of the coordination tree: one, or an ensemble of up to five |
| controller-101, ... | dedicated controllers of a KRaft cluster, which has no coordination tree |
| broker-N | broker N |
| operator | admin client and hand-made records |
| producer-..., ... | the built-in clients of the description |
| payments/broker-1, ... | processes of a neighbour, whose clients come by themselves (`neighbours`) |

`storage_factory(node name)` gives each node its disks: memory, or real files.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from broker_core.clients.admin import admin_factory
from broker_core.kernel.names import OPERATOR, broker_node, controller_node
from broker_core.kernel.node import Machine, Node
from broker_core.kernel.storage import Storage
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.replication.protections import Protections
from broker_core.zookeeper.ensemble import EnsembleServer
from broker_core.zookeeper.server import ZooKeeperServer
from broker_core.zookeeper.serving import ZooKeeperConfig
from broker_core.zookeeper.sessions import SessionLimits
from lab.clusters import presets
from lab.clusters.clients import bootstrap
from lab.clusters.joining import add_broker_node, add_controller_node, cluster_id
from lab.clusters.operator import LabOperator
from lab.clusters.spec import RunSpec

StorageFactory = Callable[[str], Storage]


def memory(node: str) -> Storage:
    """Disks in memory."""
    return MemoryStorage()


def build_world(spec: RunSpec, storage_factory: StorageFactory = memory) -> World:
    """A world in which everything has been added and the brokers' processes are about to start.

    Topics and clients are not in it yet: a run brings them in by commands, so that they are recorded.
    """
    cluster = spec.cluster
    world = World(spec.seed, spec.epoch_ms, spec.record_level, int(cluster.link_delay_ms * 1000))
    world.life = spec.life
    protections = Protections(**cluster.protections)
    operator = world.operator = LabOperator(spec, protections, storage_factory)
    operator.past.watch(world)
    disks = {name: storage_factory(name) for name in spec.node_names()}
    if cluster.is_kraft:
        identity = cluster_id(disks.values(), spec.seed)
        for number in cluster.controller_ids():
            add_controller_node(world, cluster, number, disks[controller_node(number)], identity)
    else:
        servers = cluster.ensemble_nodes()
        for number, name in enumerate(servers, start=1):
            world.add_node(name, disks[name], partial(make_zookeeper, cluster.preset, number, servers))
    for broker in cluster.brokers:
        add_broker_node(world, cluster, broker, disks[broker_node(broker.id)], protections, disks.values())
    world.add_node(OPERATOR, MemoryStorage(), admin_factory({}, bootstrap(spec)))
    operator.neighbourhood.add_nodes(world)
    for node in world.everybody():
        world.schedule(0, None, world.start_node, (node.name,))
    return world


def make_zookeeper(preset: str, number: int, servers: list[str], node: Node) -> Machine:
    """A server of the tree; the teaching preset ticks faster, for its sessions are shorter."""
    config = ZooKeeperConfig(number, servers, SessionLimits(tick_ms=presets.ZOOKEEPER_TICK_MS[preset]))
    return ZooKeeperServer(node, config) if len(servers) == 1 else EnsembleServer(node, config)
