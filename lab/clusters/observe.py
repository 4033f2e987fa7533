"""The state of a lab as viewers get it first; from then on the browser keeps it up to date by events.

Leaders, ISRs and registrations are the truth of the cluster (`lab.truth`), not what a single broker believes; log
ends and high watermarks are those of each broker's own replica, of a broker that does not run those on its disks.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from broker_core.kernel.network import SETTINGS
from broker_core.kernel.names import OPERATOR, broker_node, broker_of, is_broker, is_keeper, is_machine
from broker_core.kernel.node import STOPPED, Node
from broker_core.kernel.world import World
from broker_core.metadata.configs_replication import RACK_AWARE_SELECTOR
from broker_core.replication.partition import FAILED
from lab.clusters.brokers import BrokerSpec
from lab.clusters.directories import add_directories
from lab.clusters.damage import add_damage, add_refusals, with_false_epochs
from lab.clusters.observe_work import add_log_transactions, observe_shares, observe_transactions
from lab.clusters.partings import add_partings
from lab.clusters.spec import RunSpec
from lab.clusters.stopped import DiskLog, log_dirs, stopped_logs
from lab.clusters.tails import add_tails
from lab.faults.disks import rules
from lab.clusters.charge import charge_of
from lab.truth import truth_of


# -- brokers --------------------------------------------------------------------------------
def brokers(world: World) -> list[tuple[int, Node]]:
    """(id, node) of all brokers, running or not."""
    return [(broker_of(name), node) for name, node in world.nodes.items() if is_broker(name)]


def partitions_of(node: Node) -> dict[tuple[str, int], Any]:
    """The replicas that a running broker has."""
    machine: Any = node.machine
    return {} if machine is None else machine.partitions


def log_marks(world: World, topic: str, partition: int) -> dict[int, dict[str, int]]:
    """Broker -> leo, hw and start of its replica."""
    found = {}
    for broker, node in brokers(world):
        replica = partitions_of(node).get((topic, partition))
        if replica is not None and replica.log is not None:
            found[broker] = _marks(replica)
    return found


def _marks(replica: Any) -> dict[str, int]:
    log = replica.log
    return {"leo": log.log_end_offset, "hw": log.high_watermark, "start": log.log_start_offset}


def observe_marks(world: World) -> dict[str, dict[str, list[int]]]:
    """`orders-0` -> broker -> [leo, hw, start]: what moves too fast to be told event by event."""
    found: dict[str, dict[str, list[int]]] = {}
    for broker, node in brokers(world):
        for (topic, partition), replica in partitions_of(node).items():
            if replica.log is not None:
                marks = _marks(replica)
                found.setdefault(f"{topic}-{partition}", {})[str(broker)] = [marks["leo"], marks["hw"], marks["start"]]
    return found


# -- the snapshot ---------------------------------------------------------------------------
def observe(world: World, spec: RunSpec) -> dict[str, Any]:
    """Everything, in the shape that the browser's reducers keep."""
    return {
        "cluster": _cluster(world, spec),
        "time": {"t_us": world.now_us, "speed": 1.0, "paused": False, "clocks": world.wall.steps},
        "brokers": _brokers(world, spec),
        "topics": _topics(world, spec),
        "groups": _groups(world),
        "transactions": observe_transactions(world),
        "shares": observe_shares(world),
        "clients": _clients(world),
        **_wanted(world, spec),
        "connections": _connections(world),
        **truth_of(world).snapshot(),
        "links": _links(world),
        **_machines(world),
        **_neighbours(world),
    }


def _cluster(world: World, spec: RunSpec) -> dict[str, Any]:
    truth = truth_of(world)
    settings = spec.cluster.usual_settings() | spec.cluster.settings
    return {
        "name": spec.cluster.name, "controller_mode": spec.cluster.controller,
        "controller": truth.controller_id(), "controller_epoch": truth.controller_epoch(),
        "preset": spec.cluster.preset, "seed": spec.seed, "settings": settings, "link_delay_us": world.network.delay_us,
        "protections": protections_off(world), "stage_costs": stage_costs(world),
        **{key: given for key in ("era", "chroot") if (given := getattr(spec.cluster, key))},
    }  # fmt: skip


def _machines(world: World) -> dict[str, Any]:
    """Those that want an id which is, or was, another one's."""
    found = {
        name: {"node": name, "state": node.state, "how": node.how_stopped, "incarnation": node.incarnation}
        for name, node in world.nodes.items() if is_machine(name)
    }  # fmt: skip
    return {"machines": found} if found else {}


def _neighbours(world: World) -> dict[str, Any]:
    """Other clusters on the same ensemble."""
    charge = charge_of(world)
    found = {} if charge is None else charge.neighbourhood.observe(world)
    return {"neighbours": found} if found else {}


def protections_off(world: World) -> dict[str, bool]:
    """{name: False} of each protection of replication that is not in place."""
    charge = charge_of(world)
    if charge is None:
        return {}
    return {one.name: False for one in fields(charge.protections) if not getattr(charge.protections, one.name)}


def stage_costs(world: World) -> dict[str, int]:
    """Stage -> microseconds that a request costs there; all brokers have the same."""
    found: Any = next((node.factory for _, node in brokers(world)), None)
    return {} if found is None else asdict(found.costs)


def _brokers(world: World, spec: RunSpec) -> dict[str, Any]:
    known, fenced = truth_of(world).registered(), truth_of(world).fenced()
    described = {broker.id: broker for broker in spec.cluster.brokers}
    several = _several_directories(world, spec)
    addresses = {name: {"host": host, "port": port} for name, (host, port) in spec.addresses().items()}
    nowhere = {"host": spec.cluster.host, "port": 0}
    return {
        str(broker): {
            "id": broker, "node": node.name, "state": node.state, "how": node.how_stopped,
            "registered": broker in known, "fenced": broker in fenced, **addresses.get(node.name, nowhere),
            "incarnation": node.incarnation, "disk": rules(node), "clock_ms": node.clock_skew_ms,
            **_nearness(spec, described.get(broker)),
            **({"log_dirs": several[str(broker)]} if str(broker) in several else {}),
        }
        for broker, node in brokers(world)
    }  # fmt: skip


def _nearness(spec: RunSpec, broker: BrokerSpec | None) -> dict[str, Any]:
    """Its rack, and whether as a leader it sends consumers to followers of theirs (KIP-392)."""
    settings = {} if broker is None else spec.cluster.broker_settings(broker)
    selects = settings.get("replica.selector.class") == RACK_AWARE_SELECTOR
    return {"rack": settings.get("broker.rack"), "replica_selector": selects}


def _topics(world: World, spec: RunSpec) -> dict[str, Any]:
    found: dict[str, Any] = {}
    there = truth_of(world).topics()
    configs = {topic: _configs(world, topic) for topic in there}
    logs = _logs(world) | _stopped(world, spec, configs)
    for topic, partitions in there.items():
        found[topic] = {"internal": topic.startswith("__"), "configs": configs[topic], "partitions": {}}
        for number, state in partitions.items():
            marks = {str(broker): one for broker, one in log_marks(world, topic, number).items()}
            for broker, _ in brokers(world):
                on_disk = logs.get((topic, number, str(broker)))
                if isinstance(on_disk, DiskLog):
                    marks[str(broker)] = {"leo": on_disk.leo, "hw": on_disk.hw, "start": on_disk.start}
            min_isr = _min_isr(world, state, configs[topic])
            moving = truth_of(world).reassignment(topic, number) or {}
            found[topic]["partitions"][str(number)] = {**state, **moving, "min_isr": min_isr, "logs": marks}
    add_tails(found, logs)
    add_log_transactions(found, logs)
    add_directories(world, found, _several_directories(world, spec))
    add_damage(world, found)
    add_refusals(world, found)
    add_partings(found, logs, with_false_epochs(world))
    return found


def _several_directories(world: World, spec: RunSpec) -> dict[str, list[str]]:
    described = {broker.id: broker for broker in spec.cluster.brokers}
    given = {str(broker): log_dirs(spec.cluster.broker_settings(described[broker]))
             for broker, _ in brokers(world) if broker in described}  # fmt: skip
    return {broker: found for broker, found in given.items() if len(found) > 1}


def _configs(world: World, topic: str) -> dict[str, str]:
    return truth_of(world).topic_configs(topic) or {}


def _logs(world: World) -> dict[tuple[str, int, str], Any]:
    return {
        (topic, partition, str(broker)): replica.log
        for broker, node in brokers(world) for (topic, partition), replica in partitions_of(node).items()
    }  # fmt: skip


def _stopped(world: World, spec: RunSpec, configs: dict[str, dict[str, str]]) -> dict[tuple[str, int, str], Any]:
    """Logs of the brokers that do not run, as their disks hold them."""
    compacted = [topic for topic, given in configs.items() if "compact" in given.get("cleanup.policy", "")]
    found: dict[tuple[str, int, str], Any] = {}
    described = {broker.id: broker for broker in spec.cluster.brokers}
    for broker, node in brokers(world):
        if node.state == STOPPED and broker in described:
            directories = log_dirs(spec.cluster.broker_settings(described[broker]))
            for (topic, number), log in stopped_logs(node, directories, compacted).items():
                found[topic, number, str(broker)] = log
    return found


def logs(world: World, spec: RunSpec) -> dict[tuple[str, int, str], Any]:
    """(topic, partition, broker) -> the log of its replica: of a broker that runs its own, of another one what lies on
    its disks. Replicas in a directory that has failed have none."""
    found = {
        (topic, partition, str(broker)): replica.log for broker, node in brokers(world)
        for (topic, partition), replica in partitions_of(node).items()
        if replica.log is not None and replica.role != FAILED
    }
    return {**found, **_stopped(world, spec, {topic: _configs(world, topic) for topic in truth_of(world).topics()})}


def observe_stopped(world: World, spec: RunSpec, name: str) -> dict[str, list[int]]:
    """`orders-0` -> [leo, hw, start] of a stopped broker's logs, as its disks hold them."""
    found = _stopped(world, spec, {topic: _configs(world, topic) for topic in truth_of(world).topics()})
    return {
        f"{topic}-{number}": [log.leo, log.hw, log.start]
        for (topic, number, broker), log in found.items() if broker_node(int(broker)) == name
    }  # fmt: skip


def _min_isr(world: World, state: dict[str, Any], configs: dict[str, str]) -> int:
    if "min.insync.replicas" in configs:
        return int(configs["min.insync.replicas"])
    for broker, node in brokers(world):
        machine: Any = node.machine
        if machine is not None and state["leader"] in (broker, -1):
            return int(machine.config["min.insync.replicas"])
    return 1


def _groups(world: World) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _, node in brokers(world):
        machine: Any = node.machine
        view = getattr(machine, "groups_view", None)
        if view is not None:
            found.update(view())
    return dict(sorted(found.items()))


def _clients(world: World) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, node in world.nodes.items():
        if is_broker(name) or is_keeper(name) or is_machine(name) or name == OPERATOR:
            continue
        machine: Any = node.machine
        if machine is not None:
            found[name] = {**machine.view(), "state": node.state}
        else:
            kind = next((kind for kind in ("producer", "processor", "worker") if name.startswith(kind)), "consumer")
            found[name] = {"kind": kind, "state": node.state, "settings": {}, "acked": 0, "failed": 0, "read": 0}
    return found


def _wanted(world: World, spec: RunSpec) -> dict[str, Any]:
    """Clients of the description that have not been started yet: what they will be, for the commands that start them
    only name them."""
    waiting = [one for one in spec.clients if one.name not in world.nodes]
    found = {one.name: {"kind": one.kind, "settings": one.settings} for one in waiting}
    return {"wanted": found} if found else {}


def _connections(world: World) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, name in world.connections.items():
        machine: Any = world.nodes[name].machine
        connection = machine.connections.get(number) if machine is not None else None
        found[str(number)] = {
            "id": number, "broker": broker_of(name), "client_id": getattr(connection, "client_id", None),
            "software": getattr(connection, "software", ""), "peer": getattr(connection, "peer", ""),
        }  # fmt: skip
    return found


def _links(world: World) -> list[dict[str, Any]]:
    return [
        {"from": source, "to": dest} | {name: getattr(link, name) for name in SETTINGS}
        for (source, dest), link in sorted(world.network.links.items())
        if link.changed
    ]
