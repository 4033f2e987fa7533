"""Faults with their length: rows of the table `faults`, without the run. What ends each, `happenings` says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from broker_core.kernel.names import BROKER
from lab.analytics.by_run.figures import joined, listed, said
from lab.analytics.by_run.recording import Event, Recording, grouped
from lab.analytics.happenings import AT_ONCE

_DETAILS = ("how", "source", "dest", "delay_us", "jitter_us", "drop", "duplicate", "reorder", "bandwidth",
            "partitioned", "faults", "protection", "on", "command")
_SHARES = ("drop", "duplicate", "reorder")
_ID = re.compile(r"(^| )([0-9]+)")


class Mark(NamedTuple):
    """Something that begins a fault (`bad`), or ends the one before it on the same line."""

    event: Event
    node: str
    kind: str
    target: str | None
    details: str | None
    line: str | None
    bad: bool
    at_once: bool = False


def faults(run: Recording) -> Iterator[tuple[Any, ...]]:
    """One row a fault."""
    refused = {event[0] for event in run.of("command_refused") if event[2] == "world"}
    commands = [event for event in run.of("command") if event[0] not in refused]
    behind = grouped(commands, lambda event: event[0])
    marks = [*_processes(run), *_links(run), *_switches(run), *_clocks(commands), *_at_once(commands)]
    following: dict[str | None, int] = {}
    found = []
    for mark in sorted(marks, key=lambda mark: mark.event[6], reverse=True):
        seq, t_us, *_ = mark.event
        until = t_us if mark.at_once else following.get(mark.line)
        following[mark.line] = t_us
        end = run.end_us if until is None else until
        for command in behind.get(seq, [None]) if mark.bad else ():
            found.append((seq, t_us, mark.node, mark.kind, mark.target, mark.details,
                          None if command is None else said(command[5].get("command")), mark.event[4], until,
                          None if end is None else end - t_us))
    return reversed(found)


def _told(event: Event) -> str:
    """Parameters that tell what a fault was like, as JSON."""
    params = {name: value for name in _DETAILS if (value := event[5].get(name)) is not None}
    for name in _SHARES:
        if name in params:
            params[name] = float(params[name])
    if "command" in params:
        params["command"] = said(params["command"])
    return orjson.dumps(params).decode()


def _processes(run: Recording) -> Iterator[Mark]:
    for event in run.of("process_started", "process_ended", "process_paused", "process_resumed"):
        how = event[5].get("how")
        bad = event[3] == "process_paused" or (event[3] == "process_ended" and how not in (None, "shutdown"))
        kind = how if event[3] == "process_ended" else "paused"
        yield Mark(event, event[2], kind or "", event[2], _told(event), f"process {event[2]}", bad)


def _links(run: Recording) -> Iterator[Mark]:
    changed = run.of("link_changed")
    own = run.facts.get("spec", {}).get("cluster", {}).get("link_delay_ms")
    delays = [event[5]["delay_us"] for event in changed if event[5].get("delay_us") is not None]
    usual = int(float(own) * 1000) if own is not None else min(delays, default=None)
    for event in changed:
        p = event[5]
        bad = (p.get("partitioned") is True
               or any((p.get(name) or 0) > 0 for name in (*_SHARES, "bandwidth", "jitter_us"))
               or (usual is not None and p.get("delay_us") not in (None, usual)))
        target = joined(p.get("source"), " -> ", p.get("dest"))
        yield Mark(event, event[2], "link", target, _told(event), target, bad)


def _switches(run: Recording) -> Iterator[Mark]:
    for event in run.of("disks_changed"):
        found = event[5].get("faults")
        told = joined("[", listed(found, ","), "]")
        yield Mark(event, event[2], "disk", event[2], told, f"disk {event[2]}", bool(found))
    for event in run.of("protection_set"):
        name = event[5].get("protection")
        yield Mark(event, event[2], "protection", name, _told(event), joined("protection ", name),
                   event[5].get("on") is False)


def _node(command: Any) -> str | None:
    """The node that a command names, in one of five ways."""
    for name, before in (("node", ""), ("broker", BROKER), ("leader_of", "leader_of:"),
                         ("follower_of", "follower_of:")):
        if command.get(name) is not None:
            return joined(before, command[name])
    return None if command.get("controller") is None else "controller"


def _command(event: Event) -> dict[str, Any]:
    found = event[5].get("command")
    if isinstance(found, str):
        found = orjson.loads(found)
    return found if isinstance(found, dict) else {}


def _clocks(commands: list[Event]) -> Iterator[Mark]:
    skews = [event for event in commands if _command(event).get("do") == "clock_skew"]
    right = [event for event in commands if _command(event).get("do") == "stop_all_faults"]
    for event in skews:
        node, text = _node(_command(event)), said(event[5]["command"])
        bad = int(_command(event).get("ms") or 0) != 0
        yield Mark(event, event[2], "clock_skew", node, text, joined("clock ", node), bad)
    for node in dict.fromkeys(_node(_command(event)) for event in skews):
        for event in right:
            yield Mark(event, event[2], "clock_skew", node, said(event[5]["command"]), joined("clock ", node), False)


def _at_once(commands: list[Event]) -> Iterator[Mark]:
    for event in commands:
        command = _command(event)
        if (did := command.get("do")) in AT_ONCE:
            get = command.get
            ends = listed(get("between"), " -> ")
            target = _node(command)
            if did == "bit_flip":
                target = joined(target, " ", get("topic"), "-", get("partition"), " at ", get("offset"))
            elif target is None and ends is not None:
                target = _ID.sub(rf"\1{BROKER}\2", ends)
            yield Mark(event, event[2], did, target, said(event[5]["command"]), f"at once {event[6]}", True, True)
