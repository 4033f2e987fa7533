"""Who believes what of a partition: the truth, controllers, brokers' caches and replicas, clients.

| who | what it goes by | ZooKeeper | KRaft |
|---|---|---|---|
| tree, log | the truth | znodes | what is committed in the metadata log |
| controller | decides | its memory, read from the tree when it was elected | its image, read from the log |
| standby | decides nothing, is ready | none | its image: every other voter |
| cache | tells clients | the last UpdateMetadata | the broker's image |
| replica | leads or follows | the last LeaderAndIsr | the same image |
| client | asks the leader | the last Metadata answer | the same |

`behind`: records of the metadata log that a process has not read yet. Two that have read equally far believe the same;
with ZooKeeper nobody can tell how far anybody is, so there it is None. `standing`: of a broker that the cluster does
not count on, that it is fenced, or not registered: it may go on for long with what it believes.
"""

from __future__ import annotations

from typing import Any

from broker_core.kernel.names import is_controller
from broker_core.kernel.world import World
from lab.clusters.charge import clients_of
from lab.clusters.observe import brokers
from lab.truth import truth_of

Belief = dict[str, Any]
FENCED, UNREGISTERED = "fenced", "unregistered"


def beliefs(world: World, topic: str, number: int, truth: dict[str, Any]) -> list[Belief]:
    """`truth`: leader, leader_epoch and isr, as it is. `differs`: in what a row is not the truth."""
    cluster = truth_of(world)
    found = [_belief(cluster.who, None, truth, truth)]
    standings = dict.fromkeys(cluster.registered()) | dict.fromkeys(cluster.fenced(), FENCED)
    for broker, node in brokers(world):
        machine: Any = node.machine
        if machine is None:
            continue
        behind, standing = {"behind": cluster.behind(machine)}, {"standing": standings.get(broker, UNREGISTERED)}
        found += _of_controller(world, machine, broker, (topic, number), truth)
        found.append(_belief("cache", broker, machine.cache.partition(topic, number), truth) | behind | standing)
        replica = machine.partitions.get((topic, number))
        if replica is not None:
            isr = replica.isr.committed or None
            own = {"leader": replica.leader_id, "leader_epoch": replica.leader_epoch, "isr": isr}
            found.append(_belief("replica", broker, own, truth) | standing)
    for name, node in world.nodes.items():
        if is_controller(name) and node.machine is not None:
            found += _of_controller(world, node.machine, int(name.rpartition("-")[2]), (topic, number), truth)
    return found + _of_clients(world, topic, number, truth)


def _of_controller(
    world: World, machine: Any, process: int, place: tuple[str, int], truth: dict[str, Any]
) -> list[Belief]:
    """What a process has in mind as a controller; in KRaft those that are not active have the same log."""
    cluster = truth_of(world)
    active, behind = cluster.reign(machine) is not None, cluster.behind(machine)
    known = cluster.remembered(machine, *place)
    if not active and (behind is None or known is None):
        return []
    return [_belief("controller" if active else "standby", process, known, truth) | {"behind": behind}]


def _of_clients(world: World, topic: str, number: int, truth: dict[str, Any]) -> list[Belief]:
    """What each built-in client that asks for the topic keeps of Metadata answers; others hold nothing of it."""
    found = []
    for name in clients_of(world):
        machine: Any = world.nodes[name].machine if name in world.nodes else None
        metadata = None if machine is None else getattr(machine, "producer", machine).metadata
        if metadata is None or topic not in metadata.wanted:
            continue
        own = None
        if number < metadata.partition_count(topic):
            leader, epoch = metadata.leader(topic, number), metadata.leader_epoch(topic, number)
            # Brokers tell a leader epoch from Metadata version 7 on; before, a client knows none.
            own = {"leader": leader, "leader_epoch": epoch if epoch >= 0 else None, "isr": None}
        found.append(_belief("client", None, own, truth) | {"client": name})
    return found


def _belief(who: str, broker: int | None, what: Any, truth: dict[str, Any]) -> Belief:
    about = {"who": who, "broker": broker, "client": None, "behind": None, "standing": None}
    if what is None:
        return about | {"leader": None, "leader_epoch": None, "isr": None, "differs": ["leader"]}
    keys = ("leader", "leader_epoch", "isr")
    given = what if isinstance(what, dict) else {key: getattr(what, key, None) for key in keys}
    isr = None if given["isr"] is None else list(given["isr"])
    differs = [key for key in ("leader", "leader_epoch") if given[key] != truth[key]]
    if who == "client" and given["leader_epoch"] is None and "leader_epoch" in differs:
        differs.remove("leader_epoch")
    if isr is not None and sorted(isr) != sorted(truth["isr"]):
        differs.append("isr")
    return about | {"leader": given["leader"], "leader_epoch": given["leader_epoch"], "isr": isr, "differs": differs}
