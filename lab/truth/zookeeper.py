"""The truth of a cluster with ZooKeeper: the coordination tree, as the server that keeps it has it.

| servers | the truth is the tree of | while there is none |
|---|---|---|
| one | that server | nobody can say |
| an ensemble | the leader of the newest epoch: what is committed | as the last leader knew it |

A cluster with a chroot lives below it: its truth is asked by paths without it, as its brokers ask. The tree that
viewers get is the whole one, with those of the neighbours.

A server that looks for a leader has more in its log than is committed, a follower may be behind: neither is asked.
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from broker_core.controller.zk import znodes
from broker_core.kernel.events import ZNODE_CHANGED, ZNODE_CREATED, ZNODE_DELETED
from broker_core.kernel.journal import Row
from broker_core.kernel.names import broker_node, is_zookeeper
from broker_core.kernel.world import World
from broker_core.metadata.config_entities import BROKERS, TOPICS, Entity
from broker_core.metadata.partition import LeaderAndIsr
from broker_core.zookeeper.client import CONNECTED
from broker_core.zookeeper.ensemble import EnsembleServer
from broker_core.zookeeper.serving import TreeServer
from broker_core.zookeeper.tree import DataTree
from lab.truth.port import EXISTS, ControllerFigures, State

HIDDEN = ("/zookeeper",)
_CODES = (ZNODE_CREATED.name, ZNODE_CHANGED.name, ZNODE_DELETED.name)
_PARENTS = {znodes.TOPICS: EXISTS, "/config/topics": TOPICS, "/config/brokers": BROKERS}


def server_of(world: World) -> TreeServer | None:
    """The coordination server that runs; of an ensemble the leader, and where nobody leads the one with the longest
    log."""
    found: TreeServer | None = None
    for node in world.nodes.values():
        machine = node.machine
        if isinstance(machine, EnsembleServer):
            found = machine if found is None or _standing(machine) > _standing(found) else found
        elif isinstance(machine, TreeServer):
            return machine
        elif found is not None:
            break
    return found


def _standing(server: TreeServer) -> tuple[bool, int, int]:
    """Who of an ensemble knows better what is committed."""
    assert isinstance(server, EnsembleServer)
    return server.leads, server.epoch, server.tree.last_zxid


MOST_DECODED = 100_000


class Decoded:
    """What znodes say, by path, decoded once for each version of one: for all who ask about the same tree. None of it
    is kept with a world that is pickled, nor behind `MOST_DECODED` of them: most are of topics long deleted by then."""

    def __init__(self) -> None:
        self.states: dict[str, tuple[Any, bytes, LeaderAndIsr]] = {}
        self.topics: dict[str, tuple[bytes, znodes.TopicInfo]] = {}

    def __reduce__(self) -> tuple[type[Decoded], tuple[()]]:
        return Decoded, ()

    def state(self, path: str, znode: Any) -> LeaderAndIsr:
        """Leader and ISR of a partition."""
        known = self.states.get(path)
        if known is None or known[0] is not znode or known[1] is not znode.data:
            if len(self.states) >= MOST_DECODED:
                self.states.clear()
            known = self.states[path] = (znode, znode.data, znodes.decode_state(znode.data, znode.version))
        return known[2]

    def topic(self, path: str, data: bytes) -> znodes.TopicInfo:
        """Which replicas its partitions have."""
        known = self.topics.get(path)
        if known is None or known[0] is not data:
            if len(self.topics) >= MOST_DECODED:
                self.topics.clear()
            known = self.topics[path] = (data, znodes.TopicInfo.decode(data))
        return known[1]


class ZooKeeperTruth:
    """See `lab.truth.port.Truth`."""

    who = "tree"

    def __init__(self, world: World, chroot: str = "", decoded: Decoded | None = None) -> None:
        self.world = world
        self.chroot = chroot
        self._decoded = Decoded() if decoded is None else decoded
        self._known: dict[tuple[str, int], LeaderAndIsr] = {}
        self._last = DataTree()
        self._last.nodes.clear()
        self._epoch = 0

    def below(self, chroot: str) -> ZooKeeperTruth:
        """That of another cluster in the same tree, as far as this one has heard of it."""
        found = ZooKeeperTruth(self.world, chroot, self._decoded)
        found._last, found._epoch = self._last, self._epoch
        return found

    def still(self) -> AbstractContextManager[None]:
        """The tree is at hand, asked once or many times."""
        return nullcontext()

    def version(self) -> Any:
        return None

    def heard(self, row: Row) -> None:
        """With one server the tree stands while it is gone. Of an ensemble the last leader's tree is kept."""
        node = self.world.nodes.get(row[2])
        if node is not None and isinstance(node.machine, EnsembleServer):
            self._look_at(node.machine)

    def _look_at(self, server: EnsembleServer) -> None:
        if server.leads and server.epoch >= self._epoch:
            self._last, self._epoch = server.tree, server.epoch

    @property
    def _tree(self) -> DataTree:
        server = server_of(self.world)
        if isinstance(server, EnsembleServer):
            self._look_at(server)
            return self._last
        return self._last if server is None else server.tree

    @property
    def tree(self) -> dict[str, Any]:
        """Path -> znode."""
        return self._tree.nodes

    def _znode(self, path: str) -> Any:
        """That of the cluster's own path, None without one."""
        return self.tree.get(self.chroot + path)

    def _data(self, path: str) -> bytes | None:
        found = self._znode(path)
        return None if found is None else found.data or b""

    # -- the cluster --------------------------------------------------------------------------
    def controller_id(self) -> int | None:
        data = self._data(znodes.CONTROLLER)
        return None if data is None else znodes.decode_controller(data)

    def controller_node(self) -> str | None:
        found = self.controller_id()
        return None if found is None else broker_node(found)

    def controller_epoch(self) -> int:
        return int(self._data(znodes.CONTROLLER_EPOCH) or 0)

    def keepers(self) -> list[str]:
        return [name for name in self.world.nodes if is_zookeeper(name)]

    def registered(self) -> list[int]:
        parent = self._znode(znodes.BROKER_IDS)
        return sorted(int(name) for name in parent.children) if parent is not None else []

    def fenced(self) -> list[int]:
        return []

    # -- topics -------------------------------------------------------------------------------
    def _topic(self, topic: str) -> znodes.TopicInfo | None:
        path = self.chroot + znodes.topic_path(topic)
        found = self.tree.get(path)
        return self._decoded.topic(path, found.data) if found is not None and found.data else None

    def topics(self) -> dict[str, dict[int, State]]:
        tree, parent = self.tree, self._znode(znodes.TOPICS)
        found: dict[str, dict[int, State]] = {}
        for topic in sorted(parent.children if parent is not None else ()):
            info = self._topic(topic)
            if info is not None:
                found[topic] = {
                    number: self._state(tree, topic, number, info.partitions[number].replicas)
                    for number in sorted(info.partitions)
                }
        return found

    def partition_state(self, topic: str, partition: int) -> State | None:
        info = self._topic(topic)
        assigned = None if info is None else info.partitions.get(partition)
        return None if assigned is None else self._state(self.tree, topic, partition, assigned.replicas)

    def leader_and_isr(self, topic: str, partition: int) -> LeaderAndIsr | None:
        known, tree = self._known.get((topic, partition)), self.tree
        if not tree:
            return known
        return self._leadership(tree, topic, partition)

    def _leadership(self, tree: dict[str, Any], topic: str, partition: int) -> LeaderAndIsr | None:
        path = self.chroot + znodes.state_path(topic, partition)
        found = tree.get(path)
        if found is None or not found.data:
            return None
        state = self._known[topic, partition] = self._decoded.state(path, found)
        return state

    def _state(self, tree: dict[str, Any], topic: str, number: int, replicas: list[int]) -> State:
        at = self._leadership(tree, topic, number)
        if at is None:
            return {"leader": -1, "leader_epoch": -1, "isr": [], "replicas": [*replicas]}
        return {"leader": at.leader, "leader_epoch": at.leader_epoch, "isr": [*at.isr], "replicas": [*replicas]}

    def reassignment(self, topic: str, partition: int) -> dict[str, list[int]] | None:
        info = self._topic(topic)
        assigned = None if info is None else info.partitions.get(partition)
        if assigned is None or not assigned.being_reassigned:
            return None
        return {"adding": list(assigned.adding), "removing": list(assigned.removing)}

    def topic_configs(self, topic: str) -> dict[str, str] | None:
        data = self._data(znodes.config_path(TOPICS, topic))
        if data is None and self._data(znodes.topic_path(topic)) is None:
            return None
        return znodes.decode_config(data or b"")

    def setting_changed(self, row: Row) -> tuple[Entity, dict[str, str] | None] | None:
        if row[3] not in _CODES:
            return None
        if not row[5]["path"].startswith(self.chroot):
            return None
        path = row[5]["path"].removeprefix(self.chroot)
        parent, _, name = path.rpartition("/")
        kind = _PARENTS.get(parent)
        if kind is None:
            return None
        data = None if row[3] == ZNODE_DELETED.name else self._data(path)
        if data is None:
            return (kind, name), None
        return (kind, name), {} if kind == EXISTS else znodes.decode_config(data)

    # -- processes ----------------------------------------------------------------------------
    def reign(self, machine: Any) -> int | None:
        controller = _controller(machine)
        return controller.epoch if controller is not None and controller.is_active else None

    def can_decide(self, machine: Any) -> bool:
        """Whether a process is the controller and could write down a decision now: a server of the tree serves its
        session."""
        return self.reign(machine) is not None and machine.cluster.zk.state == CONNECTED

    def obeyed(self, machine: Any) -> int | None:
        control = getattr(getattr(machine, "cluster", None), "control", None)
        return None if control is None else int(control.controller_epoch)

    def controller_figures(self, machine: Any) -> ControllerFigures:
        controller = _controller(machine)
        if controller is None:
            return ControllerFigures(leader_elections=0)
        found = ControllerFigures(
            controller.is_active, leader_elections=controller.broker_changes,
            unclean_leader_elections=controller.core.partitions.unclean_elections,
        )  # fmt: skip
        if not controller.is_active:
            return found
        context = controller.context
        found.offline_partitions = len(context.with_offline_leader())
        found.topics, found.partitions = len(context.assignments), len(context.partitions())
        for partition, state in context.leadership.items():
            replicas = context.replicas(partition)
            preferred = not replicas or state.leader == replicas[0] or partition[0] in context.deleting
            found.preferred_imbalance += not preferred
        return found

    def remembered(self, machine: Any, topic: str, partition: int) -> LeaderAndIsr | None:
        controller = _controller(machine)
        leadership: dict[tuple[str, int], LeaderAndIsr] = {} if controller is None else controller.context.leadership
        return leadership.get((topic, partition))

    def behind(self, machine: Any) -> int | None:
        return None

    # -- the tree itself ------------------------------------------------------------------------
    def snapshot(self) -> dict[str, Any]:
        """`znodes`: path -> version, owner, data; of several servers `servers` and `ensemble`, too."""
        sessions = self._tree.sessions
        owners = {number: session.client for number, session in sessions.items()}
        found = {
            path: {"version": node.version, "ephemeral": owners.get(node.owner) if node.owner else None,
                   "data": _text(node.data)}
            for path, node in sorted(self.tree.items())
            if path != "/" and not path.startswith(HIDDEN)
        }  # fmt: skip
        return {"znodes": found} | self._ensemble()

    def _ensemble(self) -> dict[str, Any]:
        """Each server's part and who is connected to it; who leads in which epoch, and what is committed."""
        nodes = {name: self.world.nodes[name] for name in self.keepers()}
        if len(nodes) == 1:
            return {}
        leading = server_of(self.world)
        leads = isinstance(leading, EnsembleServer) and leading.leads
        servers = {
            name: {"node": name, "state": node.state, "how": node.how_stopped, "incarnation": node.incarnation,
                   **_part(node.machine)}
            for name, node in nodes.items()
        }  # fmt: skip
        return {
            "servers": servers,
            "ensemble": {"leader": leading.config.server_id if leading is not None and leads else None,
                         "epoch": self._epoch, "zxid": f"{self._tree.last_zxid:#x}"},
        }  # fmt: skip

    def expire_session(self, node: str) -> str | None:
        server = server_of(self.world)
        sessions = {} if server is None else server.tree.sessions
        found = [number for number, session in sessions.items() if session.client == node]
        if server is None or not found:
            return None
        server.expire_session(found[-1])
        return f"{found[-1]:#x}"


def _part(machine: Any) -> dict[str, Any]:
    """What a server does in its ensemble, and the nodes whose sessions are there."""
    if not isinstance(machine, EnsembleServer):
        return {"role": None, "clients": []}
    clients = {one.client for one in machine.connections.values() if one.session}
    return {"role": machine.state, "clients": sorted(clients)}


def _controller(machine: Any) -> Any:
    """The controller in a broker's process, active or not."""
    return getattr(getattr(machine, "cluster", None), "controller", None)


def _text(data: bytes) -> Any:
    try:
        return json.loads(data) if data else None
    except ValueError:
        return data.decode(errors="replace")
