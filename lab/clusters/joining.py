"""A broker that joins a running cluster, and the list of those that have joined a lab.

As in Kafka a new broker only registers: the controller sees its znode and tells it and all others of it, but it has
no replica until a reassignment, or a topic that is created from now on, gives it some.

| what | which |
|---|---|
| id | the one that was given, if no broker has it; else the one behind the highest |
| port | the one behind the last broker's, as if the description had named it from the start |
| disks | its own: empty, or what a broker of this id left behind in an earlier life of the lab |

The description of a run stays as it was given: its commands say who has joined, and when. A lab that starts again on
the same directory finds them in `joined.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson

from broker_core.broker.broker import BrokerFactory
from broker_core.broker.stages import StageCosts
from broker_core.kernel import events
from broker_core.kernel.storage import Storage
from broker_core.kernel.world import World
from broker_core.metadata.configs_replication import RACK_AWARE_SELECTOR
from broker_core.replication.protections import Protections
from lab.clusters import checks
from lab.clusters.checks import Place, SpecError
from lab.clusters.spec import MAX_BROKERS, BrokerSpec, ClusterSpec, broker_from_dict, check_broker

JOINED = "joined.json"
HIGHEST_PORT = 65_535


def new_broker(command: Mapping[str, Any], cluster: ClusterSpec, place: Place = ()) -> BrokerSpec:
    """The broker that `add_broker` asks for. Raises SpecError when the cluster cannot take it."""
    ids = [broker.id for broker in cluster.brokers]
    given = {key: command[key] for key in ("rack", "settings") if key in command}
    broker = broker_from_dict({"id": command.get("broker", max(ids) + 1), **given}, place)
    if broker.id in ids:
        taken = ", ".join(map(str, sorted(ids)))
        raise SpecError((*place, "broker"), f"broker id {broker.id} is taken: the cluster has {taken}")
    if len(ids) >= MAX_BROKERS:
        raise SpecError(place, f"the cluster has {MAX_BROKERS} brokers already, which is the most")
    grown = replace(cluster, brokers=[*cluster.brokers, broker])
    if grown.listener_port(broker) > HIGHEST_PORT:
        raise SpecError(place, f"there is no port {grown.listener_port(broker)} for the new broker")
    try:
        check_broker(grown, broker, place, place)
    except SpecError as error:
        at = (*place, "broker") if error.place == (*place, "id") else error.place
        raise SpecError(at, error.reason) from None
    return broker


def add_broker_node(world: World, cluster: ClusterSpec, broker: BrokerSpec, disks: Storage, by: Protections) -> None:
    """The process of a broker of the cluster; it does not run yet. `by`: how its replicas protect themselves."""
    costs = StageCosts(**cluster.stage_costs)
    factory = BrokerFactory(broker.id, cluster.broker_settings(broker), protections=by, costs=costs)
    world.add_node(f"broker-{broker.id}", disks, factory)


def tell_of(world: World, cluster: ClusterSpec, broker: BrokerSpec) -> None:
    """What viewers need to show it, before its process says anything."""
    settings = cluster.broker_settings(broker)
    world.nodes[f"broker-{broker.id}"].emit(
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
        raise SpecError((JOINED,), "is damaged") from None
    for index, one in enumerate(checks.items(found, (JOINED,))):
        broker = broker_from_dict(one, (JOINED, index))
        if broker.id not in [known.id for known in cluster.brokers]:
            given = {"broker": broker.id, "rack": broker.rack, "settings": broker.settings}
            cluster.brokers.append(new_broker(given, cluster, (JOINED, index)))


def keep_joined(directory: Path, broker: BrokerSpec) -> None:
    """The next start finds this one, too. Raises OSError."""
    path = directory / JOINED
    before = orjson.loads(path.read_bytes()) if path.exists() else []
    others = [one for one in before if one["id"] != broker.id]
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(orjson.dumps([*others, asdict(broker)], option=orjson.OPT_INDENT_2))
    temporary.replace(path)
