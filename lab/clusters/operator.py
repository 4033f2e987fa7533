"""Carries out commands in a world (`World.inject(Command(...))`), or says why not.

Commands name processes by role (`leader_of: orders-0`); who that is, is looked up in the coordination
tree at that moment, so that a recorded command means the same when the run is executed again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from broker_core.clients.admin import AdminMachine
from broker_core.clients.workload import ProducerMachine
from broker_core.kernel import events
from broker_core.kernel.errors import CommandError
from broker_core.kernel.names import OPERATOR, broker_node, cluster_of, controller_node, is_broker
from broker_core.kernel.node import STOPPED, Node
from broker_core.kernel.problems import problem
from broker_core.kernel.storage import Storage
from broker_core.kernel.world import World
from broker_core.replication.protections import Protections
from lab.clusters import checks, eras
from lab.clusters.charge import Charge
from lab.clusters.checks import SpecError
from lab.clusters.clients import add_client
from lab.clusters.joining import add_broker_node, add_controller_node, add_machine_node, cluster_id, new_broker, tell_of
from lab.clusters.observe import brokers, stage_costs
from lab.clusters.neighbours import Neighbourhood
from lab.clusters.past import Past
from lab.clusters.roles import controller, followers_of, leader_of
from lab.clusters.client_spec import ClientSpec, changed_client, client_from_dict
from lab.clusters.spec import RunSpec, new_controller
from lab.clusters.vocabulary import OF_NEIGHBOURS, TARGETS, check_command
from lab.faults.commands import FaultCommands


class LabOperator(Charge, FaultCommands):
    """The operator of a world that was built from `spec`. Each command `x` is a method `_do_x`."""

    def __init__(self, spec: RunSpec, protections: Protections, disks: Callable[[str], Storage]) -> None:
        super().__init__(spec, protections, disks, Past(), Neighbourhood(spec.cluster))

    def apply(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out; what it returns is part of the answer. Raises CommandError."""
        try:
            checked = check_command(command)
            do = getattr(self, f"_do_{checked['do']}")
            result: dict[str, Any] = do(world, checked) or {}
            return result
        except SpecError as error:
            raise CommandError(error.problem, checks.shown(error.place)) from None
        except CommandError as error:  # a process that is not in the state for it: the key that named it
            named = next((key for key in TARGETS if key in command), "")
            raise CommandError(error.problem, error.place or named) from None

    # -- processes --------------------------------------------------------------------------
    def _node(self, world: World, command: dict[str, Any]) -> str:
        """Of a neighbour only for what everybody may do to its processes."""
        name = self._named(world, command)
        if cluster_of(name) and command.get("do") not in OF_NEIGHBOURS:
            what = problem("not_of_neighbours", node=name, known=OF_NEIGHBOURS)
            raise CommandError(what, next(key for key in TARGETS if key in command))
        return name

    def _named(self, world: World, command: dict[str, Any]) -> str:
        if "leader_of" in command:
            return leader_of(world, command["leader_of"])
        if "follower_of" in command:
            return followers_of(world, command["follower_of"])[0]
        if "controller" in command:
            return controller(world, command["controller"])
        name = str(command["node"]) if "node" in command else broker_node(command["broker"])
        if world.find(name) is None:
            key = "node" if "node" in command else "broker"
            known = [one.name for one in world.everybody() if key == "node" or is_broker(one.name)]
            raise CommandError(problem("no_node", node=name, known=known), key)
        return name

    def _do_kill(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        name = self._node(world, command)
        world.crash(name)
        return {"node": name}

    def _do_power_loss(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        name = self._node(world, command)
        world.power_loss(name, command.get("torn", False))
        return {"node": name}

    def _do_restart(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        """Start again; one that still runs is killed first."""
        name = self._node(world, command)
        node = world.find(name)
        if node is not None and node.state != STOPPED:
            world.crash(name)
        world.start_node(name)
        return {"node": name}

    def _do_pause(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        name = self._node(world, command)
        world.pause(name)
        return {"node": name}

    def _do_resume(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        name = self._node(world, command)
        world.resume(name)
        return {"node": name}

    def _do_stop(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        name = self._node(world, command)
        world.stop(name)
        return {"node": name}

    def _do_add_broker(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        """From now on it is one of the cluster's brokers, for everybody who reads the description of this world."""
        cluster = self.spec.cluster
        broker = new_broker(command, cluster)
        cluster.brokers.append(broker)
        name = broker_node(broker.id)
        others = [node.storage for node in world.nodes.values()]
        costs = stage_costs(world)
        add_broker_node(world, cluster, broker, self.disks(name), self.protections, others)
        _spend(world.nodes[name], costs)
        tell_of(world, cluster, broker)
        world.start_node(name)
        return {"node": name, "broker": broker.id}

    def _do_add_machine(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        """A second machine with the id of a broker; which of the two is that broker, the cluster decides."""
        given, cluster = command["broker"], self.spec.cluster
        broker = next((one for one in cluster.brokers if one.id == given), None)
        if broker is None:
            known = [broker_node(one.id) for one in cluster.brokers]
            raise CommandError(problem("no_node", node=broker_node(given), known=known), "broker")
        name = add_machine_node(world, cluster, broker, self.disks, self.protections)
        world.start_node(name)
        return {"node": name, "broker": given}

    def _do_add_controller(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        """A new one is started first, on an empty disk; one that is there already only needs a vote."""
        cluster = self.spec.cluster
        number = command.get("controller")
        if not cluster.is_kraft:
            raise CommandError(problem("controllers_of_kraft"), "do")
        if number not in cluster.controller_nodes():
            number = new_controller(number, cluster, ("controller",))
            cluster.added.append(number)
            name = controller_node(number)
            identity = cluster_id([node.storage for node in world.nodes.values()], world.seed)
            add_controller_node(world, cluster, number, self.disks(name), identity)
            world.start_node(name)
        return {
            "node": cluster.controller_nodes()[number], "controller": number,
            "id": self._admin(world).add_voter(number, cluster.controller_place(number)),
        }  # fmt: skip

    def _do_remove_controller(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        """It loses its vote; its process goes on as an observer, and can be stopped now."""
        number, nodes = command["controller"], self.spec.cluster.controller_nodes()
        if not self.spec.cluster.is_kraft:
            raise CommandError(problem("controllers_of_kraft"), "do")
        if number not in nodes:
            raise CommandError(problem("no_node", node=controller_node(number), known=[*nodes.values()]), "controller")
        return {"node": nodes[number], "id": self._admin(world).remove_voter(number)}

    def _do_update_feature(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        down = command.get("downgrade", False)
        return {"id": self._admin(world).update_feature(command["feature"], command["level"], down)}

    # -- topics -----------------------------------------------------------------------------
    def _admin(self, world: World) -> AdminMachine:
        machine = world.nodes[OPERATOR].machine
        if not isinstance(machine, AdminMachine):
            raise CommandError(problem("no_operator"))
        return machine

    def _do_create_topic(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        factor = command.get("replication_factor", min(3, len(self.spec.cluster.brokers)))
        admin, partitions = self._admin(world), command.get("partitions", 1)
        configs, assignment = command.get("configs", {}), command.get("assignment")
        return {"id": admin.create_topic(command["topic"], partitions, factor, configs, assignment)}

    def _do_delete_topic(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        return {"id": self._admin(world).delete_topic(command["topic"])}

    def _do_add_partitions(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        return {"id": self._admin(world).add_partitions(command["topic"], command["partitions"])}

    def _do_elect_leaders(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        where = (command["topic"], command["partition"]) if "topic" in command else None
        return {"id": self._admin(world).elect_leaders(where, command.get("unclean", False))}

    def _do_reassign(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        throttle = command.get("throttle")
        return {
            "id": self._admin(world).reassign(command["topic"], command["partition"], command["replicas"], throttle)
        }

    def _do_verify_reassignment(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        return {"id": self._admin(world).verify_reassignment(command["topic"])}

    def _do_cancel_reassignment(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        return {"id": self._admin(world).reassign(command["topic"], command["partition"], None)}

    def _do_move_replica(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        self._node(world, {"broker": command["broker"]})
        where = command["topic"], command["partition"]
        given = command["broker"], *where, command["directory"], command.get("throttle")
        return {"id": self._admin(world).move_replica(*given)}

    def _do_delete_records(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        admin = self._admin(world)
        return {"id": admin.delete_records(command["topic"], command["partition"], command.get("before"))}

    def _do_reset_offsets(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        """Times are the cluster's: a record that was written in its ninth second is found with `to_ms: 9000`."""
        admin = self._admin(world)
        if "to" in command:
            where = (command["to"], 0)
        elif "to_offset" in command:
            where = ("offset", command["to_offset"])
        elif "shift_by" in command:
            where = ("shift", command["shift_by"])
        elif "to_ms" in command:
            where = ("time", world.wall.shown_ms(command["to_ms"] * 1000))
        else:
            where = ("time", max(0, admin.node.wall_ms() - command["by_ms"]))
        return {"id": admin.reset_offsets(command["group"], command["topic"], command.get("partition"), *where)}

    def _do_delete_offsets(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        return {"id": self._admin(world).delete_offsets(command["group"], command["topic"])}

    def _do_abort_transaction(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        return {"id": self._admin(world).abort_transaction(command["topic"], command["partition"])}

    def _do_alter_config(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        topic, broker, group = (command.get(name) for name in ("topic", "broker", "group"))
        return {"id": self._admin(world).alter_config(topic, broker, command["set"], group)}

    def _do_set_protection(self, world: World, command: dict[str, Any]) -> None:
        """All brokers have it from now on, or do without it."""
        for name, on in command["set"].items():
            setattr(self.protections, name, on)
            world.journal.record(
                world.seq, world.now_us, "world", events.PROTECTION_SET, world.cause, {"protection": name, "on": on}
            )

    def _do_set_stage_costs(self, world: World, command: dict[str, Any]) -> None:
        """Requests cost so much on all brokers from now on, also behind their next start."""
        costs = stage_costs(world) | command["set"]
        for _, node in brokers(world):
            _spend(node, costs)
        world.journal.record(
            world.seq, world.now_us, "world", events.STAGE_COSTS_SET, world.cause, costs
        )

    def _do_ask_versions(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        name = self._node(world, command)
        if not is_broker(name):
            known = [one for one in world.nodes if is_broker(one)]
            raise CommandError(problem("no_node", node=name, known=known), "node")
        return {"id": self._admin(world).ask_versions(int(name.rpartition("-")[2]), command["version"])}

    def _do_produce(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        if "to" in command:
            self._node(world, {"broker": command["to"]})
        return {"id": self._admin(world).produce({key: value for key, value in command.items() if key != "do"})}

    # -- clients ----------------------------------------------------------------------------
    def _do_start_client(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        """A client of the description by its name, or a new one; one that was stopped starts again."""
        name = command["name"]
        if len(command) > 2:
            given = {key: value for key, value in command.items() if key != "do"}
            cluster = self.spec.cluster
            self.clients[name] = client_from_dict(given, (), cluster.preset, eras.clients(cluster.era))
        elif name not in self.clients:
            raise CommandError(problem("no_client_to_start", name=name), "name")
        node = world.nodes.get(name)
        if node is None:
            add_client(world, self.spec, self.clients[name])
        elif node.state == STOPPED:
            world.start_node(name)
        else:
            raise CommandError(problem("already", node=name, state=node.state), "name")
        self._note(world, self.clients[name])
        return {}

    def _note(self, world: World, client: ClientSpec) -> None:
        self.changes.append((world.seq, replace(client, settings=dict(client.settings))))

    def _do_stop_client(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        self._client(world, command["name"])
        world.stop(command["name"])
        return {}

    def _client(self, world: World, name: str) -> ClientSpec:
        client = self.clients.get(name)
        if client is None or name not in world.nodes:
            raise CommandError(problem("no_client", name=name, known=list(self.clients)), "name")
        return client

    def _do_set_client(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        """Rate, size and keys change at once; a setting of the client takes effect by starting it anew."""
        client = self._client(world, command["name"])
        node = world.nodes[client.name]
        changed = changed_client(client, command["set"], ("set",))
        restart = changed.settings != client.settings
        client.rate, client.size, client.keys = changed.rate, changed.size, changed.keys
        client.settings.clear()
        client.settings.update(changed.settings)
        self._note(world, client)
        machine = node.machine
        if isinstance(machine, ProducerMachine):
            machine.change(client.rate, client.size, client.keys)
        if restart and node.state != STOPPED:
            world.crash(client.name)
            world.start_node(client.name)
        return {}


def _spend(node: Node, costs: dict[str, int]) -> None:
    """What requests cost a broker, now and behind its next start."""
    factory: Any = node.factory
    for stage, cost_us in costs.items():
        setattr(factory.costs, stage, cost_us)
