"""Directed links between nodes, and the connections that run over them.

A message takes `delay_us` (plus an exponential share), may be dropped, duplicated or reordered,
waits its turn when bandwidth is short, and is lost while the link is partitioned. Without a fault
a link is a FIFO, as a TCP connection is. A link exists once it was used: that is what "connected"
means when a process ends and its peers see their connections close.

TCP sends lost bytes again, or it gives the connection up; it never leaves a gap. So a connection
that lost bytes does not survive, and until it breaks nothing else passes in that direction:

| what was lost, and how            | both ends see the connection close                |
|-----------------------------------|---------------------------------------------------|
| a message, `drop`                 | `BREAK_US` later                                  |
| messages, while partitioned       | when both directions have healed                  |
| the end of a process, partitioned | the same: what is sent again meets a stranger     |
| one message, `lose_next`          | no: it is as if the receiver had not looked at it |

A message that is held up (`hold_next`) arrives late, and all that is sent meanwhile overtakes it, over a new connection
too: some switch or some queue on the way had kept it.

`duplicate` and `reorder` are what TCP never does: they show what a protocol owes to it.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from broker_core.kernel import events
from broker_core.kernel.names import called_by

if TYPE_CHECKING:
    from broker_core.kernel.node import Node
    from broker_core.kernel.world import World

BREAK_US = 200_000  # the least retransmission timeout of Linux
REORDER_US = 10_000
SETTINGS = ("delay_us", "jitter_us", "drop", "duplicate", "reorder", "bandwidth", "partitioned")


def _again(message: Any) -> Any:
    """The same bytes once more: who gets the first copy may write into it, as a leader writes offsets into batches."""
    return message.copy() if hasattr(message, "copy") else message


class Link:
    """One direction between two nodes. All probabilities are in 0..1, times in microseconds.

    * gap: something was lost, and the connection has not been broken for it yet
    * breaking: it will be, `BREAK_US` after the loss
    * faulty: it does not simply deliver; direct: it does, and in the same instant
    * draining: its delay is over, but what was sent before has not arrived: nothing may overtake it
    """

    __slots__ = (
        "source", "dest", "delay_us", "jitter_us", "drop", "duplicate", "reorder", "bandwidth", "partitioned",
        "default_delay_us", "last_delivery_us", "faulty", "direct", "draining", "gap", "breaking", "lose", "hold",
    )  # fmt: skip

    def __init__(self, source: str, dest: str, delay_us: int) -> None:
        self.source = source
        self.dest = dest
        self.default_delay_us = delay_us
        self.last_delivery_us = 0
        self.gap = False
        self.breaking = False
        self.draining = False
        self.lose: list[int] = []
        self.hold: list[tuple[int, int]] = []  # of which API, for how long
        self.reset()

    def reset(self) -> None:
        """Back to a healthy link."""
        self.delay_us = self.default_delay_us
        self.jitter_us = 0
        self.drop = 0.0
        self.duplicate = 0.0
        self.reorder = 0.0
        self.bandwidth = 0
        self.partitioned = False
        self.lose.clear()
        self.hold.clear()
        self._look()

    def change(self, **values: float) -> None:
        """Set any of `SETTINGS`; bandwidth is in bytes/s, 0 = as much as you like."""
        for name, value in values.items():
            setattr(self, name, type(getattr(self, name))(value))
        self._look()

    def _look(self) -> None:
        self.faulty = self.breaking or bool(
            self.jitter_us or self.drop or self.duplicate or self.reorder or self.bandwidth or self.partitioned
            or self.lose or self.hold
        )  # fmt: skip
        self.direct = not self.faulty and not self.delay_us and not self.draining

    def drain(self, draining: bool) -> None:
        """Whether something that was sent earlier is still to arrive."""
        self.draining = draining
        self._look()

    def lose_next(self, api_key: int) -> None:
        """Lose the next message with this `api_key`, and nothing else."""
        self.lose.append(api_key)
        self._look()

    def hold_next(self, api_key: int, delay_us: int) -> None:
        """Hold up the next message with this `api_key`, and nothing else."""
        self.hold.append((api_key, delay_us))
        self._look()

    def held_us(self, message: Any) -> int:
        """For how long this message is held up."""
        found = next((one for one in self.hold if one[0] == getattr(message, "api_key", None)), None)
        if found is None:
            return 0
        self.hold.remove(found)
        self._look()
        return found[1]

    @property
    def changed(self) -> bool:
        """Whether the link differs from a healthy one."""
        return self.faulty or self.delay_us != self.default_delay_us

    def lost(self, message: Any, rng: Random) -> str | None:
        """Why this message is lost, or None."""
        if self.lose and getattr(message, "api_key", None) in self.lose:
            self.lose.remove(message.api_key)
            self._look()
            return "chosen"
        if self.partitioned:
            self.gap = True
            return "partitioned"
        if self.breaking:
            return "connection breaks"
        if self.drop and rng.random() < self.drop:
            self.gap = self.breaking = True
            self._look()
            return "dropped"
        return None

    def close_gap(self) -> None:
        """The connection is broken; a new one begins without a gap."""
        self.gap = self.breaking = False
        self._look()

    def delivery_us(self, now_us: int, size: int, rng: Random) -> int:
        """When a message of `size` bytes that is sent now arrives."""
        at = now_us + self.delay_us
        if self.jitter_us:
            at += int(rng.expovariate(1.0) * self.jitter_us)
        if self.bandwidth:
            at = max(at, self.last_delivery_us) + size * 1_000_000 // self.bandwidth
        if self.reorder and rng.random() < self.reorder:
            return at + int(rng.expovariate(1.0) * max(self.delay_us, REORDER_US))
        if at < self.last_delivery_us:
            at = self.last_delivery_us
        self.last_delivery_us = at
        return at


class Network:
    """All links, made when first used."""

    def __init__(self, world: World, delay_us: int) -> None:
        self.world = world
        self.delay_us = delay_us
        self.links: dict[tuple[str, str], Link] = {}
        self.silent: dict[str, None] = {}
        self.random = world.random_stream("network")

    def link(self, source: str, dest: str) -> Link:
        """The link from `source` to `dest`."""
        key = (source, dest)
        found = self.links.get(key)
        if found is None:
            found = self.links[key] = Link(source, dest, self.delay_us)
        return found

    def peers(self, node: str) -> list[str]:
        """Nodes that have exchanged a message with `node`, in order of first contact."""
        found = {b if a == node else a: None for a, b in self.links if node in (a, b)}
        return list(found)

    def _node(self, name: str) -> Node:
        found = self.world.find(name)
        assert found is not None, name
        return found

    # -- faults -----------------------------------------------------------------------------
    def change(self, source: str, dest: str, **values: float) -> None:
        """Change one direction; without values it is healthy again. A healed gap breaks the connection."""
        link = self.link(source, dest)
        was_cut, bandwidth = link.partitioned, link.bandwidth
        if values:
            link.change(**values)
        else:
            link.reset()
        shown = {name: getattr(link, name) for name in SETTINGS}
        self._node(source).emit(events.LINK_CHANGED, source=source, dest=dest, **shown)
        if link.bandwidth != bandwidth:
            self._pace(link)
        if link.direct and link.last_delivery_us > self.world.now_us:
            link.drain(True)
            self.world.schedule(link.last_delivery_us - self.world.now_us, None, self._drained, (link,))
        if was_cut and not link.partitioned:
            self._break(source, dest)

    def _pace(self, link: Link) -> None:
        """What waits for its turn goes on as fast as the link is now, in its order."""
        world, node = self.world, self._node(link.dest)
        machine = node.machine
        link.last_delivery_us = world.now_us
        if machine is None:
            return
        source = called_by(link.dest, link.source)
        for timer in world.waiting_for(node):
            method, args, cause = timer.method, timer.args, timer.cause
            if method is None or method not in (machine.receive, machine.peer_down) or args[0] != source:
                continue
            timer.cancel()
            size = args[1].wire_size() if len(args) > 1 and hasattr(args[1], "wire_size") else 0
            at = max(world.now_us + link.delay_us, link.last_delivery_us)
            link.last_delivery_us = at + (size * 1_000_000 // link.bandwidth if link.bandwidth else 0)
            world.schedule(link.last_delivery_us - world.now_us, node, method, args).cause = cause

    def _drained(self, link: Link) -> None:
        if link.last_delivery_us <= self.world.now_us:
            link.drain(False)

    def _break(self, source: str, dest: str) -> None:
        """A connection with a gap: both ends see it close, when both directions are open (again)."""
        there, back = self.link(source, dest), self.link(dest, source)
        if not (there.gap or back.gap) or there.partitioned or back.partitioned:
            return
        there.close_gap()
        back.close_gap()
        self._node(source).emit(events.CONNECTION_LOST, source=source, dest=dest)
        self.tell_closed(source, dest)
        self.tell_closed(dest, source)

    def send(self, source: Node, link: Link, node: Node, message: Any, size: int) -> None:
        """A message over a link with faults."""
        world, rng = self.world, self.random
        reason = link.lost(message, rng)
        if reason is not None:
            source.emit(events.MESSAGE_DROPPED, dest=node.name, kind=type(message).__name__, reason=reason)
            if reason == "dropped":
                world.schedule(BREAK_US, None, self._break, (link.source, link.dest))
            return
        if node.machine is None:
            self.refuse(node.name, source.name)
            return
        known_as = called_by(node.name, source.name)
        held_us = link.held_us(message) if link.hold else 0
        if held_us:
            kind = type(message).__name__
            source.emit(events.MESSAGE_HELD, dest=node.name, kind=kind, delay_ms=held_us // 1000)
            world.schedule(link.delay_us + held_us, node, node.machine.receive, (known_as, message))
            return
        if link.bandwidth and not size and hasattr(message, "wire_size"):
            size = message.wire_size()
        copies = (message, _again(message)) if link.duplicate and rng.random() < link.duplicate else (message,)
        for copy in copies:
            at = link.delivery_us(world.now_us, size, rng)
            world.schedule(at - world.now_us, node, node.machine.receive, (known_as, copy))

    # -- ends of connections ----------------------------------------------------------------
    def refuse(self, dest: str, source: str) -> None:
        """Nobody listens at `dest`: its operating system says so, unless the whole machine is off."""
        if dest not in self.silent:
            self.tell_closed(dest, source)

    def tell_peers(self, node: str) -> None:
        """The process is over: its connections close."""
        for peer in self.peers(node):
            self.tell_closed(node, peer)

    def tell_closed(self, gone: str, peer: str) -> None:
        """`peer` sees its connection to `gone` close, behind all that was sent; a cut link keeps it from knowing."""
        node = self.world.find(peer)
        if node is None or node.machine is None:
            return
        link = self.link(gone, peer)
        if link.partitioned:
            link.gap = True
            return
        now_us = self.world.now_us
        at = max(now_us + link.delay_us, link.last_delivery_us)
        self.world.schedule(at - now_us, node, node.machine.peer_down, (called_by(peer, gone),))
