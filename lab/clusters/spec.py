"""The description of a run: cluster, seed, topics, clients. With its inputs it *is* the run.

```
{"cluster": {"brokers": [{"id": 1, "rack": "a"}, 2, 3], "preset": "teaching",
             "settings": {"min.insync.replicas": 2}, "protections": {"truncate_by_leader_epoch": false}},
 "seed": 42,
 "topics":  [{"name": "orders", "partitions": 3, "replication_factor": 3}],
 "clients": [{"name": "producer-orders", "kind": "producer", "topic": "orders", "rate": 100,
              "settings": {"acks": "all"}}]}
```
`from_dict` checks everything and names the place of what is wrong; `to_dict` gives back the plain form.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from broker_core.broker.addresses import advertised_address
from broker_core.broker.stages import StageCosts
from broker_core.kernel.events import LEVEL_NAMES
from broker_core.kernel.names import broker_node, controller_node, place_of
from broker_core.kernel.problems import problem
from broker_core.replication.protections import Protections
from lab.clusters import eras, presets
from lab.clusters.broker_spec import broker_from_dict, check_broker, set_elsewhere
from lab.clusters.brokers import (
    CONTROLLER_LISTENER,
    DYNAMIC,
    FIRST_CONTROLLER,
    MOST_VOTERS,
    STATIC,
    BrokerSpec,
    ClusterSpec,
)
from lab.clusters.checks import (
    Place,
    SpecError,
    choice,
    integer,
    integers,
    items,
    mapping,
    number,
    settings_of,
    text,
    truth,
    unique,
)
from lab.clusters.client_spec import ClientSpec, client_from_dict
from lab.clusters.neighbour_spec import chroot_from, neighbours_from, plain as plain_neighbour
from lab.clusters.topic_spec import TopicSpec, topic_from_dict

EPOCH_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z: when simulated runs begin
MAX_BROKERS = 30
CONTROLLERS = ("zookeeper", "kraft")
MOST_CONTROLLERS = MOST_IN_ENSEMBLE = 5
PROTECTIONS = tuple(one.name for one in fields(Protections))
STAGES = tuple(one.name for one in fields(StageCosts))
MOST_STAGE_US = 1_000_000


@dataclass(slots=True)
class RunSpec:
    """Everything that a world is built from."""

    cluster: ClusterSpec = field(default_factory=ClusterSpec)
    seed: int = 1
    record_level: str = "messages"
    epoch_ms: int = EPOCH_MS
    life: int = 1  # how often a world has been started on these disks, with this one
    topics: list[TopicSpec] = field(default_factory=list)
    clients: list[ClientSpec] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `run_from_dict` reads back."""
        plain = asdict(self)
        plain["clients"] = [client.to_dict() for client in self.clients]
        plain["cluster"]["neighbours"] = [plain_neighbour(one) for one in self.cluster.neighbours]
        for name, usual in (("stage_costs", {}), ("controllers", 0), ("combined", 0), ("added", []), ("ensemble", 1),
                            ("era", ""), ("quorum", STATIC), ("chroot", ""), ("neighbours", [])):
            if plain["cluster"][name] == usual:
                del plain["cluster"][name]
        for broker in plain["cluster"]["brokers"]:
            if not broker["generated"]:
                del broker["generated"]
        return plain

    def keeper_names(self) -> list[str]:
        """Nodes that keep what the cluster has decided and do nothing else: coordination tree, or controllers."""
        if self.cluster.is_kraft:
            return [controller_node(number) for number in self.cluster.controller_ids()]
        return self.cluster.ensemble_nodes()

    def broker_names(self) -> list[str]:
        return [broker_node(broker.id) for broker in self.cluster.brokers]

    def node_names(self) -> list[str]:
        """Nodes that have disks worth keeping."""
        return [*self.keeper_names(), *self.broker_names()]

    def ports(self) -> dict[str, int]:
        """Broker's node -> port of its listener."""
        return {broker_node(one.id): self.cluster.listener_port(one) for one in self.cluster.brokers}

    def controller_ports(self) -> dict[str, int]:
        """Place of a controller listener -> its port for tools outside."""
        nodes = self.cluster.controller_nodes() if self.cluster.is_kraft else {}
        ports = self.cluster.controller_ports()
        return {place_of(nodes[number], CONTROLLER_LISTENER): port for number, port in ports.items()}

    def addresses(self) -> dict[str, tuple[str, int]]:
        """Broker's node -> where its clients are told to find it."""
        cluster = self.cluster
        return {
            broker_node(one.id): advertised_address({"advertised.listeners": None, **cluster.broker_settings(one)})
            for one in cluster.brokers
        }

    def max_frame(self) -> int:
        """`socket.request.max.bytes`: the largest of all brokers."""
        given = [self.cluster.broker_settings(broker) for broker in self.cluster.brokers]
        return max(int(settings.get("socket.request.max.bytes", "104857600")) for settings in given)


# -- reading --------------------------------------------------------------------------------
def run_from_dict(value: Any, place: Place = ()) -> RunSpec:
    """Check and build; raises SpecError."""
    data = mapping(value, place, [one.name for one in fields(RunSpec)])
    run = RunSpec()
    if "cluster" in data:
        run.cluster = cluster_from_dict(data["cluster"], (*place, "cluster"))
    if "seed" in data:
        run.seed = integer(data["seed"], (*place, "seed"), 0)
    if "record_level" in data:
        run.record_level = choice(data["record_level"], (*place, "record_level"), LEVEL_NAMES)
    if "epoch_ms" in data:
        run.epoch_ms = integer(data["epoch_ms"], (*place, "epoch_ms"), 0)
    if "life" in data:
        run.life = integer(data["life"], (*place, "life"), 1)
    for index, one in enumerate(items(data.get("topics"), (*place, "topics"))):
        run.topics.append(topic_from_dict(one, (*place, "topics", index), run.cluster))
    for index, one in enumerate(items(data.get("clients"), (*place, "clients"))):
        client = client_from_dict(one, (*place, "clients", index), run.cluster.preset, eras.clients(run.cluster.era))
        run.clients.append(client)
    unique([topic.name for topic in run.topics], (*place, "topics"), "topic")
    unique([client.name for client in run.clients], (*place, "clients"), "client")
    return run


def cluster_from_dict(value: Any, place: Place = ()) -> ClusterSpec:
    """Check and build; every broker's settings are tried on Kafka's own rules."""
    data = mapping(value, place, [one.name for one in fields(ClusterSpec)])
    cluster = ClusterSpec()
    if "name" in data:
        cluster.name = text(data["name"], (*place, "name"))
    _read_controller(cluster, data, place)
    if "controllers" in data:
        cluster.controllers = integer(data["controllers"], (*place, "controllers"), 0, MOST_CONTROLLERS)
    if cluster.controllers and not cluster.is_kraft:
        raise SpecError((*place, "controllers"), problem("controllers_of_kraft"))
    if "quorum" in data:
        cluster.quorum = choice(data["quorum"], (*place, "quorum"), (STATIC, DYNAMIC))
    if cluster.quorum == DYNAMIC and not cluster.is_kraft:
        raise SpecError((*place, "quorum"), problem("quorum_of_kraft"))
    for index, given in enumerate(items(data.get("added"), (*place, "added"))):
        cluster.added.append(new_controller(given, cluster, (*place, "added", index)))
    if "ensemble" in data:
        cluster.ensemble = integer(data["ensemble"], (*place, "ensemble"), 1, MOST_IN_ENSEMBLE)
    if cluster.ensemble > 1 and cluster.is_kraft:
        raise SpecError((*place, "ensemble"), problem("ensemble_of_zookeeper"))
    if "chroot" in data:
        cluster.chroot = chroot_from(data["chroot"], (*place, "chroot"))
    if cluster.chroot and cluster.is_kraft:
        raise SpecError((*place, "chroot"), problem("chroot_of_zookeeper"))
    if "preset" in data:
        cluster.preset = choice(data["preset"], (*place, "preset"), presets.NAMES)
    cluster.settings = settings_of(data.get("settings"), (*place, "settings"))
    switches = mapping(data.get("protections"), (*place, "protections"), PROTECTIONS)
    cluster.protections = {name: truth(on, (*place, "protections", name)) for name, on in switches.items()}
    if "link_delay_ms" in data:
        cluster.link_delay_ms = number(data["link_delay_ms"], (*place, "link_delay_ms"), 0, 60_000)
    cluster.stage_costs = integers(data.get("stage_costs"), (*place, "stage_costs"), STAGES, 0, MOST_STAGE_US)
    if "host" in data:
        cluster.host = text(data["host"], (*place, "host"))
    if "port" in data:
        cluster.port = integer(data["port"], (*place, "port"), 0, 65_535)
    if "brokers" in data:
        cluster.brokers = _brokers(data["brokers"], (*place, "brokers"))
    if "combined" in data:
        cluster.combined = _combined(data["combined"], cluster, (*place, "combined"))
    taken = [broker.id for broker in cluster.brokers if broker.id in cluster.controller_ids()]
    if taken:
        raise SpecError((*place, "brokers"), problem("id_taken", broker=taken[0], known=cluster.controller_ids()))
    _check_settings(cluster, place)
    cluster.neighbours = neighbours_from(data.get("neighbours"), (*place, "neighbours"), cluster)
    return cluster


def _combined(given: Any, cluster: ClusterSpec, place: Place) -> int:
    """0 where it is the usual number: a directory does not remember that one."""
    found = integer(given, place, 0, min(MOST_CONTROLLERS, len(cluster.brokers)))
    if found and (cluster.controllers or not cluster.is_kraft):
        raise SpecError(place, problem("combined_of_kraft"))
    return 0 if found == len(cluster.voters()) else found


def new_controller(given: Any, cluster: ClusterSpec, place: Place = ()) -> int:
    """The id of a controller that joins; None: the one behind the highest. Raises SpecError where there is no room."""
    if not cluster.is_kraft:
        raise SpecError(place, problem("controllers_of_kraft"))
    nodes = cluster.controller_nodes()
    if len(nodes) >= MOST_VOTERS:
        raise SpecError(place, problem("most_controllers", n=MOST_VOTERS))
    number = max([FIRST_CONTROLLER - 1, *nodes]) + 1 if given is None else integer(given, place, 0)
    taken = sorted({*nodes, *(broker.id for broker in cluster.brokers)})
    if number in taken:
        raise SpecError(place, problem("id_taken", broker=number, known=taken))
    return number


def _read_controller(cluster: ClusterSpec, data: dict[str, Any], place: Place) -> None:
    """An era has a kind of controller, and no other."""
    if "era" in data:
        cluster.era = choice(str(data["era"]), (*place, "era"), eras.NAMES)
        cluster.controller = eras.controller(cluster.era)
    if "controller" in data:
        given = choice(data["controller"], (*place, "controller"), CONTROLLERS)
        if cluster.era and given != cluster.controller:
            what = problem("era_controller", given=given, name=cluster.era, expected=cluster.controller)
            raise SpecError((*place, "controller"), what)
        cluster.controller = given


def _brokers(value: Any, place: Place) -> list[BrokerSpec]:
    """A count, or a list of ids and of {id, rack, settings}."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [BrokerSpec(number + 1) for number in range(integer(value, place, 1, MAX_BROKERS))]
    brokers: list[BrokerSpec] = []
    for index, one in enumerate(items(value, place)):
        plain = isinstance(one, int) and not isinstance(one, bool)
        brokers.append(broker_from_dict({"id": one} if plain else one, (*place, index)))
    if not 1 <= len(brokers) <= MAX_BROKERS:
        raise SpecError(place, problem("expected_brokers", most=MAX_BROKERS, n=len(brokers)))
    unique([str(broker.id) for broker in brokers], place, "broker id")
    return brokers


def _check_settings(cluster: ClusterSpec, place: Place) -> None:
    set_elsewhere(cluster.settings, (*place, "settings"))
    for index, broker in enumerate(cluster.brokers):
        check_broker(cluster, broker, place, (*place, "brokers", index))
