"""The state of a lab as viewers get it first; from then on the browser keeps it up to date by events.

Leaders, ISRs and registrations are what stands in the coordination tree (the truth of the cluster, not
what a single broker believes); log ends and high watermarks are those of each broker's own replica, of a broker that
does not run those on its disks.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from broker_core.kernel.node import STOPPED, Node
from broker_core.kernel.world import World
from broker_core.metadata import znodes
from broker_core.metadata.configs_replication import RACK_AWARE_SELECTOR
from broker_core.zookeeper.server import ZooKeeperServer
from lab.clusters import presets
from lab.clusters.spec import BrokerSpec, RunSpec
from lab.clusters.stopped import DiskLog, log_dirs, stopped_logs
from lab.clusters.tails import add_tails
from lab.faults.disks import rules

HIDDEN = ("/zookeeper",)


# -- the coordination tree ------------------------------------------------------------------
def tree(world: World) -> dict[str, Any]:
    """Path -> znode, of the first coordination server that runs."""
    for node in world.nodes.values():
        if isinstance(node.machine, ZooKeeperServer):
            return node.machine.tree.nodes
    return {}


def sessions(world: World) -> dict[int, str]:
    """Session id -> the node that owns it."""
    for node in world.nodes.values():
        if isinstance(node.machine, ZooKeeperServer):
            return {number: session.client for number, session in node.machine.tree.sessions.items()}
    return {}


def controller_id(world: World) -> int | None:
    """Broker id of the controller."""
    found = tree(world).get(znodes.CONTROLLER)
    return None if found is None else znodes.decode_controller(found.data)


def controller_epoch(world: World) -> int:
    """Epoch of the last controller election, 0 before the first."""
    found = tree(world).get(znodes.CONTROLLER_EPOCH)
    return int(found.data) if found is not None and found.data else 0


def partition_state(world: World, topic: str, partition: int) -> dict[str, Any] | None:
    """Leader (-1: none), leader epoch, ISR and replicas; None when there is no such partition."""
    nodes = tree(world)
    info = nodes.get(znodes.topic_path(topic))
    if info is None or not info.data:
        return None
    assigned = znodes.TopicInfo.decode(info.data).partitions.get(partition)
    return None if assigned is None else _state(nodes, topic, partition, assigned.replicas)


def reassignment(world: World, topic: str, partition: int) -> dict[str, list[int]] | None:
    """Replicas that a move adds and removes; None when none is under way (KIP-455)."""
    info = tree(world).get(znodes.topic_path(topic))
    assigned = znodes.TopicInfo.decode(info.data).partitions.get(partition) if info is not None and info.data else None
    if assigned is None or not assigned.being_reassigned:
        return None
    return {"adding": list(assigned.adding), "removing": list(assigned.removing)}


def _state(nodes: dict[str, Any], topic: str, partition: int, replicas: list[int]) -> dict[str, Any]:
    found = nodes.get(znodes.state_path(topic, partition))
    if found is None or not found.data:
        return {"leader": -1, "leader_epoch": -1, "isr": [], "replicas": replicas}
    state = znodes.decode_state(found.data, found.version)
    return {"leader": state.leader, "leader_epoch": state.leader_epoch, "isr": list(state.isr), "replicas": replicas}


def topics(world: World) -> dict[str, dict[int, dict[str, Any]]]:
    """Topic -> partition -> state, sorted by name and number."""
    nodes = tree(world)
    found: dict[str, dict[int, dict[str, Any]]] = {}
    parent = nodes.get(znodes.TOPICS)
    for topic in sorted(parent.children if parent is not None else ()):
        info = nodes.get(znodes.topic_path(topic))
        if info is not None and info.data:
            assigned = znodes.TopicInfo.decode(info.data).partitions
            found[topic] = {
                number: _state(nodes, topic, number, assigned[number].replicas) for number in sorted(assigned)
            }
    return found


def registered(world: World) -> list[int]:
    """Brokers that have a session and their znode, sorted."""
    parent = tree(world).get(znodes.BROKER_IDS)
    return sorted(int(name) for name in parent.children) if parent is not None else []


# -- brokers --------------------------------------------------------------------------------
def brokers(world: World) -> list[tuple[int, Node]]:
    """(id, node) of all brokers, running or not."""
    return [(int(name[7:]), node) for name, node in world.nodes.items() if name.startswith("broker-")]


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
        "time": {"t_us": world.now_us, "speed": 1.0, "paused": False, "epoch_ms": world.epoch_ms},
        "brokers": _brokers(world, spec),
        "topics": _topics(world, spec),
        "groups": _groups(world),
        "clients": _clients(world),
        "connections": _connections(world),
        "znodes": _znodes(world),
        "links": _links(world),
    }


def _cluster(world: World, spec: RunSpec) -> dict[str, Any]:
    settings = presets.BROKER[spec.cluster.preset] | spec.cluster.settings
    return {
        "name": spec.cluster.name, "controller_mode": spec.cluster.controller, "controller": controller_id(world),
        "controller_epoch": controller_epoch(world),
        "preset": spec.cluster.preset, "seed": spec.seed, "settings": settings,
        "protections": protections_off(world),
    }  # fmt: skip


def protections_off(world: World) -> dict[str, bool]:
    """{name: False} of each protection of replication that is not in place."""
    found: Any = getattr(world.operator, "protections", None)
    return {} if found is None else {one.name: False for one in fields(found) if not getattr(found, one.name)}


def _brokers(world: World, spec: RunSpec) -> dict[str, Any]:
    known = registered(world)
    described = {broker.id: broker for broker in spec.cluster.brokers}
    addresses = {name: {"host": host, "port": port} for name, (host, port) in spec.addresses().items()}
    nowhere = {"host": spec.cluster.host, "port": 0}
    return {
        str(broker): {
            "id": broker, "node": node.name, "state": node.state, "how": node.how_stopped,
            "registered": broker in known, **addresses.get(node.name, nowhere),
            "incarnation": node.incarnation, "disk": rules(node), **_nearness(spec, described.get(broker)),
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
    there = topics(world)
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
            found[topic]["partitions"][str(number)] = {**state, "min_isr": min_isr, "logs": marks}
    add_tails(found, logs)
    return found


def _configs(world: World, topic: str) -> dict[str, str]:
    config = tree(world).get(znodes.config_path("topics", topic))
    return znodes.decode_config(config.data) if config is not None and config.data else {}


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


def observe_stopped(world: World, spec: RunSpec, name: str) -> dict[str, list[int]]:
    """`orders-0` -> [leo, hw, start] of a stopped broker's logs, as its disks hold them."""
    logs = _stopped(world, spec, {topic: _configs(world, topic) for topic in topics(world)})
    return {
        f"{topic}-{number}": [log.leo, log.hw, log.start]
        for (topic, number, broker), log in logs.items() if f"broker-{broker}" == name
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
        if name.startswith(("broker-", "zookeeper-")) or name == "operator":
            continue
        machine: Any = node.machine
        if machine is not None:
            found[name] = {**machine.view(), "state": node.state}
        else:
            kind = "producer" if name.startswith("producer") else "consumer"
            found[name] = {"kind": kind, "state": node.state, "settings": {}, "acked": 0, "failed": 0, "read": 0}
    return found


def _connections(world: World) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, name in world.connections.items():
        machine: Any = world.nodes[name].machine
        connection = machine.connections.get(number) if machine is not None else None
        found[str(number)] = {
            "id": number, "broker": int(name[7:]), "client_id": getattr(connection, "client_id", None),
            "software": getattr(connection, "software", ""), "peer": getattr(connection, "peer", ""),
        }  # fmt: skip
    return found


def _znodes(world: World) -> dict[str, Any]:
    owners = sessions(world)
    return {
        path: {"version": node.version, "ephemeral": owners.get(node.owner) if node.owner else None,
               "data": _text(node.data)}
        for path, node in sorted(tree(world).items())
        if path != "/" and not path.startswith(HIDDEN)
    }  # fmt: skip


def _text(data: bytes) -> Any:
    try:
        return json.loads(data) if data else None
    except ValueError:
        return data.decode(errors="replace")


def _links(world: World) -> list[dict[str, Any]]:
    return [
        {"from": source, "to": dest, "delay_us": link.delay_us, "drop": link.drop, "partitioned": link.partitioned}
        for (source, dest), link in sorted(world.network.links.items())
        if link.changed
    ]
