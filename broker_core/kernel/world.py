"""A world: one clock, one queue of calls, nodes, links, storage, a journal.

`inject` and `run_until` are the whole interface: the same spec, seed and inputs give the same
journal, byte for byte, in any process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol

from broker_core.kernel import events
from broker_core.kernel.errors import CommandError, KernelError
from broker_core.kernel.event_queue import EventQueue
from broker_core.kernel.inputs import Command, ConnectionClosed, ConnectionOpened, FrameReceived, Input
from broker_core.kernel.journal import Journal, OperationLog, held_by, hold
from broker_core.kernel.neighbour import Neighbour
from broker_core.kernel.network import Network
from broker_core.kernel.names import called_by, cluster_of, in_cluster, place_of
from broker_core.kernel.node import PAUSED, RUNNING, STATES, STOPPED, Machine, Node
from broker_core.kernel.problems import problem
from broker_core.kernel.storage import Buffer, FileSlice, Storage
from broker_core.kernel.wall import WallClock


class Output(Protocol):
    """Where bytes for outside clients go; a world that is executed again has none."""

    def write(self, connection: int, buffers: Sequence[Buffer | FileSlice]) -> None: ...

    def close(self, connection: int, reason: str) -> None: ...

    def hold(self, connection: int, hold: bool) -> None: ...

    def listen(self, node: str, port: int) -> None: ...

    def stop_listening(self, node: str) -> None: ...

    def sent(self, node: str) -> tuple[int, int]:
        """Bytes for outside clients of `node`, and those of them that never entered this process."""
        ...


class Operator(Protocol):
    """Carries out commands; raises CommandError."""

    def apply(self, world: World, command: dict[str, Any]) -> dict[str, Any]: ...


class World(EventQueue):
    """Everything that exists in one run.

    `nodes` are the processes of its own cluster, of those who keep its decisions, and of its clients. `neighbours` are
    further clusters, whose processes have the same clock and network (`kernel.neighbour`); `find` knows them all.
    """

    def __init__(
        self, seed: int, epoch_ms: int = 0, record_level: str = "messages", link_delay_us: int = 0
    ) -> None:
        super().__init__(record_level)
        self.seed = seed
        self.wall = WallClock(epoch_ms)
        self.nodes: dict[str, Node] = {}
        self.neighbours: dict[str, Neighbour] = {}
        self.network = Network(self, link_delay_us)
        self.operations = OperationLog()
        self.operator: Operator | None = None
        self.life = 1  # how often a world has been started on the same disks, with this one
        self.output: Output | None = None
        self.connections: dict[int, str] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**held_by(self), "output": None, "observers": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        hold(self, state)

    def random_stream(self, name: str) -> Random:
        """A stream of its own for `name`, fixed by the world's seed."""
        return Random(f"{self.seed}/{name}")

    # -- nodes ------------------------------------------------------------------------------
    def add_node(self, name: str, storage: Storage, factory: Callable[[Node], Machine]) -> Node:
        """A process that does not run yet."""
        if self.find(name) is not None:
            raise KernelError(problem("node_twice", node=name))
        cluster = cluster_of(name)
        home = self.neighbours[cluster].nodes if cluster else self.nodes
        node = home[name] = Node(self, name, storage, factory)
        return node

    def add_neighbour(self, name: str) -> Neighbour:
        """A further cluster, without a process yet."""
        found = self.neighbours[name] = Neighbour(name)
        return found

    def find(self, name: str) -> Node | None:
        """The process of this whole name, of whichever cluster."""
        found = self.nodes.get(name)
        if found is None and self.neighbours:
            neighbour = self.neighbours.get(cluster_of(name))
            return None if neighbour is None else neighbour.nodes.get(name)
        return found

    def meant_by(self, node: Node, name: str) -> Node | None:
        """Whom a process means by a name: one of its own cluster, or one that all clusters share."""
        own = self.find(in_cluster(node.cluster, name)) if node.cluster else None
        return own or self.find(name)

    def everybody(self) -> list[Node]:
        """All processes, those of the neighbours behind the others."""
        return [*self.nodes.values(), *(node for one in self.neighbours.values() for node in one.nodes.values())]

    def journal_of(self, cluster: str) -> Journal:
        """Where a cluster's processes tell what they do."""
        return self.neighbours[cluster].journal if cluster else self.journal

    def operations_of(self, cluster: str) -> OperationLog:
        """The history of what a cluster's clients have done."""
        return self.neighbours[cluster].operations if cluster else self.operations

    def start_node(self, name: str) -> None:
        """Start a process: a new machine with empty memory on the storage that is there."""
        node = self.find(name)
        if node is None:
            raise CommandError(problem("no_node_named", node=name), "node")
        if node.state != STOPPED:
            raise CommandError(problem("already", node=name, state=node.state))
        node.incarnation += 1
        node.live = node.incarnation
        node.state = STATES.step(node.state, RUNNING)
        node.how_stopped = None
        if name in self.network.silent:
            del self.network.silent[name]
            self.network.tell_peers(name)
        node.emit(events.PROCESS_STARTED, incarnation=node.incarnation)
        node.machine = node.factory(node)
        node.soon(node.machine.start)

    def crash(self, name: str) -> None:
        """The process is gone at once; its operating system lives on and closes its connections."""
        self.end_process(self._alive(name), "crash")

    def power_loss(self, name: str, torn: bool = False) -> None:
        """The whole machine is gone, with all (`torn`: some) that was not flushed; its peers hear nothing."""
        node = self._alive(name)
        self.network.silent[name] = None
        self.end_process(node, "power_loss")
        faults = node.storage.faults
        node.storage.set_faults(None)
        node.storage.power_loss(node.random("power-loss") if torn else None)
        node.storage.set_faults(faults)

    def pause(self, name: str) -> None:
        """The process stands still (SIGSTOP, a long collection): alive, but silent."""
        node = self._alive(name)
        if node.state == PAUSED:
            raise CommandError(problem("already", node=name, state=PAUSED))
        node.state = STATES.step(node.state, PAUSED)
        node.live = 0
        node.emit(events.PROCESS_PAUSED)

    def resume(self, name: str) -> None:
        """The process goes on; what waited runs now, in its old order."""
        node = self._alive(name)
        if node.state != PAUSED:
            raise CommandError(problem("not_paused", node=name))
        node.state = STATES.step(node.state, RUNNING)
        node.live = node.incarnation
        node.emit(events.PROCESS_RESUMED)
        held, node.held = node.held, []
        self.due += held

    def stop(self, name: str) -> None:
        """Ask for a controlled shutdown; the process ends when its machine is ready."""
        node = self._alive(name)
        if node.state == PAUSED:
            raise CommandError(problem("paused_no_shutdown", node=name))
        if node.machine is not None:
            node.soon(node.machine.shut_down)

    def _alive(self, name: str) -> Node:
        node = self.find(name)
        if node is None:
            raise CommandError(problem("no_node_named", node=name), "node")
        if node.state == STOPPED:
            raise CommandError(problem("in_state", node=name, state=STOPPED))
        return node

    def end_process(self, node: Node, how: str) -> None:
        """The process is over: nothing that it scheduled will run."""
        node.state = STATES.step(node.state, STOPPED)
        node.live = 0
        node.how_stopped = how
        node.machine = None
        node.held.clear()
        self.let_go(node)
        node.emit(events.PROCESS_ENDED, how=how)
        node.leave_unsettled()
        for connection in [number for number, owner in self.connections.items() if owner == node.name]:
            self.close_connection(connection, "process ended")
        if self.output is not None and not node.cluster:
            self.output.stop_listening(node.name)
        if node.name not in self.network.silent:
            self.network.tell_peers(node.name)

    def take_over(self, node: Node, name: str, heirloom: Any) -> None:
        """The machine of `node` becomes that of the process `name`: it ends, and begins anew under that name and with
        its own disks. The machine that was called so before has the other name now, with the disks that it had; if
        its process still runs somewhere, it ends."""
        other = self.nodes[name]
        self.end_process(node, "took_over")
        if other.state != STOPPED:
            self.end_process(other, "replaced")
        node.storage.exchange(other.storage)
        other.heirloom = heirloom
        self.start_node(name)

    # -- messages ---------------------------------------------------------------------------
    def send(self, source: Node, dest: str, message: Any, size: int) -> None:
        """Carry a message; a stopped process refuses, a silent one never answers."""
        link = self.network.links.get((source.name, dest)) or self.network.link(source.name, dest)
        node = self.nodes.get(dest) or self.find(dest)
        assert node is not None
        if link.faulty:
            self.network.send(source, link, node, message, size)
        elif node.machine is None:
            self.network.refuse(dest, source.name)
        elif not link.direct:
            at = link.delivery_us(self.now_us, size, self.network.random)
            self.schedule(at - self.now_us, node, node.machine.receive, (called_by(dest, source.name), message))
        else:
            self.schedule(0, node, node.machine.receive, (called_by(dest, source.name), message))

    def change_link(self, source: str, dest: str, **values: float) -> None:
        """Change one direction of a link (see `network.Link`); without values it is healthy again."""
        self.network.change(source, dest, **values)

    def write(self, connection: int, buffers: Sequence[Buffer | FileSlice]) -> None:
        """Bytes for an outside client."""
        if self.output is not None and connection in self.connections:
            self.output.write(connection, buffers)

    def listen(self, node: Node, host: str, port: int, listener: str = "") -> None:
        """From now on outside clients may connect to this node; those of neighbours are all in the world."""
        node.emit(events.LISTENING, host=host, port=port)
        if self.output is not None and not node.cluster:
            self.output.listen(place_of(node.name, listener), port)

    def hold_connection(self, connection: int, hold: bool) -> None:
        """Stop or go on reading from an outside client that sends faster than it is served."""
        if self.output is not None:
            self.output.hold(connection, hold)

    def close_connection(self, connection: int, reason: str) -> None:
        """Close an outside client's connection from our side."""
        owner = self.connections.pop(connection, None)
        if owner is None:
            return
        self.nodes[owner].emit(events.CONNECTION_CLOSED, connection=connection, reason=reason)
        if self.output is not None:
            self.output.close(connection, reason)

    # -- inputs -----------------------------------------------------------------------------
    def inject(self, item: Input) -> None:
        """Take an input in this instant. The caller runs the world on afterwards."""
        self.seq += 1
        self._injected += 1
        self.cause = 0
        if isinstance(item, FrameReceived):
            self._frame_received(item)
        elif isinstance(item, Command):
            item.result = self._apply(item.command)
        elif isinstance(item, ConnectionOpened):
            self._connection_opened(item)
        else:
            self._connection_closed(item)

    def _apply(self, command: dict[str, Any]) -> dict[str, Any]:
        refused = {"ok": False, "seq": self.seq}
        if self.operator is None:
            return {**refused, "problem": problem("no_commands"), "place": ""}
        self.emit(events.COMMAND, command=command)
        try:
            return {"ok": True, "seq": self.seq, **(self.operator.apply(self, command) or {})}
        except CommandError as error:
            self.emit(events.COMMAND_REFUSED, command=command, problem=error.problem)
            return {**refused, "problem": error.problem, "place": error.place}

    def _frame_received(self, item: FrameReceived) -> None:
        node = self._owner(item.connection)
        if node is not None:
            machine: Any = node.machine
            self.schedule(0, node, machine.frame_received, (item.connection, item.frame))

    def _connection_opened(self, item: ConnectionOpened) -> None:
        node = self.nodes[item.node]
        if node.machine is None:
            if self.output is not None:
                self.output.close(item.connection, "process ended")
            return
        self.connections[item.connection] = item.node
        node.emit(events.CONNECTION_OPENED, connection=item.connection, peer=item.peer)
        machine: Any = node.machine
        where = (item.listener,) if item.listener else ()
        self.schedule(0, node, machine.connection_opened, (item.connection, item.peer, *where))

    def _connection_closed(self, item: ConnectionClosed) -> None:
        node = self._owner(item.connection)
        if node is None:
            return
        del self.connections[item.connection]
        node.emit(events.CONNECTION_CLOSED, connection=item.connection, reason=item.reason)
        machine: Any = node.machine
        self.schedule(0, node, machine.connection_closed, (item.connection,))

    def _owner(self, connection: int) -> Node | None:
        name = self.connections.get(connection)
        node = self.nodes.get(name) if name is not None else None
        return node if node is not None and node.machine is not None else None
