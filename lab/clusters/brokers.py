"""The processes of a cluster as a description names them: brokers, and with KRaft who of them are controllers.

| controller | controllers | who decides |
|---|---|---|
| zookeeper | | the broker that was first in the tree; an ensemble of 1 to 5 servers keeps the tree |
| kraft | 0 | brokers 1, 2, 3 are voters, too; of fewer than three brokers the first; with `combined: 5` five of them |
| kraft | 3 | controller-101, -102, -103, each a process with a disk of its own |

Controllers that join later (`added`) have the ids behind these. They vote once they have been added to the quorum.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from broker_core.kernel.names import broker_node, controller_node, zookeeper_node
from lab.clusters import eras, presets
from lab.clusters.client_spec import ClientSpec
from lab.clusters.topic_spec import TopicSpec

STATIC, DYNAMIC = "static", "dynamic"
CONTROLLER_LISTENER, RESERVED_IDS = "CONTROLLER", 1000
FIRST_CONTROLLER, COMBINED_VOTERS, CONTROLLER_PORT = 101, 3, 9093
FIRST_BEHIND, MOST_VOTERS, HIGHEST_PORT = 100, 10, 65_535
MOST_IN_NEIGHBOURHOOD, PORTS_APART = 10, 100


@dataclass(slots=True)
class BrokerSpec:
    """One broker: its id, its rack and settings of its own. `generated`: nobody chose its id (with ZooKeeper)."""

    id: int
    rack: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    generated: bool = False


@dataclass(slots=True)
class NeighbourSpec:
    """Another cluster on the same ensemble (`lab.clusters.neighbour_spec`)."""

    name: str
    chroot: str
    brokers: int = 1
    settings: dict[str, str] = field(default_factory=dict)
    topics: list[TopicSpec] = field(default_factory=list)
    clients: list[ClientSpec] = field(default_factory=list)

    def cluster(self, beside: ClusterSpec, before: int) -> ClusterSpec:
        """It as a cluster of its own, on the ensemble of `beside`; `before`: how many neighbours stand before it."""
        port = beside.port + PORTS_APART * (before + 1)
        return ClusterSpec(
            self.name, [BrokerSpec(number + 1) for number in range(self.brokers)], ensemble=beside.ensemble,
            preset=beside.preset, era=beside.era, settings=self.settings, stage_costs=beside.stage_costs,
            host=beside.host, chroot=self.chroot,
            port=port if beside.port and port <= HIGHEST_PORT - MOST_IN_NEIGHBOURHOOD else 0,
        )  # fmt: skip


@dataclass(slots=True)
class ClusterSpec:
    """Brokers and what they have in common. A world adds those that join it to `brokers`."""

    name: str = "lab"
    brokers: list[BrokerSpec] = field(default_factory=lambda: [BrokerSpec(1), BrokerSpec(2), BrokerSpec(3)])
    controller: str = "zookeeper"
    controllers: int = 0  # dedicated ones; 0 with KRaft: brokers are controllers, too
    added: list[int] = field(default_factory=list)  # dedicated ones that have joined since
    combined: int = 0  # brokers that are controllers, too, where there are no dedicated ones; 0: the usual number
    quorum: str = STATIC  # whether the first voters stand in a setting, or in the log from the first start on
    ensemble: int = 1  # servers of the coordination tree, with ZooKeeper
    chroot: str = ""  # where in the tree the cluster lives, "/orders"; empty: at its root
    neighbours: list[NeighbourSpec] = field(default_factory=list)  # further clusters on the same ensemble
    preset: str = "default"
    era: str = ""  # whose defaults; empty: those of today in its generation
    settings: dict[str, str] = field(default_factory=dict)
    protections: dict[str, bool] = field(default_factory=dict)
    link_delay_ms: float = 0.0
    stage_costs: dict[str, int] = field(default_factory=dict)
    host: str = "127.0.0.1"
    port: int = 9092

    def listener_port(self, broker: BrokerSpec) -> int:
        """The cluster's port and the ones behind it, in order of the brokers; 0: any that is free."""
        return self.port + self.brokers.index(broker) if self.port else 0

    def broker_settings(self, broker: BrokerSpec) -> dict[str, str]:
        """All settings that this broker is started with: preset, cluster, its own, what its place demands."""
        given = {**self.usual_settings(), **self.settings, **broker.settings}
        given["broker.id"] = "-1" if broker.generated else str(broker.id)
        if broker.rack is not None:
            given["broker.rack"] = broker.rack
        given.setdefault("log.dirs", "data")
        if self.is_kraft:
            given |= self._quorum_settings("broker,controller" if broker.id in self.voters() else "broker")
        else:
            servers = ",".join(f"{node}:2181" for node in self.ensemble_nodes())
            given.setdefault("zookeeper.connect", servers + self.chroot)
        given.setdefault("listeners", f"PLAINTEXT://{self.host}:{self.listener_port(broker)}")
        if self.is_kraft and broker.id in self.controller_ports():
            given["listeners"] += f",{self._controller_address(broker.id)}"
        return given

    def machine_settings(self, broker: BrokerSpec) -> dict[str, str]:
        """Those of a machine that wants the id of this broker: it is no controller, and nobody attaches to it."""
        given = {**self.broker_settings(broker), "listeners": f"PLAINTEXT://{self.host}:{self.listener_port(broker)}"}
        return given | self._quorum_settings("broker") if self.is_kraft else given

    def next_generated(self) -> int:
        """The id that the coordination tree gives to the next broker that has none."""
        reserved = {**self.usual_settings(), **self.settings}.get("reserved.broker.max.id", RESERVED_IDS)
        return int(reserved) + 1 + sum(broker.generated for broker in self.brokers)

    def usual_settings(self) -> dict[str, str]:
        """What preset and era say."""
        return {**presets.broker(self.preset, self.controller), **eras.broker(self.era)}

    def ensemble_nodes(self) -> list[str]:
        """Servers of the coordination tree: zookeeper-1, ..."""
        return [zookeeper_node(number + 1) for number in range(self.ensemble)]

    # -- KRaft ----------------------------------------------------------------------------------
    @property
    def is_kraft(self) -> bool:
        return self.controller == "kraft"

    def controller_ids(self) -> list[int]:
        """Dedicated controllers: 101, 102, ..., and those that have joined."""
        return [*self._first_controllers(), *self.added]

    def _first_controllers(self) -> list[int]:
        return [FIRST_CONTROLLER + number for number in range(self.controllers)]

    def controller_nodes(self) -> dict[int, str]:
        """Id -> node of all controllers, voters or not."""
        return {**self.voters(), **{number: controller_node(number) for number in self.added}}

    def voters(self) -> dict[int, str]:
        """Id -> node of the quorum's first voters: the dedicated controllers, else `combined` brokers, or three (of one
        or two, one).

        Brokers that join later do not vote.
        """
        if self.controllers:
            return {number: controller_node(number) for number in self._first_controllers()}
        usual = COMBINED_VOTERS if len(self.brokers) >= COMBINED_VOTERS else 1
        return {broker.id: broker_node(broker.id) for broker in self.brokers[: self.combined or usual]}

    def _quorum_settings(self, roles: str) -> dict[str, str]:
        roles_and_listener = {"process.roles": roles, "controller.listener.names": CONTROLLER_LISTENER}
        if self.quorum == DYNAMIC:
            return roles_and_listener | self._found_by_servers()
        voters = ",".join(f"{number}@{node}:{CONTROLLER_PORT}" for number, node in self.voters().items())
        return {**roles_and_listener, "controller.quorum.voters": voters}

    def _found_by_servers(self) -> dict[str, str]:
        """Who votes stands in the log; these are only asked where it is."""
        servers = ",".join(f"{node}:{CONTROLLER_PORT}" for node in self.voters().values())
        return {"controller.quorum.voters": "", "controller.quorum.bootstrap.servers": servers}

    def controller_ports(self) -> dict[int, int]:
        """Controller -> the port of its listener for tools outside: 100 behind the cluster's, and those behind that
        one. None where the system is to choose."""
        has_room = self.is_kraft and 0 < self.port <= HIGHEST_PORT - FIRST_BEHIND - MOST_VOTERS
        nodes = self.controller_nodes() if has_room else {}
        return {number: self.port + FIRST_BEHIND + index for index, number in enumerate(nodes)}

    def controller_place(self, number: int) -> tuple[str, int]:
        """Host and port of a controller's listener, as it tells them."""
        port = self.controller_ports().get(number)
        return (self.host, port) if port else (self.controller_nodes()[number], CONTROLLER_PORT)

    def _controller_address(self, number: int) -> str:
        return f"{CONTROLLER_LISTENER}://{self.host}:{self.controller_ports()[number]}"

    def controller_settings(self, number: int) -> dict[str, str]:
        """All settings that a dedicated controller is started with."""
        given = {**self.usual_settings(), **self.settings}
        given.setdefault("log.dirs", "data")
        if number in self.controller_ports():
            given["listeners"] = self._controller_address(number)
        quorum = self._quorum_settings("controller")
        if number in self.added:
            quorum |= self._found_by_servers()
        return {**given, "node.id": str(number), **quorum}
