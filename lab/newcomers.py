"""What a live lab gives a broker or a controller that joins it: disks, a port, a line for the next start to read.

All of it is tried before the command is recorded. A port that is taken belongs to this machine and this moment: a run
that held such a command could not be executed again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from broker_core.drivers.tcp import TcpServer
from broker_core.kernel.errors import what_of
from broker_core.kernel.names import broker_node, controller_node, place_of
from broker_core.kernel.problems import problem
from lab.clusters.checks import SpecError
from lab.clusters.joining import CONTROLLER, keep_joined, keep_joined_controller, new_broker
from lab.clusters.brokers import CONTROLLER_LISTENER, BrokerSpec, ClusterSpec
from lab.clusters.spec import RunSpec, new_controller
from lab.clusters.vocabulary import check_command


class Newcomers:
    """For the live branch of a lab, on the world's thread."""

    def __init__(self, data: Path, spec: RunSpec, server: TcpServer) -> None:
        self.data = data
        self.spec = spec
        self.server = server

    def admit(self, command: dict[str, Any]) -> dict[str, Any] | None:
        """Make room for the broker or controller that a command is about to add; an answer says why there is none.

        What is wrong with the command itself is left to the world, which refuses it for the record.
        """
        if command.get("do") == "add_controller":
            return self._admit_controller(command)
        if command.get("do") != "add_broker":
            return None
        try:
            broker = new_broker(check_command(command), self.spec.cluster)
        except SpecError:
            return None
        try:
            self._make_room(broker)
        except OSError as error:
            return {"ok": False, "problem": problem("cannot_join", broker=broker.id, why=what_of(error)), "place": ""}
        grown = replace(self.spec.cluster, brokers=[*self.spec.cluster.brokers, broker])
        chosen = chosen_port(grown, broker, self.server)
        if chosen:
            command["settings"] = {**command.get("settings", {}), **chosen}
        return None

    def _admit_controller(self, command: dict[str, Any]) -> dict[str, Any] | None:
        cluster = self.spec.cluster
        try:
            given = check_command(command).get(CONTROLLER)
            if given in cluster.controller_nodes():
                return None
            number = new_controller(given, cluster)
        except SpecError:
            return None
        place = place_of(controller_node(number), CONTROLLER_LISTENER)
        port = replace(cluster, added=[*cluster.added, number]).controller_ports().get(number)
        try:
            (self.data / controller_node(number)).mkdir(exist_ok=True)
            if port is not None and place not in self.server.ports:
                self.server.add(place, port, 0)
            keep_joined_controller(self.data, number)
        except OSError as error:
            why = problem("cannot_join_controller", controller=number, why=what_of(error))
            return {"ok": False, "problem": why, "place": ""}
        return None

    def _make_room(self, broker: BrokerSpec) -> None:
        name, cluster = broker_node(broker.id), self.spec.cluster
        grown = replace(cluster, brokers=[*cluster.brokers, broker])
        limit = int(grown.broker_settings(broker).get("socket.request.max.bytes", "0"))
        (self.data / name).mkdir(exist_ok=True)
        self.server.add(name, grown.listener_port(broker), limit)
        try:
            keep_joined(self.data, broker)
        except OSError:
            self.server.remove(name)
            raise


def chosen_port(cluster: ClusterSpec, broker: BrokerSpec, server: TcpServer) -> dict[str, str]:
    """The setting that tells clients the port that the system has chosen, where it was to choose one (port 0)."""
    if cluster.listener_port(broker) or "advertised.listeners" in cluster.broker_settings(broker):
        return {}
    return {"advertised.listeners": f"PLAINTEXT://{cluster.host}:{server.ports[broker_node(broker.id)]}"}


def disks_of(directory: Path, spec: RunSpec) -> list[Path]:
    """The disks in a directory: those of the nodes of the description, and of those that it does not name (now)."""
    kinds = [directory.glob(f"{kind}-*") for kind in ("broker", "controller")]
    others = sorted(path.name for found in kinds for path in found if path.is_dir())
    return [directory / name for name in dict.fromkeys([*spec.node_names(), *others])]
