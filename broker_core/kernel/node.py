"""A node: one process of the world, and the ports that its machine may use.

| state   | timers and messages            | what others see                            |
|---------|--------------------------------|--------------------------------------------|
| running | run                            |                                            |
| paused  | wait until it is resumed       | silence; connections stay open             |
| stopped | those of this start never run  | connections close (not after a power loss) |

Each start is a new incarnation with empty memory and the storage that was left behind.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from broker_core.kernel.events import DETAIL, MESSAGE, EventCode
from broker_core.kernel.names import called_by, cluster_of, in_cluster
from broker_core.kernel.storage import Buffer, FileSlice, Storage
from broker_core.kernel.transitions import Transitions

if TYPE_CHECKING:
    from broker_core.kernel.network import Link
    from broker_core.kernel.world import World

RUNNING, PAUSED, STOPPED = "running", "paused", "stopped"
STATES = Transitions("node", {STOPPED: (RUNNING,), RUNNING: (PAUSED, STOPPED), PAUSED: (RUNNING, STOPPED)})

Call = tuple[Any, int, int, Any, tuple[Any, ...]]
"""A call that is due now and cannot be cancelled: node, its incarnation, cause, method, arguments."""


class Machine(Protocol):
    """What runs in a node. It acts on messages and timers through the node's ports alone."""

    def start(self) -> None: ...

    def receive(self, source: str, message: Any) -> None: ...

    def peer_down(self, peer: str) -> None: ...

    def shut_down(self) -> None: ...


class Timer:
    """A call that can be cancelled. Cancelling it also lets go of what it would have been given."""

    __slots__ = ("cause", "node", "incarnation", "method", "args")

    def __init__(self, cause: int, node: Node | None, method: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.cause = cause
        self.node = node
        self.incarnation = node.incarnation if node is not None else 0
        self.method: Callable[..., Any] | None = method
        self.args = args

    def call(self) -> Call:
        """What is to be called; its method is None when this was cancelled."""
        return self.node, self.incarnation, self.cause, self.method, self.args

    def cancel(self) -> None:
        self.method = None
        self.args = ()

    @property
    def active(self) -> bool:
        """Whether the call is still to come."""
        return self.method is not None


class Repeating:
    """A periodic call; `cancel` ends it."""

    __slots__ = ("node", "period_us", "method", "timer")

    def __init__(self, node: Node, period_us: int, method: Callable[[], Any]) -> None:
        self.node = node
        self.period_us = period_us
        self.method = method
        self.timer: Timer | None = node.after(period_us, self._fire)

    def _fire(self) -> None:
        self.timer = self.node.after(self.period_us, self._fire)
        self.method()

    def cancel(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    @property
    def active(self) -> bool:
        return self.timer is not None


class Node:
    """One process: its name, its disks, its machine, and how it may act on the world.

    `messages`, `details`: whether events of these levels are recorded, asked before parameters are made.
    `cluster`: the neighbour whose process it is, "" of the world's own cluster; a neighbour has a journal of its own.
    `live`: the incarnation while it runs, else 0: whether a call may run is one comparison.
    `unsettled`: an operation that has begun and whose end nobody will tell if the process dies now.
    """

    def __init__(self, world: World, name: str, storage: Storage, factory: Callable[[Node], Machine]) -> None:
        self.world = world
        self.name = name
        self.storage = storage
        self.factory = factory
        self.machine: Machine | None = None
        self.cluster = cluster_of(name)
        self.journal = world.journal_of(self.cluster)
        self.operations = world.operations_of(self.cluster)
        self.messages = self.journal.level >= MESSAGE
        self.details = self.journal.level >= DETAIL
        self.incarnation = 0
        self.live = 0
        self.state = STOPPED
        self.how_stopped: str | None = None
        self.clock_skew_ms = 0
        self.held: list[Timer | Call] = []
        self.unsettled: tuple[str, dict[str, Any]] | None = None
        self.heirloom: Any = None
        self._routes: dict[str, tuple[Node, Link, str]] = {}
        self._random: dict[str, Random] = {}

    @property
    def is_first_start(self) -> bool:
        """Whether neither this process nor its world has ever run on these disks."""
        return self.incarnation == 1 and self.world.life == 1

    # -- time -------------------------------------------------------------------------------
    def now_us(self) -> int:
        """Virtual time since the start of the world, microseconds; never goes back."""
        return self.world.now_us

    def wall_ms(self) -> int:
        """What this process believes the time of day to be, milliseconds since 1970."""
        world = self.world
        return world.wall.epoch_ms + world.now_us // 1000 + self.clock_skew_ms

    def soon(self, method: Callable[..., Any], *args: Any) -> None:
        """Call later in this instant, behind everything that is already due. Not to be cancelled."""
        world = self.world
        world.due.append((self, self.incarnation, world.seq, method, args))

    def after(self, delay_us: int, method: Callable[..., Any], *args: Any) -> Timer:
        """Call after `delay_us`."""
        return self.world.schedule(delay_us, self, method, args)

    def every(self, period_us: int, method: Callable[[], Any]) -> Repeating:
        """Call each `period_us`, first after one period."""
        return Repeating(self, period_us, method)

    # -- messages ---------------------------------------------------------------------------
    def send(self, dest: str, message: Any, size: int = 0) -> None:
        """Send by reference over the link to `dest`. Where bandwidth is short its `size` in bytes counts; 0: what its
        `wire_size()` says, if it has one."""
        world = self.world
        route = self._routes.get(dest)
        if route is None:
            found = world.meant_by(self, dest)
            if found is None:  # a broker of an earlier life, still named by what is stored
                world.network.refuse(in_cluster(self.cluster, dest), self.name)
                return
            route = found, world.network.link(self.name, found.name), called_by(found.name, self.name)
            self._routes[dest] = route
        node, link, own = route
        machine = node.machine
        if link.direct and machine is not None:
            world.due.append((node, node.incarnation, world.seq, machine.receive, (own, message)))
        else:
            world.send(self, node.name, message, size)

    def write(self, connection: int, buffers: Sequence[Buffer | FileSlice]) -> None:
        """Write to an outside client's connection."""
        self.world.write(connection, buffers)

    def close_connection(self, connection: int, reason: str) -> None:
        """Close an outside client's connection."""
        self.world.close_connection(connection, reason)

    def listen(self, host: str, port: int, listener: str = "") -> None:
        """Accept outside clients on this address; `listener` names one beside that of a broker's clients."""
        self.world.listen(self, host, port, listener)

    def hold_connection(self, connection: int, hold: bool) -> None:
        """Stop (or go on) reading from an outside client."""
        self.world.hold_connection(connection, hold)

    # -- record and chance ------------------------------------------------------------------
    def emit(self, code: EventCode, **params: Any) -> None:
        """Add an event of this node to the journal."""
        self.note(code, params)

    def note(self, code: EventCode, params: dict[str, Any]) -> None:
        """As `emit`, for events of every request: a dictionary that is handed over costs half as much as keywords."""
        world, journal = self.world, self.journal
        level, room = code.level, journal.room
        if level > journal.level:
            return
        if room and level:
            journal.room = room - 1
            journal.fresh.append((world.seq, world.now_us, self.name, code.name, world.cause, params))
        else:
            journal.record(world.seq, world.now_us, self.name, code, world.cause, params)

    def operation(self, kind: str, op: str, **fields: Any) -> None:
        """Add to the history that checkers judge: kind is invoke | ok | fail | info."""
        world = self.world
        self.operations.record(
            {"t": world.now_us, "seq": world.seq, "process": self.name, "kind": kind, "op": op, **fields}
        )

    def leave_unsettled(self) -> None:
        """The process is over, and nobody knows what has become of what it had begun."""
        if self.unsettled is not None:
            op, fields = self.unsettled
            self.operation("info", op, **fields)
            self.unsettled = None

    def random(self, stream: str) -> Random:
        """The named random stream of this node: the same numbers in every run of a seed."""
        found = self._random.get(stream)
        if found is None:
            found = self._random[stream] = self.world.random_stream(f"{self.name}/{stream}")
        return found

    def uuid(self) -> uuid.UUID:
        """A random UUID from the node's own stream (version 4)."""
        return uuid.UUID(int=self.random("uuid").getrandbits(128), version=4)

    def exit(self) -> None:
        """The machine has finished its controlled shutdown."""
        self.world.end_process(self, "shutdown")

    def end(self, how: str) -> None:
        """The machine ends its process for a reason of its own."""
        self.world.end_process(self, how)

    def take_over(self, name: str, heirloom: Any) -> None:
        """The machine is that of the process `name` from now on."""
        self.world.take_over(self, name, heirloom)

    def inherit(self) -> Any:
        """What the process before, which had another name, has left to this one; once, and mostly None."""
        found, self.heirloom = self.heirloom, None
        return found

    def halt(self) -> None:
        """The machine gives up (every log directory failed): the process ends by itself."""
        self.world.end_process(self, "halted")
