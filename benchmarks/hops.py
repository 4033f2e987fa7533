"""`hops`: where the time of a record goes in a simulation, hop by hop, and what Python takes for it at the least.

A hop is one event of the world: a message that a node takes, or a timer. Told are how many there are for a record, the
journal rows and the calls of Python functions in them, and the bytecodes that are executed. Beside what a hop takes
stands its floor: as many bytecodes at the pace of a loop in which everything is at hand (a call of a plain function,
attributes of one object, comparisons), and its journal rows. What a hop takes above it are things made, looked up and
let go; below it no plain Python with as many steps can come. Seconds are the processor's.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import orjson

from benchmarks.results import Result
from benchmarks.simulation import RATE, SECOND_US, settled
from broker_core.kernel.node import Call, Timer
from broker_core.kernel.world import World
from lab import heap

COUNTED_S = 1
ROUNDS, ROWS = 50_000, 50_000
SHOWN_US = 0.5
"""For a record; smaller hops are told together."""


@dataclass(slots=True)
class Hop:
    """Of one kind of event, or of several: microseconds, and how many of what, in all."""

    took_us: float = 0.0
    events: int = 0
    rows: int = 0
    calls: int = 0
    bytecodes: int = 0


def hops(quick: bool) -> Iterator[Result]:
    """Microseconds for a record that reaches three replicas, and the floor beside them."""
    seconds = 10 if quick else 60
    bytecode_us, row_us = _pace(), _row_us()
    with tempfile.TemporaryFile() as journal:
        world = settled(journal.write, load=True)
        heap.settle()
        found = _timed(world, seconds)
        counted = _counted(world)
    small = [name for name, hop in found.items() if hop.took_us / (seconds * RATE) < SHOWN_US]
    large = sorted(set(found) - set(small), key=lambda one: -found[one].took_us)
    for title, names in (*((name, [name]) for name in large), ("others", small), ("all", list(found))):
        took, events_each, rows = (sum(values) / (seconds * RATE) for values in zip(
            *((found[name].took_us, found[name].events, found[name].rows) for name in names), strict=True))
        calls, bytecodes = (sum(values) / (COUNTED_S * RATE) for values in zip(
            *((counted[name].calls, counted[name].bytecodes) for name in names), strict=True))
        case = f"{title}: {events_each:.1f} events, {rows:.1f} rows, {calls:.0f} calls, {bytecodes:,.0f} bytecodes"
        yield Result("hops", case, "us a record", took, bytecodes * bytecode_us + rows * row_us, False, other="floor")


def _events(world: World, seconds: int) -> Iterator[tuple[str, Timer | Call]]:
    """What happens next, again and again; the caller executes it."""
    until_us = world.now_us + seconds * SECOND_US
    while (following := world.next_time_us()) is not None and following <= until_us:
        if not world.due:
            world._advance()
        call = world.due.popleft()
        yield name_of(call), call


def _timed(world: World, seconds: int) -> defaultdict[str, Hop]:
    """Microseconds, events and rows."""
    clock, journal = time.process_time_ns, world.journal
    overhead_us = min(-(clock() - clock()) for _ in range(1000)) / 1000
    found: defaultdict[str, Hop] = defaultdict(Hop)
    for name, call in _events(world, seconds):
        before, began = journal.count, clock()
        world._execute(call)
        hop = found[name]
        hop.took_us += (clock() - began) / 1000 - overhead_us
        hop.events += 1
        hop.rows += journal.count - before
    return found


def _counted(world: World) -> defaultdict[str, Hop]:
    """Calls and bytecodes."""
    found: defaultdict[str, Hop] = defaultdict(Hop)
    for name, call in _events(world, COUNTED_S):
        hop = found[name]
        calls, bytecodes = _count(world._execute, call)
        hop.calls += calls
        hop.bytecodes += bytecodes
    return found


def _count(function: Callable[..., Any], *arguments: Any) -> tuple[int, int]:
    """Calls of Python functions and bytecodes while a function runs."""
    calls = bytecodes = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal calls, bytecodes
        if event == "call":
            calls += 1
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            bytecodes += 1
        return trace

    sys.settrace(trace)
    try:
        function(*arguments)
    finally:
        sys.settrace(None)
    return calls, bytecodes


def name_of(call: Timer | Call) -> str:
    """Who does what: `broker ProduceRequest`, `broker FetchResponse`, `broker DelayedFetch.look`."""
    node, _, _, method, arguments = call.call() if isinstance(call, Timer) else call
    who = node.name.split("-")[0] if node is not None else "world"
    if getattr(method, "__name__", "") == "receive":
        message = arguments[1]
        body = getattr(message, "body", message)
        return f"{who} < {type(body).__name__}"
    return f"{who} {getattr(method, '__qualname__', str(method))}"


class _Thing:
    __slots__ = ("first", "second", "third")

    def __init__(self) -> None:
        self.first, self.second, self.third = 1, 2, 3


def _plain(thing: _Thing, number: int) -> int:
    return thing.first if number else thing.second


def _round(thing: _Thing, times: int) -> int:
    """Bytecodes in the mixture that a hop has of them: a call for some forty others."""
    found = 0
    for _ in range(times):
        first, second, third = thing.first, thing.second, thing.third
        if first < second and second < third and first is not third:
            found = _plain(thing, found)
        thing.first, thing.second = first, second
    return found


def _pace() -> float:
    """Microseconds of one bytecode."""
    thing = _Thing()
    bytecodes = _count(_round, thing, 1000)[1] / 1000
    _round(thing, ROUNDS)
    began = time.process_time()
    _round(thing, ROUNDS)
    return (time.process_time() - began) * 1e6 / (ROUNDS * bytecodes)


def _row_us() -> float:
    """Microseconds of a journal row of five parameters, on its way to the file."""
    rows = [(number, number, "broker-1", "request_sent", number, {
        "api": "Fetch", "version": 11, "correlation": number, "to": "broker-2", "connection": "replica"})
        for number in range(ROWS)]  # fmt: skip
    began = time.process_time()
    for start in range(0, ROWS, 512):
        orjson.dumps(rows[start : start + 512])
    return (time.process_time() - began) * 1e6 / ROWS
