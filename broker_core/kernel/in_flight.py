"""Messages that have been sent and not yet arrived, and how to let one of them arrive now, or never.

Between two nodes a message is a call of the receiver's `receive` that waits in the world's queue: among
what is due in this instant (a link without delay), or in the heap until its delay is over.

    a sends 1, 2 to b (delay 400 ms), c sends 3 to b     under way: a>b 1, a>b 2, c>b 3
    deliver_next(a, b)                                   b receives 1, and nothing else happens
    deliver_next(a, b)                                   b receives 2
    drop_next(c, b)                                      3 is lost, and nothing else

A connection is a TCP connection: only the message that was sent first can be the next of its link, and the
end of a connection comes behind all that was sent before it. Delivering early is an event of the world like
any other, so a run in which it was asked for comes out the same when it is executed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.errors import CommandError
from broker_core.kernel.node import RUNNING, STOPPED, Call, Timer
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World


@dataclass(frozen=True, slots=True)
class UnderWay:
    """One message on its link. `message` is None where the end of a connection is under way."""

    source: str
    dest: str
    message: Any
    at_us: int
    sent: int
    """The event that sent it."""
    call: Timer | Call


def under_way(world: World, source: str | None = None, dest: str | None = None) -> list[UnderWay]:
    """What is under way (from `source`, to `dest`), in the order in which it will arrive."""
    waiting = [(world.now_us, call) for call in world.due]
    waiting += [(at, timer) for at, _, timer in sorted(world._later, key=_place)]
    found = [_message(at, call) for at, call in waiting]
    return [
        one for one in found
        if one is not None and source in (None, one.source) and dest in (None, one.dest)
    ]  # fmt: skip


def _place(entry: tuple[int, int, Timer]) -> tuple[int, int]:
    return entry[0], entry[1]


def _message(at_us: int, call: Timer | Call) -> UnderWay | None:
    if isinstance(call, Timer):
        node, incarnation, cause, method, args = call.node, call.incarnation, call.cause, call.method, call.args
    else:
        node, incarnation, cause, method, args = call
    if node is None or method is None or incarnation != node.incarnation or node.machine is None:
        return None
    if method not in (node.machine.receive, node.machine.peer_down):
        return None
    sender = node.world.meant_by(node, args[0])
    source = args[0] if sender is None else sender.name
    return UnderWay(source, node.name, args[1] if method == node.machine.receive else None, at_us, cause, call)


def deliver_next(world: World, source: str, dest: str) -> UnderWay:
    """The first message from `source` to `dest` arrives now, before everything else. Raises CommandError."""
    first = _first(world, source, dest)
    node = world.find(dest)
    state = STOPPED if node is None else node.state
    if state != RUNNING:
        raise CommandError(problem("in_state", node=dest, state=state), "between")
    world._execute(_taken(world, first.call))
    return first


def drop_next(world: World, source: str, dest: str) -> UnderWay:
    """The first message from `source` to `dest` never arrives; the connection stays. Raises CommandError."""
    first = _first(world, source, dest)
    if first.message is None:
        raise CommandError(problem("end_not_lost"), "between")
    _taken(world, first.call)
    kind = type(first.message).__name__
    sender = world.find(source)
    if sender is not None:
        sender.emit(events.MESSAGE_DROPPED, dest=dest, kind=kind, reason="chosen")
    return first


def _first(world: World, source: str, dest: str) -> UnderWay:
    found = under_way(world, source, dest)
    if not found:
        raise CommandError(problem("not_under_way", source=source, dest=dest), "between")
    return found[0]


def _taken(world: World, call: Timer | Call) -> Call:
    """The call, which waits no longer."""
    for place, waiting in enumerate(world.due):
        if waiting is call:
            del world.due[place]
            break
    if not isinstance(call, Timer):
        return call
    assert call.method is not None
    now = call.node, call.incarnation, call.cause, call.method, call.args
    call.cancel()
    return now
