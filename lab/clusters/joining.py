"""A broker or a controller that joins a running cluster, and the list of those that have joined a lab.

As in Kafka a new broker only registers: the controller sees its znode and tells it and all others of it, but it has
no replica until a reassignment, or a topic that is created from now on, gives it some.

| what | which |
|---|---|
| id | the one that was given, if no broker has it; else the one behind the highest |
| port | the one behind the last broker's, as if the description had named it from the start |
| disks | its own: empty, or what a broker of this id left behind in an earlier life of the lab |

A controller that joins comes with a formatted disk, follows the metadata log as an observer, and has no vote until
AddRaftVoter gives it one (KIP-853; `broker_core.clients.voter_change`).

The description of a run stays as it was given: its commands say who has joined, and when. A lab that starts again on
the same directory finds them in `joined.json`.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from typing import Any

import orjson

from broker_core.broker.addresses import log_dirs
from broker_core.broker.broker import BrokerFactory
from broker_core.broker.stages import StageCosts
from broker_core.cluster.kraft.cluster import KRaftJoin
from broker_core.cluster.kraft.controller_node import ControllerFactory
from broker_core.cluster.port import Join
from broker_core.cluster.zk.cluster import ZooKeeperCluster
from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.names import broker_node, controller_node, in_cluster, is_machine, machine_node
from broker_core.kernel.problems import problem
from broker_core.kernel.storage import Storage
from broker_core.kernel.world import World
from broker_core.log.checkpoints import CorruptCheckpoint, read_meta_properties
from broker_core.metadata.configs import BrokerConfig
from broker_core.metadata.configs_replication import RACK_AWARE_SELECTOR
from broker_core.metadata.configs_types import KRAFT
from broker_core.raft import ReplicaKey, VoterNode, VoterSet
from broker_core.raft.voters import Listener
from broker_core.replication.protections import Protections
from lab.clusters import checks
from lab.clusters.checks import Place, SpecError
from lab.clusters.brokers import CONTROLLER_LISTENER, DYNAMIC, BrokerSpec, ClusterSpec
from lab.clusters.broker_spec import broker_from_dict, check_broker
from lab.clusters.spec import MAX_BROKERS, new_controller

JOINED, CONTROLLER = "joined.json", "controller"
HIGHEST_PORT = 65_535


def new_broker(command: Mapping[str, Any], cluster: ClusterSpec, place: Place = ()) -> BrokerSpec:
    """The broker that `add_broker` asks for. Raises SpecError when the cluster cannot take it."""
    if command.get("generated") and cluster.is_kraft:
        raise SpecError((*place, "generated"), problem("generated_of_zookeeper"))
    ids = [broker.id for broker in cluster.brokers]
    taken = sorted({*ids, *cluster.controller_ids()})
    given = {key: command[key] for key in ("rack", "settings", "generated") if key in command}
    broker = broker_from_dict({"id": command.get("broker", _next_id(command, cluster)), **given}, place)
    if broker.id in taken:
        raise SpecError((*place, "broker"), problem("id_taken", broker=broker.id, known=taken))
    if len(ids) >= MAX_BROKERS:
        raise SpecError(place, problem("most_brokers", n=MAX_BROKERS))
    grown = replace(cluster, brokers=[*cluster.brokers, broker])
    if grown.listener_port(broker) > HIGHEST_PORT:
        raise SpecError(place, problem("no_port", port=grown.listener_port(broker)))
    try:
        check_broker(grown, broker, place, place)
    except SpecError as error:
        at = (*place, "broker") if error.place == (*place, "id") else error.place
        raise SpecError(at, error.problem) from None
    return broker


def _next_id(command: Mapping[str, Any], cluster: ClusterSpec) -> int:
    """Of a broker for which none is named: the one behind the highest, or the one that the tree is going to give."""
    if not command.get("generated"):
        return max(broker.id for broker in cluster.brokers if not broker.generated) + 1
    return cluster.next_generated()


def add_broker_node(
    world: World, cluster: ClusterSpec, broker: BrokerSpec, disks: Storage, by: Protections,
    others: Iterable[Storage] = (), neighbour: str = "",
) -> None:  # fmt: skip
    """The process of a broker of the cluster; it does not run yet. `by`: how its replicas protect themselves;
    `others`: disks of all others, which name the cluster; `neighbour`: whose broker it is, if not the world's own."""
    factory = BrokerFactory(
        _join(world, cluster, others), broker.id, cluster.broker_settings(broker), protections=by,
        costs=StageCosts(**cluster.stage_costs),
    )  # fmt: skip
    world.add_node(in_cluster(neighbour, broker_node(broker.id)), disks, factory)


def add_machine_node(
    world: World, cluster: ClusterSpec, broker: BrokerSpec, disks: Callable[[str], Storage], by: Protections
) -> str:
    """The process of a blank machine that wants the id of this broker; it does not run yet. Its name."""
    name = machine_node(1 + sum(map(is_machine, world.nodes)))
    blank = disks(name)
    for path in blank.list(""):  # of a machine of this name in an earlier life of the lab
        blank.delete(path)
    join: Join = ZooKeeperCluster
    if cluster.is_kraft:  # whoever else was an initial controller, this machine is none
        join = KRaftJoin(cluster_id([node.storage for node in world.nodes.values()], world.seed))
    factory = BrokerFactory(join, broker.id, cluster.machine_settings(broker), protections=by, applies=True)
    world.add_node(name, blank, factory)
    world.nodes[name].emit(events.MACHINE_ADDED, broker=broker.id)
    return name


def _join(world: World, cluster: ClusterSpec, disks: Iterable[Storage]) -> Join:
    if not cluster.is_kraft:
        return ZooKeeperCluster
    return KRaftJoin(cluster_id(disks, world.seed), initial_controllers(cluster, world.seed))


def initial_controllers(cluster: ClusterSpec, seed: int) -> VoterSet | None:
    """What `kafka-storage format --initial-controllers` is told: ids, places, and directory ids that the seed draws."""
    if cluster.quorum != DYNAMIC:
        return None
    found = []
    for number in cluster.voters():
        directory = uuid.UUID(int=Random(f"{seed}/directory of {number}").getrandbits(128), version=4)
        place = Listener(CONTROLLER_LISTENER, *cluster.controller_place(number))
        found.append(VoterNode(ReplicaKey(number, directory), (place,)))
    return VoterSet(found)


def add_controller_node(world: World, cluster: ClusterSpec, number: int, disks: Storage, identity: str) -> None:
    """The process of a dedicated controller; it does not run yet. `identity`: of its cluster."""
    settings = cluster.controller_settings(number)
    directories = tuple(log_dirs(BrokerConfig(settings, KRAFT)))
    factory = ControllerFactory(settings, identity, directories, initial_controllers(cluster, world.seed))
    world.add_node(controller_node(number), disks, factory)


def cluster_id(disks: Iterable[Storage], seed: int) -> str:
    """What stands on the first disk that has been in use, else one that is fixed by the seed."""
    for storage in disks:
        for directory in storage.list(""):
            found = _cluster_id_on(storage, directory)
            if found is not None:
                return found
    drawn = Random(f"{seed}/cluster id").getrandbits(128)
    return base64.urlsafe_b64encode(uuid.UUID(int=drawn, version=4).bytes).rstrip(b"=").decode()


def _cluster_id_on(storage: Storage, directory: str) -> str | None:
    try:
        return read_meta_properties(storage, directory).get("cluster.id")
    except (StorageError, CorruptCheckpoint):
        return None


def tell_of(world: World, cluster: ClusterSpec, broker: BrokerSpec) -> None:
    """What viewers need to show it, before its process says anything."""
    settings = cluster.broker_settings(broker)
    world.nodes[broker_node(broker.id)].emit(
        events.BROKER_ADDED, broker=broker.id, rack=settings.get("broker.rack"),
        replica_selector=settings.get("replica.selector.class") == RACK_AWARE_SELECTOR,
    )  # fmt: skip


# -- what a lab's directory keeps -------------------------------------------------------------
def read_joined(directory: Path, cluster: ClusterSpec) -> None:
    """Those that joined in an earlier life are brokers of the cluster again, behind those that it names itself.

    Raises SpecError, OSError.
    """
    try:
        found = orjson.loads((directory / JOINED).read_bytes())
    except FileNotFoundError:
        return
    except ValueError:
        raise SpecError((), problem("damaged", path=JOINED)) from None
    for index, one in enumerate(checks.items(found, (JOINED,))):
        if isinstance(one, dict) and CONTROLLER in one:
            if one[CONTROLLER] not in cluster.controller_ids():
                cluster.added.append(new_controller(one[CONTROLLER], cluster, (JOINED, index)))
            continue
        broker = broker_from_dict(one, (JOINED, index))
        if broker.id not in [known.id for known in cluster.brokers]:
            given = {"rack": broker.rack, "settings": broker.settings, "generated": broker.generated}
            cluster.brokers.append(new_broker({"broker": broker.id, **given}, cluster, (JOINED, index)))


def keep_joined(directory: Path, broker: BrokerSpec) -> None:
    """The next start finds this one, too. Raises OSError."""
    _keep(directory, "id", asdict(broker))


def keep_joined_controller(directory: Path, number: int) -> None:
    """The same. Raises OSError."""
    _keep(directory, CONTROLLER, {CONTROLLER: number})


def _keep(directory: Path, key: str, joined: dict[str, Any]) -> None:
    path = directory / JOINED
    before = orjson.loads(path.read_bytes()) if path.exists() else []
    others = [one for one in before if one.get(key) != joined[key]]
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(orjson.dumps([*others, joined], option=orjson.OPT_INDENT_2))
    temporary.replace(path)
